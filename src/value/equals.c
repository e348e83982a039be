/* Alike or not, maps in any order.
 *
 * First both trees are walked side by side, which settles nearly every question. If that fails, both are
 * rebuilt with their maps ordered and walked once more; a map that a caller built with repeated keys counts
 * as what it means, the last of each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "value/order.h"

static bool order_tree(struct inro__arena *arena, struct inro_value *value) {
    size_t nodes = inro__value_nodes(value);
    if (nodes == 0)
        return true;
    bool is_map = value->type == INRO_VALUE_MAP;
    struct inro_value *items = inro__arena_alloc(arena, is_map ? inro__order_block_size(value->length)
                                                               : nodes * sizeof *value->as.items);
    if (!items)
        return false;
    for (size_t i = 0; i < nodes; i++) {
        items[i] = value->as.items[i];
        if (!order_tree(arena, &items[i]))
            return false;
    }
    value->as.items = items;
    value->flags = 0;
    if (is_map)
        inro__order_settle(value);
    return true;
}

static bool equals_slowly(const struct inro_value *left, const struct inro_value *right);

/* The last pair with that key, or NULL. */
static const struct inro_value *last_pair(const struct inro_value *map, const struct inro_value *key) {
    for (size_t i = map->length; i > 0; i--)
        if (equals_slowly(&map->as.items[i * 2 - 2], key))
            return &map->as.items[i * 2 - 2];
    return NULL;
}

/* Whether all that `left` means is also meant by `right`. */
static bool is_within(const struct inro_value *left, const struct inro_value *right) {
    for (size_t i = 0; i < left->length; i++) {
        const struct inro_value *pair = &left->as.items[i * 2];
        if (last_pair(left, pair) != pair)
            continue;
        const struct inro_value *found = last_pair(right, pair);
        if (!found || !equals_slowly(&found[1], &pair[1]))
            return false;
    }
    return true;
}

/* The way that needs no memory, for hosts that have none left: each key is compared with each. */
static bool equals_slowly(const struct inro_value *left, const struct inro_value *right) {
    if (left->type != right->type)
        return false;
    if (left->type == INRO_VALUE_MAP)
        return is_within(left, right) && is_within(right, left);
    if (left->type != INRO_VALUE_ARRAY)
        return inro__value_compare(left, right) == 0;
    if (left->length != right->length)
        return false;
    for (size_t i = 0; i < left->length; i++)
        if (!equals_slowly(&left->as.items[i], &right->as.items[i]))
            return false;
    return true;
}

bool inro_value_equals(const inro_value *left, const inro_value *right) {
    static const struct inro_value nil = {.type = INRO_VALUE_NIL};
    struct inro_value left_root = left ? *left : nil, right_root = right ? *right : nil;
    if (inro__value_compare(&left_root, &right_root) == 0)
        return true;
    if (left_root.type != right_root.type || inro__value_nodes(&left_root) == 0)
        return false;
    struct inro__arena arena;
    inro__arena_init(&arena, SIZE_MAX);
    bool equal = order_tree(&arena, &left_root) && order_tree(&arena, &right_root)
                     ? inro__value_compare(&left_root, &right_root) == 0
                     : equals_slowly(left ? left : &nil, right ? right : &nil);
    inro__arena_done(&arena);
    return equal;
}
