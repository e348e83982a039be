/* The part of a slot that translated code touches directly: memory, globals, and the way out.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__INSTANCE_H
#define INRO__INSTANCE_H

#include <stdint.h>

/* The base of guest memory lives in %gs while guest code runs. */
#ifdef __x86_64__
#define INRO_SEGMENT_GS 1
#endif

struct inro__memory {
    uint8_t *base;
    uint64_t size; /* bytes the guest may touch; whole wasm pages */
};

/* One running copy of a guest. The names with w2c_ are the translator's: a guest has one memory and one
 * mutable global, its shadow stack pointer (the build refuses any other). */
struct inro__instance {
    struct inro__instance *Z_inro_instance; /* itself: what imports get */
    struct inro__memory w2c_memory;
    uint32_t w2c___stack_pointer;
};

/* Why translated code stopped. */
enum inro__trap {
    INRO__TRAP_NONE,
    INRO__TRAP_UNREACHABLE,
    INRO__TRAP_OOB,
    INRO__TRAP_CALL_INDIRECT,
    INRO__TRAP_DIV_BY_ZERO,
    INRO__TRAP_INT_OVERFLOW,
    INRO__TRAP_INVALID_CONVERSION,
    INRO__TRAP_STACK,   /* the native stack of the guest is used up */
    INRO__TRAP_THROW,   /* a throw to a frame that is not alive */
    INRO__TRAP_IMPORT,  /* an import was given what it cannot take */
    INRO__TRAP_TIMEOUT, /* the deadline passed */
    INRO__TRAP_MEMORY,  /* the memory limit was reached */
    INRO__TRAP_COUNT
};

/* memory.grow: the old size in wasm pages, or 2^32-1 when the guest may have no more. Only from guest code. */
uint32_t inro__guest_grow(struct inro__instance *instance, uint32_t pages);

/* Leaves the guest for good; the innermost entry into it answers the trap. Only from guest code. */
_Noreturn void inro__guest_trap(enum inro__trap trap);

#endif
