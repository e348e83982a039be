/* Copies a wasm file section by section, with three of them replaced. SPDX-License-Identifier: Apache-2.0 */
#include "wasm_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECTION_MEMORY = 5, SECTION_EXPORT = 7, SECTION_DATA = 11, SECTION_DATA_COUNT = 12 };
enum { HEADER = 8, WASM_PAGE = 65536 };

struct wasm_file wasm_file_read(const char *path) {
    struct wasm_file file = {0};
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return file;
    if (fseek(stream, 0, SEEK_END) == 0) {
        long length = ftell(stream);
        rewind(stream);
        file.bytes = length > HEADER ? malloc((size_t)length) : NULL;
        if (file.bytes && fread(file.bytes, 1, (size_t)length, stream) == (size_t)length)
            file.length = (size_t)length;
    }
    fclose(stream);
    return file;
}

struct view {
    const uint8_t *at;
    const uint8_t *end;
};

static uint64_t read_number(struct view *view) {
    uint64_t number = 0;
    for (unsigned shift = 0; view->at < view->end && shift < 35; shift += 7) {
        uint8_t byte = *view->at++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return number;
}

static void put(struct wasm_file *out, const void *bytes, size_t length) {
    memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
}

static void put_number(struct wasm_file *out, uint64_t number) {
    do {
        uint8_t byte = (uint8_t)(number & 0x7f) | (number > 0x7f ? 0x80 : 0);
        put(out, &byte, 1);
        number >>= 7;
    } while (number != 0);
}

/* The section's old entries and two more: table 0 and global 0. */
static void put_exports(struct wasm_file *out, struct view body) {
    static const uint8_t more[] = "\5table\1\0\5stack\3\0";
    put_number(out, read_number(&body) + 2);
    put(out, body.at, (size_t)(body.end - body.at));
    put(out, more, sizeof more - 1);
}

/* One memory with the same maximum, as large as the snapshot. */
static void put_memory(struct wasm_file *out, struct view body, size_t size) {
    static const uint8_t one_with_maximum[] = {1, 1};
    body.at += sizeof one_with_maximum;
    (void)read_number(&body);
    uint64_t maximum = read_number(&body);
    put(out, one_with_maximum, sizeof one_with_maximum);
    put_number(out, size / WASM_PAGE);
    put_number(out, maximum);
}

/* One active segment at address 0. */
static void put_data(struct wasm_file *out, const uint8_t *memory, size_t size) {
    static const uint8_t head[] = {1, 0, 0x41, 0, 0x0b};
    put(out, head, sizeof head);
    put_number(out, size);
    put(out, memory, size);
}

static void put_body(struct wasm_file *out, uint8_t id, struct view body, const uint8_t *memory, size_t size) {
    if (id == SECTION_EXPORT)
        put_exports(out, body);
    else if (id == SECTION_MEMORY && memory)
        put_memory(out, body, size);
    else if (id == SECTION_DATA && memory)
        put_data(out, memory, size);
    else if (id == SECTION_DATA_COUNT && memory)
        put_number(out, 1);
    else
        put(out, body.at, (size_t)(body.end - body.at));
}

/* The custom sections hold names, which a runtime does not need. */
static bool put_sections(struct wasm_file *out, struct view file, const uint8_t *memory, size_t size) {
    struct wasm_file body_out = {malloc((size_t)(file.end - file.at) + size + 64), 0};
    bool good = body_out.bytes != NULL;
    while (good && file.at < file.end) {
        uint8_t id = *file.at++;
        uint64_t length = read_number(&file);
        good = length <= (uint64_t)(file.end - file.at);
        if (!good)
            break;
        struct view body = {file.at, file.at + length};
        file.at = body.end;
        if (id == 0)
            continue;
        body_out.length = 0;
        put_body(&body_out, id, body, memory, size);
        put(out, &id, 1);
        put_number(out, body_out.length);
        put(out, body_out.bytes, body_out.length);
    }
    free(body_out.bytes);
    return good;
}

struct wasm_file wasm_file_adapt(const struct wasm_file *guest, const uint8_t *memory, size_t memory_length) {
    struct wasm_file out = {malloc(guest->length + memory_length + 256), 0};
    if (!out.bytes || guest->length < HEADER)
        return (struct wasm_file){0};
    put(&out, guest->bytes, HEADER);
    if (put_sections(&out, (struct view){guest->bytes + HEADER, guest->bytes + guest->length}, memory,
                     memory_length))
        return out;
    free(out.bytes);
    return (struct wasm_file){0};
}
