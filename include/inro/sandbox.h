/* The sandbox: evaluates scripts nobody vouches for, inside the caller's process.
 *
 * Set it up (bind services, preload snippets), then invoke it as often as you like, from any number of
 * threads. The first invocation seals it. Every invocation starts from the same memory, byte for byte;
 * nothing of one is visible in the next. A failed or trapped invocation leaves the sandbox as it was.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO_SANDBOX_H
#define INRO_SANDBOX_H

#include <inro/outcome.h>
#include <inro/service.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sandbox's set-up; owns no guest memory while it is idle. */
typedef struct inro_sandbox inro_sandbox;

/* What of the world a guest may see besides its services. */
typedef enum inro_profile {
    INRO_PROFILE_HERMETIC = 0,  /* nothing: same script and same answers give the same bytes */
    INRO_PROFILE_PERMISSIVE = 1 /* a clock and entropy as well */
} inro_profile;

/* A sandbox's options. Zero is the default, INRO_UNLIMITED switches a cap off. */
typedef struct inro_sandbox_options {
    size_t size;                 /* set by INRO_SANDBOX_OPTIONS_INIT */
    uint64_t timeout_us;         /* wall clock of one invocation; default 60 s */
    uint64_t memory_limit_bytes; /* how far one invocation may grow the guest's memory; default 1 MiB */
    uint64_t stdout_limit_bytes; /* default 1 MiB */
    uint64_t stderr_limit_bytes; /* default 1 MiB */
    uint64_t profile;            /* an inro_profile */
} inro_sandbox_options;

#ifdef __cplusplus
#define INRO_SANDBOX_OPTIONS_INIT (inro_sandbox_options{sizeof(inro_sandbox_options), 0, 0, 0, 0, 0})
#else
#define INRO_SANDBOX_OPTIONS_INIT ((inro_sandbox_options){sizeof(inro_sandbox_options), 0, 0, 0, 0, 0})
#endif

/* An object for one invocation, at a path that was bound or reserved before the seal. */
typedef struct inro_binding {
    inro_str path;
    inro_object *object;
} inro_binding;

/* Receives output while the guest runs: exactly the bytes that are captured, so never more than the limit.
 * `stream` is 1 or 2. `chunk` lives for the call. Runs on the invoking thread. */
typedef void (*inro_output_fn)(void *user, int stream, inro_bytes chunk);

/* What holds for one invocation only. All of it is lent for the call. */
typedef struct inro_invocation {
    size_t size;                  /* set by INRO_INVOCATION_INIT */
    const inro_binding *bindings; /* override or fill these paths */
    size_t bindings_count;
    inro_output_fn output; /* NULL: output is only captured */
    void *output_user;
} inro_invocation;

#ifdef __cplusplus
#define INRO_INVOCATION_INIT (inro_invocation{sizeof(inro_invocation), nullptr, 0, nullptr, nullptr})
#else
#define INRO_INVOCATION_INIT ((inro_invocation){sizeof(inro_invocation), NULL, 0, NULL, NULL})
#endif

/* Makes a sandbox. `options` may be NULL for the defaults. No guest code runs.
 *
 * A value that makes no sense is refused with the field named.
 * Expected: INRO_ERR_ARGUMENT, INRO_ERR_MEMORY, INRO_ERR_UNSUPPORTED.   Threads: any.   Since: 0.1. */
INRO_API INRO_MUST_CHECK inro_status inro_sandbox_new(const inro_sandbox_options *options, inro_sandbox **out,
                                                      inro_error *err);

/* Frees a sandbox; no invocation of it may be running. NULL is fine.
 * Expected: cannot fail.   Threads: one, after all others.   Since: 0.1. */
INRO_API void inro_sandbox_free(inro_sandbox *sandbox);

/* Binds `object` at the constant `path` ("KV::Lookup", or one segment); the sandbox takes a reference of
 * its own. NULL reserves the path: calling it fails until an invocation binds it.
 *
 * Each segment must match /\A[A-Z]\w*\z/. Refused: an equal path, a path inside or around a bound one, a
 * constant of the guest's own language, anything after the first invocation.
 * Expected: INRO_ERR_ARGUMENT, INRO_ERR_CONFLICT, INRO_ERR_SEALED.   Threads: any.   Since: 0.1. */
INRO_API INRO_MUST_CHECK inro_status inro_sandbox_bind(inro_sandbox *sandbox, inro_str path,
                                                       inro_object *object, inro_error *err);

/* Adds a snippet, run before every invocation in order of insertion, with the file name (snippet:Name).
 *
 * `source` and `name` are copied. It is compiled at once: a syntax error is refused with line and column,
 * and the sandbox stays as it was. `name` must match /\A[A-Z]\w*\z/ and be new.
 * Expected: INRO_ERR_SYNTAX, INRO_ERR_CONFLICT, INRO_ERR_SEALED.   Threads: any.   Since: 0.1. */
INRO_API INRO_MUST_CHECK inro_status inro_sandbox_preload(inro_sandbox *sandbox, inro_str source, inro_str name,
                                                          inro_error *err);

/* Adds a snippet of compiled bytecode (RITE), copied, and validated by the first invocation only: damage is
 * then a BYTECODE failure of every invocation.
 * Expected: INRO_ERR_SEALED, INRO_ERR_MEMORY.   Threads: any.   Since: 0.1. */
INRO_API INRO_MUST_CHECK inro_status inro_sandbox_preload_bytecode(inro_sandbox *sandbox, inro_bytes bytecode,
                                                                   inro_error *err);

/* Evaluates `source` (file name "(eval)") and gives an outcome, owned by the caller. `invocation` may be
 * NULL.
 *
 * INRO_OK says that the invocation took place, however it ended; *out is NULL otherwise.
 * Expected: INRO_ERR_ARGUMENT, INRO_ERR_MEMORY, INRO_ERR_SYSTEM.   Threads: any, many at once.
 * Since: 0.1. */
INRO_API INRO_MUST_CHECK inro_status inro_sandbox_eval(inro_sandbox *sandbox, inro_str source,
                                                       const inro_invocation *invocation, inro_outcome **out,
                                                       inro_error *err);

/* Calls the top-level constant `entrypoint` with `args` (ARRAY or NULL) and `kwargs` (MAP with SYMBOL keys or
 * NULL), both lent, and gives an outcome as inro_sandbox_eval does.
 *
 * OBJECT values among the arguments arrive as handles.
 * Expected: INRO_ERR_ARGUMENT, INRO_ERR_MEMORY, INRO_ERR_SYSTEM.   Threads: any, many at once.
 * Since: 0.1. */
INRO_API INRO_MUST_CHECK inro_status inro_sandbox_run(inro_sandbox *sandbox, inro_str entrypoint,
                                                      const inro_value *args, const inro_value *kwargs,
                                                      const inro_invocation *invocation, inro_outcome **out,
                                                      inro_error *err);

/* Gives memory of idle slots back to the system. Safe at any time; the next invocations
 * are slower.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API void inro_trim(void);

#ifdef __cplusplus
}
#endif

#endif
