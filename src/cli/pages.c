/* The tables behind the man page's sections.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/pages.h"

#include <stddef.h>

const struct inro__cli_term inro__cli_exit_terms[] = {
    {"0", "There is a value."},
    {"1", "The script or a service failed, or the host did: output that cannot be written, no memory."},
    {"2", "The command line was wrong, or names a file that cannot be read. Nothing ran."},
    {"3", "The script was stopped: by its time limit, its memory limit, or a fault."},
    {NULL, NULL},
};

static const struct inro__cli_term record_terms[] = {
    {"ended", "\"value\", \"trap\", \"service\" or \"sandbox\" (the script itself failed)."},
    {"value",
     "The value, when there is one and it has a form in JSON. Symbols become strings, bytes that are not "
     "UTF-8 become {\"$bytes\": BASE64}, here and everywhere in the record."},
    {"inspect",
     "Instead of value, where it has no form in JSON (NaN, infinities, a handle): the text that Ruby's "
     "inspect gives."},
    {"error",
     "null, or an object with class (inro's class of failure, as TimeoutError), fault (the same as "
     "timeout), origin (sandbox or service, null for a trap), guest_class (the script's exception class or "
     "null), message, backtrace (an array of lines, innermost first) and details (null or an object)."},
    {"stdout, stderr", "What the script wrote."},
    {"stdout_truncated, stderr_truncated", "Whether a limit has cut it."},
    {"usage", "An object with wall_ns, guest_ns, service_ns, memory_peak_bytes and service_calls."},
    {NULL, NULL},
};

static const struct inro__cli_term environment_terms[] = {
    {"NO_COLOR", "When set and not empty, nothing is coloured. Only terminals get colour in the first place."},
    {"PATH", "Where the programs of services are looked for."},
    {NULL, NULL},
};

const struct inro__cli_section inro__cli_sections[] = {
    {"SERVICES",
     "A service is a program of yours. It runs with your rights, outside the sandbox, once for each call; "
     "its words are split as a shell splits them, with quotes and backslashes, but no shell is involved: "
     "nothing is expanded, and a bare |, &, ;, <, > or parenthesis is refused.\n\n"
     "It reads one JSON object {\"method\": TEXT, \"args\": [...], \"kwargs\": {...}} from its standard "
     "input and prints one JSON value, at most 16 MiB, on its standard output. A symbol arrives as a "
     "string, bytes that are no UTF-8 as {\"$bytes\": BASE64}. Its standard error is yours. The call fails, "
     "and the script may rescue that, when the program cannot be started, ends with another status than 0, "
     "prints something else than one JSON value, or takes longer than the script's time limit. What the "
     "script passes is chosen by code that nobody vouches for: check it.",
     NULL},
    {"JSON RECORD",
     "With --json a script's ending is one object on one line, with these members:", record_terms},
    {"EXIT STATUS", "When the reader of its output goes away, inro ends by SIGPIPE as other filters do.",
     inro__cli_exit_terms},
    {"ENVIRONMENT", NULL, environment_terms},
    {NULL, NULL, NULL},
};
