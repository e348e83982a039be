/* From the guest's last message to the outcome. The bytes are a guest's: every shape must end well.
 *
 *     1 value                                                     a value
 *     2 [origin, class, message, [backtrace line, ...], details]  a panic
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "outcome/outcome.h"

#include "base/alloc.h"
#include <inro/service.h>

#include <string.h>

enum { TAG_VALUE = 1, TAG_PANIC = 2, PANIC_FIELDS = 5, BACKTRACE_MAX = 100 };

static const struct attribution {
    const char *origin;
    const char *class_name;
    inro_fault fault;
} attributions[] = {
    {"service", "Inro::ServiceError::Disconnected", INRO_FAULT_DISCONNECTED},
    {"service", "Inro::NoServiceError", INRO_FAULT_NO_SERVICE},
    {"service", "Inro::ServiceArgumentError", INRO_FAULT_SERVICE_ARGUMENT},
    {"service", "Inro::ServiceError", INRO_FAULT_SERVICE},
    {"sandbox", "Inro::BytecodeError", INRO_FAULT_BYTECODE},
    {"sandbox", "Inro::UndefinedEntrypointError", INRO_FAULT_UNDEFINED_ENTRYPOINT},
    {"sandbox", "Inro::HandleTableExhausted", INRO_FAULT_HANDLES_EXHAUSTED},
    {"sandbox", "Inro::WireError", INRO_FAULT_WIRE},
};

static bool is_text(inro_str text, const char *expected) {
    return text.length == strlen(expected) && memcmp(text.data, expected, text.length) == 0;
}

/* Exact names only: a script's own MyServiceError is a script's failure. */
static inro_fault fault_of(inro_str origin, inro_str class_name) {
    for (size_t i = 0; i < sizeof attributions / sizeof *attributions; i++)
        if (is_text(origin, attributions[i].origin) && is_text(class_name, attributions[i].class_name))
            return attributions[i].fault;
    return INRO_FAULT_SANDBOX;
}

static void fail_wire(inro_outcome *outcome, inro_str message) {
    inro__outcome_fail(outcome, INRO_FAULT_WIRE, INRO_STR("sandbox"), INRO_STR("Inro::WireError"), message);
}

static inro_str decode_problem(enum inro__decode_status status) {
    switch (status) {
    case INRO__DECODE_DEPTH:
        return INRO_STR("the outcome nests deeper than 128 levels");
    case INRO__DECODE_HANDLE:
        return INRO_STR("the outcome contains a handle that is not live");
    case INRO__DECODE_BAD:
    case INRO__DECODE_SIZE:
    case INRO__DECODE_MEMORY:
    case INRO__DECODE_OK:
        break;
    }
    return INRO_STR("the outcome could not be decoded");
}

/* ---- objects in the value outlive the invocation's handle table ---- */

static size_t count_objects(const struct inro_value *value) {
    size_t count = 0, nodes = 0;
    if (value->type == INRO_VALUE_OBJECT)
        return 1;
    if (value->type == INRO_VALUE_ARRAY)
        nodes = value->length;
    else if (value->type == INRO_VALUE_MAP)
        nodes = (size_t)2 * value->length;
    for (size_t i = 0; i < nodes; i++)
        count += count_objects(&value->as.items[i]);
    return count;
}

static void keep(const struct inro_value *value, inro_object **objects, size_t *count) {
    size_t nodes = 0;
    if (value->type == INRO_VALUE_OBJECT)
        objects[(*count)++] = inro_object_ref(value->as.object);
    else if (value->type == INRO_VALUE_ARRAY)
        nodes = value->length;
    else if (value->type == INRO_VALUE_MAP)
        nodes = (size_t)2 * value->length;
    for (size_t i = 0; i < nodes; i++)
        keep(&value->as.items[i], objects, count);
}

static inro_status keep_objects(inro_outcome *outcome, const struct inro_value *value) {
    size_t count = count_objects(value);
    if (count == 0)
        return INRO_OK;
    outcome->objects = inro__alloc(count * sizeof(inro_object *));
    if (!outcome->objects)
        return INRO_ERR_MEMORY;
    keep(value, outcome->objects, &outcome->objects_count);
    return INRO_OK;
}

/* ---- the two forms ---- */

