/* Trees in the caller's hands: made, read, copied, freed.
 *
 * Every walk here goes down by recursion, never deeper than INRO_VALUE_DEPTH_MAX: pushing is what bounds it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "value/value.h"
#include "base/alloc.h"

#include <inro/service.h>
#include <math.h>
#include <string.h>

inro_value *inro__value_box(struct inro_value node) {
    inro_value *value = inro__alloc(sizeof *value);
    if (value)
        *value = node;
    else
        inro__value_done(&node);
    return value;
}

/* Empty strings own nothing, but their view is "empty", not "not given". */
bool inro__value_init_bytes(struct inro_value *value, inro_value_type type, const void *bytes, size_t length) {
    *value = (struct inro_value){.type = (uint8_t)type, .as.bytes = (const uint8_t *)""};
    if (length == 0)
        return true;
    uint8_t *copy = bytes && length <= UINT32_MAX ? inro__alloc(length) : NULL;
    if (!copy)
        return false;
    memcpy(copy, bytes, length);
    value->length = value->capacity = (uint32_t)length;
    value->as.bytes = copy;
    return true;
}

static inro_value *new_bytes(inro_value_type type, const void *bytes, size_t length) {
    struct inro_value node;
    return inro__value_init_bytes(&node, type, bytes, length) ? inro__value_box(node) : NULL;
}

inro_value *inro_value_new_nil(void) {
    return inro__value_box((struct inro_value){.type = INRO_VALUE_NIL});
}

inro_value *inro_value_new_bool(bool flag) {
    return inro__value_box((struct inro_value){.type = INRO_VALUE_BOOL, .as.flag = flag});
}

inro_value *inro_value_new_int(int64_t number) {
    return inro__value_box((struct inro_value){.type = INRO_VALUE_INT, .as.number = number});
}

inro_value *inro_value_new_float(double number) {
    static const uint64_t nan_bits = 0x7ff8000000000000u;
    if (isnan(number))
        memcpy(&number, &nan_bits, sizeof number);
    return inro__value_box((struct inro_value){.type = INRO_VALUE_FLOAT, .as.real = number});
}

/* Whether the view has as many bytes as it says, and they are UTF-8. */
static bool is_utf8_view(inro_str text) {
    return text.length == 0 || (text.data && inro__utf8_is_valid(text.data, text.length));
}

inro_value *inro_value_new_text(inro_str text) {
    return new_bytes(is_utf8_view(text) ? INRO_VALUE_TEXT : INRO_VALUE_BYTES, text.data, text.length);
}

inro_value *inro_value_new_bytes(inro_bytes bytes) {
    return new_bytes(INRO_VALUE_BYTES, bytes.data, bytes.length);
}

inro_value *inro_value_new_symbol(inro_str name) {
    return is_utf8_view(name) ? new_bytes(INRO_VALUE_SYMBOL, name.data, name.length) : NULL;
}

inro_value *inro_value_new_array(void) {
    return inro__value_box((struct inro_value){.type = INRO_VALUE_ARRAY});
}

inro_value *inro_value_new_map(void) {
    return inro__value_box((struct inro_value){.type = INRO_VALUE_MAP});
}

inro_value *inro_value_new_object(inro_object *object) {
    if (!object)
        return NULL;
    struct inro_value node = {.type = INRO_VALUE_OBJECT, .capacity = 1};
    node.as.object = inro_object_ref(object);
    return inro__value_box(node);
}

size_t inro__value_nodes(const struct inro_value *value) {
    if (value->type == INRO_VALUE_MAP)
        return (size_t)value->length * 2;
    return value->type == INRO_VALUE_ARRAY ? value->length : 0;
}

static bool is_container(const struct inro_value *value) {
    return value->type == INRO_VALUE_ARRAY || value->type == INRO_VALUE_MAP;
}

static void done_container(struct inro_value *value) {
    size_t nodes = inro__value_nodes(value);
    for (size_t i = 0; i < nodes; i++)
        inro__value_done(&value->as.items[i]);
    inro__free(value->as.items, value->capacity * sizeof *value->as.items);
}

/* What a node does not own belongs to an arena, and so does all below it. */
void inro__value_done(struct inro_value *value) {
    if (value->capacity == 0)
        return;
    if (is_container(value))
        done_container(value);
    else if (value->type == INRO_VALUE_OBJECT)
        inro_object_unref(value->as.object);
    else
        inro__free((void *)(uintptr_t)value->as.bytes, value->capacity);
    *value = (struct inro_value){.type = INRO_VALUE_NIL};
}

void inro_value_free(inro_value *value) {
    if (!value)
        return;
    inro__value_done(value);
    inro__free(value, sizeof *value);
}

