/* A guest's last message, whatever it is, becomes a valid outcome: one ending, and every view readable.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "outcome/outcome.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition)
        abort();
}

static size_t sum(inro_str text) {
    size_t total = 0;
    for (size_t i = 0; i < text.length; i++)
        total += (uint8_t)text.data[i];
    return total;
}

static void read_failure(const inro_failure *failure) {
    volatile size_t total = sum(failure->class_name) + sum(failure->message) + sum(failure->origin);
    for (size_t i = 0; i < failure->backtrace_count; i++)
        total += sum(failure->backtrace[i]);
    require(inro_fault_ended(failure->fault) != INRO_ENDED_VALUE);
    require(!failure->details || inro_value_get_type(failure->details) == INRO_VALUE_MAP);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    inro_outcome *outcome = inro__outcome_new();
    require(outcome && inro__buf_append(&outcome->message, data, size) == INRO_OK);
    require(inro__outcome_decode(outcome, NULL) == INRO_OK);
    const inro_failure *failure = inro_outcome_failure(outcome);
    require((failure == NULL) == (inro_outcome_value(outcome) != NULL));
    if (failure) {
        read_failure(failure);
    } else {
        inro_value *copy = inro_value_copy(inro_outcome_value(outcome));
        require(copy && inro_value_equals(copy, inro_outcome_value(outcome)));
        inro_value_free(copy);
    }
    inro_outcome_free(outcome);
    return 0;
}
