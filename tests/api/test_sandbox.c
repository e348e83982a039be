/* Making and freeing sandboxes: options, defaults, refusals, sizes, NULLs.
 * Issue 2 "Sandbox: options"; spec a.2, b.25, b.26.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <stddef.h>

static inro_status refused(const inro_sandbox_options *options, inro_error *err) {
    inro_sandbox *sandbox = (inro_sandbox *)err; /* must be overwritten with NULL */
    memset(err, 0, sizeof *err);
    inro_status status = inro_sandbox_new(options, &sandbox, err);
    CHECK(sandbox == NULL);
    CHECK_INT(err->status, status);
    CHECK(memchr(err->message, '\0', sizeof err->message) != NULL && err->message[0] != '\0');
    CHECK(err->message[strlen(err->message) - 1] != '.');
    return status;
}

TEST(defaults_come_from_null_and_from_zeros) {
    inro_sandbox_options zeros = INRO_SANDBOX_OPTIONS_INIT;
    CHECK_INT(zeros.timeout_us + zeros.memory_limit_bytes + zeros.stdout_limit_bytes + zeros.stderr_limit_bytes,
              0);
    inro_sandbox *made[] = {new_sandbox(), new_sandbox_with(&zeros)};
    for (int i = 0; i < 2; i++) {
        EVAL_VALUE(made[i], "1 + 1", "2");
        inro_sandbox_free(made[i]);
    }
}

