/* Service calls: what arrives, what goes back, failures, limits. Issue 2 "A service"; spec a.3, b.7, b.19-b.21.
 * What a script sees of it is in tests/cases/services.txt.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

/* ---- what arrives ---- */

static inro_status check_call(void *user, inro_call *call) {
    const inro_value *args = inro_call_args(call), *kwargs = inro_call_kwargs(call);
    ++*(int *)user;
    CHECK_STR(inro_call_method(call), "find");
    CHECK_INT(inro_value_get_type(args), INRO_VALUE_ARRAY);
    CHECK_INT(inro_value_get_type(kwargs), INRO_VALUE_MAP);
    CHECK_INT(inro_value_length(args), 2);
    CHECK_INT(inro_value_get_int(inro_value_array_at(args, 0)), 7);
    CHECK_INT(inro_value_get_type(inro_value_array_at(args, 1)), INRO_VALUE_MAP);
    CHECK_INT(inro_value_length(kwargs), 2);
    CHECK_INT(inro_value_get_type(inro_value_map_key_at(kwargs, 0)), INRO_VALUE_SYMBOL);
    CHECK_STR(inro_value_get_text(inro_value_map_get(kwargs, INRO_STR("name"))), "n");
    CHECK_INT(inro_value_get_type(inro_value_map_get(kwargs, INRO_STR("blob"))), INRO_VALUE_BYTES);
    CHECK(!inro_call_has_block(call));
    return INRO_OK;
}

TEST(a_call_arrives_once_with_all_its_parts) {
    int calls = 0;
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "S", check_call, &calls);
    EVAL_VALUE(sandbox, "S.find(7, {a: 1}, name: 'n', blob: \"\\xff\")", "nil");
    CHECK_INT(calls, 1);
    inro_sandbox_free(sandbox);
}

static inro_status keep_arguments(void *user, inro_call *call) {
    *(inro_value **)user = inro_value_copy(inro_call_args(call));
    return INRO_OK;
}

TEST(a_copy_of_the_arguments_outlives_the_call) {
    inro_value *kept = NULL;
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "S", keep_arguments, &kept);
    EVAL_VALUE(sandbox, "S.call([1, {b: 'text'}], 2.5)", "nil");
    inro_sandbox_free(sandbox);
    char *text = inspected(kept);
    CHECK_STR(inro_str_from_c(text), "[[1, {b: \"text\"}], 2.5]");
    inro_text_free(text);
    inro_value_free(kept);
}

/* ---- answers ---- */

static inro_status answer_user(void *user, inro_call *call) {
    return inro_call_answer(call, inro_value_copy(user));
}

TEST(answers_of_all_types_arrive) {
    inro_value *all = inro_value_new_array(), *map = inro_value_new_map();
    push(all, inro_value_new_nil());
    push(all, inro_value_new_bool(true));
    push(all, inro_value_new_int(INT64_MIN));
    push(all, inro_value_new_int(INT64_MAX));
    push(all, inro_value_new_float(-0.0));
    push(all, inro_value_new_float(1.5));
    push(all, text_value("grüße"));
    push(all, inro_value_new_bytes((inro_bytes){(const uint8_t *)"\xff\0", 2}));
    push(all, symbol_value("sym"));
    push(all, inro_value_new_array());
    put(map, inro_value_new_int(1), symbol_value("one"));
    put(map, inro_value_new_nil(), text_value(""));
    push(all, map);
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "S", answer_user, all);
    EVAL_VALUE(sandbox, "S.call",
               "[nil, true, -9223372036854775808, 9223372036854775807, -0.0, 1.5, \"grüße\", \"\\xFF\\x00\", "
               ":sym, [], "
               "{1 => :one, nil => \"\"}]");
    EVAL_VALUE(sandbox, "S.call.map { |x| x.class.to_s }.join(' ')",
               "\"NilClass TrueClass Integer Integer Float Float String String Symbol Array Hash\"");
    inro_value_free(all);
    inro_sandbox_free(sandbox);
}

