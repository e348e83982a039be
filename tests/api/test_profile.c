/* Profiles: what Inro.clock and Inro.entropy give under each. Header: inro_profile; docs/ruby.md.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <time.h>

static inro_sandbox *with_profile(inro_profile profile) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.profile = profile;
    return new_sandbox_with(&options);
}

static int64_t int_of(inro_sandbox *sandbox, const char *source) {
    inro_outcome *outcome = eval(sandbox, source);
    CHECK_INT(inro_outcome_ended(outcome), INRO_ENDED_VALUE);
    CHECK_INT(inro_value_get_type(inro_outcome_value(outcome)), INRO_VALUE_INT);
    int64_t number = inro_value_get_int(inro_outcome_value(outcome));
    inro_outcome_free(outcome);
    return number;
}

static int64_t host_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

TEST(the_hermetic_clock_stands_at_the_epoch) {
    inro_sandbox *sandbox = with_profile(INRO_PROFILE_HERMETIC);
    EVAL_VALUE(sandbox, "[Inro.clock, Inro.clock]", "[0, 0]");
    EVAL_VALUE(sandbox, "Inro.entropy(4)", "\"\\x00\\x00\\x00\\x00\"");
    EVAL_VALUE(sandbox, "Inro.entropy(65536) == \"\\0\" * 65536", "true");
    inro_sandbox_free(sandbox);
}

TEST(the_permissive_clock_is_the_hosts) {
    inro_sandbox *sandbox = with_profile(INRO_PROFILE_PERMISSIVE);
    int64_t before = host_clock(), told = int_of(sandbox, "Inro.clock"), after = host_clock();
    CHECK(before <= told && told <= after);
    EVAL_VALUE(sandbox, "a = Inro.clock; Inro.clock >= a", "true");
    inro_sandbox_free(sandbox);
}

TEST(permissive_entropy_is_random) {
    inro_sandbox *sandbox = with_profile(INRO_PROFILE_PERMISSIVE);
    EVAL_VALUE(sandbox, "[1, 255, 256, 257, 65_536].map { |n| Inro.entropy(n).bytesize }",
               "[1, 255, 256, 257, 65536]");
    EVAL_VALUE(sandbox, "Inro.entropy(32) == Inro.entropy(32)", "false");
    /* Every chunk is filled: 64 zeros in a row come by chance once in 2^512. */
    EVAL_VALUE(sandbox, "s = Inro.entropy(1000); (0...15).any? { |i| s.byteslice(i * 64, 64) == \"\\0\" * 64 }",
               "false");
    inro_outcome *first = eval(sandbox, "Inro.entropy(32)"), *second = eval(sandbox, "Inro.entropy(32)");
    CHECK(!inro_value_equals(inro_outcome_value(first), inro_outcome_value(second)));
    inro_outcome_free(first);
    inro_outcome_free(second);
    inro_sandbox_free(sandbox);
}

TEST(entropy_has_bounds) {
    inro_sandbox *sandbox = with_profile(INRO_PROFILE_PERMISSIVE);
    static const char *const wrong[] = {"Inro.entropy(0)", "Inro.entropy(-1)", "Inro.entropy(65_537)",
                                        "Inro.entropy(2**40)"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        EVAL_FAILURE(sandbox, wrong[i], INRO_FAULT_SANDBOX, "ArgumentError", "entropy gives 1 to 65536 bytes");
    EVAL_FAILURE(sandbox, "Inro.entropy", INRO_FAULT_SANDBOX, "ArgumentError", "wrong number of arguments");
    EVAL_FAILURE(sandbox, "Inro.entropy('1')", INRO_FAULT_SANDBOX, "TypeError", "Integer");
    EVAL_FAILURE(sandbox, "Inro.clock(1)", INRO_FAULT_SANDBOX, "ArgumentError", "wrong number of arguments");
    inro_sandbox_free(sandbox);
}

/* A snippet runs once, into an image; the time and entropy that it sees must not be frozen there. */
TEST(snippets_see_a_clock_that_goes) {
    inro_sandbox *sandbox = with_profile(INRO_PROFILE_PERMISSIVE);
    preload(sandbox, "Began", "Began = Inro.clock; SECRET = Inro.entropy(16)");
    int64_t first = int_of(sandbox, "Began"), second = int_of(sandbox, "Began");
    CHECK(first < second);
    inro_outcome *one = eval(sandbox, "SECRET"), *two = eval(sandbox, "SECRET");
    CHECK(!inro_value_equals(inro_outcome_value(one), inro_outcome_value(two)));
    inro_outcome_free(one);
    inro_outcome_free(two);
    inro_sandbox_free(sandbox);
}
