/* Values as messages: what decodes, what is refused, that keys are unique, and that nothing is lost on the way.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "value/value.h"

#include <inro/service.h>
#include <stdlib.h>

static void push(inro_value *array, inro_value *item) {
    CHECK_INT(inro_value_array_push(array, item), INRO_OK);
}

static inro_status call(void *user, inro_call *in_flight) {
    return user && in_flight ? INRO_OK : INRO_ERR_SERVICE;
}

enum { OBJECTS = 3 };
static inro_object *objects[OBJECTS];

static inro_object *find(void *user, uint32_t id) {
    return user == objects && id <= OBJECTS ? objects[id - 1] : NULL;
}

static uint32_t add(void *user, inro_object *object) {
    for (uint32_t i = 0; i < OBJECTS && user == objects; i++)
        if (objects[i] == object)
            return i + 1;
    return 0;
}

static const struct inro__handle_map handles = {objects, find, add};

static void make_objects(void) {
    for (int i = 0; i < OBJECTS; i++)
        objects[i] = inro_object_new(call, &objects[i], NULL);
}

static void free_objects(void) {
    for (int i = 0; i < OBJECTS; i++)
        inro_object_unref(objects[i]);
}

static bool grow(struct inro__mp_writer *writer, size_t need) {
    size_t used = (size_t)(writer->at - writer->start), size = (used + need) * 2;
    uint8_t *start = realloc(writer->start, size);
    if (!start)
        return false;
    writer->start = start;
    writer->at = start + used;
    writer->end = start + size;
    return true;
}

static enum inro__decode_status decode(const void *bytes, size_t length, struct inro__arena *arena,
                                       struct inro_value *out) {
    struct inro__mp_reader reader = {bytes, (const uint8_t *)bytes + length};
    inro__arena_init(arena, 512u << 20);
    return inro__value_decode(&reader, arena, &handles, out);
}

static enum inro__decode_status decode_status(const void *bytes, size_t length) {
    struct inro__arena arena;
    struct inro_value value;
    enum inro__decode_status status = decode(bytes, length, &arena, &value);
    if (status != INRO__DECODE_OK)
        CHECK_INT(value.type, INRO_VALUE_NIL);
    inro__arena_done(&arena);
    return status;
}

#define DECODE_STATUS(literal) decode_status(literal, sizeof(literal) - 1)

/* What a message is, as `inspect` shows it. */
static void check_decodes(const void *bytes, size_t length, const char *expected) {
    struct inro__arena arena;
    struct inro_value value;
    char *shown = NULL;
    CHECK_INT(decode(bytes, length, &arena, &value), INRO__DECODE_OK);
    CHECK_INT(inro_value_inspect(&value, &shown, NULL, NULL), INRO_OK);
    CHECK_STR(inro_str_from_c(shown), expected);
    inro_text_free(shown);
    inro__arena_done(&arena);
}

#define CHECK_DECODES(literal, expected) check_decodes(literal, sizeof(literal) - 1, expected)

TEST(messages_are_decoded) {
    CHECK_DECODES("\x93\x01\xa5hello\xc7\x03\x00sym", "[1, \"hello\", :sym]");
    CHECK_DECODES("\x82\xd4\x00\x61\x01\xc0\x90", "{a: 1, nil => []}");
    CHECK_DECODES("\x92\x80\xc4\x02\xff\x00", "[{}, \"\\xFF\\x00\"]");
}

TEST(messages_that_are_not_whole_are_refused) {
    CHECK_INT(DECODE_STATUS(""), INRO__DECODE_BAD);
    CHECK_INT(DECODE_STATUS("\x92\x01"), INRO__DECODE_BAD);
    CHECK_INT(DECODE_STATUS("\x01\x01"), INRO__DECODE_BAD);
    CHECK_INT(DECODE_STATUS("\x90\xc0"), INRO__DECODE_BAD);
    CHECK_INT(DECODE_STATUS("\xc1"), INRO__DECODE_BAD);
    CHECK_INT(DECODE_STATUS("\x81\x01\xc1"), INRO__DECODE_BAD);
}

TEST(names_and_text_must_be_utf8) {
    CHECK_INT(DECODE_STATUS("\xa2\xc3("), INRO__DECODE_BAD);
    CHECK_INT(DECODE_STATUS("\xd5\x00\xc3("), INRO__DECODE_BAD);
    CHECK_INT(DECODE_STATUS("\x91\xa3\xed\xa0\x80"), INRO__DECODE_BAD);
    CHECK_INT(DECODE_STATUS("\xc4\x02\xc3("), INRO__DECODE_OK);
}

