/* Values as Ruby 3.4 shows them. The text is for people and terminals: nothing in it may be taken for more
 * than it is, so whatever is not printable is escaped, also what Ruby itself would let through.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "value/number.h"
#include "value/print.h"
#include "value/value.h"

#include <inttypes.h>
#include <string.h>

static void inspect(struct inro__printer *printer, const struct inro_value *value);

/* The escapes that have a letter, by their byte. */
static const char *letter_escape(uint32_t code_point) {
    static const char *const escapes[128] = {
        ['\a'] = "\\a", ['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\v'] = "\\v",
        ['\f'] = "\\f", ['\r'] = "\\r", [0x1b] = "\\e", ['"'] = "\\\"", ['\\'] = "\\\\",
    };
    return code_point < 128 ? escapes[code_point] : NULL;
}

/* "#{", "#$" and "#@" would be code if the text were pasted into a program. */
static bool starts_code(const uint8_t *at, const uint8_t *end) {
    return end - at > 1 && at[0] == '#' && (at[1] == '{' || at[1] == '$' || at[1] == '@');
}

static void print_escape(struct inro__printer *printer, uint32_t code_point) {
    const char *letter = letter_escape(code_point);
    if (letter)
        inro__print_text(printer, letter);
    else if (code_point < 0x80)
        inro__print_format(printer, "\\x%02" PRIX32, code_point);
    else if (code_point < 0x10000)
        inro__print_format(printer, "\\u%04" PRIX32, code_point);
    else
        inro__print_format(printer, "\\u{%" PRIX32 "}", code_point);
}

static bool is_as_is(const uint8_t *at, const uint8_t *end, uint32_t code_point) {
    return inro__utf8_is_printable(code_point) && !letter_escape(code_point) && !starts_code(at, end);
}

/* Runs that need no escape are appended in one piece. */
static void print_quoted_text(struct inro__printer *printer, const uint8_t *at, const uint8_t *end) {
    const uint8_t *run = at;
    inro__print_text(printer, "\"");
    while (at != end) {
        uint32_t code_point = 0;
        size_t length = inro__utf8_next(at, end, &code_point);
        if (length == 0)
            break;
        if (!is_as_is(at, end, code_point)) {
            inro__print_bytes(printer, run, (size_t)(at - run));
            if (starts_code(at, end))
                inro__print_text(printer, "\\#");
            else
                print_escape(printer, code_point);
            run = at + length;
        }
        at += length;
    }
    inro__print_bytes(printer, run, (size_t)(at - run));
    inro__print_text(printer, "\"");
}

static void print_quoted_bytes(struct inro__printer *printer, const uint8_t *at, const uint8_t *end) {
    inro__print_text(printer, "\"");
    for (; at != end; at++) {
        if (*at >= 0x80)
            inro__print_format(printer, "\\x%02X", *at);
        else if (starts_code(at, end))
            inro__print_text(printer, "\\#");
        else if (is_as_is(at, end, *at))
            inro__print_bytes(printer, at, 1);
        else
            print_escape(printer, *at);
    }
    inro__print_text(printer, "\"");
}

static bool is_word_byte(uint8_t byte, bool first) {
    bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' || byte >= 0x80;
    return letter || (!first && byte >= '0' && byte <= '9');
}

/* The length of the identifier that a name starts with. */
static size_t identifier_length(const uint8_t *name, size_t length) {
    size_t at = 0;
    while (at < length && is_word_byte(name[at], at == 0))
        at++;
    return at;
}

static bool is_all_printable(const uint8_t *at, size_t length) {
    const uint8_t *end = at + length;
    while (at != end) {
        uint32_t code_point = 0;
        size_t step = inro__utf8_next(at, end, &code_point);
        if (step == 0 || !inro__utf8_is_printable(code_point))
            return false;
        at += step;
    }
    return true;
}

/* Whether the bytes are an identifier and then, at most, one byte out of `endings`. */
static bool is_identifier(const uint8_t *name, size_t length, const char *endings) {
    size_t at = identifier_length(name, length);
    if (at == 0 || !is_all_printable(name, length))
        return false;
    return at == length || (at + 1 == length && name[at] != 0 && strchr(endings, name[at]));
}

