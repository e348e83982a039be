/* A program in C99 that uses the library the way its users do: public headers, the shared object, no harness.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inro/inro.h>

#include <stdio.h>
#include <string.h>

static int failures;

static void check(int condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "consumer_c99: not so: %s\n", what);
    failures++;
}

/* The compound literals of the headers must be good C99 at block scope. */
static void use_initialisers(void) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    inro_invocation invocation = INRO_INVOCATION_INIT;
    inro_str name = INRO_STR("KV::Lookup");
    check(options.size == sizeof options && options.timeout_us == 0, "options start empty");
    check(invocation.size == sizeof invocation && invocation.bindings == NULL, "an invocation starts empty");
    check(name.length == 10, "a literal knows its length");
    check(sizeof(inro_error) == 256, "an error is 256 bytes");
}

static void use_values(void) {
    inro_value *array = inro_value_new_array();
    check(inro_value_array_push(array, inro_value_new_int(7)) == INRO_OK, "an array takes an integer");
    check(inro_value_length(array) == 1, "the array has one item");
    check(inro_value_get_int(inro_value_array_at(array, 0)) == 7, "the item is 7");
    inro_value_free(array);
}

static void use_sandbox(void) {
    inro_error error;
    inro_sandbox *sandbox = NULL;
    inro_outcome *outcome = NULL;
    check(inro_sandbox_new(NULL, &sandbox, &error) == INRO_OK, "a sandbox with defaults can be made");
    check(inro_sandbox_eval(sandbox, INRO_STR("6 * 7"), NULL, &outcome, &error) == INRO_OK, "a script runs");
    check(inro_value_get_int(inro_outcome_value(outcome)) == 42, "6 * 7 is 42");
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

int main(void) {
    check(strcmp(inro_version(), INRO_VERSION) == 0, "header and library have one version");
    use_initialisers();
    use_values();
    use_sandbox();
    return failures != 0;
}
