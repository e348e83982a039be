/* inro eval: evaluates a script and prints its value.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/session.h"

#include <string.h>

static int evaluate(struct inro__cli_session *session, inro_str source) {
    inro_outcome *outcome = NULL;
    inro_error err = {.status = INRO_OK};
    inro__cli_session_start(session);
    if (inro_sandbox_eval(session->sandbox, source, &session->invocation, &outcome, &err) != INRO_OK)
        outcome = NULL;
    return inro__cli_session_finish(session, outcome, &err, source);
}

/* "-" is standard input, also behind -f; a file of that name is ./-. */
static int read_source(const struct inro__cli_settings *settings, struct inro__cli_text *source) {
    const char *word = settings->file ? settings->file : settings->operands[0];
    bool standard_input = strcmp(word, "-") == 0;
    if (standard_input || settings->file)
        return inro__cli_read_file(standard_input ? NULL : word, source);
    inro__cli_text_put(source, word);
    return INRO__CLI_OK;
}

static int check_operands(const struct inro__cli_settings *settings) {
    const struct inro__cli_command *command = inro__cli_command_find("eval");
    size_t expected = settings->file ? 0 : 1;
    if (settings->operands_count < expected)
        return inro__cli_misuse(command, "no code given; - reads it from standard input");
    if (settings->operands_count > expected)
        return settings->file
                   ? inro__cli_misuse(command, "code and --file are both given")
                   : inro__cli_misuse(command, "\"%.40s\" is one word too many; quote the code as one word",
                                      settings->operands[1]);
    return INRO__CLI_OK;
}

int inro__cli_eval(const struct inro__cli_settings *settings) {
    struct inro__cli_session session = {.settings = settings};
    struct inro__cli_text source = {0};
    int status = check_operands(settings);
    if (status == INRO__CLI_OK)
        status = read_source(settings, &source);
    if (status == INRO__CLI_OK)
        status = inro__cli_session_open(&session, settings);
    if (status == INRO__CLI_OK)
        status = evaluate(&session, (inro_str){source.data ? source.data : "", source.length});
    inro__cli_session_close(&session);
    inro__cli_text_done(&source);
    return status;
}
