/* MessagePack, token by token; also compiled for the guest, so nothing here may need more than memcpy.
 *
 * First bytes below 0xc0 and above 0xdf say everything themselves and are decided by comparing; the 32 codes
 * between are rows of a table.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "value/msgpack.h"
#include "base/utf8.h"

#include <string.h>

enum { EXT_SYMBOL = 0, EXT_HANDLE = 1 };

/* What follows a code of 0xc0 .. 0xdf. */
enum mp_form {
    FORM_REFUSED,
    FORM_CONSTANT,
    FORM_BYTES,
    FORM_EXT,
    FORM_FIXEXT,
    FORM_REAL,
    FORM_INTEGER,
    FORM_COUNT
};

struct mp_code {
    uint8_t form;
    uint8_t type;  /* inro__mp_type */
    uint8_t width; /* bytes of the number that follows; of a FIXEXT the bytes of its body */
    uint8_t extra; /* the constant's value; whether an integer is signed */
};

static const struct mp_code codes[32] = {
    {FORM_CONSTANT, INRO__MP_NIL, 0, 0},
    {FORM_REFUSED, INRO__MP_BAD, 0, 0}, /* 0xc1 is never used by the format */
    {FORM_CONSTANT, INRO__MP_BOOL, 0, false},
    {FORM_CONSTANT, INRO__MP_BOOL, 0, true},
    {FORM_BYTES, INRO__MP_BIN, 1, 0},
    {FORM_BYTES, INRO__MP_BIN, 2, 0},
    {FORM_BYTES, INRO__MP_BIN, 4, 0},
    {FORM_EXT, INRO__MP_SYMBOL, 1, 0},
    {FORM_EXT, INRO__MP_SYMBOL, 2, 0},
    {FORM_EXT, INRO__MP_SYMBOL, 4, 0},
    {FORM_REAL, INRO__MP_FLOAT, 4, 0},
    {FORM_REAL, INRO__MP_FLOAT, 8, 0},
    {FORM_INTEGER, INRO__MP_INT, 1, false},
    {FORM_INTEGER, INRO__MP_INT, 2, false},
    {FORM_INTEGER, INRO__MP_INT, 4, false},
    {FORM_INTEGER, INRO__MP_INT, 8, false},
    {FORM_INTEGER, INRO__MP_INT, 1, true},
    {FORM_INTEGER, INRO__MP_INT, 2, true},
    {FORM_INTEGER, INRO__MP_INT, 4, true},
    {FORM_INTEGER, INRO__MP_INT, 8, true},
    {FORM_FIXEXT, INRO__MP_SYMBOL, 1, 0},
    {FORM_FIXEXT, INRO__MP_SYMBOL, 2, 0},
    {FORM_FIXEXT, INRO__MP_SYMBOL, 4, 0},
    {FORM_FIXEXT, INRO__MP_SYMBOL, 8, 0},
    {FORM_FIXEXT, INRO__MP_SYMBOL, 16, 0},
    {FORM_BYTES, INRO__MP_STR, 1, 0},
    {FORM_BYTES, INRO__MP_STR, 2, 0},
    {FORM_BYTES, INRO__MP_STR, 4, 0},
    {FORM_COUNT, INRO__MP_ARRAY, 2, 0},
    {FORM_COUNT, INRO__MP_ARRAY, 4, 0},
    {FORM_COUNT, INRO__MP_MAP, 2, 0},
    {FORM_COUNT, INRO__MP_MAP, 4, 0},
};

/* One bit pattern for every NaN: a payload would be a channel between runs that must be alike. */
static double canonical(double real) {
    static const uint64_t nan_bits = 0x7ff8000000000000u;
    if (real != real)
        memcpy(&real, &nan_bits, sizeof real);
    return real;
}

static struct inro__mp_token bad_token(void) {
    return (struct inro__mp_token){.type = INRO__MP_BAD};
}

static struct inro__mp_token int_token(int64_t number) {
    return (struct inro__mp_token){.type = INRO__MP_INT, .as.number = number};
}

/* Between the machine's order of bytes and the format's. */
static uint64_t big_endian(uint64_t number) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap64(number);
#else
    return number;
#endif
}

static size_t bytes_left(const struct inro__mp_reader *reader) {
    return (size_t)(reader->end - reader->at);
}

/* The big-endian number of `width` bytes (1 .. 8) at the reader; the caller has checked that they are there.
 * Where eight are, one load takes them all. */
static uint64_t take_number(struct inro__mp_reader *reader, unsigned width) {
    uint64_t number = 0;
    if (bytes_left(reader) >= sizeof number) {
        memcpy(&number, reader->at, sizeof number);
        reader->at += width;
        return big_endian(number) >> (64 - 8 * width);
    }
    for (unsigned i = 0; i < width; i++)
        number = number << 8 | *reader->at++;
    return number;
}

static struct inro__mp_token take_bytes(struct inro__mp_reader *reader, enum inro__mp_type type,
                                        uint32_t length) {
    if (length > bytes_left(reader))
        return bad_token();
    struct inro__mp_token token = {.type = type, .length = length, .as.bytes = reader->at};
    reader->at += length;
    return token;
}

