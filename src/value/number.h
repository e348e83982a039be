/* Floats to and from text, the same bytes in every locale.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__NUMBER_H
#define INRO__NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INRO__FLOAT_TEXT_SIZE = 32 };

/* Writes a float as Ruby does (1.0, 1.0e-05, -Infinity), with the fewest digits that read back as the same
 * float; finite ones are JSON numbers, too. NUL-terminated; answers the length. */
size_t inro__float_format(double real, char text[INRO__FLOAT_TEXT_SIZE]);

/* Reads a JSON number whose form the caller has checked, correctly rounded. False when it is too large. */
bool inro__float_parse(const uint8_t *text, size_t length, double *out);

#endif
