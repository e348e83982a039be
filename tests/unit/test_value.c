/* Values and objects: trees that are made, read, copied, compared, sent and received, with and without memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "value/value.h"

#include <inro/service.h>
#include <math.h>
#include <stdlib.h>

static inro_value *text(const char *literal) {
    return inro_value_new_text(inro_str_from_c(literal));
}

static inro_value *symbol(const char *literal) {
    return inro_value_new_symbol(inro_str_from_c(literal));
}

static void put(inro_value *map, inro_value *key, inro_value *value) {
    CHECK_INT(inro_value_map_put(map, key, value), INRO_OK);
}

static void push(inro_value *array, inro_value *item) {
    CHECK_INT(inro_value_array_push(array, item), INRO_OK);
}

/* --- Reading --- */

TEST(scalars_are_read) {
    inro_value *values[] = {inro_value_new_nil(), inro_value_new_bool(true), inro_value_new_int(INT64_MIN),
                            inro_value_new_float(2.5)};
    static const char *const names[] = {"nil", "bool", "int", "float"};
    for (int i = 0; i < 4; i++) {
        CHECK_INT(inro_value_get_type(values[i]), i);
        CHECK_STR(inro_str_from_c(inro_value_type_name((inro_value_type)i)), names[i]);
        CHECK_INT(inro_value_length(values[i]), 0);
        CHECK(inro_value_get_text(values[i]).data == NULL);
        CHECK(inro_value_array_at(values[i], 0) == NULL);
    }
    CHECK(inro_value_get_bool(values[1]) && !inro_value_get_bool(values[2]));
    CHECK_INT(inro_value_get_int(values[2]), INT64_MIN);
    CHECK_INT(inro_value_get_int(values[3]), 0);
    CHECK(inro_value_get_float(values[3]) == 2.5);
    CHECK(inro_value_get_float(values[2]) == -9223372036854775808.0);
    CHECK(inro_value_get_float(values[1]) == 0);
    for (int i = 0; i < 4; i++)
        inro_value_free(values[i]);
}

TEST(null_reads_as_nil) {
    CHECK_INT(inro_value_get_type(NULL), INRO_VALUE_NIL);
    CHECK(!inro_value_get_bool(NULL));
    CHECK_INT(inro_value_get_int(NULL), 0);
    CHECK(inro_value_get_text(NULL).data == NULL);
    CHECK(inro_value_get_bytes(NULL).data == NULL);
    CHECK(inro_value_get_object(NULL) == NULL);
    CHECK_INT(inro_value_length(NULL), 0);
    CHECK(inro_value_map_get(NULL, INRO_STR("a")) == NULL);
    CHECK(inro_value_map_key_at(NULL, 0) == NULL);
    CHECK(inro_value_map_value_at(NULL, 0) == NULL);
    inro_value *nil = inro_value_new_nil(), *copy = inro_value_copy(NULL);
    CHECK(inro_value_equals(NULL, NULL) && inro_value_equals(nil, NULL) && inro_value_equals(NULL, copy));
    inro_value_free(nil);
    inro_value_free(copy);
    inro_value_free(NULL);
}

TEST(types_that_are_none_have_no_name) {
    CHECK_STR(inro_str_from_c(inro_value_type_name((inro_value_type)10)), "unknown");
    CHECK_STR(inro_str_from_c(inro_value_type_name(INRO_VALUE_OBJECT)), "object");
}

TEST(strings_are_copied) {
    char bytes[] = "a\0b";
    inro_value *made = inro_value_new_text((inro_str){bytes, 3});
    bytes[0] = 'x';
    CHECK_INT(inro_value_length(made), 3);
    CHECK(memcmp(inro_value_get_text(made).data, "a\0b", 3) == 0);
    CHECK(inro_value_get_bytes(made).length == 3);
    inro_value_free(made);
}

TEST(empty_strings_are_given) {
    inro_value *made[] = {text(""), symbol(""), inro_value_new_bytes((inro_bytes){NULL, 0}), text(NULL)};
    for (int i = 0; i < 4; i++) {
        CHECK(inro_value_get_bytes(made[i]).data != NULL);
        CHECK_INT(inro_value_length(made[i]), 0);
        inro_value_free(made[i]);
    }
}

