/* wasmtime: engine, modules, instances and calls.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"
#include "wasmtime_guest.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_RESIDENT ((size_t)2 << 20)

static struct wasmtime_api api;
static wasm_engine_t *engine;
static wasmtime_linker_t *linker;

const struct wasmtime_api *wasmtime_functions(void) {
    return &api;
}

/* ---- failures ---- */

static bool is_good(wasmtime_error_t *error, wasm_trap_t *trap, const char *what) {
    wasm_byte_vec_t text = {0, NULL};
    if (!error && !trap)
        return true;
    if (error)
        api.wasmtime_error_message(error, &text);
    else
        api.wasm_trap_message(trap, &text);
    complain("wasmtime: %s: %.*s", what, (int)text.size, text.data);
    return false;
}

/* ---- engine ---- */

static wasm_valtype_vec_t types_of(const char *letters) {
    wasm_valtype_t *types[4];
    wasm_valtype_vec_t vector;
    size_t count = strlen(letters);
    for (size_t i = 0; i < count; i++)
        types[i] = api.wasm_valtype_new(letters[i] == 'i' ? WASM_I32 : WASM_I64);
    api.wasm_valtype_vec_new(&vector, count, types);
    return vector;
}

static bool define_imports(void) {
    linker = api.wasmtime_linker_new(engine);
    for (size_t i = 0; i < WASMTIME_IMPORTS; i++) {
        wasm_valtype_vec_t parameters = types_of(wasmtime_imports[i].parameters),
                           results = types_of(wasmtime_imports[i].results);
        wasm_functype_t *type = api.wasm_functype_new(&parameters, &results);
        wasmtime_error_t *error = api.wasmtime_linker_define_func_unchecked(
            linker, "inro", 4, wasmtime_imports[i].name, strlen(wasmtime_imports[i].name), type,
            wasmtime_imports[i].call, NULL, NULL);
        api.wasm_functype_delete(type);
        if (!is_good(error, NULL, wasmtime_imports[i].name))
            return false;
    }
    return true;
}

static bool find_functions(void *library) {
#define WASMTIME_FIND(name, result, parameters)                                                                \
    *(void **)(void *)&api.name = dlsym(library, #name);                                                       \
    if (!api.name)                                                                                             \
        return false;
    WASMTIME_API(WASMTIME_FIND)
#undef WASMTIME_FIND
    return true;
}

/* As its documentation tunes it for many short-lived instances: pooled slots, memory images copied on write,
 * and what was touched kept and cleared instead of unmapped. */
static void tune(wasm_config_t *config) {
    wasmtime_pooling_t *pool = api.wasmtime_pooling_allocation_config_new();
    api.wasmtime_pooling_allocation_config_total_memories_set(pool, 16);
    api.wasmtime_pooling_allocation_config_total_tables_set(pool, 16);
    api.wasmtime_pooling_allocation_config_total_core_instances_set(pool, 16);
    api.wasmtime_pooling_allocation_config_linear_memory_keep_resident_set(pool, KEEP_RESIDENT);
    api.wasmtime_pooling_allocation_config_table_keep_resident_set(pool, KEEP_RESIDENT);
    api.wasmtime_pooling_allocation_strategy_set(config, pool);
    api.wasmtime_pooling_allocation_config_delete(pool);
    api.wasmtime_config_memory_init_cow_set(config, true);
}

const char *wasmtime_engine_prepare(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dlerror();
    if (!find_functions(library))
        return "the library lacks a function";
    wasm_config_t *config = api.wasm_config_new();
    tune(config);
    engine = api.wasm_engine_new_with_config(config);
    return engine && define_imports() ? NULL : "the engine could not be made";
}

/* ---- modules and instances ---- */

bool wasmtime_image_new(struct wasmtime_image *image, const uint8_t *bytes, size_t length) {
    *image = (struct wasmtime_image){0};
    return is_good(api.wasmtime_module_new(engine, bytes, length, &image->module), NULL, "compiling") &&
           is_good(api.wasmtime_linker_instantiate_pre(linker, image->module, &image->ready), NULL, "linking");
}

void wasmtime_image_done(struct wasmtime_image *image) {
    if (image->ready)
        api.wasmtime_instance_pre_delete(image->ready);
    if (image->module)
        api.wasmtime_module_delete(image->module);
}

static bool find_export(struct wasmtime_guest *guest, const char *name, wasmtime_extern_t *found) {
    if (api.wasmtime_instance_export_get(guest->context, &guest->instance, name, strlen(name), found))
        return true;
    complain("wasmtime: the guest has no export %s", name);
    return false;
}

static bool find_exports(struct wasmtime_guest *guest) {
    static const char *const names[ENTRIES] = {"_initialize", "inro_boot", "inro_mailbox", "inro_setup",
                                               "inro_load",   "inro_eval", "inro_run"};
    wasmtime_extern_t found = {0};
    for (size_t i = 0; i < ENTRIES; i++) {
        if (!find_export(guest, names[i], &found))
            return false;
        guest->entries[i] = found.of.func;
    }
    if (!find_export(guest, "stack", &found))
        return false;
    guest->stack = found.of.global;
    if (!find_export(guest, "table", &found))
        return false;
    guest->table = found.of.item;
    if (!find_export(guest, "memory", &found))
        return false;
    guest->memory = found.of.item;
    return true;
}

bool wasmtime_guest_open(struct wasmtime_guest *guest, const struct wasmtime_image *image) {
    wasm_trap_t *raised = NULL;
    guest->store = api.wasmtime_store_new(engine, guest, NULL);
    guest->context = api.wasmtime_store_context(guest->store);
    memset(guest->cached, 0, sizeof guest->cached);
    guest->thrown = 0;
    wasmtime_error_t *error =
        api.wasmtime_instance_pre_instantiate(image->ready, guest->context, &guest->instance, &raised);
    return is_good(error, raised, "instantiating") && find_exports(guest);
}

void wasmtime_guest_close(struct wasmtime_guest *guest) {
    if (guest->store)
        api.wasmtime_store_delete(guest->store);
    guest->store = NULL;
}

bool wasmtime_guest_call(struct wasmtime_guest *guest, enum entry entry, wasmtime_val_raw_t *cells,
                         size_t count) {
    wasm_trap_t *raised = NULL;
    wasmtime_error_t *error =
        api.wasmtime_func_call_unchecked(guest->context, &guest->entries[entry], cells, count, &raised);
    return is_good(error, raised, "calling");
}

static bool place(struct wasmtime_guest *guest, const void *bytes, size_t length, uint32_t *address) {
    wasmtime_val_raw_t cell = {.u64 = length};
    *address = guest->mailbox;
    if (length > 8192) {
        if (!wasmtime_guest_call(guest, ENTRY_MAILBOX, &cell, 1))
            return false;
        *address = cell.u32;
    }
    memcpy(api.wasmtime_memory_data(guest->context, &guest->memory) + *address, bytes, length);
    return true;
}

bool wasmtime_guest_send(struct wasmtime_guest *guest, enum entry entry, const void *bytes, size_t length) {
    uint32_t address;
    guest->message.length = 0;
    guest->output.length = 0;
    if (!place(guest, bytes, length, &address))
        return false;
    wasmtime_val_raw_t cells[2] = {{.u64 = address}, {.u64 = length}};
    if (!wasmtime_guest_call(guest, entry, cells, 2))
        return false;
    const uint8_t *last = wasmtime_lend(guest, (uint32_t)(cells[0].u64 >> 32), (uint32_t)cells[0].u64);
    if (last)
        wasmtime_append(&guest->message, last, (uint32_t)cells[0].u64);
    return last != NULL;
}
