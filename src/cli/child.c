/* A program that is given bytes and answers bytes.
 *
 * Both pipes are watched at once: a child that answers before it has read everything would otherwise wait for
 * us while we wait for it. Its end is watched as well, since something that it left behind may hold its pipes
 * open for ever.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { BLIND_POLL_MS = 20 };

/* A conversation with a child; a descriptor that is closed is -1. */
struct talk {
    pid_t pid;
    int pidfd; /* -1 where the kernel has none: its end is then looked for every BLIND_POLL_MS */
    int to;
    int from;
    inro_bytes input; /* what is still to be written */
    size_t output_max;
    uint64_t deadline;
    bool gone;
    struct inro__cli_child_result *result;
};

uint64_t inro__cli_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void close_fd(int *fd) {
    if (*fd != -1)
        close(*fd);
    *fd = -1;
}

/* Signals as a program expects them at its start: ours ignores SIGPIPE. */
static int spawn_with(pid_t *pid, char *const words[], const int to[2], const int from[2],
                      posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes) {
    sigset_t defaults, none;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    if (posix_spawn_file_actions_adddup2(actions, to[0], STDIN_FILENO) != 0 ||
        posix_spawn_file_actions_adddup2(actions, from[1], STDOUT_FILENO) != 0 ||
        posix_spawnattr_setsigdefault(attributes, &defaults) != 0 ||
        posix_spawnattr_setsigmask(attributes, &none) != 0 ||
        posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK) != 0)
        return ENOMEM;
    return posix_spawnp(pid, words[0], actions, attributes, words, environ);
}

static int spawn(pid_t *pid, char *const words[], const int to[2], const int from[2]) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    int failed = ENOMEM;
    if (posix_spawnattr_init(&attributes) == 0) {
        failed = spawn_with(pid, words, to, from, &actions, &attributes);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Answers 0 or an errno. The child's ends of the pipes are closed here in every case. Who started us may have
 * left SIGCHLD ignored: the kernel would reap the child, and how it ended would be lost. */
static int start(struct talk *talk, char *const words[]) {
    int to[2] = {-1, -1}, from[2] = {-1, -1}, failed = 0;
    signal(SIGCHLD, SIG_DFL);
    if (pipe2(to, O_CLOEXEC) == -1 || pipe2(from, O_CLOEXEC) == -1)
        failed = errno;
    else
        failed = spawn(&talk->pid, words, to, from);
    close_fd(&to[0]);
    close_fd(&from[1]);
    talk->to = to[1];
    talk->from = from[0];
    if (failed != 0)
        return failed;
    fcntl(talk->to, F_SETFL, O_NONBLOCK);
    fcntl(talk->from, F_SETFL, O_NONBLOCK);
    talk->pidfd = (int)syscall(SYS_pidfd_open, talk->pid, 0);
    return 0;
}

/* A child that does not want the rest of its input may still answer: only its end of the pipe is gone. */
static void write_some(struct talk *talk) {
    ssize_t done = write(talk->to, talk->input.data, talk->input.length);
    if (done == -1 && errno != EAGAIN && errno != EINTR)
        close_fd(&talk->to);
    if (done <= 0)
        return;
    talk->input.data += done;
    talk->input.length -= (size_t)done;
    if (talk->input.length == 0)
        close_fd(&talk->to);
}

static void stop(struct talk *talk, enum inro__cli_child_end end) {
    talk->result->end = end;
    kill(talk->pid, SIGKILL);
    while (waitpid(talk->pid, NULL, 0) == -1 && errno == EINTR)
        ;
    talk->gone = true;
}

/* Answers whether there may be more right now. */
static bool read_some(struct talk *talk) {
    enum { CHUNK = 65536 };
    struct inro__cli_text *output = &talk->result->output;
    ssize_t done = read(talk->from, inro__cli_text_room(output, CHUNK), CHUNK);
    if (done > 0)
        output->length += (size_t)done;
    else if (done == 0 || (errno != EAGAIN && errno != EINTR))
        close_fd(&talk->from);
    return done > 0 && output->length <= talk->output_max;
}

/* All that the child has written is in the pipe when it has ended; who else holds the pipe is not waited for.
 */
static void look_for_end(struct talk *talk) {
    int status = 0;
    pid_t found = talk->gone ? 0 : waitpid(talk->pid, &status, WNOHANG);
    if (found == 0 || (found == -1 && errno == EINTR))
        return;
    if (found == -1)
        status = W_EXITCODE(255, 0); /* gone, and nobody can say how */
    talk->gone = true;
    talk->result->end = WIFEXITED(status) ? INRO__CLI_CHILD_EXITED : INRO__CLI_CHILD_KILLED;
    talk->result->code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    while (talk->from != -1 && read_some(talk))
        ;
    if (talk->result->output.length > talk->output_max)
        talk->result->end = INRO__CLI_CHILD_VERBOSE;
}

/* How long poll may sleep. */
static int wait_ms(const struct talk *talk) {
    uint64_t now = inro__cli_now(), most = talk->pidfd == -1 ? BLIND_POLL_MS : 1000000;
    if (talk->deadline == 0)
        return talk->pidfd == -1 ? BLIND_POLL_MS : -1;
    uint64_t left = talk->deadline > now ? (talk->deadline - now) / 1000000 + 1 : 0;
    return (int)(left < most ? left : most);
}

static void converse(struct talk *talk) {
    while (!talk->gone) {
        struct pollfd fds[] = {{.fd = talk->to, .events = POLLOUT},
                               {.fd = talk->from, .events = POLLIN},
                               {.fd = talk->pidfd, .events = POLLIN}};
        if (poll(fds, sizeof fds / sizeof fds[0], wait_ms(talk)) == -1)
            continue;
        if (fds[0].revents)
            write_some(talk);
        if (fds[1].revents)
            read_some(talk);
        if (talk->result->output.length > talk->output_max)
            stop(talk, INRO__CLI_CHILD_VERBOSE);
        look_for_end(talk);
        if (!talk->gone && talk->deadline != 0 && inro__cli_now() >= talk->deadline)
            stop(talk, INRO__CLI_CHILD_LATE);
    }
}

void inro__cli_child_run(char *const words[], inro_bytes input, size_t output_max, uint64_t deadline,
                         struct inro__cli_child_result *out) {
    *out = (struct inro__cli_child_result){.end = INRO__CLI_CHILD_ABSENT};
    struct talk talk = {.pid = -1,
                        .pidfd = -1,
                        .to = -1,
                        .from = -1,
                        .input = input,
                        .output_max = output_max,
                        .deadline = deadline,
                        .result = out};
    out->code = start(&talk, words);
    if (out->code == 0)
        converse(&talk);
    close_fd(&talk.to);
    close_fd(&talk.from);
    close_fd(&talk.pidfd);
}
