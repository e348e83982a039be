/* The buffer grows by half more, so that appending stays linear and little is wasted.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/alloc.h"

#include <string.h>

enum { FIRST_CAPACITY = 64 };

void inro__buf_init(struct inro__buf *buf, size_t max) {
    *buf = (struct inro__buf){.max = max};
}

void inro__buf_done(struct inro__buf *buf) {
    inro__free(buf->data, buf->capacity);
    inro__buf_init(buf, buf->max);
}

/* At least `need`, at most `max`; need <= max. */
static size_t next_capacity(const struct inro__buf *buf, size_t need) {
    size_t wanted = buf->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : buf->capacity;
    wanted = wanted > SIZE_MAX - wanted / 2 ? SIZE_MAX : wanted + wanted / 2;
    if (wanted > buf->max)
        wanted = buf->max;
    return wanted < need ? need : wanted;
}

inro_status inro__buf_reserve(struct inro__buf *buf, size_t more) {
    if (more <= buf->capacity - buf->length)
        return INRO_OK;
    if (more > buf->max - buf->length)
        return INRO_ERR_LIMIT;
    size_t capacity = next_capacity(buf, buf->length + more);
    uint8_t *data = inro__resize(buf->data, buf->capacity, capacity);
    buf->starved = !data;
    if (!data)
        return INRO_ERR_MEMORY;
    buf->data = data;
    buf->capacity = capacity;
    return INRO_OK;
}

inro_status inro__buf_append(struct inro__buf *buf, const void *bytes, size_t length) {
    inro_status status = inro__buf_reserve(buf, length);
    if (status == INRO_OK && length > 0) {
        memcpy(buf->data + buf->length, bytes, length);
        buf->length += length;
    }
    return status;
}

/* Texts that are given away carry their size in front, because the allocator's hook must be told it. The
 * prefix is as large as the strictest alignment that the hook's block has. */
enum { TEXT_PREFIX = 16 };

char *inro__buf_take_text(struct inro__buf *buf) {
    size_t size = TEXT_PREFIX + buf->length + 1;
    char *block = size > buf->length ? inro__alloc(size) : NULL;
    if (block) {
        memcpy(block, &size, sizeof size);
        if (buf->length > 0)
            memcpy(block + TEXT_PREFIX, buf->data, buf->length);
        block[size - 1] = '\0';
    }
    inro__buf_done(buf);
    return block ? block + TEXT_PREFIX : NULL;
}

void inro_text_free(char *text) {
    if (!text)
        return;
    size_t size;
    memcpy(&size, text - TEXT_PREFIX, sizeof size);
    inro__free(text - TEXT_PREFIX, size);
}
