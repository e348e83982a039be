/* Yielding to the guest's block, from the host's side. Issue 2 "may yield to the guest's block"; spec
 * b.15-b.18.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

/* What the last yield of a test's service came to. */
struct seen {
    int yields;
    inro_status status;
    char message[256];
    inro_call *call; /* kept after its end, as no service should */
};

/* Yields its arguments once and answers the block's value; returns the status of a yield that failed. */
static inro_status once(void *user, inro_call *call) {
    struct seen *seen = user;
    const inro_value *result = (const inro_value *)seen;
    inro_error err = {0};
    seen->yields++;
    seen->status = inro_call_yield(call, inro_call_args(call), &result, &err);
    memcpy(seen->message, err.message, sizeof err.message);
    if (seen->status != INRO_OK) {
        CHECK(result == NULL);
        CHECK_INT(err.status, seen->status);
        return seen->status;
    }
    return inro_call_answer(call, inro_value_copy(result));
}

/* The same, but whatever the block does it answers :service. */
static inro_status rescuing(void *user, inro_call *call) {
    (void)once(user, call);
    return inro_call_answer(call, symbol_value("service"));
}

/* The same, but fails in its own words. */
static inro_status own_failure(void *user, inro_call *call) {
    (void)once(user, call);
    return inro_call_fail(call, INRO_CALL_RUNTIME, INRO_STR("own words"));
}

/* Yields 0, 1, 2, ... until the block ends it. */
static inro_status forever(void *user, inro_call *call) {
    struct seen *seen = user;
    inro_error err;
    for (seen->status = INRO_OK; seen->status == INRO_OK; seen->yields++) {
        inro_value *args = inro_value_new_array();
        push(args, inro_value_new_int(seen->yields));
        seen->status = inro_call_yield(call, args, NULL, &err);
        inro_value_free(args);
    }
    return seen->status;
}

static inro_sandbox *yielding(struct seen *seen) {
    inro_sandbox *sandbox = new_sandbox();
    memset(seen, 0, sizeof *seen);
    bind_user(sandbox, "Once", once, seen);
    bind_user(sandbox, "Rescuing", rescuing, seen);
    bind_user(sandbox, "Own", own_failure, seen);
    bind_user(sandbox, "Forever", forever, seen);
    bind(sandbox, "Echo", echo);
    return sandbox;
}

TEST(the_blocks_value_comes_back) {
    struct seen seen;
    inro_sandbox *sandbox = yielding(&seen);
    EVAL_VALUE(sandbox, "Once.call(20, 1) { |a, b| a * 2 + b }", "41");
    EVAL_VALUE(sandbox, "Once.call { [nil, {a: 1.5}, :s, \"\\xff\"] }", "[nil, {a: 1.5}, :s, \"\\xFF\"]");
    EVAL_VALUE(sandbox, "Once.call { |a| a }", "nil");
    EVAL_VALUE(sandbox, "Once.call(3) { |a| next a + 1; 9 }", "4");
    CHECK_INT(seen.yields, 4);
    inro_sandbox_free(sandbox);
}

TEST(without_a_block_there_is_nothing_to_yield_to) {
    struct seen seen;
    inro_sandbox *sandbox = yielding(&seen);
    EVAL_VALUE(sandbox, "Rescuing.call(1)", ":service");
    CHECK_INT(seen.status, INRO_ERR_ARGUMENT);
    CHECK_CONTAINS(seen.message, "block");
    inro_sandbox_free(sandbox);
}

TEST(a_raise_comes_as_a_status_with_its_text) { /* spec b.16 */
    struct seen seen;
    inro_sandbox *sandbox = yielding(&seen);
    EVAL_VALUE(sandbox, "Rescuing.call { raise ArgumentError, 'bad thing' }", ":service");
    CHECK_INT(seen.status, INRO_ERR_BLOCK);
    CHECK_STR(inro_str_from_c(seen.message), "ArgumentError: bad thing");
    EVAL_VALUE(sandbox, "Rescuing.call { raise 'x' * 5000 }", ":service");
    CHECK_INT(seen.status, INRO_ERR_BLOCK);
    EVAL_VALUE(sandbox, "class E < StandardError; def to_s; raise 'again'; end; end; Rescuing.call { raise E }",
               ":service");
    CHECK_INT(seen.status, INRO_ERR_BLOCK);
    EVAL_VALUE(sandbox, "Rescuing.call { raise \"\\xff\" }", ":service");
    CHECK_INT(seen.status, INRO_ERR_BLOCK);
    EVAL_VALUE(sandbox, "class E < StandardError; def message; 5; end; end; Rescuing.call { raise E, 'm' }",
               ":service");
    CHECK_INT(seen.status, INRO_ERR_BLOCK);
    inro_sandbox_free(sandbox);
}

