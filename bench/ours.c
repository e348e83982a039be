/* inro: one sandbox, each call is one invocation from a clean image, with everything an outcome has.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <inro/inro.h>
#include <stdlib.h>
#include <string.h>

struct ours {
    inro_sandbox *sandbox;
    inro_str source; /* empty: the entry point */
};

/* ---- services ---- */

static inro_status noop(void *user, inro_call *call) {
    (void)user, (void)call;
    return INRO_OK;
}

static inro_status echo(void *user, inro_call *call) {
    (void)user;
    return inro_call_answer(call, inro_value_copy(inro_value_array_at(inro_call_args(call), 0)));
}

static inro_status greet(void *user, inro_call *call) {
    (void)user;
    const inro_value *name = inro_value_map_get(inro_call_kwargs(call), INRO_STR("name"));
    inro_str text = inro_value_get_text(name);
    if (text.length != 5)
        return inro_call_fail(call, INRO_CALL_ARGUMENT, INRO_STR("name: must be alice"));
    return inro_call_answer(call, inro_value_new_text(INRO_STR(GREETING)));
}

static inro_status greet_plainly(void *user, inro_call *call) {
    (void)user;
    return inro_call_answer(call, inro_value_new_text(INRO_STR(GREETING)));
}

static inro_status make_greeter(void *user, inro_call *call) {
    return inro_call_answer(call, inro_value_new_object(user));
}

static void unref(void *user) {
    inro_object_unref(user);
}

static inro_status yield_one(inro_call *call, int64_t number) {
    inro_value *args = inro_value_new_array();
    const inro_value *result;
    inro_error err;
    inro_status status = inro_value_array_push(args, inro_value_new_int(number));
    if (status == INRO_OK)
        status = inro_call_yield(call, args, &result, &err);
    inro_value_free(args);
    return status;
}

static inro_status each(void *user, inro_call *call) {
    (void)user;
    int64_t count = inro_value_get_int(inro_value_array_at(inro_call_args(call), 0));
    inro_status status = INRO_OK;
    for (int64_t i = 0; i < count && status == INRO_OK; i++)
        status = yield_one(call, i);
    return status;
}

static bool bind(inro_sandbox *sandbox, const char *path, inro_object *object) {
    inro_error err;
    bool bound = inro_sandbox_bind(sandbox, inro_str_from_c(path), object, &err) == INRO_OK;
    inro_object_unref(object);
    if (!bound)
        complain("%s: %s", path, err.message);
    return bound;
}

static bool bind_all(inro_sandbox *sandbox) {
    inro_object *greeter = inro_object_new(greet_plainly, NULL, NULL);
    return bind(sandbox, "Bench::Noop", inro_object_new(noop, NULL, NULL)) &&
           bind(sandbox, "Bench::Echo", inro_object_new(echo, NULL, NULL)) &&
           bind(sandbox, "Bench::Greet", inro_object_new(greet, NULL, NULL)) &&
           bind(sandbox, "Bench::Each", inro_object_new(each, NULL, NULL)) &&
           bind(sandbox, "Bench::Factory", inro_object_new(make_greeter, greeter, unref));
}

/* ---- snippets ---- */

static bool preload(inro_sandbox *sandbox, char *source, char *name) {
    inro_error err;
    bool loaded =
        inro_sandbox_preload(sandbox, inro_str_from_c(source), inro_str_from_c(name), &err) == INRO_OK;
    if (!loaded)
        complain("%s: %s", name, err.message);
    free(source);
    free(name);
    return loaded;
}

static bool preload_all(inro_sandbox *sandbox, size_t helpers) {
    bool loaded = preload(sandbox, strdup(NOOP_SOURCE), strdup("Noop"));
    for (size_t i = 0; i < helpers && loaded; i++)
        loaded = preload(sandbox, snippet_source(i), snippet_name(i));
    return loaded;
}

/* ---- the contender ---- */

static void ours_close(void *self) {
    struct ours *ours = self;
    inro_sandbox_free(ours->sandbox);
    free(ours);
}

static void *ours_open(const struct task *task, inro_str source) {
    struct ours *ours = calloc(1, sizeof *ours);
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    inro_error err;
    if (!ours)
        return NULL;
    options.memory_limit_bytes = INRO_UNLIMITED;
    ours->source = source;
    if (inro_sandbox_new(&options, &ours->sandbox, &err) != INRO_OK)
        complain("%s: %s", task->name, err.message);
    else if ((!task->services || bind_all(ours->sandbox)) &&
             (task->source || preload_all(ours->sandbox, task->snippets)))
        return ours;
    ours_close(ours);
    return NULL;
}

static uint64_t digest_of(const inro_value *value) {
    inro_value_type type = inro_value_get_type(value);
    inro_bytes bytes = inro_value_get_bytes(value);
    if (type == INRO_VALUE_NIL)
        return digest_nil();
    if (type == INRO_VALUE_INT)
        return digest_int(inro_value_get_int(value));
    if (type == INRO_VALUE_FLOAT)
        return digest_float(inro_value_get_float(value));
    return digest_text(bytes.data, bytes.length);
}

static bool ours_run(void *self, uint64_t *digest) {
    struct ours *ours = self;
    inro_outcome *outcome;
    inro_error err;
    inro_status status =
        ours->source.data ? inro_sandbox_eval(ours->sandbox, ours->source, NULL, &outcome, &err)
                          : inro_sandbox_run(ours->sandbox, INRO_STR("Noop"), NULL, NULL, NULL, &outcome, &err);
    if (status != INRO_OK) {
        complain("inro: %s", err.message);
        return false;
    }
    const inro_failure *failure = inro_outcome_failure(outcome);
    if (failure)
        complain("inro: %.*s", (int)failure->message.length, failure->message.data);
    *digest = digest_of(inro_outcome_value(outcome));
    inro_outcome_free(outcome);
    return failure == NULL;
}

const struct contender inro_contender = {"inro", ours_open, ours_run, ours_close};
