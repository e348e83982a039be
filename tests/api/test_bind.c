/* Binding services: names, clashes, reserving, per-invocation objects, release. Issue 2 "bind"; spec a.3,
 * b.1-b.3.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

static inro_status try_bind(inro_sandbox *sandbox, const char *path, inro_error *err) {
    memset(err, 0, sizeof *err);
    return inro_sandbox_bind(sandbox, inro_str_from_c(path), NULL, err);
}

/* Answers its user data, a string. */
static inro_status say(void *user, inro_call *call) {
    return inro_call_answer(call, text_value(user));
}

static inro_object *saying(const char *text) {
    static char texts[64][16];
    static int used;
    char *copy = texts[used++ % 64];
    snprintf(copy, sizeof texts[0], "%s", text);
    return inro_object_new(say, copy, NULL);
}

static void bind_object(inro_sandbox *sandbox, const char *path, inro_object *object) {
    inro_error err;
    CHECK_INT(inro_sandbox_bind(sandbox, inro_str_from_c(path), object, &err), INRO_OK);
    inro_object_unref(object);
}

TEST(good_names_are_taken) { /* spec b.1 */
    static const char *const paths[] = {"A",       "Abc", "A1", "A_b", "KV::Lookup", "One::Two::Three::Four",
                                        "ABC::D9_"};
    inro_sandbox *sandbox = new_sandbox();
    inro_error err;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        CHECK_INT(try_bind(sandbox, paths[i], &err), INRO_OK);
    }
    inro_sandbox_free(sandbox);
}

TEST(bad_names_are_refused) { /* spec a.11, a.14 */
    static const char *const paths[] = {"",     "a",   "lower::Up", "Up::lower", "Has-Dash", "9A",   "A:B",
                                        "A::",  "::A", "A::::B",    "A B",       " A",       "A ",   "A\n",
                                        "Ä",    "Aé",  "A::B::",    "_A",        "A.b",      "A::9", "A:::B",
                                        "A\tB", "A/B", "A::B:C",    "\xff",      "A\xff"};
    inro_sandbox *sandbox = new_sandbox();
    inro_error err;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (try_bind(sandbox, paths[i], &err) != INRO_ERR_ARGUMENT)
            test_fail(__FILE__, __LINE__, "\"%s\" was taken", paths[i]);
        CHECK_CONTAINS(err.message, "path");
    }
    CHECK_INT(inro_sandbox_bind(sandbox, (inro_str){"A\0B", 3}, NULL, &err), INRO_ERR_ARGUMENT);
    char *huge = malloc(100000);
    memset(huge, 'A', 100000);
    CHECK_INT(inro_sandbox_bind(sandbox, (inro_str){huge, 100000}, NULL, &err), INRO_ERR_ARGUMENT);
    free(huge);
    EVAL_VALUE(sandbox, "1", "1");
    inro_sandbox_free(sandbox);
}

TEST(clashes_are_refused) { /* spec b.1 */
    inro_sandbox *sandbox = new_sandbox();
    inro_error err;
    CHECK_INT(try_bind(sandbox, "KV::Lookup", &err), INRO_OK);
    CHECK_INT(try_bind(sandbox, "KV::Lookup", &err), INRO_ERR_CONFLICT);
    CHECK_CONTAINS(err.message, "KV::Lookup");
    CHECK_CONTAINS(err.message, "already bound");
    CHECK_INT(try_bind(sandbox, "KV", &err), INRO_ERR_CONFLICT);
    CHECK_CONTAINS(err.message, "conflicts");
    CHECK_INT(try_bind(sandbox, "KV::Lookup::Deep", &err), INRO_ERR_CONFLICT);
    CHECK_CONTAINS(err.message, "conflicts");
    CHECK_INT(try_bind(sandbox, "KV::Look", &err), INRO_OK);
    CHECK_INT(try_bind(sandbox, "KV::LookupMore", &err), INRO_OK);
    CHECK_INT(try_bind(sandbox, "K", &err), INRO_OK);
    CHECK_INT(try_bind(sandbox, "KVX", &err), INRO_OK);
    CHECK_INT(try_bind(sandbox, "Other::KV::Lookup", &err), INRO_OK);
    inro_sandbox_free(sandbox);
}

