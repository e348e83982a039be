/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/invoke.h"

#include "base/alloc.h"
#include "base/error.h"
#include "sandbox/path.h"
#include "value/message.h"
#include "wasm/enter.h"
#include "wasm/pool.h"
#include "wasm/watch.h"

#include <stdio.h>
#include <string.h>

/* ---- time ---- */

void inro__invocation_charge(struct inro__invocation *invocation, enum inro__clock clock) {
    uint64_t now = inro__ticks();
    invocation->ticks[clock] += now - invocation->charged_ticks;
    invocation->charged_ticks = now;
}

/* A nested invocation may not outlast the one whose service it serves. */
static uint64_t deadline(uint64_t now, const struct inro__limits *limits) {
    uint64_t due = limits->timeout_us == INRO_UNLIMITED ? UINT64_MAX : now + limits->timeout_us * 1000;
    const struct inro__activation *outer = inro__activation_current();
    uint64_t outer_due = outer ? atomic_load(&outer->slot->deadline_ns) : UINT64_MAX;
    return due < outer_due ? due : outer_due;
}

/* ---- beginning and ending ---- */

static uint64_t memory_max(const struct inro__image *image, const struct inro__limits *limits) {
    uint64_t max = (uint64_t)image->size + limits->memory_bytes;
    return max < limits->memory_bytes ? UINT64_MAX : max;
}

inro_status inro__invocation_begin(struct inro__invocation *invocation, const struct inro__limits *limits,
                                   const struct inro__image *image, inro_error *err) {
    *invocation = (struct inro__invocation){.limits = limits, .handles.max = INRO__HANDLES_MAX};
    invocation->started_ns = inro__now_ns();
    invocation->started_ticks = invocation->charged_ticks = inro__ticks();
    inro__buf_init(&invocation->message, INRO_MESSAGE_BYTES_MAX);
    inro__buf_init(&invocation->request, INRO_MESSAGE_BYTES_MAX);
    inro__buf_init(&invocation->reply, INRO_MESSAGE_BYTES_MAX);
    inro__arena_init(&invocation->call_arena, INRO__DECODED_MAX);
    inro_status status = inro__enter_prepare(err);
    if (status == INRO_OK && !inro__enter_has_room())
        status = inro__fail(err, INRO_ERR_LIMIT, 0, "services and blocks are nested %u deep",
                            inro__activation_depth());
    if (status == INRO_OK)
        status = inro__pool_take(image, &invocation->slot, err);
    if (status != INRO_OK)
        return status;
    struct inro__slot *slot = invocation->slot;
    slot->host = &inro__invocation_host;
    slot->host_user = invocation;
    slot->memory_max = memory_max(image, limits);
    status = inro__watch_start(slot, deadline(invocation->started_ns, limits), err);
    invocation->outcome = status == INRO_OK ? inro__outcome_new() : NULL;
    if (status == INRO_OK && !invocation->outcome)
        status = inro__fail(err, INRO_ERR_MEMORY, 0, "no memory for an outcome");
    if (status != INRO_OK) {
        inro__invocation_end(invocation);
        return status;
    }
    inro__buf_init(&invocation->outcome->captures[0].bytes, limits->stdout_bytes);
    inro__buf_init(&invocation->outcome->captures[1].bytes, limits->stderr_bytes);
    return INRO_OK;
}

void inro__invocation_end(struct inro__invocation *invocation) {
    inro__watch_stop(invocation->slot);
    inro__pool_give(invocation->slot);
    inro__handles_done(&invocation->handles);
    inro__buf_done(&invocation->message);
    inro__buf_done(&invocation->request);
    inro__buf_done(&invocation->reply);
    inro__arena_done(&invocation->call_arena);
    inro__free(invocation->overrides, invocation->overrides_count * sizeof *invocation->overrides);
}

/* ---- messages ---- */

static uint64_t enter_mailbox(struct inro__instance *instance, uint32_t length, uint32_t unused) {
    (void)unused;
    return ((struct inro__slot *)(void *)instance)->guest->mailbox(instance, length);
}

