/* Service calls: from the guest's request to the host's callback and back, and yields the other way.
 *
 * A request is copied out of guest memory before it is looked at; what the callback sees can no longer be
 * changed by the guest, also not by a block that it yields to. SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/error.h"
#include "sandbox/invoke.h"
#include "value/message.h"
#include "value/object.h"
#include "wasm/enter.h"

#include <string.h>

enum { FLAG_HANDLE = 1, FLAG_BLOCK = 2, FLAG_BLOCK_SHIFT = 8 };
enum { REPLY_VALUE = 0, REPLY_FAULT = 1, REPLY_BREAK = 2, REPLY_RAISED = 3 };
enum { YIELD_VALUE = 0, YIELD_RAISED = 1, YIELD_BREAK = 2 };
/* Faults that a service cannot name itself; numbers as in the guest. */
enum { FAULT_WIRE = 4, FAULT_HANDLES = 5 };
#define MESSAGE_MAX 4096u

struct inro_call {
    struct inro__invocation *invocation;
    inro_str method;
    struct inro_value args;
    struct inro_value kwargs;
    uint32_t flags;
    inro_value *answer;
    int fault;
    struct inro__buf message;     /* of the fault */
    inro_status yielded;          /* how the last yield ended */
    struct inro__buf yield_reply; /* and what the block gave */
    struct inro__arena yield_arena;
    struct inro_value yield_value;
};

/* ---- the callback's view ---- */

inro_str inro_call_method(const inro_call *call) {
    return call->method;
}

const inro_value *inro_call_args(const inro_call *call) {
    return &call->args;
}

const inro_value *inro_call_kwargs(const inro_call *call) {
    return &call->kwargs;
}

bool inro_call_has_block(const inro_call *call) {
    return (call->flags & FLAG_BLOCK) != 0;
}

inro_status inro_call_answer(inro_call *call, inro_value *value) {
    inro_value_free(call->answer);
    call->answer = value;
    if (value)
        return INRO_OK;
    inro_call_fail(call, INRO_CALL_RUNTIME, INRO_STR("the host has no memory for the answer"));
    return INRO_ERR_MEMORY;
}

inro_status inro_call_fail(inro_call *call, inro_call_fault fault, inro_str message) {
    call->fault =
        fault >= INRO_CALL_RUNTIME && fault <= INRO_CALL_DISCONNECTED ? (int)fault : (int)INRO_CALL_RUNTIME;
    inro__buf_done(&call->message);
    size_t length = message.length > MESSAGE_MAX ? MESSAGE_MAX : message.length;
    if (inro__buf_append(&call->message, message.data, length) != INRO_OK)
        inro__buf_done(&call->message);
    return INRO_ERR_SERVICE;
}

/* ---- writing into the invocation's reply buffer ---- */

static void write_tag(struct inro__mp_writer *writer, uint8_t tag) {
    inro__mp_write_int(writer, tag); /* below 128: the byte itself */
}

static bool write_fault(struct inro__buf *reply, int fault, inro_str message) {
    struct inro__mp_writer writer = inro__message_begin(reply);
    write_tag(&writer, REPLY_FAULT);
    inro__mp_write_int(&writer, fault);
    if (inro__utf8_is_valid(message.data, message.length))
        inro__mp_write_str(&writer, message.data, (uint32_t)message.length);
    else
        inro__mp_write_bin(&writer, message.data, (uint32_t)message.length);
    return inro__message_end(&writer);
}

static bool write_answer(struct inro_call *call, struct inro__buf *reply) {
    static const struct inro_value nil = {.type = INRO_VALUE_NIL};
    struct inro__handle_map handles = inro__handles_map(&call->invocation->handles);
    struct inro__mp_writer writer = inro__message_begin(reply);
    write_tag(&writer, REPLY_VALUE);
    enum inro__encode_status status = inro__value_encode(call->answer ? call->answer : &nil, &writer, &handles);
    if (inro__message_end(&writer) && status == INRO__ENCODE_OK)
        return true;
    if (status == INRO__ENCODE_HANDLES)
        return write_fault(reply, FAULT_HANDLES, INRO_STR("this invocation has no more handles"));
    return write_fault(reply, INRO_CALL_RUNTIME, INRO_STR("the answer is larger than 16 MiB"));
}

