/* What the tests of the public API share: short names for set-up, and checks that say how an invocation ended.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_API_H
#define TESTS_API_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "harness.h"

#include <inro/inro.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define API_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define API_SANITIZED 1
#endif

#define MILLISECONDS(count) ((uint64_t)(count) * 1000)

/* ---- sandboxes ---- */

static inline inro_sandbox *new_sandbox_with(const inro_sandbox_options *options) {
    inro_sandbox *sandbox = NULL;
    inro_error err = {0};
    inro_status status = inro_sandbox_new(options, &sandbox, &err);
    if (status != INRO_OK)
        test_fail(__FILE__, __LINE__, "inro_sandbox_new: %s: %s", inro_status_name(status), err.message);
    CHECK(sandbox != NULL);
    return sandbox;
}

static inline inro_sandbox *new_sandbox(void) {
    return new_sandbox_with(NULL);
}

/* Binds a callback; the sandbox holds the only reference. */
static inline void bind_user(inro_sandbox *sandbox, const char *path, inro_service_fn call, void *user) {
    inro_error err = {0};
    inro_object *object = inro_object_new(call, user, NULL);
    CHECK(object != NULL);
    inro_status status = inro_sandbox_bind(sandbox, inro_str_from_c(path), object, &err);
    if (status != INRO_OK)
        test_fail(__FILE__, __LINE__, "bind %s: %s: %s", path, inro_status_name(status), err.message);
    inro_object_unref(object);
}

static inline void bind(inro_sandbox *sandbox, const char *path, inro_service_fn call) {
    bind_user(sandbox, path, call, NULL);
}

static inline void preload(inro_sandbox *sandbox, const char *name, const char *source) {
    inro_error err = {0};
    inro_status status = inro_sandbox_preload(sandbox, inro_str_from_c(source), inro_str_from_c(name), &err);
    if (status != INRO_OK)
        test_fail(__FILE__, __LINE__, "preload %s: %s: %s", name, inro_status_name(status), err.message);
}

/* ---- invocations ---- */

static inline inro_outcome *eval_with(inro_sandbox *sandbox, const char *source,
                                      const inro_invocation *invocation) {
    inro_outcome *outcome = NULL;
    inro_error err = {0};
    inro_status status = inro_sandbox_eval(sandbox, inro_str_from_c(source), invocation, &outcome, &err);
    if (status != INRO_OK)
        test_fail(__FILE__, __LINE__, "eval: %s: %s", inro_status_name(status), err.message);
    CHECK(outcome != NULL);
    return outcome;
}

static inline inro_outcome *eval(inro_sandbox *sandbox, const char *source) {
    return eval_with(sandbox, source, NULL);
}

static inline inro_outcome *run_with(inro_sandbox *sandbox, const char *entrypoint, const inro_value *args,
                                     const inro_value *kwargs) {
    inro_outcome *outcome = NULL;
    inro_error err = {0};
    inro_status status =
        inro_sandbox_run(sandbox, inro_str_from_c(entrypoint), args, kwargs, NULL, &outcome, &err);
    if (status != INRO_OK)
        test_fail(__FILE__, __LINE__, "run: %s: %s", inro_status_name(status), err.message);
    CHECK(outcome != NULL);
    return outcome;
}

/* ---- how it ended ---- */

static inline void check_value_at(const char *file, int line, const inro_outcome *outcome,
                                  const char *expected) {
    const inro_failure *failure = inro_outcome_failure(outcome);
    if (failure != NULL)
        test_fail(file, line, "%s %.*s: %.*s; expected the value %s", inro_fault_class(failure->fault),
                  (int)failure->class_name.length, failure->class_name.data ? failure->class_name.data : "",
                  (int)failure->message.length, failure->message.data ? failure->message.data : "", expected);
    if (inro_outcome_ended(outcome) != INRO_ENDED_VALUE || inro_outcome_value(outcome) == NULL)
        test_fail(file, line, "neither a value nor a failure");
    char *text = NULL;
    size_t length = 0;
    inro_error err;
    CHECK_INT(inro_value_inspect(inro_outcome_value(outcome), &text, &length, &err), INRO_OK);
    test_check_bytes(file, line, text, length, expected, strlen(expected));
    inro_text_free(text);
}