bool inro__invocation_deliver(struct inro__invocation *invocation, const void *bytes, size_t length,
                              uint32_t *address) {
    struct inro__slot *slot = invocation->slot;
    uint64_t place = slot->guest->booted->mailbox;
    if (length > INRO__MAILBOX &&
        inro__enter(slot, enter_mailbox, (uint32_t)length, 0, &place) != INRO__TRAP_NONE)
        return false;
    *address = (uint32_t)place;
    uint8_t *target = inro__slot_write(slot, (struct inro__range){*address, (uint32_t)length});
    if (!target || *address == 0) {
        slot->trapped = INRO__TRAP_MEMORY; /* the guest had no room for it */
        return false;
    }
    if (length > 0)
        memcpy(target, bytes, length);
    return true;
}

bool inro__invocation_collect(struct inro__invocation *invocation, struct inro__range last,
                              struct inro__buf *out) {
    const uint8_t *bytes = inro__slot_read(invocation->slot, last);
    if (!bytes)
        return false;
    out->length = 0;
    if (invocation->message.length > 0) {
        struct inro__buf swap = *out;
        *out = invocation->message;
        invocation->message = swap;
    }
    inro_status status = inro__buf_append(out, bytes, last.length);
    if (status == INRO_ERR_LIMIT)
        invocation->message_too_large = true;
    else
        invocation->broken = status;
    return status == INRO_OK || status == INRO_ERR_LIMIT;
}

inro_status inro__invocation_send(struct inro__invocation *invocation,
                                  uint64_t (*entry)(struct inro__instance *, uint32_t, uint32_t),
                                  const void *message, size_t length) {
    struct inro__slot *slot = invocation->slot;
    uint32_t address;
    uint64_t packed = 0;
    if (!inro__invocation_deliver(invocation, message, length, &address))
        return INRO_OK;
    if (inro__enter(slot, entry, address, (uint32_t)length, &packed) != INRO__TRAP_NONE)
        return invocation->broken;
    struct inro__range last = {(uint32_t)(packed >> 32), (uint32_t)packed};
    if (!inro__invocation_collect(invocation, last, &invocation->outcome->message) &&
        invocation->broken == INRO_OK)
        slot->trapped = INRO__TRAP_IMPORT;
    return invocation->broken;
}

/* ---- the ending ---- */

#define OUTCOME_VALUE 1

bool inro__invocation_gave_value(const struct inro__invocation *invocation) {
    const struct inro__buf *message = &invocation->outcome->message;
    return invocation->slot->trapped == INRO__TRAP_NONE && message->length > 0 &&
           message->data[0] == OUTCOME_VALUE;
}

static const char *const trap_texts[INRO__TRAP_COUNT] = {
    [INRO__TRAP_UNREACHABLE] = "the guest gave up (unreachable)",
    [INRO__TRAP_OOB] = "the guest left its memory (out of bounds)",
    [INRO__TRAP_CALL_INDIRECT] = "the guest called through a wrong function pointer",
    [INRO__TRAP_DIV_BY_ZERO] = "the guest's engine divided by zero",
    [INRO__TRAP_INT_OVERFLOW] = "an integer of the guest's engine overflowed",
    [INRO__TRAP_INVALID_CONVERSION] = "the guest's engine converted NaN to an integer",
    [INRO__TRAP_STACK] = "the guest's stack is used up",
    [INRO__TRAP_THROW] = "the guest threw to a frame that is not alive",
    [INRO__TRAP_IMPORT] = "the guest called the host in a wrong way",
    [INRO__TRAP_TIMEOUT] = "timeout: the wall-clock limit was reached",
    [INRO__TRAP_MEMORY] = "memory_limit: the guest wanted to grow past it",
};

static void conclude_trap(inro_outcome *outcome, enum inro__trap trap) {
    inro_fault fault = trap == INRO__TRAP_TIMEOUT  ? INRO_FAULT_TIMEOUT
                       : trap == INRO__TRAP_MEMORY ? INRO_FAULT_MEMORY_LIMIT
                                                   : INRO_FAULT_TRAP;
    inro__outcome_fail(outcome, fault, INRO_STR(""), (inro_str){NULL, 0}, inro_str_from_c(trap_texts[trap]));
}

inro_status inro__invocation_conclude(struct inro__invocation *invocation) {
    struct inro__handle_map handles = inro__handles_map(&invocation->handles);
    if (invocation->slot->trapped != INRO__TRAP_NONE) {
        conclude_trap(invocation->outcome, invocation->slot->trapped);
        return INRO_OK;
    }
    if (invocation->message_too_large) {
        inro__outcome_fail(invocation->outcome, INRO_FAULT_SANDBOX, INRO_STR("sandbox"), INRO_STR("RangeError"),
                           INRO_STR("the result is larger than 16 MiB"));
        return INRO_OK;
    }
    return inro__outcome_decode(invocation->outcome, &handles);
}

