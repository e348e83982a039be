/* Values as Ruby shows them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <inro/service.h>
#include <math.h>

static void check_shown(inro_value *value, const char *expected) {
    char *shown = NULL;
    size_t length = 0;
    CHECK_INT(inro_value_inspect(value, &shown, &length, NULL), INRO_OK);
    CHECK_STR(inro_str_from_c(shown), expected);
    CHECK_INT(length, strlen(expected));
    inro_text_free(shown);
    inro_value_free(value);
}

static inro_value *text(const char *literal) {
    return inro_value_new_text(inro_str_from_c(literal));
}

static inro_value *symbol(const char *literal) {
    return inro_value_new_symbol(inro_str_from_c(literal));
}

#define CHECK_TEXT(literal, expected)                                                                          \
    check_shown(inro_value_new_text((inro_str){literal, sizeof(literal) - 1}), expected)
#define CHECK_BYTES(literal, expected)                                                                         \
    check_shown(inro_value_new_bytes((inro_bytes){(const uint8_t *)(literal), sizeof(literal) - 1}), expected)

TEST(scalars) {
    check_shown(NULL, "nil");
    check_shown(inro_value_new_nil(), "nil");
    check_shown(inro_value_new_bool(true), "true");
    check_shown(inro_value_new_bool(false), "false");
    check_shown(inro_value_new_int(0), "0");
    check_shown(inro_value_new_int(INT64_MIN), "-9223372036854775808");
    check_shown(inro_value_new_int(INT64_MAX), "9223372036854775807");
}

TEST(floats) {
    static const struct {
        double real;
        const char *shown;
    } rows[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-1.5, "-1.5"},
        {100.0, "100.0"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e14, "100000000000000.0"},
        {999999999999999.0, "999999999999999.0"},
        {100000000000000.5, "100000000000000.5"},
        {1e15, "1.0e+15"},
        {1e16, "1.0e+16"},
        {1e20, "1.0e+20"},
        {1e100, "1.0e+100"},
        {1.25e100, "1.25e+100"},
        {0.001, "0.001"},
        {0.0001, "0.0001"},
        {0.00012345, "0.00012345"},
        {0.00001, "1.0e-05"},
        {1e-10, "1.0e-10"},
        {5e-324, "5.0e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {(double)INFINITY, "Infinity"},
        {-(double)INFINITY, "-Infinity"},
        {(double)NAN, "NaN"},
        {-(double)NAN, "NaN"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_shown(inro_value_new_float(rows[i].real), rows[i].shown);
}

TEST(text_is_escaped) {
    CHECK_TEXT("", "\"\"");
    CHECK_TEXT("a b", "\"a b\"");
    CHECK_TEXT("\"\\", "\"\\\"\\\\\"");
    CHECK_TEXT("\a\b\t\n\v\f\r\x1b", "\"\\a\\b\\t\\n\\v\\f\\r\\e\"");
    CHECK_TEXT("\0\x01\x7f", "\"\\x00\\x01\\x7F\"");
    CHECK_TEXT("#{x} #$y #@z # #x", "\"\\#{x} \\#$y \\#@z # #x\"");
    CHECK_TEXT("#", "\"#\"");
    CHECK_TEXT("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

/* Characters that move the cursor, end the line or turn the text around are never written as they are. */
TEST(unprintable_text_is_escaped) {
    CHECK_TEXT("\xc2\x85\xc2\x9b", "\"\\u0085\\u009B\"");
    CHECK_TEXT("\xe2\x80\xae"
               "abc",
               "\"\\u202Eabc\"");
    CHECK_TEXT("\xe2\x80\x8b\xe2\x80\xa8\xef\xbb\xbf", "\"\\u200B\\u2028\\uFEFF\"");
    CHECK_TEXT("\xf3\xa0\x80\x81\xf4\x8f\xbf\xbf", "\"\\u{E0001}\\u{10FFFF}\"");
}

TEST(bytes_are_escaped) {
    CHECK_BYTES("", "\"\"");
    CHECK_BYTES("a\xff\x80\0\n\"", "\"a\\xFF\\x80\\x00\\n\\\"\"");
    CHECK_BYTES("\xc3\xa9", "\"\\xC3\\xA9\"");
    CHECK_BYTES("#{#", "\"\\#{#\"");
}

TEST(symbols_that_need_no_quotes) {
    static const char *const plain[] = {"a",
                                        "A1",
                                        "_x",
                                        "a?",
                                        "a!",
                                        "a=",
                                        "@iv",
                                        "@@cv",
                                        "$g",
                                        "+",
                                        "-",
                                        "**",
                                        "[]",
                                        "[]=",
                                        "<=>",
                                        "==",
                                        "===",
                                        "=~",
                                        "!",
                                        "!=",
                                        "!~",
                                        "+@",
                                        "-@",
                                        "~",
                                        "<<",
                                        "`",
                                        "nil",
                                        "if",
                                        "\xc3\xa9t\xc3\xa9"};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        char expected[32] = ":";
        check_shown(symbol(plain[i]), strcat(expected, plain[i]));
    }
}

TEST(symbols_that_need_quotes) {
    static const char *const odd[] = {"",   "odd name", "1a", "a?=", "a?!", "a b", "a-b", "@", "@@", "$",
                                      "@1", "@a?",      "=",  "a==", "[]]", "&&",  "a.b", "?", "a:"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        char expected[32] = ":\"";
        check_shown(symbol(odd[i]), strcat(strcat(expected, odd[i]), "\""));
    }
    check_shown(symbol("a\n"), ":\"a\\n\"");
    check_shown(symbol("a\xe2\x80\xae"), ":\"a\\u202E\"");
    check_shown(inro_value_new_symbol((inro_str){"a\0", 2}), ":\"a\\x00\"");
}

static void put(inro_value *map, inro_value *key, inro_value *value) {
    CHECK_INT(inro_value_map_put(map, key, value), INRO_OK);
}

TEST(containers) {
    inro_value *map = inro_value_new_map(), *array = inro_value_new_array(), *outer = inro_value_new_array();
    put(map, symbol("a"), inro_value_new_int(1));
    put(map, text("b"), inro_value_new_int(2));
    put(map, inro_value_new_nil(), inro_value_new_int(3));
    put(map, symbol("odd name"), inro_value_new_map());
    put(map, symbol("a?"), inro_value_new_array());
    put(map, symbol("a="), inro_value_new_nil());
    put(map, symbol("+"), inro_value_new_nil());
    put(map, inro_value_new_array(), symbol("s"));
    CHECK_INT(inro_value_array_push(array, map), INRO_OK);
    CHECK_INT(inro_value_array_push(array, inro_value_new_float(2)), INRO_OK);
    CHECK_INT(inro_value_array_push(outer, array), INRO_OK);
    check_shown(outer, "[[{a: 1, \"b\" => 2, nil => 3, \"odd name\": {}, a?: [], \"a=\": nil, \"+\": nil, "
                       "[] => :s}, 2.0]]");
}

static inro_status call(void *user, inro_call *in_flight) {
    return user || in_flight ? INRO_ERR_SERVICE : INRO_OK;
}

TEST(objects_are_opaque) {
    inro_object *object = inro_object_new(call, NULL, NULL);
    check_shown(inro_value_new_object(object), "#<Handle>");
    inro_object_unref(object);
}
