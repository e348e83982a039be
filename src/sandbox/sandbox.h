/* Inside the sandbox: its set-up, and what a sealed one starts invocations from.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__SANDBOX_H
#define INRO__SANDBOX_H

#include "base/buf.h"
#include "policy/limits.h"
#include "wasm/image.h"
#include <inro/sandbox.h>

#include <pthread.h>
#include <stdatomic.h>

struct inro__service {
    char *path;
    size_t path_length;
    inro_object *object; /* NULL: reserved for invocations to fill */
};

struct inro__snippet {
    uint8_t *message; /* as the guest's load entry takes it */
    size_t message_length;
    char *name; /* NULL for bytecode */
    size_t name_length;
};

struct inro_sandbox {
    struct inro__limits limits;
    pthread_mutex_t lock; /* the set-up, until it is sealed */
    _Atomic bool sealed;  /* everything below is constant from then on */
    struct inro__service *services;
    size_t services_count;
    struct inro__snippet *snippets;
    size_t snippets_count;
    const struct inro__image *image; /* what invocations start from */
    struct inro__image *own_image;   /* the same if it is this sandbox's own */
    size_t baked;                    /* so many snippets are in the image; the rest runs in each invocation */
    struct inro__buf baked_output;   /* what they printed: stream byte, length (4 bytes), bytes, ... */
};

/* Seals at the first invocation: binds the services and runs the snippets once, into an image.
 * Expected: INRO_ERR_MEMORY, INRO_ERR_SYSTEM. */
INRO_MUST_CHECK inro_status inro__sandbox_seal(inro_sandbox *sandbox, inro_error *err);

#endif
