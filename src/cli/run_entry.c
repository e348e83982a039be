/* inro run-entry: calls an entry point of preloaded code.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/session.h"

/* Both built from the command line; NULL on what cannot be built, which has been printed. */
static inro_value *make_args(const struct inro__cli_settings *settings) {
    inro_value *args = inro_value_new_array();
    for (size_t i = 1; i < settings->operands_count; i++) {
        inro_value *value = inro__cli_read_value(settings->operands[i]);
        inro_status status = value ? inro_value_array_push(args, value) : INRO_ERR_LIMIT;
        if (status == INRO_OK)
            continue;
        if (value)
            inro__cli_fail("argument %zu: %s", i, inro_status_text(status));
        inro_value_free(args);
        return NULL;
    }
    return args;
}

static inro_value *make_kwargs(const struct inro__cli_settings *settings) {
    inro_value *kwargs = inro_value_new_map();
    for (size_t i = 0; i < settings->items_count; i++) {
        const struct inro__cli_item *item = &settings->items[i];
        if (item->kind != INRO__CLI_KWARG)
            continue;
        inro_value *value = inro__cli_read_value(item->text);
        inro_status status = INRO_ERR_LIMIT;
        if (value)
            status = inro_value_map_put(kwargs, inro_value_new_symbol(item->name), value);
        if (status == INRO_OK)
            continue;
        if (value)
            inro__cli_fail("--kwarg %.*s: %s", (int)item->name.length, item->name.data,
                           inro_status_text(status));
        inro_value_free(kwargs);
        return NULL;
    }
    return kwargs;
}

static int call(struct inro__cli_session *session, const inro_value *args, const inro_value *kwargs) {
    inro_outcome *outcome = NULL;
    inro_error err = {.status = INRO_OK};
    inro_str entry = inro_str_from_c(session->settings->operands[0]);
    inro__cli_session_start(session);
    if (inro_sandbox_run(session->sandbox, entry, args, kwargs, &session->invocation, &outcome, &err) !=
        INRO_OK)
        outcome = NULL;
    return inro__cli_session_finish(session, outcome, &err, (inro_str){NULL, 0});
}

int inro__cli_run_entry(const struct inro__cli_settings *settings) {
    struct inro__cli_session session = {.settings = settings};
    if (settings->operands_count == 0)
        return inro__cli_misuse(inro__cli_command_find("run-entry"), "no entry point given");
    inro_value *args = make_args(settings), *kwargs = args ? make_kwargs(settings) : NULL;
    int status = kwargs ? inro__cli_session_open(&session, settings) : INRO__CLI_USAGE;
    if (status == INRO__CLI_OK)
        status = call(&session, args, kwargs);
    inro__cli_session_close(&session);
    inro_value_free(args);
    inro_value_free(kwargs);
    return status;
}
