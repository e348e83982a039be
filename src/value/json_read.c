/* JSON to a tree (RFC 8259).
 *
 * Our own reader, because the common C library for this has one allocator for the whole process, which is
 * the host's to set, and a nesting limit of its own that is far above ours.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/utf8.h"
#include "value/number.h"
#include "value/order.h"

#include <string.h>

struct parser {
    const uint8_t *start;
    const uint8_t *at;
    const uint8_t *end;
    struct inro__buf text; /* the string being read, without escapes */
    inro_error *err;
};

static inro_status parse_value(struct parser *parser, unsigned level, struct inro_value *out);

/* People count lines and characters from one. */
static inro_status fail_at(struct parser *parser, inro_status status, const char *what) {
    unsigned long line = 1, column = 1;
    for (const uint8_t *at = parser->start; at < parser->at; at++) {
        if (*at == '\n') {
            line++;
            column = 1;
        } else if ((*at & 0xc0) != 0x80) {
            column++;
        }
    }
    return inro__fail(parser->err, status, 0, "JSON, line %lu, column %lu: %s", line, column, what);
}

static inro_status fail_syntax(struct parser *parser, const char *what) {
    return fail_at(parser, INRO_ERR_SYNTAX, what);
}

static inro_status fail_memory(struct parser *parser) {
    return inro__fail(parser->err, INRO_ERR_MEMORY, 0, "reading JSON: no memory");
}

static void skip_space(struct parser *parser) {
    while (parser->at != parser->end &&
           (*parser->at == ' ' || *parser->at == '\t' || *parser->at == '\n' || *parser->at == '\r'))
        parser->at++;
}

/* The next byte, 0 at the end; a NUL in the text is no token either, so the two need no telling apart. */
static uint8_t peek_byte(const struct parser *parser) {
    return parser->at == parser->end ? 0 : *parser->at;
}

static bool take_byte(struct parser *parser, uint8_t byte) {
    if (peek_byte(parser) != byte)
        return false;
    parser->at++;
    return true;
}

struct literal {
    const char *text;
    struct inro_value value;
};

static inro_status parse_literal(struct parser *parser, struct inro_value *out) {
    static const struct literal literals[] = {
        {"null", {.type = INRO_VALUE_NIL}},
        {"true", {.type = INRO_VALUE_BOOL, .as.flag = true}},
        {"false", {.type = INRO_VALUE_BOOL, .as.flag = false}},
    };
    for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++) {
        size_t length = strlen(literals[i].text);
        if ((size_t)(parser->end - parser->at) < length || memcmp(parser->at, literals[i].text, length) != 0)
            continue;
        parser->at += length;
        *out = literals[i].value;
        return INRO_OK;
    }
    return fail_syntax(parser, "a value is expected");
}

static bool is_digit(uint8_t byte) {
    return byte >= '0' && byte <= '9';
}

static bool skip_digits(struct parser *parser) {
    const uint8_t *first = parser->at;
    while (is_digit(peek_byte(parser)))
        parser->at++;
    return parser->at != first;
}

/* Moves over a number; whether it has a fraction or an exponent goes to *is_real. */
static bool skip_number(struct parser *parser, bool *is_real) {
    take_byte(parser, '-');
    if (!take_byte(parser, '0') && !skip_digits(parser))
        return false;
    bool has_fraction = take_byte(parser, '.');
    if (has_fraction && !skip_digits(parser))
        return false;
    bool has_exponent = take_byte(parser, 'e') || take_byte(parser, 'E');
    if (has_exponent && !take_byte(parser, '+'))
        take_byte(parser, '-');
    *is_real = has_fraction || has_exponent;
    return !has_exponent || skip_digits(parser);
}

/* False when the digits do not fit into 64 bits. Counts down, because INT64_MIN has no positive twin. */
static bool read_integer(const uint8_t *at, const uint8_t *end, int64_t *out) {
    bool negative = *at == '-';
    int64_t number = 0;
    for (at += negative; at != end; at++)
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_sub_overflow(number, *at - '0', &number))
            return false;
    if (!negative && number == INT64_MIN)
        return false;
    *out = negative ? number : -number;
    return true;
}

