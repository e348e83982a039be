/* Inside the outcome: filled by the sandbox, read by the public accessors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__OUTCOME_H
#define INRO__OUTCOME_H

#include "base/arena.h"
#include "base/buf.h"
#include "value/value.h"
#include <inro/outcome.h>

/* What was written to one stream. */
struct inro__capture {
    struct inro__buf bytes;
    bool truncated;
};

struct inro_outcome {
    inro_ended ended;
    struct inro_value value; /* its strings lie in `message` */
    inro_failure failure;
    struct inro_value details;
    struct inro__capture captures[2];
    inro_usage usage;
    struct inro__buf message; /* the guest's last message, copied */
    struct inro__arena arena;
    inro_object **objects; /* references that OBJECT values of this outcome need */
    size_t objects_count;
};

/* An empty outcome with a nil value, or NULL without memory. */
inro_outcome *inro__outcome_new(void);

/* Makes it a failure. `class_name` and `message` must live as long as the outcome (or be literals). */
void inro__outcome_fail(inro_outcome *outcome, inro_fault fault, inro_str origin, inro_str class_name,
                        inro_str message);

/* Reads `message`: a tag, then a value or a panic, and fills the outcome. Whatever the bytes are, the outcome
 * is valid afterwards. `fault_override`, if not NONE, stands for what the guest's class name would say.
 * Handles are found in `handles`; objects that the value contains are kept.
 * Expected: INRO_ERR_MEMORY. */
INRO_MUST_CHECK inro_status inro__outcome_decode(inro_outcome *outcome, const struct inro__handle_map *handles);

#endif
