/* Deadlines: one thread that sleeps until the next one is due, and stops the guest that has passed it.
 *
 * Starting an invocation costs a comparison: only a deadline earlier than all the watchdog knows wakes it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__WATCH_H
#define INRO__WATCH_H

#include "wasm/slot.h"

/* The monotonic clock. */
uint64_t inro__now_ns(void);

/* A counter that is cheaper to read than the clock; of no known unit, but even (invariant TSC). */
static inline uint64_t inro__ticks(void) {
    return __builtin_ia32_rdtsc();
}

/* Sets the deadline of a slot that is about to be entered by this thread (UINT64_MAX: none).
 * Expected: INRO_ERR_SYSTEM (no thread for the watchdog). */
INRO_MUST_CHECK inro_status inro__watch_start(struct inro__slot *slot, uint64_t deadline_ns, inro_error *err);

/* Ends it. */
void inro__watch_stop(struct inro__slot *slot);

#endif
