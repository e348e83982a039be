/* Nothing grows: a million evaluations, a hundred thousand lifetimes, with memory, mappings and descriptors
 * flat. Issue 2 "What must be shown".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <dirent.h>
#include <unistd.h>

#ifdef API_SANITIZED
enum { SCALE = 20 };
#else
enum { SCALE = 1 };
#endif
enum { EVALS = 1000000 / SCALE, LIFETIMES = 100000 / SCALE };

struct footprint {
    long resident_pages;
    long mappings;
    long descriptors;
};

static struct footprint measure(void) {
    struct footprint now = {0, 0, 0};
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%*d %ld", &now.resident_pages) == 1);
    fclose(file);
    file = fopen("/proc/self/maps", "r");
    CHECK(file != NULL);
    for (int c = fgetc(file); c != EOF; c = fgetc(file))
        now.mappings += c == '\n';
    fclose(file);
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        now.descriptors++;
    closedir(folder);
    return now;
}

/* A sanitizer's own bookkeeping may take some memory; a leak of even one byte per round takes more than a MiB.
 */
static void check_flat(struct footprint before) {
    struct footprint after = measure();
    printf("resident %ld -> %ld pages, %ld -> %ld mappings, %ld -> %ld descriptors\n", before.resident_pages,
           after.resident_pages, before.mappings, after.mappings, before.descriptors, after.descriptors);
    CHECK_INT(after.descriptors, before.descriptors);
#ifndef API_SANITIZED
    CHECK(after.mappings <= before.mappings + 2);
    CHECK(after.resident_pages <= before.resident_pages + 256); /* 1 MiB */
#endif
}

TEST_SECONDS(a_million_evaluations, 600) {
    int calls = 0;
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "Count", count, &calls);
    preload(sandbox, "List", "LIST = [1, 2, 3]");
    struct footprint before = {0, 0, 0};
    for (int i = 0; i < EVALS; i++) {
        if (i == EVALS / 10)
            before = measure();
        inro_outcome *outcome = eval(
            sandbox, i % 10 ? "1 + 1" : "Count.call('x' * 100); puts LIST; $x = LIST.map { |v| v.to_s * 10 }");
        CHECK(inro_outcome_ended(outcome) == INRO_ENDED_VALUE);
        inro_outcome_free(outcome);
    }
    check_flat(before);
    CHECK_INT(calls, EVALS / 10);
    inro_sandbox_free(sandbox);
}

TEST_SECONDS(a_hundred_thousand_lifetimes, 600) {
    int calls = 0, released = 0;
    struct footprint before = {0, 0, 0};
    for (int i = 0; i < LIFETIMES; i++) {
        if (i == LIFETIMES / 10)
            before = measure();
        inro_sandbox *sandbox = new_sandbox();
        inro_object *object = inro_object_new(count, i % 2 ? &calls : &released, i % 2 ? NULL : count_release);
        inro_error err;
        CHECK_INT(inro_sandbox_bind(sandbox, INRO_STR("Ns::Count"), object, &err), INRO_OK);
        inro_object_unref(object);
        if (i % 4 == 0)
            preload(sandbox, "Value", "VALUE = [1, 2, 3]; puts 'x'");
        inro_outcome_free(eval(sandbox, i % 3 ? "1" : "Ns::Count.call"));
        inro_sandbox_free(sandbox);
    }
    check_flat(before);
}

TEST_SECONDS(many_traps, 600) {
    struct footprint before = {0, 0, 0};
    inro_sandbox *sandbox = new_sandbox();
    const int rounds = 20000 / SCALE;
    for (int i = 0; i < rounds; i++) {
        if (i == rounds / 10)
            before = measure();
        EVAL_FAILURE(sandbox, "'x' * 3_000_000", INRO_FAULT_MEMORY_LIMIT, NULL, "memory_limit");
        EVAL_FAILURE(sandbox, "raise 'x'", INRO_FAULT_SANDBOX, "RuntimeError", "x");
    }
    check_flat(before);
    inro_sandbox_free(sandbox);
}

static inro_status fresh_object(void *user, inro_call *call) {
    inro_object *object = inro_object_new(count, user, NULL);
    inro_status status = inro_call_answer(call, inro_value_new_object(object));
    inro_object_unref(object);
    return status;
}

static inro_status yield_once(void *user, inro_call *call) {
    const inro_value *result = NULL;
    inro_error err;
    (void)user;
    inro_status status = inro_call_yield(call, inro_call_args(call), &result, &err);
    return status == INRO_OK ? inro_call_answer(call, inro_value_copy(result)) : status;
}

TEST_SECONDS(many_handles_and_yields, 600) {
    int calls = 0;
    struct footprint before = {0, 0, 0};
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "Make", fresh_object, &calls);
    bind(sandbox, "Yield", yield_once);
    const int rounds = 50000 / SCALE;
    for (int i = 0; i < rounds; i++) {
        if (i == rounds / 10)
            before = measure();
        static const char *const sources[] = {
            "h = Make.call; h.call; [h, h]", "Yield.call(Make.call) { |h| h }",
            "Yield.call(1) { |x| raise x.to_s }", "Yield.call(1) { |x| break x }"};
        inro_outcome_free(eval(sandbox, sources[i % 4]));
    }
    check_flat(before);
    inro_sandbox_free(sandbox);
}

/* An idle sandbox holds no slot: a thousand of them cost little (ARCHITECTURE section 7 has the number). */
TEST(a_thousand_idle_sandboxes) {
    static inro_sandbox *sandboxes[1000];
    inro_outcome_free(eval(sandboxes[0] = new_sandbox(), "1"));
    inro_sandbox_free(sandboxes[0]);
    struct footprint before = measure();
    for (int i = 0; i < 1000; i++) {
        sandboxes[i] = new_sandbox();
        EVAL_VALUE(sandboxes[i], "1", "1");
    }
    struct footprint after = measure();
    CHECK_INT(after.descriptors, before.descriptors);
#ifndef API_SANITIZED
    CHECK(after.mappings <= before.mappings + 64);
    CHECK(after.resident_pages - before.resident_pages < 4096);
#endif
    for (int i = 0; i < 1000; i++)
        inro_sandbox_free(sandboxes[i]);
}
