/* Messages: Ruby values to and from MessagePack.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GUEST_WIRE_H
#define GUEST_WIRE_H

#include "value/msgpack.h"
#include <mruby.h>

#define WIRE_DEPTH_MAX 128
#define WIRE_OUT 2048
#define WIRE_IN 8192

/* A message on its way out: what does not fit the buffer has gone to the host before. */
struct wire_out {
    struct inro__mp_writer writer;
    bool flushed;
};

/* The two mailboxes. Small messages of both directions share one page, since every page that an invocation
 * writes is copied back after it. */
struct messages {
    uint8_t out[WIRE_OUT];
    uint8_t in[WIRE_IN];
};
extern struct messages messages;

/* Begins a message. Only one is under way at a time: values are encoded without calling Ruby code. */
struct wire_out *wire_begin(void);

/* The message that was begun last. */
struct wire_out *wire_current(void);

/* The part of the message that is still here, as address << 32 | length; raises when it could not be sent. */
uint64_t wire_end(mrb_state *mrb, struct wire_out *out);

/* Appends a value; raises TypeError for what has no form on the wire, ArgumentError for nesting. `role` says
 * what the value is ("argument", "result"). */
void wire_put(mrb_state *mrb, struct wire_out *out, mrb_value value, const char *role);

/* Reads one value; raises WireError when the bytes are none (the host never sends such). */
mrb_value wire_get(mrb_state *mrb, struct inro__mp_reader *reader);

/* A handle as a Ruby object, and back: 0 for anything else. */
mrb_value handle_new(mrb_state *mrb, uint32_t id);
uint32_t handle_id(mrb_state *mrb, mrb_value value);

#endif
