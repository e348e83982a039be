/* The tables behind the statuses, the version, and the view of a C string.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inro/base.h>

#include <string.h>

struct status_row {
    inro_status status;
    const char *name;
    const char *text;
};

static const struct status_row status_rows[] = {
#define STATUS_ROW(name, number, text) {(number), #name, (text)},
    INRO_STATUS_MAP(STATUS_ROW)
#undef STATUS_ROW
};

static const struct status_row *row_of(inro_status status) {
    for (size_t i = 0; i < sizeof status_rows / sizeof status_rows[0]; i++)
        if (status_rows[i].status == status)
            return &status_rows[i];
    return NULL;
}

const char *inro_status_text(inro_status status) {
    const struct status_row *row = row_of(status);
    return row ? row->text : "unknown status";
}

const char *inro_status_name(inro_status status) {
    const struct status_row *row = row_of(status);
    return row ? row->name : "UNKNOWN";
}

const char *inro_version(void) {
    return INRO_VERSION;
}

inro_str inro_str_from_c(const char *text) {
    return (inro_str){text, text ? strlen(text) : 0};
}
