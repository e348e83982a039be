/* Chunks double from 4 KiB to 1 MiB; a block too large for that gets a chunk of its own.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/alloc.h"

enum { ARENA_ALIGNMENT = 8, CHUNK_FIRST = 4096, CHUNK_MOST = 1024 * 1024, CHUNK_KEPT = 64 * 1024 };

struct inro__arena_chunk {
    struct inro__arena_chunk *older;
    size_t size; /* with this header */
};

_Static_assert(sizeof(struct inro__arena_chunk) % ARENA_ALIGNMENT == 0, "blocks start aligned");

void inro__arena_init(struct inro__arena *arena, size_t max) {
    *arena = (struct inro__arena){.max = max};
}

static void use_chunk(struct inro__arena *arena, struct inro__arena_chunk *chunk) {
    arena->at = (uint8_t *)(chunk + 1);
    arena->end = (uint8_t *)chunk + chunk->size;
}

static bool add_chunk(struct inro__arena *arena, size_t need) {
    size_t size = arena->chunks ? arena->chunks->size * 2 : CHUNK_FIRST;
    if (size > CHUNK_MOST)
        size = CHUNK_MOST;
    if (need > SIZE_MAX - sizeof *arena->chunks)
        return false;
    if (size < need + sizeof *arena->chunks)
        size = need + sizeof *arena->chunks;
    struct inro__arena_chunk *chunk = inro__alloc(size);
    if (!chunk)
        return false;
    *chunk = (struct inro__arena_chunk){arena->chunks, size};
    arena->chunks = chunk;
    use_chunk(arena, chunk);
    return true;
}

/* Less than `size` when there is no such number. */
static size_t padded_size(size_t size) {
    return (size + ARENA_ALIGNMENT - 1) & ~(size_t)(ARENA_ALIGNMENT - 1);
}

bool inro__arena_fits(const struct inro__arena *arena, size_t size) {
    size_t padded = padded_size(size);
    return padded >= size && padded <= arena->max - arena->total;
}

void *inro__arena_alloc(struct inro__arena *arena, size_t size) {
    size_t padded = padded_size(size);
    if (!inro__arena_fits(arena, size))
        return NULL;
    if (padded > (size_t)(arena->end - arena->at) && !add_chunk(arena, padded))
        return NULL;
    void *block = arena->at;
    arena->at += padded;
    arena->total += padded;
    return block;
}

/* Frees all chunks but `kept` (may be NULL). */
static void free_chunks(struct inro__arena *arena, const struct inro__arena_chunk *kept) {
    struct inro__arena_chunk *chunk = arena->chunks;
    while (chunk) {
        struct inro__arena_chunk *older = chunk->older;
        if (chunk != kept)
            inro__free(chunk, chunk->size);
        chunk = older;
    }
}

void inro__arena_reset(struct inro__arena *arena) {
    struct inro__arena_chunk *kept = arena->chunks;
    while (kept && kept->size > CHUNK_KEPT)
        kept = kept->older;
    free_chunks(arena, kept);
    inro__arena_init(arena, arena->max);
    if (!kept)
        return;
    kept->older = NULL;
    arena->chunks = kept;
    use_chunk(arena, kept);
}

void inro__arena_done(struct inro__arena *arena) {
    free_chunks(arena, NULL);
    inro__arena_init(arena, arena->max);
}
