/* The caps: time, memory, output. Issue 2 "Sandbox: options", "A trap costs the slot"; spec a.10, a.11, b.25.
 *
 * No test measures time: a loop that is not stopped is stopped by the harness, and fails.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <time.h>

static inro_sandbox *limited(uint64_t timeout_us, uint64_t memory) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = timeout_us;
    options.memory_limit_bytes = memory;
    return new_sandbox_with(&options);
}

/* ---- time ---- */

TEST(endless_scripts_are_stopped) {
    static const char *const sources[] = {
        "loop { }",
        "while true; end",
        "i = 0; i += 1 while true",
        "1.step { |i| i }",
        "h = {}; loop { h[:a] = h.size }",
        "[3, 1, 2].cycle { |x| x }",
        "Fiber.new { loop { Fiber.yield } }.tap { |f| loop { f.resume } }",
        "loop { begin; raise 'x'; rescue; end }",
        "catch(:x) { loop { catch(:y) { throw :y } } }",
        "loop { 'abc'.to_sym; [1, 2].map(&:to_s) }",
    };
    inro_sandbox *sandbox = limited(MILLISECONDS(200), 0);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        EVAL_FAILURE(sandbox, sources[i], INRO_FAULT_TIMEOUT, NULL, "timeout");
    EVAL_VALUE(sandbox, "1", "1");
    inro_sandbox_free(sandbox);
}