TEST(a_raise_goes_on_as_the_same_exception) { /* spec b.16 */
    struct seen seen;
    inro_sandbox *sandbox = yielding(&seen);
    EVAL_FAILURE(sandbox, "Once.call { raise ArgumentError, 'bad' }", INRO_FAULT_SANDBOX, "ArgumentError",
                 "bad");
    EVAL_VALUE(sandbox, "e = TypeError.new('t'); begin; Once.call { raise e }; rescue => r; r.equal?(e); end",
               "true");
    EVAL_FAILURE(sandbox, "Own.call { raise ArgumentError, 'bad' }", INRO_FAULT_SERVICE, "Inro::ServiceError",
                 "own words");
    inro_sandbox_free(sandbox);
}

TEST(a_rescued_raise_is_spent) { /* spec b.16 */
    struct seen seen;
    inro_sandbox *sandbox = yielding(&seen);
    EVAL_VALUE(sandbox, "Rescuing.call { raise 'x' }; Once.call { 5 }", "5");
    EVAL_VALUE(sandbox, "[Rescuing.call { raise 'x' }, Echo.call(1)]", "[:service, 1]");
    inro_sandbox_free(sandbox);
}

/* A service that claims a raise, or a break, that there was none of. */
static inro_status claims(void *user, inro_call *call) {
    (void)call;
    return *(inro_status *)user;
}

TEST(a_claimed_raise_or_break_is_a_failure) {
    struct seen seen;
    inro_status status;
    inro_sandbox *sandbox = yielding(&seen);
    inro_sandbox *other = new_sandbox();
    bind_user(other, "Claims", claims, &status);
    bind_user(other, "Rescuing", rescuing, &seen);
    for (status = INRO_ERR_BREAK; status <= INRO_ERR_BLOCK; status++) {
        EVAL_FAILURE(other, "Claims.call { }", INRO_FAULT_SERVICE, "Inro::ServiceError", "");
        EVAL_FAILURE(other, "Rescuing.call { raise 'old' }; Claims.call { }", INRO_FAULT_SERVICE,
                     "Inro::ServiceError", "");
        EVAL_FAILURE(other, "Rescuing.call { break 1 }; Claims.call { }", INRO_FAULT_SERVICE,
                     "Inro::ServiceError", "");
    }
    inro_sandbox_free(other);
    inro_sandbox_free(sandbox);
}

TEST(break_ends_the_call_with_its_value) {
    struct seen seen;
    inro_sandbox *sandbox = yielding(&seen);
    EVAL_VALUE(sandbox, "Forever.call { |i| break i * 10 if i == 5 }", "50");
    CHECK_INT(seen.yields, 6);
    CHECK_INT(seen.status, INRO_ERR_BREAK);
    EVAL_VALUE(sandbox, "def f; Forever.call { |i| return i if i > 8 }; end; f", "9");
    EVAL_VALUE(sandbox, "catch(:t) { Forever.call { |i| throw :t, :thrown } }", ":thrown");
    EVAL_VALUE(sandbox, "begin; Forever.call { |i| raise 'stop' if i > 20 }; rescue => e; e.message; end",
               "\"stop\"");
    EVAL_VALUE(sandbox, "loop { Forever.call { raise StopIteration } }; 1", "1");
    EVAL_VALUE(sandbox, "l = lambda { |x| return x + 1 }; Once.call(1, &l)", "2");
    inro_sandbox_free(sandbox);
}

TEST(a_break_that_is_ignored_is_spent) {
    struct seen seen;
    inro_sandbox *sandbox = yielding(&seen);
    EVAL_VALUE(sandbox, "[Rescuing.call { break 1 }, Once.call { 2 }]", "[:service, 2]");
    EVAL_FAILURE(sandbox, "Own.call { break 1 }", INRO_FAULT_SERVICE, "Inro::ServiceError", "own words");
    inro_sandbox_free(sandbox);
}

TEST(nested_blocks_do_not_mix) {
    struct seen seen;
    inro_sandbox *sandbox = yielding(&seen);
    EVAL_VALUE(sandbox, "Once.call(1) { |a| Once.call(2) { |b| Once.call(3) { |c| [a, b, c] } } }",
               "[1, 2, 3]");
    EVAL_VALUE(sandbox, "Once.call(1) { |a| x = Once.call(2) { |b| break 5 }; [a, x] }", "[1, 5]");
    EVAL_VALUE(sandbox, "Once.call(1) { |a| [Once.call(2) { |b| b }, Rescuing.call { raise 'x' }, a] }",
               "[2, :service, 1]");
    EVAL_VALUE(sandbox, "Forever.call { |a| break Forever.call { |b| break b } }.class.to_s", "\"Integer\"");
    inro_sandbox_free(sandbox);
}