static inro_status parse_number(struct parser *parser, struct inro_value *out) {
    const uint8_t *first = parser->at;
    bool is_real;
    if (!skip_number(parser, &is_real))
        return fail_syntax(parser, "a digit is expected");
    out->type = INRO_VALUE_INT;
    if (!is_real && read_integer(first, parser->at, &out->as.number))
        return INRO_OK;
    out->type = INRO_VALUE_FLOAT;
    if (inro__float_parse(first, (size_t)(parser->at - first), &out->as.real))
        return INRO_OK;
    parser->at = first;
    return fail_at(parser, INRO_ERR_LIMIT, "the number is too large");
}

static bool take_hex4(struct parser *parser, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t byte = peek_byte(parser), letter = byte | 0x20;
        if (!is_digit(byte) && (letter < 'a' || letter > 'f'))
            return false;
        *code = *code << 4 | (uint32_t)(is_digit(byte) ? byte - '0' : letter - 'a' + 10);
        parser->at++;
    }
    return true;
}

/* The code point after "\u": one escape, or two that are a surrogate pair. */
static bool take_code_point(struct parser *parser, uint32_t *code) {
    uint32_t low;
    if (!take_hex4(parser, code) || (*code >= 0xdc00 && *code <= 0xdfff))
        return false;
    if (*code < 0xd800 || *code > 0xdbff)
        return true;
    if (!take_byte(parser, '\\') || !take_byte(parser, 'u') || !take_hex4(parser, &low) || low < 0xdc00 ||
        low > 0xdfff)
        return false;
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

static inro_status append_text(struct parser *parser, const void *bytes, size_t length) {
    return inro__buf_append(&parser->text, bytes, length) == INRO_OK ? INRO_OK : fail_memory(parser);
}

/* What follows a backslash. */
static inro_status parse_escape(struct parser *parser) {
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    uint8_t letter = peek_byte(parser), utf8[4];
    uint32_t code;
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (found) {
        parser->at++;
        return append_text(parser, &bytes[found - letters], 1);
    }
    if (!take_byte(parser, 'u') || !take_code_point(parser, &code))
        return fail_syntax(parser, "the escape is malformed");
    return append_text(parser, utf8, inro__utf8_put(code, utf8));
}

/* The bytes up to the next quote or backslash. */
static inro_status parse_run(struct parser *parser) {
    const uint8_t *first = parser->at;
    while (parser->at != parser->end && *parser->at >= 0x20 && *parser->at != '"' && *parser->at != '\\')
        parser->at++;
    if (!inro__utf8_is_valid(first, (size_t)(parser->at - first)))
        return fail_syntax(parser, "the string is not UTF-8");
    return append_text(parser, first, (size_t)(parser->at - first));
}

static inro_status parse_text(struct parser *parser, struct inro_value *out) {
    if (!take_byte(parser, '"'))
        return fail_syntax(parser, "a string is expected");
    parser->text.length = 0;
    inro_status status = parse_run(parser);
    while (status == INRO_OK && !take_byte(parser, '"')) {
        if (!take_byte(parser, '\\'))
            return fail_syntax(parser, parser->at == parser->end ? "the string has no end"
                                                                 : "a control character is not escaped");
        status = parse_escape(parser);
        if (status == INRO_OK)
            status = parse_run(parser);
    }
    if (status != INRO_OK)
        return status;
    bool made = inro__value_init_bytes(out, INRO_VALUE_TEXT, parser->text.data, parser->text.length);
    return made ? INRO_OK : fail_memory(parser);
}

static inro_status push_parts(struct parser *parser, struct inro_value *container, struct inro_value *nodes,
                              size_t count) {
    if (inro__value_push(container, nodes) == INRO_OK)
        return INRO_OK;
    for (size_t i = 0; i < count; i++)
        inro__value_done(&nodes[i]);
    return fail_memory(parser);
}

static inro_status parse_item(struct parser *parser, unsigned level, struct inro_value *array) {
    struct inro_value item;
    inro_status status = parse_value(parser, level, &item);
    return status == INRO_OK ? push_parts(parser, array, &item, 1) : status;
}

static inro_status parse_pair(struct parser *parser, unsigned level, struct inro_value *map) {
    struct inro_value pair[2];
    skip_space(parser);
    inro_status status = parse_text(parser, &pair[0]);
    if (status != INRO_OK)
        return status;
    skip_space(parser);
    status =
        take_byte(parser, ':') ? parse_value(parser, level, &pair[1]) : fail_syntax(parser, "':' is expected");
    if (status == INRO_OK)
        return push_parts(parser, map, pair, 2);
    inro__value_done(&pair[0]);
    return status;
}

/* Two readers of a text with a repeated key may each believe another one of its values: refused. */
static inro_status check_keys(struct parser *parser, const struct inro_value *map) {
    const struct inro_value *pairs = map->as.items;
    bool repeats = false;
    if (map->length <= INRO__ORDER_SMALL) {
        repeats = inro__order_repeats_small(pairs, map->length);
    } else {
        size_t size = (size_t)map->length * 2 * sizeof(uint32_t);
        uint32_t *order = inro__alloc(size);
        if (!order)
            return fail_memory(parser);
        inro__order_sort(pairs, map->length, order, order + map->length);
        for (uint32_t i = 1; i < map->length && !repeats; i++)
            repeats = inro__value_compare(&pairs[2 * (size_t)order[i - 1]], &pairs[2 * (size_t)order[i]]) == 0;
        inro__free(order, size);
    }
    if (!repeats)
        return INRO_OK;
    parser->at--;
    return fail_syntax(parser, "a key of the object that ends here is repeated");
}

struct container_form {
    inro_value_type type;
    uint8_t close;
    inro_status (*parse_part)(struct parser *parser, unsigned level, struct inro_value *container);
    const char *expected;
};

static inro_status parse_parts(struct parser *parser, const struct container_form *form, unsigned level,
                               struct inro_value *out) {
    parser->at++;
    skip_space(parser);
    if (take_byte(parser, form->close))
        return INRO_OK;
    if (level >= INRO_VALUE_DEPTH_MAX)
        return fail_at(parser, INRO_ERR_LIMIT, "nested too deeply");
    for (;;) {
        inro_status status = form->parse_part(parser, level + 1, out);
        if (status != INRO_OK)
            return status;
        skip_space(parser);
        if (take_byte(parser, form->close))
            return form->type == INRO_VALUE_MAP ? check_keys(parser, out) : INRO_OK;
        if (!take_byte(parser, ','))
            return fail_syntax(parser, form->expected);
    }
}

static inro_status parse_container(struct parser *parser, const struct container_form *form, unsigned level,
                                   struct inro_value *out) {
    out->type = (uint8_t)form->type;
    inro_status status = parse_parts(parser, form, level, out);
    if (status != INRO_OK)
        inro__value_done(out);
    return status;
}

/* Leaves nothing to be freed in *out when it fails. */
static inro_status parse_value(struct parser *parser, unsigned level, struct inro_value *out) {
    static const struct container_form array = {INRO_VALUE_ARRAY, ']', parse_item, "',' or ']' is expected"};
    static const struct container_form map = {INRO_VALUE_MAP, '}', parse_pair, "',' or '}' is expected"};
    *out = (struct inro_value){.type = INRO_VALUE_NIL};
    skip_space(parser);
    uint8_t first = peek_byte(parser);
    if (first == '"')
        return parse_text(parser, out);
    if (first == '[')
        return parse_container(parser, &array, level, out);
    if (first == '{')
        return parse_container(parser, &map, level, out);
    return first == '-' || is_digit(first) ? parse_number(parser, out) : parse_literal(parser, out);
}

static inro_status parse_document(struct parser *parser, inro_value **out) {
    struct inro_value root;
    inro_status status = parse_value(parser, 0, &root);
    if (status != INRO_OK)
        return status;
    skip_space(parser);
    if (parser->at != parser->end) {
        inro__value_done(&root);
        return fail_syntax(parser, "nothing more is expected");
    }
    *out = inro__value_box(root);
    return *out ? INRO_OK : fail_memory(parser);
}

inro_status inro_value_from_json(inro_str json, inro_value **out, inro_error *err) {
    if (!json.data)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "no JSON text was given");
    if (json.length > (size_t)INRO_MESSAGE_BYTES_MAX)
        return inro__fail(err, INRO_ERR_LIMIT, 0, "the JSON text has %zu bytes, at most %u are read",
                          json.length, INRO_MESSAGE_BYTES_MAX);
    const uint8_t *bytes = (const uint8_t *)json.data;
    struct parser parser = {.start = bytes, .at = bytes, .end = bytes + json.length, .err = err};
    inro__buf_init(&parser.text, (size_t)INRO_MESSAGE_BYTES_MAX);
    inro_status status = parse_document(&parser, out);
    inro__buf_done(&parser.text);
    return status;
}
