/* Errors grow from the inside out: the innermost function names the object, callers put context in front.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__ERROR_H
#define INRO__ERROR_H

#include <inro/base.h>

/* Fills `err` (may be NULL) and answers `status`, so that `return inro__fail(...)` is one line. */
__attribute__((format(printf, 4, 5))) inro_status inro__fail(inro_error *err, inro_status status, int os_error,
                                                             const char *format, ...);

/* Puts "context: " in front of what `err` says and answers `status`. When both do not fit, the context is
 * cut; the cause stays. */
__attribute__((format(printf, 3, 4))) inro_status inro__wrap(inro_error *err, inro_status status,
                                                             const char *format, ...);

#endif
