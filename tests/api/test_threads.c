/* Threads: a sandbox shared by many, one for each, nested in each. Issue 2 "Any number of threads"; spec b.29.
 * ThreadSanitizer runs this.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <pthread.h>
#include <stdatomic.h>

#ifdef API_SANITIZED
enum { ROUNDS = 40, THREADS = 4 };
#else
enum { ROUNDS = 1000, THREADS = 8 };
#endif

struct job {
    inro_sandbox *sandbox;
    int number;
    atomic_int *calls;
};

static void run_threads(void *(*body)(void *), inro_sandbox *sandbox, atomic_int *calls) {
    pthread_t threads[THREADS];
    struct job jobs[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){sandbox, i, calls};
        CHECK_INT(pthread_create(&threads[i], NULL, body, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static inro_status add_call(void *user, inro_call *call) {
    atomic_fetch_add((atomic_int *)user, 1);
    return inro_call_answer(call, inro_value_copy(inro_value_array_at(inro_call_args(call), 0)));
}

static void *share(void *argument) {
    const struct job *job = argument;
    char source[256], expected[64];
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(source, sizeof source,
                 "$mine = %d; puts $mine; LIST << Add.call($mine); [LIST, $mine, Add.call(%d)]", job->number,
                 i);
        snprintf(expected, sizeof expected, "[[:base, %d], %d, %d]", job->number, job->number, i);
        inro_outcome *outcome = eval(job->sandbox, source);
        CHECK_VALUE(outcome, expected);
        CHECK(inro_outcome_usage(outcome)->service_calls >= 2); /* a snippet may call, too */
        snprintf(expected, sizeof expected, "%d\n", job->number);
        CHECK_STR(inro_outcome_stdout(outcome), expected);
        inro_outcome_free(outcome);
    }
    return NULL;
}

TEST_SECONDS(many_threads_share_one_sandbox, 120) {
    atomic_int calls = 0;
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "Add", add_call, &calls);
    preload(sandbox, "List", "LIST = [:base]");
    run_threads(share, sandbox, &calls);
    CHECK_INT(calls, 2 * ROUNDS * THREADS);
    inro_sandbox_free(sandbox);
}

static void *own(void *argument) {
    const struct job *job = argument;
    char source[64];
    for (int i = 0; i < ROUNDS / 10; i++) {
        inro_sandbox *sandbox = new_sandbox();
        bind_user(sandbox, "Add", add_call, job->calls);
        snprintf(source, sizeof source, "Number = %d", job->number);
        preload(sandbox, "Number", source);
        inro_outcome *outcome = eval(sandbox, "Add.call(Number)");
        CHECK_INT(inro_value_get_int(inro_outcome_value(outcome)), job->number);
        inro_outcome_free(outcome);
        inro_sandbox_free(sandbox);
    }
    return NULL;
}

TEST_SECONDS(each_thread_has_sandboxes_of_its_own, 120) {
    atomic_int calls = 0;
    run_threads(own, NULL, &calls);
    CHECK_INT(calls, ROUNDS / 10 * THREADS);
}

/* All at the same first invocation: it is sealed once. */
TEST(the_first_invocation_may_come_from_all_at_once) {
    for (int i = 0; i < 10; i++) {
        atomic_int calls = 0;
        inro_sandbox *sandbox = new_sandbox();
        bind_user(sandbox, "Add", add_call, &calls);
        preload(sandbox, "List", "LIST = [:base]");
        preload(sandbox, "Calls", "Add.call(1); Other = 5");
        run_threads(share, sandbox, &calls);
        CHECK_INT(calls, 3 * ROUNDS * THREADS);
        inro_sandbox_free(sandbox);
        if (ROUNDS > 100 && i == 1)
            break;
    }
}

static void *bind_many(void *argument) {
    const struct job *job = argument;
    inro_error err;
    char path[32];
    for (int i = 0; i < 20; i++) {
        snprintf(path, sizeof path, "Space%d::Name%d", job->number, i);
        inro_status status = inro_sandbox_bind(job->sandbox, inro_str_from_c(path), NULL, &err);
        CHECK(status == INRO_OK || status == INRO_ERR_SEALED);
        snprintf(path, sizeof path, "Snippet%d_%d", job->number, i);
        status = inro_sandbox_preload(job->sandbox, INRO_STR("1"), inro_str_from_c(path), &err);
        CHECK(status == INRO_OK || status == INRO_ERR_SEALED);
        if (i == 10 && job->number == 0)
            inro_outcome_free(eval(job->sandbox, "1"));
    }
    return NULL;
}

TEST(binding_from_many_threads) {
    inro_sandbox *sandbox = new_sandbox();
    run_threads(bind_many, sandbox, NULL);
    EVAL_VALUE(sandbox, "1", "1");
    inro_sandbox_free(sandbox);
}