TEST(text_that_is_not_utf8_becomes_bytes) {
    inro_value *made = text("\xc3(");
    CHECK_INT(inro_value_get_type(made), INRO_VALUE_BYTES);
    CHECK(inro_value_get_text(made).data == NULL);
    CHECK_STR(inro_value_get_bytes(made), "\xc3(");
    inro_value_free(made);
    CHECK(symbol("\xc3(") == NULL);
}

TEST(views_that_lie_are_refused) {
    CHECK(inro_value_new_text((inro_str){NULL, 5}) == NULL);
    CHECK(inro_value_new_bytes((inro_bytes){NULL, 5}) == NULL);
    CHECK(inro_value_new_symbol((inro_str){NULL, 5}) == NULL);
#if SIZE_MAX > UINT32_MAX
    CHECK(inro_value_new_bytes((inro_bytes){(const uint8_t *)"", (size_t)UINT32_MAX + 1}) == NULL);
#endif
}

TEST(every_nan_is_the_same) {
    uint64_t bits = 0xfff80000deadbeefu;
    double payload;
    memcpy(&payload, &bits, sizeof payload);
    inro_value *made = inro_value_new_float(payload), *plain = inro_value_new_float((double)NAN);
    double real = inro_value_get_float(made);
    memcpy(&bits, &real, sizeof bits);
    CHECK(bits == 0x7ff8000000000000u);
    CHECK(inro_value_equals(made, plain));
    inro_value_free(made);
    inro_value_free(plain);
}

TEST(arrays_are_read_by_index) {
    inro_value *array = inro_value_new_array();
    for (int i = 0; i < 1000; i++)
        push(array, inro_value_new_int(i));
    CHECK_INT(inro_value_length(array), 1000);
    for (size_t i = 0; i < 1000; i++)
        CHECK_INT(inro_value_get_int(inro_value_array_at(array, i)), i);
    CHECK(inro_value_array_at(array, 1000) == NULL);
    CHECK(inro_value_array_at(array, SIZE_MAX) == NULL);
    CHECK(inro_value_map_key_at(array, 0) == NULL);
    inro_value_free(array);
}

TEST(maps_are_read_by_name_and_index) {
    inro_value *map = inro_value_new_map();
    put(map, text("a"), inro_value_new_int(1));
    put(map, symbol("b"), inro_value_new_int(2));
    put(map, inro_value_new_int(7), inro_value_new_int(3));
    put(map, symbol("a"), inro_value_new_int(4));
    put(map, text(""), inro_value_new_int(5));
    CHECK_INT(inro_value_length(map), 5);
    CHECK_INT(inro_value_get_int(inro_value_map_get(map, INRO_STR("a"))), 4);
    CHECK_INT(inro_value_get_int(inro_value_map_get(map, INRO_STR("b"))), 2);
    CHECK_INT(inro_value_get_int(inro_value_map_get(map, INRO_STR(""))), 5);
    CHECK(inro_value_map_get(map, INRO_STR("c")) == NULL);
    CHECK_STR(inro_value_get_text(inro_value_map_key_at(map, 1)), "b");
    CHECK_INT(inro_value_get_int(inro_value_map_value_at(map, 2)), 3);
    CHECK(inro_value_map_key_at(map, 5) == NULL && inro_value_map_value_at(map, 5) == NULL);
    CHECK(inro_value_array_at(map, 0) == NULL);
    inro_value_free(map);
}

/* --- Building --- */

TEST(pushing_to_the_wrong_type_frees_the_item) {
    inro_value *number = inro_value_new_int(1), *map = inro_value_new_map(), *array = inro_value_new_array();
    CHECK_INT(inro_value_array_push(number, text("lost")), INRO_ERR_TYPE);
    CHECK_INT(inro_value_array_push(map, text("lost")), INRO_ERR_TYPE);
    CHECK_INT(inro_value_map_put(array, text("lost"), text("lost")), INRO_ERR_TYPE);
    CHECK_INT(inro_value_array_push(NULL, text("lost")), INRO_ERR_MEMORY);
    CHECK_INT(inro_value_array_push(array, NULL), INRO_ERR_MEMORY);
    CHECK_INT(inro_value_map_put(map, NULL, text("lost")), INRO_ERR_MEMORY);
    CHECK_INT(inro_value_map_put(map, text("lost"), NULL), INRO_ERR_MEMORY);
    CHECK_INT(inro_value_map_put(NULL, text("lost"), text("lost")), INRO_ERR_MEMORY);
    CHECK_INT(inro_value_length(array) + inro_value_length(map), 0);
    inro_value_free(number);
    inro_value_free(map);
    inro_value_free(array);
}

