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

static bool is_same(inro_str left, inro_str right) {
    return left.length == right.length && memcmp(left.data, right.data, left.length) == 0;
}

/* How many frames from `at` on are the same: a recursion is a hundred lines that say one thing. */
static size_t count_same(const inro_failure *failure, size_t at) {
    size_t count = 1;
    while (at + count < failure->backtrace_count &&
           is_same(failure->backtrace[at], failure->backtrace[at + count]))
        count++;
    return count;
}

static void show_dim(const char *text, size_t length) {
    inro__cli_show_style(STDERR_FILENO, INRO__CLI_DIM);
    inro__cli_show_text(STDERR_FILENO, "  ");
    inro__cli_show(STDERR_FILENO, text, length);
    inro__cli_show_style(STDERR_FILENO, INRO__CLI_PLAIN);
    inro__cli_show_text(STDERR_FILENO, "\n");
}

static void show_left_out(size_t count, const char *what) {
    struct inro__cli_text line = {0};
    inro__cli_text_format(&line, "... %zu more %s", count, what);
    show_dim(line.data, line.length);
    inro__cli_text_done(&line);
}

/* Shows the frame at `at`, for the first one with its source line, and answers how many frames that stood for.
 */
static size_t show_frame(const inro_failure *failure, size_t at, inro_str source) {
    enum { WORTH_COUNTING = 3 };
    size_t same = count_same(failure, at);
    show_dim(failure->backtrace[at].data, failure->backtrace[at].length);
    if (at == 0)
        show_source_line(failure->backtrace[0], source);
    if (same < WORTH_COUNTING)
        return 1;
    show_left_out(same - 1, "times");
    return same;
}

/* The innermost frames say what went wrong, the outermost who asked for it; those between are left out when
 * there are many. */
void inro__cli_show_failure(const inro_failure *failure, inro_str source) {
    enum { INNERMOST = 30, OUTERMOST = 10 };
    size_t count = failure->backtrace_count, shown = 0;
    show_title(failure);
    for (size_t at = 0; at < count; shown++) {
        if (shown == INNERMOST && count - at > OUTERMOST + 1) {
            show_left_out(count - at - OUTERMOST, "lines");
            at = count - OUTERMOST;
        }
        at += show_frame(failure, at, source);
    }
}
