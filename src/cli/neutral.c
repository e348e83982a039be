/* A guest's output is shown on somebody's terminal, and a terminal obeys what it is shown: escape sequences
 * retitle it, answer into the shell's input, or rewrite lines above (threat H9). Bidirectional controls belong
 * here too: they show a line of source in another order than it runs in.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/neutral.h"

#include <stdbool.h>
#include <string.h>

struct range {
    uint32_t first, last;
};

static const struct range harmful[] = {
    {0x00, 0x08},     {0x0b, 0x1f}, /* C0 without tab and line feed; a carriage return rewrites its line */
    {0x7f, 0x9f},                   /* DEL and C1: 0x9b is an escape sequence's start in one character */
    {0x61c, 0x61c},   {0x200e, 0x200f}, {0x202a, 0x202e}, {0x2066, 0x2069}, /* direction */
    {0x2028, 0x2029},                                                       /* line ends to some terminals */
};

static bool is_harmful(uint32_t code_point) {
    for (size_t i = 0; i < sizeof harmful / sizeof harmful[0]; i++)
        if (code_point >= harmful[i].first && code_point <= harmful[i].last)
            return true;
    return false;
}

/* The length of the sequence that `lead` begins, 0 when it cannot begin one. */
static size_t sequence_length(uint8_t lead) {
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* Whether `byte` may stand behind `lead`: no overlong forms, no surrogates, nothing above U+10FFFF. */
static bool may_follow(uint8_t lead, uint8_t byte) {
    uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    return byte >= low && byte <= high;
}

static void add_sequence(const uint8_t *bytes, size_t length, struct inro__cli_text *out) {
    uint32_t code_point = length == 1 ? bytes[0] : bytes[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++)
        code_point = code_point << 6 | (bytes[i] & 0x3fu);
    if (!is_harmful(code_point))
        inro__cli_text_add(out, bytes, length);
    else
        inro__cli_text_format(out, code_point < 0x80 ? "\\x%02x" : "\\u%04x", code_point);
}

void inro__cli_neutral_end(struct inro__cli_neutral *state, struct inro__cli_text *out) {
    for (size_t i = 0; i < state->count; i++)
        inro__cli_text_format(out, "\\x%02x", state->pending[i]);
    state->count = 0;
}

static void feed_byte(struct inro__cli_neutral *state, uint8_t byte, struct inro__cli_text *out) {
    bool fits = state->count == 0   ? sequence_length(byte) > 0
                : state->count == 1 ? may_follow(state->pending[0], byte)
                                    : (byte & 0xc0) == 0x80;
    if (!fits && state->count > 0) {
        inro__cli_neutral_end(state, out);
        fits = sequence_length(byte) > 0;
    }
    state->pending[state->count++] = byte;
    if (!fits) {
        inro__cli_neutral_end(state, out);
    } else if (state->count == sequence_length(state->pending[0])) {
        add_sequence(state->pending, state->count, out);
        state->count = 0;
    }
}

void inro__cli_neutral_feed(struct inro__cli_neutral *state, const void *bytes, size_t length,
                            struct inro__cli_text *out) {
    const uint8_t *at = bytes;
    for (size_t i = 0; i < length; i++)
        feed_byte(state, at[i], out);
}
