/* The quick start: a script nobody vouches for, two services, and everything that comes back.
 *
 *     build/examples/quickstart examples/quickstart.rb
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inro/inro.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inro_error error;

/* A status that is not INRO_OK is the library's own failure; a script's failure is an outcome. */
static void must(inro_status status) {
    if (status != INRO_OK) {
        fprintf(stderr, "quickstart: %s: %s\n", inro_status_text(status), error.message);
        exit(1);
    }
}

/* What a script chose may contain control characters; whoever shows it to people takes them out. */
static void show(const char *label, const void *text, size_t length) {
    const char *byte = text;
    for (size_t i = 0; i < length; i++) {
        if (i == 0 || byte[i - 1] == '\n')
            printf("  %-8s ", label);
        putchar(byte[i] == '\n' || (unsigned char)byte[i] >= ' ' ? byte[i] : '?');
    }
    if (length > 0 && byte[length - 1] != '\n')
        putchar('\n');
}

static void show_value(const char *label, const inro_value *value) {
    char *text;
    must(inro_value_inspect(value, &text, NULL, &error));
    show(label, text, strlen(text));
    inro_text_free(text);
}

/* ---- KV::Lookup.call(key): a table of this program. The script chose the arguments, so check them. ---- */

static const struct price {
    const char *item;
    int64_t cents;
} prices[] = {{"tea", 350}, {"coffee", 420}, {"cake", 500}};

static inro_status lookup(void *user, inro_call *call) {
    const inro_value *args = inro_call_args(call);
    inro_str key = inro_value_get_text(inro_value_array_at(args, 0));
    (void)user; /* what inro_object_new was given */
    if (inro_value_length(args) != 1 || !key.data)
        return inro_call_fail(call, INRO_CALL_ARGUMENT, INRO_STR("one text is needed"));
    for (size_t i = 0; i < sizeof prices / sizeof *prices; i++)
        if (strlen(prices[i].item) == key.length && memcmp(prices[i].item, key.data, key.length) == 0)
            return inro_call_answer(call, inro_value_new_int(prices[i].cents));
    return inro_call_fail(call, INRO_CALL_RUNTIME, INRO_STR("no such item"));
}

/* ---- Log::Sink.write(...): prints. Any method name arrives here; we accept one. ---- */

static inro_status log_line(void *user, inro_call *call) {
    inro_str method = inro_call_method(call);
    (void)user;
    if (method.length != strlen("write") || memcmp(method.data, "write", method.length) != 0)
        return inro_call_fail(call, INRO_CALL_UNDEFINED, INRO_STR("Log::Sink has one method, write"));
    show_value("log", inro_call_args(call));
    return INRO_OK; /* no answer set: the script gets nil */
}

static void bind_service(inro_sandbox *sandbox, inro_str path, inro_service_fn service) {
    inro_object *object = inro_object_new(service, NULL, NULL);
    must(object ? inro_sandbox_bind(sandbox, path, object, &error) : INRO_ERR_MEMORY);
    inro_object_unref(object); /* the sandbox has a reference of its own */
}

/* A trap (timeout, memory limit, fault) has no class of the script's and no lines. */
static void show_failure(const inro_failure *failure) {
    printf("  failed   %s\n", inro_fault_class(failure->fault));
    show("class", failure->class_name.data, failure->class_name.length);
    show("message", failure->message.data, failure->message.length);
    if (failure->backtrace_count > 0)
        show("at", failure->backtrace[0].data, failure->backtrace[0].length);
}

static void evaluate(inro_sandbox *sandbox, const char *title, const char *source) {
    inro_outcome *outcome;
    puts(title);
    must(inro_sandbox_eval(sandbox, inro_str_from_c(source), NULL, &outcome, &error));
    inro_bytes printed = inro_outcome_stdout(outcome);
    show("stdout", printed.data, printed.length);
    if (inro_outcome_failure(outcome))
        show_failure(inro_outcome_failure(outcome));
    else
        show_value("value", inro_outcome_value(outcome));
    const inro_usage *use = inro_outcome_usage(outcome);
    printf("  usage    %.0f us, %d service calls\n\n", (double)use->wall_ns / 1000, (int)use->service_calls);
    inro_outcome_free(outcome);
}

int main(int argc, char **argv) {
    static char source[64 * 1024];
    if (argc != 2 || !freopen(argv[1], "r", stdin) || fread(source, 1, sizeof source - 1, stdin) == 0)
        return fputs("usage: quickstart SCRIPT.rb\n", stderr), 2;

    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = 200000; /* a fifth of a second; what is left 0 has its default */
    inro_sandbox *sandbox;
    must(inro_sandbox_new(&options, &sandbox, &error));
    bind_service(sandbox, INRO_STR("KV::Lookup"), lookup);
    bind_service(sandbox, INRO_STR("Log::Sink"), log_line);
    evaluate(sandbox, "the script", source);
    evaluate(sandbox, "the same again: nothing of the first run is left", source);
    evaluate(sandbox, "a script that fails", "total = 1\ntotal.double");
    evaluate(sandbox, "a service that fails", "KV::Lookup.call('gold')");
    evaluate(sandbox, "a script that does not end", "begin; loop {}; rescue Exception; retry; end");
    evaluate(sandbox, "and the sandbox goes on working", "KV::Lookup.call('tea') * 2");
    inro_sandbox_free(sandbox);
}
