/* Handles: host objects that a script can call and pass on, but never look into, make or keep.
 * Issue 2 "Handles"; spec a.8, b.11, b.12.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

/* A counter as a host object: add(n) answers the sum, same answers a handle of itself, next one of a new
 * counter. */
struct counter {
    int64_t value;
    int *released;
};

static inro_status counter_call(void *user, inro_call *call);

static void counter_release(void *user) {
    struct counter *counter = user;
    ++*counter->released;
    free(counter);
}

static inro_object *new_counter(int64_t value, int *released) {
    struct counter *counter = malloc(sizeof *counter);
    *counter = (struct counter){value, released};
    return inro_object_new(counter_call, counter, counter_release);
}

static inro_status answer_object(inro_call *call, inro_object *object) {
    inro_status status = inro_call_answer(call, inro_value_new_object(object));
    inro_object_unref(object);
    return status;
}

static bool is_method(inro_call *call, const char *name) {
    inro_str method = inro_call_method(call);
    return method.length == strlen(name) && memcmp(method.data, name, method.length) == 0;
}

static inro_status counter_call(void *user, inro_call *call) {
    struct counter *counter = user;
    if (is_method(call, "next"))
        return answer_object(call, new_counter(counter->value + 1, counter->released));
    if (!is_method(call, "add"))
        return inro_call_fail(call, INRO_CALL_UNDEFINED, INRO_STR("a counter has add and next"));
    counter->value += inro_value_get_int(inro_value_array_at(inro_call_args(call), 0));
    return inro_call_answer(call, inro_value_new_int(counter->value));
}

/* New.call(n): a handle of a counter. */
static inro_status new_call(void *user, inro_call *call) {
    return answer_object(call,
                         new_counter(inro_value_get_int(inro_value_array_at(inro_call_args(call), 0)), user));
}

/* Read.call(anything with counters in it): their values, in order. */
static void read_counters(const inro_value *value, inro_value *values) {
    inro_object *object = inro_value_get_object(value);
    if (object != NULL) {
        struct counter *counter = inro_object_user(object, counter_call);
        push(values, counter ? inro_value_new_int(counter->value) : symbol_value("other"));
    }
    for (size_t i = 0; inro_value_get_type(value) == INRO_VALUE_ARRAY && i < inro_value_length(value); i++)
        read_counters(inro_value_array_at(value, i), values);
    for (size_t i = 0; inro_value_get_type(value) == INRO_VALUE_MAP && i < inro_value_length(value); i++) {
        read_counters(inro_value_map_key_at(value, i), values);
        read_counters(inro_value_map_value_at(value, i), values);
    }
}

static inro_status read_call(void *user, inro_call *call) {
    inro_value *values = inro_value_new_array();
    (void)user;
    read_counters(inro_call_args(call), values);
    read_counters(inro_call_kwargs(call), values);
    return inro_call_answer(call, values);
}

static inro_sandbox *counting(int *released) {
    inro_sandbox *sandbox = new_sandbox();
    *released = 0;
    bind_user(sandbox, "New", new_call, released);
    bind(sandbox, "Read", read_call);
    bind(sandbox, "Echo", echo);
    return sandbox;
}

TEST(calls_chain) { /* spec a.56 */
    int released;
    inro_sandbox *sandbox = counting(&released);
    EVAL_VALUE(sandbox, "c = New.call(5); [c.add(1), c.add(2)]", "[6, 8]");
    EVAL_VALUE(sandbox, "New.call(1).next.next.next.add(0)", "4");
    EVAL_FAILURE(sandbox, "New.call(1).nope", INRO_FAULT_NO_SERVICE, "Inro::NoServiceError", "add and next");
    CHECK_INT(released, 1 + 4 + 1);
    inro_sandbox_free(sandbox);
}

TEST(handles_come_back_as_the_objects_they_are) { /* spec a.57 */
    int released;
    inro_sandbox *sandbox = counting(&released);
    EVAL_VALUE(sandbox, "a = New.call(1); b = New.call(2); Read.call(a, [b, {a => [b]}], x: a, y: {z: b})",
               "[1, 2, 1, 2, 1, 2]");
    EVAL_VALUE(sandbox, "a = New.call(1); Read.call(Echo.call(a), Echo.call([a]), a.dup, a.clone)",
               "[1, 1, 1, 1]");
    inro_sandbox_free(sandbox);
}

TEST(an_object_in_the_result_lives_as_long_as_the_outcome) { /* spec b.12 */
    int released;
    inro_sandbox *sandbox = counting(&released);
    inro_outcome *outcome = eval(sandbox, "c = New.call(40); c.add(2); [c, {c => [c]}, New.call(7)]");
    CHECK_VALUE(outcome, "[#<Handle>, {#<Handle> => [#<Handle>]}, #<Handle>]");
    inro_sandbox_free(sandbox);
    CHECK_INT(released, 0);
    const inro_value *value = inro_outcome_value(outcome);
    inro_object *object = inro_value_get_object(inro_value_array_at(value, 0));
    struct counter *counter = inro_object_user(object, counter_call);
    CHECK(counter != NULL && counter->value == 42);
    CHECK(inro_value_get_object(inro_value_map_key_at(inro_value_array_at(value, 1), 0)) == object);
    inro_value *copy = inro_value_copy(value);
    inro_outcome_free(outcome);
    CHECK_INT(released, 0);
    CHECK(inro_object_user(inro_value_get_object(inro_value_array_at(copy, 0)), counter_call) == counter);
    inro_value_free(copy);
    CHECK_INT(released, 2);
}

