/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/sandbox.h"

#include "base/alloc.h"
#include "base/error.h"
#include "sandbox/invoke.h"
#include "sandbox/path.h"
#include "value/message.h"
#include "wasm/enter.h"
#include "wasm/pool.h"

#include <string.h>

inro_status inro_sandbox_new(const inro_sandbox_options *options, inro_sandbox **out, inro_error *err) {
    if (!out)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "out: NULL");
    *out = NULL;
    struct inro__limits limits;
    inro_status status = inro__limits_resolve(options, &limits, err);
    if (status == INRO_OK)
        status = inro__enter_prepare(err);
    if (status != INRO_OK)
        return status;
    inro_sandbox *sandbox = inro__alloc_zero(sizeof *sandbox);
    if (!sandbox)
        return inro__fail(err, INRO_ERR_MEMORY, 0, "no memory for a sandbox");
    sandbox->limits = limits;
    pthread_mutex_init(&sandbox->lock, NULL);
    inro__buf_init(&sandbox->baked_output, SIZE_MAX);
    *out = sandbox;
    return INRO_OK;
}

static void free_services(inro_sandbox *sandbox) {
    for (size_t i = 0; i < sandbox->services_count; i++) {
        inro_object_unref(sandbox->services[i].object);
        inro__free(sandbox->services[i].path, sandbox->services[i].path_length);
    }
    inro__free(sandbox->services, sandbox->services_count * sizeof *sandbox->services);
}

static void free_snippet(struct inro__snippet *snippet) {
    inro__free(snippet->message, snippet->message_length);
    inro__free(snippet->name, snippet->name_length);
}

void inro_sandbox_free(inro_sandbox *sandbox) {
    if (!sandbox)
        return;
    if (sandbox->own_image)
        inro__pool_forget(sandbox->own_image);
    inro__image_free(sandbox->own_image);
    free_services(sandbox);
    for (size_t i = 0; i < sandbox->snippets_count; i++)
        free_snippet(&sandbox->snippets[i]);
    inro__free(sandbox->snippets, sandbox->snippets_count * sizeof *sandbox->snippets);
    inro__buf_done(&sandbox->baked_output);
    pthread_mutex_destroy(&sandbox->lock);
    inro__free(sandbox, sizeof *sandbox);
}

/* ---- services ---- */

/* A service must not take the place of something that scripts, or the guest itself, rely on. */
static inro_status check_constant(inro_str path, inro_error *err) {
    const char *colon = memchr(path.data, ':', path.length);
    inro_str first = {path.data, colon ? (size_t)(colon - path.data) : path.length};
    bool exists = false;
    inro_status status = inro__invoke_constant(first, &exists, err);
    if (status == INRO_OK && exists)
        return inro__fail(err, INRO_ERR_CONFLICT, 0, "\"%.*s\": \"%.*s\" is a constant of the guest's language",
                          (int)path.length, path.data, (int)first.length, first.data);
    return status;
}

static inro_status check_path(const inro_sandbox *sandbox, inro_str path, inro_error *err) {
    for (size_t i = 0; i < sandbox->services_count; i++) {
        const struct inro__service *service = &sandbox->services[i];
        inro_str bound = {service->path, service->path_length};
        if (inro__str_equal(bound, path))
            return inro__fail(err, INRO_ERR_CONFLICT, 0, "\"%.*s\" is already bound", (int)path.length,
                              path.data);
        if (inro__path_clash(bound, path))
            return inro__fail(err, INRO_ERR_CONFLICT, 0,
                              "\"%.*s\" conflicts with an existing binding, \"%.*s\"", (int)path.length,
                              path.data, (int)bound.length, bound.data);
    }
    if (sandbox->services_count >= INRO__BINDINGS_MAX)
        return inro__fail(err, INRO_ERR_CONFLICT, 0, "more than %u services", INRO__BINDINGS_MAX);
    return check_constant(path, err);
}

static char *copy_text(inro_str text) {
    char *copy = inro__alloc(text.length);
    if (copy)
        memcpy(copy, text.data, text.length);
    return copy;
}

static inro_status add_service(inro_sandbox *sandbox, inro_str path, inro_object *object, inro_error *err) {
    size_t count = sandbox->services_count, row = sizeof *sandbox->services;
    struct inro__service *services = inro__resize(sandbox->services, count * row, (count + 1) * row);
    if (!services)
        return inro__fail(err, INRO_ERR_MEMORY, 0, "no memory for a binding");
    sandbox->services = services;
    char *copy = copy_text(path);
    if (!copy) {
        /* Shrinking back keeps "capacity is count"; if even that fails the block is only larger than counted.
         */
        void *smaller = inro__resize(services, (count + 1) * row, count * row);
        sandbox->services = count ? smaller : NULL;
        return inro__fail(err, INRO_ERR_MEMORY, 0, "no memory for a binding");
    }
    services[count] = (struct inro__service){copy, path.length, inro_object_ref(object)};
    sandbox->services_count = count + 1;
    return INRO_OK;
}

inro_status inro_sandbox_bind(inro_sandbox *sandbox, inro_str path, inro_object *object, inro_error *err) {
    if (!sandbox)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "sandbox: NULL");
    if (!inro__path_is_path(path))
        return inro__fail(err, INRO_ERR_ARGUMENT, 0,
                          "path: \"%.*s\" must be constant names joined by ::, each matching [A-Z]\\w*",
                          (int)(path.length > 64 ? 64 : path.length), path.data ? path.data : "");
    pthread_mutex_lock(&sandbox->lock);
    inro_status status =
        atomic_load(&sandbox->sealed)
            ? inro__fail(err, INRO_ERR_SEALED, 0, "bind after first Sandbox invocation: \"%.*s\"",
                         (int)path.length, path.data)
            : check_path(sandbox, path, err);
    if (status == INRO_OK)
        status = add_service(sandbox, path, object, err);
    pthread_mutex_unlock(&sandbox->lock);
    return status;
}

