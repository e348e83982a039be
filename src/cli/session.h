/* What eval and run-entry share: reading files, setting a sandbox up, ending.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__CLI_SESSION_H
#define INRO__CLI_SESSION_H

#include "cli/cli.h"
#include "cli/text.h"

struct inro__cli_session {
    const struct inro__cli_settings *settings;
    inro_sandbox *sandbox;
    inro_invocation invocation;
    uint64_t deadline; /* of the invocation, for services; 0: none */
};

/* Makes a sandbox with everything bound and preloaded. Prints what fails and answers an exit status; close the
 * session in every case. It must not move: services point into it. */
int inro__cli_session_open(struct inro__cli_session *session, const struct inro__cli_settings *settings);
void inro__cli_session_close(struct inro__cli_session *session);

/* The clock starts now. */
void inro__cli_session_start(struct inro__cli_session *session);

/* Shows how the invocation ended and answers the exit status. `outcome` is taken; it is NULL when the library
 * itself failed with `err`. `source` is what ran as "(eval)", or not given. */
int inro__cli_session_finish(struct inro__cli_session *session, inro_outcome *outcome, const inro_error *err,
                             inro_str source);

/* Reads a whole file, or standard input for NULL, of at most INRO_MESSAGE_BYTES_MAX bytes. Prints what fails
 * and answers an exit status; free the text in every case. */
int inro__cli_read_file(const char *name, struct inro__cli_text *out);

/* JSON where `text` parses as JSON, else a text. Prints why not and answers NULL when it is too large. */
inro_value *inro__cli_read_value(const char *text);

/* The outcome as one line of JSON, and for people on standard error. */
int inro__cli_show_record(const inro_outcome *outcome);
void inro__cli_show_failure(const inro_failure *failure, inro_str source);

#endif
