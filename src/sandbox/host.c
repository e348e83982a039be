/* What the guest may ask for besides services: output, the time, entropy.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/invoke.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

/* Streams of the import "write". */
enum { STREAM_MESSAGE = 0, STREAM_STDOUT = 1, STREAM_STDERR = 2, STREAM_RESTART = 3, STREAM_EXHAUSTED = 4 };

static enum inro__trap fail(struct inro__invocation *invocation, inro_status status) {
    invocation->broken = status;
    return INRO__TRAP_IMPORT;
}

/* A part of a message that does not fit the guest's own buffer. What is too much is dropped and noted; the
 * message is refused as a whole when it is complete. */
static enum inro__trap take_message(struct inro__invocation *invocation, const uint8_t *bytes, size_t length) {
    inro_status status = inro__buf_append(&invocation->message, bytes, length);
    if (status == INRO_ERR_LIMIT)
        invocation->message_too_large = true;
    else if (status != INRO_OK)
        return fail(invocation, status);
    return INRO__TRAP_NONE;
}

static uint64_t limit_of(const struct inro__invocation *invocation, int stream) {
    return stream == STREAM_STDOUT ? invocation->limits->stdout_bytes : invocation->limits->stderr_bytes;
}

void inro__invocation_write(struct inro__invocation *invocation, int stream, const uint8_t *bytes,
                            size_t length) {
    struct inro__capture *capture = &invocation->outcome->captures[stream - 1];
    uint64_t room = limit_of(invocation, stream) - capture->bytes.length;
    if (length > room) {
        capture->truncated = true;
        length = (size_t)room;
    }
    if (length == 0)
        return;
    if (inro__buf_append(&capture->bytes, bytes, length) != INRO_OK)
        invocation->broken = INRO_ERR_MEMORY;
    else if (invocation->output)
        invocation->output(invocation->output_user, stream, (inro_bytes){bytes, length});
}

/* While an image is made, output is kept as a list of writes, to be played in every invocation. */
static inro_status bake_output(struct inro__buf *list, int stream, const uint8_t *bytes, uint32_t length) {
    uint8_t head[5] = {(uint8_t)stream};
    memcpy(head + 1, &length, sizeof length);
    inro_status status = inro__buf_append(list, head, sizeof head);
    return status == INRO_OK ? inro__buf_append(list, bytes, length) : status;
}

static enum inro__trap take_output(struct inro__invocation *invocation, int stream, const uint8_t *bytes,
                                   uint32_t length) {
    if (invocation->bake)
        invocation->broken = bake_output(invocation->bake, stream, bytes, length);
    else
        inro__invocation_write(invocation, stream, bytes, length);
    return invocation->broken == INRO_OK ? INRO__TRAP_NONE : INRO__TRAP_IMPORT;
}

static enum inro__trap host_write(void *user, struct inro__slot *slot, uint32_t stream,
                                  struct inro__range range) {
    struct inro__invocation *invocation = user;
    const uint8_t *bytes = inro__slot_read(slot, range);
    if (stream == STREAM_EXHAUSTED)
        return INRO__TRAP_MEMORY;
    if (!bytes || stream > STREAM_RESTART)
        return INRO__TRAP_IMPORT;
    if (stream == STREAM_STDOUT || stream == STREAM_STDERR)
        return take_output(invocation, (int)stream, bytes, range.length);
    if (stream == STREAM_MESSAGE)
        return take_message(invocation, bytes, range.length);
    invocation->message.length = 0;
    invocation->message_too_large = false;
    return INRO__TRAP_NONE;
}

/* Hermetic: it is always the epoch, and every random byte is zero. */
static enum inro__trap host_clock(void *user, struct inro__slot *slot, uint64_t *nanoseconds) {
    struct inro__invocation *invocation = user;
    struct timespec now = {0};
    (void)slot;
    invocation->impure = true;
    if (invocation->limits->profile == INRO_PROFILE_PERMISSIVE)
        clock_gettime(CLOCK_REALTIME, &now);
    *nanoseconds = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return INRO__TRAP_NONE;
}

static enum inro__trap host_entropy(void *user, struct inro__slot *slot, struct inro__range range) {
    struct inro__invocation *invocation = user;
    uint8_t *bytes = range.length <= 256 ? inro__slot_write(slot, range) : NULL;
    invocation->impure = true;
    if (!bytes)
        return INRO__TRAP_IMPORT;
    memset(bytes, 0, range.length);
    /* Up to 256 bytes are never interrupted or cut. */
    if (invocation->limits->profile == INRO_PROFILE_PERMISSIVE &&
        getrandom(bytes, range.length, 0) != (ssize_t)range.length)
        return fail(invocation, INRO_ERR_SYSTEM);
    return INRO__TRAP_NONE;
}

const struct inro__guest_host inro__invocation_host = {
    .write = host_write,
    .call = inro__invocation_call,
    .clock = host_clock,
    .entropy = host_entropy,
};
