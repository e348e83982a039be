/* MessagePack tokens: every width, every refusal, and the writer's narrowest forms.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "value/msgpack.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static struct inro__mp_token read_all(const void *bytes, size_t length) {
    struct inro__mp_reader reader = {bytes, (const uint8_t *)bytes + length};
    struct inro__mp_token token = inro__mp_read(&reader);
    if (token.type != INRO__MP_BAD && token.type != INRO__MP_ARRAY && token.type != INRO__MP_MAP)
        CHECK(reader.at == reader.end);
    return token;
}

#define READ(literal) read_all(literal, sizeof(literal) - 1)
#define CHECK_READS_INT(literal, expected)                                                                     \
    do {                                                                                                       \
        CHECK_INT(READ(literal).type, INRO__MP_INT);                                                           \
        CHECK_INT(READ(literal).as.number, expected);                                                          \
    } while (0)
#define CHECK_BAD(literal) CHECK_INT(READ(literal).type, INRO__MP_BAD)

static uint8_t memory[1024];

static struct inro__mp_writer new_writer(size_t size) {
    return (struct inro__mp_writer){.start = memory, .at = memory, .end = memory + size};
}

#define CHECK_WRITES(call, literal)                                                                            \
    do {                                                                                                       \
        struct inro__mp_writer writer = new_writer(sizeof memory);                                             \
        struct inro__mp_writer *w = &writer;                                                                   \
        call;                                                                                                  \
        CHECK(!w->failed);                                                                                     \
        test_check_bytes(__FILE__, __LINE__, w->start, (size_t)(w->at - w->start), literal,                    \
                         sizeof(literal) - 1);                                                                 \
    } while (0)

TEST(integers_of_every_width_are_read) {
    CHECK_READS_INT("\x00", 0);
    CHECK_READS_INT("\x7f", 127);
    CHECK_READS_INT("\xff", -1);
    CHECK_READS_INT("\xe0", -32);
    CHECK_READS_INT("\xcc\xff", 255);
    CHECK_READS_INT("\xcc\x01", 1);
    CHECK_READS_INT("\xcd\xff\xfe", 65534);
    CHECK_READS_INT("\xce\xff\xff\xff\xff", 4294967295);
    CHECK_READS_INT("\xcf\x7f\xff\xff\xff\xff\xff\xff\xff", INT64_MAX);
    CHECK_READS_INT("\xd0\x80", -128);
    CHECK_READS_INT("\xd0\x7f", 127);
    CHECK_READS_INT("\xd1\x80\x00", -32768);
    CHECK_READS_INT("\xd2\x80\x00\x00\x00", INT32_MIN);
    CHECK_READS_INT("\xd3\x80\x00\x00\x00\x00\x00\x00\x00", INT64_MIN);
    CHECK_READS_INT("\xd3\xff\xff\xff\xff\xff\xff\xff\xff", -1);
}

TEST(unsigned_integers_above_63_bits_are_refused) {
    CHECK_BAD("\xcf\x80\x00\x00\x00\x00\x00\x00\x00");
    CHECK_BAD("\xcf\xff\xff\xff\xff\xff\xff\xff\xff");
}

TEST(integers_are_written_narrow) {
    CHECK_WRITES(inro__mp_write_int(w, 0), "\x00");
    CHECK_WRITES(inro__mp_write_int(w, 127), "\x7f");
    CHECK_WRITES(inro__mp_write_int(w, 128), "\xcc\x80");
    CHECK_WRITES(inro__mp_write_int(w, 255), "\xcc\xff");
    CHECK_WRITES(inro__mp_write_int(w, 256), "\xcd\x01\x00");
    CHECK_WRITES(inro__mp_write_int(w, 65535), "\xcd\xff\xff");
    CHECK_WRITES(inro__mp_write_int(w, 65536), "\xce\x00\x01\x00\x00");
    CHECK_WRITES(inro__mp_write_int(w, UINT32_MAX), "\xce\xff\xff\xff\xff");
    CHECK_WRITES(inro__mp_write_int(w, INT64_C(1) << 32), "\xcf\x00\x00\x00\x01\x00\x00\x00\x00");
    CHECK_WRITES(inro__mp_write_int(w, INT64_MAX), "\xcf\x7f\xff\xff\xff\xff\xff\xff\xff");
    CHECK_WRITES(inro__mp_write_int(w, -32), "\xe0");
    CHECK_WRITES(inro__mp_write_int(w, -33), "\xd0\xdf");
    CHECK_WRITES(inro__mp_write_int(w, -128), "\xd0\x80");
    CHECK_WRITES(inro__mp_write_int(w, -129), "\xd1\xff\x7f");
    CHECK_WRITES(inro__mp_write_int(w, -32768), "\xd1\x80\x00");
    CHECK_WRITES(inro__mp_write_int(w, -32769), "\xd2\xff\xff\x7f\xff");
    CHECK_WRITES(inro__mp_write_int(w, INT32_MIN), "\xd2\x80\x00\x00\x00");
    CHECK_WRITES(inro__mp_write_int(w, INT64_C(-2147483649)), "\xd3\xff\xff\xff\xff\x7f\xff\xff\xff");
    CHECK_WRITES(inro__mp_write_int(w, INT64_MIN), "\xd3\x80\x00\x00\x00\x00\x00\x00\x00");
}

TEST(integers_go_there_and_back) {
    uint64_t seed = 1;
    for (int i = 0; i < 200000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int64_t number = (int64_t)(seed ^ seed >> 29) >> (seed >> 58);
        struct inro__mp_writer writer = new_writer(sizeof memory);
        inro__mp_write_int(&writer, number);
        struct inro__mp_token token = read_all(writer.start, (size_t)(writer.at - writer.start));
        CHECK_INT(token.type, INRO__MP_INT);
        CHECK_INT(token.as.number, number);
    }
}

TEST(constants) {
    CHECK_INT(READ("\xc0").type, INRO__MP_NIL);
    CHECK_INT(READ("\xc2").type, INRO__MP_BOOL);
    CHECK(!READ("\xc2").as.flag);
    CHECK_INT(READ("\xc3").type, INRO__MP_BOOL);
    CHECK(READ("\xc3").as.flag);
    CHECK_WRITES(inro__mp_write_nil(w), "\xc0");
    CHECK_WRITES(inro__mp_write_bool(w, false), "\xc2");
    CHECK_WRITES(inro__mp_write_bool(w, true), "\xc3");
}

static uint64_t bits_of(double real) {
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

TEST(floats_of_both_widths_are_read) {
    CHECK_INT(READ("\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00").type, INRO__MP_FLOAT);
    CHECK(READ("\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00").as.real == 1.5);
    CHECK(READ("\xca\x3f\xc0\x00\x00").as.real == 1.5);
    CHECK(READ("\xca\xff\x80\x00\x00").as.real == -(double)INFINITY);
    CHECK(bits_of(READ("\xca\x80\x00\x00\x00").as.real) == bits_of(-0.0));
    CHECK(READ("\xca\x00\x00\x00\x01").as.real == ldexp(1, -149));
    CHECK(READ("\xcb\x7f\xef\xff\xff\xff\xff\xff\xff").as.real == DBL_MAX);
}

TEST(floats_are_written) {
    CHECK_WRITES(inro__mp_write_float(w, 1.5), "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00");
    CHECK_WRITES(inro__mp_write_float(w, -0.0), "\xcb\x80\x00\x00\x00\x00\x00\x00\x00");
    CHECK_WRITES(inro__mp_write_float(w, (double)INFINITY), "\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00");
}

TEST(nans_lose_their_payload) {
    static const uint64_t canonical = 0x7ff8000000000000u;
    CHECK(bits_of(READ("\xcb\x7f\xf8\x00\x00\x00\x00\xde\xad").as.real) == canonical);
    CHECK(bits_of(READ("\xcb\xff\xf8\x00\x00\x00\x00\x00\x00").as.real) == canonical);
    CHECK(bits_of(READ("\xcb\x7f\xf0\x00\x00\x00\x00\x00\x01").as.real) == canonical);
    CHECK(bits_of(READ("\xca\xff\xc0\xbe\xef").as.real) == canonical);
    uint64_t bits = 0xfff80000deadbeefu;
    double loaded;
    memcpy(&loaded, &bits, sizeof loaded);
    CHECK_WRITES(inro__mp_write_float(w, loaded), "\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00");
}

static void check_bytes(struct inro__mp_token token, enum inro__mp_type type, const char *expected) {
    CHECK_INT(token.type, type);
    test_check_bytes(__FILE__, __LINE__, token.as.bytes, token.length, expected, strlen(expected));
}

TEST(strings_of_every_width_are_read) {
    check_bytes(READ("\xa0"), INRO__MP_STR, "");
    check_bytes(READ("\xa3"
                     "abc"),
                INRO__MP_STR, "abc");
    check_bytes(READ("\xd9\x03"
                     "abc"),
                INRO__MP_STR, "abc");
    check_bytes(READ("\xda\x00\x03"
                     "abc"),
                INRO__MP_STR, "abc");
    check_bytes(READ("\xdb\x00\x00\x00\x03"
                     "abc"),
                INRO__MP_STR, "abc");
    check_bytes(READ("\xc4\x01"
                     "x"),
                INRO__MP_BIN, "x");
    check_bytes(READ("\xc5\x00\x01"
                     "x"),
                INRO__MP_BIN, "x");
    check_bytes(READ("\xc6\x00\x00\x00\x01"
                     "x"),
                INRO__MP_BIN, "x");
    check_bytes(READ("\xd4\x00"
                     "x"),
                INRO__MP_SYMBOL, "x");
    check_bytes(READ("\xd5\x00"
                     "xy"),
                INRO__MP_SYMBOL, "xy");
    check_bytes(READ("\xd8\x00"
                     "0123456789abcdef"),
                INRO__MP_SYMBOL, "0123456789abcdef");
    check_bytes(READ("\xc7\x03\x00"
                     "xyz"),
                INRO__MP_SYMBOL, "xyz");
    check_bytes(READ("\xc8\x00\x03\x00"
                     "xyz"),
                INRO__MP_SYMBOL, "xyz");
    check_bytes(READ("\xc9\x00\x00\x00\x03\x00"
                     "xyz"),
                INRO__MP_SYMBOL, "xyz");
}

TEST(strings_are_written_narrow) {
    CHECK_WRITES(inro__mp_write_str(w, NULL, 0), "\xa0");
    CHECK_WRITES(inro__mp_write_str(w, "abc", 3), "\xa3"
                                                  "abc");
    CHECK_WRITES(inro__mp_write_bin(w, "", 0), "\xc4\x00");
    CHECK_WRITES(inro__mp_write_symbol(w, "", 0), "\xc7\x00\x00");
    CHECK_WRITES(inro__mp_write_symbol(w, "x", 1), "\xd4\x00x");
    CHECK_WRITES(inro__mp_write_symbol(w, "abc", 3), "\xc7\x03\x00"
                                                     "abc");
    CHECK_WRITES(inro__mp_write_symbol(w, "0123456789abcdef", 16), "\xd8\x00"
                                                                   "0123456789abcdef");
}

static bool grow_by_half(struct inro__mp_writer *writer, size_t need) {
    size_t used = (size_t)(writer->at - writer->start), size = (size_t)(writer->end - writer->start);
    uint8_t *start = realloc(writer->start, size + size / 2 + need);
    if (!start)
        return false;
    writer->start = start;
    writer->at = start + used;
    writer->end = start + size + size / 2 + need;
    return true;
}

/* Around each length where the header gets wider, and at 16 MiB. */
TEST(strings_of_edge_lengths_go_there_and_back) {
    static const uint32_t edges[] = {0,  1,  2,  3,   4,   5,   8,     15,    16,
                                     17, 31, 32, 255, 256, 257, 65535, 65536, 16u << 20};
    static void (*const writes[])(struct inro__mp_writer *, const void *,
                                  uint32_t) = {inro__mp_write_str, inro__mp_write_bin, inro__mp_write_symbol};
    static const enum inro__mp_type types[] = {INRO__MP_STR, INRO__MP_BIN, INRO__MP_SYMBOL};
    char *bytes = malloc(16u << 20);
    memset(bytes, 'q', 16u << 20);
    for (size_t i = 0; i < 3 * sizeof edges / sizeof edges[0]; i++) {
        struct inro__mp_writer writer = {.grow = grow_by_half};
        uint32_t length = edges[i / 3];
        writes[i % 3](&writer, bytes, length);
        struct inro__mp_token token = read_all(writer.start, (size_t)(writer.at - writer.start));
        CHECK_INT(token.type, types[i % 3]);
        CHECK_INT(token.length, length);
        CHECK(memcmp(token.as.bytes, bytes, length) == 0);
        free(writer.start);
    }
    free(bytes);
}

