/* How late a deadline comes, and what the reset costs by how much was dirtied.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"
#include "wasm/pool.h"

#include <inro/inro.h>
#include <stdio.h>

#define TIMEOUT_US 5000u

/* ---- the deadline ---- */

static bool overshoot_once(inro_sandbox *sandbox, struct samples *samples) {
    inro_outcome *outcome;
    inro_error err;
    uint64_t before = now_ns();
    if (inro_sandbox_eval(sandbox, INRO_STR("loop { }"), NULL, &outcome, &err) != INRO_OK) {
        complain("timeout: %s", err.message);
        return false;
    }
    samples_add(samples, ((double)(now_ns() - before) - TIMEOUT_US * 1e3) / 1e3);
    const inro_failure *failure = inro_outcome_failure(outcome);
    bool timed_out = failure && failure->fault == INRO_FAULT_TIMEOUT;
    if (!timed_out)
        complain("timeout: an endless loop ended otherwise");
    inro_outcome_free(outcome);
    return timed_out;
}

static void measure_overshoot(const struct effort *effort) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    struct samples samples = {0};
    inro_sandbox *sandbox;
    inro_error err;
    options.timeout_us = TIMEOUT_US;
    if (inro_sandbox_new(&options, &sandbox, &err) != INRO_OK) {
        complain("timeout: %s", err.message);
        return;
    }
    for (unsigned i = 0; i < (effort->quick ? 3u : 50u) && overshoot_once(sandbox, &samples); i++)
        continue;
    report("timeout_overshoot_us", "us", "inro", &samples);
    samples_done(&samples);
    inro_sandbox_free(sandbox);
}

/* ---- the reset ---- */

/* Writes one byte into each of the first `pages` pages of the guest's heap, then resets. */
static bool reset_once(struct inro__slot *slot, uint32_t pages, struct samples *samples) {
    uint32_t heap = slot->image->size - pages * INRO__PAGE;
    for (uint32_t i = 0; i < pages; i++) {
        uint8_t *byte = inro__slot_write(slot, (struct inro__range){heap + i * INRO__PAGE, 1});
        if (!byte)
            return false;
        *byte ^= 1;
    }
    uint64_t before = now_ns();
    bool done = inro__slot_reset(slot);
    samples_add(samples, (double)(now_ns() - before) / 1e3);
    return done;
}

/* A trivial evaluation first, so that the slot's hot pages are those it always has. */
static void measure_resets(const struct effort *effort, struct inro__slot *slot) {
    static const uint32_t pages[] = {0, 1, 4, 16, 64};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        struct samples samples = {0};
        char name[64];
        for (unsigned turn = 0; turn < (effort->quick ? 20u : 4000u); turn++)
            if (!reset_once(slot, pages[i], &samples)) {
                complain("reset: a slot could not be reset");
                break;
            }
        snprintf(name, sizeof name, "reset_%u_pages_us", pages[i]);
        report(name, "us", "inro", &samples);
        samples_done(&samples);
    }
    if (!inro__slot_is_pristine(slot))
        complain("reset: the memory does not equal the image");
}

void measure_limits(const struct effort *effort) {
    struct inro__slot *slot;
    inro_error err;
    measure_overshoot(effort);
    if (inro__pool_take(inro__image_booted(&inro__ruby_guest), &slot, &err) != INRO_OK) {
        complain("reset: %s", err.message);
        return;
    }
    measure_resets(effort, slot);
    inro__pool_give(slot);
}
