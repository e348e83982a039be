/* Writing text piece by piece: a failure is remembered and asked for once, at the end.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__PRINT_H
#define INRO__PRINT_H

#include "base/buf.h"

/* What one text may grow to. A message of 16 MiB written as "\xFF\xFF..." stays far below. */
#define INRO__PRINT_BYTES_MAX ((size_t)1 << 30)

struct inro__printer {
    struct inro__buf buf;
    inro_status status;
};

void inro__print_init(struct inro__printer *printer);
void inro__print_bytes(struct inro__printer *printer, const void *bytes, size_t length);
void inro__print_text(struct inro__printer *printer, const char *text);

/* For short pieces only: what is longer than 63 bytes is cut. */
__attribute__((format(printf, 2, 3))) void inro__print_format(struct inro__printer *printer, const char *format,
                                                              ...);

/* Gives the text away, as inro_value_to_json does, and frees the printer in all cases. */
INRO_MUST_CHECK inro_status inro__print_done(struct inro__printer *printer, char **out, size_t *length,
                                             inro_error *err);

#endif
