/* --help, made from the tables.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/pages.h"
#include "cli/screen.h"

#include <string.h>
#include <unistd.h>

enum { WIDTH = 80, OPTION_COLUMN = 26, COMMAND_COLUMN = 14, EXIT_COLUMN = 4 };

static void add_spaces(struct inro__cli_text *page, size_t count) {
    while (count-- > 0)
        inro__cli_text_put(page, " ");
}

/* Breaks `text` into lines that begin at `column` and end before WIDTH; a blank line stays one. `used` is how
 * far the first line already goes. */
static void add_wrapped(struct inro__cli_text *page, const char *text, size_t column, size_t used) {
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (used + length + 1 > WIDTH && used > column) {
            inro__cli_text_put(page, "\n");
            used = 0;
        }
        if (used < column) {
            add_spaces(page, column - used);
            used = column;
        } else if (used > column) {
            inro__cli_text_put(page, " ");
            used++;
        }
        inro__cli_text_add(page, text, length);
        used += length;
        text += length;
        if (*text == '\n') {
            size_t ends = strspn(text, "\n");
            for (size_t i = 0; i < ends; i++)
                inro__cli_text_put(page, "\n");
            text += ends;
            used = 0;
        }
        text += strspn(text, " ");
    }
    inro__cli_text_put(page, "\n");
}

/* A term in the margin and its meaning beside it, or below it where the term is too long. */
static void add_term(struct inro__cli_text *page, const char *term, const char *text, size_t column) {
    size_t used = 2 + strlen(term);
    add_spaces(page, 2);
    inro__cli_text_put(page, term);
    if (used + 2 > column) {
        inro__cli_text_put(page, "\n");
        used = 0;
    }
    add_wrapped(page, text, column, used);
}

static void add_option(struct inro__cli_text *page, const struct inro__cli_option *option) {
    struct inro__cli_text term = {0}, text = {0};
    if (option->letter)
        inro__cli_text_format(&term, "-%c, ", option->letter);
    inro__cli_text_format(&term, "--%s", option->name);
    if (option->value)
        inro__cli_text_format(&term, " %s", option->value);
    inro__cli_text_put(&text, option->help);
    if (option->fallback)
        inro__cli_text_format(&text, " Default: %s.", option->fallback);
    if (option->repeats)
        inro__cli_text_put(&text, " May be given more than once.");
    add_term(page, inro__cli_text_string(&term), inro__cli_text_string(&text), OPTION_COLUMN);
    inro__cli_text_done(&term);
    inro__cli_text_done(&text);
}

static void add_options(struct inro__cli_text *page, const struct inro__cli_command *command) {
    inro__cli_text_put(page, "\nOptions:\n");
    for (const struct inro__cli_option *option = inro__cli_options; option->name; option++)
        if (option->scope & command->scope)
            add_option(page, option);
}

static void add_commands(struct inro__cli_text *page) {
    inro__cli_text_put(page, "\nCommands:\n");
    for (const struct inro__cli_command *command = inro__cli_commands + 1; command->name; command++)
        add_term(page, command->name, command->summary, COMMAND_COLUMN);
}

static void add_examples(struct inro__cli_text *page, const struct inro__cli_term *example) {
    inro__cli_text_put(page, "\nExamples:\n");
    for (; example->term; example++)
        inro__cli_text_format(page, "  %s\n      %s\n", example->term, example->text);
}

static void add_exit_statuses(struct inro__cli_text *page) {
    inro__cli_text_put(page, "\nExit status:\n");
    for (const struct inro__cli_term *term = inro__cli_exit_terms; term->term; term++)
        add_term(page, term->term, term->text, EXIT_COLUMN + 1);
}

int inro__cli_show_help(const struct inro__cli_command *command) {
    struct inro__cli_text page = {0};
    bool top = !*command->name;
    inro__cli_text_format(&page, "Usage: inro%s%s %s\n\n", top ? "" : " ", command->name, command->usage);
    inro__cli_text_format(&page, "%s%s%s.\n\n", top ? "inro: " : "", top ? "" : "inro: ", command->summary);
    add_wrapped(&page, command->text, 0, 0);
    if (top)
        add_commands(&page);
    add_options(&page, command);
    if (command->examples)
        add_examples(&page, command->examples);
    add_exit_statuses(&page);
    if (top)
        inro__cli_text_put(&page, "\n\"inro help COMMAND\" describes a command, \"man inro\" all of them.\n");
    inro__cli_show(STDOUT_FILENO, page.data, page.length);
    inro__cli_text_done(&page);
    return INRO__CLI_OK;
}
