/* Comparing, sorting and dropping: see order.h for why this is a sort.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "value/order.h"

#include <string.h>

static int compare_numbers(uint64_t left, uint64_t right) {
    return (left > right) - (left < right);
}

static int compare_bytes(const struct inro_value *left, const struct inro_value *right) {
    return left->length == 0 ? 0 : memcmp(left->as.bytes, right->as.bytes, left->length);
}

/* By bits: -0.0 is not 0.0, and there is only one NaN. */
static int compare_reals(double left, double right) {
    uint64_t left_bits, right_bits;
    memcpy(&left_bits, &left, sizeof left_bits);
    memcpy(&right_bits, &right, sizeof right_bits);
    return compare_numbers(left_bits, right_bits);
}

static int compare_items(const struct inro_value *left, const struct inro_value *right) {
    for (uint32_t i = 0; i < left->length; i++) {
        int order = inro__value_compare(&left->as.items[i], &right->as.items[i]);
        if (order != 0)
            return order;
    }
    return 0;
}

static const struct inro_value *pair_at(const struct inro_value *map, uint32_t position) {
    size_t nodes = (size_t)map->length * 2;
    if (map->flags & INRO__VALUE_ORDERED)
        position = ((const uint32_t *)(const void *)(map->as.items + nodes))[position];
    return &map->as.items[(size_t)position * 2];
}

static int compare_pairs(const struct inro_value *left, const struct inro_value *right) {
    for (uint32_t i = 0; i < left->length; i++) {
        const struct inro_value *left_pair = pair_at(left, i), *right_pair = pair_at(right, i);
        int order = inro__value_compare(&left_pair[0], &right_pair[0]);
        if (order == 0)
            order = inro__value_compare(&left_pair[1], &right_pair[1]);
        if (order != 0)
            return order;
    }
    return 0;
}

int inro__value_compare(const struct inro_value *left, const struct inro_value *right) {
    if (left->type != right->type)
        return compare_numbers(left->type, right->type);
    if (left->length != right->length)
        return compare_numbers(left->length, right->length);
    switch ((inro_value_type)left->type) {
    case INRO_VALUE_NIL:
        return 0;
    case INRO_VALUE_BOOL:
        return left->as.flag - right->as.flag;
    case INRO_VALUE_INT:
        return compare_numbers((uint64_t)left->as.number, (uint64_t)right->as.number);
    case INRO_VALUE_FLOAT:
        return compare_reals(left->as.real, right->as.real);
    case INRO_VALUE_TEXT:
    case INRO_VALUE_BYTES:
    case INRO_VALUE_SYMBOL:
        return compare_bytes(left, right);
    case INRO_VALUE_ARRAY:
        return compare_items(left, right);
    case INRO_VALUE_MAP:
        return compare_pairs(left, right);
    case INRO_VALUE_OBJECT:
        return compare_numbers((uintptr_t)left->as.object, (uintptr_t)right->as.object);
    }
    return 0;
}

size_t inro__order_block_size(uint32_t pairs) {
    return (size_t)pairs * (2 * sizeof(struct inro_value) + 2 * sizeof(uint32_t));
}

static bool is_before(const struct inro_value *pairs, uint32_t left, uint32_t right) {
    return inro__value_compare(&pairs[(size_t)left * 2], &pairs[(size_t)right * 2]) < 0;
}

/* Of equal keys the left one goes first, which is what keeps them in the order of their numbers. */
static void merge(const struct inro_value *pairs, const uint32_t *left, const uint32_t *right,
                  const uint32_t *end, uint32_t *to) {
    const uint32_t *middle = right;
    while (left < middle && right < end)
        *to++ = is_before(pairs, *right, *left) ? *right++ : *left++;
    while (left < middle)
        *to++ = *left++;
    while (right < end)
        *to++ = *right++;
}

/* Merges runs of `width` from `from` into runs of twice that in `to`. */
static void merge_runs(const struct inro_value *pairs, uint32_t count, size_t width, const uint32_t *from,
                       uint32_t *to) {
    for (size_t start = 0; start < count; start += 2 * width) {
        size_t middle = start + width < count ? start + width : count;
        size_t end = middle + width < count ? middle + width : count;
        merge(pairs, from + start, from + middle, from + end, to + start);
    }
}

void inro__order_sort(const struct inro_value *pairs, uint32_t count, uint32_t *order, uint32_t *scratch) {
    uint32_t *from = order, *to = scratch;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t width = 1; width < count; width *= 2) {
        merge_runs(pairs, count, width, from, to);
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order)
        memcpy(order, from, count * sizeof *order);
}

bool inro__order_repeats_small(const struct inro_value *pairs, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (inro__value_compare(&pairs[2 * (size_t)i], &pairs[2 * (size_t)j]) == 0)
                return true;
    return false;
}

/* No value has this type; it marks the key of a pair that goes away. */
enum { DROPPED = 0xff };

/* Gives the first pair of each run of equal keys the value of the last and marks the others. */
static bool mark_repeats(struct inro_value *pairs, uint32_t count, const uint32_t *order) {
    bool marked = false;
    struct inro_value *first = &pairs[(size_t)order[0] * 2];
    for (uint32_t i = 1; i < count; i++) {
        struct inro_value *next = &pairs[(size_t)order[i] * 2];
        if (inro__value_compare(first, next) != 0) {
            first = next;
            continue;
        }
        first[1] = next[1];
        next[0].type = DROPPED;
        marked = true;
    }
    return marked;
}

static void drop_marked(struct inro_value *map) {
    struct inro_value *items = map->as.items;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < map->length; i++) {
        if (items[(size_t)i * 2].type == DROPPED)
            continue;
        items[(size_t)kept * 2] = items[(size_t)i * 2];
        items[(size_t)kept * 2 + 1] = items[(size_t)i * 2 + 1];
        kept++;
    }
    map->length = kept;
}

/* The second round only puts the numbers right that dropping has shifted. */
void inro__order_settle(struct inro_value *map) {
    if (map->length == 0)
        return;
    for (;;) {
        uint32_t *order = (uint32_t *)(void *)(map->as.items + (size_t)map->length * 2);
        inro__order_sort(map->as.items, map->length, order, order + map->length);
        if (!mark_repeats(map->as.items, map->length, order))
            break;
        drop_marked(map);
    }
    map->flags |= INRO__VALUE_ORDERED;
}