TEST(counts) {
    static const uint8_t array16[3 + 300] = {0xdc, 0x01, 0x2c};
    static const uint8_t map16[3 + 600] = {0xde, 0x01, 0x2c};
    CHECK_INT(READ("\x90").type, INRO__MP_ARRAY);
    CHECK_INT(READ("\x90").length, 0);
    CHECK_INT(READ("\x80").type, INRO__MP_MAP);
    CHECK_INT(READ("\x81\x01\x02").length, 1);
    CHECK_INT(READ("\xdd\x00\x00\x00\x02\x01\x02").length, 2);
    CHECK_INT(READ("\xdf\x00\x00\x00\x01\x01\x02").length, 1);
    CHECK_INT(read_all(array16, sizeof array16).length, 300);
    CHECK_INT(read_all(array16, sizeof array16 - 1).type, INRO__MP_BAD);
    CHECK_INT(read_all(map16, sizeof map16).length, 300);
    CHECK_INT(read_all(map16, sizeof map16 - 1).type, INRO__MP_BAD);
}

TEST(counts_that_cannot_be_true_are_refused) {
    CHECK_BAD("\x91");
    CHECK_BAD("\x81\x01");
    CHECK_BAD("\xdd\xff\xff\xff\xff\x01");
    CHECK_BAD("\xdf\xff\xff\xff\xff\x01\x01");
    CHECK_BAD("\xdf\x80\x00\x00\x01\x01\x01");
}

