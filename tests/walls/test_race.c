/* Many threads, few sandboxes, deadlines, forks, trims, sandboxes that come and go: also under ThreadSanitizer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"
#include "hostile.h"
#include "wasm/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS = 8,
    SANDBOXES = 3,
#ifdef API_SANITIZED
    ROUNDS = 120,
    TIMEOUT_MS = 300
#else
    ROUNDS = 1500,
    TIMEOUT_MS = 20
#endif
};

struct shared {
    inro_sandbox *sandboxes[SANDBOXES];
    _Atomic unsigned values, stops, failures, wrong;
    _Atomic bool over;
};

struct worker {
    struct shared *shared;
    unsigned number;
    pthread_t thread;
};

static void start_workers(struct worker *workers, struct shared *shared, void *(*run)(void *)) {
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.shared = shared, .number = i};
        CHECK_INT(pthread_create(&workers[i].thread, NULL, run, &workers[i]), 0);
    }
}

static void join_workers(struct worker *workers) {
    for (unsigned i = 0; i < THREADS; i++)
        CHECK_INT(pthread_join(workers[i].thread, NULL), 0);
}

static const struct {
    const char *source;
    bool endless;
} scripts[] = {
    {"($seen ||= []) << 1; $seen.size", false},
    {"class String; def size; 77; end; end; $a = 'x' * 3000; 1", false},
    {"loop { }", true},
    {"raise 'no' rescue 1", false},
    {"i = 0; loop { i += 1 }", true},
    {"Service.call(1) { |x| x }", false},
    {"loop { Service.call(1) }", true},
    {"'%p' % [[1, {a: 2}]]; 1", false},
};

static inro_status yield_back(void *user, inro_call *call) {
    const inro_value *result = NULL;
    (void)user;
    if (!inro_call_has_block(call))
        return INRO_OK;
    inro_status status = inro_call_yield(call, inro_call_args(call), &result, NULL);
    return status == INRO_OK ? inro_call_answer(call, inro_value_copy(result)) : status;
}

/* A short script may miss its deadline too, when the machine is busy; an endless one never gives a value. */
static void evaluate(struct shared *shared, inro_sandbox *sandbox, unsigned which) {
    inro_outcome *outcome = eval(sandbox, scripts[which].source);
    const inro_failure *failure = inro_outcome_failure(outcome);
    if (failure && failure->fault != INRO_FAULT_TIMEOUT)
        printf("%s: %.*s\n", scripts[which].source, (int)failure->message.length, failure->message.data);
    if (failure)
        atomic_fetch_add(failure->fault == INRO_FAULT_TIMEOUT ? &shared->stops : &shared->failures, 1);
    else if (scripts[which].endless || inro_value_get_int(inro_outcome_value(outcome)) != 1)
        atomic_fetch_add(&shared->wrong, 1);
    else
        atomic_fetch_add(&shared->values, 1);
    inro_outcome_free(outcome);
}

static inro_sandbox *sandbox_with(uint64_t timeout_us, bool snippets) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = timeout_us;
    inro_sandbox *sandbox = new_sandbox_with(&options);
    bind(sandbox, "Service", yield_back);
    if (snippets)
        preload(sandbox, "Large", "LARGE = 'x' * 400_000");
    return sandbox;
}

static void *evaluate_all(void *argument) {
    struct worker *worker = argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned which = (worker->number + i) % (sizeof scripts / sizeof *scripts);
        if (scripts[which].endless && i % 4)
            which = 0;
        evaluate(worker->shared, worker->shared->sandboxes[(worker->number + i / 3) % SANDBOXES], which);
    }
    return NULL;
}

TEST_SECONDS(threads_share_sandboxes, 120) {
    struct shared shared = {0};
    struct worker workers[THREADS];
    for (unsigned i = 0; i < SANDBOXES; i++) {
        shared.sandboxes[i] = sandbox_with(MILLISECONDS(TIMEOUT_MS + i), i == 1);
        EVAL_VALUE(shared.sandboxes[i], "1", "1"); /* sealed before the machine is busy */
    }
    start_workers(workers, &shared, evaluate_all);
    join_workers(workers);
    CHECK_INT(shared.wrong, 0);
    CHECK_INT(shared.failures, 0);
    CHECK(shared.values > 0 && shared.stops > 0);
    for (unsigned i = 0; i < SANDBOXES; i++)
        inro_sandbox_free(shared.sandboxes[i]);
    CHECK(hostile_check_pool() > 0);
}

