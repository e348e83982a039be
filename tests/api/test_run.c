/* Entry points: a constant that a snippet defined, called with values of the host. Issue 2 "run"; spec a.5,
 * b.13.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

static inro_sandbox *with_entrypoints(void) {
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "Svc::Echo", echo);
    preload(sandbox, "Worker", "Worker = ->(*args, **kwargs) { [args, kwargs] }");
    preload(sandbox, "Greeter", "Greeter = ->(name:, greeting: 'hello') { \"#{greeting}, #{name}\" }");
    preload(sandbox, "Options", "Options = ->(options = {}) { options }");
    preload(sandbox, "Klass", "class Klass; def self.call(req, opts = {}) [req, opts] end; end");
    preload(sandbox, "Mod", "module Mod; def self.call(*) :module end; def self.other; end; end");
    preload(sandbox, "Inst", "class Callable; def call(x) x + 1 end; end; Inst = Callable.new");
    preload(sandbox, "Broken", "Broken = -> {\n  raise ArgumentError, 'in the worker'\n}");
    preload(sandbox, "Dead", "DEAD = 5\nDead = Object.new");
    return sandbox;
}

static void check_run(inro_sandbox *sandbox, const char *name, inro_value *args, inro_value *kwargs,
                      const char *expected) {
    inro_outcome *outcome = run_with(sandbox, name, args, kwargs);
    CHECK_VALUE(outcome, expected);
    inro_outcome_free(outcome);
    inro_value_free(args);
    inro_value_free(kwargs);
}

static inro_value *array_of(inro_value *first, inro_value *second) {
    inro_value *array = inro_value_new_array();
    push(array, first);
    if (second)
        push(array, second);
    return array;
}

static inro_value *map_of(const char *key, inro_value *value) {
    inro_value *map = inro_value_new_map();
    put(map, symbol_value(key), value);
    return map;
}

TEST(anything_with_call_is_an_entry_point) { /* spec a.36 */
    inro_sandbox *sandbox = with_entrypoints();
    check_run(sandbox, "Worker", NULL, NULL, "[[], {}]");
    check_run(sandbox, "Worker", array_of(inro_value_new_int(1), text_value("b")), NULL, "[[1, \"b\"], {}]");
    check_run(sandbox, "Klass", array_of(inro_value_new_int(1), NULL), NULL, "[1, {}]");
    check_run(sandbox, "Mod", NULL, NULL, ":module");
    check_run(sandbox, "Inst", array_of(inro_value_new_int(1), NULL), NULL, "2");
    inro_sandbox_free(sandbox);
}

TEST(keywords_are_keywords) { /* spec a.37 */
    inro_sandbox *sandbox = with_entrypoints();
    check_run(sandbox, "Greeter", NULL, map_of("name", text_value("world")), "\"hello, world\"");
    check_run(sandbox, "Worker", NULL, map_of("a", inro_value_new_int(1)), "[[], {a: 1}]");
    check_run(sandbox, "Worker", array_of(map_of("a", inro_value_new_int(1)), NULL), NULL, "[[{a: 1}], {}]");
    check_run(sandbox, "Worker", NULL, inro_value_new_map(), "[[], {}]");
    check_run(sandbox, "Worker", inro_value_new_array(), inro_value_new_map(), "[[], {}]");
    inro_sandbox_free(sandbox);
}

TEST(keywords_are_a_trailing_hash_for_those_who_have_none) { /* spec a.37 */
    inro_sandbox *sandbox = with_entrypoints();
    check_run(sandbox, "Options", NULL, map_of("a", inro_value_new_int(1)), "{a: 1}");
    check_run(sandbox, "Options", NULL, NULL, "{}");
    check_run(sandbox, "Klass", array_of(inro_value_new_int(1), NULL), map_of("b", inro_value_new_int(2)),
              "[1, {b: 2}]");
    inro_sandbox_free(sandbox);
}

