/* What parses must print, and parse again to an equal value; what does not must say where.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inro/value.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition)
        abort();
}

static void check_round_trip(const inro_value *value) {
    char *json = NULL, *shown = NULL;
    size_t length = 0;
    inro_value *again = NULL;
    require(inro_value_to_json(value, &json, &length, NULL) == INRO_OK);
    require(inro_value_from_json((inro_str){json, length}, &again, NULL) == INRO_OK);
    require(inro_value_equals(value, again));
    require(inro_value_inspect(again, &shown, NULL, NULL) == INRO_OK);
    inro_text_free(json);
    inro_text_free(shown);
    inro_value_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    inro_value *value = NULL;
    inro_error err = {.status = INRO_OK};
    inro_str json = {size ? (const char *)data : "", size};
    inro_status status = inro_value_from_json(json, &value, &err);
    if (status == INRO_OK)
        check_round_trip(value);
    else
        require(!value && err.status == status && err.message[0] != '\0');
    inro_value_free(value);
    return 0;
}
