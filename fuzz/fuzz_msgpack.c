/* What decodes must encode, decode again to an equal value, and survive being shown and copied.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "value/value.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition)
        abort();
}

/* Narrowing never makes a message longer, but for float 32, which becomes float 64. */
static void check_round_trip(const struct inro_value *value, size_t size, struct inro__arena *arena) {
    uint8_t *bytes = malloc(2 * size);
    struct inro__mp_writer writer = {.start = bytes, .at = bytes, .end = bytes + 2 * size};
    require(bytes && inro__value_encode(value, &writer, NULL) == INRO__ENCODE_OK);
    struct inro__mp_reader reader = {bytes, writer.at};
    struct inro_value again;
    require(inro__value_decode(&reader, arena, NULL, &again) == INRO__DECODE_OK);
    require(inro_value_equals(value, &again));
    free(bytes);
}

static void check_public(const struct inro_value *value) {
    char *text = NULL;
    require(inro_value_inspect(value, &text, NULL, NULL) == INRO_OK);
    inro_text_free(text);
    if (inro_value_to_json(value, &text, NULL, NULL) == INRO_OK)
        inro_text_free(text);
    inro_value *copy = inro_value_copy(value);
    require(copy && inro_value_equals(copy, value));
    inro_value_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct inro__arena arena;
    struct inro_value value;
    struct inro__mp_reader reader = {data, data + size};
    inro__arena_init(&arena, (size_t)64 * 1024 * 1024);
    if (inro__value_decode(&reader, &arena, NULL, &value) == INRO__DECODE_OK) {
        check_round_trip(&value, size, &arena);
        check_public(&value);
    }
    inro__arena_done(&arena);
    return 0;
}
