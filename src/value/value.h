/* Inside the value: the node that trees are made of, and the trees' way to and from messages.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__VALUE_H
#define INRO__VALUE_H

#include "base/arena.h"
#include "value/msgpack.h"
#include <inro/value.h>

/* A map that lies in an arena and has, behind its nodes, `length` numbers of its pairs in the order of their
 * keys (order.h). Decoded maps have it when they are a key or part of one. */
enum { INRO__VALUE_ORDERED = 1 };

/* A node. Children of arrays and maps are nodes in one block (a map's: key, value, key, value). A node that a
 * constructor made owns its block (capacity > 0); a node decoded into an arena owns nothing (capacity 0). */
struct inro_value {
    uint8_t type;      /* inro_value_type */
    uint8_t depth;     /* levels below: 0 for scalars and for empty containers, never above the maximum */
    uint16_t flags;    /* INRO__VALUE_ORDERED */
    uint32_t length;   /* bytes, items or pairs */
    uint32_t capacity; /* bytes, or nodes, of the owned block (OBJECT: 1 for a reference); 0: owns nothing */
    uint32_t reserved;
    union {
        bool flag;
        int64_t number;
        double real;
        const uint8_t *bytes;
        struct inro_value *items;
        inro_object *object;
    } as;
};

/* How OBJECT values and handle ids find each other; the sandbox's handle table fills it in. */
struct inro__handle_map {
    void *user;
    /* The object of an id, lent, or NULL for an id that is not live. */
    inro_object *(*find)(void *user, uint32_t id);
    /* An id for an object, 0 when there is none to be had. */
    uint32_t (*add)(void *user, inro_object *object);
};

enum inro__decode_status {
    INRO__DECODE_OK,
    INRO__DECODE_BAD,    /* malformed, not UTF-8 where it must be, trailing bytes */
    INRO__DECODE_DEPTH,  /* deeper than INRO_VALUE_DEPTH_MAX */
    INRO__DECODE_HANDLE, /* a handle that is not live */
    INRO__DECODE_SIZE,   /* more nodes than the arena may hold */
    INRO__DECODE_MEMORY  /* there is no memory */
};

/* Decodes the one value that `reader` holds into `arena`. Strings are views into the reader's bytes, which
 * must outlive the tree; OBJECT nodes are lent by the handle map (no reference is taken). `handles` may be
 * NULL: then every handle is refused. A STR that is not UTF-8 is BAD. Of equal keys of a map the first gives
 * the place, the last the value. */
enum inro__decode_status inro__value_decode(struct inro__mp_reader *reader, struct inro__arena *arena,
                                            const struct inro__handle_map *handles, struct inro_value *out);

/* The same for a value that others may follow; the reader stands behind it afterwards. */
enum inro__decode_status inro__value_decode_next(struct inro__mp_reader *reader, struct inro__arena *arena,
                                                 const struct inro__handle_map *handles,
                                                 struct inro_value *out);

enum inro__encode_status {
    INRO__ENCODE_OK,
    INRO__ENCODE_HANDLES, /* the handle map gave no id, or there is none */
    INRO__ENCODE_FULL     /* the writer failed: too large or no memory */
};

/* Encodes a tree. */
enum inro__encode_status inro__value_encode(const struct inro_value *value, struct inro__mp_writer *writer,
                                            const struct inro__handle_map *handles);

/* Makes a TEXT, BYTES or SYMBOL node that owns a copy of the bytes. The caller has checked UTF-8. Fails
 * without memory and above UINT32_MAX bytes. */
INRO_MUST_CHECK bool inro__value_init_bytes(struct inro_value *value, inro_value_type type, const void *bytes,
                                            size_t length);

/* Moves one item into an ARRAY, a key and a value into a MAP. On failure (INRO_ERR_LIMIT, INRO_ERR_MEMORY) the
 * nodes stay the caller's. */
INRO_MUST_CHECK inro_status inro__value_push(struct inro_value *container, const struct inro_value *nodes);

/* The number of nodes in `items`: an array's items, twice a map's pairs, 0 for all else. */
size_t inro__value_nodes(const struct inro_value *value);

/* Frees what the node owns, not the node itself. */
void inro__value_done(struct inro_value *value);

/* Moves a node into a root of its own; frees what it owns and answers NULL when there is no memory. */
inro_value *inro__value_box(struct inro_value node);

#endif
