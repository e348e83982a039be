/* In and out of guest code.
 *
 * Theory of operation. A thread enters a slot through inro__enter: an activation is put on its list, the
 * floating-point state and %gs are set, the stack is switched, guest code runs. Guest code leaves in one of
 * three ways: it returns; it traps, which unwinds to the activation and nowhere else; or it calls the host,
 * which runs on the stack where the activation was entered and may enter again (a service yields to the
 * guest's block: same slot, next activation, further down the guest's stack; or evaluates something: another
 * slot). So no jump ever passes a host frame: a trap in an inner activation ends that one, the host code in
 * between returns normally, and then the outer one is ended with the same trap.
 *
 * A guest's own exceptions are try and throw. Each try is a frame on its activation's list; a throw reaches
 * living frames of the same activation only.
 *
 * The slot's state decides who may stop the thread. Only in GUEST may the watchdog change it, to KILL, and
 * send a signal; the thread then does not leave guest state until the signal has stopped it. So host code is
 * never interrupted, and no signal arrives late.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__ENTER_H
#define INRO__ENTER_H

#include "wasm/slot.h"

/* Where to come back to; filled by inro__protect. */
struct inro__frame {
    void *stack_pointer;
};

struct inro__try {
    struct inro__frame frame;
    uint32_t name; /* address of the guest's jmpbuf; only a name */
    uint32_t guest_stack_pointer;
    struct inro__try *outer;
};

struct inro__activation {
    struct inro__frame frame;
    struct inro__slot *slot;
    struct inro__try *tries;
    struct inro__activation *outer_in_slot;
    struct inro__activation *outer_in_thread;
    void *guest_stack; /* where the guest's stack ended when it last called the host */
    uint64_t host_gs;
    uint32_t host_mxcsr;
    uint16_t host_x87;
};

/* One call of an entry point. */
typedef uint64_t (*inro__entry_fn)(struct inro__instance *, uint32_t, uint32_t);

/* Readies this process and thread: fault handler, alternate signal stack. Cheap after the first time.
 * Expected: INRO_ERR_UNSUPPORTED, INRO_ERR_SYSTEM. */
INRO_MUST_CHECK inro_status inro__enter_prepare(inro_error *err);

/* Runs entry(instance, a, b) in the slot. NONE and *result, or the trap that stopped the guest. The slot must
 * be this thread's, and idle or in a host call. */
enum inro__trap inro__enter(struct inro__slot *slot, inro__entry_fn entry, uint32_t a, uint32_t b,
                            uint64_t *result);

/* The innermost activation of this thread, or NULL. Async-signal-safe. */
struct inro__activation *inro__activation_current(void);

/* How many activations this thread has. */
unsigned inro__activation_depth(void);

/* Services that evaluate, whose services evaluate, ...: each level takes a slot, or a part of one's stack. */
#define INRO__ENTER_DEPTH_MAX 64u

/* Whether this thread may enter once more: not too deep, and its own stack not nearly used up. */
bool inro__enter_has_room(void);

/* switch_x86_64.S */
int inro__protect(struct inro__frame *frame, void *stack, void (*call)(void *), void *argument);
_Noreturn void inro__unwind(struct inro__frame *frame, int value);
void inro__call_host(void *stack, void (*call)(void *), void *argument, void **left);

#endif
