/* What the guest imports, doing what inro's imports do, as directly as the C API allows: "try" calls the
 * function from the table, "throw" is a trap that the fitting "try" catches. SPDX-License-Identifier:
 * Apache-2.0 */
#include "wasmtime_guest.h"

#include <stdlib.h>
#include <string.h>

enum { STREAM_MESSAGE = 0, STREAM_STDOUT = 1, STREAM_STDERR = 2, STREAM_RESTART = 3 };
#define OUTPUT_MAX ((size_t)1 << 20)

static const struct wasmtime_api *api_of(void) {
    return wasmtime_functions();
}

static struct wasmtime_guest *guest_of(wasmtime_caller_t *caller) {
    return api_of()->wasmtime_context_get_data(api_of()->wasmtime_caller_context(caller));
}

void wasmtime_append(struct bytes *bytes, const void *more, size_t length) {
    if (bytes->length + length > bytes->capacity) {
        size_t capacity = 2 * (bytes->length + length) + 4096;
        uint8_t *data = realloc(bytes->data, capacity);
        if (!data)
            abort();
        bytes->data = data;
        bytes->capacity = capacity;
    }
    memcpy(bytes->data + bytes->length, more, length);
    bytes->length += length;
}

const uint8_t *wasmtime_lend(const struct wasmtime_guest *guest, uint32_t address, uint32_t length) {
    size_t size = api_of()->wasmtime_memory_data_size(guest->context, &guest->memory);
    if (length > size || address > size - length)
        return NULL;
    return api_of()->wasmtime_memory_data(guest->context, &guest->memory) + address;
}

static wasm_trap_t *trap(const char *why) {
    return api_of()->wasmtime_trap_new(why, strlen(why));
}

static const wasmtime_func_t *function_at(struct wasmtime_guest *guest, uint32_t index) {
    wasmtime_val_t value;
    if (index >= TABLE_MAX)
        return NULL;
    if (guest->cached[index].store_id == 0 &&
        api_of()->wasmtime_table_get(guest->context, &guest->table, index, &value))
        guest->cached[index] = value.of.func;
    return &guest->cached[index];
}

/* try(body, argument, jump): 0, or 1 when a throw to `jump` ended it. */
static wasm_trap_t *import_try(void *user, wasmtime_caller_t *caller, wasmtime_val_raw_t *cells, size_t count) {
    struct wasmtime_guest *guest = guest_of(caller);
    wasmtime_context_t *context = api_of()->wasmtime_caller_context(caller);
    uint32_t jump = cells[2].u32;
    wasmtime_val_raw_t argument = {.u64 = cells[1].u32};
    wasmtime_val_t stack;
    wasm_trap_t *raised = NULL;
    (void)user, (void)count;
    const wasmtime_func_t *body = function_at(guest, cells[0].u32);
    if (!body || body->store_id == 0)
        return trap("no such function");
    api_of()->wasmtime_global_get(context, &guest->stack, &stack);
    wasmtime_error_t *error = api_of()->wasmtime_func_call_unchecked(context, body, &argument, 1, &raised);
    cells[0].u64 = 0;
    if (!error && !raised)
        return NULL;
    if (error)
        api_of()->wasmtime_error_delete(error);
    if (guest->thrown != jump)
        return raised ? raised : trap("throw");
    if (raised)
        api_of()->wasm_trap_delete(raised);
    guest->thrown = 0;
    api_of()->wasmtime_global_set(context, &guest->stack, &stack);
    cells[0].u64 = 1;
    return NULL;
}

static wasm_trap_t *import_throw(void *user, wasmtime_caller_t *caller, wasmtime_val_raw_t *cells,
                                 size_t count) {
    (void)user, (void)count;
    guest_of(caller)->thrown = cells[0].u32;
    return trap("throw");
}

static wasm_trap_t *import_write(void *user, wasmtime_caller_t *caller, wasmtime_val_raw_t *cells,
                                 size_t count) {
    struct wasmtime_guest *guest = guest_of(caller);
    const uint8_t *bytes = wasmtime_lend(guest, cells[1].u32, cells[2].u32);
    uint32_t stream = cells[0].u32;
    size_t length = cells[2].u32;
    (void)user, (void)count;
    if (!bytes)
        return trap("write outside of the memory");
    if (stream == STREAM_RESTART)
        guest->message.length = 0;
    else if (stream == STREAM_MESSAGE)
        wasmtime_append(&guest->message, bytes, length);
    else if (length <= OUTPUT_MAX - guest->output.length)
        wasmtime_append(&guest->output, bytes, length);
    return NULL;
}

/* Every call is answered with nil; the request is neither copied nor decoded. */
static wasm_trap_t *import_call(void *user, wasmtime_caller_t *caller, wasmtime_val_raw_t *cells,
                                size_t count) {
    static const uint8_t nil_reply[] = {0, 0xc0};
    struct wasmtime_guest *guest = guest_of(caller);
    (void)user, (void)count;
    uint8_t *memory = api_of()->wasmtime_memory_data(guest->context, &guest->memory);
    memcpy(memory + guest->mailbox, nil_reply, sizeof nil_reply);
    cells[0].u64 = (uint64_t)guest->mailbox << 32 | sizeof nil_reply;
    return NULL;
}

static wasm_trap_t *import_clock(void *user, wasmtime_caller_t *caller, wasmtime_val_raw_t *cells,
                                 size_t count) {
    (void)user, (void)caller, (void)count;
    cells[0].u64 = 0;
    return NULL;
}

static wasm_trap_t *import_entropy(void *user, wasmtime_caller_t *caller, wasmtime_val_raw_t *cells,
                                   size_t count) {
    (void)user, (void)caller, (void)cells, (void)count;
    return trap("no entropy");
}

const struct wasmtime_import wasmtime_imports[WASMTIME_IMPORTS] = {
    {"try", import_try, "iii", "i"},    {"throw", import_throw, "i", ""}, {"write", import_write, "iii", ""},
    {"call", import_call, "iiii", "l"}, {"clock", import_clock, "", "l"}, {"entropy", import_entropy, "ii", ""},
};
