/* Services: the host functions a guest may call, and nothing else of the host.
 *
 * An object is a C callback with its user data. Bound at a constant path it is a service; answered by a
 * service it reaches the guest as a handle, which can be called and passed around but never looked into.
 * Bind narrow objects and check every argument: a service is called by code nobody vouches for.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO_SERVICE_H
#define INRO_SERVICE_H

#include <inro/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One call in flight. It lives for the callback and must not be kept. */
typedef struct inro_call inro_call;

/* A service's code. Runs on the thread, and on the stack, that called inro_sandbox_eval or _run.
 *
 * It answers INRO_OK after inro_call_answer (or without it: nil), or any other status after inro_call_fail
 * (or without it: a general "service failed" reaches the guest). It may call into any sandbox, also the one
 * that is calling. It must return: no longjmp, no C++ exception may leave it. No lock is held. It is never
 * interrupted, but its time counts against the deadline. */
typedef inro_status (*inro_service_fn)(void *user, inro_call *call);

/* Why a service failed, as the guest and the outcome see it. */
typedef enum inro_call_fault {
    INRO_CALL_RUNTIME = 0,     /* the service raised: ServiceError */
    INRO_CALL_ARGUMENT = 1,    /* the arguments do not fit: ServiceArgumentError */
    INRO_CALL_UNDEFINED = 2,   /* no such method or object: NoServiceError */
    INRO_CALL_DISCONNECTED = 3 /* what the handle stood for is gone: ServiceError::Disconnected */
} inro_call_fault;

/* Makes an object with one reference, owned by the caller. `release(user)` (may be NULL) runs once, when the
 * last reference goes, also when this call fails.
 * Expected: NULL on no memory or a NULL callback.   Threads: any.   Since: 0.1. */
INRO_API inro_object *inro_object_new(inro_service_fn call, void *user, inro_release_fn release);

/* Takes one more reference and answers `object`. NULL gives NULL.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API inro_object *inro_object_ref(inro_object *object);

/* Gives one reference back. NULL is fine.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API void inro_object_unref(inro_object *object);

/* The user data, if the object's callback is `call` (the check that makes a cast safe), else NULL.
 * Expected: cannot fail.   Threads: any.   Since: 0.1. */
INRO_API void *inro_object_user(const inro_object *object, inro_service_fn call);

/* The method the guest called ("call" for KV::Lookup.call(...)). Lent for the call.
 * Expected: cannot fail.   Threads: the call's.   Since: 0.1. */
INRO_API inro_str inro_call_method(const inro_call *call);

/* The positional arguments, an ARRAY. Lent for the call; inro_value_copy what must live longer.
 * Expected: cannot fail.   Threads: the call's.   Since: 0.1. */
INRO_API const inro_value *inro_call_args(const inro_call *call);

/* The keyword arguments, a MAP with SYMBOL keys, empty when none were given. Lent for the call.
 * Expected: cannot fail.   Threads: the call's.   Since: 0.1. */
INRO_API const inro_value *inro_call_kwargs(const inro_call *call);

/* Whether the guest passed a block.
 * Expected: cannot fail.   Threads: the call's.   Since: 0.1. */
INRO_API bool inro_call_has_block(const inro_call *call);

/* Runs the guest's block with `args` (an ARRAY, or NULL for none) and lends its value until the next yield
 * or the end of the call.
 *
 * INRO_ERR_BLOCK: the block raised; `err` has "Class: message"; handle it, or return the status and the same
 * exception goes on in the guest. INRO_ERR_BREAK: the block broke; return the status at once. INRO_ERR_TRAP:
 * the guest was stopped; return the status at once. INRO_ERR_ARGUMENT: no block was passed. INRO_ERR_TYPE:
 * an argument cannot cross; the block did not run. INRO_ERR_LIMIT: too many calls are nested, and the block did
 * not run; or its value is too large.
 * Expected: as above.   Threads: the call's.   Since: 0.1. */
INRO_API INRO_MUST_CHECK inro_status inro_call_yield(inro_call *call, const inro_value *args,
                                                     const inro_value **result, inro_error *err);

/* Sets the answer and takes `value` (NULL: no memory for it, the call fails with that). A second answer
 * replaces the first. Answers INRO_OK or INRO_ERR_MEMORY so that it can be the callback's return value.
 * Expected: INRO_ERR_MEMORY.   Threads: the call's.   Since: 0.1. */
INRO_API inro_status inro_call_answer(inro_call *call, inro_value *value);

/* Sets the failure that the guest sees; `message` is copied (at most 4 KiB of it). Answers INRO_ERR_SERVICE
 * so that it can be the callback's return value. The text reaches the guest: put no secrets in it.
 * Expected: INRO_ERR_SERVICE always.   Threads: the call's.   Since: 0.1. */
INRO_API inro_status inro_call_fail(inro_call *call, inro_call_fault fault, inro_str message);

#ifdef __cplusplus
}
#endif

#endif
