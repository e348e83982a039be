/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_WASM_FILE_H
#define BENCH_WASM_FILE_H

#include <stddef.h>
#include <stdint.h>

struct wasm_file {
    uint8_t *bytes;
    size_t length;
};

/* Reads a file; `bytes` is NULL when that fails. */
struct wasm_file wasm_file_read(const char *path);

/* A copy of a guest that also exports its table ("table") and its stack pointer ("stack"), which a host needs
 * for the imports "try" and "throw". With `memory`, the copy's memory begins as these bytes: a snapshot of a
 * booted guest. The code is the same. `bytes` is NULL when the file is not as expected. */
struct wasm_file wasm_file_adapt(const struct wasm_file *guest, const uint8_t *memory, size_t memory_length);

#endif