TEST(values_follow_each_other) {
    static const uint8_t bytes[] = {0x91, 0x01, 0x02, 0xc1};
    struct inro__mp_reader reader = {bytes, bytes + sizeof bytes};
    struct inro__arena arena;
    struct inro_value value;
    inro__arena_init(&arena, 1000);
    CHECK_INT(inro__value_decode_next(&reader, &arena, NULL, &value), INRO__DECODE_OK);
    CHECK_INT(value.type, INRO_VALUE_ARRAY);
    CHECK_INT(inro__value_decode_next(&reader, &arena, NULL, &value), INRO__DECODE_OK);
    CHECK_INT(value.as.number, 2);
    CHECK_INT(inro__value_decode_next(&reader, &arena, NULL, &value), INRO__DECODE_BAD);
    inro__arena_done(&arena);
}

TEST(handles_become_objects) {
    make_objects();
    struct inro__arena arena;
    struct inro_value value;
    CHECK_INT(decode("\x91\xd6\x01\x00\x00\x00\x02", 7, &arena, &value), INRO__DECODE_OK);
    CHECK(inro_value_get_object(inro_value_array_at(&value, 0)) == objects[1]);
    inro_value *kept = inro_value_copy(&value);
    inro__arena_done(&arena);
    free_objects();
    CHECK(inro_object_user(inro_value_get_object(inro_value_array_at(kept, 0)), call) == &objects[1]);
    inro_value_free(kept);
}

TEST(handles_that_are_not_live_are_refused) {
    make_objects();
    CHECK_INT(DECODE_STATUS("\xd6\x01\x00\x00\x00\x04"), INRO__DECODE_HANDLE);
    CHECK_INT(DECODE_STATUS("\xd6\x01\x7f\xff\xff\xff"), INRO__DECODE_HANDLE);
    CHECK_INT(DECODE_STATUS("\xd6\x01\x00\x00\x00\x00"), INRO__DECODE_BAD);
    CHECK_INT(DECODE_STATUS("\xd6\x01\x80\x00\x00\x00"), INRO__DECODE_BAD);
    struct inro__mp_reader reader = {(const uint8_t *)"\xd6\x01\x00\x00\x00\x01", NULL};
    reader.end = reader.at + 6;
    struct inro__arena arena;
    struct inro_value value;
    inro__arena_init(&arena, 100);
    CHECK_INT(inro__value_decode(&reader, &arena, NULL, &value), INRO__DECODE_HANDLE);
    free_objects();
}

TEST(objects_without_a_handle_are_not_sent) {
    uint8_t memory[64];
    inro_object *stranger = inro_object_new(call, NULL, NULL);
    inro_value *array = inro_value_new_array();
    push(array, inro_value_new_object(stranger));
    struct inro__mp_writer writer = {.start = memory, .at = memory, .end = memory + sizeof memory};
    CHECK_INT(inro__value_encode(array, &writer, &handles), INRO__ENCODE_HANDLES);
    CHECK_INT(inro__value_encode(array, &writer, NULL), INRO__ENCODE_HANDLES);
    inro_value_free(array);
    inro_object_unref(stranger);
}

static int asked;

static uint32_t count_and_refuse(void *user, inro_object *object) {
    (void)user;
    (void)object;
    asked++;
    return 0;
}

/* Going on would give out handles for a message that is never sent. */
TEST(encoding_ends_at_the_first_failure) {
    uint8_t memory[64];
    const struct inro__handle_map refusing = {NULL, find, count_and_refuse};
    inro_object *object = inro_object_new(call, NULL, NULL);
    inro_value *array = inro_value_new_array();
    push(array, inro_value_new_object(object));
    push(array, inro_value_new_object(object));
    struct inro__mp_writer writer = {.start = memory, .at = memory, .end = memory + sizeof memory};
    CHECK_INT(inro__value_encode(array, &writer, &refusing), INRO__ENCODE_HANDLES);
    CHECK_INT(asked, 1);
    writer = (struct inro__mp_writer){.start = memory, .at = memory, .end = memory};
    CHECK_INT(inro__value_encode(array, &writer, &refusing), INRO__ENCODE_FULL);
    CHECK_INT(asked, 1);
    inro_value_free(array);
    inro_object_unref(object);
}

TEST(writers_that_are_full_say_so) {
    uint8_t memory[4];
    inro_value *value = inro_value_new_text(INRO_STR("five!"));
    struct inro__mp_writer writer = {.start = memory, .at = memory, .end = memory + sizeof memory};
    CHECK_INT(inro__value_encode(value, &writer, NULL), INRO__ENCODE_FULL);
    inro_value_free(value);
}