static inro_status no_answer(void *user, inro_call *call) {
    (void)user, (void)call;
    return INRO_OK;
}

TEST(no_answer_is_nil) {
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "S", no_answer);
    EVAL_VALUE(sandbox, "[S.call, S.anything(1) { }]", "[nil, nil]");
    inro_sandbox_free(sandbox);
}

static inro_status answer_twice(void *user, inro_call *call) {
    (void)user;
    CHECK_INT(inro_call_answer(call, inro_value_new_int(1)), INRO_OK);
    return inro_call_answer(call, inro_value_new_int(2));
}

TEST(a_second_answer_replaces_the_first) {
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "S", answer_twice);
    EVAL_VALUE(sandbox, "S.call", "2");
    inro_sandbox_free(sandbox);
}

static inro_status answer_null(void *user, inro_call *call) {
    (void)user;
    inro_status status = inro_call_answer(call, NULL);
    CHECK_INT(status, INRO_ERR_MEMORY);
    return status;
}

TEST(no_memory_for_an_answer_is_a_failure_of_the_service) {
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "S", answer_null);
    EVAL_FAILURE(sandbox, "S.call", INRO_FAULT_SERVICE, "Inro::ServiceError", "no memory");
    EVAL_VALUE(sandbox, "S.call rescue 5", "5");
    inro_sandbox_free(sandbox);
}

/* ---- failures ---- */

struct told {
    inro_call_fault fault;
    inro_status status; /* 0: what inro_call_fail answers */
    const char *message;
};

static inro_status fail_as_told(void *user, inro_call *call) {
    const struct told *told = user;
    inro_status status = inro_call_fail(call, told->fault, inro_str_from_c(told->message));
    CHECK_INT(status, INRO_ERR_SERVICE);
    return told->status ? told->status : status;
}

TEST(the_four_failures_and_their_faults) { /* spec a.23-a.25, b.7 */
    static const struct {
        inro_call_fault told;
        inro_fault fault;
        const char *class_name;
    } rows[] = {
        {INRO_CALL_RUNTIME, INRO_FAULT_SERVICE, "Inro::ServiceError"},
        {INRO_CALL_ARGUMENT, INRO_FAULT_SERVICE_ARGUMENT, "Inro::ServiceArgumentError"},
        {INRO_CALL_UNDEFINED, INRO_FAULT_NO_SERVICE, "Inro::NoServiceError"},
        {INRO_CALL_DISCONNECTED, INRO_FAULT_DISCONNECTED, "Inro::ServiceError::Disconnected"},
        {(inro_call_fault)77, INRO_FAULT_SERVICE, "Inro::ServiceError"},
    };
    struct told told = {INRO_CALL_RUNTIME, INRO_OK, "the reason"};
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "S", fail_as_told, &told);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        told.fault = rows[i].told;
        inro_outcome *outcome = eval(sandbox, "def f\n  S.call\nend\nf");
        CHECK_FAILURE(outcome, rows[i].fault, rows[i].class_name, "the reason");
        CHECK_INT(inro_outcome_ended(outcome), INRO_ENDED_SERVICE);
        CHECK_INT(inro_outcome_failure(outcome)->backtrace_count, 3); /* call, f, top */
        CHECK_CONTAINS(inro_outcome_failure(outcome)->backtrace[0].data, "(eval):2");
        inro_outcome_free(outcome);
        EVAL_VALUE(sandbox, "begin; S.call; rescue => e; [e.message, e.is_a?(Inro::ServiceError)]; end",
                   "[\"the reason\", true]");
    }
    inro_sandbox_free(sandbox);
}

TEST(any_other_status_is_a_failure) {
    static const inro_status statuses[] = {INRO_ERR_ARGUMENT,
                                           INRO_ERR_MEMORY,
                                           INRO_ERR_BLOCK,
                                           INRO_ERR_BREAK,
                                           INRO_ERR_TRAP,
                                           INRO_ERR_LIMIT,
                                           -77,
                                           1,
                                           INT32_MIN,
                                           INT32_MAX};
    struct told told = {INRO_CALL_ARGUMENT, INRO_OK, "told"};
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "S", fail_as_told, &told);
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        told.status = statuses[i];
        EVAL_FAILURE(sandbox, "S.call { }", INRO_FAULT_SERVICE_ARGUMENT, "Inro::ServiceArgumentError", "told");
    }
    inro_sandbox_free(sandbox);
}

