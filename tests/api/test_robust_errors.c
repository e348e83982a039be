/* Failures are told the same, whatever a script has done to the constants they are named by; backtraces name
 * only code of their invocation, and not all of it. Spec a.4, a.9.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

static inro_status fail(void *user, inro_call *call) {
    (void)user;
    return inro_call_fail(call,
                          (inro_call_fault)inro_value_get_int(inro_value_array_at(inro_call_args(call), 0)),
                          INRO_STR("as told"));
}

static inro_sandbox *with_failing_service(void) {
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "Svc", fail);
    return sandbox;
}

/* What a script may do to our constants; a collection shows what is no longer held. */
static const char *const vandals[] = {
    "Inro = 5; x = nil; 30_000.times { x = [x.class] }; ",
    "Object.send(:remove_const, :Inro); x = nil; 30_000.times { x = [x.class] }; ",
    "Inro::ServiceError = 5; Inro::NoServiceError = nil; Inro::ServiceArgumentError = Class.new; ",
    "Inro::ServiceError.send(:remove_const, :Disconnected); ",
    "class Inro::ServiceError; def self.name; 'Mine'; end; def self.to_s; 'Mine'; end; end; ",
};

TEST(services_fail_alike_whatever_their_constants_are) {
    static const struct {
        inro_fault fault;
        const char *class_name;
    } faults[] = {{INRO_FAULT_SERVICE, "Inro::ServiceError"},
                  {INRO_FAULT_SERVICE_ARGUMENT, "Inro::ServiceArgumentError"},
                  {INRO_FAULT_NO_SERVICE, "Inro::NoServiceError"},
                  {INRO_FAULT_DISCONNECTED, "Inro::ServiceError::Disconnected"}};
    inro_sandbox *sandbox = with_failing_service();
    for (size_t i = 0; i < sizeof vandals / sizeof *vandals; i++)
        for (int fault = 0; fault < 4; fault++) {
            char script[512];
            snprintf(script, sizeof script, "%sSvc.call(%d)", vandals[i], fault);
            EVAL_FAILURE(sandbox, script, faults[fault].fault, faults[fault].class_name, "as told");
        }
    inro_sandbox_free(sandbox);
}

TEST(a_class_at_the_constants_place_is_not_ours) {
    inro_sandbox *sandbox = with_failing_service();
    EVAL_FAILURE(sandbox, "Inro::ServiceError = Class.new(StandardError); raise Inro::ServiceError, 'own'",
                 INRO_FAULT_SANDBOX, "Inro::ServiceError", "own");
    inro_sandbox_free(sandbox);
}

TEST(entry_points_and_bytecode_fail_alike_without_their_constants) {
    inro_sandbox *sandbox = new_sandbox();
    preload(sandbox, "Work", "Work = ->(a, k: 1) { [a, k] }; Inro = SyntaxError = nil");
    inro_value *args = inro_value_new_array(), *kwargs = inro_value_new_map();
    push(args, inro_value_new_int(1));
    put(kwargs, symbol_value("k"), inro_value_new_int(2));
    inro_outcome *outcome = run_with(sandbox, "Work", args, kwargs);
    CHECK_VALUE(outcome, "[1, 2]");
    inro_outcome_free(outcome);
    outcome = run_with(sandbox, "Nobody", NULL, NULL);
    CHECK_FAILURE(outcome, INRO_FAULT_UNDEFINED_ENTRYPOINT, "Inro::UndefinedEntrypointError", "Nobody");
    inro_outcome_free(outcome);
    EVAL_FAILURE(sandbox, "1 +", INRO_FAULT_SANDBOX, "SyntaxError", "syntax error");
    inro_error err;
    CHECK_INT(inro_sandbox_eval(sandbox, (inro_str){"1\0", 2}, NULL, &outcome, &err), INRO_OK);
    CHECK_FAILURE(outcome, INRO_FAULT_SANDBOX, "SyntaxError", "NUL byte");
    inro_outcome_free(outcome);
    inro_value_free(args);
    inro_value_free(kwargs);
    inro_sandbox_free(sandbox);
}

