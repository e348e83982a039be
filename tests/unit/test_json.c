/* JSON: what is read, what is refused and where, what is written, and that one is the other's inverse.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <float.h>
#include <inro/service.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static inro_value *parse(inro_str json) {
    inro_value *value = NULL;
    inro_error err = {.message = ""};
    if (inro_value_from_json(json, &value, &err) != INRO_OK)
        test_fail(__FILE__, __LINE__, "%.*s: %s", (int)json.length, json.data, err.message);
    return value;
}

static void check_prints(const inro_value *value, const char *expected) {
    char *json = NULL;
    size_t length = 0;
    CHECK_INT(inro_value_to_json(value, &json, &length, NULL), INRO_OK);
    CHECK_STR(inro_str_from_c(json), expected);
    CHECK_INT(length, strlen(expected));
    inro_text_free(json);
}

/* Reads the one and writes the other. */
static void check(const char *json, const char *expected) {
    inro_value *value = parse(inro_str_from_c(json));
    check_prints(value, expected);
    inro_value_free(value);
}

static void check_same(const char *json) {
    check(json, json);
}

static void check_refused_bytes(inro_str json, inro_status expected, const char *message) {
    inro_value *value = NULL;
    inro_error err = {.status = INRO_OK};
    CHECK_INT(inro_value_from_json(json, &value, &err), expected);
    CHECK_INT(err.status, expected);
    CHECK(value == NULL);
    if (!strstr(err.message, message))
        CHECK_STR(inro_str_from_c(err.message), message);
}

static void check_refused(const char *json, const char *message) {
    check_refused_bytes(inro_str_from_c(json), INRO_ERR_SYNTAX, message);
}

TEST(scalars) {
    check_same("null");
    check_same("true");
    check_same("false");
    check_same("0");
    check_same("\"text\"");
    check(" \t\r\n1 \n", "1");
}

static void check_type(const char *json, inro_value_type expected) {
    inro_value *value = parse(inro_str_from_c(json));
    CHECK_INT(inro_value_get_type(value), expected);
    inro_value_free(value);
}

TEST(integers_are_exact_within_64_bits) {
    check_same("9223372036854775807");
    check_same("-9223372036854775808");
    check_same("9007199254740993");
    check("-0", "0");
    check_type("-9223372036854775808", INRO_VALUE_INT);
    check_type("9223372036854775808", INRO_VALUE_FLOAT);
    check_type("-9223372036854775809", INRO_VALUE_FLOAT);
    check_type("18446744073709551616", INRO_VALUE_FLOAT);
    check_type("92233720368547758070", INRO_VALUE_FLOAT);
    check_type("1.0", INRO_VALUE_FLOAT);
    check_type("1e2", INRO_VALUE_FLOAT);
    check("9223372036854775808", "9.223372036854776e+18");
}

TEST(floats_are_written_with_the_fewest_digits) {
    check("1.0", "1.0");
    check("-0.0", "-0.0");
    check("0.1", "0.1");
    check("0.30000000000000004", "0.30000000000000004");
    check("100e-2", "1.0");
    check("1E5", "100000.0");
    check("123456789012345.0", "123456789012345.0");
    check("1e15", "1.0e+15");
    check("1e+20", "1.0e+20");
    check("0.0001", "0.0001");
    check("0.00001", "1.0e-05");
    check("5e-324", "5.0e-324");
    check("2.2250738585072014e-308", "2.2250738585072014e-308");
    check("2.225073858507201e-308", "2.225073858507201e-308");
    check("1.7976931348623157e308", "1.7976931348623157e+308");
    check("0.000000000000000000000000000000e5", "0.0");
    check("1e-400", "0.0");
}

static double parse_float(const char *json, size_t length) {
    inro_value *value = parse((inro_str){json, length});
    CHECK_INT(inro_value_get_type(value), INRO_VALUE_FLOAT);
    double real = inro_value_get_float(value);
    inro_value_free(value);
    return real;
}

