/* Writing text piece by piece.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "value/print.h"
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void inro__print_init(struct inro__printer *printer) {
    inro__buf_init(&printer->buf, INRO__PRINT_BYTES_MAX);
    printer->status = INRO_OK;
}

void inro__print_bytes(struct inro__printer *printer, const void *bytes, size_t length) {
    if (printer->status == INRO_OK)
        printer->status = inro__buf_append(&printer->buf, bytes, length);
}

void inro__print_text(struct inro__printer *printer, const char *text) {
    inro__print_bytes(printer, text, strlen(text));
}

void inro__print_format(struct inro__printer *printer, const char *format, ...) {
    char text[64];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length > 0)
        inro__print_bytes(printer, text, strlen(text));
}

inro_status inro__print_done(struct inro__printer *printer, char **out, size_t *length, inro_error *err) {
    size_t bytes = printer->buf.length;
    char *text = NULL;
    if (printer->status == INRO_OK) {
        text = inro__buf_take_text(&printer->buf);
        printer->status = text ? INRO_OK : INRO_ERR_MEMORY;
    }
    inro__buf_done(&printer->buf);
    if (!text)
        return inro__fail(err, printer->status, 0, "writing a value as text: %s",
                          inro_status_text(printer->status));
    *out = text;
    if (length)
        *length = bytes;
    return INRO_OK;
}
