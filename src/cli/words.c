/* Splitting a line into words as a shell does, without a shell.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/words.h"
#include "cli/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\n";
/* A shell would act on these; taken as ordinary letters they would do what nobody meant. */
static const char operators[] = "|&;<>()`";

static bool is_one_of(char byte, const char *set) {
    return byte != '\0' && strchr(set, byte);
}

/* Behind an opening quote; *at ends behind the closing one. Between double quotes a backslash protects what
 * would have a meaning there, as in a shell. */
static const char *read_quoted(const char **at, char quote, struct inro__cli_text *word) {
    for (; **at && **at != quote; ++*at) {
        if (quote == '"' && **at == '\\' && is_one_of((*at)[1], "\"\\$`"))
            ++*at;
        inro__cli_text_add(word, *at, 1);
    }
    if (!**at)
        return quote == '"' ? "has a double quote that is not closed" : "has a single quote that is not closed";
    ++*at;
    return NULL;
}

static const char *read_word(const char **at, struct inro__cli_text *word) {
    const char *problem = NULL;
    while (**at && !is_one_of(**at, blanks) && !problem) {
        char byte = *(*at)++;
        if (byte == '\'' || byte == '"') {
            problem = read_quoted(at, byte, word);
        } else if (is_one_of(byte, operators)) {
            problem =
                "has a character that only a shell understands (| & ; < > ( ) `); quote it, or use sh -c '...'";
        } else if (byte == '\\' && !**at) {
            problem = "ends in a backslash";
        } else {
            inro__cli_text_add(word, byte == '\\' ? (*at)++ : &byte, 1);
        }
    }
    inro__cli_text_add(word, "", 1);
    return problem;
}

/* The words stand one behind the other in `bytes`, each with its NUL. */
static void list_words(struct inro__cli_words *words) {
    words->list = inro__cli_alloc(words->count + 1, sizeof *words->list);
    char *at = words->bytes;
    for (size_t i = 0; i < words->count; i++) {
        words->list[i] = at;
        at += strlen(at) + 1;
    }
}

const char *inro__cli_words_split(const char *line, struct inro__cli_words *out) {
    struct inro__cli_text bytes = {0};
    const char *problem = NULL;
    *out = (struct inro__cli_words){NULL, 0, NULL};
    for (line += strspn(line, blanks); *line && !problem; line += strspn(line, blanks)) {
        problem = read_word(&line, &bytes);
        out->count++;
    }
    out->bytes = bytes.data;
    list_words(out);
    if (!problem && (out->count == 0 || *out->list[0] == '\0'))
        problem = "names no program";
    return problem;
}

void inro__cli_words_done(struct inro__cli_words *words) {
    free(words->list);
    free(words->bytes);
    *words = (struct inro__cli_words){NULL, 0, NULL};
}
