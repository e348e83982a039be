/* Messages are cut and cleaned here, once: what is quoted in them often comes from a guest or a file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_SIZE = sizeof((inro_error *)NULL)->message };

/* Copies `from` as one clean line: a line break would forge a second log line, an escape sequence would reach
 * somebody's terminal, so '?' stands for what is not printable. Never splits a character. */
static void copy_clean(char *to, size_t size, const char *from) {
    const uint8_t *at = (const uint8_t *)from, *end = at + strlen(from);
    size_t used = 0;
    while (at != end) {
        uint32_t code_point = 0;
        size_t length = inro__utf8_next(at, end, &code_point);
        bool keep = length != 0 && inro__utf8_is_printable(code_point);
        size_t width = keep ? length : 1;
        if (used + width >= size)
            break;
        memcpy(to + used, keep ? (const char *)at : "?", width);
        used += width;
        at += length ? length : 1;
    }
    to[used] = '\0';
}

/* A message that does not fit may end inside a character; the torn rest is dropped, not shown as '?'. */
static void drop_torn_end(char *text) {
    size_t length = strlen(text), start = length;
    while (start > 0 && length - start < 3 && ((uint8_t)text[start - 1] & 0xc0) == 0x80)
        start--;
    uint32_t code_point;
    const uint8_t *bytes = (const uint8_t *)text;
    if (start > 0 && bytes[start - 1] >= 0xc0 &&
        inro__utf8_next(bytes + start - 1, bytes + length, &code_point) == 0)
        text[start - 1] = '\0';
}

__attribute__((format(printf, 2, 0))) static void format_clean(char *to, const char *format, va_list args) {
    char raw[MESSAGE_SIZE] = "";
    int length = vsnprintf(raw, sizeof raw, format, args);
    if (length < 0)
        raw[0] = '\0';
    else if ((size_t)length >= sizeof raw)
        drop_torn_end(raw);
    copy_clean(to, MESSAGE_SIZE, raw);
}

inro_status inro__fail(inro_error *err, inro_status status, int os_error, const char *format, ...) {
    if (!err)
        return status;
    va_list args;
    va_start(args, format);
    err->status = status;
    err->os_error = os_error;
    format_clean(err->message, format, args);
    va_end(args);
    return status;
}

/* Cuts `text` to at most `most` bytes between two characters. */
static size_t cut_length(const char *text, size_t most) {
    size_t length = strlen(text);
    if (length <= most)
        return length;
    while (most > 0 && ((uint8_t)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

inro_status inro__wrap(inro_error *err, inro_status status, const char *format, ...) {
    static const char joint[] = ": ";
    if (!err)
        return status;
    char context[MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    format_clean(context, format, args);
    va_end(args);
    err->status = status;
    size_t cause = strlen(err->message), taken = cause + sizeof joint - 1;
    if (taken >= MESSAGE_SIZE)
        return status;
    size_t front = cut_length(context, MESSAGE_SIZE - 1 - taken);
    if (front == 0)
        return status;
    memmove(err->message + front + sizeof joint - 1, err->message, cause + 1);
    memcpy(err->message, context, front);
    memcpy(err->message + front, joint, sizeof joint - 1);
    return status;
}
