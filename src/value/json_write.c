/* A tree to JSON, compact.
 *
 * JSON has fewer types than a value has, so two keys of a map may become one: {a: 1, "a" => 2}. A text with
 * both would mean different things to different readers, and who made the map is not to be trusted: refused.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "value/number.h"
#include "value/order.h"
#include "value/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct json_writer {
    struct inro__printer printer;
    inro_error *err;
};

static inro_status write_value(struct json_writer *writer, const struct inro_value *value);

static inro_status refuse_json(struct json_writer *writer, const char *what) {
    return inro__fail(writer->err, INRO_ERR_TYPE, 0, "%s has no form in JSON", what);
}

static void write_escape(struct inro__printer *printer, uint8_t byte) {
    static const char letters[] = "\"\\bfnrt", bytes[] = "\"\\\b\f\n\r\t";
    const char *found = byte ? strchr(bytes, byte) : NULL;
    if (found)
        inro__print_bytes(printer, (char[]){'\\', letters[found - bytes]}, 2);
    else
        inro__print_format(printer, "\\u%04x", byte);
}

/* UTF-8 goes out as it is; only what RFC 8259 demands, and DEL, is escaped. */
static inro_status write_string(struct json_writer *writer, const uint8_t *at, size_t length) {
    struct inro__printer *printer = &writer->printer;
    const uint8_t *end = length ? at + length : at, *run = at;
    inro__print_text(printer, "\"");
    for (; at != end; at++) {
        if (*at >= 0x20 && *at != '"' && *at != '\\' && *at != 0x7f)
            continue;
        inro__print_bytes(printer, run, (size_t)(at - run));
        write_escape(printer, *at);
        run = at + 1;
    }
    inro__print_bytes(printer, run, (size_t)(at - run));
    inro__print_text(printer, "\"");
    return printer->status;
}

static inro_status write_float(struct json_writer *writer, double real) {
    char text[INRO__FLOAT_TEXT_SIZE];
    if (!isfinite(real))
        return refuse_json(writer, isnan(real) ? "NaN" : "an infinite float");
    inro__print_bytes(&writer->printer, text, inro__float_format(real, text));
    return writer->printer.status;
}

/* Three bytes become four characters; what is missing of the last three becomes '='. */
static void write_base64(struct inro__printer *printer, const uint8_t *bytes, size_t length) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t group = (uint32_t)bytes[i] << 16;
        group |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        group |= left > 2 ? bytes[i + 2] : 0;
        char text[4] = {alphabet[group >> 18], alphabet[group >> 12 & 63],
                        left > 1 ? alphabet[group >> 6 & 63] : '=', left > 2 ? alphabet[group & 63] : '='};
        inro__print_bytes(printer, text, sizeof text);
    }
}

static inro_status write_bytes(struct json_writer *writer, const struct inro_value *value) {
    inro__print_text(&writer->printer, "{\"$bytes\":\"");
    write_base64(&writer->printer, value->as.bytes, value->length);
    inro__print_text(&writer->printer, "\"}");
    return writer->printer.status;
}

static inro_status write_array(struct json_writer *writer, const struct inro_value *array) {
    inro__print_text(&writer->printer, "[");
    for (uint32_t i = 0; i < array->length; i++) {
        inro__print_text(&writer->printer, i ? "," : "");
        inro_status status = write_value(writer, &array->as.items[i]);
        if (status != INRO_OK)
            return status == INRO_ERR_TYPE ? inro__wrap(writer->err, status, "item %" PRIu32, i) : status;
    }
    inro__print_text(&writer->printer, "]");
    return writer->printer.status;
}

static bool is_finite_scalar(const struct inro_value *value) {
    return value->type <= INRO_VALUE_INT || (value->type == INRO_VALUE_FLOAT && isfinite(value->as.real));
}

/* The JSON text of a scalar; `text` has room for the longest. */
static size_t format_scalar(const struct inro_value *value, char text[INRO__FLOAT_TEXT_SIZE]) {
    if (value->type == INRO_VALUE_FLOAT)
        return inro__float_format(value->as.real, text);
    if (value->type == INRO_VALUE_INT)
        return (size_t)snprintf(text, INRO__FLOAT_TEXT_SIZE, "%" PRId64, value->as.number);
    const char *word = value->type == INRO_VALUE_NIL ? "null" : value->as.flag ? "true" : "false";
    memcpy(text, word, strlen(word) + 1);
    return strlen(word);
}

/* Turns a key into the text that it is in JSON, a view of the key or of a block in `arena`. */
static inro_status name_key(struct json_writer *writer, struct inro__arena *arena, const struct inro_value *key,
                            struct inro_value *out) {
    *out = (struct inro_value){.type = INRO_VALUE_TEXT};
    if (key->type == INRO_VALUE_TEXT || key->type == INRO_VALUE_SYMBOL) {
        out->length = key->length;
        out->as.bytes = key->as.bytes;
        return INRO_OK;
    }
    if (!is_finite_scalar(key)) {
        char what[64];
        bool is_float = key->type == INRO_VALUE_FLOAT;
        snprintf(what, sizeof what, "a key that is %s",
                 is_float ? "no finite number" : inro_value_type_name((inro_value_type)key->type));
        return refuse_json(writer, what);
    }
    char *text = inro__arena_alloc(arena, INRO__FLOAT_TEXT_SIZE);
    if (!text)
        return INRO_ERR_MEMORY;
    out->length = (uint32_t)format_scalar(key, text);
    out->as.bytes = (const uint8_t *)text;
    return INRO_OK;
}

