/* Reading files, and values from the command line.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "cli/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* Answers 0 or an errno; EFBIG when there is more than fits. Standard input may be non-blocking, because
 * another program shares it. */
static int read_all(int fd, struct inro__cli_text *out) {
    enum { CHUNK = 65536 };
    while (out->length <= (size_t)(INRO_MESSAGE_BYTES_MAX)) {
        ssize_t done = read(fd, inro__cli_text_room(out, CHUNK), CHUNK);
        if (done == 0)
            return 0;
        if (done > 0)
            out->length += (size_t)done;
        else if (errno == EAGAIN)
            poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1);
        else if (errno != EINTR)
            return errno;
    }
    return EFBIG;
}

int inro__cli_read_file(const char *name, struct inro__cli_text *out) {
    int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    int failed = fd == -1 ? errno : read_all(fd, out);
    if (name && fd != -1)
        close(fd);
    if (failed == 0)
        return INRO__CLI_OK;
    const char *reason = failed == EFBIG ? "it is larger than 16 MiB" : strerror(failed);
    inro__cli_fail("cannot read %s%s%s: %s", name ? "\"" : "", name ? name : "standard input", name ? "\"" : "",
                   reason);
    return INRO__CLI_USAGE;
}

inro_value *inro__cli_read_value(const char *text) {
    inro_value *value = NULL;
    inro_error err = {.status = INRO_OK};
    inro_status status = inro_value_from_json(inro_str_from_c(text), &value, &err);
    if (status == INRO_OK)
        return value;
    if (status == INRO_ERR_MEMORY)
        inro__cli_no_memory();
    if (status != INRO_ERR_SYNTAX) {
        inro__cli_fail("argument \"%.40s%s\": %s", text, strlen(text) > 40 ? "..." : "", err.message);
        return NULL;
    }
    value = inro_value_new_text(inro_str_from_c(text));
    if (!value)
        inro__cli_no_memory();
    return value;
}