TEST(default_output_limit_is_one_mebibyte) { /* spec a.9 */
    inro_sandbox *sandbox = new_sandbox();
    inro_outcome *outcome = eval(sandbox, "a = 'x' * 65536; 17.times { print a; $stderr.print a }");
    CHECK_INT(inro_outcome_stdout(outcome).length, 1 << 20);
    CHECK_INT(inro_outcome_stderr(outcome).length, 1 << 20);
    CHECK(inro_outcome_is_stdout_truncated(outcome) && inro_outcome_is_stderr_truncated(outcome));
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(default_memory_limit_is_one_mebibyte) { /* spec a.77 */
    inro_sandbox *sandbox = new_sandbox();
    EVAL_VALUE(sandbox, "('x' * 200_000).size", "200000");
    EVAL_FAILURE(sandbox, "'x' * 2_000_000", INRO_FAULT_MEMORY_LIMIT, NULL, "memory_limit");
    inro_sandbox_free(sandbox);
}

TEST(every_cap_can_be_switched_off) { /* spec b.25 */
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = options.memory_limit_bytes = INRO_UNLIMITED;
    options.stdout_limit_bytes = options.stderr_limit_bytes = INRO_UNLIMITED;
    inro_sandbox *sandbox = new_sandbox_with(&options);
    inro_outcome *outcome = eval(sandbox, "a = 'x' * 3_000_000; print a; $stderr.print a; a.size");
    CHECK_VALUE(outcome, "3000000");
    CHECK_INT(inro_outcome_stdout(outcome).length, 3000000);
    CHECK_INT(inro_outcome_stderr(outcome).length, 3000000);
    CHECK(!inro_outcome_is_stdout_truncated(outcome) && !inro_outcome_is_stderr_truncated(outcome));
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(a_bad_value_names_its_field) {
    inro_error err;
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = INRO_UNLIMITED - 1; /* an overflown product, not "no limit" */
    CHECK_INT(refused(&options, &err), INRO_ERR_ARGUMENT);
    CHECK_CONTAINS(err.message, "timeout_us");
    options = INRO_SANDBOX_OPTIONS_INIT;
    options.profile = 2;
    CHECK_INT(refused(&options, &err), INRO_ERR_ARGUMENT);
    CHECK_CONTAINS(err.message, "profile");
    options.profile = INRO_UNLIMITED;
    CHECK_INT(refused(&options, &err), INRO_ERR_ARGUMENT);
    CHECK_CONTAINS(err.message, "profile");
}

TEST(both_profiles_are_taken) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    for (options.profile = 0; options.profile < 2; options.profile++) {
        inro_sandbox *sandbox = new_sandbox_with(&options);
        EVAL_VALUE(sandbox, "1", "1");
        inro_sandbox_free(sandbox);
    }
}

TEST(options_without_their_size_are_refused) {
    inro_sandbox_options options = {0};
    inro_error err;
    CHECK_INT(refused(&options, &err), INRO_ERR_ARGUMENT);
    CHECK_CONTAINS(err.message, "size");
    options.size = sizeof(size_t) - 1;
    CHECK_INT(refused(&options, &err), INRO_ERR_ARGUMENT);
    options.size = (size_t)0x5a5a5a5a5a5a5a5a; /* uninitialised */
    CHECK_INT(refused(&options, &err), INRO_ERR_ARGUMENT);
    CHECK_CONTAINS(err.message, "size");
}

/* A program built against an older library: what it does not know is the default. */
TEST(shorter_options_are_padded) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.size = offsetof(inro_sandbox_options, stderr_limit_bytes);
    options.stdout_limit_bytes = 3;
    options.stderr_limit_bytes = 1;
    options.profile = 99;
    inro_sandbox *sandbox = new_sandbox_with(&options);
    inro_outcome *outcome = eval(sandbox, "print 'abcdef'; $stderr.print 'abcdef'");
    CHECK_STR(inro_outcome_stdout(outcome), "abc");
    CHECK_STR(inro_outcome_stderr(outcome), "abcdef");
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

/* And one built against a newer: zeros are fine, anything else is a wish we cannot grant. */
TEST(longer_options_must_be_zero_at_the_end) {
    struct {
        inro_sandbox_options known;
        uint64_t unknown;
    } options = {INRO_SANDBOX_OPTIONS_INIT, 0};
    options.known.size = sizeof options;
    inro_sandbox *sandbox = new_sandbox_with(&options.known);
    inro_sandbox_free(sandbox);
    options.unknown = 1;
    inro_error err;
    CHECK_INT(refused(&options.known, &err), INRO_ERR_UNSUPPORTED);
}

TEST(nulls_are_refused_or_ignored) {
    inro_error err;
    inro_outcome *outcome = (inro_outcome *)&err;
    inro_sandbox *sandbox = new_sandbox();
    CHECK_INT(inro_sandbox_new(NULL, NULL, &err), INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_eval(NULL, INRO_STR("1"), NULL, &outcome, &err), INRO_ERR_ARGUMENT);
    CHECK(outcome == NULL);
    CHECK_INT(inro_sandbox_eval(sandbox, INRO_STR("1"), NULL, NULL, &err), INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_eval(sandbox, inro_str_from_c(NULL), NULL, &outcome, &err), INRO_ERR_ARGUMENT);
    CHECK_CONTAINS(err.message, "source");
    CHECK_INT(inro_sandbox_run(NULL, INRO_STR("X"), NULL, NULL, NULL, &outcome, &err), INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_run(sandbox, inro_str_from_c(NULL), NULL, NULL, NULL, &outcome, &err),
              INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_run(sandbox, INRO_STR("X"), NULL, NULL, NULL, NULL, &err), INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_bind(NULL, INRO_STR("X"), NULL, &err), INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_bind(sandbox, inro_str_from_c(NULL), NULL, &err), INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_preload(NULL, INRO_STR("1"), INRO_STR("X"), &err), INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_preload(sandbox, inro_str_from_c(NULL), INRO_STR("X"), &err), INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_preload(sandbox, INRO_STR("1"), inro_str_from_c(NULL), &err), INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_preload_bytecode(NULL, (inro_bytes){NULL, 0}, &err), INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_preload_bytecode(sandbox, (inro_bytes){NULL, 0}, &err), INRO_ERR_ARGUMENT);
    inro_outcome_free(NULL);
    inro_sandbox_free(NULL);
    inro_object_unref(NULL);
    CHECK(inro_object_ref(NULL) == NULL);
    EVAL_VALUE(sandbox, "1", "1");
    inro_sandbox_free(sandbox);
}

TEST(the_error_may_be_null) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.profile = 7;
    inro_sandbox *sandbox = NULL;
    inro_outcome *outcome = NULL;
    CHECK_INT(inro_sandbox_new(&options, &sandbox, NULL), INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_new(NULL, &sandbox, NULL), INRO_OK);
    CHECK_INT(inro_sandbox_bind(sandbox, INRO_STR("lower"), NULL, NULL), INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_preload(sandbox, INRO_STR("1 +"), INRO_STR("A"), NULL), INRO_ERR_SYNTAX);
    CHECK_INT(inro_sandbox_run(sandbox, INRO_STR("a"), NULL, NULL, NULL, &outcome, NULL), INRO_ERR_ARGUMENT);
    CHECK_INT(inro_sandbox_eval(sandbox, INRO_STR("raise 'x'"), NULL, &outcome, NULL), INRO_OK);
    CHECK_FAILURE(outcome, INRO_FAULT_SANDBOX, "RuntimeError", "x");
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

/* Spec a.6: nothing runs, nothing is sealed by making one. */
TEST(a_new_sandbox_is_not_sealed) {
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "A", echo);
    preload(sandbox, "B", "B = 1");
    EVAL_VALUE(sandbox, "A.call(B)", "1");
    inro_sandbox_free(sandbox);
}

TEST(an_unused_sandbox_is_freed) {
    int released = 0, counted = 0;
    inro_sandbox *sandbox = new_sandbox();
    inro_object *object = inro_object_new(count, &counted, NULL);
    inro_object *with_release = inro_object_new(count, &released, count_release);
    inro_error err;
    CHECK_INT(inro_sandbox_bind(sandbox, INRO_STR("A"), object, &err), INRO_OK);
    CHECK_INT(inro_sandbox_bind(sandbox, INRO_STR("B"), with_release, &err), INRO_OK);
    preload(sandbox, "C", "C = 1");
    inro_object_unref(object);
    inro_object_unref(with_release);
    CHECK_INT(released, 0);
    inro_sandbox_free(sandbox);
    CHECK_INT(released, 1);
}

