/* Samples, and the interleaved rounds in which contenders do the same task.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"
#include "tasks.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLES_MAX 100000u
#define CONTENDERS 6u

static bool complained;

void complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    complained = true;
}

bool has_complaints(void) {
    return complained;
}

uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- values ---- */

/* The length and bytes from all over the text: a digest of each byte would be what is measured. */
uint64_t digest_text(const void *bytes, size_t length) {
    const unsigned char *at = bytes;
    uint64_t digest = 14695981039346656037u; /* FNV-1a */
    size_t step = length / 64 + 1;
    for (size_t i = 0; i < length; i += step)
        digest = (digest ^ at[i]) * 1099511628211u;
    return digest ^ length;
}

uint64_t digest_nil(void) {
    return 1;
}

uint64_t digest_int(int64_t number) {
    return (uint64_t)number * 0x9e3779b97f4a7c15u + 2;
}

uint64_t digest_float(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits * 0x9e3779b97f4a7c15u + 3;
}

/* ---- samples ---- */

void samples_add(struct samples *samples, double value) {
    if (samples->count == samples->capacity) {
        size_t capacity = samples->capacity ? samples->capacity * 2 : 1024;
        double *values = realloc(samples->values, capacity * sizeof *values);
        if (!values)
            abort();
        samples->values = values;
        samples->capacity = capacity;
    }
    samples->values[samples->count++] = value;
}

void samples_done(struct samples *samples) {
    free(samples->values);
    *samples = (struct samples){0};
}

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void report(const char *name, const char *unit, const char *contender, struct samples *samples) {
    if (samples->count == 0)
        return;
    qsort(samples->values, samples->count, sizeof *samples->values, compare_doubles);
    double middle = samples->values[samples->count / 2];
    if (samples->count % 2 == 0)
        middle = (middle + samples->values[samples->count / 2 - 1]) / 2;
    size_t high = (size_t)ceil((double)samples->count * 0.99) - 1;
    printf("row\t%s\t%s\t%s\t%.6g\t%.6g\t%zu\n", name, unit, contender, middle, samples->values[high],
           samples->count);
    fflush(stdout);
}

/* ---- rounds ---- */

struct entrant {
    const struct contender *contender;
    void *self;
    uint64_t digest;
    struct samples samples;
};

static const struct {
    enum contender_bit bit;
    const struct contender *contender;
} all_contenders[CONTENDERS] = {
    {WITH_INRO, &inro_contender},
    {WITH_NATIVE_FRESH, &native_fresh_contender},
    {WITH_NATIVE_WARM, &native_warm_contender},
    {WITH_WASMTIME_BOOT, &wasmtime_boot_contender},
    {WITH_WASMTIME_SNAPSHOT, &wasmtime_snapshot_contender},
    {WITH_WASMTIME_WARM, &wasmtime_warm_contender},
};

/* Opens every contender that can do the task, and lets each do it twice: all must agree on the value. */
static size_t enter_all(const struct task *task, inro_str source, struct entrant *entrants, bool alone) {
    size_t count = 0;
    for (size_t i = 0; i < (alone ? 1 : CONTENDERS); i++) {
        if (!(task->contenders & all_contenders[i].bit))
            continue;
        struct entrant *entrant = &entrants[count];
        *entrant = (struct entrant){.contender = all_contenders[i].contender};
        entrant->self = entrant->contender->open(task, source);
        if (!entrant->self)
            continue; /* not on this machine; wasmtime_prepare has said why */
        count++;
        if (!entrant->contender->run(entrant->self, &entrant->digest) ||
            !entrant->contender->run(entrant->self, &entrant->digest))
            complain("%s: %s failed", task->name, entrant->contender->name);
        else if (entrant->digest != entrants[0].digest)
            complain("%s: %s and %s give different values", task->name, entrants[0].contender->name,
                     entrant->contender->name);
    }
    return count;
}

static double unit_ns(const char *unit) {
    return strcmp(unit, "ms") == 0 ? 1e6 : 1e3;
}

static void run_for(struct entrant *entrant, const struct task *task, double seconds) {
    uint64_t end = now_ns() + (uint64_t)(seconds * 1e9), before = now_ns();
    double scale = task->per * unit_ns(task->unit);
    do {
        uint64_t digest = 0;
        before = now_ns();
        bool done = entrant->contender->run(entrant->self, &digest);
        uint64_t after = now_ns();
        samples_add(&entrant->samples, (double)(after - before) / scale);
        if (!done || digest != entrant->digest) {
            complain("%s: %s gave another value than before", task->name, entrant->contender->name);
            return;
        }
        before = after;
    } while (before < end && entrant->samples.count < SAMPLES_MAX);
}

static void measure(const struct task *task, inro_str source, const struct effort *effort) {
    struct entrant entrants[CONTENDERS];
    size_t count = enter_all(task, source, entrants, effort->alone);
    for (unsigned round = 0; round < effort->rounds && !complained; round++)
        for (size_t i = 0; i < count; i++)
            run_for(&entrants[i], task, effort->seconds / effort->rounds);
    for (size_t i = 0; i < count; i++) {
        report(task->name, task->unit, entrants[i].contender->name, &entrants[i].samples);
        samples_done(&entrants[i].samples);
        entrants[i].contender->close(entrants[i].self);
    }
}

static inro_str repeat(const char *text, size_t times) {
    size_t length = strlen(text), step = length + 1;
    char *all = malloc(step * times + 1);
    if (!all)
        abort();
    for (size_t i = 0; i < times; i++) {
        memcpy(all + i * step, text, length);
        all[i * step + length] = '\n';
    }
    return (inro_str){all, times > 1 ? step * times : length};
}

void measure_tasks(const struct effort *effort, const char *only) {
    for (size_t i = 0; i < tasks_count; i++) {
        const struct task *task = &tasks[i];
        if (!strstr(task->name, only))
            continue;
        inro_str source = {NULL, 0};
        if (task->source)
            source = repeat(task->source, task->source_repeats ? task->source_repeats : 1);
        measure(task, source, effort);
        free((char *)(uintptr_t)source.data);
    }
}
