/* A growing buffer with a maximum from birth.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__BUF_H
#define INRO__BUF_H

#include <inro/base.h>

struct inro__buf {
    uint8_t *data;
    size_t length;
    size_t capacity;
    size_t max;   /* never holds more bytes than this */
    bool starved; /* it could not grow once for lack of memory: for those who only hear that it could not */
};

/* An empty buffer that owns nothing yet. */
void inro__buf_init(struct inro__buf *buf, size_t max);

/* Frees what it holds; the buffer is empty and usable again. */
void inro__buf_done(struct inro__buf *buf);

/* Makes room for `more` bytes after `length`. INRO_ERR_LIMIT past `max`, INRO_ERR_MEMORY without memory; the
 * content is kept in both cases. */
INRO_MUST_CHECK inro_status inro__buf_reserve(struct inro__buf *buf, size_t more);

/* Appends `length` bytes; all or nothing. Statuses as inro__buf_reserve. */
INRO_MUST_CHECK inro_status inro__buf_append(struct inro__buf *buf, const void *bytes, size_t length);

/* Gives the bytes away as one NUL-terminated block of exactly length + 1 bytes for inro_text_free (the size
 * is stored in front of the block); the buffer is empty afterwards. NULL when there is no memory. */
char *inro__buf_take_text(struct inro__buf *buf);

#endif