/* Spec a.33: a globals, constants and monkey patches of one run are not there in the next. */
TEST(nothing_survives_an_invocation) {
    inro_sandbox *sandbox = new_sandbox();
    EVAL_VALUE(sandbox,
               "$g = 1; X = 2; class Integer; def double; self * 2; end; end; $stdout = $stderr; 3.double",
               "6");
    EVAL_VALUE(sandbox, "$g", "nil");
    EVAL_FAILURE(sandbox, "X", INRO_FAULT_SANDBOX, "NameError", "uninitialized constant X");
    EVAL_FAILURE(sandbox, "3.double", INRO_FAULT_SANDBOX, "NoMethodError", "double");
    inro_outcome *outcome = eval(sandbox, "puts 1");
    CHECK_STR(inro_outcome_stdout(outcome), "1\n");
    CHECK_STR(inro_outcome_stderr(outcome), "");
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

/* Spec b.28: bit-identical starts show in object ids and in hash values. */
TEST(every_invocation_starts_alike) {
    inro_sandbox *sandbox = new_sandbox();
    static const char source[] = "[Object.new.object_id, 'a'.hash, :sym.object_id, Object.new.inspect]";
    inro_outcome *first = eval(sandbox, source);
    for (int i = 0; i < 50; i++) {
        EVAL_FAILURE(sandbox, "x = (1..500).map { |i| i.to_s }; raise x.size.to_s", INRO_FAULT_SANDBOX,
                     "RuntimeError", "500");
        inro_outcome *again = eval(sandbox, source);
        CHECK(inro_value_equals(inro_outcome_value(first), inro_outcome_value(again)));
        inro_outcome_free(again);
    }
    inro_outcome_free(first);
    inro_sandbox_free(sandbox);
}

TEST(sandboxes_share_nothing) { /* spec a.10, a.18 */
    inro_sandbox *one = new_sandbox(), *two = new_sandbox();
    bind(one, "Only::One", echo);
    EVAL_VALUE(one, "Only::One.call(1)", "1");
    EVAL_FAILURE(two, "Only::One.call(1)", INRO_FAULT_SANDBOX, "NameError", "Only");
    inro_sandbox_free(one);
    EVAL_VALUE(two, "2", "2");
    inro_sandbox_free(two);
}

TEST(an_outcome_outlives_its_sandbox) {
    inro_sandbox *sandbox = new_sandbox();
    inro_outcome *value = eval(sandbox, "puts 'out'; [1, 'two', :three]");
    inro_outcome *failure =
        eval(sandbox, "def a\n  raise IOError, 'gone' rescue raise ArgumentError, 'bad'\nend\na");
    inro_sandbox_free(sandbox);
    inro_trim();
    CHECK_VALUE(value, "[1, \"two\", :three]");
    CHECK_STR(inro_outcome_stdout(value), "out\n");
    CHECK_FAILURE(failure, INRO_FAULT_SANDBOX, "ArgumentError", "bad");
    CHECK(inro_outcome_failure(failure)->backtrace_count > 0);
    inro_outcome_free(value);
    inro_outcome_free(failure);
}

TEST(trim_is_safe_at_any_time) {
    inro_trim();
    inro_sandbox *sandbox = new_sandbox();
    inro_trim();
    for (int i = 0; i < 20; i++) {
        EVAL_VALUE(sandbox, "$x = ($x || 0) + 1", "1");
        inro_trim();
    }
    inro_sandbox_free(sandbox);
    inro_trim();
}

TEST(statuses_have_texts_and_names) {
#define CHECK_STATUS(name, number, text)                                                                       \
    CHECK_INT(INRO_##name, number);                                                                            \
    CHECK_STR(inro_str_from_c(inro_status_text(INRO_##name)), text);                                           \
    CHECK_STR(inro_str_from_c(inro_status_name(INRO_##name)), #name);
    INRO_STATUS_MAP(CHECK_STATUS)
    CHECK_STR(inro_str_from_c(inro_status_text(1)), "unknown status");
    CHECK_STR(inro_str_from_c(inro_status_name(-99)), "UNKNOWN");
}

TEST(faults_have_classes_and_endings) {
#define CHECK_FAULT(name, number, ended, text)                                                                 \
    CHECK_STR(inro_str_from_c(inro_fault_class(INRO_FAULT_##name)), text);                                     \
    CHECK_INT(inro_fault_ended(INRO_FAULT_##name), INRO_ENDED_##ended);
    INRO_FAULT_MAP(CHECK_FAULT)
    CHECK_STR(inro_str_from_c(inro_fault_class((inro_fault)77)), "");
}

TEST(the_version_is_the_headers) {
    CHECK_STR(inro_str_from_c(inro_version()), INRO_VERSION);
}
