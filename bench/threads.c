/* Evaluations per second with one thread and with two, of inro and, as a measure of the machine, of native
 * mruby.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS_MAX 2u

struct crew {
    const struct contender *contender;
    uint64_t length_ns;
    pthread_barrier_t begin;
    _Atomic uint64_t done;
};

static void *work(void *user) {
    static const struct task task = {.name = "evals", .source = "nil"};
    struct crew *crew = user;
    void *self = crew->contender->open(&task, INRO_STR("nil"));
    uint64_t digest, done = 0;
    bool good = self && crew->contender->run(self, &digest);
    pthread_barrier_wait(&crew->begin);
    uint64_t end = now_ns() + crew->length_ns;
    while (good && now_ns() < end) {
        for (unsigned i = 0; i < 64 && good; i++, done++)
            good = crew->contender->run(self, &digest);
    }
    if (!good)
        complain("threads: %s failed", crew->contender->name);
    atomic_fetch_add(&crew->done, done);
    if (self)
        crew->contender->close(self);
    return NULL;
}

/* Evaluations per second of `threads` threads, each with a sandbox of its own. */
static double rate(const struct contender *contender, unsigned threads, double seconds) {
    struct crew crew = {.contender = contender, .length_ns = (uint64_t)(seconds * 1e9)};
    pthread_t ids[THREADS_MAX];
    unsigned started = 0;
    pthread_barrier_init(&crew.begin, NULL, threads + 1);
    while (started < threads && pthread_create(&ids[started], NULL, work, &crew) == 0)
        started++;
    if (started < threads) {
        complain("threads: cannot start %u", threads);
        return 0;
    }
    pthread_barrier_wait(&crew.begin); /* all are open */
    uint64_t before = now_ns();
    for (unsigned i = 0; i < started; i++)
        pthread_join(ids[i], NULL);
    double took = (double)(now_ns() - before) / 1e9;
    pthread_barrier_destroy(&crew.begin);
    return (double)atomic_load(&crew.done) / took;
}

void measure_threads(const struct effort *effort) {
    static const struct contender *const contenders[] = {&inro_contender, &native_warm_contender};
    enum { COUNT = sizeof contenders / sizeof *contenders };
    struct samples one[COUNT] = {0}, scaling[COUNT] = {0};
    unsigned rounds = effort->quick ? 1 : 9;
    double seconds = effort->quick ? 0.01 : 0.4;
    for (unsigned round = 0; round < rounds && !has_complaints(); round++)
        for (size_t i = 0; i < COUNT; i++) {
            double single = rate(contenders[i], 1, seconds), twice = rate(contenders[i], 2, seconds);
            samples_add(&one[i], single);
            samples_add(&scaling[i], single > 0 ? twice / single : 0);
        }
    for (size_t i = 0; i < COUNT; i++) {
        report("evals_per_s_core", "1/s", contenders[i]->name, &one[i]);
        report("scaling_2_threads", "x", contenders[i]->name, &scaling[i]);
        samples_done(&one[i]);
        samples_done(&scaling[i]);
    }
}
