/* A fresh process: from fork and exec to the exit of a program that evaluates once, beside programs that do
 * not.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Starts a program with standard output into `output`, waits for it, and tells how long that took: 0 when it
 * could not be started or did not succeed. */
static double run_ns(const char *path, const char *argument, int output) {
    char *arguments[] = {(char *)(uintptr_t)path, (char *)(uintptr_t)argument, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    uint64_t before = now_ns();
    if (posix_spawn(&child, path, &actions, NULL, arguments, environ) == 0)
        waitpid(child, &status, 0);
    uint64_t after = now_ns();
    posix_spawn_file_actions_destroy(&actions);
    if (status == 0)
        return (double)(after - before);
    complain("%s could not be run", path);
    return 0;
}

/* The program prints how many nanoseconds after main's begin it had its value. */
static void first_value_once(const char *program, const int *pipe_ends, struct samples *whole,
                             struct samples *inside) {
    char text[32] = "";
    double took = run_ns(program, NULL, pipe_ends[1]);
    if (took == 0 || read(pipe_ends[0], text, sizeof text - 1) <= 0)
        return;
    samples_add(whole, took / 1e6);
    samples_add(inside, strtod(text, NULL) / 1e3);
}

static bool program_beside(const char *own_path, char *path, size_t size) {
    const char *slash = strrchr(own_path, '/');
    int length = snprintf(path, size, "%.*sfirst_value", slash ? (int)(slash - own_path + 1) : 0, own_path);
    return length > 0 && (size_t)length < size && access(path, X_OK) == 0;
}

void measure_processes(const struct effort *effort, const char *own_path) {
    enum { WHOLE, INSIDE, NOTHING, TRUE, KINDS };
    static const char *const rows[KINDS][3] = {{"fresh_process_ms", "ms", "inro"},
                                               {"first_value_us", "us", "inro"},
                                               {"fresh_process_ms", "ms", "same program, idle"},
                                               {"fresh_process_ms", "ms", "/bin/true"}};
    struct samples samples[KINDS] = {0};
    char program[PATH_MAX];
    int pipe_ends[2];
    if (!program_beside(own_path, program, sizeof program) || pipe2(pipe_ends, O_CLOEXEC) != 0) {
        printf("skip\tfresh_process_ms\tfirst_value is not built\n");
        return;
    }
    for (unsigned i = 0; i < (effort->quick ? 3u : 200u) && !has_complaints(); i++) {
        first_value_once(program, pipe_ends, &samples[WHOLE], &samples[INSIDE]);
        samples_add(&samples[NOTHING], run_ns(program, "idle", pipe_ends[1]) / 1e6);
        samples_add(&samples[TRUE], run_ns("/bin/true", NULL, pipe_ends[1]) / 1e6);
    }
    for (size_t i = 0; i < KINDS; i++) {
        report(rows[i][0], rows[i][1], rows[i][2], &samples[i]);
        samples_done(&samples[i]);
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}
