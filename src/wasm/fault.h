/* Faults: SIGSEGV of guest code becomes a first write to a page, a trap, or goes to whom it belongs.
 *
 * The handler acts only when this thread is in guest state and the address belongs to its slot. Everything
 * else (a null pointer in a service, another library's guard page, a signal sent by somebody) goes to the
 * handler that was there before, with the mask and flags it had asked for.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__FAULT_H
#define INRO__FAULT_H

#include "wasm/slot.h"

/* Installs the handler (once for the process) and an alternate signal stack (once for the thread; a large
 * enough one that is there already is used).
 * Expected: INRO_ERR_UNSUPPORTED, INRO_ERR_SYSTEM. */
INRO_MUST_CHECK inro_status inro__fault_prepare(inro_error *err);

/* mprotect to read and write; false when the system refuses. Its own name so that tests can make it fail. */
bool inro__fault_open(void *address, size_t length);

/* Sends the signal that stops the slot's thread; the slot's state must be KILL. */
void inro__fault_kill(struct inro__slot *slot);

#endif