/* Every item needs a byte at least, so a larger count is a lie that would make the caller allocate. */
static struct inro__mp_token take_count(struct inro__mp_reader *reader, enum inro__mp_type type,
                                        uint32_t count) {
    size_t most = type == INRO__MP_MAP ? bytes_left(reader) / 2 : bytes_left(reader);
    if (count > most)
        return bad_token();
    return (struct inro__mp_token){.type = type, .length = count};
}

static struct inro__mp_token take_integer(uint64_t number, struct mp_code code) {
    if (code.extra) {
        unsigned unused = (64 - 8u * code.width) & 63;
        return int_token((int64_t)(number << unused) >> unused);
    }
    return number > INT64_MAX ? bad_token() : int_token((int64_t)number);
}

static struct inro__mp_token take_real(uint64_t bits, unsigned width) {
    double real;
    if (width == 8) {
        memcpy(&real, &bits, sizeof real);
    } else {
        uint32_t narrow_bits = (uint32_t)bits;
        float narrow;
        memcpy(&narrow, &narrow_bits, sizeof narrow);
        real = (double)narrow;
    }
    return (struct inro__mp_token){.type = INRO__MP_FLOAT, .as.real = canonical(real)};
}

static struct inro__mp_token take_handle(struct inro__mp_reader *reader) {
    if (bytes_left(reader) < 4)
        return bad_token();
    uint32_t id = (uint32_t)take_number(reader, 4);
    if (id == 0 || id > INRO__MP_HANDLE_MAX)
        return bad_token();
    return (struct inro__mp_token){.type = INRO__MP_HANDLE, .as.handle = id};
}

/* The extension's type byte and body. A handle has one form only, fixext 4. */
static struct inro__mp_token take_ext(struct inro__mp_reader *reader, uint32_t length, enum mp_form form) {
    if (bytes_left(reader) < 1)
        return bad_token();
    uint8_t ext_type = *reader->at++;
    if (ext_type == EXT_SYMBOL)
        return take_bytes(reader, INRO__MP_SYMBOL, length);
    if (ext_type == EXT_HANDLE && form == FORM_FIXEXT && length == 4)
        return take_handle(reader);
    return bad_token();
}

static struct inro__mp_token take_coded(struct inro__mp_reader *reader, struct mp_code code) {
    enum mp_form form = (enum mp_form)code.form;
    enum inro__mp_type type = (enum inro__mp_type)code.type;
    if (form == FORM_CONSTANT)
        return (struct inro__mp_token){.type = type, .as.flag = code.extra != 0};
    if (form == FORM_FIXEXT)
        return take_ext(reader, code.width, form);
    if (form == FORM_REFUSED || bytes_left(reader) < code.width)
        return bad_token();
    uint64_t number = take_number(reader, code.width);
    if (form == FORM_INTEGER)
        return take_integer(number, code);
    if (form == FORM_BYTES)
        return take_bytes(reader, type, (uint32_t)number);
    if (form == FORM_COUNT)
        return take_count(reader, type, (uint32_t)number);
    if (form == FORM_EXT)
        return take_ext(reader, (uint32_t)number, form);
    return take_real(number, code.width);
}

struct inro__mp_token inro__mp_read(struct inro__mp_reader *reader) {
    if (reader->at == reader->end)
        return bad_token();
    uint8_t first = *reader->at++;
    if (first < 0x80)
        return int_token(first);
    if (first >= 0xe0)
        return int_token((int64_t)first - 256);
    if (first >= 0xc0)
        return take_coded(reader, codes[first - 0xc0]);
    if (first >= 0xa0)
        return take_bytes(reader, INRO__MP_STR, first & 0x1f);
    return take_count(reader, first >= 0x90 ? INRO__MP_ARRAY : INRO__MP_MAP, first & 0x0f);
}

/* The slow half of `has_room`. */
__attribute__((noinline)) static bool make_room(struct inro__mp_writer *writer, size_t need) {
    if (!writer->failed && writer->grow && writer->grow(writer, need) &&
        (size_t)(writer->end - writer->at) >= need)
        return true;
    writer->failed = true;
    return false;
}

static inline bool has_room(struct inro__mp_writer *writer, size_t need) {
    if (__builtin_expect(!writer->failed && (size_t)(writer->end - writer->at) >= need, 1))
        return true;
    return make_room(writer, need);
}

static inline void write_byte(struct inro__mp_writer *writer, unsigned byte) {
    if (has_room(writer, 1))
        *writer->at++ = (uint8_t)byte;
}

/* A code and the big-endian number of `width` bytes (1 .. 8) that belongs to it. Where there is room for
 * eight, one store writes them all; what is too much of it is overwritten next. */
static inline void write_code(struct inro__mp_writer *writer, unsigned code, uint64_t number, unsigned width) {
    if (!has_room(writer, 1 + (size_t)width))
        return;
    *writer->at++ = (uint8_t)code;
    if ((size_t)(writer->end - writer->at) >= sizeof number) {
        number = big_endian(number << (64 - 8 * width));
        memcpy(writer->at, &number, sizeof number);
        writer->at += width;
        return;
    }
    for (unsigned shift = 8 * width; shift > 0; shift -= 8)
        *writer->at++ = (uint8_t)(number >> (shift - 8));
}

