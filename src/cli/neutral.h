/* Makes bytes harmless for a terminal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__CLI_NEUTRAL_H
#define INRO__CLI_NEUTRAL_H

#include "cli/text.h"

#include <stdint.h>

/* The beginning of a UTF-8 sequence whose rest has not come yet; all zero is none. */
struct inro__cli_neutral {
    uint8_t pending[4];
    size_t count;
};

/* Appends `length` bytes to `out`: printable UTF-8, line ends and tabs as they are, everything else as \x1b or
 * \u202e. A sequence may be split over two calls. */
void inro__cli_neutral_feed(struct inro__cli_neutral *state, const void *bytes, size_t length,
                            struct inro__cli_text *out);

/* Appends what is pending: no more is going to come. */
void inro__cli_neutral_end(struct inro__cli_neutral *state, struct inro__cli_text *out);

#endif