/* Marks in `names` which pairs are written: of pairs with the same key the last, as the value's own meaning
 * has it. Different keys with the same name are refused. */
static inro_status select_pairs(struct json_writer *writer, const struct inro_value *map,
                                struct inro_value *names, const uint32_t *order) {
    for (uint32_t i = 0; i < map->length; i++)
        names[2 * (size_t)i + 1] = (struct inro_value){.type = INRO_VALUE_BOOL, .as.flag = true};
    for (uint32_t i = 1; i < map->length; i++) {
        size_t left = 2 * (size_t)order[i - 1], right = 2 * (size_t)order[i];
        if (inro__value_compare(&names[left], &names[right]) != 0)
            continue;
        if (inro__value_compare(&map->as.items[left], &map->as.items[right]) != 0)
            return refuse_json(writer, "a map with two keys of one name");
        names[left + 1].as.flag = false;
    }
    return INRO_OK;
}

static inro_status write_pair(struct json_writer *writer, const struct inro_value *name,
                              const struct inro_value *value) {
    write_string(writer, name->as.bytes, name->length);
    inro__print_text(&writer->printer, ":");
    inro_status status = write_value(writer, value);
    if (status != INRO_ERR_TYPE)
        return status;
    int shown = name->length < 40 ? (int)name->length : 40;
    return inro__wrap(writer->err, status, "key \"%.*s\"", shown, (const char *)name->as.bytes);
}

static inro_status write_pairs(struct json_writer *writer, const struct inro_value *map,
                               const struct inro_value *names) {
    bool first = true;
    inro__print_text(&writer->printer, "{");
    for (size_t i = 0; i < map->length; i++) {
        if (!names[2 * i + 1].as.flag)
            continue;
        inro__print_text(&writer->printer, first ? "" : ",");
        first = false;
        inro_status status = write_pair(writer, &names[2 * i], &map->as.items[2 * i + 1]);
        if (status != INRO_OK)
            return status;
    }
    inro__print_text(&writer->printer, "}");
    return writer->printer.status;
}

/* `names` are the map's keys as texts, each with a flag at its value's place: whether the pair is written. */
static inro_status write_named(struct json_writer *writer, struct inro__arena *arena,
                               const struct inro_value *map) {
    struct inro_value *names = inro__arena_alloc(arena, inro__order_block_size(map->length));
    if (!names)
        return INRO_ERR_MEMORY;
    for (size_t i = 0; i < map->length; i++) {
        inro_status status = name_key(writer, arena, &map->as.items[2 * i], &names[2 * i]);
        if (status != INRO_OK)
            return status;
    }
    uint32_t *order = (uint32_t *)(void *)(names + 2 * (size_t)map->length);
    inro__order_sort(names, map->length, order, order + map->length);
    inro_status status = select_pairs(writer, map, names, order);
    return status == INRO_OK ? write_pairs(writer, map, names) : status;
}

static inro_status write_map(struct json_writer *writer, const struct inro_value *map) {
    if (map->length == 0) {
        inro__print_text(&writer->printer, "{}");
        return writer->printer.status;
    }
    struct inro__arena arena;
    inro__arena_init(&arena, SIZE_MAX);
    inro_status status = write_named(writer, &arena, map);
    inro__arena_done(&arena);
    return status;
}

static inro_status write_scalar(struct json_writer *writer, const struct inro_value *value) {
    char text[INRO__FLOAT_TEXT_SIZE];
    inro__print_bytes(&writer->printer, text, format_scalar(value, text));
    return writer->printer.status;
}

static inro_status write_value(struct json_writer *writer, const struct inro_value *value) {
    switch ((inro_value_type)value->type) {
    case INRO_VALUE_NIL:
    case INRO_VALUE_BOOL:
    case INRO_VALUE_INT:
        return write_scalar(writer, value);
    case INRO_VALUE_FLOAT:
        return write_float(writer, value->as.real);
    case INRO_VALUE_TEXT:
    case INRO_VALUE_SYMBOL:
        return write_string(writer, value->as.bytes, value->length);
    case INRO_VALUE_BYTES:
        return write_bytes(writer, value);
    case INRO_VALUE_ARRAY:
        return write_array(writer, value);
    case INRO_VALUE_MAP:
        return write_map(writer, value);
    case INRO_VALUE_OBJECT:
        break;
    }
    return refuse_json(writer, "an object");
}

inro_status inro_value_to_json(const inro_value *value, char **out, size_t *length, inro_error *err) {
    static const struct inro_value nil = {.type = INRO_VALUE_NIL};
    struct json_writer writer = {.err = err};
    inro__print_init(&writer.printer);
    inro_status status = write_value(&writer, value ? value : &nil);
    if (status == INRO_ERR_TYPE) {
        inro__buf_done(&writer.printer.buf);
        return status;
    }
    if (status != INRO_OK)
        writer.printer.status = status;
    return inro__print_done(&writer.printer, out, length, err);
}