/* The header: "a constant of the guest's own language" is refused. */
TEST(constants_of_the_guest_are_refused) {
    static const char *const names[] = {"Object",     "String",      "Kernel", "Inro",
                                        "Math",       "IO",          "STDOUT", "Inro::Handle",
                                        "Comparable", "BasicObject", "Class",  "StandardError"};
    inro_error err;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        inro_sandbox *sandbox = new_sandbox();
        inro_status status = try_bind(sandbox, names[i], &err);
        if (status != INRO_ERR_CONFLICT && status != INRO_ERR_ARGUMENT)
            test_fail(__FILE__, __LINE__, "%s: %s", names[i], inro_status_name(status));
        inro_sandbox_free(sandbox);
    }
}

TEST(siblings_share_their_prefix) { /* spec b.1 */
    inro_sandbox *sandbox = new_sandbox();
    bind_object(sandbox, "App::A::X", saying("ax"));
    bind_object(sandbox, "App::A::Y", saying("ay"));
    bind_object(sandbox, "App::B", saying("b"));
    bind_object(sandbox, "Top", saying("top"));
    EVAL_VALUE(sandbox, "[App::A::X.call, App::A::Y.call, App::B.call, Top.call]",
               "[\"ax\", \"ay\", \"b\", \"top\"]");
    EVAL_VALUE(sandbox, "[App.class.to_s, App::A.class.to_s, App::B.class.to_s]",
               "[\"Module\", \"Module\", \"Class\"]");
    EVAL_FAILURE(sandbox, "App::C.call", INRO_FAULT_SANDBOX, "NameError", "App::C");
    inro_sandbox_free(sandbox);
}

TEST(binding_ends_with_the_first_invocation) { /* spec a.13, a.33 */
    inro_sandbox *sandbox = new_sandbox();
    inro_error err;
    bind(sandbox, "A", echo);
    EVAL_FAILURE(sandbox, "raise 'it seals even when it fails'", INRO_FAULT_SANDBOX, "RuntimeError", "seals");
    CHECK_INT(try_bind(sandbox, "B", &err), INRO_ERR_SEALED);
    CHECK_CONTAINS(err.message, "after first Sandbox invocation");
    CHECK_INT(inro_sandbox_preload(sandbox, INRO_STR("1"), INRO_STR("S"), &err), INRO_ERR_SEALED);
    CHECK_INT(inro_sandbox_preload_bytecode(sandbox, (inro_bytes){(const uint8_t *)"RITE", 4}, &err),
              INRO_ERR_SEALED);
    EVAL_VALUE(sandbox, "A.call(1)", "1");
    EVAL_FAILURE(sandbox, "B", INRO_FAULT_SANDBOX, "NameError", "B");
    inro_sandbox_free(sandbox);
}

TEST(refused_arguments_do_not_seal) { /* spec a.34 */
    inro_sandbox *sandbox = new_sandbox();
    inro_outcome *outcome = NULL;
    inro_error err;
    CHECK_INT(inro_sandbox_run(sandbox, INRO_STR("lower"), NULL, NULL, NULL, &outcome, &err),
              INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_eval(sandbox, inro_str_from_c(NULL), NULL, &outcome, &err), INRO_ERR_ARGUMENT);
    CHECK_INT(try_bind(sandbox, "A", &err), INRO_OK);
    inro_sandbox_free(sandbox);
}

