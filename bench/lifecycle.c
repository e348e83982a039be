/* Sandboxes made and thrown away. SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <inro/inro.h>

/* Nanoseconds of inro_sandbox_new; with `evaluates`, also of one evaluation and inro_sandbox_free. */
static double lifecycle_ns(bool evaluates) {
    inro_sandbox *sandbox;
    inro_outcome *outcome;
    inro_error err;
    uint64_t before = now_ns(), after;
    if (inro_sandbox_new(NULL, &sandbox, &err) != INRO_OK) {
        complain("sandbox_new: %s", err.message);
        return 0;
    }
    after = now_ns();
    if (evaluates) {
        if (inro_sandbox_eval(sandbox, INRO_STR("nil"), NULL, &outcome, &err) != INRO_OK) {
            complain("eval: %s", err.message);
            outcome = NULL;
        }
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
    return (double)((evaluates ? now_ns() : after) - before);
}

void measure_lifecycle(const struct effort *effort) {
    struct samples made = {0}, whole = {0};
    size_t count = effort->quick ? 100 : 20000;
    for (size_t i = 0; i < count && !has_complaints(); i++) {
        samples_add(&made, lifecycle_ns(false) / 1e3);
        samples_add(&whole, lifecycle_ns(true) / 1e3);
    }
    report("sandbox_new_us", "us", "inro", &made);
    report("sandbox_new_eval_free_us", "us", "inro", &whole);
    samples_done(&made);
    samples_done(&whole);
}
