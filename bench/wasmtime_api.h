/* The part of wasmtime's C API that the benchmark uses, declared from its published documentation, and the
 * table of its functions as dlsym found them. SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_WASMTIME_API_H
#define BENCH_WASMTIME_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wasm_config wasm_config_t;
typedef struct wasm_engine wasm_engine_t;
typedef struct wasm_functype wasm_functype_t;
typedef struct wasm_trap wasm_trap_t;
typedef struct wasm_valtype wasm_valtype_t;
typedef struct wasmtime_caller wasmtime_caller_t;
typedef struct wasmtime_context wasmtime_context_t;
typedef struct wasmtime_error wasmtime_error_t;
typedef struct wasmtime_instance_pre wasmtime_instance_pre_t;
typedef struct wasmtime_linker wasmtime_linker_t;
typedef struct wasmtime_module wasmtime_module_t;
typedef struct wasmtime_pooling wasmtime_pooling_t;
typedef struct wasmtime_store wasmtime_store_t;

typedef struct wasm_byte_vec {
    size_t size;
    char *data;
} wasm_byte_vec_t;

typedef struct wasm_valtype_vec {
    size_t size;
    wasm_valtype_t **data;
} wasm_valtype_vec_t;

typedef struct wasmtime_func {
    uint64_t store_id;
    void *own;
} wasmtime_func_t;

typedef struct wasmtime_instance {
    uint64_t store_id;
    size_t own;
} wasmtime_instance_t;

/* Memories and tables. */
typedef struct wasmtime_item {
    struct {
        uint64_t store_id;
        uint32_t own;
    } first;
    uint32_t own;
} wasmtime_item_t;

typedef struct wasmtime_global {
    uint64_t store_id;
    uint32_t own1, own2, own3;
} wasmtime_global_t;

typedef struct wasmtime_extern {
    uint8_t kind;
    union {
        wasmtime_func_t func;
        wasmtime_global_t global;
        wasmtime_item_t item;
    } of;
} wasmtime_extern_t;

typedef struct wasmtime_val {
    uint8_t kind;
    union {
        int32_t i32;
        int64_t i64;
        wasmtime_func_t func;
        struct {
            uint64_t words[3];
        } widest;
    } of;
} wasmtime_val_t;

/* What unchecked calls pass: arguments, then results, in the same cells. */
typedef union wasmtime_val_raw {
    int32_t i32;
    int64_t i64;
    uint32_t u32;
    uint64_t u64;
    uint8_t v128[16];
} __attribute__((aligned(16))) wasmtime_val_raw_t;

typedef wasm_trap_t *(*wasmtime_callback)(void *user, wasmtime_caller_t *caller, wasmtime_val_raw_t *cells,
                                          size_t count);

enum { WASM_I32 = 0, WASM_I64 = 1 };

