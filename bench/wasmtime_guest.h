/* The guest under wasmtime: an engine, a module, and instances of it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_WASMTIME_GUEST_H
#define BENCH_WASMTIME_GUEST_H

#include "wasmtime_api.h"
#include <inro/base.h>

#define TABLE_MAX 1024u
#define ENTRIES 7u

enum entry { ENTRY_INITIALIZE, ENTRY_BOOT, ENTRY_MAILBOX, ENTRY_SETUP, ENTRY_LOAD, ENTRY_EVAL, ENTRY_RUN };

/* Bytes that the guest has sent: of the message under way, or of its output. */
struct bytes {
    uint8_t *data;
    size_t length;
    size_t capacity;
};

struct wasmtime_guest {
    wasmtime_store_t *store;
    wasmtime_context_t *context;
    wasmtime_instance_t instance;
    wasmtime_func_t entries[ENTRIES];
    wasmtime_item_t memory, table;
    wasmtime_global_t stack;
    wasmtime_func_t cached[TABLE_MAX]; /* the table's functions that "try" has called */
    uint32_t thrown;                   /* the jump that is under way, or 0 */
    uint32_t mailbox;                  /* where small messages go */
    struct bytes message, output;
};

/* A function that the guest imports from the module "inro". */
struct wasmtime_import {
    const char *name;
    wasmtime_callback call;
    const char *parameters; /* i: 32 bits, l: 64 bits */
    const char *results;
};

#define WASMTIME_IMPORTS 6u
extern const struct wasmtime_import wasmtime_imports[WASMTIME_IMPORTS];

/* A compiled module with its imports bound. */
struct wasmtime_image {
    wasmtime_module_t *module;
    wasmtime_instance_pre_t *ready;
};

/* NULL when all is well, else what is wrong. */
const char *wasmtime_engine_prepare(const char *library);
const struct wasmtime_api *wasmtime_functions(void);

/* Appends to bytes that the guest has sent; ends the program when there is no memory. */
void wasmtime_append(struct bytes *bytes, const void *more, size_t length);

/* Guest memory, or NULL when the range is not within it. */
const uint8_t *wasmtime_lend(const struct wasmtime_guest *guest, uint32_t address, uint32_t length);

/* Compiles; false (after complaining) when wasmtime refuses. */
bool wasmtime_image_new(struct wasmtime_image *image, const uint8_t *bytes, size_t length);
void wasmtime_image_done(struct wasmtime_image *image);

/* Makes an instance and finds its exports. The guest is not initialized. */
bool wasmtime_guest_open(struct wasmtime_guest *guest, const struct wasmtime_image *image);
void wasmtime_guest_close(struct wasmtime_guest *guest);

/* Calls an entry point; false (after complaining) when it trapped. */
bool wasmtime_guest_call(struct wasmtime_guest *guest, enum entry entry, wasmtime_val_raw_t *cells,
                         size_t count);

/* Puts a message into the guest, calls an entry point with it, and leaves the answer in guest->message. */
bool wasmtime_guest_send(struct wasmtime_guest *guest, enum entry entry, const void *bytes, size_t length);

#endif
