/* UTF-8, one sequence at a time. The guest compiles this too: nothing here needs a C library.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__UTF8_H
#define INRO__UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long a sequence its lead byte announces; 0 for a byte that cannot lead (0xc0, 0xc1 are overlong). */
static inline size_t inro__utf8_announced(uint8_t lead) {
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* The second byte's range is where overlong forms, surrogates and what is above U+10FFFF are told apart. */
static inline bool inro__utf8_is_second(uint8_t lead, uint8_t byte) {
    uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    return byte >= low && byte <= high;
}

/* Decodes the sequence at `at` and answers its length; 0 when it is not UTF-8 or `at` is the end. */
static inline size_t inro__utf8_next(const uint8_t *at, const uint8_t *end, uint32_t *code_point) {
    if (at == end)
        return 0;
    size_t length = inro__utf8_announced(*at);
    if (length <= 1 || length > (size_t)(end - at)) {
        *code_point = *at;
        return length == 1;
    }
    if (!inro__utf8_is_second(at[0], at[1]))
        return 0;
    uint32_t code = at[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3fu);
    }
    *code_point = code;
    return length;
}

/* Writes a code point (not a surrogate, at most U+10FFFF) and answers the bytes used, 1 .. 4. */
size_t inro__utf8_put(uint32_t code_point, uint8_t bytes[4]);

/* Whether a code point may be shown to people as it is: no control or format character, no line separator,
 * no private use, nothing that is no character. What Unicode has not assigned yet counts as printable. */
bool inro__utf8_is_printable(uint32_t code_point);

#endif