static bool copy_node(struct inro_value *to, const struct inro_value *from);

/* A copy that fails half-way is as long as what it holds, so that it can be freed as any other. */
static bool copy_container(struct inro_value *to, const struct inro_value *from) {
    size_t nodes = inro__value_nodes(from), done = 0;
    *to = (struct inro_value){.type = from->type, .depth = from->depth};
    if (nodes == 0)
        return true;
    to->as.items = nodes <= UINT32_MAX ? inro__alloc(nodes * sizeof *to->as.items) : NULL;
    if (!to->as.items)
        return false;
    to->capacity = (uint32_t)nodes;
    while (done < nodes && copy_node(&to->as.items[done], &from->as.items[done]))
        done++;
    if (done == nodes) {
        to->length = from->length;
        return true;
    }
    while (done > 0)
        inro__value_done(&to->as.items[--done]);
    inro__value_done(to);
    return false;
}

static bool copy_node(struct inro_value *to, const struct inro_value *from) {
    switch ((inro_value_type)from->type) {
    case INRO_VALUE_ARRAY:
    case INRO_VALUE_MAP:
        return copy_container(to, from);
    case INRO_VALUE_TEXT:
    case INRO_VALUE_BYTES:
    case INRO_VALUE_SYMBOL:
        return inro__value_init_bytes(to, (inro_value_type)from->type, from->as.bytes, from->length);
    case INRO_VALUE_OBJECT:
        *to = *from;
        to->capacity = 1;
        inro_object_ref(to->as.object);
        return true;
    case INRO_VALUE_NIL:
    case INRO_VALUE_BOOL:
    case INRO_VALUE_INT:
    case INRO_VALUE_FLOAT:
        *to = *from;
        return true;
    }
    return false;
}

inro_value *inro_value_copy(const inro_value *value) {
    struct inro_value node = {.type = INRO_VALUE_NIL};
    if (value && !copy_node(&node, value))
        return NULL;
    return inro__value_box(node);
}

/* Room for `more` nodes after those that are there. */
static inro_status reserve_nodes(struct inro_value *container, size_t more) {
    size_t need = inro__value_nodes(container) + more;
    if (need <= container->capacity)
        return INRO_OK;
    size_t capacity = need + need / 2 + 2;
    if (capacity > UINT32_MAX || capacity > SIZE_MAX / sizeof *container)
        return INRO_ERR_LIMIT;
    size_t old_size = container->capacity * sizeof *container;
    struct inro_value *items =
        inro__resize(container->capacity ? container->as.items : NULL, old_size, capacity * sizeof *items);
    if (!items)
        return INRO_ERR_MEMORY;
    container->as.items = items;
    container->capacity = (uint32_t)capacity;
    return INRO_OK;
}

inro_status inro__value_push(struct inro_value *container, const struct inro_value *nodes) {
    size_t count = container->type == INRO_VALUE_MAP ? 2 : 1;
    uint8_t below = nodes[0].depth;
    if (count == 2 && nodes[1].depth > below)
        below = nodes[1].depth;
    if (below >= INRO_VALUE_DEPTH_MAX)
        return INRO_ERR_LIMIT;
    inro_status status = reserve_nodes(container, count);
    if (status != INRO_OK)
        return status;
    memcpy(container->as.items + inro__value_nodes(container), nodes, count * sizeof *nodes);
    container->length++;
    if (container->depth <= below)
        container->depth = (uint8_t)(below + 1);
    return INRO_OK;
}

/* A missing part means that its constructor had no memory, unless the container itself is of a wrong type. */
static inro_status check_parts(const inro_value *container, inro_value_type type, bool has_all) {
    if (container && container->type != type)
        return INRO_ERR_TYPE;
    return container && has_all ? INRO_OK : INRO_ERR_MEMORY;
}

inro_status inro_value_array_push(inro_value *array, inro_value *item) {
    inro_status status = check_parts(array, INRO_VALUE_ARRAY, item != NULL);
    if (status == INRO_OK)
        status = inro__value_push(array, item);
    if (status == INRO_OK)
        inro__free(item, sizeof *item);
    else
        inro_value_free(item);
    return status;
}

inro_status inro_value_map_put(inro_value *map, inro_value *key, inro_value *value) {
    inro_status status = check_parts(map, INRO_VALUE_MAP, key && value);
    if (status == INRO_OK)
        status = inro__value_push(map, (struct inro_value[]){*key, *value});
    if (status == INRO_OK) {
        inro__free(key, sizeof *key);
        inro__free(value, sizeof *value);
    } else {
        inro_value_free(key);
        inro_value_free(value);
    }
    return status;
}