static bool write_reply(struct inro_call *call, inro_status status) {
    struct inro__buf *reply = &call->invocation->reply;
    if (status == INRO_OK)
        return write_answer(call, reply);
    if ((status == INRO_ERR_BREAK || status == INRO_ERR_BLOCK) && status == call->yielded) {
        struct inro__mp_writer writer = inro__message_begin(reply);
        write_tag(&writer, status == INRO_ERR_BREAK ? REPLY_BREAK : REPLY_RAISED);
        return inro__message_end(&writer);
    }
    if (call->message.length == 0)
        inro_call_fail(call, (inro_call_fault)call->fault, INRO_STR("the service failed"));
    return write_fault(reply, call->fault, (inro_str){(const char *)call->message.data, call->message.length});
}

/* ---- requests ---- */

static inro_object *bound_object(const struct inro__invocation *invocation, uint32_t service) {
    for (size_t i = 0; i < invocation->overrides_count; i++)
        if (invocation->overrides[i].service == service)
            return invocation->overrides[i].object;
    const inro_sandbox *sandbox = invocation->sandbox;
    return sandbox && service < sandbox->services_count ? sandbox->services[service].object : NULL;
}

static inro_object *target_object(const struct inro__invocation *invocation, uint32_t target, uint32_t flags) {
    return flags & FLAG_HANDLE ? inro__handles_find(&invocation->handles, target)
                               : bound_object(invocation, target);
}

/* method (str), args (array), kwargs (map); nothing after. */
static enum inro__decode_status decode_request(struct inro_call *call, const struct inro__buf *bytes,
                                               struct inro__arena *arena) {
    struct inro__handle_map handles = inro__handles_map(&call->invocation->handles);
    struct inro__mp_reader reader = {bytes->data, bytes->data + bytes->length};
    struct inro__mp_token method = inro__mp_read(&reader);
    if (method.type != INRO__MP_STR)
        return INRO__DECODE_BAD;
    call->method = (inro_str){(const char *)method.as.bytes, method.length};
    enum inro__decode_status status = inro__value_decode_next(&reader, arena, &handles, &call->args);
    if (status == INRO__DECODE_OK)
        status = inro__value_decode_next(&reader, arena, &handles, &call->kwargs);
    if (status != INRO__DECODE_OK)
        return status;
    bool well_formed =
        reader.at == reader.end && call->args.type == INRO_VALUE_ARRAY && call->kwargs.type == INRO_VALUE_MAP;
    for (uint32_t i = 0; well_formed && i < call->kwargs.length; i++)
        well_formed = call->kwargs.as.items[(size_t)2 * i].type == INRO_VALUE_SYMBOL;
    return well_formed ? INRO__DECODE_OK : INRO__DECODE_BAD;
}

static inro_status run_service(struct inro_call *call, inro_object *object) {
    struct inro__invocation *invocation = call->invocation;
    inro_object_ref(object); /* an inner call may be the last to hold it */
    inro__invocation_charge(invocation, INRO__CLOCK_GUEST);
    inro_status status = object->call(object->user, call);
    inro__invocation_charge(invocation, INRO__CLOCK_SERVICE);
    inro_object_unref(object);
    return status;
}

static const struct refusal {
    enum inro__decode_status status;
    int fault;
    inro_str message;
} refusals[] = {
    {INRO__DECODE_BAD, FAULT_WIRE, {"wire decode failed: malformed request", 37}},
    {INRO__DECODE_DEPTH, INRO_CALL_ARGUMENT, {"an argument nests deeper than 128 levels", 40}},
    {INRO__DECODE_HANDLE, INRO_CALL_UNDEFINED, {"an argument is a handle that is not live", 40}},
    {INRO__DECODE_SIZE, INRO_CALL_ARGUMENT, {"the arguments have too many parts", 33}},
    {INRO__DECODE_MEMORY, FAULT_WIRE, {"the host has no memory for the request", 38}},
};