TEST(floats_are_rounded_correctly) {
    static const char *const hard[] = {
        "0.500000000000000166533453693773481063544750213623046875",
        "3.518437208883201171875e13",
        "62.5364939768271845828",
        "8.10109172351e-10",
        "1.50000000000000011102230246251565",
        "9007199254740991.4999999999999999999999999999999995",
        "9007199254740992.9999999999999999999999999999999995",
        "2.4703282292062327208e-324",
        "2.4703282292062328e-324",
        "1.7976931348623158079e308",
        "179769313486231580793728971405301e276",
    };
    for (size_t i = 0; i < sizeof hard / sizeof hard[0]; i++)
        CHECK(parse_float(hard[i], strlen(hard[i])) == strtod(hard[i], NULL));
}

/* A digit far behind the point decides between two floats when all before it lie just between them. */
TEST(floats_of_many_digits_are_rounded_correctly) {
    enum { ZEROS = 100000 };
    char *json = malloc(ZEROS + 64);
    int length = sprintf(json, "1.00000000000000011102230246251565404236316680908203125");
    memset(json + length, '0', ZEROS);
    CHECK(parse_float(json, (size_t)length + ZEROS) == 1.0);
    json[length + ZEROS] = '1';
    CHECK(parse_float(json, (size_t)length + ZEROS + 1) == 1.0 + DBL_EPSILON);
    memset(json, '0', ZEROS);
    memcpy(json, "0.", 2);
    length = ZEROS + sprintf(json + ZEROS, "125e%d", ZEROS - 2);
    CHECK(parse_float(json, (size_t)length) == 0.125);
    memset(json, '9', ZEROS);
    length = ZEROS + sprintf(json + ZEROS, "e-%d", ZEROS);
    CHECK(parse_float(json, (size_t)length) == 1.0);
    free(json);
}

TEST(numbers_that_no_float_holds_are_refused) {
    check_refused_bytes(INRO_STR("[1,\n 1e309]"), INRO_ERR_LIMIT, "line 2, column 2: the number is too large");
    check_refused_bytes(INRO_STR("-1e99999999999999999999"), INRO_ERR_LIMIT, "too large");
    check("1e-99999999999999999999", "0.0");
    check("0e99999999999999999999", "0.0");
}