/* In pieces, so that a writer that flushes to somewhere needs no room for the whole. */
static void write_payload(struct inro__mp_writer *writer, const void *bytes, uint32_t length) {
    const uint8_t *from = bytes;
    while (length > 0 && has_room(writer, 1)) {
        size_t piece = (size_t)(writer->end - writer->at);
        if (piece > length)
            piece = length;
        memcpy(writer->at, from, piece);
        writer->at += piece;
        from += piece;
        length -= (uint32_t)piece;
    }
}

/* 0, 1, 2, 3 for a number that needs 1, 2, 4, 8 bytes: also the distance between the codes. */
static unsigned step_of(uint64_t number) {
    return number <= 0xff ? 0 : number <= 0xffff ? 1 : number <= 0xffffffffu ? 2 : 3;
}

static unsigned step_of_negative(int64_t number) {
    return number >= INT8_MIN ? 0 : number >= INT16_MIN ? 1 : number >= INT32_MIN ? 2 : 3;
}

void inro__mp_write_nil(struct inro__mp_writer *writer) {
    write_byte(writer, 0xc0);
}

void inro__mp_write_bool(struct inro__mp_writer *writer, bool flag) {
    write_byte(writer, flag ? 0xc3 : 0xc2);
}

void inro__mp_write_wide_int(struct inro__mp_writer *writer, int64_t number) {
    if (number >= -32 && number <= 0x7f) {
        write_byte(writer, (uint8_t)number);
    } else if (number >= 0) {
        unsigned step = step_of((uint64_t)number);
        write_code(writer, 0xcc + step, (uint64_t)number, 1u << step);
    } else {
        unsigned step = step_of_negative(number);
        write_code(writer, 0xd0 + step, (uint64_t)number, 1u << step);
    }
}

void inro__mp_write_float(struct inro__mp_writer *writer, double real) {
    uint64_t bits;
    real = canonical(real);
    memcpy(&bits, &real, sizeof bits);
    write_code(writer, 0xcb, bits, 8);
}

void inro__mp_write_str(struct inro__mp_writer *writer, const void *bytes, uint32_t length) {
    unsigned step = step_of(length);
    if (length < 32)
        write_byte(writer, 0xa0 | length);
    else
        write_code(writer, 0xd9 + step, length, 1u << step);
    write_payload(writer, bytes, length);
}

void inro__mp_write_bin(struct inro__mp_writer *writer, const void *bytes, uint32_t length) {
    unsigned step = step_of(length);
    write_code(writer, 0xc4 + step, length, 1u << step);
    write_payload(writer, bytes, length);
}

void inro__mp_write_symbol(struct inro__mp_writer *writer, const void *name, uint32_t length) {
    bool power_of_two = length != 0 && (length & (length - 1)) == 0;
    unsigned step = step_of(length);
    if (power_of_two && length <= 16)
        write_byte(writer, 0xd4 + (unsigned)__builtin_ctz(length));
    else
        write_code(writer, 0xc7 + step, length, 1u << step);
    write_byte(writer, EXT_SYMBOL);
    write_payload(writer, name, length);
}

void inro__mp_write_handle(struct inro__mp_writer *writer, uint32_t id) {
    write_byte(writer, 0xd6);
    write_code(writer, EXT_HANDLE, id, 4);
}

static void write_count(struct inro__mp_writer *writer, unsigned fixed, unsigned code16, uint32_t count) {
    if (count < 16)
        write_byte(writer, fixed | count);
    else if (count <= 0xffff)
        write_code(writer, code16, count, 2);
    else
        write_code(writer, code16 + 1, count, 4);
}

void inro__mp_write_array(struct inro__mp_writer *writer, uint32_t count) {
    write_count(writer, 0x90, 0xdc, count);
}

void inro__mp_write_map(struct inro__mp_writer *writer, uint32_t count) {
    write_count(writer, 0x80, 0xde, count);
}

static inline bool is_ascii_word(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return (word & 0x8080808080808080u) == 0;
}

/* Past an ASCII byte and, where more of them follow, past those: eight at a time, then thirty-two. Text that
 * mixes scripts pays for one look ahead only. */
static inline const uint8_t *skip_ascii(const uint8_t *at, const uint8_t *end) {
    uint64_t words[4];
    if ((size_t)(end - at) < sizeof words[0] || !is_ascii_word(at))
        return at + 1;
    at += sizeof words[0];
    while ((size_t)(end - at) >= sizeof words) {
        memcpy(words, at, sizeof words);
        if ((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080u)
            break;
        at += sizeof words;
    }
    return at;
}

bool inro__utf8_is_valid(const void *bytes, size_t length) {
    const uint8_t *at = bytes, *end = length == 0 ? at : at + length;
    uint32_t code_point;
    while (at != end) {
        if (*at < 0x80) {
            at = skip_ascii(at, end);
            continue;
        }
        size_t step = inro__utf8_next(at, end, &code_point);
        if (step == 0)
            return false;
        at += step;
    }
    return true;
}