TEST(the_entry_points_helper_is_out_of_reach) {
    inro_sandbox *sandbox = new_sandbox();
    preload(sandbox, "Work", "Work = -> { :mine }; def Inro.dispatch(*) = :theirs");
    inro_outcome *outcome = run_with(sandbox, "Work", NULL, NULL);
    CHECK_VALUE(outcome, ":mine");
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
    sandbox = new_sandbox();
    EVAL_FAILURE(sandbox, "Inro.dispatch(1, [], {})", INRO_FAULT_SANDBOX, "NoMethodError", "dispatch");
    inro_sandbox_free(sandbox);
}

/* ---- backtraces ---- */

static void check_lines(const inro_outcome *outcome, const char *const *expected, size_t count) {
    const inro_failure *failure = inro_outcome_failure(outcome);
    CHECK(failure != NULL);
    CHECK_INT(failure->backtrace_count, count);
    for (size_t i = 0; i < count; i++)
        CHECK_STR(failure->backtrace[i], expected[i]);
}

TEST(a_backtrace_names_only_this_invocation) {
    inro_sandbox *sandbox = new_sandbox();
    static const char *const only[] = {"(eval):1"};
    uint8_t body[] = "no bytecode at all";
    inro_error err;
    EVAL_VALUE(sandbox, "1", "1");
    inro_outcome *outcome = eval(sandbox, "raise 'x'");
    check_lines(outcome, only, 1);
    inro_outcome_free(outcome);
    outcome = run_with(sandbox, "Nobody", NULL, NULL);
    check_lines(outcome, NULL, 0);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
    sandbox = new_sandbox();
    CHECK_INT(inro_sandbox_preload_bytecode(sandbox, (inro_bytes){body, sizeof body}, &err), INRO_OK);
    outcome = eval(sandbox, "1");
    CHECK_FAILURE(outcome, INRO_FAULT_BYTECODE, "Inro::BytecodeError", "");
    check_lines(outcome, NULL, 0);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(a_hundred_lines_are_told_and_no_more) {
    inro_sandbox *sandbox = new_sandbox();
    inro_outcome *outcome = eval(sandbox, "def f(n)\n  n == 0 ? raise('x') : f(n - 1)\nend\nf(98)");
    CHECK_INT(inro_outcome_failure(outcome)->backtrace_count, 100);
    CHECK_STR(inro_outcome_failure(outcome)->backtrace[50], "(eval):2:in f");
    inro_outcome_free(outcome);
    outcome = eval(sandbox, "def f(n)\n  n == 0 ? raise('x') : f(n - 1)\nend\nf(300)");
    const inro_failure *failure = inro_outcome_failure(outcome);
    CHECK_INT(failure->backtrace_count, 100);
    CHECK_STR(failure->backtrace[0], "(eval):2:in f");
    CHECK_STR(failure->backtrace[49], "(eval):2:in f");
    CHECK_STR(failure->backtrace[50], "... 203 more");
    CHECK_STR(failure->backtrace[51], "(eval):2:in f");
    CHECK_STR(failure->backtrace[99], "(eval):4");
    inro_outcome_free(outcome);
    EVAL_VALUE(sandbox,
               "def f(n) = n == 0 ? raise('x') : f(n - 1)\nbegin; f(300); rescue => e; e.backtrace.size; end",
               "100");
    inro_sandbox_free(sandbox);
}

TEST(a_backtrace_that_a_script_made_is_bounded_too) {
    inro_sandbox *sandbox = new_sandbox();
    inro_outcome *outcome =
        eval(sandbox, "e = RuntimeError.new('x'); e.set_backtrace((0...5_000).map { |i| i.to_s }); raise e");
    const inro_failure *failure = inro_outcome_failure(outcome);
    CHECK_INT(failure->backtrace_count, 100);
    CHECK_STR(failure->backtrace[49], "49");
    CHECK_STR(failure->backtrace[50], "... 4901 more");
    CHECK_STR(failure->backtrace[51], "4951");
    CHECK_STR(failure->backtrace[99], "4999");
    inro_outcome_free(outcome);
    outcome = eval(
        sandbox, "class E < StandardError; def backtrace = [1, 'a', nil, Object.new, 'b']; end; raise E, 'x'");
    static const char *const texts[] = {"a", "b"};
    CHECK_FAILURE(outcome, INRO_FAULT_SANDBOX, "E", "x");
    check_lines(outcome, texts, 2);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}
