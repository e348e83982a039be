/* The smallest program that evaluates: what a fresh process costs. Prints the nanoseconds from the begin of
 * main to the value; with an argument it does nothing. SPDX-License-Identifier: Apache-2.0 */
#include <inro/inro.h>

#include <stdio.h>
#include <time.h>

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(int argc, char **argv) {
    long long before = now_ns();
    inro_sandbox *sandbox;
    inro_outcome *outcome;
    inro_error err;
    (void)argv;
    if (argc > 1)
        return 0;
    if (inro_sandbox_new(NULL, &sandbox, &err) != INRO_OK ||
        inro_sandbox_eval(sandbox, INRO_STR("nil"), NULL, &outcome, &err) != INRO_OK)
        return 1;
    int status = inro_outcome_ended(outcome) == INRO_ENDED_VALUE ? 0 : 1;
    printf("%lld\n", now_ns() - before);
    return status;
}
