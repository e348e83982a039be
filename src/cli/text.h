/* A growing text. Without memory the command ends: there is nothing left that it could do.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__CLI_TEXT_H
#define INRO__CLI_TEXT_H

#include <stddef.h>

/* All zero is the empty text. `data` is not NUL-terminated, except after inro__cli_text_string. */
struct inro__cli_text {
    char *data;
    size_t length;
    size_t capacity;
};

void inro__cli_text_add(struct inro__cli_text *text, const void *bytes, size_t length);
void inro__cli_text_put(struct inro__cli_text *text, const char *string);
void inro__cli_text_format(struct inro__cli_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull));

/* The text as a C string, lent until the next change. */
const char *inro__cli_text_string(struct inro__cli_text *text);

/* Makes room for `more` bytes and answers where they go; add them to `length` by hand. */
char *inro__cli_text_room(struct inro__cli_text *text, size_t more);
void inro__cli_text_done(struct inro__cli_text *text);

/* calloc that does not fail. */
void *inro__cli_alloc(size_t count, size_t size);

/* Ends the command with "out of memory". */
_Noreturn void inro__cli_no_memory(void);

#endif
