/* The pool: idle slots, kept dressed for the image they last ran, and the list of all slots.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__POOL_H
#define INRO__POOL_H

#include "wasm/slot.h"

/* Slots there may be at once, in use and idle; more is INRO_ERR_LIMIT. 8 GiB of address space each. */
#define INRO__SLOTS_MAX 1024u

/* Takes a slot that wears `image`, for this thread alone. Prefers one that wears it already.
 * Expected: INRO_ERR_LIMIT, INRO_ERR_SYSTEM, INRO_ERR_MEMORY. */
INRO_MUST_CHECK inro_status inro__pool_take(const struct inro__image *image, struct inro__slot **out,
                                            inro_error *err);

/* Resets a slot and gives it back. One that cannot be reset is unmapped. */
void inro__pool_give(struct inro__slot *slot);

/* Makes every idle slot forget an image that is about to be freed. */
void inro__pool_forget(const struct inro__image *image);

/* Unmaps the idle slots. */
void inro__pool_trim(void);

/* Calls `each` for every slot there is; used by the watchdog. No slot appears or goes meanwhile. */
void inro__pool_each(void (*each)(struct inro__slot *slot, void *user), void *user);

#endif
