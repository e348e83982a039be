/* Replaces mruby's throw.h: jumps that the host performs, and only to frames that are still alive.
 *
 * A jmpbuf holds nothing that matters: its address is only a name by which the host finds the frame on its
 * own list. A guest that forges one reaches a living frame of its own or is stopped.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MRB_THROW_H
#define MRB_THROW_H

#include <stdint.h>

struct mrb_jmpbuf {
    uint32_t unused;
};

/* Calls body(argument) inside a host frame named `jump`: 0 when it returned, 1 when it was left by a throw. */
__attribute__((import_module("inro"), import_name("try"))) int
inro_try(void (*body)(void *argument), void *argument, struct mrb_jmpbuf *jump);

/* Leaves the innermost living frame named `jump`. */
__attribute__((import_module("inro"), import_name("throw"), noreturn)) void inro_throw(struct mrb_jmpbuf *jump);

/* Stops the guest for want of memory, after a collection did not help: no script may rescue that. (It is the
 * import "write" on a stream of its own.) */
__attribute__((import_module("inro"), import_name("write"))) void
inro_exhausted_write(uint32_t stream, const void *bytes, uint32_t length);

__attribute__((noreturn)) static inline void inro_exhausted(void) {
    inro_exhausted_write(4, 0, 0);
    __builtin_trap();
}

#define MRB_THROW(jump) inro_throw(jump)

#endif
