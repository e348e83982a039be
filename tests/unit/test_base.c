/* The base layer: statuses, errors, the allocator's hook, buffers, arenas, UTF-8.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/utf8.h"
#include "harness.h"

#include <stdlib.h>

TEST(statuses_have_names_and_texts) {
    static const struct {
        inro_status status;
        const char *name, *text;
    } expected[] = {
#define EXPECTED(name, number, text) {number, #name, text},
        INRO_STATUS_MAP(EXPECTED)
#undef EXPECTED
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        CHECK_STR(inro_str_from_c(inro_status_name(expected[i].status)), expected[i].name);
        CHECK_STR(inro_str_from_c(inro_status_text(expected[i].status)), expected[i].text);
    }
    CHECK_INT(INRO_ERR_TRAP, -13);
}

TEST(statuses_that_are_none_are_unknown) {
    static const inro_status none[] = {1, -14, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < 4; i++) {
        CHECK_STR(inro_str_from_c(inro_status_name(none[i])), "UNKNOWN");
        CHECK_STR(inro_str_from_c(inro_status_text(none[i])), "unknown status");
    }
}

TEST(the_version_is_the_headers) {
    CHECK_STR(inro_str_from_c(inro_version()), INRO_VERSION);
}

TEST(views_of_c_strings) {
    CHECK(inro_str_from_c(NULL).data == NULL);
    CHECK_INT(inro_str_from_c(NULL).length, 0);
    CHECK(inro_str_from_c("").data != NULL);
    CHECK_STR(inro_str_from_c("abc"), "abc");
}

static inro_str message(const inro_error *err) {
    return inro_str_from_c(err->message);
}

TEST(errors_are_filled) {
    inro_error err;
    CHECK_INT(sizeof err, 256);
    CHECK_INT(inro__fail(&err, INRO_ERR_SYSTEM, 5, "open %s", "x"), INRO_ERR_SYSTEM);
    CHECK_INT(err.status, INRO_ERR_SYSTEM);
    CHECK_INT(err.os_error, 5);
    CHECK_STR(message(&err), "open x");
    CHECK_INT(inro__fail(NULL, INRO_ERR_LIMIT, 0, "nobody asks"), INRO_ERR_LIMIT);
    CHECK_INT(inro__wrap(NULL, INRO_ERR_LIMIT, "nobody asks"), INRO_ERR_LIMIT);
}

TEST(errors_are_wrapped_from_the_inside_out) {
    inro_error err;
    inro__fail(&err, INRO_ERR_TYPE, 7, "cause");
    CHECK_INT(inro__wrap(&err, INRO_ERR_SERVICE, "item %d", 3), INRO_ERR_SERVICE);
    inro__wrap(&err, INRO_ERR_SERVICE, "list");
    CHECK_INT(err.status, INRO_ERR_SERVICE);
    CHECK_INT(err.os_error, 7);
    CHECK_STR(message(&err), "list: item 3: cause");
}

static bool is_utf8(const char *text) {
    const uint8_t *at = (const uint8_t *)text, *end = at + strlen(text);
    uint32_t code;
    for (size_t step = 1; at != end && step > 0; at += step)
        step = inro__utf8_next(at, end, &code);
    return at == end;
}

/* Causes of every length move the place where the context is cut over all bytes of its characters. */
TEST(errors_keep_the_cause_when_the_context_is_long) {
    static const char cause[] = "0123456789abcdef";
    for (size_t length = 0; length < sizeof cause; length++) {
        inro_error err;
        inro__fail(&err, INRO_ERR_TYPE, 0, "%.*s", (int)length, cause);
        for (int i = 0; i < 100; i++)
            inro__wrap(&err, INRO_ERR_TYPE, "context \xf0\x9f\x98\x80\xc3\xa9");
        size_t end = strlen(err.message);
        CHECK(end > 236 && end < sizeof err.message);
        CHECK(memcmp(err.message + end - length, cause, length) == 0);
        CHECK(memcmp(err.message + end - length - 2, ": ", 2) == 0);
        CHECK(is_utf8(err.message));
    }
}

TEST(errors_are_cut_between_characters) {
    char text[500];
    inro_error err;
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', shift);
        for (size_t at = shift; at + 4 < sizeof text; at += 4)
            memcpy(text + at, "\xf0\x9f\x98\x80", 5);
        inro__fail(&err, INRO_ERR_TYPE, 0, "%s", text);
        size_t length = strlen(err.message);
        CHECK_INT(length, shift + (247 - shift) / 4 * 4);
        CHECK(strchr(err.message, '?') == NULL);
    }
}

TEST(errors_are_one_printable_line) {
    inro_error err;
    inro__fail(&err, INRO_ERR_TYPE, 0, "a\nb\x1b[31m\x7f\xff\xc3(\xe2\x80\xae\xc2\x9b\xc3\xa9");
    CHECK_STR(message(&err), "a?b?[31m???"
                             "(??"
                             "\xc3\xa9");
}