TEST(objects_are_released_after_every_ending) {
    int released;
    inro_sandbox *sandbox = counting(&released);
    static const char *const sources[] = {"New.call(1); nil", "New.call(1); raise 'x'", "New.call(1).nope",
                                          "New.call(1); 'x' * 5_000_000", "$a = New.call(1); def f; f; end; f"};
    for (int i = 0; i < 5; i++) {
        inro_outcome *outcome = eval(sandbox, sources[i]);
        CHECK_INT(released, i + 1);
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

TEST(every_crossing_of_one_object_is_released) {
    int released = 0;
    inro_object *object = new_counter(3, &released);
    inro_value *value = inro_value_new_object(object);
    inro_value *args = inro_value_new_array();
    push(args, value);
    push(args, inro_value_new_object(object));
    inro_sandbox *sandbox = counting(&released);
    preload(sandbox, "Use", "Use = ->(a, b) { [a.add(1), b.add(1), Echo.call(a).add(1)] }");
    for (int i = 0; i < 3; i++) {
        inro_outcome *outcome = run_with(sandbox, "Use", args, NULL);
        CHECK(inro_outcome_ended(outcome) == INRO_ENDED_VALUE);
        inro_outcome_free(outcome);
    }
    CHECK_INT(released, 0);
    CHECK_INT(((struct counter *)inro_object_user(object, counter_call))->value, 12);
    inro_value_free(args);
    CHECK_INT(released, 0);
    inro_object_unref(object);
    CHECK_INT(released, 1);
    inro_sandbox_free(sandbox);
}

TEST(handles_of_one_invocation_mean_nothing_in_the_next) { /* spec a.58, a.60 */
    int released;
    inro_sandbox *sandbox = counting(&released);
    EVAL_VALUE(sandbox, "$c = New.call(1); $c.add(1)", "2");
    EVAL_VALUE(sandbox, "$c", "nil");
    inro_sandbox_free(sandbox);
}

TEST(handles_cannot_be_made_or_changed) { /* spec a.61, b.11 */
    static const char *const sources[] = {
        "Inro::Handle.new",
        "Inro::Handle.new(1)",
        "Inro::Handle.allocate",
        "Inro::Handle.instance_method(:add)",
        "New.call(1).instance_variable_set(:@id, 2)",
        "h = New.call(1); def h.add(n); end",
        "Class.new(Inro::Handle).new",
        "Class.new(Inro::Handle).allocate",
    };
    int released;
    inro_sandbox *sandbox = counting(&released);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        inro_outcome *outcome = eval(sandbox, sources[i]);
        if (inro_outcome_ended(outcome) != INRO_ENDED_SANDBOX)
            test_fail(__FILE__, __LINE__, "%s did not fail", sources[i]);
        inro_outcome_free(outcome);
    }
    EVAL_VALUE(sandbox, "h = New.call(1); [h.frozen?, h.dup.frozen?, h.clone.frozen?, h.instance_variables]",
               "[true, true, true, []]");
    EVAL_VALUE(sandbox, "h = New.call(1); [h.dup.add(1), h.clone.add(1)]", "[2, 3]");
    inro_sandbox_free(sandbox);
}

/* Even with the guards taken off, what is not a live handle does not reach the host's objects. */
TEST(empty_handles_reach_nothing) {
    static const char *const sources[] = {
        "class << Inro::Handle; remove_method :allocate; end; Inro::Handle.allocate.add(1)",
        "class << Inro::Handle; remove_method :allocate; end; Read.call(Inro::Handle.allocate)",
        "class << Inro::Handle; remove_method :allocate; end; Inro::Handle.allocate",
        "class << Inro::Handle; remove_method :allocate; remove_method :new; end; Inro::Handle.new.add(1)",
        "class Fake; def initialize; @id = 1; end; end; Read.call(Fake.new)",
    };
    int released;
    inro_sandbox *sandbox = counting(&released);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        inro_outcome *outcome = eval(sandbox, sources[i]);
        if (inro_outcome_ended(outcome) == INRO_ENDED_VALUE)
            test_fail(__FILE__, __LINE__, "%s gave %s", sources[i], inspected(inro_outcome_value(outcome)));
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

TEST(a_handle_is_not_the_object_of_another_service) {
    int released;
    inro_sandbox *sandbox = counting(&released);
    EVAL_FAILURE(sandbox, "Read.call(New)", INRO_FAULT_SANDBOX, "TypeError", "Class");
    EVAL_VALUE(sandbox, "[New.call(1).class.to_s, New.call(1) == New.call(1), New.call(1).is_a?(Inro::Handle)]",
               "[\"Inro::Handle\", false, true]");
    inro_sandbox_free(sandbox);
}

TEST(ten_thousand_handles) {
    int released;
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.memory_limit_bytes = (uint64_t)64 << 20;
    inro_sandbox *sandbox = new_sandbox_with(&options);
    released = 0;
    bind_user(sandbox, "New", new_call, &released);
    EVAL_VALUE(sandbox, "a = (1..10_000).map { |i| New.call(i) }; a[0].add(0) + a[4999].add(0) + a[-1].add(0)",
               "15001");
    CHECK_INT(released, 10000);
    inro_sandbox_free(sandbox);
}

/* The table is bounded; a script that fills it gets a clean error (spec a.59). */
static inro_status same_object(void *user, inro_call *call) {
    return inro_call_answer(call, inro_value_new_object(user));
}

TEST_SECONDS(the_table_is_bounded, 120) {
    int released = 0;
    inro_object *object = new_counter(1, &released);
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "Same", same_object, object);
    EVAL_FAILURE(sandbox, "loop { Same.call }", INRO_FAULT_HANDLES_EXHAUSTED, "Inro::HandleTableExhausted",
                 "no more handles");
    EVAL_VALUE(sandbox, "Same.call.add(1)", "2");
    inro_sandbox_free(sandbox);
    CHECK_INT(released, 0);
    inro_object_unref(object);
    CHECK_INT(released, 1);
}
