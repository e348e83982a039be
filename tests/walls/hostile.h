/* The hostile guest (hostile.wat) as a test sees it: its functions, and one slot to run them in.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_HOSTILE_H
#define TESTS_HOSTILE_H

#include "wasm/enter.h"
#include "wasm/slot.h"

extern const struct inro__guest inro__hostile_guest;

/* Every function takes (instance, a, b). */
#define HOSTILE_FUNCTIONS(XX)                                                                                  \
    XX(access)                                                                                                 \
    XX(operate)                                                                                                \
    XX(indirect_body)                                                                                          \
    XX(size)                                                                                                   \
    XX(grow)                                                                                                   \
    XX(grow_again)                                                                                             \
    XX(copy)                                                                                                   \
    XX(fill)                                                                                                   \
    XX(scribble)                                                                                               \
    XX(try)                                                                                                    \
    XX(throw)                                                                                                  \
    XX(throw_again)                                                                                            \
    XX(stack_pointer)                                                                                          \
    XX(write)                                                                                                  \
    XX(write_again)                                                                                            \
    XX(call)                                                                                                   \
    XX(clock)                                                                                                  \
    XX(entropy)                                                                                                \
    XX(call_below)                                                                                             \
    XX(recurse)                                                                                                \
    XX(recurse_try)                                                                                            \
    XX(spin)                                                                                                   \
    XX(spin_memory)                                                                                            \
    XX(spin_copy)                                                                                              \
    XX(spin_write)                                                                                             \
    XX(spin_throw)                                                                                             \
    XX(spin_grow)                                                                                              \
    XX(spin_below)                                                                                             \
    XX(fault_again)                                                                                            \
    XX(boot)                                                                                                   \
    XX(mailbox)                                                                                                \
    XX(answer)                                                                                                 \
    XX(yield)
#define HOSTILE_DECLARE(name) uint64_t inro__hostile_export_##name(struct inro__instance *, uint32_t, uint32_t);
HOSTILE_FUNCTIONS(HOSTILE_DECLARE)
#undef HOSTILE_DECLARE

/* Where the guest's functions look for what does not fit into two words. */
enum {
    HOSTILE_WORD = 1024,
    HOSTILE_OPERANDS = 1032,
    HOSTILE_MAILBOX = 1056,
    HOSTILE_ANSWER = 1064,
    HOSTILE_MODE = 1072
};
/* Of its table, in order. */
enum {
    HOSTILE_NOOP = 1,
    HOSTILE_DEEP,
    HOSTILE_NESTED,
    HOSTILE_STALE,
    HOSTILE_CALL_THROWING,
    HOSTILE_LOWER_STACK,
    HOSTILE_SPIN,
    HOSTILE_ACCESSES, /* the first of 4 runs (offsets) of 23 */
    HOSTILE_LOADS = 14,
    HOSTILE_STORES = 9,
    HOSTILE_DEAD_LOADS = HOSTILE_ACCESSES + 4 * (HOSTILE_LOADS + HOSTILE_STORES),
    HOSTILE_DEAD_LOADS_COUNT = 4,
    HOSTILE_OPERATIONS = HOSTILE_DEAD_LOADS + HOSTILE_DEAD_LOADS_COUNT,
    HOSTILE_OPERATIONS_COUNT = 20,
    HOSTILE_TABLE = HOSTILE_OPERATIONS + HOSTILE_OPERATIONS_COUNT + 3
};
/* Its memory. */
enum { HOSTILE_SIZE = 4 * 65536, HOSTILE_SIZE_MAX = 1024 * 65536, HOSTILE_STACK_POINTER = 65536 };

/* A slot from the pool, ready to enter, with a host that counts and refuses everything (see hostile_host). */
struct inro__slot *hostile_begin(void);

/* Checks that the slot's memory can be brought back, gives it to the pool, and that it is pristine there. */
void hostile_end(struct inro__slot *slot);

/* Enters; answers the trap. `result` may be NULL. */
enum inro__trap hostile_enter(struct inro__slot *slot, inro__entry_fn entry, uint32_t a, uint32_t b,
                              uint64_t *result);

/* begin, enter, end; and once more with a harmless function: the next evaluation is fine. */
enum inro__trap hostile_once(inro__entry_fn entry, uint32_t a, uint32_t b, uint64_t *result);

/* Writes bytes into guest memory, as a host may. */
void hostile_poke(struct inro__slot *slot, uint32_t address, const void *bytes, size_t length);
void hostile_poke_word(struct inro__slot *slot, uint32_t address, uint32_t word);

/* Stops whatever runs in the slot after `microseconds`, through the watchdog. */
void hostile_deadline(struct inro__slot *slot, uint64_t microseconds);

/* How many slots of all are idle; checks that each of them is pristine. */
unsigned hostile_check_pool(void);

#endif
