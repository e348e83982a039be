/* From a message to a tree. The message was written by a guest: all of it may be a lie.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "value/order.h"

struct decoder {
    struct inro__mp_reader *reader;
    struct inro__arena *arena;
    const struct inro__handle_map *handles;
    size_t owed; /* items that open containers still wait for; each needs a byte of the message */
};

/* Where a node is: how many containers are around it, and whether one of them is, through a key, in a map. */
struct node_place {
    unsigned level;
    bool in_key;
};

static enum inro__decode_status decode_node(struct decoder *decoder, struct node_place place,
                                            struct inro_value *out);

static enum inro__decode_status decode_bytes(inro_value_type type, const struct inro__mp_token *token,
                                             struct inro_value *out) {
    if (type != INRO_VALUE_BYTES && !inro__utf8_is_valid(token->as.bytes, token->length))
        return INRO__DECODE_BAD;
    out->type = (uint8_t)type;
    out->length = token->length;
    out->as.bytes = token->as.bytes;
    return INRO__DECODE_OK;
}

static enum inro__decode_status decode_handle(const struct decoder *decoder, uint32_t id,
                                              struct inro_value *out) {
    const struct inro__handle_map *handles = decoder->handles;
    inro_object *object = handles ? handles->find(handles->user, id) : NULL;
    if (!object)
        return INRO__DECODE_HANDLE;
    out->type = INRO_VALUE_OBJECT;
    out->as.object = object;
    return INRO__DECODE_OK;
}

/* Containers inside containers could each promise all bytes that are left, and make the host allocate for
 * each; what is promised twice is not there. */
static bool is_payable(const struct decoder *decoder, size_t nodes) {
    size_t left = (size_t)(decoder->reader->end - decoder->reader->at);
    return decoder->owed <= left && nodes <= left - decoder->owed;
}

/* The depth of a container of these nodes. */
static uint8_t depth_above(const struct inro_value *nodes, size_t count) {
    unsigned deepest = 0;
    for (size_t i = 0; i < count; i++)
        deepest = nodes[i].depth > deepest ? nodes[i].depth : deepest;
    return (uint8_t)(deepest + 1);
}

/* Few keys are compared each with each, unless the map must end up ordered because it is part of a key. */
static void settle_keys(struct inro_value *map, struct node_place place) {
    bool is_small = map->length <= INRO__ORDER_SMALL;
    if (place.in_key || !is_small || inro__order_repeats_small(map->as.items, map->length))
        inro__order_settle(map);
}

static enum inro__decode_status decode_nodes(struct decoder *decoder, struct node_place place, size_t nodes,
                                             size_t block_size, struct inro_value *out) {
    if (place.level >= INRO_VALUE_DEPTH_MAX)
        return INRO__DECODE_DEPTH;
    if (!is_payable(decoder, nodes))
        return INRO__DECODE_BAD;
    out->as.items = inro__arena_alloc(decoder->arena, block_size);
    if (!out->as.items)
        return inro__arena_fits(decoder->arena, block_size) ? INRO__DECODE_MEMORY : INRO__DECODE_SIZE;
    decoder->owed += nodes;
    for (size_t i = 0; i < nodes; i++) {
        bool is_key = out->type == INRO_VALUE_MAP && i % 2 == 0;
        struct node_place below = {place.level + 1, place.in_key || is_key};
        struct inro_value *node = &out->as.items[i];
        int64_t number;
        decoder->owed--;
        if (inro__mp_read_small(decoder->reader, &number)) {
            *node = (struct inro_value){.type = INRO_VALUE_INT, .as.number = number};
            continue;
        }
        enum inro__decode_status status = decode_node(decoder, below, node);
        if (status != INRO__DECODE_OK)
            return status;
    }
    return INRO__DECODE_OK;
}

static enum inro__decode_status decode_array(struct decoder *decoder, struct node_place place, uint32_t count,
                                             struct inro_value *out) {
    out->type = INRO_VALUE_ARRAY;
    out->length = count;
    if (count == 0)
        return INRO__DECODE_OK;
    enum inro__decode_status status =
        decode_nodes(decoder, place, count, count * sizeof(struct inro_value), out);
    if (status == INRO__DECODE_OK)
        out->depth = depth_above(out->as.items, count);
    return status;
}

static enum inro__decode_status decode_map(struct decoder *decoder, struct node_place place, uint32_t pairs,
                                           struct inro_value *out) {
    out->type = INRO_VALUE_MAP;
    out->length = pairs;
    if (pairs == 0)
        return INRO__DECODE_OK;
    enum inro__decode_status status =
        decode_nodes(decoder, place, (size_t)pairs * 2, inro__order_block_size(pairs), out);
    if (status != INRO__DECODE_OK)
        return status;
    settle_keys(out, place);
    out->depth = depth_above(out->as.items, (size_t)out->length * 2);
    return INRO__DECODE_OK;
}

static enum inro__decode_status decode_node(struct decoder *decoder, struct node_place place,
                                            struct inro_value *out) {
    struct inro__mp_token token = inro__mp_read(decoder->reader);
    *out = (struct inro_value){.type = INRO_VALUE_NIL};
    switch (token.type) {
    case INRO__MP_NIL:
        return INRO__DECODE_OK;
    case INRO__MP_BOOL:
        out->type = INRO_VALUE_BOOL;
        out->as.flag = token.as.flag;
        return INRO__DECODE_OK;
    case INRO__MP_INT:
        out->type = INRO_VALUE_INT;
        out->as.number = token.as.number;
        return INRO__DECODE_OK;
    case INRO__MP_FLOAT:
        out->type = INRO_VALUE_FLOAT;
        out->as.real = token.as.real;
        return INRO__DECODE_OK;
    case INRO__MP_STR:
        return decode_bytes(INRO_VALUE_TEXT, &token, out);
    case INRO__MP_BIN:
        return decode_bytes(INRO_VALUE_BYTES, &token, out);
    case INRO__MP_SYMBOL:
        return decode_bytes(INRO_VALUE_SYMBOL, &token, out);
    case INRO__MP_HANDLE:
        return decode_handle(decoder, token.as.handle, out);
    case INRO__MP_ARRAY:
        return decode_array(decoder, place, token.length, out);
    case INRO__MP_MAP:
        return decode_map(decoder, place, token.length, out);
    case INRO__MP_BAD:
        break;
    }
    return INRO__DECODE_BAD;
}

/* A tree that failed half-way has nodes that were never written, so none of it is shown. */
enum inro__decode_status inro__value_decode_next(struct inro__mp_reader *reader, struct inro__arena *arena,
                                                 const struct inro__handle_map *handles,
                                                 struct inro_value *out) {
    struct decoder decoder = {reader, arena, handles, 0};
    enum inro__decode_status status = decode_node(&decoder, (struct node_place){0, false}, out);
    if (status != INRO__DECODE_OK)
        *out = (struct inro_value){.type = INRO_VALUE_NIL};
    return status;
}

enum inro__decode_status inro__value_decode(struct inro__mp_reader *reader, struct inro__arena *arena,
                                            const struct inro__handle_map *handles, struct inro_value *out) {
    enum inro__decode_status status = inro__value_decode_next(reader, arena, handles, out);
    if (status != INRO__DECODE_OK || reader->at == reader->end)
        return status;
    *out = (struct inro_value){.type = INRO_VALUE_NIL};
    return INRO__DECODE_BAD;
}
