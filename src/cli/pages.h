/* What the man page and --help say besides commands and options.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__CLI_PAGES_H
#define INRO__CLI_PAGES_H

#include "cli/cli.h"

/* A section of the man page: paragraphs first, terms after them. Both may be NULL; paragraphs are separated by
 * a blank line. The last row's title is NULL. */
struct inro__cli_section {
    const char *title;
    const char *text;
    const struct inro__cli_term *terms;
};

extern const struct inro__cli_term inro__cli_exit_terms[];
extern const struct inro__cli_section inro__cli_sections[];

#endif
