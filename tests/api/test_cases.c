/* Runs the cases of tests/cases/: one file for each subject, each case a program and how it must end.
 *
 *     == what it shows
 *     puts "a"
 *     1 + 1
 *     | a
 *     => 2
 *
 * The lines behind the title are the program; these say what it must do, and the next line after them begins
 * another program under the same title (blank lines and comments between are skipped):
 *
 *     => VALUE                 it gives this value, as inspect writes it
 *     !! Class: message        it fails so (sandbox); "!! Class ~ part" needs only a part of the message
 *     !!service Class: message the same for an error of a service, !!trap TimeoutError: message for a trap
 *     | text                   a line of standard output; "|- text" is one without its line end
 *     2| text                  a line of standard error
 *     @ line                   the next backtrace line, innermost first
 *
 * Output that is not written down must be empty. Every case runs twice in the one sandbox and must end alike.
 * Services: Host::Echo, Host::See, Host::Fail, Host::Each, Host::Make, Host::Reserved (see below).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <dirent.h>
#include <stddef.h>

#define FIELD_MAX 65536

struct text {
    char data[FIELD_MAX];
    size_t length;
};

struct test_text_case {
    char title[256];
    int line;
    struct text program, value, failure, out, err, backtrace;
    bool has_value, has_failure, has_backtrace;
};

/* ---- services ---- */

/* {method, args, kwargs, block}, as they arrived. */
static inro_status see(void *user, inro_call *call) {
    (void)user;
    inro_value *seen = inro_value_new_map();
    put(seen, symbol_value("method"), inro_value_new_text(inro_call_method(call)));
    put(seen, symbol_value("args"), inro_value_copy(inro_call_args(call)));
    put(seen, symbol_value("kwargs"), inro_value_copy(inro_call_kwargs(call)));
    put(seen, symbol_value("block"), inro_value_new_bool(inro_call_has_block(call)));
    return inro_call_answer(call, seen);
}

/* Fails with the fault's number and the message that it is given. */
static inro_status fail_as_told(void *user, inro_call *call) {
    (void)user;
    const inro_value *args = inro_call_args(call);
    return inro_call_fail(call, (inro_call_fault)inro_value_get_int(inro_value_array_at(args, 0)),
                          inro_value_get_text(inro_value_array_at(args, 1)));
}

/* Yields its arguments one by one and answers what the block gave. */
static inro_status each(void *user, inro_call *call) {
    (void)user;
    inro_value *results = inro_value_new_array();
    const inro_value *args = inro_call_args(call);
    inro_status status = INRO_OK;
    for (size_t i = 0; i < inro_value_length(args) && status == INRO_OK; i++) {
        inro_value *yielded = inro_value_new_array();
        const inro_value *result = NULL;
        inro_error err;
        push(yielded, inro_value_copy(inro_value_array_at(args, i)));
        status = inro_call_yield(call, yielded, &result, &err);
        if (status == INRO_OK)
            push(results, inro_value_copy(result));
        inro_value_free(yielded);
    }
    if (status == INRO_OK)
        return inro_call_answer(call, results);
    inro_value_free(results);
    return status;
}

static void free_name(void *name) {
    inro_value_free(name);
}

/* A handle whose "name" is the argument, whose "again" is another such handle; everything else is unknown. */
static inro_status named(void *user, inro_call *call) {
    inro_str method = inro_call_method(call);
    if (method.length == 4 && memcmp(method.data, "name", 4) == 0)
        return inro_call_answer(call, inro_value_copy(user));
    if (method.length != 5 || memcmp(method.data, "again", 5) != 0)
        return inro_call_fail(call, INRO_CALL_UNDEFINED, INRO_STR("no such method"));
    inro_object *object = inro_object_new(named, inro_value_copy(user), free_name);
    inro_status status = inro_call_answer(call, inro_value_new_object(object));
    inro_object_unref(object);
    return status;
}

static inro_status make(void *user, inro_call *call) {
    (void)user;
    const inro_value *name = inro_value_array_at(inro_call_args(call), 0);
    inro_object *object = inro_object_new(named, inro_value_copy(name), free_name);
    inro_status status = inro_call_answer(call, inro_value_new_object(object));
    inro_object_unref(object);
    return status;
}

static inro_sandbox *sandbox_for_cases(void) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(30000);
    options.memory_limit_bytes = 8 << 20;
    inro_sandbox *sandbox = new_sandbox_with(&options);
    inro_error err;
    bind(sandbox, "Host::Echo", echo);
    bind(sandbox, "Host::See", see);
    bind(sandbox, "Host::Fail", fail_as_told);
    bind(sandbox, "Host::Each", each);
    bind(sandbox, "Host::Make", make);
    CHECK_INT(inro_sandbox_bind(sandbox, INRO_STR("Host::Reserved"), NULL, &err), INRO_OK);
    return sandbox;
}

/* ---- reading ---- */

