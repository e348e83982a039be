/* Standard output and standard error.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "cli/screen.h"
#include "cli/cli.h"
#include "cli/neutral.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stream {
    const char *name;
    bool terminal;
    bool colour;
    bool line_open; /* the last byte shown was no line end */
    struct inro__cli_neutral neutral;
};

/* By descriptor. They are the process's, and so is this. */
static struct stream streams[3] = {
    {.name = "standard input"}, {.name = "standard output"}, {.name = "standard error"}};
static bool pipe_signal_kills; /* nobody asked for SIGPIPE to be ignored */

/* A file that is opened later must not become standard output by taking its number: a descriptor that is
 * closed becomes one that answers "bad file descriptor" to what is done with it. */
static void take_descriptor(int fd) {
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
        return;
    if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) == -1)
        _exit(INRO__CLI_FAILED);
}

static bool wants_colour(void) {
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return (!no_color || !*no_color) && term && *term && strcmp(term, "dumb") != 0;
}

/* SIGPIPE is ignored, because a service may end without reading its input. When our own reader goes away we
 * end by the signal nevertheless, as every filter does. */
void inro__cli_screen_open(void) {
    for (int fd = 0; fd < 3; fd++)
        take_descriptor(fd);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    pipe_signal_kills = sigaction(SIGPIPE, &ignore, &before) == 0 && before.sa_handler == SIG_DFL;
    for (int fd = 1; fd < 3; fd++) {
        streams[fd].terminal = isatty(fd) == 1;
        streams[fd].colour = streams[fd].terminal && wants_colour();
    }
}

/* Who reads our output has gone, or there is no room for it: nothing that could follow would be seen. */
_Noreturn static void cannot_write(int fd, int os_error) {
    if (os_error == EPIPE && pipe_signal_kills) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (fd != STDERR_FILENO)
        inro__cli_fail("cannot write to %s: %s", streams[fd].name, strerror(os_error));
    _exit(INRO__CLI_FAILED);
}

/* A descriptor may be non-blocking because another program shares it: wait for it then. */
static void write_all(int fd, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t done = write(fd, bytes, length);
        if (done >= 0) {
            bytes += done;
            length -= (size_t)done;
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            cannot_write(fd, errno);
        }
    }
}

/* What a terminal gets for the end of a sequence that was begun and not ended. */
static void end_pending(int fd) {
    struct inro__cli_text clean = {0};
    inro__cli_neutral_end(&streams[fd].neutral, &clean);
    write_all(fd, clean.data, clean.length);
    inro__cli_text_done(&clean);
}

void inro__cli_show(int fd, const void *bytes, size_t length) {
    struct stream *stream = &streams[fd];
    if (length == 0)
        return;
    stream->line_open = ((const char *)bytes)[length - 1] != '\n';
    if (!stream->terminal) {
        write_all(fd, bytes, length);
        return;
    }
    struct inro__cli_text clean = {0};
    inro__cli_neutral_feed(&stream->neutral, bytes, length, &clean);
    write_all(fd, clean.data, clean.length);
    inro__cli_text_done(&clean);
}

void inro__cli_show_text(int fd, const char *string) {
    inro__cli_show(fd, string, strlen(string));
}

void inro__cli_show_format(int fd, const char *format, ...) {
    char *string = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&string, format, args);
    va_end(args);
    if (length < 0)
        inro__cli_no_memory();
    inro__cli_show(fd, string, (size_t)length);
    free(string);
}

void inro__cli_show_style(int fd, enum inro__cli_style style) {
    static const char *const sequences[] = {
        [INRO__CLI_PLAIN] = "\x1b[0m", [INRO__CLI_BAD] = "\x1b[1;31m", [INRO__CLI_WARN] = "\x1b[33m",
        [INRO__CLI_GOOD] = "\x1b[32m", [INRO__CLI_DIM] = "\x1b[2m",    [INRO__CLI_BOLD] = "\x1b[1m",
    };
    if (!streams[fd].colour)
        return;
    end_pending(fd);
    write_all(fd, sequences[style], strlen(sequences[style]));
}

void inro__cli_show_fresh_line(int fd) {
    bool one_screen = streams[1].terminal && streams[2].terminal;
    bool open = streams[fd].line_open || (one_screen && (streams[1].line_open || streams[2].line_open));
    end_pending(fd);
    if (!open)
        return;
    write_all(fd, "\n", 1);
    streams[fd].line_open = false;
    if (one_screen)
        streams[1].line_open = streams[2].line_open = false;
}