static bool is_operator(const uint8_t *name, size_t length) {
    static const char *const operators[] = {"+",  "-",  "*",   "/",   "%",  "**", "==",  "!=", "<",  "<=",
                                            ">",  ">=", "<=>", "===", "=~", "!~", "!",   "~",  "+@", "-@",
                                            "<<", ">>", "&",   "|",   "^",  "[]", "[]=", "`"};
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (strlen(operators[i]) == length && memcmp(operators[i], name, length) == 0)
            return true;
    return false;
}

/* Whether a symbol needs no quotes behind its colon. */
static bool is_plain_symbol(const uint8_t *name, size_t length) {
    size_t sigil = 0;
    if (length > 0 && (name[0] == '$' || name[0] == '@'))
        sigil = length > 1 && name[0] == '@' && name[1] == '@' ? 2 : 1;
    return is_identifier(name + sigil, length - sigil, sigil ? "" : "?!=") || is_operator(name, length);
}

static void print_symbol(struct inro__printer *printer, const struct inro_value *value) {
    inro__print_text(printer, ":");
    if (is_plain_symbol(value->as.bytes, value->length))
        inro__print_bytes(printer, value->as.bytes, value->length);
    else
        print_quoted_text(printer, value->as.bytes, value->as.bytes + value->length);
}

/* A symbol key stands before its colon, any other key before an arrow. */
static void print_key(struct inro__printer *printer, const struct inro_value *key) {
    if (key->type != INRO_VALUE_SYMBOL) {
        inspect(printer, key);
        inro__print_text(printer, " => ");
        return;
    }
    if (is_identifier(key->as.bytes, key->length, "?!"))
        inro__print_bytes(printer, key->as.bytes, key->length);
    else
        print_quoted_text(printer, key->as.bytes, key->as.bytes + key->length);
    inro__print_text(printer, ": ");
}

static void print_array(struct inro__printer *printer, const struct inro_value *array) {
    inro__print_text(printer, "[");
    for (size_t i = 0; i < array->length && printer->status == INRO_OK; i++) {
        inro__print_text(printer, i ? ", " : "");
        inspect(printer, &array->as.items[i]);
    }
    inro__print_text(printer, "]");
}

static void print_map(struct inro__printer *printer, const struct inro_value *map) {
    inro__print_text(printer, "{");
    for (size_t i = 0; i < map->length && printer->status == INRO_OK; i++) {
        inro__print_text(printer, i ? ", " : "");
        print_key(printer, &map->as.items[2 * i]);
        inspect(printer, &map->as.items[2 * i + 1]);
    }
    inro__print_text(printer, "}");
}

static void print_float(struct inro__printer *printer, double real) {
    char text[INRO__FLOAT_TEXT_SIZE];
    inro__print_bytes(printer, text, inro__float_format(real, text));
}

static void inspect(struct inro__printer *printer, const struct inro_value *value) {
    switch ((inro_value_type)value->type) {
    case INRO_VALUE_NIL:
        inro__print_text(printer, "nil");
        return;
    case INRO_VALUE_BOOL:
        inro__print_text(printer, value->as.flag ? "true" : "false");
        return;
    case INRO_VALUE_INT:
        inro__print_format(printer, "%" PRId64, value->as.number);
        return;
    case INRO_VALUE_FLOAT:
        print_float(printer, value->as.real);
        return;
    case INRO_VALUE_TEXT:
        print_quoted_text(printer, value->as.bytes, value->as.bytes + value->length);
        return;
    case INRO_VALUE_BYTES:
        print_quoted_bytes(printer, value->as.bytes, value->as.bytes + value->length);
        return;
    case INRO_VALUE_SYMBOL:
        print_symbol(printer, value);
        return;
    case INRO_VALUE_ARRAY:
        print_array(printer, value);
        return;
    case INRO_VALUE_MAP:
        print_map(printer, value);
        return;
    case INRO_VALUE_OBJECT:
        inro__print_text(printer, "#<Handle>");
        return;
    }
}

inro_status inro_value_inspect(const inro_value *value, char **out, size_t *length, inro_error *err) {
    static const struct inro_value nil = {.type = INRO_VALUE_NIL};
    struct inro__printer printer;
    inro__print_init(&printer);
    inspect(&printer, value ? value : &nil);
    return inro__print_done(&printer, out, length, err);
}