static void add(struct text *text, const char *bytes, size_t length, const char *end) {
    size_t end_length = strlen(end);
    if (text->length + length + end_length >= sizeof text->data)
        test_fail(__FILE__, __LINE__, "a case is longer than %d bytes", FIELD_MAX);
    memcpy(text->data + text->length, bytes, length);
    memcpy(text->data + text->length + length, end, end_length + 1);
    text->length += length + end_length;
}

static const struct mark {
    const char *text;
    size_t field;
    size_t flag; /* 0: none */
    const char *end;
} marks[] = {
#define FIELD(name) offsetof(struct test_text_case, name)
    {"=> ", FIELD(value), FIELD(has_value), ""},
    {"!! ", FIELD(failure), FIELD(has_failure), ""},
    {"!!service ", FIELD(failure), FIELD(has_failure), ""},
    {"!!trap ", FIELD(failure), FIELD(has_failure), ""},
    {"| ", FIELD(out), 0, "\n"},
    {"|- ", FIELD(out), 0, ""},
    {"2| ", FIELD(err), 0, "\n"},
    {"2|- ", FIELD(err), 0, ""},
    {"@ ", FIELD(backtrace), FIELD(has_backtrace), "\n"},
};

static bool starts_with(const char *line, const char *prefix) {
    return strncmp(line, prefix, strlen(prefix)) == 0;
}

/* A mark may stand alone ("|" is an empty line of output). */
static const struct mark *mark_of(const char *line, size_t length) {
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t bare = strlen(marks[i].text) - 1;
        if (starts_with(line, marks[i].text) || (length == bare && strncmp(line, marks[i].text, bare) == 0))
            return &marks[i];
    }
    return NULL;
}

/* Answers false for a line that begins the next program. */
static bool take_line(struct test_text_case *now, const char *line, size_t length, bool *expecting) {
    const struct mark *mark = mark_of(line, length);
    if (mark != NULL) {
        bool is_failure = mark->field == FIELD(failure);
        size_t skip = is_failure ? 2 : strlen(mark->text);
        skip = skip > length ? length : skip;
        add((struct text *)(void *)((char *)now + mark->field), line + skip, length - skip, mark->end);
        if (mark->flag != 0)
            *((bool *)now + mark->flag) = true;
        *expecting = true;
    } else if (!*expecting) {
        add(&now->program, line, length, "\n");
    } else {
        return length == 0 || line[0] == '#';
    }
    return true;
}

/* ---- checking ---- */

static bool differs(const char *what, const void *got, size_t got_length, const struct text *expected) {
    if (got_length == expected->length && (got_length == 0 || memcmp(got, expected->data, got_length) == 0))
        return false;
    printf("  %s:\n    got      %.*s\n    expected %s\n", what, (int)got_length, (const char *)got,
           expected->data);
    return true;
}

static void describe_failure(struct text *out, const inro_failure *failure) {
    char head[512];
    inro_ended ended = inro_fault_ended(failure->fault);
    inro_str class_name = failure->class_name;
    if (ended == INRO_ENDED_TRAP)
        class_name = inro_str_from_c(inro_fault_class(failure->fault));
    snprintf(head, sizeof head, "%s %.*s",
             ended == INRO_ENDED_TRAP      ? "trap"
             : ended == INRO_ENDED_SERVICE ? "service"
                                           : "",
             (int)class_name.length, class_name.data);
    add(out, head, strlen(head), ": ");
    add(out, failure->message.data, failure->message.length, "");
}

/* Exactly, or "Class ~ part of the message". */
static bool failure_fits(const struct text *got, const struct text *expected) {
    const char *tilde = strstr(expected->data, " ~ ");
    if (tilde == NULL)
        return strcmp(got->data, expected->data) == 0;
    size_t head = (size_t)(tilde - expected->data);
    return strncmp(got->data, expected->data, head) == 0 && strncmp(got->data + head, ": ", 2) == 0 &&
           strstr(got->data + head, tilde + 3) != NULL;
}

static bool failure_differs(const struct test_text_case *now, const inro_failure *failure) {
    static struct text got, lines;
    got.length = lines.length = 0;
    got.data[0] = lines.data[0] = '\0';
    describe_failure(&got, failure);
    if (!now->has_failure || !failure_fits(&got, &now->failure)) {
        printf("  failure:\n    got      !!%s\n    expected %s%s\n", got.data, now->has_failure ? "!!" : "=> ",
               now->has_failure ? now->failure.data : now->value.data);
        return true;
    }
    for (size_t i = 0; i < failure->backtrace_count; i++)
        add(&lines, failure->backtrace[i].data, failure->backtrace[i].length, "\n");
    return now->has_backtrace && differs("backtrace", lines.data, lines.length, &now->backtrace);
}

static bool value_differs(const struct test_text_case *now, const inro_value *value) {
    char *text = inspected(value);
    bool different = false;
    if (now->has_failure) {
        printf("  value:\n    got      => %s\n    expected !!%s\n", text, now->failure.data);
        different = true;
    } else if (now->has_value) {
        different = differs("value", text, strlen(text), &now->value);
    }
    inro_text_free(text);
    return different;
}