static inro_status decode_value(inro_outcome *outcome, struct inro__mp_reader *reader,
                                const struct inro__handle_map *handles) {
    enum inro__decode_status status = inro__value_decode(reader, &outcome->arena, handles, &outcome->value);
    if (status == INRO__DECODE_MEMORY)
        return INRO_ERR_MEMORY;
    if (status == INRO__DECODE_OK && reader->at == reader->end)
        return keep_objects(outcome, &outcome->value);
    outcome->value = (struct inro_value){.type = INRO_VALUE_NIL};
    if (status == INRO__DECODE_SIZE)
        inro__outcome_fail(outcome, INRO_FAULT_SANDBOX, INRO_STR("sandbox"), INRO_STR("RangeError"),
                           INRO_STR("the result has too many parts"));
    else
        fail_wire(outcome, decode_problem(status));
    return INRO_OK;
}

static bool is_panic(const struct inro_value *panic) {
    const struct inro_value *field = panic->as.items;
    return panic->type == INRO_VALUE_ARRAY && panic->length == PANIC_FIELDS &&
           field[0].type == INRO_VALUE_TEXT && field[1].type == INRO_VALUE_TEXT &&
           (field[2].type == INRO_VALUE_TEXT || field[2].type == INRO_VALUE_BYTES) &&
           field[3].type == INRO_VALUE_ARRAY;
}

static inro_str text_of(const struct inro_value *value) {
    return (inro_str){(const char *)value->as.bytes, value->length};
}

/* Lines that are no text are left out. The guest tells BACKTRACE_MAX at most; a guest that has been taken over
 * gets no more of the host's memory for them, and none from a panic that has used it up. */
static bool take_backtrace(inro_outcome *outcome, const struct inro_value *lines) {
    uint32_t count = lines->length < BACKTRACE_MAX ? lines->length : BACKTRACE_MAX;
    if (count == 0 || !inro__arena_fits(&outcome->arena, count * sizeof(inro_str)))
        return true;
    inro_str *views = inro__arena_alloc(&outcome->arena, count * sizeof *views);
    if (!views)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (lines->as.items[i].type == INRO_VALUE_TEXT)
            views[outcome->failure.backtrace_count++] = text_of(&lines->as.items[i]);
    outcome->failure.backtrace = views;
    return true;
}

static inro_status take_panic(inro_outcome *outcome, const struct inro_value *field) {
    inro_str origin = is_text(text_of(&field[0]), "service") ? INRO_STR("service") : INRO_STR("sandbox");
    inro_str class_name = text_of(&field[1]);
    inro__outcome_fail(outcome, fault_of(origin, class_name), origin, class_name, text_of(&field[2]));
    if (field[4].type == INRO_VALUE_MAP) {
        outcome->details = field[4];
        outcome->failure.details = &outcome->details;
    }
    return take_backtrace(outcome, &field[3]) ? INRO_OK : INRO_ERR_MEMORY;
}

static inro_status decode_panic(inro_outcome *outcome, struct inro__mp_reader *reader) {
    struct inro_value panic;
    enum inro__decode_status status = inro__value_decode(reader, &outcome->arena, NULL, &panic);
    if (status == INRO__DECODE_MEMORY)
        return INRO_ERR_MEMORY;
    if (status == INRO__DECODE_OK && reader->at == reader->end && is_panic(&panic))
        return take_panic(outcome, panic.as.items);
    fail_wire(outcome, INRO_STR("the panic could not be decoded"));
    return INRO_OK;
}

inro_status inro__outcome_decode(inro_outcome *outcome, const struct inro__handle_map *handles) {
    if (outcome->message.length == 0) {
        inro__outcome_fail(outcome, INRO_FAULT_TRAP, INRO_STR(""), (inro_str){NULL, 0},
                           INRO_STR("the guest ended without an outcome (len=0)"));
        return INRO_OK;
    }
    struct inro__mp_reader reader = {outcome->message.data, outcome->message.data + outcome->message.length};
    uint8_t tag = *reader.at++;
    if (tag == TAG_VALUE)
        return decode_value(outcome, &reader, handles);
    if (tag == TAG_PANIC)
        return decode_panic(outcome, &reader);
    inro__outcome_fail(outcome, INRO_FAULT_TRAP, INRO_STR(""), (inro_str){NULL, 0},
                       INRO_STR("unknown outcome tag"));
    return INRO_OK;
}