/* Ticks have no unit until the whole is known in both. */
static void fill_usage(struct inro__invocation *invocation) {
    inro_usage *usage = &invocation->outcome->usage;
    usage->wall_ns = inro__now_ns() - invocation->started_ns;
    uint64_t ticks = inro__ticks() - invocation->started_ticks;
    double unit = (double)usage->wall_ns / (double)(ticks ? ticks : 1);
    usage->guest_ns = (uint64_t)((double)invocation->ticks[INRO__CLOCK_GUEST] * unit);
    usage->service_ns = (uint64_t)((double)invocation->ticks[INRO__CLOCK_SERVICE] * unit);
    usage->memory_peak_bytes = inro__slot_used(invocation->slot, invocation->limits->memory_bytes);
    usage->service_calls = invocation->service_calls;
}

/* ---- snippets that are not in the image ---- */

static void play_output(struct inro__invocation *invocation, const struct inro__buf *list) {
    for (size_t at = 0; at < list->length;) {
        uint32_t length;
        memcpy(&length, list->data + at + 1, sizeof length);
        inro__invocation_write(invocation, list->data[at], list->data + at + 5, length);
        at += 5 + (size_t)length;
    }
}

/* Until one fails: then that is how the invocation ends. */
static inro_status run_snippets(struct inro__invocation *invocation, bool *ended) {
    const inro_sandbox *sandbox = invocation->sandbox;
    play_output(invocation, &sandbox->baked_output);
    for (size_t i = sandbox->baked; i < sandbox->snippets_count && !*ended; i++) {
        const struct inro__snippet *snippet = &sandbox->snippets[i];
        inro_status status = inro__invocation_send(invocation, invocation->slot->guest->load, snippet->message,
                                                   snippet->message_length);
        if (status != INRO_OK)
            return status;
        *ended = !inro__invocation_gave_value(invocation);
    }
    return invocation->broken;
}

/* A snippet's failure is always the sandbox's, also when it was a service's error. */
static void own_failure(inro_outcome *outcome) {
    if (outcome->ended != INRO_ENDED_SERVICE)
        return;
    outcome->ended = INRO_ENDED_SANDBOX;
    outcome->failure.fault = INRO_FAULT_SANDBOX;
    outcome->failure.origin = INRO_STR("sandbox");
}

/* ---- the two verbs ---- */

/* A script, or an entry point with its arguments (then `source` is its name). */
struct request {
    inro_str source;
    bool is_run;
    const inro_value *args;
    const inro_value *kwargs;
};

static inro_status find_service(const inro_sandbox *sandbox, inro_str path, uint32_t *found, inro_error *err) {
    for (size_t i = 0; i < sandbox->services_count; i++)
        if (inro__str_equal((inro_str){sandbox->services[i].path, sandbox->services[i].path_length}, path)) {
            *found = (uint32_t)i;
            return INRO_OK;
        }
    return inro__fail(err, INRO_ERR_ARGUMENT, 0, "binding: no path \"%.*s\" was bound or reserved",
                      (int)(path.length > 64 ? 64 : path.length), path.data ? path.data : "");
}

static inro_status take_overrides(struct inro__invocation *invocation, const inro_invocation *given,
                                  inro_error *err) {
    if (given->bindings_count == 0)
        return INRO_OK;
    if (!given->bindings)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "bindings: NULL, but bindings_count is %zu",
                          given->bindings_count);
    if (given->bindings_count > INRO__BINDINGS_MAX)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "bindings_count: more than %u", INRO__BINDINGS_MAX);
    invocation->overrides = inro__alloc(given->bindings_count * sizeof *invocation->overrides);
    if (!invocation->overrides)
        return inro__fail(err, INRO_ERR_MEMORY, 0, "no memory for bindings");
    invocation->overrides_count = given->bindings_count;
    for (size_t i = 0; i < given->bindings_count; i++) {
        invocation->overrides[i].object = given->bindings[i].object;
        inro_status status =
            find_service(invocation->sandbox, given->bindings[i].path, &invocation->overrides[i].service, err);
        if (status != INRO_OK)
            return status;
    }
    return INRO_OK;
}

