/* A failure as a person reads it: class and message, the way through the script, the line that failed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"
#include "cli/session.h"

#include <string.h>
#include <unistd.h>

enum { LINE_SHOWN_MAX = 160 };

static void show_view(inro_str view) {
    inro__cli_show(STDERR_FILENO, view.data, view.length);
}

/* The number in "(eval):N" or "(eval):N:..."; 0 when the frame is another file's. */
static size_t eval_line(inro_str frame) {
    static const char prefix[] = "(eval):";
    size_t line = 0, at = sizeof prefix - 1;
    if (frame.length < at || memcmp(frame.data, prefix, at) != 0)
        return 0;
    for (; at < frame.length && frame.data[at] >= '0' && frame.data[at] <= '9' && line < 100000000; at++)
        line = line * 10 + (size_t)(frame.data[at] - '0');
    return at == frame.length || frame.data[at] == ':' ? line : 0;
}

/* Line `number` of the source, counted from one; {NULL, 0} when there is none. */
static inro_str source_line(inro_str source, size_t number) {
    const char *at = source.data, *end = source.data + source.length;
    for (; number > 1 && at != end; number--) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (!line_end)
            return (inro_str){NULL, 0};
        at = line_end + 1;
    }
    if (number != 1 || at == end)
        return (inro_str){NULL, 0};
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    return (inro_str){at, (size_t)((line_end ? line_end : end) - at)};
}

static void show_source_line(inro_str frame, inro_str source) {
    size_t number = source.data ? eval_line(frame) : 0;
    inro_str line = source_line(source, number);
    while (line.length > 0 && (line.data[0] == ' ' || line.data[0] == '\t')) {
        line.data++;
        line.length--;
    }
    if (number == 0 || line.length == 0)
        return;
    bool cut = line.length > LINE_SHOWN_MAX;
    inro__cli_show_format(STDERR_FILENO, "      %zu | ", number);
    show_view((inro_str){line.data, cut ? LINE_SHOWN_MAX : line.length});
    inro__cli_show_text(STDERR_FILENO, cut ? "...\n" : "\n");
}

static void show_title(const inro_failure *failure) {
    bool named = failure->class_name.length > 0;
    inro__cli_show_fresh_line(STDERR_FILENO);
    inro__cli_show_style(STDERR_FILENO, INRO__CLI_BAD);
    show_view(named ? failure->class_name : inro_str_from_c(inro_fault_class(failure->fault)));
    inro__cli_show_style(STDERR_FILENO, INRO__CLI_PLAIN);
    inro__cli_show_text(STDERR_FILENO, ": ");
    show_view(failure->message);
    inro__cli_show_text(STDERR_FILENO, "\n");
}

void inro__cli_show_failure(const inro_failure *failure, inro_str source) {
    show_title(failure);
    for (size_t i = 0; i < failure->backtrace_count; i++) {
        inro__cli_show_style(STDERR_FILENO, INRO__CLI_DIM);
        inro__cli_show_text(STDERR_FILENO, "  ");
        show_view(failure->backtrace[i]);
        inro__cli_show_style(STDERR_FILENO, INRO__CLI_PLAIN);
        inro__cli_show_text(STDERR_FILENO, "\n");
        if (i == 0)
            show_source_line(failure->backtrace[0], source);
    }
}