TEST(counts_are_written_narrow) {
    CHECK_WRITES(inro__mp_write_array(w, 0), "\x90");
    CHECK_WRITES(inro__mp_write_array(w, 15), "\x9f");
    CHECK_WRITES(inro__mp_write_array(w, 16), "\xdc\x00\x10");
    CHECK_WRITES(inro__mp_write_array(w, 65535), "\xdc\xff\xff");
    CHECK_WRITES(inro__mp_write_array(w, 65536), "\xdd\x00\x01\x00\x00");
    CHECK_WRITES(inro__mp_write_map(w, 15), "\x8f");
    CHECK_WRITES(inro__mp_write_map(w, 16), "\xde\x00\x10");
    CHECK_WRITES(inro__mp_write_map(w, 65536), "\xdf\x00\x01\x00\x00");
}

TEST(handles) {
    CHECK_INT(READ("\xd6\x01\x00\x00\x00\x01").type, INRO__MP_HANDLE);
    CHECK_INT(READ("\xd6\x01\x00\x00\x00\x01").as.handle, 1);
    CHECK_INT(READ("\xd6\x01\x7f\xff\xff\xff").as.handle, INRO__MP_HANDLE_MAX);
    CHECK_BAD("\xd6\x01\x00\x00\x00\x00");
    CHECK_BAD("\xd6\x01\x80\x00\x00\x00");
    CHECK_BAD("\xd6\x01\xff\xff\xff\xff");
    CHECK_WRITES(inro__mp_write_handle(w, 0x01020304), "\xd6\x01\x01\x02\x03\x04");
}

