/* From a tree to a message. The writer remembers its failure, so it is asked once, at the end.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "value/value.h"

struct encoder {
    struct inro__mp_writer *writer;
    const struct inro__handle_map *handles;
    bool lacks_handle;
};

static void encode_node(struct encoder *encoder, const struct inro_value *value);

static void write_object(struct encoder *encoder, inro_object *object) {
    const struct inro__handle_map *handles = encoder->handles;
    uint32_t id = handles ? handles->add(handles->user, object) : 0;
    if (id == 0 || id > INRO__MP_HANDLE_MAX)
        encoder->lacks_handle = true;
    else
        inro__mp_write_handle(encoder->writer, id);
}

/* Stops at the first failure: going on would give out handle ids for a message that is never sent. */
static void write_nodes(struct encoder *encoder, const struct inro_value *value) {
    size_t nodes = inro__value_nodes(value);
    for (size_t i = 0; i < nodes && !encoder->writer->failed && !encoder->lacks_handle; i++)
        encode_node(encoder, &value->as.items[i]);
}

static void encode_node(struct encoder *encoder, const struct inro_value *value) {
    struct inro__mp_writer *writer = encoder->writer;
    switch ((inro_value_type)value->type) {
    case INRO_VALUE_NIL:
        inro__mp_write_nil(writer);
        return;
    case INRO_VALUE_BOOL:
        inro__mp_write_bool(writer, value->as.flag);
        return;
    case INRO_VALUE_INT:
        inro__mp_write_int(writer, value->as.number);
        return;
    case INRO_VALUE_FLOAT:
        inro__mp_write_float(writer, value->as.real);
        return;
    case INRO_VALUE_TEXT:
        inro__mp_write_str(writer, value->as.bytes, value->length);
        return;
    case INRO_VALUE_BYTES:
        inro__mp_write_bin(writer, value->as.bytes, value->length);
        return;
    case INRO_VALUE_SYMBOL:
        inro__mp_write_symbol(writer, value->as.bytes, value->length);
        return;
    case INRO_VALUE_ARRAY:
        inro__mp_write_array(writer, value->length);
        write_nodes(encoder, value);
        return;
    case INRO_VALUE_MAP:
        inro__mp_write_map(writer, value->length);
        write_nodes(encoder, value);
        return;
    case INRO_VALUE_OBJECT:
        write_object(encoder, value->as.object);
        return;
    }
}

enum inro__encode_status inro__value_encode(const struct inro_value *value, struct inro__mp_writer *writer,
                                            const struct inro__handle_map *handles) {
    struct encoder encoder = {writer, handles, false};
    encode_node(&encoder, value);
    if (encoder.lacks_handle)
        return INRO__ENCODE_HANDLES;
    return writer->failed ? INRO__ENCODE_FULL : INRO__ENCODE_OK;
}
