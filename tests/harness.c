/* The test harness's runner: forks each test, watches its time, writes TAP.
 *
 * A test's output goes into a file of memory that the runner prints behind the verdict, so that nothing a test
 * writes can be taken for a TAP line. What the verdict rests on is in shared memory: a check that fails in a
 * process the test forked, or a test that ends by exit(0) before its last line, must not pass.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

enum {
#ifdef SANITIZED
    TIME_FACTOR = 5, /* instrumented code is slower; limits are there against hanging, not for speed */
#else
    TIME_FACTOR = 1,
#endif
    OUTPUT_SHOWN = 64 * 1024,
    BYTES_SHOWN = 160,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_SKIPPED = 77
};

/* Written by the test's process (and its children), read by the runner. */
struct verdict {
    int finished, failed, skipped;
    char reason[512];
};

static struct test_case *first_test, *last_test;
static struct verdict *verdict;
static bool in_process;

void test_register(struct test_case *test) {
    if (last_test != NULL)
        last_test->next = test;
    else
        first_test = test;
    last_test = test;
}

_Noreturn void test_fail(const char *file, int line, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fflush(stdout);
    dprintf(STDOUT_FILENO, "%s:%d: %s\n", file, line, text);
    if (in_process)
        abort(); /* a debugger stops here, with the failed check on the stack */
    verdict->failed = 1;
    _exit(EXIT_FAILED);
}

_Noreturn void test_skip(const char *reason) {
    if (in_process) {
        printf("skipped: %s\n", reason);
        exit(EXIT_SKIPPED);
    }
    verdict->skipped = 1;
    snprintf(verdict->reason, sizeof verdict->reason, "%s", reason);
    fflush(stdout);
    _exit(EXIT_SKIPPED);
}

/* Writes bytes so that any of them can be read in a diagnostic line. */
static void describe_bytes(char *out, size_t room, const unsigned char *bytes, size_t length) {
    size_t used = 0;
    size_t shown = length < BYTES_SHOWN ? length : BYTES_SHOWN;
    for (size_t i = 0; i < shown && used + 8 < room; i++) {
        bool plain = bytes[i] >= ' ' && bytes[i] < 0x7f && bytes[i] != '\\' && bytes[i] != '"';
        int wrote = snprintf(out + used, room - used, plain ? "%c" : "\\x%02x", bytes[i]);
        used += (size_t)wrote;
    }
    snprintf(out + used, room - used, "%s", shown < length ? "..." : "");
}

void test_check_bytes(const char *file, int line, const void *actual, size_t actual_length,
                      const void *expected, size_t expected_length) {
    bool same = actual_length == expected_length &&
                (actual_length == 0 || (actual != NULL && memcmp(actual, expected, actual_length) == 0));
    if (same)
        return;
    char got[BYTES_SHOWN * 4 + 16] = "", wanted[BYTES_SHOWN * 4 + 16];
    if (actual != NULL)
        describe_bytes(got, sizeof got, actual, actual_length);
    describe_bytes(wanted, sizeof wanted, expected, expected_length);
    test_fail(file, line, "got \"%s\" (%zu bytes), expected \"%s\" (%zu bytes)", got, actual_length, wanted,
              expected_length);
}

static _Noreturn void harness_broken(const char *what) {
    printf("Bail out! %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILED);
}

static _Noreturn void run_child(const struct test_case *test, int output) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    close(output);
    test->run();
    fflush(NULL);
    verdict->finished = 1;
    exit(EXIT_SUCCESS); /* not _exit: leak and race reports come from exit handlers */
}

static long long milliseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits until `pid` ends or the time is up; answers whether it ended in time. */
static bool await_child(pid_t pid, long long limit_ms) {
    int descriptor = (int)syscall(SYS_pidfd_open, pid, 0);
    if (descriptor < 0)
        harness_broken("pidfd_open");
    const long long deadline = milliseconds_now() + limit_ms;
    int ready = 0;
    for (long long left = limit_ms; ready <= 0 && left > 0; left = deadline - milliseconds_now()) {
        struct pollfd poller = {.fd = descriptor, .events = POLLIN};
        ready = poll(&poller, 1, (int)left);
        if (ready < 0 && errno != EINTR)
            harness_broken("poll");
    }
    close(descriptor);
    return ready > 0;
}