static inro_status status_only(void *user, inro_call *call) {
    (void)call;
    return *(inro_status *)user;
}

TEST(a_status_without_a_reason_is_a_general_failure) {
    inro_status status;
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "S", status_only, &status);
    for (status = -14; status <= 2; status++) {
        if (status == INRO_OK)
            continue;
        EVAL_FAILURE(sandbox, "S.call { 1 }", INRO_FAULT_SERVICE, "Inro::ServiceError", "service failed");
    }
    EVAL_VALUE(sandbox, "S.call rescue 1", "1");
    inro_sandbox_free(sandbox);
}

static inro_status fail_then_succeed(void *user, inro_call *call) {
    (void)user;
    (void)inro_call_fail(call, INRO_CALL_RUNTIME, INRO_STR("never seen"));
    return inro_call_answer(call, inro_value_new_int(1));
}

static inro_status answer_then_fail(void *user, inro_call *call) {
    (void)user;
    CHECK_INT(inro_call_answer(call, inro_value_new_int(1)), INRO_OK);
    return inro_call_fail(call, INRO_CALL_RUNTIME, INRO_STR("seen"));
}

TEST(the_status_decides) {
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "A", fail_then_succeed);
    bind(sandbox, "B", answer_then_fail);
    EVAL_VALUE(sandbox, "A.call", "1");
    EVAL_FAILURE(sandbox, "B.call", INRO_FAULT_SERVICE, "Inro::ServiceError", "seen");
    inro_sandbox_free(sandbox);
}

static inro_status fail_with_bytes(void *user, inro_call *call) {
    return inro_call_fail(call, INRO_CALL_RUNTIME, *(inro_str *)user);
}

TEST(messages_are_copied_bounded_and_may_be_any_bytes) {
    char *huge = malloc(1 << 20);
    memset(huge, 'm', 1 << 20);
    inro_str message = {huge, 1 << 20};
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "S", fail_with_bytes, &message);
    EVAL_VALUE(sandbox, "begin; S.call; rescue => e; e.message.size; end", "4096");
    message = (inro_str){"a\0b", 3};
    EVAL_VALUE(sandbox, "begin; S.call; rescue => e; e.message.bytes; end", "[97, 0, 98]");
    message = (inro_str){"\xff\xfe", 2};
    EVAL_VALUE(sandbox, "begin; S.call; rescue => e; e.message.bytes; end", "[255, 254]");
    inro_outcome *outcome = eval(sandbox, "S.call");
    CHECK_INT(inro_outcome_ended(outcome), INRO_ENDED_SERVICE);
    inro_outcome_free(outcome);
    message = (inro_str){NULL, 0};
    EVAL_FAILURE(sandbox, "S.call", INRO_FAULT_SERVICE, "Inro::ServiceError", "service failed");
    free(huge);
    inro_sandbox_free(sandbox);
}

/* ---- limits: 16 MiB for a message (spec a.80) ---- */

static inro_sandbox *roomy_sandbox(void) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.memory_limit_bytes = (uint64_t)256 << 20;
    return new_sandbox_with(&options);
}

TEST(arguments_up_to_16_mib) {
    inro_sandbox *sandbox = roomy_sandbox();
    bind(sandbox, "Echo", echo);
    bind(sandbox, "Sink", no_answer);
    EVAL_VALUE(sandbox, "Sink.call('x' * (16 * 1024 * 1024 - 100))", "nil");
    EVAL_VALUE(sandbox, "Echo.call('x' * (16 * 1024 * 1024 - 100)).size", "16777116");
    EVAL_FAILURE(sandbox, "Sink.call('x' * (16 * 1024 * 1024))", INRO_FAULT_SERVICE_ARGUMENT,
                 "Inro::ServiceArgumentError", "16 MiB");
    EVAL_VALUE(sandbox,
               "begin; Sink.call('x' * 17_000_000); rescue Inro::ServiceArgumentError; Echo.call(1); end", "1");
    EVAL_VALUE(sandbox, "a = 'x' * 1_000_000; begin; Sink.call([a] * 17); rescue => e; e.class.to_s; end",
               "\"Inro::ServiceArgumentError\"");
    inro_sandbox_free(sandbox);
}