static bool run_case(inro_sandbox *sandbox, const struct test_text_case *now) {
    inro_outcome *outcome = eval(sandbox, now->program.data);
    const inro_failure *failure = inro_outcome_failure(outcome);
    bool different = failure ? failure_differs(now, failure) : value_differs(now, inro_outcome_value(outcome));
    inro_bytes out = inro_outcome_stdout(outcome), err = inro_outcome_stderr(outcome);
    different |= differs("stdout", out.data, out.length, &now->out);
    different |= differs("stderr", err.data, err.length, &now->err);
    inro_outcome_free(outcome);
    return !different;
}

struct tally {
    int cases, failed;
};

static void finish_case(inro_sandbox *sandbox, struct test_text_case *now, const char *file,
                        struct tally *tally) {
    if (now->line == 0)
        return;
    if (!now->has_value && !now->has_failure && now->out.length + now->err.length == 0)
        test_fail(__FILE__, __LINE__, "%s:%d: %s expects nothing", file, now->line, now->title);
    tally->cases++;
    for (int round = 0; round < 2; round++) {
        if (run_case(sandbox, now))
            continue;
        printf("%s:%d: %s%s\n", file, now->line, now->title, round ? " (second time)" : "");
        tally->failed++;
        return;
    }
}

/* Without a title of its own it goes on under the last one. */
static void begin_case(struct test_text_case *now, const char *title, int line) {
    char kept[sizeof now->title];
    snprintf(kept, sizeof kept, "%.*s", (int)sizeof kept - 1, title ? title : now->title);
    memset(now, 0, sizeof *now);
    memcpy(now->title, kept, sizeof kept);
    now->line = line;
}

static FILE *open_cases(const char *subject, char *path, size_t room) {
    const char *root = getenv("INRO_ROOT");
    snprintf(path, room, "%s/tests/cases/%s.txt", root ? root : ".", subject);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        test_fail(__FILE__, __LINE__, "%s cannot be read; set INRO_ROOT or start in the project's folder",
                  path);
    return file;
}

static void run_file(const char *subject) {
    static struct test_text_case now;
    static char line[FIELD_MAX];
    char path[512];
    struct tally tally = {0, 0};
    bool expecting = true;
    FILE *file = open_cases(subject, path, sizeof path);
    inro_sandbox *sandbox = sandbox_for_cases();
    for (int number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        size_t length = strcspn(line, "\n");
        line[length] = '\0';
        bool titled = starts_with(line, "== ");
        if (!titled && take_line(&now, line, length, &expecting))
            continue;
        finish_case(sandbox, &now, path, &tally);
        begin_case(&now, titled ? line + 3 : NULL, number);
        expecting = false;
        if (!titled)
            take_line(&now, line, length, &expecting);
    }
    finish_case(sandbox, &now, path, &tally);
    fclose(file);
    inro_sandbox_free(sandbox);
    printf("%d cases\n", tally.cases);
    if (tally.failed > 0 || tally.cases == 0)
        test_fail(__FILE__, __LINE__, "%d of %d cases of %s failed", tally.failed, tally.cases, subject);
}

#define SUBJECT_MAP(XX)                                                                                        \
    XX(values)                                                                                                 \
    XX(absent)                                                                                                 \
    XX(errors)                                                                                                 \
    XX(output)                                                                                                 \
    XX(syntax)                                                                                                 \
    XX(services)                                                                                               \
    XX(integer)                                                                                                \
    XX(float)                                                                                                  \
    XX(bigint)                                                                                                 \
    XX(rational)                                                                                               \
    XX(math)                                                                                                   \
    XX(string)                                                                                                 \
    XX(symbol)                                                                                                 \
    XX(array)                                                                                                  \
    XX(hash)                                                                                                   \
    XX(range)                                                                                                  \
    XX(enumerable)                                                                                             \
    XX(enumerator)                                                                                             \
    XX(object)                                                                                                 \
    XX(proc)                                                                                                   \
    XX(struct)                                                                                                 \
    XX(sprintf)                                                                                                \
    XX(pack)                                                                                                   \
    XX(fiber)

#define SUBJECT_TEST(name)                                                                                     \
    TEST(cases_of_##name) {                                                                                    \
        run_file(#name);                                                                                       \
    }
SUBJECT_MAP(SUBJECT_TEST)

TEST(every_file_of_cases_is_run) {
    static const char *const subjects[] = {
#define SUBJECT_NAME(name) #name ".txt",
        SUBJECT_MAP(SUBJECT_NAME)};
    const char *root = getenv("INRO_ROOT");
    char path[512];
    snprintf(path, sizeof path, "%s/tests/cases", root ? root : ".");
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        bool known = entry->d_name[0] == '.';
        for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
            known |= strcmp(entry->d_name, subjects[i]) == 0;
        if (!known)
            test_fail(__FILE__, __LINE__, "tests/cases/%s is run by no test", entry->d_name);
    }
    closedir(folder);
}