TEST(arguments_of_every_type) {
    inro_sandbox *sandbox = with_entrypoints();
    inro_value *args = inro_value_new_array(), *map = inro_value_new_map();
    put(map, inro_value_new_nil(), inro_value_new_bytes((inro_bytes){(const uint8_t *)"\xff", 1}));
    push(args, inro_value_new_nil());
    push(args, inro_value_new_bool(false));
    push(args, inro_value_new_int(INT64_MIN));
    push(args, inro_value_new_float(-0.0));
    push(args, text_value("漢字"));
    push(args, symbol_value("s"));
    push(args, map);
    check_run(sandbox, "Worker", args, NULL,
              "[[nil, false, -9223372036854775808, -0.0, \"漢字\", :s, {nil => \"\\xFF\"}], {}]");
    inro_sandbox_free(sandbox);
}

TEST(a_missing_entry_point_tells_what_there_is) { /* spec a.38, b.6 */
    inro_sandbox *sandbox = with_entrypoints();
    inro_outcome *outcome = run_with(sandbox, "Missing", NULL, NULL);
    CHECK_FAILURE(outcome, INRO_FAULT_UNDEFINED_ENTRYPOINT, "Inro::UndefinedEntrypointError",
                  "undefined entrypoint: Missing");
    const inro_value *details = inro_outcome_failure(outcome)->details;
    CHECK_INT(inro_value_get_type(details), INRO_VALUE_MAP);
    const inro_value *available = inro_value_map_get(details, INRO_STR("available"));
    static const char *const names[] = {"Worker",   "Greeter", "Options", "Klass", "Mod",
                                        "Callable", "Inst",    "Broken",  "DEAD",  "Dead"};
    CHECK_INT(inro_value_length(available), sizeof names / sizeof *names); /* in any order */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        inro_value *name = symbol_value(names[i]);
        bool found = false;
        for (size_t k = 0; k < inro_value_length(available); k++)
            found |= inro_value_equals(inro_value_array_at(available, k), name);
        if (!found)
            test_fail(__FILE__, __LINE__, "%s is not named", names[i]);
        inro_value_free(name);
    }
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(without_snippets_nothing_is_available) {
    inro_sandbox *sandbox = new_sandbox();
    inro_outcome *outcome = run_with(sandbox, "Missing", NULL, NULL);
    CHECK_FAILURE(outcome, INRO_FAULT_UNDEFINED_ENTRYPOINT, "Inro::UndefinedEntrypointError", "Missing");
    const inro_value *available =
        inro_value_map_get(inro_outcome_failure(outcome)->details, INRO_STR("available"));
    CHECK_INT(inro_value_get_type(available), INRO_VALUE_ARRAY);
    CHECK_INT(inro_value_length(available), 0);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(an_entry_point_must_have_call) { /* spec a.39 */
    inro_sandbox *sandbox = with_entrypoints();
    static const char *const names[] = {"Dead", "DEAD", "String", "Svc"};
    for (int i = 0; i < 4; i++) {
        inro_outcome *outcome = run_with(sandbox, names[i], NULL, NULL);
        CHECK_FAILURE(outcome, INRO_FAULT_SANDBOX, "TypeError", "does not respond to :call");
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

TEST(a_failing_entry_point) { /* spec a.39 */
    inro_sandbox *sandbox = with_entrypoints();
    inro_outcome *outcome = run_with(sandbox, "Broken", NULL, NULL);
    CHECK_FAILURE(outcome, INRO_FAULT_SANDBOX, "ArgumentError", "in the worker");
    const inro_failure *failure = inro_outcome_failure(outcome);
    CHECK(failure->backtrace_count > 0);
    CHECK_CONTAINS(failure->backtrace[0].data, "(snippet:Broken):2");
    for (size_t i = 0; i < failure->backtrace_count; i++)
        CHECK(memmem(failure->backtrace[i].data, failure->backtrace[i].length, "(eval)", 6) == NULL);
    inro_outcome_free(outcome);
    outcome = run_with(sandbox, "Greeter", NULL, NULL);
    CHECK_FAILURE(outcome, INRO_FAULT_SANDBOX, "ArgumentError", "missing keyword");
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(names_are_checked_before_anything_runs) { /* spec a.34 */
    static const char *const bad[] = {"", "lower", "Outer::Inner", "A b", "9", "A\n", "Object.new"};
    inro_sandbox *sandbox = with_entrypoints();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        inro_outcome *outcome = NULL;
        inro_error err;
        CHECK_INT(inro_sandbox_run(sandbox, inro_str_from_c(bad[i]), NULL, NULL, NULL, &outcome, &err),
                  INRO_ERR_ARGUMENT);
        CHECK_CONTAINS(err.message, "must match");
        CHECK(outcome == NULL);
    }
    inro_sandbox_free(sandbox);
}

TEST(arguments_have_their_types) { /* spec a.35 */
    inro_sandbox *sandbox = with_entrypoints();
    inro_value *number = inro_value_new_int(1), *map = inro_value_new_map(), *array = inro_value_new_array();
    put(map, text_value("text key"), inro_value_new_int(1));
    inro_outcome *outcome = NULL;
    inro_error err;
    CHECK_INT(inro_sandbox_run(sandbox, INRO_STR("Worker"), number, NULL, NULL, &outcome, &err),
              INRO_ERR_ARGUMENT);
    CHECK_CONTAINS(err.message, "args");
    CHECK_INT(inro_sandbox_run(sandbox, INRO_STR("Worker"), NULL, array, NULL, &outcome, &err),
              INRO_ERR_ARGUMENT);
    CHECK_CONTAINS(err.message, "kwargs");
    CHECK_INT(inro_sandbox_run(sandbox, INRO_STR("Worker"), NULL, map, NULL, &outcome, &err),
              INRO_ERR_ARGUMENT);
    CHECK_CONTAINS(err.message, "must be symbols");
    char *text = malloc(17 << 20);
    memset(text, 'x', 17 << 20);
    push(array, inro_value_new_text((inro_str){text, 17 << 20}));
    free(text);
    CHECK_INT(inro_sandbox_run(sandbox, INRO_STR("Worker"), array, NULL, NULL, &outcome, &err),
              INRO_ERR_ARGUMENT);
    CHECK_CONTAINS(err.message, "16 MiB");
    inro_value_free(number);
    inro_value_free(map);
    inro_value_free(array);
    inro_sandbox_free(sandbox);
}

TEST(objects_arrive_as_handles) { /* spec b.13 */
    int number = 0;
    inro_object *object = inro_object_new(count, &number, NULL);
    inro_sandbox *sandbox = with_entrypoints();
    inro_value *args =
        array_of(inro_value_new_object(object), array_of(map_of("k", inro_value_new_object(object)), NULL));
    inro_value *kwargs = map_of("h", inro_value_new_object(object));
    inro_outcome *outcome = run_with(sandbox, "Worker", args, kwargs);
    CHECK_VALUE(outcome, "[[#<Handle>, [{k: #<Handle>}]], {h: #<Handle>}]");
    const inro_value *back = inro_value_array_at(inro_value_array_at(inro_outcome_value(outcome), 0), 0);
    CHECK(inro_value_get_object(back) == object);
    inro_outcome_free(outcome);
    inro_value_free(args);
    inro_value_free(kwargs);
    inro_object_unref(object);
    inro_sandbox_free(sandbox);
}

TEST(eval_and_run_take_turns) { /* spec a.33 */
    inro_sandbox *sandbox = with_entrypoints();
    for (int i = 0; i < 10; i++) {
        EVAL_VALUE(sandbox, "Worker = 5; Worker", "5");
        check_run(sandbox, "Worker", NULL, NULL, "[[], {}]");
        EVAL_FAILURE(sandbox, "Broken.call", INRO_FAULT_SANDBOX, "ArgumentError", "in the worker");
    }
    inro_sandbox_free(sandbox);
}

TEST(a_service_is_an_entry_point_too) {
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "Echo", echo);
    check_run(sandbox, "Echo", array_of(inro_value_new_int(5), NULL), NULL, "5");
    inro_sandbox_free(sandbox);
}
