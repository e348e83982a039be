/* A program that is given bytes and answers bytes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__CLI_CHILD_H
#define INRO__CLI_CHILD_H

#include "cli/text.h"

#include <inro/base.h>

enum inro__cli_child_end {
    INRO__CLI_CHILD_EXITED,  /* by itself: `code` is its status */
    INRO__CLI_CHILD_KILLED,  /* by somebody else's signal: `code` is its number */
    INRO__CLI_CHILD_ABSENT,  /* never started: `code` is an errno */
    INRO__CLI_CHILD_VERBOSE, /* killed by us: its output was over the limit */
    INRO__CLI_CHILD_LATE     /* killed by us: the deadline passed */
};

struct inro__cli_child_result {
    enum inro__cli_child_end end;
    int code;
    struct inro__cli_text output;
};

/* Nanoseconds of the monotonic clock. */
uint64_t inro__cli_now(void);

/* Runs `words` (found along PATH) with `input` on its standard input until it ends, and keeps at most
 * `output_max` bytes of its standard output. `deadline` is a time of inro__cli_now, 0 is none. The child is
 * gone and reaped when this returns; free the output with inro__cli_text_done. */
void inro__cli_child_run(char *const words[], inro_bytes input, size_t output_max, uint64_t deadline,
                         struct inro__cli_child_result *out);

#endif
