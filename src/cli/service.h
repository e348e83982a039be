/* --service: a program as a service.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__CLI_SERVICE_H
#define INRO__CLI_SERVICE_H

#include <inro/inro.h>

/* Makes the object that runs the program in `line` for each call. `name` and `deadline` must live as long as
 * the object; *deadline is when a running program is stopped (a time of inro__cli_now), 0 for never. Answers
 * NULL, or what is wrong with the line, to follow it in a sentence. */
const char *inro__cli_service_new(inro_str name, const char *line, const uint64_t *deadline, inro_object **out);

#endif