/* Counts what is alive and fails from a chosen call on; the old sizes must be true. */
static struct {
    size_t blocks, bytes, calls, most_calls;
} account;

static void *counting_resize(void *user, void *old, size_t old_size, size_t new_size) {
    CHECK(user == &account);
    CHECK((old == NULL) == (old_size == 0));
    if (new_size == 0) {
        account.blocks -= 1;
        account.bytes -= old_size;
        free(old);
        return NULL;
    }
    if (account.calls++ >= account.most_calls)
        return NULL;
    void *block = realloc(old, new_size);
    account.blocks += old == NULL;
    account.bytes += new_size - old_size;
    return block;
}

static void count_allocations(size_t most_calls) {
    memset(&account, 0, sizeof account);
    account.most_calls = most_calls;
    CHECK_INT(inro_set_allocator(counting_resize, &account, NULL), INRO_OK);
}

TEST(the_hook_is_told_true_sizes) {
    count_allocations(SIZE_MAX);
    uint8_t *block = inro__alloc_zero(100);
    for (int i = 0; i < 100; i++)
        CHECK_INT(block[i], 0);
    CHECK_INT(account.bytes, 100);
    block = inro__resize(block, 100, 250);
    CHECK_INT(account.bytes, 250);
    CHECK_INT(account.blocks, 1);
    inro__free(block, 250);
    inro__free(NULL, 0);
    CHECK_INT(account.bytes, 0);
    CHECK_INT(account.blocks, 0);
}

TEST(the_hook_is_sealed_while_blocks_live) {
    inro_error err;
    void *block = inro__alloc(8);
    CHECK_INT(inro_set_allocator(counting_resize, &account, &err), INRO_ERR_SEALED);
    CHECK_INT(err.status, INRO_ERR_SEALED);
    inro__free(block, 8);
    count_allocations(SIZE_MAX);
    block = inro__resize(NULL, 0, 8);
    CHECK_INT(account.blocks, 1);
    CHECK_INT(inro_set_allocator(NULL, NULL, NULL), INRO_ERR_SEALED);
    inro__free(block, 8);
    CHECK_INT(inro_set_allocator(NULL, NULL, NULL), INRO_OK);
    inro__free(inro__alloc(8), 8);
    CHECK_INT(account.calls, 1);
}

TEST(failed_allocations_are_not_counted_as_live) {
    count_allocations(0);
    CHECK(inro__alloc(8) == NULL);
    CHECK(inro__alloc_zero(8) == NULL);
    CHECK(inro__resize(NULL, 0, 8) == NULL);
    CHECK_INT(inro_set_allocator(NULL, NULL, NULL), INRO_OK);
}

TEST(buffers_grow_to_their_maximum) {
    struct inro__buf buf;
    inro__buf_init(&buf, 1000);
    for (int i = 0; i < 1000; i++)
        CHECK_INT(inro__buf_append(&buf, &(char){(char)i}, 1), INRO_OK);
    CHECK_INT(inro__buf_append(&buf, "x", 1), INRO_ERR_LIMIT);
    CHECK_INT(inro__buf_reserve(&buf, SIZE_MAX), INRO_ERR_LIMIT);
    CHECK_INT(inro__buf_append(&buf, NULL, 0), INRO_OK);
    CHECK_INT(buf.length, 1000);
    CHECK(buf.capacity <= buf.max);
    for (int i = 0; i < 1000; i++)
        CHECK_INT(buf.data[i], (uint8_t)i);
    inro__buf_done(&buf);
    CHECK_INT(buf.length, 0);
    CHECK_INT(inro__buf_append(&buf, "again", 5), INRO_OK);
    inro__buf_done(&buf);
}

TEST(buffers_grow_geometrically) {
    struct inro__buf buf;
    count_allocations(SIZE_MAX);
    inro__buf_init(&buf, SIZE_MAX);
    for (int i = 0; i < 100000; i++)
        CHECK_INT(inro__buf_append(&buf, "x", 1), INRO_OK);
    CHECK(account.calls < 40);
    inro__buf_done(&buf);
    CHECK_INT(account.bytes, 0);
}

TEST(buffers_keep_their_content_without_memory) {
    struct inro__buf buf;
    count_allocations(1);
    inro__buf_init(&buf, 1 << 20);
    CHECK_INT(inro__buf_append(&buf, "abc", 3), INRO_OK);
    CHECK_INT(inro__buf_reserve(&buf, 4096), INRO_ERR_MEMORY);
    CHECK_STR(buf, "abc");
    CHECK(inro__buf_take_text(&buf) == NULL);
    CHECK_INT(account.blocks, 0);
}