TEST(values_without_a_form_fail_in_the_guest) { /* spec b.17 */
    struct seen seen;
    inro_sandbox *sandbox = yielding(&seen);
    EVAL_FAILURE(sandbox, "Once.call { Object.new }", INRO_FAULT_SANDBOX, "TypeError",
                 "block result of type Object");
    EVAL_FAILURE(sandbox, "Once.call { a = []; a << a; a }", INRO_FAULT_SANDBOX, "ArgumentError", "128");
    EVAL_VALUE(sandbox, "Rescuing.call { 1..2 }", ":service");
    CHECK_INT(seen.status, INRO_ERR_BLOCK);
    CHECK_CONTAINS(seen.message, "TypeError");
    inro_sandbox_free(sandbox);
}

/* ---- arguments of a yield ---- */

static inro_status yield_user(void *user, inro_call *call) {
    const inro_value *result = NULL;
    inro_error err;
    inro_status status = inro_call_yield(call, user, &result, &err);
    return status == INRO_OK ? inro_call_answer(call, inro_value_copy(result)) : status;
}

static inro_status yield_wrong(void *user, inro_call *call) {
    inro_value *number = inro_value_new_int(1), *huge = inro_value_new_array();
    inro_error err;
    (void)user;
    CHECK_INT(inro_call_yield(call, number, NULL, &err), INRO_ERR_ARGUMENT);
    char *text = malloc(17 << 20);
    memset(text, 'x', 17 << 20);
    push(huge, inro_value_new_text((inro_str){text, 17 << 20}));
    free(text);
    CHECK_INT(inro_call_yield(call, huge, NULL, &err), INRO_ERR_TYPE);
    CHECK_CONTAINS(err.message, "16 MiB");
    inro_value_free(number);
    inro_value_free(huge);
    CHECK_INT(inro_call_yield(call, NULL, NULL, &err), INRO_OK);
    return INRO_OK;
}

TEST(arguments_of_a_yield) {
    inro_value *args = inro_value_new_array(), *map = inro_value_new_map();
    put(map, symbol_value("a"), inro_value_new_int(1));
    push(args, inro_value_new_nil());
    push(args, map);
    push(args, text_value("t"));
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "Y", yield_user, args);
    bind_user(sandbox, "None", yield_user, NULL);
    bind(sandbox, "Wrong", yield_wrong);
    EVAL_VALUE(sandbox, "Y.call { |*all| all }", "[nil, {a: 1}, \"t\"]");
    EVAL_VALUE(sandbox, "None.call { |*all| all }", "[]");
    EVAL_VALUE(sandbox, "runs = 0; Wrong.call { runs += 1 }; runs", "1");
    inro_value_free(args);
    inro_sandbox_free(sandbox);
}

static inro_status lends(void *user, inro_call *call) {
    const inro_value *first = NULL, *second = NULL;
    inro_error err;
    (void)user;
    CHECK_INT(inro_call_yield(call, NULL, &first, &err), INRO_OK);
    inro_value *copy = inro_value_copy(first);
    CHECK_INT(inro_call_yield(call, NULL, &second, &err), INRO_OK);
    inro_value *both = inro_value_new_array();
    push(both, copy);
    push(both, inro_value_copy(second));
    return inro_call_answer(call, both);
}

TEST(arguments_stay_while_blocks_run) {
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "Lends", lends);
    EVAL_VALUE(sandbox, "n = 0; Lends.call('kept') { n += 1; 'x' * 20 + n.to_s }",
               "[\"xxxxxxxxxxxxxxxxxxxx1\", \"xxxxxxxxxxxxxxxxxxxx2\"]");
    inro_sandbox_free(sandbox);
}

/* ---- the ends of guests ---- */