static void *every_ending(void *argument) {
    const struct job *job = argument;
    static const struct {
        const char *source;
        inro_fault fault;
    } rows[] = {{"1", INRO_FAULT_NONE},
                {"raise 'x'", INRO_FAULT_SANDBOX},
                {"'x' * 3_000_000", INRO_FAULT_MEMORY_LIMIT},
                {"def f; f; end; f", INRO_FAULT_SANDBOX},
                {"Missing::Thing", INRO_FAULT_SANDBOX}};
    for (int i = 0; i < ROUNDS / 20; i++) {
        size_t row = (size_t)(i + job->number) % (sizeof rows / sizeof *rows);
        inro_outcome *outcome = eval(job->sandbox, rows[row].source);
        const inro_failure *failure = inro_outcome_failure(outcome);
        CHECK_INT(failure ? failure->fault : INRO_FAULT_NONE, rows[row].fault);
        inro_outcome_free(outcome);
        if (i % 7 == 0)
            inro_trim();
    }
    return NULL;
}

static void *time_out(void *argument) {
    for (int i = 0; i < 5; i++)
        EVAL_FAILURE(((struct job *)argument)->sandbox, "loop { }", INRO_FAULT_TIMEOUT, NULL, "timeout");
    return NULL;
}

TEST_SECONDS(all_endings_on_many_threads, 120) {
    inro_sandbox *sandbox = new_sandbox();
    run_threads(every_ending, sandbox, NULL);
    inro_sandbox_free(sandbox);
}

TEST_SECONDS(deadlines_on_many_threads, 120) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(30);
    inro_sandbox *sandbox = new_sandbox_with(&options);
    run_threads(time_out, sandbox, NULL);
    inro_sandbox_free(sandbox);
}

static inro_status eval_inside(void *user, inro_call *call) {
    inro_outcome *outcome = eval(*(inro_sandbox **)user, "'in' + 'side'");
    inro_value *answer = inro_value_copy(inro_outcome_value(outcome));
    inro_outcome_free(outcome);
    return inro_call_answer(call, answer);
}

static void *nest(void *argument) {
    const struct job *job = argument;
    for (int i = 0; i < ROUNDS / 4; i++)
        EVAL_VALUE(job->sandbox, "[1, Inside.call, 2, Inside.call]", "[1, \"inside\", 2, \"inside\"]");
    return NULL;
}

TEST_SECONDS(nested_on_many_threads, 120) {
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "Inside", eval_inside, &sandbox);
    run_threads(nest, sandbox, NULL);
    inro_sandbox_free(sandbox);
}

/* An outcome made on one thread, read and freed on another; an object that two threads hold. */
static void *make_outcome(void *argument) {
    return eval(((struct job *)argument)->sandbox, "[1, Make.call, 'text' * 10]");
}

static inro_status make_object(void *user, inro_call *call) {
    return inro_call_answer(call, inro_value_new_object(user));
}

TEST(outcomes_change_threads) {
    int released = 0;
    inro_object *object = inro_object_new(count, &released, count_release);
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "Make", make_object, object);
    struct job job = {sandbox, 0, NULL};
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *outcome = NULL;
        CHECK_INT(pthread_create(&thread, NULL, make_outcome, &job), 0);
        pthread_join(thread, &outcome);
        CHECK(inro_value_get_object(inro_value_array_at(inro_outcome_value(outcome), 1)) == object);
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
    CHECK_INT(released, 0);
    inro_object_unref(object);
    CHECK_INT(released, 1);
}

static void *hold(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        inro_object_ref(argument);
        inro_object_unref(argument);
    }
    inro_object_unref(argument);
    return NULL;
}

TEST(references_are_counted_on_many_threads) {
    int released = 0;
    inro_object *object = inro_object_new(count, &released, count_release);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, hold, inro_object_ref(object)), 0);
    inro_object_unref(object);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(released, 1);
}

/* Threads come and go: what the library keeps for a thread goes with it. */
static void *short_life(void *argument) {
    EVAL_VALUE(((struct job *)argument)->sandbox, "1 + 1", "2");
    return NULL;
}

TEST_SECONDS(threads_come_and_go, 120) {
    inro_sandbox *sandbox = new_sandbox();
    for (int i = 0; i < ROUNDS / 8; i++)
        run_threads(short_life, sandbox, NULL);
    inro_sandbox_free(sandbox);
}

/* A thread with the smallest stack there may be: services and the library fit on it. */
TEST(a_small_stack_is_enough) {
    inro_sandbox *sandbox = new_sandbox();
    struct job job = {sandbox, 0, NULL};
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    CHECK_INT(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
    CHECK_INT(pthread_create(&thread, &attributes, short_life, &job), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    inro_sandbox_free(sandbox);
}
