/* inro: run code that nobody vouches for, in the smallest box that holds it.
 *
 * Threads, said once: a function that takes a `const` object may run concurrently with others that do; one
 * that takes a mutable object may not, except where it says so (an inro_sandbox says so for all of its
 * functions but inro_sandbox_free). The library starts at most one thread of its own, which interrupts guests
 * whose deadline has passed, and handles SIGSEGV for addresses of its guests only; every other SIGSEGV goes
 * to the handler that was there before. SIGSEGV must stay unblocked, and the thread's alternate signal stack in
 * place, in threads that enter sandboxes. A process may fork at any time.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO_H
#define INRO_H

#include <inro/base.h>
#include <inro/outcome.h>
#include <inro/sandbox.h>
#include <inro/service.h>
#include <inro/value.h>

#endif
