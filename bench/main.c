/* The benchmark's program. It prints what it measured, one line each, for bench/run to make sense of.
 *
 *     bench [--quick] [--alone] [--only PART] [--wasmtime LIBRARY] [--guest FILE]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <stdio.h>
#include <string.h>

struct request {
    struct effort effort;
    const char *only;
    const char *library;
    const char *guest;
    const char *idle; /* set in the child that measures memory */
};

static bool take_option(struct request *request, const char *name, const char *value) {
    const struct {
        const char *name;
        const char **place;
    } options[] = {{"--only", &request->only},
                   {"--wasmtime", &request->library},
                   {"--guest", &request->guest},
                   {"--idle", &request->idle}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (value && strcmp(name, options[i].name) == 0) {
            *options[i].place = value;
            return true;
        }
    return false;
}

static bool read_arguments(struct request *request, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            request->effort =
                (struct effort){.seconds = 0.004, .rounds = 2, .quick = true, .alone = request->effort.alone};
        else if (strcmp(argv[i], "--alone") == 0)
            request->effort.alone = true;
        else if (take_option(request, argv[i], argv[i + 1]))
            i++;
        else
            return false;
    }
    return true;
}

static void prepare_wasmtime(const struct request *request) {
    const char *problem = "no library was given";
    if (request->library && request->guest)
        problem = wasmtime_prepare(request->library, request->guest);
    if (problem)
        printf("skip\twasmtime\t%s\n", problem);
}

int main(int argc, char **argv) {
    struct request request = {.effort = {.seconds = 0.8, .rounds = 16}, .only = ""};
    if (!read_arguments(&request, argc, argv)) {
        fputs("usage: bench [--quick] [--alone] [--only PART] [--wasmtime LIBRARY] [--guest FILE]\n", stderr);
        return 2;
    }
    if (request.idle)
        return run_idle_child(request.idle);
    prepare_wasmtime(&request);
    measure_tasks(&request.effort, request.only);
    if (request.only[0] == '\0') {
        measure_lifecycle(&request.effort);
        measure_limits(&request.effort);
        measure_processes(&request.effort, argv[0]);
        measure_memory(&request.effort, argv[0]);
        measure_threads(&request.effort);
    }
    return has_complaints() ? 1 : 0;
}