static bool answer_request(struct inro_call *call, uint32_t target, const struct inro__buf *bytes,
                           struct inro__arena *arena) {
    struct inro__buf *reply = &call->invocation->reply;
    if (call->invocation->message_too_large) {
        call->invocation->message_too_large = false;
        return write_fault(reply, INRO_CALL_ARGUMENT, INRO_STR("the arguments are larger than 16 MiB"));
    }
    enum inro__decode_status decoded = decode_request(call, bytes, arena);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (decoded == refusals[i].status)
            return write_fault(reply, refusals[i].fault, refusals[i].message);
    inro_object *object = target_object(call->invocation, target, call->flags);
    if (!object)
        return write_fault(reply, INRO_CALL_UNDEFINED,
                           call->flags & FLAG_HANDLE ? INRO_STR("this handle is not live")
                                                     : INRO_STR("no object is bound at this service"));
    return write_reply(call, run_service(call, object));
}

static void call_done(struct inro_call *call) {
    inro_value_free(call->answer);
    inro__buf_done(&call->message);
    inro__buf_done(&call->yield_reply);
    inro__arena_done(&call->yield_arena);
}

/* With the request's bytes and arena at hand; they are the invocation's own for the outermost call. */
static bool call_with(struct inro__invocation *invocation, uint32_t target, struct inro__range request,
                      uint32_t flags, struct inro__buf *bytes, struct inro__arena *arena) {
    struct inro_call call = {.invocation = invocation, .flags = flags, .fault = INRO_CALL_RUNTIME};
    inro__buf_init(&call.message, MESSAGE_MAX);
    inro__buf_init(&call.yield_reply, INRO_MESSAGE_BYTES_MAX);
    inro__arena_init(&call.yield_arena, INRO__DECODED_MAX);
    bool answered =
        inro__invocation_collect(invocation, request, bytes) && answer_request(&call, target, bytes, arena);
    call_done(&call);
    return answered;
}

static bool call_nested(struct inro__invocation *invocation, uint32_t target, struct inro__range request,
                        uint32_t flags) {
    struct inro__buf bytes;
    struct inro__arena arena;
    inro__buf_init(&bytes, INRO_MESSAGE_BYTES_MAX);
    inro__arena_init(&arena, INRO__DECODED_MAX);
    bool answered = call_with(invocation, target, request, flags, &bytes, &arena);
    inro__arena_done(&arena);
    inro__buf_done(&bytes);
    return answered;
}

enum inro__trap inro__invocation_call(void *user, struct inro__slot *slot, uint32_t target,
                                      struct inro__range request, uint32_t flags, uint64_t *reply) {
    struct inro__invocation *invocation = user;
    uint32_t address;
    bool answered;
    invocation->impure = true;
    if (invocation->bake)
        return INRO__TRAP_IMPORT;
    invocation->service_calls++;
    if (invocation->calls_open++ == 0) {
        answered = call_with(invocation, target, request, flags, &invocation->request, &invocation->call_arena);
        inro__arena_reset(&invocation->call_arena);
    } else {
        answered = call_nested(invocation, target, request, flags);
    }
    invocation->calls_open--;
    if (slot->trapped != INRO__TRAP_NONE)
        return slot->trapped;
    if (!answered ||
        !inro__invocation_deliver(invocation, invocation->reply.data, invocation->reply.length, &address))
        return slot->trapped != INRO__TRAP_NONE ? slot->trapped : INRO__TRAP_IMPORT;
    *reply = (uint64_t)address << 32 | (uint32_t)invocation->reply.length;
    return INRO__TRAP_NONE;
}

/* ---- yields ---- */

static inro_status write_yield(struct inro_call *call, const inro_value *args, inro_error *err) {
    static const struct inro_value none = {.type = INRO_VALUE_ARRAY};
    struct inro__handle_map handles = inro__handles_map(&call->invocation->handles);
    struct inro__mp_writer writer = inro__message_begin(&call->invocation->reply);
    inro__mp_write_int(&writer, call->flags >> FLAG_BLOCK_SHIFT);
    enum inro__encode_status status = inro__value_encode(args ? args : &none, &writer, &handles);
    if (inro__message_end(&writer) && status == INRO__ENCODE_OK)
        return INRO_OK;
    return inro__fail(err, INRO_ERR_TYPE, 0, "%s",
                      status == INRO__ENCODE_HANDLES ? "this invocation has no more handles"
                                                     : "the block's arguments are larger than 16 MiB");
}