TEST(results_up_to_16_mib) {
    inro_sandbox *sandbox = roomy_sandbox();
    inro_outcome *outcome = eval(sandbox, "'x' * (16 * 1024 * 1024 - 100)");
    CHECK_INT(inro_value_length(inro_outcome_value(outcome)), 16777116);
    inro_outcome_free(outcome);
    EVAL_FAILURE(sandbox, "'x' * (16 * 1024 * 1024)", INRO_FAULT_SANDBOX, "RangeError", "16 MiB");
    EVAL_FAILURE(sandbox, "['x' * 1_000_000] * 17", INRO_FAULT_SANDBOX, "RangeError", "16 MiB");
    EVAL_VALUE(sandbox, "1", "1");
    inro_sandbox_free(sandbox);
}

static inro_status answer_size(void *user, inro_call *call) {
    (void)user;
    size_t length = (size_t)inro_value_get_int(inro_value_array_at(inro_call_args(call), 0));
    char *text = malloc(length);
    memset(text, 'y', length);
    inro_value *value = inro_value_new_text((inro_str){text, length});
    free(text);
    return inro_call_answer(call, value);
}

TEST(answers_up_to_16_mib) {
    inro_sandbox *sandbox = roomy_sandbox();
    bind(sandbox, "S", answer_size);
    EVAL_VALUE(sandbox, "S.call(16 * 1024 * 1024 - 100).size", "16777116");
    EVAL_FAILURE(sandbox, "S.call(16 * 1024 * 1024)", INRO_FAULT_SERVICE, "Inro::ServiceError", "16 MiB");
    EVAL_VALUE(sandbox, "begin; S.call(20_000_000); rescue => e; S.call(3); end", "\"yyy\"");
    inro_sandbox_free(sandbox);
}

TEST(an_answer_larger_than_the_guests_memory_is_a_trap) {
    inro_sandbox *sandbox = new_sandbox(); /* 1 MiB */
    bind(sandbox, "S", answer_size);
    EVAL_FAILURE(sandbox, "S.call(4_000_000)", INRO_FAULT_MEMORY_LIMIT, NULL, "memory_limit");
    EVAL_VALUE(sandbox, "S.call(100_000).size", "100000");
    inro_sandbox_free(sandbox);
}

TEST(a_thousand_calls) {
    int calls = 0;
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "S", count, &calls);
    EVAL_VALUE(sandbox, "1000.times { S.call(1, a: 2) }", "1000");
    CHECK_INT(calls, 1000);
    inro_sandbox_free(sandbox);
}

TEST(no_new_call_comes_after_the_end) {
    int calls = 0;
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "S", count, &calls);
    EVAL_FAILURE(sandbox, "S.call; raise 'x'; S.call", INRO_FAULT_SANDBOX, "RuntimeError", "x");
    CHECK_INT(calls, 1);
    inro_sandbox_free(sandbox);
}

/* Overridden methods of a script's containers must not reach the encoder (spec b.19). */
TEST(the_encoder_asks_no_script) {
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "S", echo);
    EVAL_VALUE(sandbox,
               "class Array; def length; 1 << 40; end; def size; -1; end; def each; raise 'each'; end; end\n"
               "class Hash; def size; 99; end; def each; raise 'each'; end; def keys; []; end; end\n"
               "class String; def bytesize; 1 << 40; end; def to_s; raise 'to_s'; end; end\n"
               "S.call([1, {a: 'b'}])",
               "[1, {a: \"b\"}]");
    inro_sandbox_free(sandbox);
}
