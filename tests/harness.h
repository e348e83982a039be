/* The test harness: a test is a function, run in a process of its own with a time limit.
 *
 *     TEST(buffers_grow) {
 *         CHECK(buf.capacity > 4);
 *         CHECK_INT(buf.length, 5);
 *     }
 *
 * A program linked with harness.c runs all of its tests (or those whose names contain its first argument)
 * and prints TAP. A failed check prints file, line, both values, and ends the test.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct test_case {
    const char *name;
    void (*run)(void);
    unsigned seconds; /* time limit */
    struct test_case *next;
};

void test_register(struct test_case *test);
_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Ends the test as skipped; `reason` is printed. With INRO_FORBID_SKIPS=1 in the environment a skip fails,
 * unless the reason starts with "host: " (this machine cannot run it at all). */
_Noreturn void test_skip(const char *reason);
void test_check_bytes(const char *file, int line, const void *actual, size_t actual_length,
                      const void *expected, size_t expected_length);

#define TEST_SECONDS(test_name, limit)                                                                         \
    static void test_name(void);                                                                               \
    __attribute__((constructor)) static void register_##test_name(void) {                                      \
        static struct test_case test = {#test_name, test_name, (limit), NULL};                                 \
        test_register(&test);                                                                                  \
    }                                                                                                          \
    static void test_name(void)
#define TEST(test_name) TEST_SECONDS(test_name, 60)

#define CHECK(condition)                                                                                       \
    do {                                                                                                       \
        if (!(condition))                                                                                      \
            test_fail(__FILE__, __LINE__, "not true: %s", #condition);                                         \
    } while (0)
#define CHECK_INT(actual, expected)                                                                            \
    do {                                                                                                       \
        long long check_actual = (long long)(actual), check_expected = (long long)(expected);                  \
        if (check_actual != check_expected)                                                                    \
            test_fail(__FILE__, __LINE__, "%s is %lld, expected %lld", #actual, check_actual, check_expected); \
    } while (0)
/* Compares an inro_str, inro_bytes or anything with .data and .length to a C string. */
#define CHECK_STR(actual, expected)                                                                            \
    do {                                                                                                       \
        __typeof__(actual) check_view = (actual);                                                              \
        test_check_bytes(__FILE__, __LINE__, check_view.data, check_view.length, (expected),                   \
                         strlen(expected));                                                                    \
    } while (0)
#define SKIP(reason) test_skip(reason)

#endif
