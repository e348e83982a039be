/* Splitting a line into words as a shell does, without a shell.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__CLI_WORDS_H
#define INRO__CLI_WORDS_H

#include <stddef.h>

/* Words for exec: `list` ends with NULL. */
struct inro__cli_words {
    char **list;
    size_t count;
    char *bytes; /* what the words point into */
};

/* Splits `line`: quotes and backslashes as in a shell, nothing else has a meaning. Answers NULL, or what is
 * wrong, to follow the line in a sentence; free with inro__cli_words_done in both cases. */
const char *inro__cli_words_split(const char *line, struct inro__cli_words *out);
void inro__cli_words_done(struct inro__cli_words *words);

#endif
