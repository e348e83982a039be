/* A growing text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/text.h"
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nothing here may allocate, and what has been printed already stays as it is. */
void inro__cli_no_memory(void) {
    static const char message[] = "inro: out of memory\n";
    ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
    (void)ignored;
    _exit(INRO__CLI_FAILED);
}

void *inro__cli_alloc(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    if (!block)
        inro__cli_no_memory();
    return block;
}

char *inro__cli_text_room(struct inro__cli_text *text, size_t more) {
    if (more > SIZE_MAX / 4 - text->length)
        inro__cli_no_memory();
    size_t needed = text->length + more;
    if (needed > text->capacity || !text->data) {
        size_t capacity = needed < 64 ? 64 : needed + needed / 2;
        char *data = realloc(text->data, capacity);
        if (!data)
            inro__cli_no_memory();
        text->data = data;
        text->capacity = capacity;
    }
    return text->data + text->length;
}

void inro__cli_text_add(struct inro__cli_text *text, const void *bytes, size_t length) {
    if (length == 0)
        return;
    memcpy(inro__cli_text_room(text, length), bytes, length);
    text->length += length;
}

void inro__cli_text_put(struct inro__cli_text *text, const char *string) {
    inro__cli_text_add(text, string, strlen(string));
}

void inro__cli_text_format(struct inro__cli_text *text, const char *format, ...) {
    enum { FIRST_TRY = 128 };
    va_list args;
    va_list again;
    va_start(args, format);
    va_copy(again, args);
    int printed = vsnprintf(inro__cli_text_room(text, FIRST_TRY), FIRST_TRY, format, args);
    va_end(args);
    size_t length = printed > 0 ? (size_t)printed : 0;
    if (length >= FIRST_TRY)
        vsnprintf(inro__cli_text_room(text, length + 1), length + 1, format, again);
    va_end(again);
    text->length += length;
}

const char *inro__cli_text_string(struct inro__cli_text *text) {
    *inro__cli_text_room(text, 1) = '\0';
    return text->data;
}

void inro__cli_text_done(struct inro__cli_text *text) {
    free(text->data);
    *text = (struct inro__cli_text){NULL, 0, 0};
}
