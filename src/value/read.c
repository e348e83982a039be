/* Reading a tree: questions of the wrong type have an answer, too, so that no caller must check twice.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "value/value.h"

#include <string.h>

static bool has_type(const inro_value *value, inro_value_type type) {
    return value && value->type == type;
}

static bool has_bytes(const inro_value *value) {
    return has_type(value, INRO_VALUE_TEXT) || has_type(value, INRO_VALUE_SYMBOL) ||
           has_type(value, INRO_VALUE_BYTES);
}

inro_value_type inro_value_get_type(const inro_value *value) {
    return value ? (inro_value_type)value->type : INRO_VALUE_NIL;
}

const char *inro_value_type_name(inro_value_type type) {
    static const char *const names[] = {"nil",   "bool",   "int",   "float", "text",
                                        "bytes", "symbol", "array", "map",   "object"};
    size_t index = (size_t)type;
    return index < sizeof names / sizeof names[0] ? names[index] : "unknown";
}

bool inro_value_get_bool(const inro_value *value) {
    return has_type(value, INRO_VALUE_BOOL) && value->as.flag;
}

int64_t inro_value_get_int(const inro_value *value) {
    return has_type(value, INRO_VALUE_INT) ? value->as.number : 0;
}

double inro_value_get_float(const inro_value *value) {
    if (has_type(value, INRO_VALUE_INT))
        return (double)value->as.number;
    return has_type(value, INRO_VALUE_FLOAT) ? value->as.real : 0;
}

inro_str inro_value_get_text(const inro_value *value) {
    if (!has_bytes(value) || value->type == INRO_VALUE_BYTES)
        return (inro_str){NULL, 0};
    return (inro_str){(const char *)value->as.bytes, value->length};
}

inro_bytes inro_value_get_bytes(const inro_value *value) {
    return has_bytes(value) ? (inro_bytes){value->as.bytes, value->length} : (inro_bytes){NULL, 0};
}

inro_object *inro_value_get_object(const inro_value *value) {
    return has_type(value, INRO_VALUE_OBJECT) ? value->as.object : NULL;
}

size_t inro_value_length(const inro_value *value) {
    return value ? value->length : 0;
}

const inro_value *inro_value_array_at(const inro_value *array, size_t index) {
    return has_type(array, INRO_VALUE_ARRAY) && index < array->length ? &array->as.items[index] : NULL;
}

const inro_value *inro_value_map_key_at(const inro_value *map, size_t index) {
    return has_type(map, INRO_VALUE_MAP) && index < map->length ? &map->as.items[index * 2] : NULL;
}

const inro_value *inro_value_map_value_at(const inro_value *map, size_t index) {
    return has_type(map, INRO_VALUE_MAP) && index < map->length ? &map->as.items[index * 2 + 1] : NULL;
}

static bool is_named(const inro_value *key, inro_str name) {
    inro_str text = inro_value_get_text(key);
    return text.data && text.length == name.length &&
           (name.length == 0 || memcmp(text.data, name.data, name.length) == 0);
}

const inro_value *inro_value_map_get(const inro_value *map, inro_str name) {
    size_t index = has_type(map, INRO_VALUE_MAP) ? map->length : 0;
    while (index-- > 0)
        if (is_named(&map->as.items[index * 2], name))
            return &map->as.items[index * 2 + 1];
    return NULL;
}
