/* MessagePack, token by token: the bytes between host and guest.
 *
 * One file, compiled for both sides, so it needs no allocator and no C library beyond memcpy. A reader never
 * looks past its end, never trusts a length, and refuses everything that this list does not name:
 *
 *   nil, bool, int (64-bit), float 64, str, bin, array, map,
 *   ext 0 symbol (UTF-8 name), ext 1 handle (fixext 4, big-endian id 1 .. 2^31-1)
 *
 * A reader accepts every width an encoder may choose (also float 32, and unsigned integers up to 2^63-1);
 * the writer always writes the narrowest.
 *
 * Source of the format: the MessagePack specification. SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__MSGPACK_H
#define INRO__MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum inro__mp_type {
    INRO__MP_NIL,
    INRO__MP_BOOL,
    INRO__MP_INT,
    INRO__MP_FLOAT,
    INRO__MP_STR, /* not checked for UTF-8 here */
    INRO__MP_BIN,
    INRO__MP_SYMBOL, /* the name, as STR not checked */
    INRO__MP_HANDLE,
    INRO__MP_ARRAY,
    INRO__MP_MAP,
    INRO__MP_BAD /* truncated, or a byte that is not in the list */
};

#define INRO__MP_HANDLE_MAX 0x7fffffffu

struct inro__mp_token {
    enum inro__mp_type type;
    uint32_t length; /* bytes of STR, BIN, SYMBOL; items of ARRAY; pairs of MAP */
    union {
        bool flag;
        int64_t number;
        double real;
        uint32_t handle;
        const uint8_t *bytes; /* into the reader's bytes */
    } as;
};

struct inro__mp_reader {
    const uint8_t *at;
    const uint8_t *end;
};

/* Where tokens are written. When `at` would pass `end`, `grow` is asked for room (it may move the bytes and
 * must update all three pointers); without `grow`, or when it answers false, `failed` is set and stays set,
 * and nothing more is written. All bytes from `at` to `end` are the writer's: it may leave anything there. A
 * body may be written in pieces, with `grow` asked in between. */
struct inro__mp_writer {
    uint8_t *start;
    uint8_t *at;
    uint8_t *end;
    bool (*grow)(struct inro__mp_writer *writer, size_t need);
    void *user;
    bool failed;
};

/* Reads one token and moves past it. An ARRAY or MAP token is only its header; its items follow as tokens. A
 * count larger than the bytes that are left could hold is BAD, so a caller may allocate by it. After BAD the
 * reader's position means nothing. */
struct inro__mp_token inro__mp_read(struct inro__mp_reader *reader);

/* Reads an integer of one byte (-32 .. 127), the commonest token there is, without a call. False: something
 * else is next, and nothing was read. */
static inline bool inro__mp_read_small(struct inro__mp_reader *reader, int64_t *number) {
    if (reader->at == reader->end || (*reader->at >= 0x80 && *reader->at < 0xe0))
        return false;
    *number = *reader->at < 0x80 ? *reader->at : *reader->at - 256;
    reader->at++;
    return true;
}

/* Each writes one token, of ARRAY and MAP the header only. */
void inro__mp_write_nil(struct inro__mp_writer *writer);
void inro__mp_write_bool(struct inro__mp_writer *writer, bool flag);
void inro__mp_write_wide_int(struct inro__mp_writer *writer, int64_t number);
void inro__mp_write_float(struct inro__mp_writer *writer, double real);
void inro__mp_write_str(struct inro__mp_writer *writer, const void *bytes, uint32_t length);
void inro__mp_write_bin(struct inro__mp_writer *writer, const void *bytes, uint32_t length);
void inro__mp_write_symbol(struct inro__mp_writer *writer, const void *name, uint32_t length);
void inro__mp_write_handle(struct inro__mp_writer *writer, uint32_t id);
void inro__mp_write_array(struct inro__mp_writer *writer, uint32_t count);
void inro__mp_write_map(struct inro__mp_writer *writer, uint32_t count);

/* An integer; where one byte is enough and there is room for it, without a call. */
static inline void inro__mp_write_int(struct inro__mp_writer *writer, int64_t number) {
    if (number >= -32 && number <= 0x7f && writer->at < writer->end && !writer->failed)
        *writer->at++ = (uint8_t)number;
    else
        inro__mp_write_wide_int(writer, number);
}

/* Whether the bytes are valid UTF-8 (no surrogates, nothing overlong, at most U+10FFFF). Fast for ASCII. */
bool inro__utf8_is_valid(const void *bytes, size_t length);

#endif
