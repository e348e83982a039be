/* Shell completion, made from the tables.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/screen.h"

#include <string.h>
#include <unistd.h>

static const char head[] =
    "# bash completion for inro, made by: inro completion\n"
    "_inro() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
    "    COMPREPLY=()\n"
    "    case \"$COMP_CWORD:$before\" in\n";
static const char tail[] =
    "    esac\n"
    "    if [[ $COMP_CWORD -eq 1 ]]; then words=$commands; fi\n"
    "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
    "    [[ -n ${COMPREPLY[*]} || $word == -* ]] || COMPREPLY=($(compgen -f -- \"$word\"))\n"
    "}\n"
    "complete -o filenames -F _inro inro\n";

static void add_choices(struct inro__cli_text *script, const struct inro__cli_option *option) {
    inro__cli_text_format(script, "        *:--%s) COMPREPLY=($(compgen -W \"", option->name);
    for (const char *const *choice = option->choices; *choice; choice++)
        inro__cli_text_format(script, "%s%s", choice == option->choices ? "" : " ", *choice);
    inro__cli_text_put(script, "\" -- \"$word\")); return ;;\n");
}

/* What follows an option that wants a value is a file, or one of its choices. */
static void add_values(struct inro__cli_text *script) {
    for (const struct inro__cli_option *option = inro__cli_options; option->name; option++) {
        if (option->choices)
            add_choices(script, option);
        else if (option->value && strstr(option->value, "FILE"))
            inro__cli_text_format(script, "        *:--%s) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n",
                                  option->name);
        else if (option->value)
            inro__cli_text_format(script, "        *:--%s) return ;;\n", option->name);
    }
}

static void add_options(struct inro__cli_text *script, const struct inro__cli_command *command) {
    inro__cli_text_format(script, "        %s) words=\"", command->name);
    for (const struct inro__cli_option *option = inro__cli_options; option->name; option++)
        if (option->scope & command->scope)
            inro__cli_text_format(script, "--%s ", option->name);
    inro__cli_text_put(script, "\" ;;\n");
}

static void add_commands(struct inro__cli_text *script) {
    inro__cli_text_put(script, "    local commands=\"--help --version");
    for (const struct inro__cli_command *command = inro__cli_commands + 1; command->name; command++)
        inro__cli_text_format(script, " %s", command->name);
    inro__cli_text_put(script, "\"\n");
}

int inro__cli_completion(const struct inro__cli_settings *settings) {
    if (settings->operands_count > 0)
        return inro__cli_misuse(inro__cli_command_find("completion"), "\"%s\" is one word too many",
                                settings->operands[0]);
    struct inro__cli_text script = {0};
    inro__cli_text_put(&script, head);
    add_values(&script);
    inro__cli_text_put(&script, "    esac\n");
    add_commands(&script);
    inro__cli_text_put(&script, "    case ${COMP_WORDS[1]} in\n");
    for (const struct inro__cli_command *command = inro__cli_commands + 1; command->name; command++)
        add_options(&script, command);
    inro__cli_text_put(&script, tail);
    inro__cli_show(STDOUT_FILENO, script.data, script.length);
    inro__cli_text_done(&script);
    return INRO__CLI_OK;
}
