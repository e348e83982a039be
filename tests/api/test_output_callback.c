/* The output callback: exactly the bytes that are captured, while the guest runs. Header: inro_output_fn.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

struct heard {
    char streams[2][4096];
    size_t lengths[2];
    int chunks;
    char order[256];
};

static void hear(void *user, int stream, inro_bytes chunk) {
    struct heard *heard = user;
    CHECK(stream == 1 || stream == 2);
    CHECK(chunk.length > 0);
    size_t *length = &heard->lengths[stream - 1];
    CHECK(*length + chunk.length < sizeof heard->streams[0]);
    memcpy(heard->streams[stream - 1] + *length, chunk.data, chunk.length);
    *length += chunk.length;
    if (heard->chunks < 255)
        heard->order[heard->chunks] = (char)('0' + stream);
    heard->chunks++;
}

static inro_outcome *eval_heard(inro_sandbox *sandbox, const char *source, struct heard *heard) {
    inro_invocation invocation = INRO_INVOCATION_INIT;
    memset(heard, 0, sizeof *heard);
    invocation.output = hear;
    invocation.output_user = heard;
    inro_outcome *outcome = eval_with(sandbox, source, &invocation);
    inro_bytes captured[] = {inro_outcome_stdout(outcome), inro_outcome_stderr(outcome)};
    for (int i = 0; i < 2; i++) {
        CHECK_INT(heard->lengths[i], captured[i].length);
        CHECK(captured[i].length == 0 || memcmp(heard->streams[i], captured[i].data, captured[i].length) == 0);
    }
    return outcome;
}

TEST(it_hears_what_is_captured_in_order) {
    struct heard heard;
    inro_sandbox *sandbox = new_sandbox();
    inro_outcome *outcome =
        eval_heard(sandbox, "print 'a'; warn 'b'; puts 'c'; $stderr.print 'd'; print \"\\0\\xff\"", &heard);
    CHECK_STR(inro_str_from_c(heard.order), "12121");
    CHECK_INT(heard.lengths[0], 5);
    inro_outcome_free(outcome);
    outcome = eval_heard(sandbox, "1", &heard);
    CHECK_INT(heard.chunks, 0);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(it_hears_no_more_than_the_limit) {
    struct heard heard;
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.stdout_limit_bytes = 7;
    options.stderr_limit_bytes = 2;
    inro_sandbox *sandbox = new_sandbox_with(&options);
    inro_outcome *outcome = eval_heard(sandbox, "100.times { print 'abc'; $stderr.print 'xyz' }", &heard);
    CHECK_INT(heard.lengths[0], 7);
    CHECK_INT(heard.lengths[1], 2);
    CHECK_INT(heard.chunks, 4);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(it_hears_before_the_end) {
    struct heard heard;
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(250);
    inro_sandbox *sandbox = new_sandbox_with(&options);
    inro_outcome *outcome = eval_heard(sandbox, "puts 'alive'; loop { }", &heard);
    CHECK_FAILURE(outcome, INRO_FAULT_TIMEOUT, NULL, "timeout");
    CHECK_STR(inro_str_from_c(heard.streams[0]), "alive\n");
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(it_hears_snippets_each_time) {
    struct heard heard;
    inro_sandbox *sandbox = new_sandbox();
    preload(sandbox, "One", "puts 'one'; warn 'two'");
    preload(sandbox, "Three", "puts 'three'");
    for (int i = 0; i < 3; i++) {
        inro_outcome *outcome = eval_heard(sandbox, "puts 'four'", &heard);
        CHECK_STR(inro_str_from_c(heard.streams[0]), "one\nthree\nfour\n");
        CHECK_STR(inro_str_from_c(heard.order), "1211");
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

static inro_status look(void *user, inro_call *call) {
    struct heard *heard = user;
    return inro_call_answer(call, inro_value_new_int((int64_t)heard->lengths[0]));
}

TEST(it_hears_before_a_service_that_comes_later) {
    struct heard heard;
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "Look", look, &heard);
    inro_outcome *outcome =
        eval_heard(sandbox, "a = Look.call; puts 'x'; b = Look.call; print 'yy'; [a, b, Look.call]", &heard);
    CHECK_VALUE(outcome, "[0, 2, 4]");
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(it_may_be_without_user_data_and_is_for_one_invocation) {
    struct heard heard;
    inro_sandbox *sandbox = new_sandbox();
    inro_outcome_free(eval_heard(sandbox, "puts 1", &heard));
    int before = heard.chunks;
    inro_outcome_free(eval(sandbox, "puts 1"));
    CHECK_INT(heard.chunks, before);
    inro_sandbox_free(sandbox);
}

/* A line is put together in the guest's buffer for messages if it fits there: nothing may be lost around its
 * end. */
TEST(lines_of_every_length_arrive_whole) {
    inro_sandbox *sandbox = new_sandbox();
    for (int length = 2040; length <= 2056; length++) {
        char script[64];
        snprintf(script, sizeof script, "puts 'x' * %d; [1, 'after']", length);
        inro_outcome *outcome = eval(sandbox, script);
        CHECK_VALUE(outcome, "[1, \"after\"]");
        inro_bytes out = inro_outcome_stdout(outcome);
        CHECK_INT(out.length, length + 1);
        for (int i = 0; i < length; i++)
            CHECK_INT(out.data[i], 'x');
        CHECK_INT(out.data[length], '\n');
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}