TEST(a_trap_in_a_block_ends_the_invocation) {
    struct seen seen;
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(400);
    inro_sandbox *sandbox = new_sandbox_with(&options);
    memset(&seen, 0, sizeof seen);
    bind_user(sandbox, "Once", once, &seen);
    bind_user(sandbox, "Rescuing", rescuing, &seen);
    bind_user(sandbox, "Own", own_failure, &seen);
    static const char *const names[] = {"Once", "Rescuing", "Own"};
    char source[128];
    for (int i = 0; i < 3; i++) {
        snprintf(source, sizeof source,
                 "begin; %s.call { loop { } }; rescue Exception; 1; ensure; puts 'no'; end", names[i]);
        inro_outcome *outcome = eval(sandbox, source);
        CHECK_FAILURE(outcome, INRO_FAULT_TIMEOUT, NULL, "timeout");
        CHECK_STR(inro_outcome_stdout(outcome), "");
        inro_outcome_free(outcome);
        CHECK_INT(seen.status, INRO_ERR_TRAP);
        snprintf(source, sizeof source, "%s.call { 'x' * 3_000_000 }", names[i]);
        EVAL_FAILURE(sandbox, source, INRO_FAULT_MEMORY_LIMIT, NULL, "memory_limit");
        CHECK_INT(seen.status, INRO_ERR_TRAP);
    }
    EVAL_VALUE(sandbox, "Once.call { 1 }", "1");
    inro_sandbox_free(sandbox);
}

static inro_status yield_on(void *user, inro_call *call) {
    struct seen *seen = user;
    inro_error err;
    CHECK_INT(inro_call_yield(call, NULL, NULL, &err), INRO_ERR_TRAP);
    seen->status = inro_call_yield(call, NULL, NULL, &err);
    seen->yields++;
    return INRO_OK;
}

TEST(a_stopped_guest_cannot_be_yielded_to) {
    struct seen seen = {0};
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "S", yield_on, &seen);
    EVAL_FAILURE(sandbox, "S.call { 'x' * 3_000_000 }", INRO_FAULT_MEMORY_LIMIT, NULL, "memory_limit");
    CHECK_INT(seen.status, INRO_ERR_TRAP);
    CHECK_INT(seen.yields, 1);
    inro_sandbox_free(sandbox);
}

TEST(recursion_through_services_and_blocks_is_bounded) {
    struct seen seen;
    inro_sandbox *sandbox = yielding(&seen);
    inro_outcome *outcome =
        eval(sandbox, "$n = 0\ndef f; $n += 1; Once.call { f }; end\nbegin; f; rescue StandardError; $n; end");
    CHECK(inro_outcome_ended(outcome) == INRO_ENDED_VALUE);
    int64_t depth = inro_value_get_int(inro_outcome_value(outcome));
    CHECK(depth >= 16 && depth <= 1000);
    inro_outcome_free(outcome);
    EVAL_VALUE(sandbox, "Once.call { 1 }", "1");
    inro_sandbox_free(sandbox);
}

TEST(a_block_that_outlives_its_call_is_an_ordinary_block) {
    struct seen seen;
    inro_sandbox *sandbox = yielding(&seen);
    EVAL_VALUE(sandbox, "b = proc { |x| x * 2 }; [Once.call(2, &b), b.call(4)]", "[4, 8]");
    inro_sandbox_free(sandbox);
}

TEST(garbage_collection_inside_a_yield_keeps_what_is_needed) {
    struct seen seen;
    inro_sandbox *sandbox = yielding(&seen);
    EVAL_VALUE(sandbox,
               "20.times { |i| r = Once.call('key' + i.to_s, [i]) { |k, a| GC.start; x = (1..50).map { |n| "
               "n.to_s * 20 }; "
               "GC.start; k + a[0].to_s + x.size.to_s }; raise r unless r == \"key#{i}#{i}50\" }",
               "20");
    EVAL_VALUE(sandbox,
               "begin; Once.call { GC.start; raise ArgumentError, 'a' * 40 }; rescue => e; GC.start; "
               "e.message.size; end",
               "40");
    EVAL_VALUE(sandbox, "x = Once.call { v = 'b' * 50; GC.start; break v }; GC.start; x.size", "50");
    inro_sandbox_free(sandbox);
}

TEST(fibers_and_yields) { /* a fiber that is left in the middle of a service call */
    struct seen seen;
    inro_sandbox *sandbox = yielding(&seen);
    EVAL_VALUE(sandbox, "f = Fiber.new { Once.call(1) { |x| x + 1 } }; f.resume", "2");
    EVAL_VALUE(sandbox, "Once.call { f = Fiber.new { Fiber.yield 1; 2 }; [f.resume, f.resume] }", "[1, 2]");
    inro_outcome *outcome = eval(sandbox, "f = Fiber.new { Once.call(1) { |x| Fiber.yield x; 7 } }\nbegin; "
                                          "[f.resume, f.resume]; rescue => e; e.class.to_s; end");
    CHECK(inro_outcome_ended(outcome) == INRO_ENDED_VALUE); /* refused or served, but never a fault */
    inro_outcome_free(outcome);
    EVAL_VALUE(sandbox, "e = [1, 2, 3].each; a = e.next; [a, Once.call { e.next }, e.next]", "[1, 2, 3]");
    inro_sandbox_free(sandbox);
}