/* Prints what a test wrote, each line as a TAP diagnostic; of too much, the end, where the failure is. */
static void print_output(int output) {
    off_t size = lseek(output, 0, SEEK_END);
    if (size <= 0)
        return;
    size_t shown = size < OUTPUT_SHOWN ? (size_t)size : OUTPUT_SHOWN;
    char *text = malloc(shown);
    ssize_t got = text == NULL ? -1 : pread(output, text, shown, size - (off_t)shown);
    if ((off_t)shown < size)
        printf("# (%lld bytes before this are left out)\n", (long long)size - (long long)shown);
    bool line_start = true;
    for (ssize_t i = 0; i < got; i++) {
        if (line_start)
            fputs("# ", stdout);
        putchar(text[i] == '\0' ? '?' : text[i]);
        line_start = text[i] == '\n';
    }
    if (!line_start)
        putchar('\n');
    free(text);
}

static bool skip_is_allowed(const char *reason) {
    const char *forbid = getenv("INRO_FORBID_SKIPS");
    return forbid == NULL || strcmp(forbid, "1") != 0 || strncmp(reason, "host: ", 6) == 0;
}

/* Says why a test did not pass, in words; empty when it did. */
static void describe_failure(char *out, size_t room, const struct test_case *test, bool in_time, int status) {
    out[0] = '\0';
    if (!in_time)
        snprintf(out, room, "timed out after %u seconds", test->seconds * TIME_FACTOR);
    else if (WIFSIGNALED(status))
        snprintf(out, room, "died by signal SIG%s (%s)", sigabbrev_np(WTERMSIG(status)),
                 sigdescr_np(WTERMSIG(status)));
    else if (verdict->failed)
        snprintf(out, room, "a check failed");
    else if (verdict->skipped && WEXITSTATUS(status) == EXIT_SKIPPED)
        snprintf(out, room, "%s%s", skip_is_allowed(verdict->reason) ? "" : "skips are forbidden here: ",
                 skip_is_allowed(verdict->reason) ? "" : verdict->reason);
    else if (WEXITSTATUS(status) != 0)
        snprintf(out, room, "ended with exit status %d", WEXITSTATUS(status));
    else if (!verdict->finished)
        snprintf(out, room, "called exit before its end");
}

static bool run_forked(const struct test_case *test, int number) {
    int output = memfd_create("test output", MFD_CLOEXEC);
    if (output < 0 || fcntl(output, F_SETFL, O_APPEND) < 0)
        harness_broken("memfd_create");
    memset(verdict, 0, sizeof *verdict);
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        harness_broken("fork");
    if (pid == 0)
        run_child(test, output);
    setpgid(pid, pid); /* in both processes: neither can know which is first */
    bool in_time = await_child(pid, (long long)test->seconds * TIME_FACTOR * 1000);
    kill(-pid, SIGKILL); /* before the wait, while the number is still ours: also ends what it left running */
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    char why[768];
    describe_failure(why, sizeof why, test, in_time, status);
    bool passed = why[0] == '\0';
    printf("%sok %d - %s", passed ? "" : "not ", number, test->name);
    printf(passed && verdict->skipped ? " # SKIP %s\n" : "\n", verdict->reason);
    print_output(output);
    if (!passed)
        printf("# %s\n", why);
    fflush(stdout);
    close(output);
    return passed;
}

static bool is_selected(const struct test_case *test, const char *filter) {
    return filter == NULL || strstr(test->name, filter) != NULL;
}

static int run_all(const char *filter) {
    int count = 0, number = 0, failed = 0;
    for (const struct test_case *test = first_test; test != NULL; test = test->next)
        count += is_selected(test, filter);
    printf("1..%d\n", count);
    for (const struct test_case *test = first_test; test != NULL; test = test->next) {
        if (is_selected(test, filter))
            failed += !run_forked(test, ++number);
    }
    return failed != 0 || count == 0 ? EXIT_FAILED : EXIT_SUCCESS;
}

static int list_all(void) {
    for (const struct test_case *test = first_test; test != NULL; test = test->next)
        puts(test->name);
    return EXIT_SUCCESS;
}

static int run_in_process(const char *name) {
    for (const struct test_case *test = first_test; test != NULL; test = test->next) {
        if (strcmp(test->name, name) != 0)
            continue;
        in_process = true;
        test->run();
        printf("passed: %s\n", name);
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "no test is called \"%s\"; --list shows them\n", name);
    return EXIT_USAGE;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return list_all();
    if (argc == 3 && strcmp(argv[1], "--no-fork") == 0)
        return run_in_process(argv[2]);
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        fprintf(stderr, "usage: %s [PART-OF-A-NAME | --list | --no-fork NAME]\n", argv[0]);
        return EXIT_USAGE;
    }
    verdict = mmap(NULL, sizeof *verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (verdict == MAP_FAILED)
        harness_broken("mmap");
    return run_all(argc == 2 ? argv[1] : NULL);
}