/* Sandboxes with images of their own are made and freed while others take their slots over. */
static void *come_and_go(void *argument) {
    struct worker *worker = argument;
    for (unsigned i = 0; i < ROUNDS / 6; i++) {
        inro_sandbox *own = sandbox_with(MILLISECONDS(10000), (worker->number + i) % 2);
        evaluate(worker->shared, own, 0);
        evaluate(worker->shared, worker->shared->sandboxes[0], i % 2 ? 0 : 5);
        evaluate(worker->shared, own, 1);
        inro_sandbox_free(own);
        if (i % 16 == worker->number)
            inro_trim();
    }
    return NULL;
}

TEST_SECONDS(sandboxes_come_and_go, 120) {
    struct shared shared = {0};
    struct worker workers[THREADS];
    shared.sandboxes[0] = sandbox_with(MILLISECONDS(10000), false);
    start_workers(workers, &shared, come_and_go);
    join_workers(workers);
    CHECK_INT(shared.wrong, 0);
    CHECK_INT(shared.failures, 0);
    inro_sandbox_free(shared.sandboxes[0]);
    hostile_check_pool();
    inro_trim();
    CHECK_INT(hostile_check_pool(), 0);
}

/* Deadlines that nearly meet the end: many of them, with slots changing hands at once. */
static void *race_deadlines(void *argument) {
    struct worker *worker = argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct inro__slot *slot = hostile_begin();
        hostile_deadline(slot, (worker->number * 7 + i) % 60);
        enum inro__trap trap =
            hostile_enter(slot, i % 8 ? inro__hostile_export_scribble : inro__hostile_export_fault_again, 0,
                          HOSTILE_SIZE, NULL);
        atomic_fetch_add(trap == INRO__TRAP_NONE ? &worker->shared->values : &worker->shared->stops, 1);
        if (trap != INRO__TRAP_NONE && trap != INRO__TRAP_TIMEOUT)
            atomic_fetch_add(&worker->shared->wrong, 1);
        hostile_end(slot);
        slot = hostile_begin(); /* without a deadline: a signal that came late would end this one */
        trap = hostile_enter(slot, inro__hostile_export_scribble, 0, HOSTILE_SIZE, NULL);
        if (trap != INRO__TRAP_NONE)
            atomic_fetch_add(&worker->shared->wrong, 1);
        hostile_end(slot);
    }
    return NULL;
}

TEST_SECONDS(deadlines_race_with_the_end, 120) {
    struct shared shared = {0};
    struct worker workers[THREADS];
    start_workers(workers, &shared, race_deadlines);
    join_workers(workers);
    CHECK_INT(shared.wrong, 0);
    CHECK(shared.stops > 0);
    CHECK(hostile_check_pool() > 0);
}

/* Forks while all others are somewhere in the library: the child evaluates, with deadlines, and leaves. */
static void child(struct shared *shared) {
    evaluate(shared, shared->sandboxes[0], 0);
    evaluate(shared, shared->sandboxes[1], 5);
    if (shared->stops == 0)
        EVAL_FAILURE(shared->sandboxes[2], "loop { }", INRO_FAULT_TIMEOUT, NULL, "timeout");
    _exit(shared->wrong + shared->failures == 0 ? 0 : 1);
}

static void *evaluate_until_over(void *argument) {
    struct worker *worker = argument;
    while (!atomic_load(&worker->shared->over))
        evaluate(worker->shared, worker->shared->sandboxes[worker->number % 2], worker->number % 2 ? 5 : 0);
    return NULL;
}

TEST_SECONDS(forks_while_others_evaluate, 120) {
    struct shared shared = {0};
    struct worker workers[THREADS];
    for (unsigned i = 0; i < SANDBOXES; i++)
        shared.sandboxes[i] = sandbox_with(MILLISECONDS(i == 2 ? TIMEOUT_MS : 10000), i == 1);
    for (unsigned i = 0; i < SANDBOXES; i++)
        evaluate(&shared, shared.sandboxes[i], 0);
    start_workers(workers, &shared, evaluate_until_over);
    for (unsigned i = 0; i < (ROUNDS > 1000 ? 40 : 5); i++) {
        int status;
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            child(&shared);
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK_INT(status, 0);
    }
    atomic_store(&shared.over, true);
    join_workers(workers);
    CHECK_INT(shared.wrong, 0);
    for (unsigned i = 0; i < SANDBOXES; i++)
        inro_sandbox_free(shared.sandboxes[i]);
}
