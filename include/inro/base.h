/* Statuses, errors, views and limits: what every other header of inro is written in.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO_BASE_H
#define INRO_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define INRO_API __attribute__((visibility("default")))
#define INRO_MUST_CHECK __attribute__((warn_unused_result))
#else
#define INRO_API
#define INRO_MUST_CHECK
#endif

#define INRO_VERSION_MAJOR 0
#define INRO_VERSION_MINOR 1
#define INRO_VERSION_PATCH 0
#define INRO_VERSION "0.1.0"

/* "No limit", spelled out. In an options struct 0 means the default, never "none". */
#define INRO_UNLIMITED UINT64_MAX

/* Every status there is: name, number, text. Numbers are never reused. */
#define INRO_STATUS_MAP(XX)                                                                                    \
    XX(OK, 0, "no error")                                                                                      \
    XX(ERR_ARGUMENT, -1, "wrong argument")                                                                     \
    XX(ERR_MEMORY, -2, "the host is out of memory")                                                            \
    XX(ERR_SYSTEM, -3, "a system call failed")                                                                 \
    XX(ERR_UNSUPPORTED, -4, "not supported on this host")                                                      \
    XX(ERR_SEALED, -5, "the sandbox is sealed by its first invocation")                                        \
    XX(ERR_CONFLICT, -6, "the name is already taken")                                                          \
    XX(ERR_SYNTAX, -7, "the text does not parse")                                                              \
    XX(ERR_LIMIT, -8, "a limit was reached")                                                                   \
    XX(ERR_TYPE, -9, "the value has another type")                                                             \
    XX(ERR_SERVICE, -10, "the service failed")                                                                 \
    XX(ERR_BLOCK, -11, "the guest's block raised")                                                             \
    XX(ERR_BREAK, -12, "the guest's block ended the call with break")                                          \
    XX(ERR_TRAP, -13, "the guest was stopped")

/* What a fallible function answers: 0, or one negative number of the list above. */
typedef int32_t inro_status;

/* The named statuses; see INRO_STATUS_MAP for their texts. */
enum inro_status_code {
#define INRO_STATUS_ENUM(name, number, text) INRO_##name = (number),
    INRO_STATUS_MAP(INRO_STATUS_ENUM)
#undef INRO_STATUS_ENUM
};

/* One failure of the library itself, in the caller's memory. Filled only on failure, needs no free.
 *
 * `status` is for programs. `os_error` is an errno or 0. `message` is one line of UTF-8 for people, always
 * NUL-terminated, without a final full stop. The size (256 bytes) is frozen. */
typedef struct inro_error {
    inro_status status;
    int32_t os_error;
    char message[248];
} inro_error;

/* A borrowed run of UTF-8 text; not NUL-terminated. {NULL, 0} is "not given", {"", 0} is "empty". */
typedef struct inro_str {
    const char *data;
    size_t length;
} inro_str;

/* A borrowed run of bytes. {NULL, 0} is "not given". */
typedef struct inro_bytes {
    const uint8_t *data;
    size_t length;
} inro_bytes;

/* Called exactly once when the library lets go of `user`. Runs on the thread that dropped the last
 * reference; must not call into the object that is going away. */
typedef void (*inro_release_fn)(void *user);

/* The one way the library gets, grows, shrinks and frees memory.
 *
 * `old` is NULL for a new block; `new_size` 0 frees and answers NULL. `old_size` is always the true size of
 * `old`. Answers NULL when there is no memory; the old block then stays as it was. Called from any thread. */
typedef void *(*inro_resize_fn)(void *user, void *old, size_t old_size, size_t new_size);

/* Makes a view of a NUL-terminated string; NULL gives {NULL, 0}.
 *
 * The view lives as long as `text`.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API inro_str inro_str_from_c(const char *text);

/* The fixed text of a status ("wrong argument"); "unknown status" for a number that is none.
 *
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API const char *inro_status_text(inro_status status);

/* The constant's name of a status without its prefix ("ERR_ARGUMENT"); "UNKNOWN" for a number that is none.
 *
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API const char *inro_status_name(inro_status status);

/* The version of the library that is linked, as "major.minor.patch"; compare with INRO_VERSION.
 *
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API const char *inro_version(void);

/* Sends all of the library's own allocations through `resize(user, ...)`; NULL restores the C library's.
 *
 * Call it before anything else of the library, from one thread. Guest memory is mapped, not allocated, and
 * does not pass here. Fails when the library already holds memory from the hook before.
 * Expected: INRO_ERR_SEALED.   Threads: one, before all others.   Since: 0.1. */
INRO_API INRO_MUST_CHECK inro_status inro_set_allocator(inro_resize_fn resize, void *user, inro_error *err);

/* Frees text that the library gave away (inro_value_to_json, inro_value_inspect). NULL is fine.
 *
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API void inro_text_free(char *text);

#ifdef __cplusplus
}
#endif

/* A view of a string literal. */
#ifdef __cplusplus
#define INRO_STR(literal) (inro_str{("" literal), sizeof(literal) - 1})
#else
#define INRO_STR(literal) ((inro_str){("" literal), sizeof(literal) - 1})
#endif

#endif
