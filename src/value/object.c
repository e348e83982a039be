/* Host objects. References are dropped by whichever thread is last, so the count is atomic.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "value/object.h"
#include "base/alloc.h"

inro_object *inro_object_new(inro_service_fn call, void *user, inro_release_fn release) {
    inro_object *object = call ? inro__alloc(sizeof *object) : NULL;
    if (!object) {
        if (release)
            release(user);
        return NULL;
    }
    atomic_init(&object->references, 1);
    object->call = call;
    object->user = user;
    object->release = release;
    return object;
}

inro_object *inro_object_ref(inro_object *object) {
    if (object)
        atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
    return object;
}

/* Releasing orders this thread's use of the object before the drop; acquiring orders all others' before the
 * release callback. */
void inro_object_unref(inro_object *object) {
    if (!object || atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) != 1)
        return;
    inro_release_fn release = object->release;
    void *user = object->user;
    inro__free(object, sizeof *object);
    if (release)
        release(user);
}

void *inro_object_user(const inro_object *object, inro_service_fn call) {
    return object && object->call == call ? object->user : NULL;
}