/* A value with `depth` containers around a nil; every other one is a map, by its key or its value. */
static inro_value *nested(int depth) {
    inro_value *value = inro_value_new_nil();
    for (int i = 0; i < depth; i++) {
        inro_value *outer = i % 2 ? inro_value_new_map() : inro_value_new_array();
        if (i % 2 == 0)
            push(outer, value);
        else if (i % 4 == 1)
            put(outer, inro_value_new_bool(true), value);
        else
            put(outer, value, inro_value_new_bool(true));
        value = outer;
    }
    return value;
}

TEST(depth_is_bounded_when_building) {
    inro_value *deepest = nested(INRO_VALUE_DEPTH_MAX), *copy = inro_value_copy(deepest);
    CHECK(inro_value_equals(deepest, copy));
    inro_value *array = inro_value_new_array(), *map = inro_value_new_map();
    CHECK_INT(inro_value_array_push(array, copy), INRO_ERR_LIMIT);
    CHECK_INT(inro_value_map_put(map, inro_value_copy(deepest), inro_value_new_nil()), INRO_ERR_LIMIT);
    CHECK_INT(inro_value_map_put(map, inro_value_new_nil(), deepest), INRO_ERR_LIMIT);
    push(array, nested(INRO_VALUE_DEPTH_MAX - 1));
    CHECK_INT(inro_value_length(array), 1);
    inro_value_free(array);
    inro_value_free(map);
}

/* --- Comparing --- */

static inro_value *json(const char *literal) {
    inro_value *value = NULL;
    CHECK_INT(inro_value_from_json(inro_str_from_c(literal), &value, NULL), INRO_OK);
    return value;
}

static bool json_equals(const char *left, const char *right) {
    inro_value *values[2] = {json(left), json(right)};
    bool equal = inro_value_equals(values[0], values[1]);
    CHECK_INT(inro_value_equals(values[1], values[0]), equal);
    inro_value_free(values[0]);
    inro_value_free(values[1]);
    return equal;
}

TEST(equality_looks_at_type_and_content) {
    CHECK(json_equals("[1,2.5,\"a\",null,true]", "[1,2.5,\"a\",null,true]"));
    CHECK(!json_equals("1", "1.0"));
    CHECK(!json_equals("0.0", "-0.0"));
    CHECK(!json_equals("[1,2]", "[2,1]"));
    CHECK(!json_equals("[1]", "[1,2]"));
    CHECK(!json_equals("\"a\"", "\"b\""));
    CHECK(!json_equals("[]", "{}"));
    CHECK(!json_equals("{}", "{\"a\":1}"));
    CHECK(!json_equals("false", "null"));
    inro_value *name[] = {text("a"), symbol("a"), inro_value_new_bytes((inro_bytes){(const uint8_t *)"a", 1})};
    CHECK(!inro_value_equals(name[0], name[1]) && !inro_value_equals(name[0], name[2]));
    for (int i = 0; i < 3; i++)
        inro_value_free(name[i]);
}

TEST(maps_are_equal_in_any_order) {
    CHECK(json_equals("{\"a\":1,\"b\":[{\"c\":2,\"d\":3}]}", "{\"b\":[{\"d\":3,\"c\":2}],\"a\":1}"));
    CHECK(!json_equals("{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}"));
    CHECK(!json_equals("{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}"));
    CHECK(!json_equals("{\"a\":1}", "{\"a\":1,\"b\":null}"));
}

