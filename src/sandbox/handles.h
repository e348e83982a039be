/* The handle table of one invocation: what the ids that the guest holds stand for.
 *
 * Ids count up from 1 and are never used again, so a stale or invented one is either dead or one that this
 * invocation was given anyway. SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__HANDLES_H
#define INRO__HANDLES_H

#include "value/value.h"

struct inro__handles {
    inro_object **objects;
    uint32_t count;
    uint32_t capacity;
    uint32_t max;
};

/* An id for the object, which is kept until the table is done; 0 when the table or memory is full. */
uint32_t inro__handles_add(struct inro__handles *handles, inro_object *object);

/* The object of an id, lent; NULL for any number that is no live id. */
inro_object *inro__handles_find(const struct inro__handles *handles, uint32_t id);

/* Lets go of all objects. */
void inro__handles_done(struct inro__handles *handles);

/* The table as the value layer wants it. */
struct inro__handle_map inro__handles_map(struct inro__handles *handles);

#endif
