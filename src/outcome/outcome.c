/* SPDX-License-Identifier: Apache-2.0 */
#include "outcome/outcome.h"

#include "base/alloc.h"
#include "policy/limits.h"
#include <inro/service.h>

static const struct fault_row {
    inro_ended ended;
    const char *class_name;
} faults[] = {
#define FAULT_ROW(name, number, ended, text) [number] = {INRO_ENDED_##ended, text},
    INRO_FAULT_MAP(FAULT_ROW)
#undef FAULT_ROW
};

static bool is_fault(inro_fault fault) {
    return (size_t)fault < sizeof faults / sizeof *faults;
}

const char *inro_fault_class(inro_fault fault) {
    return is_fault(fault) ? faults[fault].class_name : "";
}

inro_ended inro_fault_ended(inro_fault fault) {
    return is_fault(fault) ? faults[fault].ended : INRO_ENDED_TRAP;
}

inro_outcome *inro__outcome_new(void) {
    inro_outcome *outcome = inro__alloc_zero(sizeof *outcome);
    if (!outcome)
        return NULL;
    inro__buf_init(&outcome->message, INRO_MESSAGE_BYTES_MAX);
    inro__arena_init(&outcome->arena, INRO__DECODED_MAX);
    return outcome;
}

void inro_outcome_free(inro_outcome *outcome) {
    if (!outcome)
        return;
    for (size_t i = 0; i < outcome->objects_count; i++)
        inro_object_unref(outcome->objects[i]);
    inro__free(outcome->objects, outcome->objects_count * sizeof(inro_object *));
    inro__buf_done(&outcome->captures[0].bytes);
    inro__buf_done(&outcome->captures[1].bytes);
    inro__buf_done(&outcome->message);
    inro__arena_done(&outcome->arena);
    inro__free(outcome, sizeof *outcome);
}

void inro__outcome_fail(inro_outcome *outcome, inro_fault fault, inro_str origin, inro_str class_name,
                        inro_str message) {
    outcome->ended = inro_fault_ended(fault);
    outcome->failure =
        (inro_failure){.fault = fault, .origin = origin, .class_name = class_name, .message = message};
}

inro_ended inro_outcome_ended(const inro_outcome *outcome) {
    return outcome->ended;
}

const inro_value *inro_outcome_value(const inro_outcome *outcome) {
    return outcome->ended == INRO_ENDED_VALUE ? &outcome->value : NULL;
}

const inro_failure *inro_outcome_failure(const inro_outcome *outcome) {
    return outcome->ended == INRO_ENDED_VALUE ? NULL : &outcome->failure;
}

static inro_bytes captured(const struct inro__capture *capture) {
    static const uint8_t nothing[1];
    return capture->bytes.length ? (inro_bytes){capture->bytes.data, capture->bytes.length}
                                 : (inro_bytes){nothing, 0};
}

inro_bytes inro_outcome_stdout(const inro_outcome *outcome) {
    return captured(&outcome->captures[0]);
}

inro_bytes inro_outcome_stderr(const inro_outcome *outcome) {
    return captured(&outcome->captures[1]);
}

bool inro_outcome_is_stdout_truncated(const inro_outcome *outcome) {
    return outcome->captures[0].truncated;
}

bool inro_outcome_is_stderr_truncated(const inro_outcome *outcome) {
    return outcome->captures[1].truncated;
}

const inro_usage *inro_outcome_usage(const inro_outcome *outcome) {
    return &outcome->usage;
}
