/* The benchmark's parts: a task is one piece of work, a contender is who does it, a row is what came of both.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_H
#define BENCH_H

#include <inro/base.h>

/* One piece of work, described so that every contender can do it. */
struct task {
    const char *name;
    const char *unit;
    double per;            /* how many of the thing that is measured are in one call */
    const char *source;    /* evaluated; NULL: the entry point Noop is run */
    size_t source_repeats; /* the source is repeated so often, one line each; 0 counts as 1 */
    size_t snippets;       /* helper modules that are preloaded, besides Noop */
    unsigned contenders;   /* a set of enum contender_bit */
    bool services;         /* the services Bench::* are bound */
};

enum contender_bit {
    WITH_INRO = 1,
    WITH_NATIVE_FRESH = 2,
    WITH_NATIVE_WARM = 4,
    WITH_WASMTIME_BOOT = 8,
    WITH_WASMTIME_SNAPSHOT = 16,
    WITH_WASMTIME_WARM = 32,
};

/* Who does a task. `open` makes it ready (NULL: it cannot), `run` does it once and tells what came out. */
struct contender {
    const char *name;
    void *(*open)(const struct task *task, inro_str source);
    bool (*run)(void *self, uint64_t *digest);
    void (*close)(void *self);
};

extern const struct contender inro_contender;
extern const struct contender native_fresh_contender;
extern const struct contender native_warm_contender;
extern const struct contender wasmtime_boot_contender;
extern const struct contender wasmtime_snapshot_contender;
extern const struct contender wasmtime_warm_contender;

/* Loads wasmtime and compiles the guest. NULL when it is ready, else why it is not. Once, before inro is used:
 * the later fault handler is asked first, and that one is inro's. */
const char *wasmtime_prepare(const char *library, const char *guest);

/* ---- values, as numbers that are equal when the values are ---- */

uint64_t digest_nil(void);
uint64_t digest_int(int64_t number);
uint64_t digest_float(double number);
uint64_t digest_text(const void *bytes, size_t length);

/* ---- sources ---- */

/* The source of helper module number `number`; to be freed. */
char *snippet_source(size_t number);
char *snippet_name(size_t number);
#define NOOP_SOURCE "Noop = -> { nil }"
#define GREETING "hello, alice"

/* ---- measuring ---- */

struct samples {
    double *values;
    size_t count;
    size_t capacity;
};

/* How long and in how many interleaved rounds. */
struct effort {
    double seconds; /* per contender and task */
    unsigned rounds;
    bool quick;
    bool alone; /* inro without its peers: for a profiler */
};

uint64_t now_ns(void);
void samples_add(struct samples *samples, double value);
void samples_done(struct samples *samples);

/* Prints one line for bench/run: name, unit, contender, median, 99th percentile, count. Sorts the samples. */
void report(const char *name, const char *unit, const char *contender, struct samples *samples);

/* Says what is wrong, on stderr; the benchmark then ends with status 1. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether anything was complained about. */
bool has_complaints(void);

/* Runs every task of tasks.c whose name contains `only`. */
void measure_tasks(const struct effort *effort, const char *only);

/* What one call of a contender cannot show; each in a file of its name. */
void measure_lifecycle(const struct effort *effort);
void measure_processes(const struct effort *effort, const char *own_path);
void measure_threads(const struct effort *effort);
void measure_limits(const struct effort *effort);
void measure_memory(const struct effort *effort, const char *own_path);

/* The child of measure_memory: prints by how many bytes the process has grown. */
int run_idle_child(const char *kind);

#endif
