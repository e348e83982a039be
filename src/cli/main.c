/* inro: the command. Finds the row of the command table, and says what is wrong when there is none.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "cli/cli.h"
#include "cli/screen.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct inro__cli_term eval_examples[] = {
    {"inro eval '[1, 2, 3].sum'", "prints 6"},
    {"inro eval -f report.rb --timeout 0.5 --memory 8M", "runs a file within tighter limits"},
    {"echo 'KV::Lookup.call(\"a\")' | inro eval - --service KV::Lookup='python3 lookup.py'",
     "lets the script call a program"},
    {NULL, NULL},
};

static const struct inro__cli_term run_entry_examples[] = {
    {"inro run-entry Greet '\"world\"' --preload greet.rb", "calls the constant Greet, which greet.rb defines"},
    {"inro run-entry Page 3 --kwarg 'tags=[\"a\", \"b\"]' --preload page.rb --json",
     "passes an integer and a keyword argument"},
    {NULL, NULL},
};

static const struct inro__cli_term doctor_examples[] = {
    {"inro doctor", "shows one row for each thing that was looked at"},
    {NULL, NULL},
};

static const struct inro__cli_term completion_examples[] = {
    {"source <(inro completion)", "completes inro's words in this bash"},
    {NULL, NULL},
};

/* In the order in which help shows them; the first row is `inro` itself. */
const struct inro__cli_command inro__cli_commands[] = {
    {.name = "",
     .scope = INRO__CLI_TOP,
     .usage = "COMMAND [ARGUMENT...]",
     .summary = "run code that nobody vouches for, in the smallest box that holds it",
     .text = "A script sees nothing of this machine: no files, no network, no clock. It gets the services "
             "that you bind, and is stopped when it uses more time or memory than you allow."},
    {.name = "eval",
     .scope = INRO__CLI_EVAL,
     .usage = "[OPTION...] (CODE | -f FILE | -)",
     .summary = "evaluate a Ruby script in a sandbox and print its value",
     .examples = eval_examples,
     .text = "The script's output is printed as it comes, then its value as Ruby's inspect shows it, on a "
             "line of its own. On a terminal, control characters in the script's output are shown as "
             "\\x1b.\n\n"
             "A failure is printed on standard error: class, message, and the lines of the script it went "
             "through, innermost first.",
     .run = inro__cli_eval},
    {.name = "run-entry",
     .scope = INRO__CLI_RUN_ENTRY,
     .usage = "[OPTION...] ENTRY [ARGUMENT...]",
     .summary = "call an entry point of preloaded code and print its value",
     .examples = run_entry_examples,
     .text = "ENTRY is a constant that preloaded code defines and that answers to call. An ARGUMENT is JSON "
             "where it parses as JSON, else a text. Behind -- an ARGUMENT may begin with a dash.",
     .run = inro__cli_run_entry},
    {.name = "doctor",
     .scope = INRO__CLI_DOCTOR,
     .usage = "[OPTION...]",
     .summary = "say what works on this host, and what to type where it does not",
     .examples = doctor_examples,
     .text = "Ends with status 1 when something that inro needs is missing; a warning alone is status 0.",
     .run = inro__cli_doctor},
    {.name = "completion",
     .scope = INRO__CLI_OTHER,
     .usage = "[OPTION...]",
     .summary = "print what bash needs to complete inro's words",
     .examples = completion_examples,
     .text = "Works in zsh as well, after bashcompinit.",
     .run = inro__cli_completion},
    {.name = "help",
     .scope = INRO__CLI_OTHER,
     .usage = "[OPTION...] [COMMAND]",
     .summary = "describe a command, or all of them",
     .text = "The same as COMMAND --help.",
     .run = inro__cli_help},
    {.name = "version",
     .scope = INRO__CLI_OTHER,
     .usage = "[OPTION...]",
     .summary = "print the version",
     .text = "The same as --version.",
     .run = inro__cli_version},
    {.name = NULL},
};