TEST(maps_with_maps_as_keys_are_equal_in_any_order) {
    inro_value *maps[2];
    for (int i = 0; i < 2; i++) {
        maps[i] = inro_value_new_map();
        put(maps[i], json(i ? "{\"x\":1,\"y\":2}" : "{\"y\":2,\"x\":1}"), text("first"));
        put(maps[i], json(i ? "{\"x\":[{\"p\":1,\"q\":2}]}" : "{\"x\":[{\"q\":2,\"p\":1}]}"), text("second"));
    }
    CHECK(inro_value_equals(maps[0], maps[1]));
    put(maps[0], json("{}"), text("third"));
    put(maps[1], json("[]"), text("third"));
    CHECK(!inro_value_equals(maps[0], maps[1]));
    inro_value_free(maps[0]);
    inro_value_free(maps[1]);
}

TEST(repeated_keys_count_as_their_last) {
    inro_value *twice = inro_value_new_map(), *once = inro_value_new_map();
    put(twice, text("a"), inro_value_new_int(1));
    put(twice, text("b"), inro_value_new_int(2));
    put(twice, text("a"), inro_value_new_int(3));
    put(once, text("b"), inro_value_new_int(2));
    put(once, text("a"), inro_value_new_int(3));
    CHECK(inro_value_equals(twice, once) && inro_value_equals(once, twice));
    put(twice, text("a"), inro_value_new_int(1));
    CHECK(!inro_value_equals(twice, once) && !inro_value_equals(once, twice));
    inro_value_free(twice);
    inro_value_free(once);
}

/* --- Objects --- */

static int released;

static void release(void *user) {
    CHECK(user == &released);
    released++;
}

static inro_status call(void *user, inro_call *in_flight) {
    return user && in_flight ? INRO_OK : INRO_ERR_SERVICE;
}

static inro_status other_call(void *user, inro_call *in_flight) {
    return user || in_flight ? INRO_ERR_ARGUMENT : INRO_OK;
}

TEST(objects_are_released_once) {
    inro_object *object = inro_object_new(call, &released, release);
    CHECK(inro_object_ref(object) == object);
    CHECK(inro_object_user(object, call) == &released);
    CHECK(inro_object_user(object, other_call) == NULL);
    CHECK(inro_object_user(NULL, call) == NULL);
    inro_object_unref(object);
    CHECK_INT(released, 0);
    inro_object_unref(object);
    CHECK_INT(released, 1);
    CHECK(inro_object_ref(NULL) == NULL);
    inro_object_unref(NULL);
    inro_object_unref(inro_object_new(call, NULL, NULL));
}

TEST(objects_are_released_when_they_cannot_be_made) {
    CHECK(inro_object_new(NULL, &released, release) == NULL);
    CHECK_INT(released, 1);
    CHECK(inro_object_new(NULL, NULL, NULL) == NULL);
}

TEST(values_hold_references) {
    inro_object *object = inro_object_new(call, &released, release);
    inro_value *value = inro_value_new_object(object), *array = inro_value_new_array();
    CHECK(inro_value_new_object(NULL) == NULL);
    inro_object_unref(object);
    CHECK(inro_value_get_object(value) == object);
    push(array, value);
    inro_value *copy = inro_value_copy(array);
    CHECK(inro_value_equals(copy, array));
    inro_value_free(array);
    CHECK_INT(released, 0);
    CHECK(inro_value_get_object(inro_value_array_at(copy, 0)) == object);
    CHECK_INT(inro_value_array_push(NULL, copy), INRO_ERR_MEMORY);
    CHECK_INT(released, 1);
}

/* --- Without memory --- */

static struct {
    size_t live, calls, most_calls;
} account;

static void *failing_resize(void *user, void *old, size_t old_size, size_t new_size) {
    (void)user;
    if (new_size == 0) {
        account.live -= old_size;
        free(old);
        return NULL;
    }
    if (account.calls++ >= account.most_calls)
        return NULL;
    account.live += new_size - old_size;
    return realloc(old, new_size);
}

/* Runs `task` with one allocation more each time until it is done; each time all must be given back. */
static void fail_every_allocation(bool (*task)(void), size_t at_least) {
    bool done = false;
    CHECK_INT(inro_set_allocator(failing_resize, NULL, NULL), INRO_OK);
    for (account.most_calls = 0; !done; account.most_calls++) {
        account.calls = 0;
        done = task();
        CHECK_INT(account.live, 0);
        CHECK_INT(inro_set_allocator(failing_resize, NULL, NULL), INRO_OK);
        CHECK(account.most_calls < 10000);
    }
    CHECK(account.most_calls > at_least);
}

