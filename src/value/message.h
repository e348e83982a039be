/* Writing a message into a buffer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__MESSAGE_H
#define INRO__MESSAGE_H

#include "base/buf.h"
#include "value/msgpack.h"

/* A writer that begins at the start of `buf` and makes it grow; the buffer must not be touched meanwhile. */
struct inro__mp_writer inro__message_begin(struct inro__buf *buf);

/* Sets the buffer's length; false when something did not fit (its maximum, or no memory). */
bool inro__message_end(struct inro__mp_writer *writer);

#endif
