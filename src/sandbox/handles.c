/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/handles.h"

#include "base/alloc.h"
#include <inro/service.h>

#define FIRST_CAPACITY 16u

static bool grow(struct inro__handles *handles) {
    uint32_t capacity = handles->capacity ? handles->capacity * 2 : FIRST_CAPACITY;
    inro_object **objects =
        inro__resize(handles->objects, handles->capacity * sizeof *objects, capacity * sizeof *objects);
    if (!objects)
        return false;
    handles->objects = objects;
    handles->capacity = capacity;
    return true;
}

uint32_t inro__handles_add(struct inro__handles *handles, inro_object *object) {
    if (handles->count >= handles->max || (handles->count == handles->capacity && !grow(handles)))
        return 0;
    handles->objects[handles->count++] = inro_object_ref(object);
    return handles->count;
}

inro_object *inro__handles_find(const struct inro__handles *handles, uint32_t id) {
    return id >= 1 && id <= handles->count ? handles->objects[id - 1] : NULL;
}

void inro__handles_done(struct inro__handles *handles) {
    for (uint32_t i = 0; i < handles->count; i++)
        inro_object_unref(handles->objects[i]);
    inro__free(handles->objects, handles->capacity * sizeof *handles->objects);
    *handles = (struct inro__handles){.max = handles->max};
}

static inro_object *map_find(void *user, uint32_t id) {
    return inro__handles_find(user, id);
}

static uint32_t map_add(void *user, inro_object *object) {
    return inro__handles_add(user, object);
}

struct inro__handle_map inro__handles_map(struct inro__handles *handles) {
    return (struct inro__handle_map){handles, map_find, map_add};
}
