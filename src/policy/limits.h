/* What one invocation may use: the only place with defaults and maxima.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__LIMITS_H
#define INRO__LIMITS_H

#include <inro/sandbox.h>

#define INRO__TIMEOUT_US_DEFAULT ((uint64_t)60 * 1000 * 1000)
#define INRO__MEMORY_DEFAULT ((uint64_t)1 << 20)
#define INRO__OUTPUT_DEFAULT ((uint64_t)1 << 20)
/* Longer than any process lives; keeps the sum of a clock and a timeout far from overflow. */
#define INRO__TIMEOUT_US_MAX ((uint64_t)100 * 365 * 86400 * 1000000)
/* Every handle pins a host object and costs the host eight bytes; the guest's own limit does not cover them. */
#define INRO__HANDLES_MAX ((uint32_t)1 << 20)
/* What one message may become on the host. A byte of it can ask for a node of 24 bytes, so that 16 MiB would be
 * 400 MiB, and the guest's own memory limit does not cover it. */
#define INRO__DECODED_MAX ((size_t)64 << 20)
#define INRO__SOURCE_MAX INRO_MESSAGE_BYTES_MAX
#define INRO__NAME_MAX 256u
#define INRO__BINDINGS_MAX 4096u
#define INRO__SNIPPETS_MAX 4096u

/* Resolved: no zero means default any more. UINT64_MAX is no limit. */
struct inro__limits {
    uint64_t timeout_us;
    uint64_t memory_bytes;
    uint64_t stdout_bytes;
    uint64_t stderr_bytes;
    inro_profile profile;
};

/* Checks options (NULL: all defaults) and resolves them. A refusal names the field.
 * Expected: INRO_ERR_ARGUMENT, INRO_ERR_UNSUPPORTED (a field this library does not know). */
INRO_MUST_CHECK inro_status inro__limits_resolve(const inro_sandbox_options *options, struct inro__limits *out,
                                                 inro_error *err);

/* Copies a caller's struct that begins with its size: a shorter one is padded with zeros, a longer one must be
 * zero beyond what is known. `what` names it in the message.
 * Expected: INRO_ERR_ARGUMENT, INRO_ERR_UNSUPPORTED. */
INRO_MUST_CHECK inro_status inro__options_copy(void *out, size_t known, const void *given, const char *what,
                                               inro_error *err);

#endif
