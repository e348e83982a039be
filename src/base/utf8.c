/* Which code points are fit to be shown, and writing one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

struct code_range {
    uint32_t first;
    uint32_t last;
};

/* Ascending. Besides controls these are the characters that make text look like other text: zero-width ones,
 * and those that turn the direction of reading around. */
static const struct code_range unprintable[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
    {0x6dd, 0x6dd},   {0x70f, 0x70f},     {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f}, {0xd800, 0xf8ff},   {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},   {0xfff0, 0xfffb},
    {0xfffe, 0xffff}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe00ff}, {0xe01f0, UINT32_MAX},
};

bool inro__utf8_is_printable(uint32_t code_point) {
    if (code_point >= 0x20 && code_point < 0x7f)
        return true;
    for (size_t i = 0; i < sizeof unprintable / sizeof unprintable[0]; i++)
        if (code_point <= unprintable[i].last)
            return code_point < unprintable[i].first;
    return true;
}

size_t inro__utf8_put(uint32_t code_point, uint8_t bytes[4]) {
    size_t length = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    static const uint8_t leads[5] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--) {
        bytes[i] = (uint8_t)(0x80 | (code_point & 0x3f));
        code_point >>= 6;
    }
    bytes[0] = (uint8_t)(leads[length] | code_point);
    return length;
}
