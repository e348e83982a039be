/* Sealing: a sandbox's services and snippets become its image, so that they cost an invocation nothing.
 *
 * Snippets are run once. One that is not alike in every run (it calls a service, asks the time, raises, or
 * traps) ends the baked part: it and those after it run in each invocation, as if nothing were baked.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "sandbox/invoke.h"
#include "value/message.h"

/* An array of paths; a service's number is its index. */
static inro_status bind_services(struct inro__invocation *invocation, inro_error *err) {
    const inro_sandbox *sandbox = invocation->sandbox;
    struct inro__mp_writer writer = inro__message_begin(&invocation->reply);
    inro__mp_write_array(&writer, (uint32_t)sandbox->services_count);
    for (size_t i = 0; i < sandbox->services_count; i++)
        inro__mp_write_str(&writer, sandbox->services[i].path, (uint32_t)sandbox->services[i].path_length);
    if (!inro__message_end(&writer))
        return inro__fail(err, INRO_ERR_MEMORY, 0, "no memory for the services' names");
    inro_status status = inro__invocation_send(invocation, invocation->slot->guest->setup,
                                               invocation->reply.data, invocation->reply.length);
    if (status != INRO_OK || inro__invocation_gave_value(invocation))
        return status;
    /* It is the bound names alone that decide this; a trap other than for memory is a defect of ours. */
    status = inro__invocation_conclude(invocation);
    if (status != INRO_OK)
        return inro__fail(err, status, 0, "no memory to bind the services");
    inro_str message = invocation->outcome->failure.message;
    return inro__fail(err, INRO_ERR_LIMIT, 0, "binding the services in the guest: %.*s",
                      (int)(message.length > 120 ? 120 : message.length), message.data);
}

/* Runs the first `count` snippets; *done is how many may be baked. */
static inro_status bake_snippets(struct inro__invocation *invocation, size_t count, size_t *done) {
    const inro_sandbox *sandbox = invocation->sandbox;
    for (*done = 0; *done < count; ++*done) {
        const struct inro__snippet *snippet = &sandbox->snippets[*done];
        inro_status status = inro__invocation_send(invocation, invocation->slot->guest->load, snippet->message,
                                                   snippet->message_length);
        if (invocation->impure || (status == INRO_OK && !inro__invocation_gave_value(invocation)))
            return INRO_OK;
        if (status != INRO_OK)
            return status;
    }
    return INRO_OK;
}

/* One try: bakes `count` snippets, or tells in *done how many could be. */
static inro_status bake(inro_sandbox *sandbox, size_t count, size_t *done, inro_error *err) {
    struct inro__invocation invocation;
    inro_status status =
        inro__invocation_begin(&invocation, &sandbox->limits, inro__image_booted(&inro__ruby_guest), err);
    *done = 0;
    if (status != INRO_OK)
        return status;
    invocation.sandbox = sandbox;
    invocation.bake = &sandbox->baked_output;
    sandbox->baked_output.length = 0;
    if (sandbox->services_count > 0)
        status = bind_services(&invocation, err);
    if (status == INRO_OK)
        status = bake_snippets(&invocation, count, done);
    if (status == INRO_OK && *done == count) {
        status = inro__image_capture(invocation.slot, &sandbox->own_image);
        if (status == INRO_ERR_LIMIT && count > 0) {
            *done = 0; /* too large to bake: only the services are */
            status = INRO_OK;
        } else if (status != INRO_OK)
            inro__fail(err, status, 0, "no memory for the sandbox's image");
    }
    inro_outcome_free(invocation.outcome);
    inro__invocation_end(&invocation);
    return status;
}

static inro_status seal(inro_sandbox *sandbox, inro_error *err) {
    size_t count = sandbox->snippets_count, done = count;
    sandbox->image = inro__image_booted(&inro__ruby_guest);
    if (sandbox->services_count == 0 && count == 0)
        return INRO_OK;
    do {
        count = done;
        inro_status status = bake(sandbox, count, &done, err);
        if (status != INRO_OK)
            return status;
    } while (!sandbox->own_image);
    sandbox->image = sandbox->own_image;
    sandbox->baked = count;
    return INRO_OK;
}

inro_status inro__sandbox_seal(inro_sandbox *sandbox, inro_error *err) {
    if (err)
        err->status = INRO_OK;
    pthread_mutex_lock(&sandbox->lock);
    inro_status status = atomic_load(&sandbox->sealed) ? INRO_OK : seal(sandbox, err);
    if (status == INRO_OK)
        atomic_store_explicit(&sandbox->sealed, true, memory_order_release);
    else if (err && err->status != status) /* it came from below, where there are no words for it */
        inro__fail(err, status, 0, "%s while sealing the sandbox", inro_status_text(status));
    pthread_mutex_unlock(&sandbox->lock);
    return status;
}