TEST(buffers_give_text_away) {
    struct inro__buf buf;
    count_allocations(SIZE_MAX);
    inro__buf_init(&buf, 100);
    CHECK_INT(inro__buf_append(&buf, "te\0xt", 5), INRO_OK);
    char *text = inro__buf_take_text(&buf);
    CHECK(memcmp(text, "te\0xt", 6) == 0);
    CHECK_INT(buf.length, 0);
    CHECK_INT(account.blocks, 1);
    inro_text_free(text);
    text = inro__buf_take_text(&buf);
    CHECK_STR(inro_str_from_c(text), "");
    inro_text_free(text);
    inro_text_free(NULL);
    CHECK_INT(account.bytes, 0);
    CHECK_INT(account.blocks, 0);
}

TEST(arenas_hand_out_aligned_blocks_that_stay) {
    struct inro__arena arena;
    uint8_t *blocks[500];
    inro__arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < 500; i++) {
        blocks[i] = inro__arena_alloc(&arena, i + 1);
        CHECK((uintptr_t)blocks[i] % 8 == 0);
        memset(blocks[i], (int)i, i + 1);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t at = 0; at <= i; at++)
            CHECK_INT(blocks[i][at], (uint8_t)i);
    inro__arena_done(&arena);
    CHECK_INT(arena.total, 0);
}

TEST(arenas_never_pass_their_maximum) {
    struct inro__arena arena;
    inro__arena_init(&arena, 64);
    CHECK(inro__arena_alloc(&arena, 65) == NULL);
    CHECK(inro__arena_alloc(&arena, SIZE_MAX) == NULL);
    CHECK(inro__arena_alloc(&arena, SIZE_MAX - 7) == NULL);
    CHECK(inro__arena_alloc(&arena, 57) != NULL);
    CHECK_INT(arena.total, 64);
    CHECK(inro__arena_alloc(&arena, 1) == NULL);
    inro__arena_reset(&arena);
    CHECK(inro__arena_alloc(&arena, 64) != NULL);
    inro__arena_done(&arena);
    inro__arena_init(&arena, SIZE_MAX);
    CHECK(inro__arena_alloc(&arena, SIZE_MAX - 8) == NULL);
    inro__arena_done(&arena);
}

TEST(arenas_keep_one_chunk_over_a_reset) {
    struct inro__arena arena;
    count_allocations(SIZE_MAX);
    inro__arena_init(&arena, SIZE_MAX);
    for (int i = 0; i < 1000; i++)
        CHECK(inro__arena_alloc(&arena, 1000) != NULL);
    CHECK(account.blocks > 3 && account.blocks < 30);
    inro__arena_reset(&arena);
    CHECK_INT(account.blocks, 1);
    CHECK(account.bytes <= 64 * 1024);
    size_t calls = account.calls;
    CHECK(inro__arena_alloc(&arena, 1000) != NULL);
    CHECK_INT(account.calls, calls);
    inro__arena_done(&arena);
    CHECK_INT(account.bytes, 0);
}

TEST(arenas_let_huge_blocks_go_at_a_reset) {
    struct inro__arena arena;
    count_allocations(SIZE_MAX);
    inro__arena_init(&arena, SIZE_MAX);
    CHECK(inro__arena_alloc(&arena, 10 << 20) != NULL);
    inro__arena_reset(&arena);
    CHECK_INT(account.blocks, 0);
    account.most_calls = 0;
    CHECK(inro__arena_alloc(&arena, 8) == NULL);
    inro__arena_done(&arena);
}

TEST(utf8_goes_there_and_back) {
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        uint8_t bytes[4];
        uint32_t read = UINT32_MAX;
        if (code == 0xd800)
            code = 0xe000;
        size_t length = inro__utf8_put(code, bytes);
        if (inro__utf8_next(bytes, bytes + length, &read) != length || read != code)
            CHECK_INT(read, code);
        if (length > 1)
            CHECK_INT(inro__utf8_next(bytes, bytes + length - 1, &read), 0);
    }
}

TEST(printable_is_what_people_see) {
    static const uint32_t seen[] = {' ', 'a', '~', 0xa0, 0xe9, 0x20ac, 0x1f600, 0xfffd};
    static const uint32_t unseen[] = {0,      '\n',   0x1b,   0x7f,    0x85,   0x9f,     0x200b, 0x202e,
                                      0x2028, 0x2066, 0xfeff, 0xe0001, 0xe000, 0x10ffff, 0xffff};
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++)
        if (!inro__utf8_is_printable(seen[i]))
            CHECK_INT(seen[i], -1);
    for (size_t i = 0; i < sizeof unseen / sizeof unseen[0]; i++)
        if (inro__utf8_is_printable(unseen[i]))
            CHECK_INT(unseen[i], -1);
}