TEST(a_reserved_path_fails_until_it_is_filled) { /* spec b.2 */
    inro_sandbox *sandbox = new_sandbox();
    inro_error err;
    CHECK_INT(try_bind(sandbox, "KV::Store", &err), INRO_OK);
    EVAL_FAILURE(sandbox, "KV::Store.call", INRO_FAULT_NO_SERVICE, "Inro::NoServiceError", "");
    EVAL_VALUE(sandbox, "begin; KV::Store.call; rescue Inro::ServiceError; :rescued; end", ":rescued");
    inro_object *object = saying("filled");
    inro_binding fill = {INRO_STR("KV::Store"), object};
    inro_invocation invocation = INRO_INVOCATION_INIT;
    invocation.bindings = &fill;
    invocation.bindings_count = 1;
    inro_outcome *outcome = eval_with(sandbox, "KV::Store.call", &invocation);
    CHECK_VALUE(outcome, "\"filled\"");
    inro_outcome_free(outcome);
    EVAL_FAILURE(sandbox, "KV::Store.call", INRO_FAULT_NO_SERVICE, "Inro::NoServiceError", "");
    inro_object_unref(object);
    inro_sandbox_free(sandbox);
}

TEST(a_binding_of_one_invocation_wins_and_lasts_for_it) { /* spec b.3 */
    inro_sandbox *sandbox = new_sandbox();
    bind_object(sandbox, "A", saying("static"));
    bind_object(sandbox, "B", saying("other"));
    inro_object *object = saying("own");
    inro_binding bindings[] = {{INRO_STR("A"), object}};
    inro_invocation invocation = INRO_INVOCATION_INIT;
    invocation.bindings = bindings;
    invocation.bindings_count = 1;
    inro_outcome *outcome = eval_with(sandbox, "[A.call, B.call]", &invocation);
    CHECK_VALUE(outcome, "[\"own\", \"other\"]");
    inro_outcome_free(outcome);
    EVAL_VALUE(sandbox, "[A.call, B.call]", "[\"static\", \"other\"]");
    inro_object_unref(object);
    inro_sandbox_free(sandbox);
}

TEST(a_binding_at_no_path_is_refused) { /* spec b.3 */
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "A::B", echo);
    inro_object *object = saying("x");
    static const char *const paths[] = {"C", "A", "A::B::C", "", "lower", "A::B "};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        inro_binding binding = {inro_str_from_c(paths[i]), object};
        inro_invocation invocation = INRO_INVOCATION_INIT;
        invocation.bindings = &binding;
        invocation.bindings_count = 1;
        inro_outcome *outcome = (inro_outcome *)&binding;
        inro_error err;
        CHECK_INT(inro_sandbox_eval(sandbox, INRO_STR("1"), &invocation, &outcome, &err), INRO_ERR_ARGUMENT);
        CHECK(outcome == NULL);
        CHECK_CONTAINS(err.message, "binding");
    }
    EVAL_VALUE(sandbox, "A::B.call(3)", "3");
    inro_object_unref(object);
    inro_sandbox_free(sandbox);
}

TEST(a_list_of_bindings_that_lies_is_refused) {
    inro_sandbox *sandbox = new_sandbox();
    inro_invocation invocation = INRO_INVOCATION_INIT;
    invocation.bindings_count = 3; /* of NULL */
    inro_outcome *outcome = NULL;
    inro_error err;
    CHECK_INT(inro_sandbox_eval(sandbox, INRO_STR("1"), &invocation, &outcome, &err), INRO_ERR_ARGUMENT);
    invocation.size = 1;
    CHECK_INT(inro_sandbox_eval(sandbox, INRO_STR("1"), &invocation, &outcome, &err), INRO_ERR_ARGUMENT);
    CHECK_CONTAINS(err.message, "size");
    inro_sandbox_free(sandbox);
}

TEST(snippets_may_use_services) {
    inro_sandbox *sandbox = new_sandbox();
    bind_object(sandbox, "Greet", saying("hello"));
    preload(sandbox, "Helper", "module Helper; def self.greet; Greet.call + '!'; end; end");
    EVAL_VALUE(sandbox, "Helper.greet", "\"hello!\"");
    inro_sandbox_free(sandbox);
}