TEST(everything_else_is_refused) {
    CHECK_BAD("");
    CHECK_BAD("\xc1");
    CHECK_BAD("\xd4\x01x");                    /* a handle of one byte */
    CHECK_BAD("\xc7\x04\x01\x00\x00\x00\x01"); /* a handle that is no fixext */
    CHECK_BAD("\xd6\x02\x00\x00\x00\x01");     /* another extension */
    CHECK_BAD("\xd6\xff\x00\x00\x00\x01");     /* a timestamp */
    CHECK_BAD("\xc7\x00\x05");
    CHECK_BAD("\xc9\xff\xff\xff\xff\x00x");
    CHECK_BAD("\xdb\xff\xff\xff\xffx");
    CHECK_BAD("\xc6\xff\xff\xff\xffx");
}

/* Each message lies at the end of a block of its own, where reading too far is seen. */
TEST(messages_cut_anywhere_are_refused) {
    static const struct {
        size_t length;
        const char *bytes;
    } whole[] = {
        {2, "\xcc\xff"},
        {3, "\xcd\xff\xfe"},
        {5, "\xce\xff\xff\xff\xff"},
        {9, "\xcf\x7f\xff\xff\xff\xff\xff\xff\xff"},
        {9, "\xd3\x80\x00\x00\x00\x00\x00\x00\x00"},
        {9, "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"},
        {5, "\xca\x3f\xf8\x00\x00"},
        {4, "\xa3"
            "abc"},
        {5, "\xd9\x03"
            "abc"},
        {6, "\xda\x00\x03"
            "abc"},
        {8, "\xdb\x00\x00\x00\x03"
            "abc"},
        {8, "\xc6\x00\x00\x00\x03"
            "abc"},
        {6, "\xd6\x00"
            "abcd"},
        {6, "\xc7\x03\x00"
            "abc"},
        {6, "\xd6\x01\x00\x00\x00\x01"},
        {7, "\xdd\x00\x00\x00\x02\x01\x02"},
        {5, "\xde\x00\x01\x01\x02"},
    };
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        CHECK(read_all(whole[i].bytes, whole[i].length).type != INRO__MP_BAD);
        for (size_t cut = 0; cut < whole[i].length; cut++) {
            uint8_t *bytes = malloc(cut ? cut : 1);
            memcpy(bytes, whole[i].bytes, cut);
            CHECK_INT(read_all(bytes, cut).type, INRO__MP_BAD);
            free(bytes);
        }
    }
}

