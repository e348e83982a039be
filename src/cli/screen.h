/* Standard output and standard error.
 *
 * Everything the command prints passes here, so that three things hold everywhere: output that cannot be
 * written is noticed, colour appears on terminals only, and bytes that come from a guest, a file or the
 * command line cannot drive the terminal they are shown on.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__CLI_SCREEN_H
#define INRO__CLI_SCREEN_H

#include "cli/text.h"

#include <stddef.h>
#include <stdint.h>

enum inro__cli_style {
    INRO__CLI_PLAIN,
    INRO__CLI_BAD,
    INRO__CLI_WARN,
    INRO__CLI_GOOD,
    INRO__CLI_DIM,
    INRO__CLI_BOLD
};

/* Call first: makes sure that descriptors 0 to 2 are taken, and looks at what 1 and 2 are. */
void inro__cli_screen_open(void);

/* Shows bytes on descriptor 1 or 2. Ends the command when they cannot be written. */
void inro__cli_show(int fd, const void *bytes, size_t length);
void inro__cli_show_text(int fd, const char *string);
void inro__cli_show_format(int fd, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull));

/* Switches the style of what follows; nothing on what is no terminal. */
void inro__cli_show_style(int fd, enum inro__cli_style style);

/* Ends the line that `fd` shows, if one is open: what follows begins at the left. */
void inro__cli_show_fresh_line(int fd);

#endif
