/* Services that evaluate: in the same sandbox, in another, one inside the other. Issue 2 "nested invocations".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

/* Evaluates its first argument in the sandbox that is its user data and answers the value or the fault's class.
 */
static inro_status eval_inside(void *user, inro_call *call) {
    inro_outcome *outcome = NULL;
    inro_error err;
    inro_str source = inro_value_get_text(inro_value_array_at(inro_call_args(call), 0));
    inro_status status = inro_sandbox_eval(*(inro_sandbox **)user, source, NULL, &outcome, &err);
    if (status != INRO_OK)
        return inro_call_fail(call, INRO_CALL_RUNTIME, inro_str_from_c(inro_status_name(status)));
    const inro_failure *failure = inro_outcome_failure(outcome);
    inro_value *answer =
        failure ? text_value(inro_fault_class(failure->fault)) : inro_value_copy(inro_outcome_value(outcome));
    inro_outcome_free(outcome);
    return inro_call_answer(call, answer);
}

TEST(a_service_evaluates_in_its_own_sandbox) {
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "Eval", eval_inside, &sandbox);
    EVAL_VALUE(sandbox, "$x = 1; [Eval.call('$x.inspect'), Eval.call('$x = 2; $x'), $x]", "[\"nil\", 2, 1]");
    EVAL_VALUE(sandbox, "Eval.call('Eval.call(\"Eval.call(%q(1 + 1)) + 1\") + 1')", "4");
    EVAL_VALUE(sandbox,
               "[Eval.call('raise'), Eval.call('x' * 3), Eval.call(%q('x' * 3_000_000)), Eval.call('1')]",
               "[\"SandboxError\", \"SandboxError\", \"MemoryLimitError\", 1]");
    inro_sandbox_free(sandbox);
}

TEST(a_service_evaluates_in_another_sandbox) {
    inro_sandbox *outer = new_sandbox(), *inner = new_sandbox();
    bind_user(outer, "Inner", eval_inside, &inner);
    bind_user(inner, "Outer", eval_inside, &outer);
    preload(inner, "Where", "WHERE = :inner");
    preload(outer, "Where", "WHERE = :outer");
    EVAL_VALUE(outer, "[WHERE, Inner.call('WHERE'), WHERE]", "[:outer, :inner, :outer]");
    EVAL_VALUE(outer, "Inner.call('[WHERE, Outer.call(%q([WHERE, Inner.call(\"WHERE\")]))]')",
               "[:inner, [:outer, :inner]]");
    inro_sandbox_free(outer);
    inro_sandbox_free(inner);
}

TEST(an_inner_trap_is_only_the_inner_ones) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(20);
    inro_sandbox *outer = new_sandbox(), *inner = new_sandbox_with(&options);
    bind_user(outer, "Inner", eval_inside, &inner);
    EVAL_VALUE(outer, "a = 'kept'; [Inner.call('loop { }'), Inner.call('def f; f; end; f'), a]",
               "[\"TimeoutError\", \"SandboxError\", \"kept\"]");
    inro_sandbox_free(outer);
    inro_sandbox_free(inner);
}

TEST(the_outer_deadline_holds_for_the_inner_one) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(300);
    inro_sandbox *outer = new_sandbox_with(&options);
    options.timeout_us = INRO_UNLIMITED;
    inro_sandbox *inner = new_sandbox_with(&options);
    bind_user(outer, "Inner", eval_inside, &inner);
    EVAL_FAILURE(outer, "begin; Inner.call('loop { }'); rescue Exception; 1; end", INRO_FAULT_TIMEOUT, NULL,
                 "timeout");
    EVAL_FAILURE(outer, "Inner.call('begin; loop { }; rescue Exception; end'); loop { }", INRO_FAULT_TIMEOUT,
                 NULL, "timeout");
    EVAL_VALUE(outer, "Inner.call('1')", "1");
    inro_sandbox_free(outer);
    inro_sandbox_free(inner);
}

TEST(nesting_is_bounded) {
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "Eval", eval_inside, &sandbox);
    preload(sandbox, "Deep",
            "def deep(n) Eval.call(\"begin; deep(#{n + 1}); rescue Inro::ServiceError => e; [#{n}, e.message]; "
            "end\"); end");
    inro_outcome *outcome = eval(sandbox, "deep(0)");
    CHECK_INT(inro_outcome_ended(outcome), INRO_ENDED_VALUE);
    const inro_value *value = inro_outcome_value(outcome);
    int64_t depth = inro_value_get_int(inro_value_array_at(value, 0));
    CHECK(depth >= 8 && depth <= 1000);
    CHECK_STR(inro_value_get_text(inro_value_array_at(value, 1)), "ERR_LIMIT");
    inro_outcome_free(outcome);
    EVAL_VALUE(sandbox, "Eval.call('1')", "1");
    inro_sandbox_free(sandbox);
}

/* An evaluation inside a yield inside a service. */
static inro_status yield_then_eval(void *user, inro_call *call) {
    const inro_value *result = NULL;
    inro_error err;
    inro_status status = inro_call_yield(call, NULL, &result, &err);
    if (status != INRO_OK)
        return status;
    inro_outcome *outcome = NULL;
    CHECK_INT(inro_sandbox_eval(*(inro_sandbox **)user, inro_value_get_text(result), NULL, &outcome, &err),
              INRO_OK);
    inro_value *both = inro_value_new_array();
    push(both, inro_value_copy(inro_outcome_value(outcome)));
    inro_outcome_free(outcome);
    status = inro_call_yield(call, NULL, &result, &err);
    push(both, inro_value_copy(result));
    inro_status answered = inro_call_answer(call, both);
    return status == INRO_OK ? answered : status;
}

TEST(yields_and_evaluations_mix) {
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "Mix", yield_then_eval, &sandbox);
    bind_user(sandbox, "Eval", eval_inside, &sandbox);
    EVAL_VALUE(sandbox, "Mix.call { '1 + 1' }", "[2, \"1 + 1\"]");
    EVAL_VALUE(sandbox, "Mix.call { Eval.call(\"Mix.call { '5' }.to_s\") }",
               "[[5, \"5\"], \"[5, \\\"5\\\"]\"]");
    EVAL_FAILURE(sandbox, "n = 0; Mix.call { n += 1; n == 2 ? raise('second') : '1' }", INRO_FAULT_SANDBOX,
                 "RuntimeError", "second");
    inro_sandbox_free(sandbox);
}

/* A service may make, use and free sandboxes, and trim. */
static inro_status whole_life(void *user, inro_call *call) {
    (void)user;
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "Echo", echo);
    preload(sandbox, "Twice", "def twice(x) x * 2 end");
    inro_outcome *outcome = eval(sandbox, "Echo.call(twice(21))");
    inro_value *answer = inro_value_copy(inro_outcome_value(outcome));
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
    inro_trim();
    return inro_call_answer(call, answer);
}

TEST(a_whole_life_inside_a_call) {
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "Life", whole_life);
    EVAL_VALUE(sandbox, "a = [1, 2]; [Life.call, a, Life.call { }, a]", "[42, [1, 2], 42, [1, 2]]");
    inro_sandbox_free(sandbox);
}
