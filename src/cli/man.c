/* The man page's source, made from the tables; docs/man/inro.1 is this output.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/pages.h"
#include "cli/screen.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

/* Running text: a dot or an apostrophe at a line's start would be a request, a backslash an escape; a plain
 * hyphen would be shown as a dash that cannot be pasted. A blank line ends the paragraph. */
static void add_text(struct inro__cli_text *page, const char *text) {
    for (bool starts = true; *text; text++) {
        if (starts && (*text == '.' || *text == '\''))
            inro__cli_text_put(page, "\\&");
        starts = *text == '\n';
        if (*text == '\\')
            inro__cli_text_put(page, "\\e");
        else if (*text == '-')
            inro__cli_text_put(page, "\\-");
        else if (*text == '\'')
            inro__cli_text_put(page, "\\(aq");
        else if (text[0] == '\n' && text[1] == '\n')
            inro__cli_text_put(page, "\n.PP");
        else
            inro__cli_text_add(page, text, 1);
    }
}

static void add_line(struct inro__cli_text *page, const char *text) {
    add_text(page, text);
    inro__cli_text_put(page, "\n");
}

/* Words in bold or italics; `font` is B or I. */
static void add_in_font(struct inro__cli_text *page, char font, const char *text) {
    inro__cli_text_format(page, "\\f%c", font);
    add_text(page, text);
    inro__cli_text_put(page, "\\fR");
}

static void add_option(struct inro__cli_text *page, const struct inro__cli_option *option) {
    inro__cli_text_put(page, ".TP\n");
    if (option->letter) {
        add_in_font(page, 'B', (char[]){'-', option->letter, '\0'});
        inro__cli_text_put(page, ", ");
    }
    add_in_font(page, 'B', "--");
    add_in_font(page, 'B', option->name);
    if (option->value) {
        inro__cli_text_put(page, " ");
        add_in_font(page, 'I', option->value);
    }
    inro__cli_text_put(page, "\n");
    add_line(page, option->help);
    if (option->fallback) {
        add_text(page, "Default: ");
        add_text(page, option->fallback);
        inro__cli_text_put(page, ".\n");
    }
    if (option->repeats)
        add_line(page, "May be given more than once.");
}

static void add_options(struct inro__cli_text *page, unsigned scope) {
    for (const struct inro__cli_option *option = inro__cli_options; option->name; option++)
        if (option->scope & scope)
            add_option(page, option);
}

static void add_examples(struct inro__cli_text *page, const struct inro__cli_term *example) {
    for (; example->term; example++) {
        inro__cli_text_put(page, ".PP\n.nf\n    ");
        add_line(page, example->term);
        inro__cli_text_put(page, ".fi\n");
        add_line(page, example->text);
    }
}

static void add_usage(struct inro__cli_text *page, const struct inro__cli_command *command) {
    add_in_font(page, 'B', "inro");
    if (*command->name) {
        inro__cli_text_put(page, " ");
        add_in_font(page, 'B', command->name);
    }
    inro__cli_text_put(page, " ");
    add_line(page, command->usage);
}

/* Options of all commands that have no others are listed once, for `inro` itself. */
static void add_command(struct inro__cli_text *page, const struct inro__cli_command *command) {
    inro__cli_text_put(page, ".SS ");
    inro__cli_text_format(page, "inro ");
    add_line(page, command->name);
    add_usage(page, command);
    inro__cli_text_put(page, ".PP\n");
    char first = (char)toupper((unsigned char)command->summary[0]);
    inro__cli_text_add(page, &first, 1);
    add_text(page, command->summary + 1);
    inro__cli_text_put(page, ".\n");
    add_line(page, command->text);
    if (command->scope != INRO__CLI_OTHER)
        add_options(page, command->scope);
    if (command->examples)
        add_examples(page, command->examples);
}

static void add_section(struct inro__cli_text *page, const struct inro__cli_section *section) {
    inro__cli_text_format(page, ".SH %s\n", section->title);
    if (section->text)
        add_line(page, section->text);
    for (const struct inro__cli_term *term = section->terms; term && term->term; term++) {
        inro__cli_text_put(page, ".TP\n");
        add_in_font(page, 'B', term->term);
        inro__cli_text_put(page, "\n");
        add_line(page, term->text);
    }
}

static void add_head(struct inro__cli_text *page) {
    const struct inro__cli_command *top = inro__cli_commands;
    inro__cli_text_put(page, ".\\\" Made by inro --dump-man from the tables in src/cli; do not edit.\n"
                             ".\\\" SPDX-License-Identifier: Apache-2.0\n");
    inro__cli_text_format(page, ".TH INRO 1 \"\" \"inro %s\" \"User Commands\"\n", INRO_VERSION);
    inro__cli_text_put(page, ".SH NAME\ninro \\- ");
    add_line(page, top->summary);
    inro__cli_text_put(page, ".SH SYNOPSIS\n");
    for (const struct inro__cli_command *command = top + 1; command->name; command++) {
        add_usage(page, command);
        inro__cli_text_put(page, command[1].name ? ".br\n" : "");
    }
    inro__cli_text_put(page, ".SH DESCRIPTION\n");
    add_line(page, top->text);
    add_options(page, top->scope);
}

int inro__cli_show_man(void) {
    struct inro__cli_text page = {0};
    add_head(&page);
    inro__cli_text_put(&page, ".SH COMMANDS\n");
    for (const struct inro__cli_command *command = inro__cli_commands + 1; command->name; command++)
        add_command(&page, command);
    for (const struct inro__cli_section *section = inro__cli_sections; section->title; section++)
        add_section(&page, section);
    inro__cli_show(STDOUT_FILENO, page.data, page.length);
    inro__cli_text_done(&page);
    return INRO__CLI_OK;
}
