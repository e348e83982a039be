/* The outcome: how one invocation ended, with everything it left behind.
 *
 * A script that fails is a result, not an error of the library: the call that reports it answers INRO_OK.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO_OUTCOME_H
#define INRO_OUTCOME_H

#include <inro/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One finished invocation. Owns all that its readers lend. Immutable. */
typedef struct inro_outcome inro_outcome;

/* The four endings. */
typedef enum inro_ended {
    INRO_ENDED_VALUE = 0,   /* the script gave a value */
    INRO_ENDED_TRAP = 1,    /* the engine stopped it: fault, deadline, memory limit */
    INRO_ENDED_SERVICE = 2, /* a service failed and the script did not rescue it */
    INRO_ENDED_SANDBOX = 3  /* the script itself failed: raised, did not compile, gave what cannot cross */
} inro_ended;

/* Every kind of failure: name, number, the ending it belongs to, class name in the bindings. */
#define INRO_FAULT_MAP(XX)                                                                                     \
    XX(NONE, 0, VALUE, "")                                                                                     \
    XX(TRAP, 1, TRAP, "TrapError")                                                                             \
    XX(TIMEOUT, 2, TRAP, "TimeoutError")                                                                       \
    XX(MEMORY_LIMIT, 3, TRAP, "MemoryLimitError")                                                              \
    XX(SERVICE, 4, SERVICE, "ServiceError")                                                                    \
    XX(DISCONNECTED, 5, SERVICE, "ServiceError::Disconnected")                                                 \
    XX(NO_SERVICE, 6, SERVICE, "NoServiceError")                                                               \
    XX(SERVICE_ARGUMENT, 7, SERVICE, "ServiceArgumentError")                                                   \
    XX(SANDBOX, 8, SANDBOX, "SandboxError")                                                                    \
    XX(BYTECODE, 9, SANDBOX, "BytecodeError")                                                                  \
    XX(UNDEFINED_ENTRYPOINT, 10, SANDBOX, "UndefinedEntrypointError")                                          \
    XX(HANDLES_EXHAUSTED, 11, SANDBOX, "HandleTableExhausted")                                                 \
    XX(WIRE, 12, SANDBOX, "WireError")

/* The named subclass of a failure; see INRO_FAULT_MAP. */
typedef enum inro_fault {
#define INRO_FAULT_ENUM(name, number, ended, text) INRO_FAULT_##name = (number),
    INRO_FAULT_MAP(INRO_FAULT_ENUM)
#undef INRO_FAULT_ENUM
} inro_fault;

/* A failure's particulars; all views belong to the outcome.
 *
 * `origin` is "sandbox" or "service", empty for traps. `class_name` is the guest's class of the exception
 * (not given for traps), `message` its text. `backtrace` has guest lines only, innermost first. `details` is
 * NULL or a MAP, for UNDEFINED_ENTRYPOINT {"available" => [:Name, ...]}. */
typedef struct inro_failure {
    inro_fault fault;
    inro_str origin;
    inro_str class_name;
    inro_str message;
    const inro_str *backtrace;
    size_t backtrace_count;
    const inro_value *details;
} inro_failure;

/* What an invocation used. wall = guest + services + the library's own work. `memory_peak_bytes` is how far
 * the guest's memory grew past its size at entry. `service_calls` counts calls, not yields. */
typedef struct inro_usage {
    uint64_t wall_ns;
    uint64_t guest_ns;
    uint64_t service_ns;
    uint64_t memory_peak_bytes;
    uint64_t service_calls;
} inro_usage;

/* How the invocation ended.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API inro_ended inro_outcome_ended(const inro_outcome *outcome);

/* The script's value, or NULL when it failed. Lent.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API const inro_value *inro_outcome_value(const inro_outcome *outcome);

/* The failure, or NULL when there is a value. Lent.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API const inro_failure *inro_outcome_failure(const inro_outcome *outcome);

/* What the guest wrote to its standard output, at most the limit, exactly the first bytes. Lent.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API inro_bytes inro_outcome_stdout(const inro_outcome *outcome);

/* What the guest wrote to its standard error; as inro_outcome_stdout.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API inro_bytes inro_outcome_stderr(const inro_outcome *outcome);

/* Whether more than the limit was written to standard output.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API bool inro_outcome_is_stdout_truncated(const inro_outcome *outcome);

/* Whether more than the limit was written to standard error.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API bool inro_outcome_is_stderr_truncated(const inro_outcome *outcome);

/* What the invocation used. Lent.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API const inro_usage *inro_outcome_usage(const inro_outcome *outcome);

/* Frees the outcome and all it lent. NULL is fine.
 * Expected: cannot fail.   Threads: the owner's.   Since: 0.1. */
INRO_API void inro_outcome_free(inro_outcome *outcome);

/* The class name of a fault ("TimeoutError"); "" for NONE and for a number that is none.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API const char *inro_fault_class(inro_fault fault);

/* The ending a fault belongs to.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API inro_ended inro_fault_ended(inro_fault fault);

#ifdef __cplusplus
}
#endif

#endif
