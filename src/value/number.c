/* The C library converts correctly but writes and expects the locale's decimal point. So it is only ever given
 * digits and an exponent, which no locale changes, and of what it writes only digits are taken.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "value/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIGITS_ALWAYS = 15, /* so many are kept by every normal double */
    DIGITS_MOST = 17,   /* so many are enough for every double */
    DIGITS_READ = 800,  /* no double's rounding needs more than 767; then only "is there more" matters */
    EXPONENT_MOST = 99999
};

/* A decimal: 0.d1d2d3... times ten to the power of `point`. */
struct decimal {
    char digits[DIGITS_MOST + 1];
    size_t count;
    int point;
};

static bool is_decimal(char c) {
    return c >= '0' && c <= '9';
}

/* `count` digits of a finite, positive number. */
static void take_digits(double real, int count, struct decimal *out) {
    char text[DIGITS_MOST + 24];
    snprintf(text, sizeof text, "%.*e", count - 1, real);
    const char *exponent = strchr(text, 'e');
    out->count = 0;
    for (const char *at = text; *at && at != exponent; at++)
        if (is_decimal(*at) && out->count < DIGITS_MOST)
            out->digits[out->count++] = *at;
    out->digits[out->count] = '\0';
    out->point = (exponent ? (int)strtol(exponent + 1, NULL, 10) : 0) + 1;
}

static bool reads_back(const struct decimal *decimal, double real) {
    char text[DIGITS_MOST + 24];
    snprintf(text, sizeof text, "%se%d", decimal->digits, decimal->point - (int)decimal->count);
    return strtod(text, NULL) == real;
}

/* The fewest digits that read back; below the normal doubles there may be far fewer than 15. */
static void shorten(double real, struct decimal *out) {
    int count = real < DBL_MIN ? 1 : DIGITS_ALWAYS;
    for (take_digits(real, count, out); count < DIGITS_MOST && !reads_back(out, real);)
        take_digits(real, ++count, out);
    while (out->count > 1 && out->digits[out->count - 1] == '0')
        out->digits[--out->count] = '\0';
}

static size_t print_special(double real, char *text) {
    const char *name = isnan(real) ? "NaN" : real < 0 ? "-Infinity" : "Infinity";
    memcpy(text, name, strlen(name) + 1);
    return strlen(name);
}

/* Where Ruby changes over to exponents: below 0.0001 and from 1e15 (Ruby 3.1: 1.0e+15) on. */
static bool is_plain(const struct decimal *decimal) {
    return decimal->point > -4 && decimal->point <= DBL_DIG;
}

static size_t print_exponent(const struct decimal *decimal, char *text, size_t size) {
    const char *rest = decimal->count > 1 ? decimal->digits + 1 : "0";
    return (size_t)snprintf(text, size, "%c.%se%+03d", decimal->digits[0], rest, decimal->point - 1);
}

static size_t print_plain(const struct decimal *decimal, char *text, size_t size) {
    static const char zeros[] = "000000000000000000";
    int point = decimal->point, count = (int)decimal->count;
    if (point <= 0)
        return (size_t)snprintf(text, size, "0.%.*s%s", -point, zeros, decimal->digits);
    if (point >= count)
        return (size_t)snprintf(text, size, "%s%.*s.0", decimal->digits, point - count, zeros);
    return (size_t)snprintf(text, size, "%.*s.%s", point, decimal->digits, decimal->digits + point);
}

size_t inro__float_format(double real, char text[INRO__FLOAT_TEXT_SIZE]) {
    if (!isfinite(real))
        return print_special(real, text);
    struct decimal decimal = {"0", 1, 1};
    size_t sign = signbit(real) ? 1 : 0;
    if (sign)
        text[0] = '-';
    if (real != 0)
        shorten(fabs(real), &decimal);
    size_t size = INRO__FLOAT_TEXT_SIZE - sign;
    if (is_plain(&decimal))
        return sign + print_plain(&decimal, text + sign, size);
    return sign + print_exponent(&decimal, text + sign, size);
}

/* What is left of a JSON number when its decimal point is taken out. */
struct integral {
    char digits[DIGITS_READ + 32];
    size_t count;
    int64_t exponent;
    bool behind_point;
    bool cut;
};

/* Leading zeros are no digits, and digits past DIGITS_READ only say whether there is more. */
static void add_digit(struct integral *number, char digit) {
    bool keeps = number->count < DIGITS_READ && (number->count > 0 || digit != '0');
    if (keeps)
        number->digits[number->count++] = digit;
    else if (number->count > 0 && digit != '0')
        number->cut = true;
    number->exponent += (number->count == DIGITS_READ && !keeps) - number->behind_point;
}

/* The exponent as it is written, held where every more is as good as infinite. */
static int64_t read_exponent(const uint8_t *at, const uint8_t *end) {
    static const int64_t most = INT64_C(1) << 40;
    bool negative = at != end && *at == '-';
    int64_t exponent = 0;
    for (; at != end; at++)
        if (is_decimal((char)*at) && exponent < most)
            exponent = exponent * 10 + (*at - '0');
    return negative ? -exponent : exponent;
}

static int64_t clamp_exponent(int64_t exponent) {
    if (exponent > EXPONENT_MOST)
        return EXPONENT_MOST;
    return exponent < -EXPONENT_MOST ? -EXPONENT_MOST : exponent;
}

bool inro__float_parse(const uint8_t *text, size_t length, double *out) {
    struct integral number = {.count = 0};
    const uint8_t *at = text, *end = text + length;
    for (; at != end && *at != 'e' && *at != 'E'; at++) {
        if (is_decimal((char)*at))
            add_digit(&number, (char)*at);
        number.behind_point |= *at == '.';
    }
    if (at != end)
        number.exponent += read_exponent(at + 1, end);
    if (number.cut) {
        number.digits[number.count++] = '1';
        number.exponent--;
    }
    snprintf(number.digits + number.count, sizeof number.digits - number.count, "%se%lld",
             number.count == 0 ? "0" : "", (long long)clamp_exponent(number.exponent));
    double real = strtod(number.digits, NULL);
    *out = length > 0 && text[0] == '-' ? -real : real;
    return isfinite(real);
}
