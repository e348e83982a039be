/* The outcome as one JSON record.
 *
 * Written member by member, because a value may be as deep as values can be, and an output as long as its
 * limit allows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"
#include "cli/session.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static void add_key(struct inro__cli_text *record, const char *key) {
    bool first = record->data[record->length - 1] == '{';
    inro__cli_text_format(record, "%s\"%s\":", first ? "" : ",", key);
}

/* Appends the value; false when it has no form in JSON. */
static bool add_value(struct inro__cli_text *record, const inro_value *value) {
    char *json = NULL;
    size_t length = 0;
    inro_error err = {.status = INRO_OK};
    inro_status status = inro_value_to_json(value, &json, &length, &err);
    if (status == INRO_ERR_MEMORY)
        inro__cli_no_memory();
    if (status != INRO_OK)
        return false;
    inro__cli_text_add(record, json, length);
    inro_text_free(json);
    return true;
}

/* Takes the value. */
static void add_taken(struct inro__cli_text *record, inro_value *value) {
    if (!value)
        inro__cli_no_memory();
    if (!add_value(record, value))
        inro__cli_text_put(record, "null");
    inro_value_free(value);
}

/* Text, or {"$bytes": ...} when it is not UTF-8; null when it is not given. */
static void add_text(struct inro__cli_text *record, inro_str text) {
    add_taken(record, text.data ? inro_value_new_text(text) : inro_value_new_nil());
}

static void add_bytes(struct inro__cli_text *record, inro_bytes bytes) {
    add_text(record, (inro_str){bytes.data ? (const char *)bytes.data : "", bytes.length});
}

static void add_inspected(struct inro__cli_text *record, const inro_value *value) {
    char *text = NULL;
    size_t length = 0;
    inro_error err = {.status = INRO_OK};
    if (inro_value_inspect(value, &text, &length, &err) != INRO_OK)
        inro__cli_no_memory();
    add_text(record, (inro_str){text, length});
    inro_text_free(text);
}

/* Under "value", or under "inspect" when JSON has no form for it. */
static void add_result(struct inro__cli_text *record, const inro_value *value) {
    size_t before = record->length;
    add_key(record, "value");
    if (add_value(record, value))
        return;
    record->length = before;
    add_key(record, "inspect");
    add_inspected(record, value);
}

static void add_fault(struct inro__cli_text *record, inro_fault fault) {
    static const char *const names[] = {
#define FAULT_NAME(name, number, ended, text) [number] = #name,
        INRO_FAULT_MAP(FAULT_NAME)
#undef FAULT_NAME
    };
    const char *name = (size_t)fault < sizeof names / sizeof names[0] ? names[fault] : "UNKNOWN";
    inro__cli_text_put(record, "\"");
    for (; *name; name++)
        inro__cli_text_add(record, &(char){(char)tolower((unsigned char)*name)}, 1);
    inro__cli_text_put(record, "\"");
}

static void add_backtrace(struct inro__cli_text *record, const inro_failure *failure) {
    inro__cli_text_put(record, "[");
    for (size_t i = 0; i < failure->backtrace_count; i++) {
        inro__cli_text_put(record, i ? "," : "");
        add_text(record, failure->backtrace[i]);
    }
    inro__cli_text_put(record, "]");
}

static void add_details(struct inro__cli_text *record, const inro_value *details) {
    if (!add_value(record, details))
        add_inspected(record, details);
}

/* "" for an origin means that it is not given. */
static inro_str given(inro_str text) {
    return text.length > 0 ? text : (inro_str){NULL, 0};
}

static void add_failure(struct inro__cli_text *record, const inro_failure *failure) {
    inro__cli_text_put(record, "{");
    add_key(record, "class");
    add_text(record, inro_str_from_c(inro_fault_class(failure->fault)));
    add_key(record, "fault");
    add_fault(record, failure->fault);
    add_key(record, "origin");
    add_text(record, given(failure->origin));
    add_key(record, "guest_class");
    add_text(record, given(failure->class_name));
    add_key(record, "message");
    add_text(record, failure->message.data ? failure->message : (inro_str){"", 0});
    add_key(record, "backtrace");
    add_backtrace(record, failure);
    add_key(record, "details");
    add_details(record, failure->details);
    inro__cli_text_put(record, "}");
}

static void add_flag(struct inro__cli_text *record, const char *key, bool flag) {
    add_key(record, key);
    inro__cli_text_put(record, flag ? "true" : "false");
}

static void add_usage(struct inro__cli_text *record, const inro_usage *usage) {
    const struct {
        const char *key;
        uint64_t number;
    } rows[] = {
        {"wall_ns", usage->wall_ns},
        {"guest_ns", usage->guest_ns},
        {"service_ns", usage->service_ns},
        {"memory_peak_bytes", usage->memory_peak_bytes},
        {"service_calls", usage->service_calls},
    };
    inro__cli_text_put(record, "{");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        add_key(record, rows[i].key);
        inro__cli_text_format(record, "%" PRIu64, rows[i].number);
    }
    inro__cli_text_put(record, "}");
}

int inro__cli_show_record(const inro_outcome *outcome) {
    static const char *const endings[] = {
        [INRO_ENDED_VALUE] = "value",
        [INRO_ENDED_TRAP] = "trap",
        [INRO_ENDED_SERVICE] = "service",
        [INRO_ENDED_SANDBOX] = "sandbox",
    };
    struct inro__cli_text record = {0};
    const inro_failure *failure = inro_outcome_failure(outcome);
    inro__cli_text_put(&record, "{");
    add_key(&record, "ended");
    inro__cli_text_format(&record, "\"%s\"", endings[inro_outcome_ended(outcome)]);
    if (!failure)
        add_result(&record, inro_outcome_value(outcome));
    add_key(&record, "error");
    if (failure)
        add_failure(&record, failure);
    else
        inro__cli_text_put(&record, "null");
    add_key(&record, "stdout");
    add_bytes(&record, inro_outcome_stdout(outcome));
    add_key(&record, "stderr");
    add_bytes(&record, inro_outcome_stderr(outcome));
    add_flag(&record, "stdout_truncated", inro_outcome_is_stdout_truncated(outcome));
    add_flag(&record, "stderr_truncated", inro_outcome_is_stderr_truncated(outcome));
    add_key(&record, "usage");
    add_usage(&record, inro_outcome_usage(outcome));
    inro__cli_text_put(&record, "}\n");
    inro__cli_show(STDOUT_FILENO, record.data, record.length);
    inro__cli_text_done(&record);
    return INRO__CLI_OK;
}
