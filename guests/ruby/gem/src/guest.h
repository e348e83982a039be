/* What the guest's parts share, and what the host gives them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GUEST_H
#define GUEST_H

#include <mruby.h>
#include <stdint.h>

#define IMPORT(name) __attribute__((import_module("inro"), import_name(#name)))
#define EXPORT(name) __attribute__((export_name(#name)))

/* Streams of host_write. The message channel collects what an outcome or a request does not hold itself. */
enum { HOST_MESSAGE = 0, HOST_STDOUT = 1, HOST_STDERR = 2, HOST_RESTART = 3 };

/* Flags of host_call; the block's number is above them. */
enum { CALL_HANDLE = 1, CALL_BLOCK = 2, CALL_BLOCK_SHIFT = 8 };

/* First byte of what the host answers to a call. */
enum { REPLY_VALUE = 0, REPLY_FAULT = 1, REPLY_BREAK = 2, REPLY_RAISED = 3 };

/* First byte of what a yield answers. */
enum { YIELD_VALUE = 0, YIELD_RAISED = 1, YIELD_BREAK = 2 };

/* First byte of an outcome. */
enum { OUTCOME_VALUE = 1, OUTCOME_PANIC = 2 };

IMPORT(write) void host_write(uint32_t stream, const void *bytes, uint32_t length);
IMPORT(call) uint64_t host_call(uint32_t target, const void *request, uint32_t length, uint32_t flags);
IMPORT(clock) uint64_t host_clock(void);
IMPORT(entropy) void host_entropy(void *bytes, uint32_t length);

/* Our own errors. The first are numbered as the host numbers the faults of a call. */
enum guest_error {
    ERROR_SERVICE,
    ERROR_ARGUMENT,
    ERROR_UNDEFINED,
    ERROR_DISCONNECTED,
    ERROR_WIRE,
    ERROR_HANDLES,
    ERROR_FAULTS, /* so many */
    ERROR_BYTECODE = ERROR_FAULTS,
    ERROR_ENTRYPOINT,
    ERROR_SYNTAX,
    GUEST_ERRORS
};

/* Their classes, which live as long as the guest. */
extern struct RClass *guest_errors[GUEST_ERRORS];

/* Keeps a class alive, whatever becomes of its constant. */
void guest_keep(mrb_state *mrb, struct RClass *class);

/* Makes the constant path `path` ("KV::Lookup") a proxy for the service number `index`. */
void service_define(mrb_state *mrb, const char *path, uint32_t length, uint32_t index);

/* Runs the block of the call that is under way; the answer is packed as that of every entry point. */
uint64_t service_yield(mrb_state *mrb, const uint8_t *message, uint32_t length);

void errors_init(mrb_state *mrb, struct RClass *inro);
void service_init(mrb_state *mrb, struct RClass *inro);
void output_init(mrb_state *mrb, struct RClass *inro);
void clock_init(mrb_state *mrb, struct RClass *inro);

#endif
