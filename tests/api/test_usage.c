/* What an invocation used. Issue 2 "usage"; spec b.5.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <time.h>

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inro_status spin(void *user, inro_call *call) {
    (void)call;
    uint64_t end = now_ns() + *(uint64_t *)user;
    while (now_ns() < end)
        continue;
    return INRO_OK;
}

TEST(wall_time_is_the_sum_of_its_parts) {
    uint64_t nanoseconds = 20 * 1000 * 1000;
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "Spin", spin, &nanoseconds);
    uint64_t before = now_ns();
    inro_outcome *outcome = eval(sandbox, "Spin.call; 10_000.times { |i| i }; Spin.call");
    uint64_t all = now_ns() - before;
    const inro_usage *usage = inro_outcome_usage(outcome);
    CHECK(usage->service_ns >= 2 * nanoseconds);
    CHECK(usage->guest_ns > 0);
    CHECK(usage->wall_ns >= usage->service_ns + usage->guest_ns);
    CHECK(usage->wall_ns <= all);
    CHECK_INT(usage->service_calls, 2);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(a_timeouts_wall_time_is_the_timeout_at_least) { /* spec b.5 */
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(50);
    inro_sandbox *sandbox = new_sandbox_with(&options);
    inro_outcome *outcome = eval(sandbox, "loop { }");
    CHECK_FAILURE(outcome, INRO_FAULT_TIMEOUT, NULL, "timeout");
    const inro_usage *usage = inro_outcome_usage(outcome);
    CHECK(usage->wall_ns >= 50 * 1000 * 1000);
    CHECK(usage->guest_ns > 0 && usage->guest_ns <= usage->wall_ns);
    CHECK_INT(usage->service_ns, 0);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

static inro_status yield_once(void *user, inro_call *call) {
    inro_error err;
    (void)user;
    return inro_call_yield(call, NULL, NULL, &err);
}

TEST(calls_are_counted_and_yields_are_not) {
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "Echo", echo);
    bind(sandbox, "Yield", yield_once);
    static const struct {
        const char *source;
        uint64_t calls;
    } rows[] = {{"1", 0},
                {"Echo.call(1)", 1},
                {"100.times { Echo.call(1) }", 100},
                {"Yield.call { 1 }", 1},
                {"Yield.call { Echo.call(1); Yield.call { Echo.call(2) } }", 4},
                {"Echo.call(1); raise 'x'", 1},
                {"Echo.call(Object.new) rescue 1", 0},
                {"Echo.call(1); 'x' * 3_000_000", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        inro_outcome *outcome = eval(sandbox, rows[i].source);
        if (inro_outcome_usage(outcome)->service_calls != rows[i].calls)
            test_fail(__FILE__, __LINE__, "%s: %llu calls", rows[i].source,
                      (unsigned long long)inro_outcome_usage(outcome)->service_calls);
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

TEST(time_in_a_block_is_the_guests) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(60);
    inro_sandbox *sandbox = new_sandbox_with(&options);
    bind(sandbox, "Yield", yield_once);
    inro_outcome *outcome = eval(sandbox, "Yield.call { loop { } }");
    const inro_usage *usage = inro_outcome_usage(outcome);
    CHECK_FAILURE(outcome, INRO_FAULT_TIMEOUT, NULL, "timeout");
    CHECK(usage->guest_ns > usage->service_ns);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

static uint64_t peak_of(inro_sandbox *sandbox, const char *source) {
    inro_outcome *outcome = eval(sandbox, source);
    uint64_t peak = inro_outcome_usage(outcome)->memory_peak_bytes;
    inro_outcome_free(outcome);
    return peak;
}

TEST(memory_is_how_far_it_grew) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.memory_limit_bytes = 32 << 20;
    inro_sandbox *sandbox = new_sandbox_with(&options);
    CHECK(peak_of(sandbox, "1") <= 64 << 10);
    uint64_t large = peak_of(sandbox, "'x' * 4_000_000; nil");
    CHECK(large >= 3 << 20 && large <= 6 << 20);
    CHECK(peak_of(sandbox, "1") <= 64 << 10); /* not the peak of the run before */
    CHECK(peak_of(sandbox, "'x' * 20_000_000; nil") >= 19 << 20);
    CHECK(peak_of(sandbox, "'x' * 4_000_000; raise 'x'") == large);
    CHECK(peak_of(sandbox, "Array.new(100) { 'x' * 1_000_000 }") <= 32 << 20); /* a trap */
    inro_sandbox_free(sandbox);
}

TEST(usage_repeats) { /* hermetic: the same script needs the same memory, byte for byte */
    inro_sandbox *sandbox = new_sandbox();
    static const char source[] = "(1..2000).map { |i| i.to_s * 5 }; nil";
    uint64_t first = peak_of(sandbox, source);
    for (int i = 0; i < 20; i++)
        CHECK_INT(peak_of(sandbox, source), first);
    inro_sandbox_free(sandbox);
}
