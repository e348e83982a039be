/* Setting a sandbox up as the command line says, and ending with what came out.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/session.h"
#include "cli/child.h"
#include "cli/screen.h"
#include "cli/service.h"

#include <string.h>
#include <unistd.h>

static bool is_letter(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

/* kv_store.rb is KvStore: letters and digits, a capital at each start of a word. */
static void name_snippet(const char *file, struct inro__cli_text *name) {
    const char *slash = strrchr(file, '/'), *at = slash ? slash + 1 : file, *dot = strrchr(at, '.');
    bool starts = true;
    for (; *at && at != dot; at++) {
        bool small = *at >= 'a' && *at <= 'z';
        if (is_letter(*at) || is_digit(*at))
            inro__cli_text_add(name, starts && small ? &(char){(char)(*at - 'a' + 'A')} : at, 1);
        starts = !is_letter(*at) && !is_digit(*at);
    }
}

static int preload_as(struct inro__cli_session *session, const struct inro__cli_item *item, inro_str name) {
    struct inro__cli_text source = {0}, context = {0};
    inro_error err = {.status = INRO_OK};
    int status = inro__cli_read_file(item->text, &source);
    inro_str view = {source.data ? source.data : "", source.length};
    if (status == INRO__CLI_OK && inro_sandbox_preload(session->sandbox, view, name, &err) != INRO_OK) {
        inro__cli_text_format(&context, "--preload %s", item->text);
        status = inro__cli_fail_error(inro__cli_text_string(&context), &err);
    }
    inro__cli_text_done(&context);
    inro__cli_text_done(&source);
    return status;
}

static int preload(struct inro__cli_session *session, const struct inro__cli_item *item) {
    struct inro__cli_text name = {0};
    int status = INRO__CLI_USAGE;
    if (item->name.data)
        inro__cli_text_add(&name, item->name.data, item->name.length);
    else
        name_snippet(item->text, &name);
    if (name.length == 0 || is_digit(name.data[0]))
        inro__cli_fail("--preload %s: the file's name gives no constant; write NAME=%s", item->text,
                       item->text);
    else
        status = preload_as(session, item, (inro_str){name.data, name.length});
    inro__cli_text_done(&name);
    return status;
}

static int preload_bytecode(struct inro__cli_session *session, const struct inro__cli_item *item) {
    struct inro__cli_text bytes = {0}, context = {0};
    inro_error err = {.status = INRO_OK};
    int status = inro__cli_read_file(item->text, &bytes);
    inro_bytes view = {(const uint8_t *)(bytes.data ? bytes.data : ""), bytes.length};
    if (status == INRO__CLI_OK && inro_sandbox_preload_bytecode(session->sandbox, view, &err) != INRO_OK) {
        inro__cli_text_format(&context, "--preload-bytecode %s", item->text);
        status = inro__cli_fail_error(inro__cli_text_string(&context), &err);
    }
    inro__cli_text_done(&context);
    inro__cli_text_done(&bytes);
    return status;
}

static int bind_service(struct inro__cli_session *session, const struct inro__cli_item *item) {
    inro_object *object = NULL;
    inro_error err = {.status = INRO_OK};
    const char *problem = inro__cli_service_new(item->name, item->text, &session->deadline, &object);
    if (problem) {
        inro__cli_fail("--service %.*s: \"%s\" %s", (int)item->name.length, item->name.data, item->text,
                       problem);
        return INRO__CLI_USAGE;
    }
    inro_status status = inro_sandbox_bind(session->sandbox, item->name, object, &err);
    inro_object_unref(object);
    return status == INRO_OK ? INRO__CLI_OK : inro__cli_fail_error("--service", &err);
}

/* Keyword arguments are the invocation's, not the sandbox's. */
static int skip_item(struct inro__cli_session *session, const struct inro__cli_item *item) {
    (void)session;
    (void)item;
    return INRO__CLI_OK;
}

static void show_output(void *user, int stream, inro_bytes chunk) {
    (void)user;
    inro__cli_show(stream == STDERR_FILENO ? STDERR_FILENO : STDOUT_FILENO, chunk.data, chunk.length);
}

int inro__cli_session_open(struct inro__cli_session *session, const struct inro__cli_settings *settings) {
    static int (*const adders[])(struct inro__cli_session *, const struct inro__cli_item *) = {
        [INRO__CLI_PRELOAD] = preload,
        [INRO__CLI_PRELOAD_BYTECODE] = preload_bytecode,
        [INRO__CLI_SERVICE] = bind_service,
        [INRO__CLI_KWARG] = skip_item,
    };
    inro_error err = {.status = INRO_OK};
    *session = (struct inro__cli_session){.settings = settings, .invocation = INRO_INVOCATION_INIT};
    if (!settings->json)
        session->invocation.output = show_output;
    if (inro_sandbox_new(&settings->sandbox, &session->sandbox, &err) != INRO_OK)
        return inro__cli_fail_error("", &err);
    int status = INRO__CLI_OK;
    for (size_t i = 0; i < settings->items_count && status == INRO__CLI_OK; i++)
        status = adders[settings->items[i].kind](session, &settings->items[i]);
    return status;
}

void inro__cli_session_close(struct inro__cli_session *session) {
    inro_sandbox_free(session->sandbox);
    session->sandbox = NULL;
}

void inro__cli_session_start(struct inro__cli_session *session) {
    uint64_t timeout = session->settings->sandbox.timeout_us, now = inro__cli_now();
    session->deadline = timeout > (UINT64_MAX - now) / 1000 ? 0 : now + timeout * 1000;
}

static void note_truncation(const inro_outcome *outcome) {
    if (inro_outcome_is_stdout_truncated(outcome))
        inro__cli_fail("standard output was cut at its limit; --stdout-limit raises it");
    if (inro_outcome_is_stderr_truncated(outcome))
        inro__cli_fail("standard error was cut at its limit; --stderr-limit raises it");
}

static int show_value(const inro_value *value) {
    char *text = NULL;
    size_t length = 0;
    inro_error err = {.status = INRO_OK};
    if (inro_value_inspect(value, &text, &length, &err) != INRO_OK)
        return inro__cli_fail_error("showing the value", &err);
    inro__cli_show_fresh_line(STDOUT_FILENO);
    inro__cli_show(STDOUT_FILENO, text, length);
    inro__cli_show(STDOUT_FILENO, "\n", 1);
    inro_text_free(text);
    return INRO__CLI_OK;
}

static int show_for_people(const inro_outcome *outcome, inro_str source) {
    const inro_failure *failure = inro_outcome_failure(outcome);
    note_truncation(outcome);
    if (!failure)
        return show_value(inro_outcome_value(outcome));
    inro__cli_show_failure(failure, source);
    return INRO__CLI_OK;
}

int inro__cli_session_finish(struct inro__cli_session *session, inro_outcome *outcome, const inro_error *err,
                             inro_str source) {
    static const int statuses[] = {
        [INRO_ENDED_VALUE] = INRO__CLI_OK,
        [INRO_ENDED_TRAP] = INRO__CLI_TRAP,
        [INRO_ENDED_SERVICE] = INRO__CLI_FAILED,
        [INRO_ENDED_SANDBOX] = INRO__CLI_FAILED,
    };
    if (!outcome)
        return inro__cli_fail_error("", err);
    int status = session->settings->json ? inro__cli_show_record(outcome) : show_for_people(outcome, source);
    if (status == INRO__CLI_OK)
        status = statuses[inro_outcome_ended(outcome)];
    inro_outcome_free(outcome);
    return status;
}
