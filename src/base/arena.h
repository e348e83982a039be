/* An arena: many small blocks, freed at once. Blocks are 8-byte aligned and never move.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__ARENA_H
#define INRO__ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inro__arena_chunk;

struct inro__arena {
    uint8_t *at;
    uint8_t *end;
    struct inro__arena_chunk *chunks; /* newest first */
    size_t total;                     /* bytes handed out, for the caller's accounts */
    size_t max;                       /* and never more than this */
};

/* An empty arena that owns nothing yet. */
void inro__arena_init(struct inro__arena *arena, size_t max);

/* Whether `size` more bytes stay within `max`. */
bool inro__arena_fits(const struct inro__arena *arena, size_t size);

/* A block of `size` bytes (size > 0), not cleared; NULL past `max` or without memory. */
void *inro__arena_alloc(struct inro__arena *arena, size_t size);

/* Forgets every block but keeps one chunk (at most 64 KiB) for the next use. */
void inro__arena_reset(struct inro__arena *arena);

/* Frees all. */
void inro__arena_done(struct inro__arena *arena);

#endif
