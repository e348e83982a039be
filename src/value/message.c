/* SPDX-License-Identifier: Apache-2.0 */
#include "value/message.h"

static bool grow_message(struct inro__mp_writer *writer, size_t need) {
    struct inro__buf *buf = writer->user;
    buf->length = (size_t)(writer->at - writer->start);
    if (inro__buf_reserve(buf, need) != INRO_OK)
        return false;
    writer->start = buf->data;
    writer->at = buf->data + buf->length;
    writer->end = buf->data + buf->capacity;
    return true;
}

struct inro__mp_writer inro__message_begin(struct inro__buf *buf) {
    buf->length = 0;
    return (struct inro__mp_writer){.start = buf->data,
                                    .at = buf->data,
                                    .end = buf->data ? buf->data + buf->capacity : NULL,
                                    .grow = grow_message,
                                    .user = buf};
}

bool inro__message_end(struct inro__mp_writer *writer) {
    struct inro__buf *buf = writer->user;
    buf->length = (size_t)(writer->at - writer->start);
    return !writer->failed;
}
