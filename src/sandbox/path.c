/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/path.h"

#include "policy/limits.h"

#include <string.h>

/* ASCII only, whatever the locale: a name that merely looks like another is not one. */
static bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

static bool is_word(char c) {
    return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

bool inro__path_is_name(inro_str name) {
    if (name.length == 0 || name.length > INRO__NAME_MAX || !is_upper(name.data[0]))
        return false;
    for (size_t i = 1; i < name.length; i++)
        if (!is_word(name.data[i]))
            return false;
    return true;
}

bool inro__path_is_path(inro_str path) {
    if (path.length > INRO__NAME_MAX)
        return false;
    for (;;) {
        const char *colons = path.length ? memmem(path.data, path.length, "::", 2) : NULL;
        size_t length = colons ? (size_t)(colons - path.data) : path.length;
        if (!inro__path_is_name((inro_str){path.data, length}))
            return false;
        if (!colons)
            return true;
        path = (inro_str){colons + 2, path.length - length - 2};
    }
}

bool inro__str_equal(inro_str left, inro_str right) {
    return left.length == right.length && (left.length == 0 || memcmp(left.data, right.data, left.length) == 0);
}

bool inro__path_clash(inro_str left, inro_str right) {
    inro_str shorter = left.length <= right.length ? left : right;
    inro_str longer = left.length <= right.length ? right : left;
    if (memcmp(shorter.data, longer.data, shorter.length) != 0)
        return false;
    return longer.length == shorter.length || longer.data[shorter.length] == ':';
}