TEST(numbers_that_are_none_are_refused) {
    static const char *const none[] = {"-",        "01",        "-01", "+1",    ".5",    "1.",
                                       "1.e5",     "1e",        "1e+", "0x10",  "1_000", "NaN",
                                       "Infinity", "-Infinity", "--1", "1.2.3", "1e5.5"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        check_refused(none[i], "JSON, line 1, column ");
}

TEST(strings) {
    check("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\"");
    check("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"", "\"A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    check("\"\\u001f\\u007f\"", "\"\\u001f\\u007f\"");
    check_same("\"\xc3\xa9 \xf0\x9f\x98\x80\"");
    check_same("\"\"");
}

TEST(strings_may_have_nuls) {
    inro_value *value = parse(INRO_STR("\"a\\u0000b\""));
    CHECK_INT(inro_value_length(value), 3);
    CHECK(memcmp(inro_value_get_text(value).data, "a\0b", 3) == 0);
    check_prints(value, "\"a\\u0000b\"");
    inro_value_free(value);
}

TEST(strings_that_are_malformed_are_refused) {
    check_refused("\"abc", "column 5: the string has no end");
    check_refused("\"a\nb\"", "line 1, column 3: a control character");
    check_refused_bytes(INRO_STR("\"a\0b\""), INRO_ERR_SYNTAX, "column 3: a control character");
    check_refused("\"\\x41\"", "the escape is malformed");
    check_refused("\"\\", "the escape is malformed");
    check_refused("\"\\u12", "the escape is malformed");
    check_refused("\"\\u12g4\"", "the escape is malformed");
    check_refused("\"\\ud800\"", "the escape is malformed");
    check_refused("\"\\ud800\\u0041\"", "the escape is malformed");
    check_refused("\"\\ud800\\ud800\"", "the escape is malformed");
    check_refused("\"\\udc00\"", "the escape is malformed");
    check_refused("\"\xc3(\"", "the string is not UTF-8");
    check_refused("\"\xed\xa0\x80\"", "the string is not UTF-8");
    check_refused("\"\xc3\"", "the string is not UTF-8");
    check_refused("'a'", "a value is expected");
}

TEST(arrays_and_objects) {
    check_same("[]");
    check_same("{}");
    check("[ 1 , [ ] , { } ]", "[1,[],{}]");
    check(" { \"a\" : 1 , \"\" : [ { \"b\" : null } ] } ", "{\"a\":1,\"\":[{\"b\":null}]}");
}

TEST(what_is_no_json_is_refused_with_its_place) {
    check_refused("", "line 1, column 1: a value is expected");
    check_refused("[1,\n  2,\n  \xc3\xa9x]", "line 3, column 3: a value is expected");
    check_refused("{\"\xc3\xa9\": x}", "line 1, column 7: a value is expected");
    check_refused("[1 2]", "column 4: ',' or ']' is expected");
    check_refused("[1,]", "column 4: a value is expected");
    check_refused("[1", "column 3: ',' or ']' is expected");
    check_refused("[", "column 2: a value is expected");
    check_refused("{\"a\" 1}", "column 6: ':' is expected");
    check_refused("{\"a\":1,}", "column 8: a string is expected");
    check_refused("{a:1}", "column 2: a string is expected");
    check_refused("{\"a\":1", "column 7: ',' or '}' is expected");
    check_refused("{1:1}", "a string is expected");
    check_refused("1 2", "column 3: nothing more is expected");
    check_refused("truex", "nothing more is expected");
    check_refused("tru", "a value is expected");
    check_refused("\xef\xbb\xbf"
                  "1",
                  "a value is expected");
    check_refused_bytes(INRO_STR("1\0"), INRO_ERR_SYNTAX, "nothing more is expected");
    check_refused("// comment\n1", "a value is expected");
    check_refused_bytes((inro_str){NULL, 0}, INRO_ERR_ARGUMENT, "no JSON");
}

TEST(repeated_keys_are_refused) {
    check_refused("{\"a\":1,\"b\":2,\"a\":3}", "column 19: a key of the object that ends here is repeated");
    check_refused("{\"a\":1,\"\\u0061\":3}", "is repeated");
    check_same("{\"a\":1,\"A\":2,\"aa\":3}");
    char json[4000] = "{\"first\":0", *at = json + strlen(json);
    for (int i = 0; i < 200; i++)
        at += sprintf(at, ",\"k%d\":%d", i * 7 % 200, i);
    memcpy(at, "}", 2);
    check_same(json);
    memcpy(at, ",\"k77\":0}", 10);
    check_refused(json, "is repeated");
}

static char *nested_json(size_t depth, const char *inner) {
    char *json = malloc(2 * depth + strlen(inner) + 1);
    memset(json, '[', depth);
    memcpy(json + depth, inner, strlen(inner));
    memset(json + depth + strlen(inner), ']', depth);
    json[2 * depth + strlen(inner)] = '\0';
    return json;
}

static void check_nesting(size_t depth, const char *inner, inro_status expected) {
    char *json = nested_json(depth, inner);
    if (expected == INRO_OK)
        check_same(json);
    else
        check_refused_bytes(inro_str_from_c(json), expected, "nested too deeply");
    free(json);
}

TEST(depth_is_bounded) {
    check_nesting(127, "1", INRO_OK);
    check_nesting(128, "1", INRO_OK);
    check_nesting(128, "[]", INRO_OK);
    check_nesting(129, "1", INRO_ERR_LIMIT);
    check_nesting(128, "{\"a\":1}", INRO_ERR_LIMIT);
    check_nesting(127, "{\"a\":1}", INRO_OK);
    check_nesting(1000000, "1", INRO_ERR_LIMIT);
}

TEST(size_is_bounded) {
    size_t length = INRO_MESSAGE_BYTES_MAX;
    char *json = malloc(length + 1);
    memset(json, 'x', length + 1);
    json[0] = json[length - 1] = json[length] = '"';
    inro_value *value = parse((inro_str){json, length});
    CHECK_INT(inro_value_length(value), length - 2);
    inro_value_free(value);
    check_refused_bytes((inro_str){json, length + 1}, INRO_ERR_LIMIT, "at most 16777216");
    free(json);
}

/* Every prefix of a text lies at the end of a block of its own, where reading too far is seen. */
TEST(texts_cut_anywhere_are_refused) {
    static const char text[] = "{\"a\\u00e9\":[1.5e3,-2,true,null,\"\xc3\xa9\\n\"],\"b\":{}}";
    for (size_t length = 0; length < sizeof text - 1; length++) {
        char *json = malloc(length ? length : 1);
        memcpy(json, text, length);
        check_refused_bytes((inro_str){json, length}, INRO_ERR_SYNTAX, "JSON, line 1");
        free(json);
    }
}

/* --- Writing what JSON cannot say itself --- */

static void put(inro_value *map, inro_value *key, inro_value *value) {
    CHECK_INT(inro_value_map_put(map, key, value), INRO_OK);
}

static inro_value *text(const char *literal) {
    return inro_value_new_text(inro_str_from_c(literal));
}

static inro_value *symbol(const char *literal) {
    return inro_value_new_symbol(inro_str_from_c(literal));
}

TEST(symbols_and_scalars_as_keys_become_strings) {
    inro_value *map = inro_value_new_map();
    put(map, symbol("a"), symbol("b\""));
    put(map, inro_value_new_int(-1), inro_value_new_int(1));
    put(map, inro_value_new_float(1.5), inro_value_new_int(2));
    put(map, inro_value_new_bool(false), inro_value_new_int(3));
    put(map, inro_value_new_nil(), inro_value_new_int(4));
    check_prints(map, "{\"a\":\"b\\\"\",\"-1\":1,\"1.5\":2,\"false\":3,\"null\":4}");
    inro_value_free(map);
    check_prints(NULL, "null");
}

TEST(bytes_become_base64) {
    static const char *const expected[] = {"", "/w==", "//8=", "////", "////AA=="};
    static const uint8_t bytes[] = {0xff, 0xff, 0xff, 0x00};
    for (size_t length = 0; length < 5; length++) {
        char json[64];
        inro_value *value = inro_value_new_bytes((inro_bytes){bytes, length});
        snprintf(json, sizeof json, "{\"$bytes\":\"%s\"}", expected[length]);
        check_prints(value, json);
        inro_value_free(value);
    }
}

static void check_unprintable(inro_value *value, const char *message) {
    char *json = NULL;
    inro_error err = {.status = INRO_OK};
    CHECK_INT(inro_value_to_json(value, &json, NULL, &err), INRO_ERR_TYPE);
    CHECK_INT(err.status, INRO_ERR_TYPE);
    CHECK(json == NULL);
    CHECK_STR(inro_str_from_c(err.message), message);
    CHECK_INT(inro_value_to_json(value, &json, NULL, NULL), INRO_ERR_TYPE);
    inro_value_free(value);
}

static inro_status call(void *user, inro_call *in_flight) {
    return user || in_flight ? INRO_ERR_SERVICE : INRO_OK;
}

static inro_value *new_object(void) {
    inro_object *object = inro_object_new(call, NULL, NULL);
    inro_value *value = inro_value_new_object(object);
    inro_object_unref(object);
    return value;
}

static inro_value *map_of(inro_value *key, inro_value *value) {
    inro_value *map = inro_value_new_map();
    put(map, key, value);
    return map;
}

static inro_value *array_of(inro_value *first, inro_value *second) {
    inro_value *array = inro_value_new_array();
    CHECK_INT(inro_value_array_push(array, first), INRO_OK);
    CHECK_INT(inro_value_array_push(array, second), INRO_OK);
    return array;
}

TEST(what_json_cannot_say_is_refused) {
    check_unprintable(inro_value_new_float((double)NAN), "NaN has no form in JSON");
    check_unprintable(inro_value_new_float(-(double)INFINITY), "an infinite float has no form in JSON");
    check_unprintable(new_object(), "an object has no form in JSON");
    check_unprintable(array_of(text("x"), map_of(symbol("k"), array_of(new_object(), text("y")))),
                      "item 1: key \"k\": item 0: an object has no form in JSON");
    check_unprintable(map_of(inro_value_new_array(), text("x")), "a key that is array has no form in JSON");
    check_unprintable(map_of(new_object(), text("x")), "a key that is object has no form in JSON");
    check_unprintable(map_of(inro_value_new_float((double)NAN), text("x")),
                      "a key that is no finite number has no form in JSON");
    check_unprintable(map_of(inro_value_new_bytes((inro_bytes){(const uint8_t *)"\xff", 1}), text("x")),
                      "a key that is bytes has no form in JSON");
}

/* Readers differ in which of two equal names they believe: a guest must not choose what a log says. */
TEST(keys_that_become_one_name_are_refused) {
    inro_value *map = map_of(symbol("a"), inro_value_new_int(1));
    put(map, text("b"), inro_value_new_int(2));
    put(map, text("a"), inro_value_new_int(3));
    check_unprintable(map, "a map with two keys of one name has no form in JSON");
    map = map_of(text("1"), inro_value_new_int(1));
    put(map, inro_value_new_int(1), inro_value_new_int(3));
    check_unprintable(map, "a map with two keys of one name has no form in JSON");
}

TEST(of_equal_keys_the_last_is_written) {
    inro_value *map = map_of(text("a"), inro_value_new_int(1));
    put(map, text("b"), inro_value_new_int(2));
    put(map, text("a"), inro_value_new_int(3));
    check_prints(map, "{\"b\":2,\"a\":3}");
    put(map, text("b"), inro_value_new_int(4));
    check_prints(map, "{\"a\":3,\"b\":4}");
    inro_value_free(map);
}

/* --- There and back --- */

static uint64_t seed = 7;

static uint32_t draw(uint32_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static void check_there_and_back(const inro_value *value) {
    char *json = NULL;
    size_t length = 0;
    CHECK_INT(inro_value_to_json(value, &json, &length, NULL), INRO_OK);
    inro_value *again = parse((inro_str){json, length});
    CHECK(inro_value_equals(value, again));
    inro_text_free(json);
    inro_value_free(again);
}

TEST(random_floats_go_there_and_back) {
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = (uint64_t)draw(UINT32_MAX) << 32 ^ seed;
        double real;
        memcpy(&real, &bits, sizeof real);
        if (i % 2)
            real = (double)(int64_t)(bits >> draw(60)) / 1000;
        if (!isfinite(real))
            continue;
        inro_value *value = inro_value_new_float(real);
        check_there_and_back(value);
        inro_value_free(value);
    }
}

static inro_value *random_value(int level) {
    char name[32];
    uint32_t kind = draw(level < 4 ? 6 : 4);
    if (kind == 0)
        return inro_value_new_int((int64_t)(seed * 5) >> draw(64));
    if (kind == 1)
        return inro_value_new_float(draw(1000000) / 64.0);
    if (kind == 2)
        return text(draw(2) ? "\x01\"\\\xe2\x80\xa8" : "plain");
    if (kind == 3)
        return draw(2) ? inro_value_new_nil() : inro_value_new_bool(draw(2));
    inro_value *value = kind == 4 ? inro_value_new_array() : inro_value_new_map();
    for (uint32_t i = draw(12); i > 0; i--) {
        snprintf(name, sizeof name, "%u/%u", draw(1000), i);
        if (kind == 4)
            CHECK_INT(inro_value_array_push(value, random_value(level + 1)), INRO_OK);
        else
            put(value, text(name), random_value(level + 1));
    }
    return value;
}

TEST(random_values_go_there_and_back) {
    for (int i = 0; i < 2000; i++) {
        inro_value *value = random_value(0);
        check_there_and_back(value);
        inro_value_free(value);
    }
}

/* A host may have set a locale whose decimal point is a comma; any such locale that is installed will do. */
TEST(the_hosts_locale_changes_nothing) {
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ps_AF.UTF-8", "de_DE"};
    bool found = false;
    for (size_t i = 0; i < sizeof locales / sizeof locales[0] && !found; i++)
        found = setlocale(LC_ALL, locales[i]) && strcmp(localeconv()->decimal_point, ".") != 0;
    if (!found)
        SKIP("host: no locale with a decimal comma is installed");
    check_same("[0.1,1234567.5,1.0e-07,5.0e-324,0.30000000000000004]");
    check("123.456e2", "12345.6");
}
