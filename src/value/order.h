/* A total order of values, and with it maps whose keys are unique.
 *
 * A guest may send a map of a million keys, or keys that are maps of maps. Comparing each key with each would
 * let it burn the host's time; hashing would need a secret to be safe from made-up collisions. Sorting has no
 * bad case.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__ORDER_H
#define INRO__ORDER_H

#include "value/value.h"

/* Below, at or above 0 as `left` sorts before, with or behind `right`; 0 means alike as inro_value_equals has
 * it, as far as all maps in both are INRO__VALUE_ORDERED. Maps that are not are compared pair by pair. */
int inro__value_compare(const struct inro_value *left, const struct inro_value *right);

/* The bytes that a map's block must have for inro__order_settle. */
size_t inro__order_block_size(uint32_t pairs);

/* Sorts `order`, the numbers 0 .. count-1, by the keys of `pairs`, equal keys by number. `scratch` holds
 * `count` numbers, too. */
void inro__order_sort(const struct inro_value *pairs, uint32_t count, uint32_t *order, uint32_t *scratch);

/* Whether two of the pairs have equal keys, for a few pairs only: compares each with each. */
bool inro__order_repeats_small(const struct inro_value *pairs, uint32_t count);
enum { INRO__ORDER_SMALL = 8 };

/* Drops repeated keys of `map`, whose block has inro__order_block_size, and makes it INRO__VALUE_ORDERED. */
void inro__order_settle(struct inro_value *map);

#endif