/* The guest's answer is its tag, then a value or the text of what was raised. */
static inro_status read_yield(struct inro_call *call, const inro_value **result, inro_error *err) {
    const struct inro__buf *bytes = &call->yield_reply;
    struct inro__handle_map handles = inro__handles_map(&call->invocation->handles);
    if (bytes->length == 0)
        return inro__fail(err, INRO_ERR_BLOCK, 0, "the block raised");
    struct inro__mp_reader reader = {bytes->data + 1, bytes->data + bytes->length};
    uint8_t tag = bytes->data[0];
    if (tag == YIELD_BREAK)
        return inro__fail(err, INRO_ERR_BREAK, 0, "the block ended the call with break");
    inro__arena_reset(&call->yield_arena);
    enum inro__decode_status status =
        inro__value_decode(&reader, &call->yield_arena, &handles, &call->yield_value);
    if (status == INRO__DECODE_SIZE)
        return inro__fail(err, INRO_ERR_LIMIT, 0, "the block's value has too many parts");
    if (tag != YIELD_VALUE || status != INRO__DECODE_OK) {
        inro_str text =
            status == INRO__DECODE_OK ? inro_value_get_text(&call->yield_value) : (inro_str){NULL, 0};
        return inro__fail(err, INRO_ERR_BLOCK, 0, "%.*s",
                          text.data ? (int)(text.length > 240 ? 240 : text.length) : 15,
                          text.data ? text.data : "the block raised");
    }
    *result = &call->yield_value;
    return INRO_OK;
}

static inro_status yield(struct inro_call *call, const inro_value **result, inro_error *err) {
    struct inro__invocation *invocation = call->invocation;
    struct inro__slot *slot = invocation->slot;
    uint32_t address;
    uint64_t packed = 0;
    inro__invocation_charge(invocation, INRO__CLOCK_SERVICE);
    enum inro__trap trap = INRO__TRAP_IMPORT;
    if (inro__invocation_deliver(invocation, invocation->reply.data, invocation->reply.length, &address))
        trap = inro__enter(slot, slot->guest->yield, address, (uint32_t)invocation->reply.length, &packed);
    inro__invocation_charge(invocation, INRO__CLOCK_GUEST);
    if (trap == INRO__TRAP_NONE &&
        inro__invocation_collect(invocation, (struct inro__range){(uint32_t)(packed >> 32), (uint32_t)packed},
                                 &call->yield_reply)) {
        if (!invocation->message_too_large)
            return read_yield(call, result, err);
        invocation->message_too_large = false;
        return inro__fail(err, INRO_ERR_LIMIT, 0, "the block's value is larger than 16 MiB");
    }
    if (slot->trapped == INRO__TRAP_NONE)
        slot->trapped = INRO__TRAP_IMPORT;
    return inro__fail(err, INRO_ERR_TRAP, 0, "the guest was stopped");
}

inro_status inro_call_yield(inro_call *call, const inro_value *args, const inro_value **result,
                            inro_error *err) {
    const inro_value *unused;
    if (!result)
        result = &unused;
    *result = NULL;
    if (!(call->flags & FLAG_BLOCK))
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "the guest passed no block");
    if (args && args->type != INRO_VALUE_ARRAY)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "args: an array is needed");
    if (call->invocation->slot->trapped != INRO__TRAP_NONE)
        return inro__fail(err, INRO_ERR_TRAP, 0, "the guest was stopped");
    if (!inro__enter_has_room())
        return inro__fail(err, INRO_ERR_LIMIT, 0, "services and blocks are nested %u deep",
                          inro__activation_depth());
    inro_status status = write_yield(call, args, err);
    if (status == INRO_OK)
        status = yield(call, result, err);
    call->yielded = status;
    return status;
}
