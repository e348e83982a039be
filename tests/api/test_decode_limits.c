/* What a message may become on the host: a script can say one array many times, and each time costs the host,
 * not the guest. Refused is what needs more than 64 MiB of nodes, as an ending and not as a want of memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <sys/resource.h>

/* 16.7 million nils, in a few KiB of the guest's memory. */
#define MANY "[[nil] * 1000] * 16_700"

static int runs;

static inro_status note(void *user, inro_call *call) {
    (void)user, (void)call;
    runs++;
    return INRO_OK;
}

static inro_status yielded;

static inro_status yield_once(void *user, inro_call *call) {
    const inro_value *result = NULL;
    inro_error err = {0};
    (void)user;
    yielded = inro_call_yield(call, NULL, &result, &err);
    if (yielded == INRO_ERR_LIMIT)
        return inro_call_fail(call, INRO_CALL_RUNTIME, inro_str_from_c(err.message));
    return yielded == INRO_OK ? inro_call_answer(call, inro_value_copy(result)) : yielded;
}

static long peak_kib(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

TEST(a_result_of_many_parts_is_refused) {
    inro_sandbox *sandbox = new_sandbox();
    EVAL_VALUE(sandbox, "1", "1");
    long before = peak_kib();
    EVAL_FAILURE(sandbox, MANY, INRO_FAULT_SANDBOX, "RangeError", "the result has too many parts");
#ifndef API_SANITIZED
    CHECK(peak_kib() - before < 160 * 1024);
#endif
    EVAL_FAILURE(sandbox, "[{a: [nil] * 1000}] * 16_000", INRO_FAULT_SANDBOX, "RangeError", "too many parts");
    EVAL_VALUE(sandbox, "'it goes on'", "\"it goes on\"");
    (void)before;
    inro_sandbox_free(sandbox);
}

TEST(a_result_of_fewer_parts_is_given) {
    inro_sandbox *sandbox = new_sandbox();
    inro_outcome *outcome = eval(sandbox, "[[nil] * 1000] * 2_500");
    CHECK_INT(inro_outcome_ended(outcome), INRO_ENDED_VALUE);
    CHECK_INT(inro_value_length(inro_outcome_value(outcome)), 2500);
    CHECK_INT(inro_value_length(inro_value_array_at(inro_outcome_value(outcome), 2499)), 1000);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(arguments_of_many_parts_are_refused_and_the_script_goes_on) {
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "Note", note);
    runs = 0;
    EVAL_FAILURE(sandbox, "Note.call(" MANY ")", INRO_FAULT_SERVICE_ARGUMENT, "Inro::ServiceArgumentError",
                 "the arguments have too many parts");
    EVAL_FAILURE(sandbox, "Note.call(1, k: " MANY ")", INRO_FAULT_SERVICE_ARGUMENT,
                 "Inro::ServiceArgumentError", "the arguments have too many parts");
    CHECK_INT(runs, 0);
    EVAL_VALUE(sandbox, "begin; Note.call(" MANY "); rescue Inro::ServiceArgumentError; end; Note.call(1); 5",
               "5");
    CHECK_INT(runs, 1);
    inro_sandbox_free(sandbox);
}

TEST(a_blocks_value_of_many_parts_is_refused) {
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "Svc", yield_once);
    EVAL_FAILURE(sandbox, "Svc.call { " MANY " }", INRO_FAULT_SERVICE, "Inro::ServiceError",
                 "the block's value has too many parts");
    CHECK_INT(yielded, INRO_ERR_LIMIT);
    EVAL_VALUE(sandbox, "a = begin; Svc.call { " MANY " }; rescue => e; e.class.to_s; end; [a, Svc.call { 7 }]",
               "[\"Inro::ServiceError\", 7]");
    inro_sandbox_free(sandbox);
}

TEST(a_blocks_value_of_many_bytes_is_refused) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.memory_limit_bytes = 64u << 20;
    inro_sandbox *sandbox = new_sandbox_with(&options);
    bind(sandbox, "Svc", yield_once);
    EVAL_FAILURE(sandbox, "s = 'x' * 1_000_000; Svc.call { [s] * 17 }", INRO_FAULT_SERVICE,
                 "Inro::ServiceError", "the block's value is larger than 16 MiB");
    EVAL_VALUE(sandbox, "s = 'x' * 1_000_000; begin; Svc.call { [s] * 17 }; rescue => e; end; Svc.call { 7 }",
               "7");
    inro_sandbox_free(sandbox);
}
