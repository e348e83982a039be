/* Sizes and times as people write them.
 *
 * Read by hand, because strtod depends on the locale and strtoull takes "-1" for a very large number.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <string.h>

static const char not_a_size[] = "is not a size; examples: 65536, 64K, 10M, none";
static const char not_seconds[] = "is not a number of seconds; examples: 0.2, 30, none";
static const char too_large[] = "is too large; \"none\" switches the limit off";
static const char too_small[] = "is too small: a limit is more than zero; \"none\" switches it off";

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

/* Appends the digits at *at to *number; false when it would not fit. */
static bool read_digits(const char **at, uint64_t *number) {
    for (; is_digit(**at); ++*at) {
        uint64_t digit = (uint64_t)(**at - '0');
        if (*number > (UINT64_MAX - 1 - digit) / 10)
            return false;
        *number = *number * 10 + digit;
    }
    return true;
}

/* The power of two that a suffix stands for; 0 is none, -1 is no suffix that we know. */
static int suffix_bits(const char *suffix) {
    static const char letters[] = "KkMmGgTt";
    if (!*suffix)
        return 0;
    const char *found = strchr(letters, *suffix);
    bool ends = suffix[1] == '\0' || strcmp(suffix + 1, "B") == 0 || strcmp(suffix + 1, "iB") == 0;
    return found && ends ? 10 * (1 + (int)(found - letters) / 2) : -1;
}

const char *inro__cli_read_size(const char *text, uint64_t *bytes) {
    uint64_t number = 0;
    const char *at = text;
    if (strcmp(text, "none") == 0) {
        *bytes = INRO_UNLIMITED;
        return NULL;
    }
    if (!is_digit(*at))
        return not_a_size;
    if (!read_digits(&at, &number))
        return too_large;
    int bits = suffix_bits(at);
    if (bits < 0)
        return not_a_size;
    if (number > (UINT64_MAX - 1) >> bits)
        return too_large;
    *bytes = number << bits;
    return *bytes ? NULL : too_small;
}

/* Six digits behind the point are kept; a smaller rest makes the time longer by one microsecond, never zero. */
static const char *read_fraction(const char **at, uint64_t *microseconds) {
    uint64_t unit = 100000;
    bool rest = false;
    if (!is_digit(**at))
        return not_seconds;
    for (; is_digit(**at); ++*at, unit /= 10) {
        *microseconds += (uint64_t)(**at - '0') * unit;
        rest = rest || (unit == 0 && **at != '0');
    }
    *microseconds += rest;
    return NULL;
}

const char *inro__cli_read_seconds(const char *text, uint64_t *microseconds) {
    const uint64_t seconds_max = 3153600000u; /* a hundred years, what the library takes */
    uint64_t seconds = 0, fraction = 0;
    const char *at = text, *problem = NULL;
    if (strcmp(text, "none") == 0) {
        *microseconds = INRO_UNLIMITED;
        return NULL;
    }
    if (!is_digit(*at))
        return not_seconds;
    if (!read_digits(&at, &seconds) || seconds > seconds_max)
        return too_large;
    if (*at == '.') {
        at++;
        problem = read_fraction(&at, &fraction);
    }
    if (problem || *at)
        return not_seconds;
    *microseconds = seconds * 1000000 + fraction;
    return *microseconds ? NULL : too_small;
}