/* `class_name` NULL: not given (traps). `part` is looked for in the message. */
static inline void check_failure_at(const char *file, int line, const inro_outcome *outcome, inro_fault fault,
                                    const char *class_name, const char *part) {
    const inro_failure *failure = inro_outcome_failure(outcome);
    if (failure == NULL)
        test_fail(file, line, "it gave a value, expected %s", inro_fault_class(fault));
    if (failure->fault != fault || inro_outcome_ended(outcome) != inro_fault_ended(fault))
        test_fail(file, line, "%s (%.*s: %.*s), expected %s", inro_fault_class(failure->fault),
                  (int)failure->class_name.length, failure->class_name.data ? failure->class_name.data : "",
                  (int)failure->message.length, failure->message.data ? failure->message.data : "",
                  inro_fault_class(fault));
    if (inro_outcome_value(outcome) != NULL)
        test_fail(file, line, "a failure with a value");
    if (class_name != NULL)
        test_check_bytes(file, line, failure->class_name.data, failure->class_name.length, class_name,
                         strlen(class_name));
    else if (failure->class_name.data != NULL)
        test_fail(file, line, "a class name (%.*s) where none is given", (int)failure->class_name.length,
                  failure->class_name.data);
    if (memmem(failure->message.data, failure->message.length, part, strlen(part)) == NULL)
        test_fail(file, line, "\"%s\" is not in \"%.*s\"", part, (int)failure->message.length,
                  failure->message.data);
    static const char *const origins[] = {"", "", "service", "sandbox"};
    const char *origin = origins[inro_outcome_ended(outcome)];
    test_check_bytes(file, line, failure->origin.data, failure->origin.length, origin, strlen(origin));
}

#define CHECK_VALUE(outcome, inspected) check_value_at(__FILE__, __LINE__, (outcome), (inspected))
#define CHECK_FAILURE(outcome, fault, class_name, part)                                                        \
    check_failure_at(__FILE__, __LINE__, (outcome), (fault), (class_name), (part))
#define CHECK_CONTAINS(text, part)                                                                             \
    do {                                                                                                       \
        if (strstr((text), (part)) == NULL)                                                                    \
            test_fail(__FILE__, __LINE__, "\"%s\" is not in \"%s\"", (part), (text));                          \
    } while (0)

/* One evaluation that must give this value, or fail so. */
#define EVAL_VALUE(sandbox, source, inspected)                                                                 \
    do {                                                                                                       \
        inro_outcome *eval_outcome = eval((sandbox), (source));                                                \
        CHECK_VALUE(eval_outcome, (inspected));                                                                \
        inro_outcome_free(eval_outcome);                                                                       \
    } while (0)
#define EVAL_FAILURE(sandbox, source, fault, class_name, part)                                                 \
    do {                                                                                                       \
        inro_outcome *eval_outcome = eval((sandbox), (source));                                                \
        CHECK_FAILURE(eval_outcome, (fault), (class_name), (part));                                            \
        inro_outcome_free(eval_outcome);                                                                       \
    } while (0)

/* The one reading aid for values: what `inspect` says. Freed with inro_text_free. */
static inline char *inspected(const inro_value *value) {
    char *text = NULL;
    inro_error err;
    CHECK_INT(inro_value_inspect(value, &text, NULL, &err), INRO_OK);
    return text;
}

/* ---- making values ---- */

static inline inro_value *text_value(const char *text) {
    return inro_value_new_text(inro_str_from_c(text));
}

static inline inro_value *symbol_value(const char *name) {
    return inro_value_new_symbol(inro_str_from_c(name));
}

static inline void push(inro_value *array, inro_value *item) {
    CHECK_INT(inro_value_array_push(array, item), INRO_OK);
}

static inline void put(inro_value *map, inro_value *key, inro_value *value) {
    CHECK_INT(inro_value_map_put(map, key, value), INRO_OK);
}

/* ---- services that many tests need ---- */

/* Answers its first argument. */
static inline inro_status echo(void *user, inro_call *call) {
    (void)user;
    return inro_call_answer(call, inro_value_copy(inro_value_array_at(inro_call_args(call), 0)));
}

/* Counts in the int that is its user data, answers nothing. */
static inline inro_status count(void *user, inro_call *call) {
    (void)call;
    ++*(int *)user;
    return INRO_OK;
}

static inline void count_release(void *user) {
    ++*(int *)user;
}

#endif