static void check_depth(int brackets, const char *innermost, enum inro__decode_status expected) {
    uint8_t *bytes = malloc((size_t)brackets + 1);
    memset(bytes, 0x91, (size_t)brackets);
    bytes[brackets] = (uint8_t)innermost[0];
    CHECK_INT(decode_status(bytes, (size_t)brackets + 1), expected);
    free(bytes);
}

TEST(depth_is_bounded_when_decoding) {
    check_depth(127, "\x01", INRO__DECODE_OK);
    check_depth(128, "\x01", INRO__DECODE_OK);
    check_depth(128, "\x90", INRO__DECODE_OK);
    check_depth(129, "\x01", INRO__DECODE_DEPTH);
    check_depth(129, "\x90", INRO__DECODE_DEPTH);
    check_depth(1000000, "\x01", INRO__DECODE_DEPTH);
}

TEST(depth_is_bounded_in_maps_too) {
    uint8_t bytes[300];
    for (int depth = 127; depth <= 129; depth++) {
        for (int i = 0; i < depth; i++) {
            bytes[2 * i] = 0x81;
            bytes[2 * i + 1] = 0x01;
        }
        bytes[2 * depth] = 0xc0;
        CHECK_INT(decode_status(bytes, 2 * (size_t)depth + 1),
                  depth <= 128 ? INRO__DECODE_OK : INRO__DECODE_DEPTH);
    }
}

/* Each of the headers promises as many items as there are bytes left: together far more than there are. */
TEST(promises_are_added_up) {
    size_t length = 1 << 20;
    uint8_t *bytes = calloc(length, 1);
    for (size_t i = 0; i < 100; i++) {
        uint32_t count = (uint32_t)(length - 500);
        uint8_t header[] = {0xdd, (uint8_t)(count >> 24), (uint8_t)(count >> 16), (uint8_t)(count >> 8),
                            (uint8_t)count};
        memcpy(bytes + 5 * i, header, sizeof header);
    }
    struct inro__arena arena;
    struct inro_value value;
    CHECK_INT(decode(bytes, length, &arena, &value), INRO__DECODE_BAD);
    CHECK(arena.total <= length * sizeof(struct inro_value));
    inro__arena_done(&arena);
    free(bytes);
}

TEST(arenas_that_are_full_say_so) {
    static const uint8_t bytes[] = {0x93, 0x91, 0x01, 0x91, 0x02, 0x91, 0x03};
    for (size_t max = 0; max < 6 * sizeof(struct inro_value); max++) {
        struct inro__mp_reader reader = {bytes, bytes + sizeof bytes};
        struct inro__arena arena;
        struct inro_value value;
        inro__arena_init(&arena, max);
        CHECK_INT(inro__value_decode(&reader, &arena, NULL, &value), INRO__DECODE_SIZE);
        inro__arena_done(&arena);
    }
}

/* --- Keys are unique --- */

TEST(of_equal_keys_the_first_gives_the_place_the_last_the_value) {
    CHECK_DECODES("\x84\xa1\x61\x01\xa1\x62\x02\xa1\x61\x03\xd4\x00\x61\x04", "{\"a\" => 3, \"b\" => 2, a: 4}");
    CHECK_DECODES("\x83\xc0\x01\xc0\x02\xc0\x03", "{nil => 3}");
    CHECK_DECODES("\x82\x01\x02\xd3\x00\x00\x00\x00\x00\x00\x00\x01\x03", "{1 => 3}");
    CHECK_DECODES("\x82\xca\x3f\x80\x00\x00\x01\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\x02", "{1.0 => 2}");
    CHECK_DECODES("\x82\x91\x01\x02\x91\x01\x03", "{[1] => 3}");
    CHECK_DECODES("\x82\x01\x02\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\x02", "{1 => 2, 1.0 => 2}");
}

TEST(map_keys_are_equal_in_any_order_and_keep_theirs) {
    CHECK_DECODES("\x82\x82\x03\x04\x01\x02\x0a\x82\x01\x02\x03\x04\x0b", "{{3 => 4, 1 => 2} => 11}");
    CHECK_DECODES("\x81\x82\x03\x04\x01\x02\x0a", "{{3 => 4, 1 => 2} => 10}");
    CHECK_DECODES("\x82\x83\x01\x02\x03\x04\x01\x02\x0a\x82\x03\x04\x01\x02\x0b", "{{1 => 2, 3 => 4} => 11}");
    CHECK_DECODES("\x82\x91\x82\x03\x04\x01\x02\x0a\x91\x82\x01\x02\x03\x04\x0b", "{[{3 => 4, 1 => 2}] => 11}");
}

