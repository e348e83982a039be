/* One invocation: a slot, a deadline, a handle table, and what becomes the outcome.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__INVOKE_H
#define INRO__INVOKE_H

#include "outcome/outcome.h"
#include "sandbox/handles.h"
#include "sandbox/sandbox.h"
#include "wasm/slot.h"

/* Where time goes. */
enum inro__clock { INRO__CLOCK_GUEST, INRO__CLOCK_SERVICE, INRO__CLOCKS };

/* An object for one service of this invocation. */
struct inro__override {
    uint32_t service;
    inro_object *object; /* lent by the caller */
};

struct inro__invocation {
    const inro_sandbox *sandbox; /* NULL while only checking a snippet */
    const struct inro__limits *limits;
    struct inro__slot *slot;
    inro_outcome *outcome;
    struct inro__handles handles;
    struct inro__buf message; /* what the guest has sent of the message it is writing */
    struct inro__buf request; /* of the outermost call in flight, copied */
    struct inro__buf reply;   /* the last answer on its way in */
    struct inro__override *overrides;
    size_t overrides_count;
    inro_output_fn output;
    void *output_user;
    uint64_t started_ns;
    uint64_t started_ticks;
    uint64_t charged_ticks; /* until when time has been charged */
    uint64_t ticks[INRO__CLOCKS];
    uint64_t service_calls;
    inro_status broken;     /* the library failed inside a host call; the guest was stopped for it */
    bool message_too_large; /* more than INRO_MESSAGE_BYTES_MAX came */
    bool impure;            /* asked for a service, the time, or entropy: must not be baked */
    struct inro__buf *bake; /* where output goes while an image is made */
    struct inro__arena call_arena;
    unsigned calls_open; /* calls in flight; the first uses call_arena */
};

/* Compiles a snippet and forgets it.
 * Expected: INRO_ERR_SYNTAX, INRO_ERR_MEMORY, INRO_ERR_SYSTEM. */
INRO_MUST_CHECK inro_status inro__invoke_check(const struct inro__limits *limits, const uint8_t *message,
                                               size_t length, inro_error *err);

/* Whether the guest's own language has a top-level constant of this name, which must match [A-Z]\w*.
 * Expected: INRO_ERR_MEMORY, INRO_ERR_SYSTEM, INRO_ERR_LIMIT (nesting). */
INRO_MUST_CHECK inro_status inro__invoke_constant(inro_str name, bool *exists, inro_error *err);

/* Begins: takes a slot that wears `image` and starts its clock and deadline. After INRO_OK, end it. */
INRO_MUST_CHECK inro_status inro__invocation_begin(struct inro__invocation *invocation,
                                                   const struct inro__limits *limits,
                                                   const struct inro__image *image, inro_error *err);

/* Gives the slot back and frees all but the outcome. */
void inro__invocation_end(struct inro__invocation *invocation);

/* Sends a message to one of the guest's entry points, which were given by the guest; afterwards the outcome's
 * message is what it answered, or the slot is trapped. INRO_ERR_MEMORY and others only when the library failed.
 */
INRO_MUST_CHECK inro_status inro__invocation_send(struct inro__invocation *invocation,
                                                  uint64_t (*entry)(struct inro__instance *, uint32_t,
                                                                    uint32_t),
                                                  const void *message, size_t length);

/* Whether the last send left a value: no trap, no panic. */
bool inro__invocation_gave_value(const struct inro__invocation *invocation);

/* Turns what the last send left into the outcome's ending. */
INRO_MUST_CHECK inro_status inro__invocation_conclude(struct inro__invocation *invocation);

/* Charges the time since the last call to `clock`. */
void inro__invocation_charge(struct inro__invocation *invocation, enum inro__clock clock);

/* Puts bytes into the guest's mailbox and names where: false when the guest trapped or has no memory. */
bool inro__invocation_deliver(struct inro__invocation *invocation, const void *bytes, size_t length,
                              uint32_t *address);

/* Moves the message that the guest has just finished into `out`: what it sent before and the last range. False
 * when the range is none, or without memory (then `broken` is set). */
bool inro__invocation_collect(struct inro__invocation *invocation, struct inro__range last,
                              struct inro__buf *out);

/* The functions that the guest may call, with an inro__invocation as user. call.c has the calls. */
extern const struct inro__guest_host inro__invocation_host;
enum inro__trap inro__invocation_call(void *user, struct inro__slot *slot, uint32_t target,
                                      struct inro__range request, uint32_t flags, uint64_t *reply);

/* Adds output to the captures, within their limits. */
void inro__invocation_write(struct inro__invocation *invocation, int stream, const uint8_t *bytes,
                            size_t length);

#endif
