/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/limits.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>

/* A size beyond this is not a struct of any version, but an uninitialised field. */
#define OPTIONS_SIZE_MAX 4096u

inro_status inro__options_copy(void *out, size_t known, const void *given, const char *what, inro_error *err) {
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > OPTIONS_SIZE_MAX)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "%s: size is %zu; initialise it with its _INIT macro",
                          what, size);
    const uint8_t *bytes = given;
    for (size_t i = known; i < size; i++)
        if (bytes[i] != 0)
            return inro__fail(err, INRO_ERR_UNSUPPORTED, 0, "%s: byte %zu is set, this library knows %zu", what,
                              i, known);
    memset(out, 0, known);
    memcpy(out, given, size < known ? size : known);
    return INRO_OK;
}

static uint64_t or_default(uint64_t value, uint64_t standard) {
    return value == 0 ? standard : value;
}

inro_status inro__limits_resolve(const inro_sandbox_options *options, struct inro__limits *out,
                                 inro_error *err) {
    inro_sandbox_options given = INRO_SANDBOX_OPTIONS_INIT;
    if (options) {
        inro_status status = inro__options_copy(&given, sizeof given, options, "sandbox options", err);
        if (status != INRO_OK)
            return status;
    }
    if (given.timeout_us > INRO__TIMEOUT_US_MAX && given.timeout_us != INRO_UNLIMITED)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0,
                          "timeout_us: %" PRIu64 " is more than %" PRIu64 " and not INRO_UNLIMITED",
                          given.timeout_us, INRO__TIMEOUT_US_MAX);
    if (given.profile > INRO_PROFILE_PERMISSIVE)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0,
                          "profile: %" PRIu64 " is no profile (0 hermetic, 1 permissive)", given.profile);
    *out = (struct inro__limits){
        .timeout_us = or_default(given.timeout_us, INRO__TIMEOUT_US_DEFAULT),
        .memory_bytes = or_default(given.memory_limit_bytes, INRO__MEMORY_DEFAULT),
        .stdout_bytes = or_default(given.stdout_limit_bytes, INRO__OUTPUT_DEFAULT),
        .stderr_bytes = or_default(given.stderr_limit_bytes, INRO__OUTPUT_DEFAULT),
        .profile = (inro_profile)given.profile,
    };
    return INRO_OK;
}
