/* What a thousand idle sandboxes weigh. Measured in a process of its own, by its resident pages.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <inro/inro.h>
#include <mruby.h>
#include <mruby/compile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SANDBOXES 1000u
#define NATIVES 100u

static double resident_bytes(void) {
    unsigned long total, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%lu %lu", &total, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* ---- sandboxes ---- */

static inro_status noop(void *user, inro_call *call) {
    (void)user, (void)call;
    return INRO_OK;
}

static bool furnish(inro_sandbox *sandbox) {
    static const char *const paths[] = {"KV::Get", "KV::Put", "Clock", "Mail::Send"};
    inro_object *object = inro_object_new(noop, NULL, NULL);
    inro_error err;
    bool done = object != NULL;
    for (size_t i = 0; i < sizeof paths / sizeof *paths && done; i++)
        done = inro_sandbox_bind(sandbox, inro_str_from_c(paths[i]), object, &err) == INRO_OK;
    for (size_t i = 0; i < 2 && done; i++) {
        char *name = snippet_name(i), *source = snippet_source(i);
        done = inro_sandbox_preload(sandbox, inro_str_from_c(source), inro_str_from_c(name), &err) == INRO_OK;
        free(name);
        free(source);
    }
    inro_object_unref(object);
    return done;
}

static bool keep_sandbox(bool furnished) {
    inro_sandbox *sandbox; /* kept until the process ends: that is what is measured */
    inro_outcome *outcome;
    inro_error err;
    if (inro_sandbox_new(NULL, &sandbox, &err) != INRO_OK || (furnished && !furnish(sandbox)) ||
        inro_sandbox_eval(sandbox, INRO_STR("nil"), NULL, &outcome, &err) != INRO_OK)
        return false;
    bool done = inro_outcome_failure(outcome) == NULL;
    inro_outcome_free(outcome);
    return done;
}

static bool keep_plain(void) {
    return keep_sandbox(false);
}

static bool keep_furnished(void) {
    return keep_sandbox(true);
}

static bool keep_native(void) {
    mrb_state *mrb = mrb_open();
    return mrb && (mrb_load_string(mrb, "nil"), mrb->exc == NULL);
}

static const struct kind {
    const char *name;
    const char *row;
    const char *contender;
    unsigned count;
    bool (*keep)(void);
} kinds[] = {
    {"plain", "idle_1000_mb", "inro", SANDBOXES, keep_plain},
    {"native", "idle_1000_mb", "native mruby, warm", NATIVES, keep_native},
    {"furnished", "idle_1000_furnished_mb", "inro", SANDBOXES, keep_furnished},
};

int run_idle_child(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) != 0)
            continue;
        double before = resident_bytes();
        for (unsigned n = 0; n < kinds[i].count; n++)
            if (!kinds[i].keep())
                return 1;
        printf("%.0f\n", (resident_bytes() - before) * SANDBOXES / kinds[i].count);
        return 0;
    }
    return 2;
}

static double child_bytes(const char *own_path, const char *kind) {
    char command[4352];
    double bytes = -1;
    int length = snprintf(command, sizeof command, "'%s' --idle %s", own_path, kind);
    FILE *child = length > 0 && (size_t)length < sizeof command ? popen(command, "r") : NULL;
    if (child && fscanf(child, "%lf", &bytes) != 1)
        bytes = -1;
    if (child && pclose(child) != 0)
        bytes = -1;
    return bytes;
}

void measure_memory(const struct effort *effort, const char *own_path) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct samples samples = {0};
        for (unsigned turn = 0; turn < (effort->quick ? 1u : 5u); turn++) {
            double bytes = child_bytes(own_path, kinds[i].name);
            if (bytes < 0)
                complain("%s: the child failed", kinds[i].row);
            else
                samples_add(&samples, bytes / 1e6);
        }
        report(kinds[i].row, "MB", kinds[i].contender, &samples);
        samples_done(&samples);
    }
}
