/* A process may fork at any time, and both go on. Issue 2 "fork in the host is safe".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <sys/wait.h>
#include <unistd.h>

/* Ends the child at once: its leaks are the parent's memory. */
static void check_child(pid_t pid) {
    int status = 0;
    CHECK(pid > 0);
    CHECK(waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        test_fail(__FILE__, __LINE__, "the child ended with status %#x", (unsigned)status);
}

static inro_sandbox *with_timeout(uint64_t timeout_us) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = timeout_us;
    return new_sandbox_with(&options);
}

static void use(inro_sandbox *sandbox) {
    EVAL_VALUE(sandbox, "$x = ($x || 0) + 1; [$x, 'a' * 3]", "[1, \"aaa\"]");
    EVAL_FAILURE(sandbox, "raise 'x'", INRO_FAULT_SANDBOX, "RuntimeError", "x");
    EVAL_FAILURE(sandbox, "'x' * 3_000_000", INRO_FAULT_MEMORY_LIMIT, NULL, "memory_limit");
    EVAL_FAILURE(sandbox, "loop { }", INRO_FAULT_TIMEOUT, NULL,
                 "timeout"); /* the deadline's thread is not inherited */
}

TEST(a_child_uses_the_parents_sandbox) {
    inro_sandbox *sandbox = with_timeout(MILLISECONDS(250));
    preload(sandbox, "Snippet", "Snippet = 1");
    use(sandbox);
    pid_t pid = fork();
    if (pid == 0) {
        use(sandbox);
        use(sandbox);
        inro_sandbox_free(sandbox);
        sandbox = with_timeout(MILLISECONDS(250));
        use(sandbox);
        _exit(0);
    }
    use(sandbox);
    check_child(pid);
    use(sandbox);
    inro_sandbox_free(sandbox);
}

TEST(a_child_of_an_unused_sandbox) {
    inro_sandbox *sandbox = with_timeout(MILLISECONDS(250));
    preload(sandbox, "Snippet", "Snippet = 1");
    pid_t pid = fork();
    if (pid == 0) {
        use(sandbox);
        inro_sandbox_free(sandbox);
        _exit(0);
    }
    check_child(pid);
    use(sandbox);
    inro_sandbox_free(sandbox);
}

TEST(grandchildren) {
    inro_sandbox *sandbox = with_timeout(MILLISECONDS(250));
    use(sandbox);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t inner = fork();
        if (inner == 0) {
            use(sandbox);
            _exit(0);
        }
        use(sandbox);
        check_child(inner);
        _exit(0);
    }
    check_child(pid);
    inro_sandbox_free(sandbox);
}

/* What one process does to its guests the other does not see. */
TEST(memory_is_not_shared) {
    int pipes[2];
    inro_sandbox *sandbox = new_sandbox();
    preload(sandbox, "List", "LIST = [1]");
    EVAL_VALUE(sandbox, "LIST", "[1]");
    CHECK_INT(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 50; i++)
            EVAL_VALUE(sandbox, "LIST << 2; x = 'y' * 500_000; LIST", "[1, 2]");
        CHECK(write(pipes[1], "x", 1) == 1);
        _exit(0);
    }
    for (int i = 0; i < 50; i++)
        EVAL_VALUE(sandbox, "LIST << 3; x = 'z' * 500_000; LIST", "[1, 3]");
    char byte;
    close(pipes[1]);
    CHECK(read(pipes[0], &byte, 1) == 1);
    check_child(pid);
    EVAL_VALUE(sandbox, "LIST", "[1]");
    inro_sandbox_free(sandbox);
}

static inro_status fork_inside(void *user, inro_call *call) {
    pid_t *child = user;
    *child = fork();
    return inro_call_answer(call, symbol_value(*child == 0 ? "child" : "parent"));
}

TEST(a_service_may_fork_and_both_go_on) {
    pid_t child = -1;
    inro_sandbox *sandbox = with_timeout(MILLISECONDS(2000));
    bind_user(sandbox, "Fork", fork_inside, &child);
    inro_outcome *outcome =
        eval(sandbox, "a = 'kept'; r = Fork.call; b = (1..1000).map { |i| i.to_s }; [a, r, b.size]");
    CHECK_VALUE(outcome, child == 0 ? "[\"kept\", :child, 1000]" : "[\"kept\", :parent, 1000]");
    inro_outcome_free(outcome);
    EVAL_VALUE(sandbox, "1", "1");
    if (child == 0) {
        inro_sandbox_free(sandbox);
        _exit(0);
    }
    check_child(child);
    inro_sandbox_free(sandbox);
}

TEST(the_deadline_of_a_forked_call_holds_in_both) {
    pid_t child = -1;
    inro_sandbox *sandbox = with_timeout(MILLISECONDS(400));
    bind_user(sandbox, "Fork", fork_inside, &child);
    EVAL_FAILURE(sandbox, "Fork.call; loop { }", INRO_FAULT_TIMEOUT, NULL, "timeout");
    EVAL_FAILURE(sandbox, "loop { }", INRO_FAULT_TIMEOUT, NULL, "timeout");
    if (child == 0)
        _exit(0);
    check_child(child);
    inro_sandbox_free(sandbox);
}

static inro_status eval_in_child(void *user, inro_call *call) {
    pid_t pid = fork();
    if (pid == 0) {
        use(*(inro_sandbox **)user);
        _exit(0);
    }
    check_child(pid);
    return inro_call_answer(call, inro_value_new_int(1));
}

TEST(a_child_of_a_service_evaluates) {
    inro_sandbox *inner = with_timeout(MILLISECONDS(250)), *outer = new_sandbox();
    bind_user(outer, "Child", eval_in_child, &inner);
    EVAL_VALUE(outer, "[Child.call, Child.call]", "[1, 1]");
    inro_sandbox_free(outer);
    inro_sandbox_free(inner);
}