TEST(many_services) {
    inro_sandbox *sandbox = new_sandbox();
    char path[64], source[64];
    static int numbers[500];
    for (int i = 0; i < 500; i++) {
        snprintf(path, sizeof path, "Space%d::Service%d", i % 20, i);
        bind_user(sandbox, path, count, &numbers[i]);
    }
    for (int i = 0; i < 500; i += 7) {
        snprintf(source, sizeof source, "Space%d::Service%d.call", i % 20, i);
        EVAL_VALUE(sandbox, source, "nil");
    }
    for (int i = 0; i < 500; i++)
        CHECK_INT(numbers[i], i % 7 == 0);
    inro_sandbox_free(sandbox);
}

/* ---- release, exactly once ---- */

TEST(release_runs_with_the_last_reference) {
    int released = 0;
    inro_object *object = inro_object_new(count, &released, count_release);
    inro_sandbox *one = new_sandbox(), *two = new_sandbox();
    inro_error err;
    CHECK_INT(inro_sandbox_bind(one, INRO_STR("A"), object, &err), INRO_OK);
    CHECK_INT(inro_sandbox_bind(one, INRO_STR("B"), object, &err), INRO_OK);
    CHECK_INT(inro_sandbox_bind(two, INRO_STR("A"), object, &err), INRO_OK);
    CHECK(inro_object_ref(object) == object);
    inro_object_unref(object);
    inro_object_unref(object);
    CHECK_INT(released, 0);
    inro_sandbox_free(one);
    CHECK_INT(released, 0);
    inro_sandbox_free(two);
    CHECK_INT(released, 1);
}

TEST(a_refused_binding_takes_no_reference) {
    int released = 0;
    inro_object *object = inro_object_new(count, &released, count_release);
    inro_sandbox *sandbox = new_sandbox();
    inro_error err;
    CHECK_INT(inro_sandbox_bind(sandbox, INRO_STR("lower"), object, &err), INRO_ERR_ARGUMENT);
    bind(sandbox, "A", echo);
    CHECK_INT(inro_sandbox_bind(sandbox, INRO_STR("A"), object, &err), INRO_ERR_CONFLICT);
    EVAL_VALUE(sandbox, "1", "1");
    CHECK_INT(inro_sandbox_bind(sandbox, INRO_STR("B"), object, &err), INRO_ERR_SEALED);
    CHECK_INT(released, 0);
    inro_object_unref(object);
    CHECK_INT(released, 1);
    inro_sandbox_free(sandbox);
    CHECK_INT(released, 1);
}

TEST(release_runs_when_an_object_cannot_be_made) {
    int released = 0;
    CHECK(inro_object_new(NULL, &released, count_release) == NULL);
    CHECK_INT(released, 1);
    CHECK(inro_object_new(NULL, NULL, NULL) == NULL);
}

TEST(user_data_is_given_to_the_right_callback_only) {
    int number = 0;
    inro_object *object = inro_object_new(count, &number, NULL);
    CHECK(inro_object_user(object, count) == &number);
    CHECK(inro_object_user(object, echo) == NULL);
    CHECK(inro_object_user(NULL, count) == NULL);
    inro_object_unref(object);
}

/* The invocation only borrows its bindings, but a call in flight holds its object. */
static inro_status drop_itself(void *user, inro_call *call) {
    inro_object **mine = user;
    inro_object_unref(*mine);
    *mine = NULL;
    return inro_call_answer(call, inro_value_new_int(7));
}

TEST(an_object_may_drop_its_last_reference_in_its_own_call) {
    inro_sandbox *sandbox = new_sandbox();
    inro_error err;
    inro_object *mine = inro_object_new(drop_itself, &mine, NULL);
    CHECK_INT(inro_sandbox_bind(sandbox, INRO_STR("Drop"), NULL, &err), INRO_OK);
    inro_binding binding = {INRO_STR("Drop"), mine};
    inro_invocation invocation = INRO_INVOCATION_INIT;
    invocation.bindings = &binding;
    invocation.bindings_count = 1;
    inro_outcome *outcome = eval_with(sandbox, "Drop.call", &invocation);
    CHECK_VALUE(outcome, "7");
    CHECK(mine == NULL);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}