static void write_one_of_each(struct inro__mp_writer *writer) {
    inro__mp_write_array(writer, 9);
    inro__mp_write_nil(writer);
    inro__mp_write_bool(writer, true);
    inro__mp_write_int(writer, -70000);
    inro__mp_write_float(writer, 0.5);
    inro__mp_write_str(writer, "some text", 9);
    inro__mp_write_bin(writer, "bytes", 5);
    inro__mp_write_symbol(writer, "name", 4);
    inro__mp_write_handle(writer, 77);
    inro__mp_write_map(writer, 0);
}

TEST(writers_without_room_fail_and_stay_failed) {
    struct inro__mp_writer writer = new_writer(sizeof memory);
    write_one_of_each(&writer);
    size_t need = (size_t)(writer.at - writer.start);
    for (size_t size = 0; size < need; size++) {
        memset(memory, 0xee, sizeof memory);
        writer = new_writer(size);
        write_one_of_each(&writer);
        CHECK(writer.failed);
        CHECK(writer.at <= writer.end);
        for (size_t i = size; i < need; i++)
            CHECK_INT(memory[i], 0xee);
        uint8_t *at = writer.at;
        writer.end = memory + sizeof memory;
        inro__mp_write_nil(&writer);
        CHECK(writer.at == at);
    }
    writer = new_writer(need);
    write_one_of_each(&writer);
    CHECK(!writer.failed);
}