const struct inro__cli_command *inro__cli_command_find(const char *name) {
    for (const struct inro__cli_command *command = inro__cli_commands + 1; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

static const char *space_name(const struct inro__cli_command *command, const char *separator) {
    return *command->name ? separator : "";
}

int inro__cli_misuse(const struct inro__cli_command *command, const char *format, ...) {
    char *message = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&message, format, args);
    va_end(args);
    if (length < 0)
        inro__cli_no_memory();
    inro__cli_show_format(STDERR_FILENO, "inro%s%s: %s\n", space_name(command, " "), command->name, message);
    inro__cli_show_format(STDERR_FILENO, "usage: inro%s%s %s\n", space_name(command, " "), command->name,
                          command->usage);
    inro__cli_show_format(STDERR_FILENO, "try: inro%s%s --help\n", space_name(command, " "), command->name);
    free(message);
    return INRO__CLI_USAGE;
}

int inro__cli_fail(const char *format, ...) {
    char *message = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&message, format, args);
    va_end(args);
    if (length < 0)
        inro__cli_no_memory();
    inro__cli_show_fresh_line(STDERR_FILENO);
    inro__cli_show_format(STDERR_FILENO, "inro: %s\n", message);
    free(message);
    return INRO__CLI_FAILED;
}

int inro__cli_fail_error(const char *context, const inro_error *err) {
    bool wrong_call = err->status == INRO_ERR_ARGUMENT || err->status == INRO_ERR_CONFLICT;
    const char *message = *err->message ? err->message : inro_status_text(err->status);
    inro__cli_fail("%s%s%s", context, *context ? ": " : "", message);
    return wrong_call ? INRO__CLI_USAGE : INRO__CLI_FAILED;
}

int inro__cli_version(const struct inro__cli_settings *settings) {
    if (settings->operands_count > 0)
        return inro__cli_misuse(inro__cli_command_find("version"), "\"%s\" is one word too many",
                                settings->operands[0]);
    inro__cli_show_format(STDOUT_FILENO, "inro %s\n", inro_version());
    return INRO__CLI_OK;
}

static const char *next_command_name(void *state) {
    const struct inro__cli_command **cursor = state;
    return (*cursor)->name ? (*cursor)++->name : NULL;
}

static int unknown_command(const char *name) {
    const struct inro__cli_command *cursor = inro__cli_commands + 1;
    const char *meant = inro__cli_suggest(name, next_command_name, &cursor);
    return meant ? inro__cli_misuse(inro__cli_commands, "unknown command \"%s\"; did you mean %s?", name, meant)
                 : inro__cli_misuse(inro__cli_commands, "unknown command \"%s\"", name);
}

int inro__cli_help(const struct inro__cli_settings *settings) {
    const struct inro__cli_command *own = inro__cli_command_find("help"), *asked = inro__cli_commands;
    if (settings->operands_count > 1)
        return inro__cli_misuse(own, "\"%s\" is one word too many", settings->operands[1]);
    if (settings->operands_count == 1)
        asked = inro__cli_command_find(settings->operands[0]);
    return asked ? inro__cli_show_help(asked) : unknown_command(settings->operands[0]);
}

/* `inro` with options alone. */
static int run_top(const struct inro__cli_settings *settings) {
    if (settings->version)
        return inro__cli_version(settings);
    if (settings->dump_man)
        return inro__cli_show_man();
    return inro__cli_misuse(inro__cli_commands, "no command given");
}

static int run(const struct inro__cli_command *command, int count, char **words) {
    struct inro__cli_settings settings;
    int status = inro__cli_parse(command, count, words, &settings);
    if (status == INRO__CLI_OK && settings.help)
        status = inro__cli_show_help(command);
    else if (status == INRO__CLI_OK)
        status = command->run ? command->run(&settings) : run_top(&settings);
    inro__cli_settings_done(&settings);
    return status;
}

int main(int count, char **words) {
    inro__cli_screen_open();
    if (count < 2 || words[1][0] == '-')
        return run(inro__cli_commands, count > 1 ? count - 1 : 0, words + (count > 0));
    const struct inro__cli_command *command = inro__cli_command_find(words[1]);
    return command ? run(command, count - 2, words + 2) : unknown_command(words[1]);
}
