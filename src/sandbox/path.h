/* Constant names and paths: KV::Lookup.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__PATH_H
#define INRO__PATH_H

#include <inro/base.h>

/* Whether `name` is one constant name: /\A[A-Z]\w*\z/ in ASCII, of bounded length. */
bool inro__path_is_name(inro_str name);

/* Whether `path` is names joined by "::". */
bool inro__path_is_path(inro_str path);

/* Whether the paths are equal, or one is a whole-segment prefix of the other. */
bool inro__path_clash(inro_str left, inro_str right);

/* Whether two texts are equal. */
bool inro__str_equal(inro_str left, inro_str right);

#endif