/* Here, not before the invocation: OBJECT values among the arguments get handles of its table. */
static inro_status send_run(struct inro__invocation *invocation, const struct request *request,
                            inro_error *err) {
    static const struct inro_value no_args = {.type = INRO_VALUE_ARRAY}, no_kwargs = {.type = INRO_VALUE_MAP};
    struct inro__handle_map handles = inro__handles_map(&invocation->handles);
    struct inro__mp_writer writer = inro__message_begin(&invocation->reply);
    inro__mp_write_str(&writer, request->source.data, (uint32_t)request->source.length);
    enum inro__encode_status status =
        inro__value_encode(request->args ? request->args : &no_args, &writer, &handles);
    if (status == INRO__ENCODE_OK)
        status = inro__value_encode(request->kwargs ? request->kwargs : &no_kwargs, &writer, &handles);
    bool fits = inro__message_end(&writer);
    bool starved = status == INRO__ENCODE_HANDLES ? invocation->handles.count < invocation->handles.max
                                                  : invocation->reply.starved;
    if (starved)
        return inro__fail(err, INRO_ERR_MEMORY, 0, "no memory for the arguments");
    if (status == INRO__ENCODE_HANDLES)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "args: more objects than there are handles");
    if (!fits)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "args: larger than 16 MiB");
    return inro__invocation_send(invocation, invocation->slot->guest->run, invocation->reply.data,
                                 invocation->reply.length);
}

static inro_status send_request(struct inro__invocation *invocation, const struct request *request,
                                inro_error *err) {
    if (request->is_run)
        return send_run(invocation, request, err);
    return inro__invocation_send(invocation, invocation->slot->guest->eval, request->source.data,
                                 request->source.length);
}

static inro_status run_request(struct inro__invocation *invocation, const struct request *request,
                               inro_error *err) {
    bool ended = false;
    inro_status status = run_snippets(invocation, &ended);
    bool by_snippet = ended;
    if (status == INRO_OK && !ended)
        status = send_request(invocation, request, err);
    inro__invocation_charge(invocation, INRO__CLOCK_GUEST);
    if (status == INRO_OK)
        status = inro__invocation_conclude(invocation);
    if (status == INRO_OK && by_snippet)
        own_failure(invocation->outcome);
    return status;
}

static inro_status finish(struct inro__invocation *invocation, inro_status status, inro_outcome **out,
                          inro_error *err) {
    if (status == INRO_OK) {
        fill_usage(invocation);
        *out = invocation->outcome;
    } else {
        inro_outcome_free(invocation->outcome);
        if (!err || err->status != status)
            inro__fail(err, status, 0, "%s during an invocation", inro_status_text(status));
    }
    inro__invocation_end(invocation);
    return status;
}

static inro_status invoke(inro_sandbox *sandbox, const struct request *request, const inro_invocation *options,
                          inro_outcome **out, inro_error *err) {
    inro_invocation given = INRO_INVOCATION_INIT;
    struct inro__invocation invocation;
    inro_status status = INRO_OK;
    if (options)
        status = inro__options_copy(&given, sizeof given, options, "invocation", err);
    if (status == INRO_OK && !atomic_load_explicit(&sandbox->sealed, memory_order_acquire))
        status = inro__sandbox_seal(sandbox, err);
    if (status == INRO_OK)
        status = inro__invocation_begin(&invocation, &sandbox->limits, sandbox->image, err);
    if (status != INRO_OK)
        return status;
    invocation.sandbox = sandbox;
    invocation.output = given.output;
    invocation.output_user = given.output_user;
    if (err)
        err->status = INRO_OK;
    status = take_overrides(&invocation, &given, err);
    if (status == INRO_OK)
        status = run_request(&invocation, request, err);
    return finish(&invocation, status, out, err);
}

inro_status inro_sandbox_eval(inro_sandbox *sandbox, inro_str source, const inro_invocation *invocation,
                              inro_outcome **out, inro_error *err) {
    if (!out)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "out: NULL");
    *out = NULL;
    if (!sandbox || !source.data)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "%s: not given", sandbox ? "source" : "sandbox");
    if (source.length > INRO__SOURCE_MAX)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "source: %zu bytes are more than %u", source.length,
                          INRO__SOURCE_MAX);
    struct request request = {.source = source};
    return invoke(sandbox, &request, invocation, out, err);
}

