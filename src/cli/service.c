/* --service: a program as a service.
 *
 * The guest learns that its call failed and in which general way; what the host's names for things are
 * (program, path, errno) goes to standard error, for the person who bound the service.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "cli/service.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct service {
    inro_str name;
    struct inro__cli_words words;
    const uint64_t *deadline;
};

static void release(void *user) {
    struct service *service = user;
    inro__cli_words_done(&service->words);
    free(service);
}

/* The message begins with the service's name, since a script may call several. */
static inro_status fail(const struct service *service, inro_call *call, inro_call_fault fault,
                        const char *reason) {
    struct inro__cli_text message = {0};
    inro__cli_text_add(&message, service->name.data, service->name.length);
    inro__cli_text_format(&message, ": %s", reason);
    inro_status status = inro_call_fail(call, fault, (inro_str){message.data, message.length});
    inro__cli_text_done(&message);
    return status;
}

static inro_status add_json(struct inro__cli_text *request, const char *key, const inro_value *value,
                            inro_error *err) {
    char *json = NULL;
    size_t length = 0;
    inro_status status = inro_value_to_json(value, &json, &length, err);
    if (status != INRO_OK)
        return status;
    inro__cli_text_put(request, key);
    inro__cli_text_add(request, json, length);
    inro_text_free(json);
    return INRO_OK;
}

/* Written piece by piece, because arguments may be as deep as a value can be. */
static inro_status write_request(const inro_call *call, struct inro__cli_text *request, inro_error *err) {
    inro_value *method = inro_value_new_text(inro_call_method(call));
    if (!method)
        inro__cli_no_memory();
    inro_status status = add_json(request, "{\"method\":", method, err);
    inro_value_free(method);
    if (status == INRO_OK)
        status = add_json(request, ",\"args\":", inro_call_args(call), err);
    if (status == INRO_OK)
        status = add_json(request, ",\"kwargs\":", inro_call_kwargs(call), err);
    inro__cli_text_put(request, "}\n");
    return status;
}

static inro_status answer(const struct service *service, inro_call *call, const struct inro__cli_text *output) {
    inro_value *value = NULL;
    inro_error err = {.status = INRO_OK};
    struct inro__cli_text reason = {0};
    if (inro_value_from_json((inro_str){output->length ? output->data : "", output->length}, &value, &err) ==
        INRO_OK)
        return inro_call_answer(call, value);
    inro__cli_text_format(&reason, "the answer is not one JSON value: %s", err.message);
    inro_status status = fail(service, call, INRO_CALL_RUNTIME, inro__cli_text_string(&reason));
    inro__cli_text_done(&reason);
    return status;
}

/* Tells the person at the command line why there was no program to ask. */
static inro_status report_absent(const struct service *service, inro_call *call, int os_error) {
    inro__cli_fail("service %.*s: cannot start \"%s\": %s", (int)service->name.length, service->name.data,
                   service->words.list[0], strerror(os_error));
    return fail(service, call, INRO_CALL_RUNTIME, "its program cannot be started");
}

static inro_status settle(const struct service *service, inro_call *call,
                          const struct inro__cli_child_result *result) {
    char reason[96];
    switch (result->end) {
    case INRO__CLI_CHILD_ABSENT:
        return report_absent(service, call, result->code);
    case INRO__CLI_CHILD_VERBOSE:
        return fail(service, call, INRO_CALL_RUNTIME, "the answer is longer than 16 MiB");
    case INRO__CLI_CHILD_LATE:
        return fail(service, call, INRO_CALL_RUNTIME, "its program was stopped when the time was up");
    case INRO__CLI_CHILD_KILLED:
        snprintf(reason, sizeof reason, "its program was killed by signal %d (%s)", result->code,
                 strsignal(result->code));
        return fail(service, call, INRO_CALL_RUNTIME, reason);
    case INRO__CLI_CHILD_EXITED:
        break;
    }
    if (result->code == 0)
        return answer(service, call, &result->output);
    snprintf(reason, sizeof reason, "its program ended with status %d", result->code);
    return fail(service, call, INRO_CALL_RUNTIME, reason);
}

static inro_status serve(void *user, inro_call *call) {
    const struct service *service = user;
    struct inro__cli_text request = {0};
    struct inro__cli_child_result result = {.end = INRO__CLI_CHILD_ABSENT};
    inro_error err = {.status = INRO_OK};
    inro_status status = INRO_OK;
    if (inro_call_has_block(call)) {
        status = fail(service, call, INRO_CALL_ARGUMENT, "a program takes no block");
    } else if (write_request(call, &request, &err) != INRO_OK) {
        status = fail(service, call, INRO_CALL_ARGUMENT, err.message);
    } else {
        inro_bytes input = {(const uint8_t *)request.data, request.length};
        inro__cli_child_run(service->words.list, input, (size_t)(INRO_MESSAGE_BYTES_MAX), *service->deadline,
                            &result);
        status = settle(service, call, &result);
    }
    inro__cli_text_done(&result.output);
    inro__cli_text_done(&request);
    return status;
}

const char *inro__cli_service_new(inro_str name, const char *line, const uint64_t *deadline,
                                  inro_object **out) {
    struct service *service = inro__cli_alloc(1, sizeof *service);
    *service = (struct service){.name = name, .deadline = deadline};
    const char *problem = inro__cli_words_split(line, &service->words);
    if (problem) {
        release(service);
        return problem;
    }
    *out = inro_object_new(serve, service, release);
    if (!*out)
        inro__cli_no_memory();
    return NULL;
}
