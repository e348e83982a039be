/* The library's own memory: one hook, told the old size, so that it can be billed, capped and made to fail.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__ALLOC_H
#define INRO__ALLOC_H

#include <stddef.h>

/* A block of `size` bytes (size > 0), not cleared; NULL when there is no memory. */
void *inro__alloc(size_t size) __attribute__((malloc));

/* The same, cleared. */
void *inro__alloc_zero(size_t size) __attribute__((malloc));

/* Grows or shrinks `old` (NULL: a new block); NULL when there is no memory, `old` is then untouched. */
void *inro__resize(void *old, size_t old_size, size_t new_size);

/* Frees a block of `size` bytes; NULL is fine. */
void inro__free(void *block, size_t size);

#endif