/* Pseudo-random numbers that are the same in every run. */
static uint64_t seed;

static uint32_t draw(uint32_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

/* Against the plain way of doing it: look for the key among all before. */
TEST(many_repeated_keys_are_dropped) {
    enum { PAIRS = 2000, KEYS = 500 };
    uint8_t bytes[3 + PAIRS * 6], *at = bytes;
    uint32_t order[KEYS], values[KEYS], kept = 0;
    bool seen[KEYS] = {false};
    memcpy(at, "\xde\x07\xd0", 3);
    at += 3;
    for (uint32_t i = 0; i < PAIRS; i++) {
        uint32_t key = draw(KEYS);
        uint8_t pair[] = {0xcd, (uint8_t)(key >> 8), (uint8_t)key, 0xcd, (uint8_t)(i >> 8), (uint8_t)i};
        memcpy(at, pair, sizeof pair);
        at += sizeof pair;
        if (!seen[key])
            order[kept++] = key;
        seen[key] = true;
        values[key] = i;
    }
    struct inro__arena arena;
    struct inro_value map;
    CHECK_INT(decode(bytes, (size_t)(at - bytes), &arena, &map), INRO__DECODE_OK);
    CHECK_INT(map.length, kept);
    for (size_t i = 0; i < kept; i++) {
        CHECK_INT(inro_value_get_int(inro_value_map_key_at(&map, i)), order[i]);
        CHECK_INT(inro_value_get_int(inro_value_map_value_at(&map, i)), values[order[i]]);
    }
    inro__arena_done(&arena);
}

/* Comparing each key with each would take hours here. */
TEST(a_million_keys_are_no_attack) {
    enum { PAIRS = 1000000 };
    uint8_t *bytes = malloc(5 + PAIRS * 12), *at = bytes + 5;
    memcpy(bytes, "\xdf\x00\x0f\x42\x40", 5);
    for (uint32_t i = 0; i < PAIRS; i++) {
        memcpy(at, "\xa9prefix", 7);
        for (int digit = 0; digit < 3; digit++)
            at[7 + digit] = (uint8_t)('0' + (i * 7919u >> (7 * digit) & 0x3f));
        at[10] = (uint8_t)(i % 100);
        at += 11;
    }
    struct inro__arena arena;
    struct inro_value map;
    CHECK_INT(decode(bytes, (size_t)(at - bytes), &arena, &map), INRO__DECODE_OK);
    CHECK(map.length > 1000 && map.length <= PAIRS);
    inro_value *copy = inro_value_copy(&map);
    CHECK(inro_value_equals(copy, &map));
    inro_value_free(copy);
    inro__arena_done(&arena);
    free(bytes);
}

/* --- There and back --- */

static inro_value *random_value(unsigned level);

static inro_value *random_string(uint32_t kind) {
    static const char *const pieces[] = {"a", "\xc3\xa9", "\xf0\x9f\x98\x80", "", "\"", "\n", "#{", "_1"};
    char bytes[128] = "";
    for (uint32_t i = draw(12); i > 0; i--)
        strcat(bytes, pieces[draw(8)]);
    inro_str view = inro_str_from_c(bytes);
    if (kind == INRO_VALUE_TEXT)
        return inro_value_new_text(view);
    if (kind == INRO_VALUE_SYMBOL)
        return inro_value_new_symbol(view);
    return inro_value_new_bytes((inro_bytes){(const uint8_t *)view.data, view.length});
}

static inro_value *random_float(void) {
    static const double edges[] = {0.0, -0.0, 1.0, 0.1, 1e300, -5e-324};
    uint64_t bits = (uint64_t)draw(UINT32_MAX) << 33 ^ seed;
    double real;
    memcpy(&real, &bits, sizeof real);
    return inro_value_new_float(draw(2) ? edges[draw(6)] : real);
}

static inro_value *random_container(uint32_t kind, unsigned level) {
    inro_value *value = kind == INRO_VALUE_MAP ? inro_value_new_map() : inro_value_new_array();
    for (uint32_t i = draw(draw(20) ? 7 : 40); i > 0; i--) {
        if (kind == INRO_VALUE_ARRAY)
            push(value, random_value(level + 1));
        else
            CHECK_INT(inro_value_map_put(value, random_value(level + 3), random_value(level + 1)), INRO_OK);
    }
    return value;
}

static inro_value *random_value(unsigned level) {
    uint32_t kind = draw(level < 5 ? 10 : 7);
    if (kind == INRO_VALUE_NIL)
        return inro_value_new_nil();
    if (kind == INRO_VALUE_BOOL)
        return inro_value_new_bool(draw(2));
    if (kind == INRO_VALUE_INT)
        return inro_value_new_int((int64_t)(seed * 3) >> draw(64));
    if (kind == INRO_VALUE_FLOAT)
        return random_float();
    if (kind < INRO_VALUE_ARRAY)
        return random_string(kind);
    if (kind == INRO_VALUE_OBJECT)
        return inro_value_new_object(objects[draw(OBJECTS)]);
    return random_container(kind, level);
}

static void check_there_and_back(const inro_value *value) {
    struct inro__mp_writer first = {.grow = grow}, second = {.grow = grow};
    struct inro__arena arena;
    struct inro_value again;
    CHECK_INT(inro__value_encode(value, &first, &handles), INRO__ENCODE_OK);
    CHECK_INT(decode(first.start, (size_t)(first.at - first.start), &arena, &again), INRO__DECODE_OK);
    CHECK(inro_value_equals(value, &again));
    CHECK(inro_value_equals(&again, value));
    CHECK(again.depth <= value->depth);
    inro_value *copy = inro_value_copy(&again);
    CHECK(inro_value_equals(copy, value));
    CHECK_INT(inro__value_encode(copy, &second, &handles), INRO__ENCODE_OK);
    CHECK(second.at - second.start <= first.at - first.start);
    inro_value_free(copy);
    inro__arena_done(&arena);
    free(first.start);
    free(second.start);
}

TEST(random_values_go_there_and_back) {
    make_objects();
    for (int i = 0; i < 3000; i++) {
        inro_value *value = random_value(0);
        check_there_and_back(value);
        inro_value_free(value);
    }
    free_objects();
}

TEST(big_strings_go_there_and_back) {
    size_t length = INRO_MESSAGE_BYTES_MAX - 5;
    char *bytes = malloc(length);
    memset(bytes, 'b', length);
    inro_value *value = inro_value_new_text((inro_str){bytes, length});
    CHECK_INT(inro_value_get_type(value), INRO_VALUE_TEXT);
    check_there_and_back(value);
    inro_value_free(value);
    free(bytes);
}

/* --- A full arena --- */

static enum inro__decode_status decode_within(const void *bytes, size_t length, size_t max) {
    struct inro__mp_reader reader = {bytes, (const uint8_t *)bytes + length};
    struct inro__arena arena;
    struct inro_value value;
    inro__arena_init(&arena, max);
    enum inro__decode_status status = inro__value_decode(&reader, &arena, NULL, &value);
    if (status != INRO__DECODE_OK)
        CHECK_INT(value.type, INRO_VALUE_NIL);
    inro__arena_done(&arena);
    return status;
}

TEST(a_full_arena_is_no_want_of_memory) {
    static const char array[] = "\x92\x92\x01\x02\x03";
    const size_t node = sizeof(struct inro_value);
    CHECK_INT(decode_within(array, sizeof array - 1, 4 * node), INRO__DECODE_OK);
    CHECK_INT(decode_within(array, sizeof array - 1, 4 * node - 1), INRO__DECODE_SIZE);
    CHECK_INT(decode_within(array, sizeof array - 1, 0), INRO__DECODE_SIZE);
    CHECK_INT(decode_within("\x81\x01\x02", 3, 0), INRO__DECODE_SIZE);
    CHECK_INT(decode_within("\x05", 1, 0), INRO__DECODE_OK);
}

/* --- Without memory --- */

static size_t calls, most_calls;

static void *failing_resize(void *user, void *old, size_t old_size, size_t new_size) {
    (void)user;
    (void)old_size;
    if (new_size == 0) {
        free(old);
        return NULL;
    }
    return calls++ < most_calls ? realloc(old, new_size) : NULL;
}

/* With one allocation more each time. That the allocator can be set again says that all was given back. */
TEST(decoding_survives_without_memory) {
    static uint8_t bytes[3 + 2000 * 4];
    enum inro__decode_status status = INRO__DECODE_MEMORY;
    memcpy(bytes, "\xdc\x07\xd0", 3);
    for (size_t i = 0; i < 2000; i++)
        memcpy(bytes + 3 + 4 * i, "\x81\x01\x91\x02", 4);
    for (most_calls = 0; status == INRO__DECODE_MEMORY; most_calls++) {
        struct inro__arena arena;
        struct inro_value value;
        calls = 0;
        CHECK_INT(inro_set_allocator(failing_resize, NULL, NULL), INRO_OK);
        status = decode(bytes, sizeof bytes, &arena, &value);
        inro__arena_done(&arena);
    }
    CHECK_INT(status, INRO__DECODE_OK);
    CHECK(most_calls > 3);
}