/* name, result, parameters */
#define WASMTIME_API(XX)                                                                                       \
    XX(wasm_config_new, wasm_config_t *, (void))                                                               \
    XX(wasm_engine_new_with_config, wasm_engine_t *, (wasm_config_t *))                                        \
    XX(wasmtime_config_memory_init_cow_set, void, (wasm_config_t *, bool))                                     \
    XX(wasmtime_config_native_unwind_info_set, void, (wasm_config_t *, bool))                                  \
    XX(wasmtime_pooling_allocation_config_new, wasmtime_pooling_t *, (void))                                   \
    XX(wasmtime_pooling_allocation_config_delete, void, (wasmtime_pooling_t *))                                \
    XX(wasmtime_pooling_allocation_config_total_memories_set, void, (wasmtime_pooling_t *, uint32_t))          \
    XX(wasmtime_pooling_allocation_config_total_tables_set, void, (wasmtime_pooling_t *, uint32_t))            \
    XX(wasmtime_pooling_allocation_config_total_core_instances_set, void, (wasmtime_pooling_t *, uint32_t))    \
    XX(wasmtime_pooling_allocation_config_linear_memory_keep_resident_set, void,                               \
       (wasmtime_pooling_t *, size_t))                                                                         \
    XX(wasmtime_pooling_allocation_config_table_keep_resident_set, void, (wasmtime_pooling_t *, size_t))       \
    XX(wasmtime_pooling_allocation_strategy_set, void, (wasm_config_t *, const wasmtime_pooling_t *))          \
    XX(wasmtime_module_new, wasmtime_error_t *,                                                                \
       (wasm_engine_t *, const uint8_t *, size_t, wasmtime_module_t **))                                       \
    XX(wasmtime_module_delete, void, (wasmtime_module_t *))                                                    \
    XX(wasmtime_store_new, wasmtime_store_t *, (wasm_engine_t *, void *, void (*)(void *)))                    \
    XX(wasmtime_store_delete, void, (wasmtime_store_t *))                                                      \
    XX(wasmtime_store_context, wasmtime_context_t *, (wasmtime_store_t *))                                     \
    XX(wasmtime_context_get_data, void *, (const wasmtime_context_t *))                                        \
    XX(wasmtime_caller_context, wasmtime_context_t *, (wasmtime_caller_t *))                                   \
    XX(wasmtime_linker_new, wasmtime_linker_t *, (wasm_engine_t *))                                            \
    XX(wasmtime_linker_define_func_unchecked, wasmtime_error_t *,                                              \
       (wasmtime_linker_t *, const char *, size_t, const char *, size_t, const wasm_functype_t *,              \
        wasmtime_callback, void *, void (*)(void *)))                                                          \
    XX(wasmtime_linker_instantiate_pre, wasmtime_error_t *,                                                    \
       (const wasmtime_linker_t *, const wasmtime_module_t *, wasmtime_instance_pre_t **))                     \
    XX(wasmtime_instance_pre_instantiate, wasmtime_error_t *,                                                  \
       (const wasmtime_instance_pre_t *, wasmtime_context_t *, wasmtime_instance_t *, wasm_trap_t **))         \
    XX(wasmtime_instance_pre_delete, void, (wasmtime_instance_pre_t *))                                        \
    XX(wasmtime_instance_export_get, bool,                                                                     \
       (wasmtime_context_t *, const wasmtime_instance_t *, const char *, size_t, wasmtime_extern_t *))         \
    XX(wasmtime_func_call_unchecked, wasmtime_error_t *,                                                       \
       (wasmtime_context_t *, const wasmtime_func_t *, wasmtime_val_raw_t *, size_t, wasm_trap_t **))          \
    XX(wasmtime_table_get, bool, (wasmtime_context_t *, const wasmtime_item_t *, uint64_t, wasmtime_val_t *))  \
    XX(wasmtime_global_get, void, (wasmtime_context_t *, const wasmtime_global_t *, wasmtime_val_t *))         \
    XX(wasmtime_global_set, wasmtime_error_t *,                                                                \
       (wasmtime_context_t *, const wasmtime_global_t *, const wasmtime_val_t *))                              \
    XX(wasmtime_memory_data, uint8_t *, (const wasmtime_context_t *, const wasmtime_item_t *))                 \
    XX(wasmtime_memory_data_size, size_t, (const wasmtime_context_t *, const wasmtime_item_t *))               \
    XX(wasmtime_trap_new, wasm_trap_t *, (const char *, size_t))                                               \
    XX(wasm_trap_delete, void, (wasm_trap_t *))                                                                \
    XX(wasmtime_error_message, void, (const wasmtime_error_t *, wasm_byte_vec_t *))                            \
    XX(wasmtime_error_delete, void, (wasmtime_error_t *))                                                      \
    XX(wasm_trap_message, void, (const wasm_trap_t *, wasm_byte_vec_t *))                                      \
    XX(wasm_functype_new, wasm_functype_t *, (wasm_valtype_vec_t *, wasm_valtype_vec_t *))                     \
    XX(wasm_functype_delete, void, (wasm_functype_t *))                                                        \
    XX(wasm_valtype_new, wasm_valtype_t *, (uint8_t))                                                          \
    XX(wasm_valtype_vec_new, void, (wasm_valtype_vec_t *, size_t, wasm_valtype_t *const *))

struct wasmtime_api {
#define WASMTIME_FIELD(name, result, parameters) result(*name) parameters;
    WASMTIME_API(WASMTIME_FIELD)
#undef WASMTIME_FIELD
};

#endif