/* ---- snippets ---- */

/* The guest's load message: [is bytecode, name, body] without the array around it. */
static inro_status write_snippet(struct inro__buf *buf, bool bytecode, inro_str name, inro_bytes body) {
    struct inro__mp_writer writer = inro__message_begin(buf);
    inro__mp_write_bool(&writer, bytecode);
    inro__mp_write_str(&writer, name.data, (uint32_t)name.length);
    inro__mp_write_bin(&writer, body.data, (uint32_t)body.length);
    return inro__message_end(&writer) ? INRO_OK : INRO_ERR_MEMORY;
}

static inro_status make_snippet(struct inro__snippet *snippet, bool bytecode, inro_str name, inro_bytes body) {
    struct inro__buf buf;
    inro__buf_init(&buf, (size_t)INRO__SOURCE_MAX + (size_t)2 * INRO__NAME_MAX);
    *snippet = (struct inro__snippet){0};
    inro_status status = write_snippet(&buf, bytecode, name, body);
    if (status == INRO_OK) {
        snippet->message = inro__alloc(buf.length);
        snippet->name = bytecode ? NULL : copy_text(name);
        if (snippet->message) {
            memcpy(snippet->message, buf.data, buf.length);
            snippet->message_length = buf.length;
        }
        snippet->name_length = snippet->name ? name.length : 0;
        if (!snippet->message || (!bytecode && !snippet->name))
            status = INRO_ERR_MEMORY;
    }
    inro__buf_done(&buf);
    return status;
}

static inro_status check_snippet_name(const inro_sandbox *sandbox, inro_str name, inro_error *err) {
    for (size_t i = 0; i < sandbox->snippets_count; i++) {
        const struct inro__snippet *snippet = &sandbox->snippets[i];
        if (snippet->name && inro__str_equal((inro_str){snippet->name, snippet->name_length}, name))
            return inro__fail(err, INRO_ERR_CONFLICT, 0, "snippet \"%.*s\" is already preloaded",
                              (int)name.length, name.data);
    }
    return INRO_OK;
}

static inro_status append_snippet(inro_sandbox *sandbox, const struct inro__snippet *snippet, inro_error *err) {
    size_t count = sandbox->snippets_count, row = sizeof *snippet;
    if (count >= INRO__SNIPPETS_MAX)
        return inro__fail(err, INRO_ERR_CONFLICT, 0, "more than %u snippets", INRO__SNIPPETS_MAX);
    struct inro__snippet *snippets = inro__resize(sandbox->snippets, count * row, (count + 1) * row);
    if (!snippets)
        return inro__fail(err, INRO_ERR_MEMORY, 0, "no memory for a snippet");
    snippets[count] = *snippet;
    sandbox->snippets = snippets;
    sandbox->snippets_count = count + 1;
    return INRO_OK;
}

/* Under the lock. The name is empty for bytecode. */
static inro_status add_snippet(inro_sandbox *sandbox, bool bytecode, inro_str name, inro_bytes body,
                               inro_error *err) {
    if (atomic_load(&sandbox->sealed))
        return inro__fail(err, INRO_ERR_SEALED, 0, "preload after first Sandbox invocation");
    inro_status status = bytecode ? INRO_OK : check_snippet_name(sandbox, name, err);
    struct inro__snippet snippet;
    if (status != INRO_OK)
        return status;
    status = make_snippet(&snippet, bytecode, name, body);
    if (status != INRO_OK)
        inro__fail(err, status, 0, "no memory for a snippet");
    if (status == INRO_OK && !bytecode)
        status = inro__invoke_check(&sandbox->limits, snippet.message, snippet.message_length, err);
    if (status == INRO_OK)
        status = append_snippet(sandbox, &snippet, err);
    if (status != INRO_OK)
        free_snippet(&snippet);
    return status;
}

static inro_status check_body(const inro_sandbox *sandbox, inro_bytes body, const char *what, inro_error *err) {
    if (!sandbox)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "sandbox: NULL");
    if (!body.data)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "%s: not given", what);
    if (body.length > INRO__SOURCE_MAX)
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "%s: %zu bytes are more than %u", what, body.length,
                          INRO__SOURCE_MAX);
    return INRO_OK;
}

inro_status inro_sandbox_preload(inro_sandbox *sandbox, inro_str source, inro_str name, inro_error *err) {
    inro_bytes body = {(const uint8_t *)source.data, source.length};
    inro_status status = check_body(sandbox, body, "source", err);
    if (status != INRO_OK)
        return status;
    if (!inro__path_is_name(name))
        return inro__fail(err, INRO_ERR_ARGUMENT, 0, "snippet name must match [A-Z]\\w*: \"%.*s\"",
                          (int)(name.length > 64 ? 64 : name.length), name.data ? name.data : "");
    pthread_mutex_lock(&sandbox->lock);
    status = add_snippet(sandbox, false, name, body, err);
    pthread_mutex_unlock(&sandbox->lock);
    return status;
}

inro_status inro_sandbox_preload_bytecode(inro_sandbox *sandbox, inro_bytes bytecode, inro_error *err) {
    inro_status status = check_body(sandbox, bytecode, "bytecode", err);
    if (status != INRO_OK)
        return status;
    pthread_mutex_lock(&sandbox->lock);
    status = add_snippet(sandbox, true, INRO_STR("bytecode"), bytecode, err);
    pthread_mutex_unlock(&sandbox->lock);
    return status;
}

void inro_trim(void) {
    inro__pool_trim();
}