static inro_status check_arguments(const inro_value *args, const inro_value *kwargs, inro_error *err) {
    if (args && args->type != INRO_VALUE_ARRAY)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "args: an array is needed");
    if (kwargs && kwargs->type != INRO_VALUE_MAP)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "kwargs: a map is needed");
    for (uint32_t i = 0; kwargs && i < kwargs->length; i++)
        if (kwargs->as.items[(size_t)2 * i].type != INRO_VALUE_SYMBOL)
            return inro__fail(err, INRO_ERR_ARGUMENT, 0, "kwargs: keyword argument keys must be symbols");
    return INRO_OK;
}

inro_status inro_sandbox_run(inro_sandbox *sandbox, inro_str entrypoint, const inro_value *args,
                             const inro_value *kwargs, const inro_invocation *invocation, inro_outcome **out,
                             inro_error *err) {
    if (!out)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "out: NULL");
    *out = NULL;
    if (!sandbox)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "sandbox: not given");
    if (!inro__path_is_name(entrypoint))
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "entrypoint must match [A-Z]\\w*: \"%.*s\"",
                          (int)(entrypoint.length > 64 ? 64 : entrypoint.length),
                          entrypoint.data ? entrypoint.data : "");
    inro_status status = check_arguments(args, kwargs, err);
    if (status != INRO_OK)
        return status;
    struct request request = {entrypoint, true, args, kwargs};
    return invoke(sandbox, &request, invocation, out, err);
}

/* ---- questions to a guest without services and snippets ---- */

static void inquiry_done(struct inro__invocation *invocation) {
    inro_outcome_free(invocation->outcome);
    inro__invocation_end(invocation);
}

/* Sends one message to a booted guest; `what` names the question in errors. After INRO_OK the outcome tells,
 * and inquiry_done has to follow. */
static inro_status inquire(struct inro__invocation *invocation, const struct inro__limits *limits,
                           uint64_t (*entry)(struct inro__instance *, uint32_t, uint32_t), inro_bytes message,
                           const char *what, inro_error *err) {
    inro_status status = inro__invocation_begin(invocation, limits, inro__image_booted(&inro__ruby_guest), err);
    if (status != INRO_OK)
        return status;
    status = inro__invocation_send(invocation, entry, message.data, message.length);
    if (status == INRO_OK)
        status = inro__invocation_conclude(invocation);
    if (status != INRO_OK) {
        inro__fail(err, status, 0, "%s: %s", what, inro_status_text(status));
        inquiry_done(invocation);
    }
    return status;
}

/* ---- checking a snippet ---- */

static inro_status syntax_failure(const inro_outcome *outcome, inro_error *err) {
    const inro_failure *failure = &outcome->failure;
    if (outcome->ended == INRO_ENDED_VALUE)
        return INRO_OK;
    inro_str line = failure->backtrace_count ? failure->backtrace[0] : INRO_STR("(snippet)");
    return inro__fail(err, INRO_ERR_SYNTAX, 0, "%.*s: %.*s", (int)(line.length > 100 ? 100 : line.length),
                      line.data, (int)(failure->message.length > 120 ? 120 : failure->message.length),
                      failure->message.data);
}

inro_status inro__invoke_check(const struct inro__limits *limits, const uint8_t *message, size_t length,
                               inro_error *err) {
    struct inro__invocation invocation;
    inro_status status = inquire(&invocation, limits, inro__ruby_guest.check, (inro_bytes){message, length},
                                 "compiling a snippet", err);
    if (status != INRO_OK)
        return status;
    status = syntax_failure(invocation.outcome, err);
    inquiry_done(&invocation);
    return status;
}

/* ---- checking a name ---- */

inro_status inro__invoke_constant(inro_str name, bool *exists, inro_error *err) {
    static const struct inro__limits limits = {INRO__TIMEOUT_US_DEFAULT, INRO__MEMORY_DEFAULT, 0, 0,
                                               INRO_PROFILE_HERMETIC};
    char source[INRO__NAME_MAX + 64];
    int length = snprintf(source, sizeof source, "Object.const_defined?(:%.*s)", (int)name.length, name.data);
    struct inro__invocation invocation;
    inro_bytes question = {(const uint8_t *)source, (size_t)length};
    inro_status status =
        inquire(&invocation, &limits, inro__ruby_guest.eval, question, "looking a constant up", err);
    if (status != INRO_OK)
        return status;
    *exists = invocation.outcome->ended != INRO_ENDED_VALUE || inro_value_get_bool(&invocation.outcome->value);
    inquiry_done(&invocation);
    return status;
}