static bool build_and_copy(void) {
    inro_value *array = inro_value_new_array(), *map = inro_value_new_map(), *copy = NULL;
    bool done = inro_value_map_put(map, symbol("name"), text("some text")) == INRO_OK &&
                inro_value_map_put(map, inro_value_new_int(1), inro_value_new_nil()) == INRO_OK &&
                inro_value_map_put(map, inro_value_new_bool(true),
                                   inro_value_new_bytes((inro_bytes){(const uint8_t *)"\xff", 1})) == INRO_OK;
    inro_object *object = inro_object_new(call, NULL, NULL);
    done = inro_value_array_push(array, map) == INRO_OK && done;
    done = inro_value_array_push(array, inro_value_new_object(object)) == INRO_OK && done;
    done = inro_value_array_push(array, inro_value_new_float(1)) == INRO_OK && done;
    inro_object_unref(object);
    if (done)
        copy = inro_value_copy(array);
    done = copy && inro_value_equals(copy, array);
    inro_value_free(copy);
    inro_value_free(array);
    return done;
}

TEST(building_and_copying_survive_without_memory) {
    fail_every_allocation(build_and_copy, 15);
}

static const char sample[] =
    "{\"a\":[1,2.5,\"text\",{\"b\":null}],\"c\":{\"d\":true,\"e\":{}},\"f\":\"\\u00e9\","
    "\"1\":1,\"2\":2,\"3\":3,\"4\":4,\"5\":5,\"6\":6,\"7\":[[[7]]]}";

static bool parse_and_print(void) {
    inro_value *value = NULL;
    char *printed = NULL, *shown = NULL;
    inro_error err = {.status = INRO_OK};
    inro_status status = inro_value_from_json(inro_str_from_c(sample), &value, &err);
    if (status == INRO_OK)
        status = inro_value_to_json(value, &printed, NULL, &err);
    if (status == INRO_OK)
        status = inro_value_inspect(value, &shown, NULL, &err);
    if (status != INRO_OK) {
        CHECK_INT(status, INRO_ERR_MEMORY);
        CHECK_INT(err.status, INRO_ERR_MEMORY);
        CHECK(err.message[0] != '\0' && !shown);
    }
    inro_text_free(printed);
    inro_text_free(shown);
    inro_value_free(value);
    return status == INRO_OK;
}

TEST(parsing_and_printing_survive_without_memory) {
    fail_every_allocation(parse_and_print, 20);
}

/* Equality has an answer even then, and it is the same one. */
static bool compare_shuffled(void) {
    size_t most_calls = account.most_calls;
    account.most_calls = SIZE_MAX;
    inro_value *left = json("{\"a\":[{\"x\":1,\"y\":{}}],\"b\":7,\"c\":3}");
    inro_value *right = json("{\"c\":3,\"b\":2,\"a\":[{\"y\":{},\"x\":1}]}");
    inro_value *other = json("{\"c\":3,\"b\":2,\"a\":[{\"y\":{},\"x\":2}]}");
    inro_value *bigger = json("{\"d\":3,\"c\":3,\"b\":2,\"a\":[{\"y\":{},\"x\":1}]}");
    put(left, text("b"), inro_value_new_int(2));
    account.calls = 0;
    account.most_calls = most_calls;
    CHECK(inro_value_equals(left, right));
    CHECK(inro_value_equals(right, left));
    CHECK(!inro_value_equals(left, other));
    CHECK(!inro_value_equals(left, bigger) && !inro_value_equals(bigger, left));
    bool done = account.calls < most_calls;
    inro_value_free(left);
    inro_value_free(right);
    inro_value_free(other);
    inro_value_free(bigger);
    return done;
}

TEST(comparing_survives_without_memory) {
    fail_every_allocation(compare_shuffled, 2);
}

static bool make_object(void) {
    released = 0;
    inro_object *object = inro_object_new(call, &released, release);
    bool made = object != NULL;
    inro_object_unref(object);
    CHECK_INT(released, 1);
    return made;
}

TEST(objects_are_released_without_memory) {
    fail_every_allocation(make_object, 1);
}
