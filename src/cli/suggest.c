/* Did you mean ...?
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <string.h>

enum { WORD_MAX = 32 };

static size_t least(size_t left, size_t right) {
    return left < right ? left : right;
}

/* How many letters must be inserted, deleted, replaced or swapped with their neighbour to make `left` into
 * `right`; both at most WORD_MAX long. */
static size_t distance(const char *left, const char *right) {
    size_t rows = strlen(left), columns = strlen(right);
    size_t table[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= rows; i++)
        for (size_t j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            size_t change = table[i - 1][j - 1] + (left[i - 1] != right[j - 1]);
            table[i][j] = least(change, 1 + least(table[i - 1][j], table[i][j - 1]));
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1])
                table[i][j] = least(table[i][j], 1 + table[i - 2][j - 2]);
        }
    return table[rows][columns];
}

const char *inro__cli_suggest(const char *word, const char *(*next)(void *state), void *state) {
    const char *best = NULL, *candidate;
    size_t length = strlen(word), nearest = 1 + (length < 4 ? 1 : length / 3);
    if (length > WORD_MAX)
        return NULL;
    while ((candidate = next(state)) != NULL) {
        size_t found = strlen(candidate) > WORD_MAX ? nearest : distance(word, candidate);
        bool begins = length >= 3 && strncmp(word, candidate, length) == 0;
        if (begins || found < nearest) {
            best = candidate;
            nearest = begins ? 1 : found;
        }
    }
    return best;
}