static bool grow_never(struct inro__mp_writer *writer, size_t need) {
    (void)need;
    ++*(int *)writer->user;
    return false;
}

static bool grow_falsely(struct inro__mp_writer *writer, size_t need) {
    (void)writer;
    (void)need;
    return true;
}

TEST(writers_ask_for_room) {
    int asked = 0;
    struct inro__mp_writer fixed = new_writer(sizeof memory), growing = {.grow = grow_by_half};
    write_one_of_each(&fixed);
    write_one_of_each(&growing);
    CHECK(!growing.failed);
    test_check_bytes(__FILE__, __LINE__, growing.start, (size_t)(growing.at - growing.start), fixed.start,
                     (size_t)(fixed.at - fixed.start));
    free(growing.start);
    struct inro__mp_writer refused = {.grow = grow_never, .user = &asked};
    write_one_of_each(&refused);
    CHECK(refused.failed);
    CHECK_INT(asked, 1);
    struct inro__mp_writer lied_to = {.grow = grow_falsely};
    write_one_of_each(&lied_to);
    CHECK(lied_to.failed);
}

#define CHECK_UTF8(literal, expected) CHECK_INT(inro__utf8_is_valid(literal, sizeof(literal) - 1), expected)

TEST(utf8_edges) {
    CHECK(inro__utf8_is_valid(NULL, 0));
    CHECK_UTF8("plain ASCII text, longer than a word", true);
    CHECK_UTF8("\0\x7f", true);
    CHECK_UTF8("\xc2\x80\xdf\xbf", true);
    CHECK_UTF8("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", true);
    CHECK_UTF8("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", true);
    CHECK_UTF8("\x80", false);
    CHECK_UTF8("\xbf", false);
    CHECK_UTF8("\xc0\x80", false);
    CHECK_UTF8("\xc1\xbf", false);
    CHECK_UTF8("\xe0\x9f\xbf", false);
    CHECK_UTF8("\xed\xa0\x80", false);
    CHECK_UTF8("\xed\xbf\xbf", false);
    CHECK_UTF8("\xf0\x8f\xbf\xbf", false);
    CHECK_UTF8("\xf4\x90\x80\x80", false);
    CHECK_UTF8("\xf5\x80\x80\x80", false);
    CHECK_UTF8("\xff", false);
    CHECK_UTF8("\xc3(", false);
    CHECK_UTF8("\xe2\x82(", false);
    CHECK_UTF8("\xf0\x9f\x98(", false);
    CHECK_UTF8("eight...\x80", false);
    CHECK_UTF8("seven..\x80....", false);
}

/* ASCII is checked in words and in blocks of words: no place in them may be missed. */
TEST(utf8_is_checked_at_every_place) {
    char bytes[200];
    for (size_t length = 1; length <= sizeof bytes; length++)
        for (size_t at = 0; at < length; at++) {
            memset(bytes, 'a', sizeof bytes);
            CHECK(inro__utf8_is_valid(bytes, length));
            bytes[at] = (char)0x80;
            CHECK(!inro__utf8_is_valid(bytes, length));
            bytes[at] = (char)0xc3;
            CHECK(!inro__utf8_is_valid(bytes, length));
            if (at + 1 < length) {
                bytes[at + 1] = (char)0xbc;
                CHECK(inro__utf8_is_valid(bytes, length));
            }
        }
}

TEST(utf8_cut_anywhere_is_refused) {
    static const char text[] = "\xf0\x9f\x98\x80";
    for (size_t length = 1; length < 4; length++) {
        char *bytes = malloc(length);
        memcpy(bytes, text, length);
        CHECK(!inro__utf8_is_valid(bytes, length));
        free(bytes);
    }
}