/* In-process B3: no instruction of the interpreter's own loop runs here. */
TEST(long_built_ins_are_stopped) {
    static const char *const sources[] = {
        "('a' * 2_000_000 + 'b').index('a' * 1_000_000 + 'c')",
        "(3 ** 200_000).to_s.size; (7 ** 300_000).to_s.size",
        "a = Array.new(100_000) { |i| -i }; loop { a.sort }",
        "x = 7 ** 200_000; loop { x * x / (x + 1) }",
        "a = [0] * 100_000; loop { a.uniq.size; a == a.dup; a.hash }",
        "s = 'ab' * 2_000_000; loop { s.tr('a-z', 'b-za'); s.reverse; s.upcase }",
        "s = 'x' * 3_000_000; loop { s.succ; s.hash; s == s + '' }",
        "loop { [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].permutation.to_a.size }",
        "loop { [[1] * 100_000].flatten.pack('C*').unpack('C*') }",
        "loop { sprintf('%0900000d', 1) }",
    };
    inro_sandbox *sandbox = limited(MILLISECONDS(60), (uint64_t)512 << 20);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        inro_outcome *outcome = eval(sandbox, sources[i]);
        if (inro_outcome_ended(outcome) != INRO_ENDED_TRAP)
            test_fail(__FILE__, __LINE__, "%s was not stopped", sources[i]);
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

TEST(a_timeout_cannot_be_rescued_or_ensured) {
    static const char *const sources[] = {
        "begin; loop { }; rescue Exception; 1; end",
        "begin; loop { }; ensure; puts 'ensured'; end",
        "begin; loop { }; rescue Object; 1; ensure; puts 'ensured'; end; 2",
        "def f; loop { }; ensure; puts 'ensured'; return 1; end; f",
        "loop { begin; loop { }; ensure; next; end }",
        "catch(:x) { begin; loop { }; ensure; throw :x; end }",
        "at = Fiber.new { begin; loop { }; ensure; puts 'ensured'; end }; at.resume",
        "[1].each { |x| begin; loop { }; ensure; break; end }",
    };
    inro_sandbox *sandbox = limited(MILLISECONDS(200), 0);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        inro_outcome *outcome = eval(sandbox, sources[i]);
        CHECK_FAILURE(outcome, INRO_FAULT_TIMEOUT, NULL, "timeout");
        CHECK_STR(inro_outcome_stdout(outcome), "");
        CHECK_INT(inro_outcome_failure(outcome)->backtrace_count, 0);
        CHECK(inro_outcome_failure(outcome)->details == NULL);
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

TEST(a_compilation_can_time_out) {
    size_t length = 4 << 20;
    char *source = malloc(length + 1);
    for (size_t i = 0; i < length; i++)
        source[i] = "x=1;"[i % 4];
    source[length] = '\0';
    inro_sandbox *sandbox = limited(MILLISECONDS(20), INRO_UNLIMITED);
    inro_outcome *outcome = eval(sandbox, source);
    CHECK(inro_outcome_ended(outcome) == INRO_ENDED_TRAP);
    inro_outcome_free(outcome);
    free(source);
    EVAL_VALUE(sandbox, "1", "1");
    inro_sandbox_free(sandbox);
}

TEST(the_shortest_timeout_stops_or_is_met) {
    inro_sandbox *sandbox = limited(1, 0);
    for (int i = 0; i < 100; i++) {
        inro_outcome *outcome = eval(sandbox, "1000.times { |i| i }");
        inro_ended ended = inro_outcome_ended(outcome);
        CHECK(ended == INRO_ENDED_VALUE || inro_outcome_failure(outcome)->fault == INRO_FAULT_TIMEOUT);
        inro_outcome_free(outcome);
    }
    EVAL_FAILURE(sandbox, "loop { }", INRO_FAULT_TIMEOUT, NULL, "timeout");
    inro_sandbox_free(sandbox);
}

TEST(the_longest_timeouts_do_not_overflow) {
    static const uint64_t timeouts[] = {INRO_UNLIMITED, (uint64_t)86400 * 365 * 1000000, 1};
    for (int i = 0; i < 2; i++) {
        inro_sandbox *sandbox = limited(timeouts[i], 0);
        EVAL_VALUE(sandbox, "20_000.times { |i| i }", "20000");
        inro_sandbox_free(sandbox);
    }
}

static inro_status slow(void *user, inro_call *call) {
    (void)call;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t end = until.tv_sec * 1000000000LL + until.tv_nsec + *(int64_t *)user;
    do
        clock_gettime(CLOCK_MONOTONIC, &until);
    while (until.tv_sec * 1000000000LL + until.tv_nsec < end);
    return INRO_OK;
}

TEST(a_services_time_counts_but_it_is_not_interrupted) { /* spec a.76 */
    int64_t nanoseconds = 250 * 1000 * 1000;
    inro_sandbox *sandbox = limited(MILLISECONDS(200), 0);
    bind_user(sandbox, "Slow", slow, &nanoseconds);
    inro_outcome *outcome =
        eval(sandbox, "begin; Slow.call; puts 'after'; rescue Exception; 1; ensure; puts 'no'; end");
    CHECK_FAILURE(outcome, INRO_FAULT_TIMEOUT, NULL, "timeout");
    CHECK_STR(inro_outcome_stdout(outcome), "");
    CHECK_INT(inro_outcome_usage(outcome)->service_calls, 1);
    CHECK(inro_outcome_usage(outcome)->service_ns >= (uint64_t)nanoseconds);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

/* ---- memory ---- */

TEST(scripts_that_grow_are_stopped) { /* spec a.77 */
    static const char *const sources[] = {
        "'x' * 3_000_000",
        "Array.new(100) { 'x' * 50_000 }",
        "a = []; loop { a << 'x' * 1000 }",
        "s = 'x'; loop { s << s }",
        "h = {}; i = 0; loop { h[i += 1] = i.to_s }",
        "Array.new(20) { Array.new(100_000) }",
        "Array.new(20) { (1..100_000).to_a }",
        "loop { ($a ||= []) << Object.new }",
        "10 ** 10_000_000",
        "1 << 100_000_000",
        "begin; 'x' * 3_000_000; rescue Exception; 1; ensure; puts 'ensured'; end",
        "a = []; begin; loop { a << 'x' * 1000 }; rescue NoMemoryError; 1; end",
        "'%3000000d' % 1",
        "('a'..'zzzzzz').to_a",
        "x = ''; loop { x = x.inspect }",
    };
    inro_sandbox *sandbox = limited(0, 0);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        inro_outcome *outcome = eval(sandbox, sources[i]);
        const inro_failure *failure = inro_outcome_failure(outcome);
        if (failure == NULL || failure->fault != INRO_FAULT_MEMORY_LIMIT)
            test_fail(__FILE__, __LINE__, "%s: %.*s", sources[i], failure ? (int)failure->message.length : 5,
                      failure ? failure->message.data : "value");
        CHECK_STR(inro_outcome_stdout(outcome), "");
        CHECK(inro_outcome_usage(outcome)->memory_peak_bytes <= 1 << 20);
        inro_outcome_free(outcome);
    }
    EVAL_VALUE(sandbox, "1", "1");
    inro_sandbox_free(sandbox);
}

TEST(absurd_sizes_are_refused_in_the_guest_or_stopped) {
    static const char *const sources[] = {"'x' * (1 << 62)",
                                          "[1] * (1 << 62)",
                                          "Array.new(1 << 62)",
                                          "'a'.ljust(1 << 62)",
                                          "'x' * (1 << 40)",
                                          "[nil] * (1 << 33)",
                                          "Array.new(10_000_000)",
                                          "a = []; a[1 << 40] = 1",
                                          "1 << 100_000_000_000",
                                          "2 ** (2 ** 62)",
                                          "sprintf('%999999999999d', 1)",
                                          "[1].pack('C' * 3_000_000)",
                                          "'a'.center(1 << 35)",
                                          "[1, 2].product(*([[1, 2]] * 60))"};
    inro_sandbox *sandbox = limited(MILLISECONDS(10000), 0);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        inro_outcome *outcome = eval(sandbox, sources[i]);
        if (inro_outcome_ended(outcome) == INRO_ENDED_VALUE)
            test_fail(__FILE__, __LINE__, "%s gave a value", sources[i]);
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

TEST(the_memory_limit_is_for_each_invocation) { /* spec a.77: not cumulative */
    inro_sandbox *sandbox = limited(0, 1 << 20);
    for (int i = 0; i < 50; i++)
        EVAL_VALUE(sandbox, "('x' * 700_000).size", "700000");
    inro_sandbox_free(sandbox);
}

TEST(unlimited_memory) {
    inro_sandbox *sandbox = limited(0, INRO_UNLIMITED);
    EVAL_VALUE(sandbox, "Array.new(200) { 'x' * 100_000 }.size", "200");
    EVAL_VALUE(sandbox, "('x' * 100_000_000).size", "100000000");
    /* 1 GiB is all there is, with or without a limit. */
    EVAL_FAILURE(sandbox, "a = []; loop { a << 'x' * 100_000_000 }", INRO_FAULT_MEMORY_LIMIT, "",
                 "memory_limit");
    EVAL_VALUE(sandbox, "1", "1");
    inro_sandbox_free(sandbox);
}

TEST(a_limit_in_between) {
    inro_sandbox *sandbox = limited(0, 10 << 20);
    EVAL_VALUE(sandbox, "('x' * 9_000_000).size", "9000000");
    EVAL_FAILURE(sandbox, "('x' * 11_500_000).size", INRO_FAULT_MEMORY_LIMIT, NULL, "memory_limit");
    inro_sandbox_free(sandbox);
}

TEST(the_smallest_memory_limit) {
    inro_sandbox *sandbox = limited(0, 1);
    EVAL_VALUE(sandbox, "1 + 1", "2");
    EVAL_FAILURE(sandbox, "'x' * 3_000_000", INRO_FAULT_MEMORY_LIMIT, NULL, "memory_limit");
    inro_sandbox_free(sandbox);
}

/* ---- output (spec a.71-a.73) ---- */

static inro_sandbox *talkative(uint64_t out, uint64_t err) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.stdout_limit_bytes = out;
    options.stderr_limit_bytes = err;
    return new_sandbox_with(&options);
}

static void check_output(inro_sandbox *sandbox, const char *source, const char *out, bool truncated) {
    inro_outcome *outcome = eval(sandbox, source);
    CHECK_STR(inro_outcome_stdout(outcome), out);
    CHECK_INT(inro_outcome_is_stdout_truncated(outcome), truncated);
    CHECK_STR(inro_outcome_stderr(outcome), "");
    CHECK(!inro_outcome_is_stderr_truncated(outcome));
    inro_outcome_free(outcome);
}

TEST(exactly_the_limit_is_not_truncated) {
    inro_sandbox *sandbox = talkative(5, 0);
    check_output(sandbox, "print 'abcd'", "abcd", false);
    check_output(sandbox, "print 'abcde'", "abcde", false);
    check_output(sandbox, "print 'abcdef'", "abcde", true);
    check_output(sandbox, "puts 'abcd'", "abcd\n", false);
    check_output(sandbox, "puts 'abcde'", "abcde", true);
    check_output(sandbox, "print 'abc'; print 'de'", "abcde", false);
    check_output(sandbox, "print 'abc'; print 'def'", "abcde", true);
    check_output(sandbox, "print 'abcde'; print ''", "abcde", false);
    check_output(sandbox, "print 'abcde'; print 'f'; print 'g'", "abcde", true);
    check_output(sandbox, "print 'abcdef'; raise 'x'", "abcde", true);
    check_output(sandbox, "print '漢字'", "\xe6\xbc\xa2\xe5\xad", true); /* bytes, also inside a character */
    check_output(sandbox, "1", "", false);
    inro_sandbox_free(sandbox);
}

TEST(a_truncated_script_goes_on) {
    inro_sandbox *sandbox = talkative(3, 0);
    inro_outcome *outcome = eval(sandbox, "n = 0; 1000.times { n += $stdout.write('xx') }; n");
    CHECK_VALUE(outcome, "2000");
    CHECK_STR(inro_outcome_stdout(outcome), "xxx");
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(the_streams_have_limits_of_their_own) { /* spec a.72 */
    inro_sandbox *sandbox = talkative(3, 4);
    inro_outcome *outcome = eval(sandbox, "3.times { print 'ab'; $stderr.print 'cd' }");
    CHECK_STR(inro_outcome_stdout(outcome), "aba");
    CHECK_STR(inro_outcome_stderr(outcome), "cdcd");
    CHECK(inro_outcome_is_stdout_truncated(outcome) && inro_outcome_is_stderr_truncated(outcome));
    inro_outcome_free(outcome);
    outcome = eval(sandbox, "print 'abcdef'; $stderr.print 'cd'");
    CHECK(inro_outcome_is_stdout_truncated(outcome) && !inro_outcome_is_stderr_truncated(outcome));
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(output_survives_every_ending) { /* spec a.73, b.25 */
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(250);
    inro_sandbox *sandbox = new_sandbox_with(&options);
    bind(sandbox, "Echo", echo);
    static const char *const endings[] = {
        "raise 'x'", "loop { }", "'x' * 3_000_000", "Echo.nope(Object.new)", "Object.new", "def f; f; end; f"};
    char source[128];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(source, sizeof source, "puts 'out'; warn 'err'; %s", endings[i]);
        inro_outcome *outcome = eval(sandbox, source);
        CHECK(inro_outcome_ended(outcome) != INRO_ENDED_VALUE);
        CHECK_STR(inro_outcome_stdout(outcome), "out\n");
        CHECK_STR(inro_outcome_stderr(outcome), "err\n");
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

TEST(output_keeps_any_bytes) {
    inro_sandbox *sandbox = new_sandbox();
    inro_outcome *outcome = eval(sandbox, "print \"a\\0b\\xff\"; $stderr.print \"\\0\"");
    inro_bytes out = inro_outcome_stdout(outcome);
    CHECK(out.length == 4 && memcmp(out.data, "a\0b\xff", 4) == 0);
    CHECK_INT(inro_outcome_stderr(outcome).length, 1);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

/* ---- the stack of the guest ---- */

TEST(deep_nesting_in_the_source_is_no_fault_of_the_host) {
    static const char *const pieces[][3] = {
        {"[", "1", "]"},
        {"(", "1", ")"},
        {"{a: ", "1", "}"},
        {"-> { ", "1", " }"},
        {"f(", "1", ")"},
        {"if true then ", "1", " end;"},
        {"!", "1", ""},
        {"1 + (", "1", ")"},
        {"\"#{", "1", "}\""},
        {"def a; ", "1", "; end;"},
        {"begin; ", "1", "; end;"},
        {"class A; ", "1", "; end;"},
        {"a = ", "1", ""},
        {"x.y(", "1", ")"},
    };
    inro_sandbox *sandbox = limited(MILLISECONDS(20000), (uint64_t)64 << 20);
    const int depth = 20000;
    char *source = malloc((size_t)depth * 40);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        char *at = source;
        for (int n = 0; n < depth; n++)
            at += sprintf(at, "%s", pieces[i][0]);
        at += sprintf(at, "%s", pieces[i][1]);
        for (int n = 0; n < depth; n++)
            at += sprintf(at, "%s", pieces[i][2]);
        inro_outcome_free(eval(sandbox, source));
    }
    free(source);
    EVAL_VALUE(sandbox, "1", "1");
    inro_sandbox_free(sandbox);
}
