/* The hook and the count of live blocks that keeps it from being changed under their feet.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/error.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static void *resize_with_libc(void *user, void *old, size_t old_size, size_t new_size) {
    (void)user;
    (void)old_size;
    if (new_size == 0) {
        free(old);
        return NULL;
    }
    return realloc(old, new_size);
}

/* Written only by inro_set_allocator, which by contract runs before all other threads. */
static inro_resize_fn hook = resize_with_libc;
static void *hook_user;

/* How many blocks there are, counted apart for (almost) every thread: one counter for all would be a cache line
 * that all processors fight for. Only the sum means anything. */
#define COUNTERS 16u
static struct counter {
    _Alignas(64) atomic_size_t blocks;
} counters[COUNTERS];

static atomic_size_t *own_counter(void) {
    static atomic_uint threads;
    static __thread unsigned number __attribute__((tls_model("initial-exec")));
    if (number == 0)
        number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % COUNTERS + 1;
    return &counters[number - 1].blocks;
}

static size_t live_blocks(void) {
    size_t sum = 0;
    for (unsigned i = 0; i < COUNTERS; i++)
        sum += atomic_load(&counters[i].blocks);
    return sum;
}

inro_status inro_set_allocator(inro_resize_fn resize, void *user, inro_error *err) {
    if (live_blocks() != 0)
        return inro__fail(err, INRO_ERR_SEALED, 0, "the library already holds memory of its allocator");
    hook = resize ? resize : resize_with_libc;
    hook_user = resize ? user : NULL;
    return INRO_OK;
}

void *inro__alloc(size_t size) {
    void *block = hook(hook_user, NULL, 0, size);
    if (block)
        atomic_fetch_add_explicit(own_counter(), 1, memory_order_relaxed);
    return block;
}

void *inro__alloc_zero(size_t size) {
    void *block = inro__alloc(size);
    if (block)
        memset(block, 0, size);
    return block;
}

void *inro__resize(void *old, size_t old_size, size_t new_size) {
    return old ? hook(hook_user, old, old_size, new_size) : inro__alloc(new_size);
}

void inro__free(void *block, size_t size) {
    if (!block)
        return;
    hook(hook_user, block, size, 0);
    atomic_fetch_sub_explicit(own_counter(), 1, memory_order_relaxed);
}
