/* The three ways in which wasmtime runs the guest:
 *
 *   boot      a new instance boots the interpreter and evaluates: nothing was prepared
 *   snapshot  a new instance of a module whose memory is that of a booted guest (as Wizer makes them), dropped
 *             after the evaluation: clean memory each time, as inro's. No deadline, limits or decoded outcome
 *   warm      one booted instance evaluates again and again; nothing is reset
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"
#include "value/msgpack.h"
#include "wasm_file.h"
#include "wasmtime_guest.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX 1024u
enum { OUTCOME_VALUE = 1 };

static struct wasm_file original;
static struct wasmtime_image plain, booted;
static uint32_t booted_mailbox;

struct peer {
    struct wasmtime_guest guest;
    struct wasmtime_image image; /* its own snapshot, or nothing */
    const struct wasmtime_image *used;
    const uint8_t *request;
    size_t request_length;
    uint8_t run_request[64];
    enum entry entry;
};

/* ---- what comes back ---- */

static bool digest_message(const struct bytes *message, uint64_t *digest) {
    if (message->length < 2 || message->data[0] != OUTCOME_VALUE) {
        complain("wasmtime: the script failed");
        return false;
    }
    struct inro__mp_reader reader = {message->data + 1, message->data + message->length};
    struct inro__mp_token token = inro__mp_read(&reader);
    *digest = token.type == INRO__MP_NIL     ? digest_nil()
              : token.type == INRO__MP_INT   ? digest_int(token.as.number)
              : token.type == INRO__MP_FLOAT ? digest_float(token.as.real)
              : token.type == INRO__MP_STR   ? digest_text(token.as.bytes, token.length)
                                             : 0;
    return *digest != 0;
}

/* ---- what goes in ---- */

static struct inro__mp_writer writer_of(uint8_t *bytes, size_t size) {
    return (struct inro__mp_writer){.start = bytes, .at = bytes, .end = bytes + size};
}

static size_t length_of(const struct inro__mp_writer *writer) {
    return (size_t)(writer->at - writer->start);
}

static bool load(struct wasmtime_guest *guest, const char *name, const char *source) {
    uint8_t message[MESSAGE_MAX];
    struct inro__mp_writer writer = writer_of(message, sizeof message);
    uint64_t digest;
    *writer.at++ = 0xc2; /* not bytecode */
    inro__mp_write_str(&writer, name, (uint32_t)strlen(name));
    inro__mp_write_str(&writer, source, (uint32_t)strlen(source));
    return wasmtime_guest_send(guest, ENTRY_LOAD, message, length_of(&writer)) &&
           digest_message(&guest->message, &digest);
}

static bool load_snippets(struct wasmtime_guest *guest, size_t count) {
    bool done = load(guest, "Noop", NOOP_SOURCE);
    for (size_t i = 0; i < count && done; i++) {
        char *name = snippet_name(i), *source = snippet_source(i);
        done = load(guest, name, source);
        free(name);
        free(source);
    }
    return done;
}

static bool bind_services(struct wasmtime_guest *guest) {
    static const char path[] = "Bench::Noop";
    uint8_t message[MESSAGE_MAX];
    struct inro__mp_writer writer = writer_of(message, sizeof message);
    inro__mp_write_array(&writer, 1);
    inro__mp_write_str(&writer, path, sizeof path - 1);
    return wasmtime_guest_send(guest, ENTRY_SETUP, message, length_of(&writer));
}

static bool boot(struct wasmtime_guest *guest) {
    wasmtime_val_raw_t cell = {.u64 = 0};
    if (!wasmtime_guest_call(guest, ENTRY_INITIALIZE, NULL, 0) ||
        !wasmtime_guest_call(guest, ENTRY_BOOT, &cell, 1) || cell.u32 != 0)
        return false;
    cell.u64 = 0;
    if (!wasmtime_guest_call(guest, ENTRY_MAILBOX, &cell, 1))
        return false;
    guest->mailbox = cell.u32;
    return true;
}

static bool prepare_guest(struct wasmtime_guest *guest, const struct task *task) {
    return wasmtime_guest_open(guest, &plain) && boot(guest) && (!task->services || bind_services(guest)) &&
           (task->source || load_snippets(guest, task->snippets));
}

/* Compiles a module whose memory begins as this guest's is now. */
static bool take_snapshot(struct wasmtime_guest *guest, struct wasmtime_image *image) {
    const struct wasmtime_api *api = wasmtime_functions();
    struct wasm_file file =
        wasm_file_adapt(&original, api->wasmtime_memory_data(guest->context, &guest->memory),
                        api->wasmtime_memory_data_size(guest->context, &guest->memory));
    bool done = file.bytes && wasmtime_image_new(image, file.bytes, file.length);
    free(file.bytes);
    return done;
}

static bool prepare_images(struct wasmtime_guest *first) {
    static const struct task nothing = {.source = "nil"};
    struct wasm_file adapted = wasm_file_adapt(&original, NULL, 0);
    bool done = adapted.bytes && wasmtime_image_new(&plain, adapted.bytes, adapted.length) &&
                prepare_guest(first, &nothing) && take_snapshot(first, &booted);
    booted_mailbox = first->mailbox;
    wasmtime_guest_close(first);
    free(adapted.bytes);
    return done;
}

const char *wasmtime_prepare(const char *library, const char *guest_file) {
    const char *problem = wasmtime_engine_prepare(library);
    if (problem)
        return problem;
    original = wasm_file_read(guest_file);
    struct wasmtime_guest *first = calloc(1, sizeof *first);
    bool done = original.bytes && first && prepare_images(first);
    free(first);
    return done ? NULL : "the guest does not run under it";
}

/* ---- contenders ---- */

static void peer_close(void *self) {
    struct peer *peer = self;
    wasmtime_guest_close(&peer->guest);
    wasmtime_image_done(&peer->image);
    free(peer->guest.message.data);
    free(peer->guest.output.data);
    free(peer);
}

static struct peer *peer_new(const struct task *task, inro_str source) {
    struct peer *peer = booted.ready ? calloc(1, sizeof *peer) : NULL;
    if (!peer)
        return NULL;
    struct inro__mp_writer writer = writer_of(peer->run_request, sizeof peer->run_request);
    inro__mp_write_str(&writer, "Noop", 4);
    inro__mp_write_array(&writer, 0);
    inro__mp_write_map(&writer, 0);
    peer->entry = task->source ? ENTRY_EVAL : ENTRY_RUN;
    peer->request = task->source ? (const uint8_t *)source.data : peer->run_request;
    peer->request_length = task->source ? source.length : length_of(&writer);
    return peer;
}

static bool ask(struct peer *peer, uint64_t *digest) {
    return wasmtime_guest_send(&peer->guest, peer->entry, peer->request, peer->request_length) &&
           digest_message(&peer->guest.message, digest);
}

static void *boot_open(const struct task *task, inro_str source) {
    return peer_new(task, source);
}

static bool boot_run(void *self, uint64_t *digest) {
    struct peer *peer = self;
    bool done = wasmtime_guest_open(&peer->guest, &plain) && boot(&peer->guest) && ask(peer, digest);
    wasmtime_guest_close(&peer->guest);
    return done;
}

static void *warm_open(const struct task *task, inro_str source) {
    struct peer *peer = peer_new(task, source);
    if (peer && prepare_guest(&peer->guest, task))
        return peer;
    if (peer)
        peer_close(peer);
    return NULL;
}

static bool warm_run(void *self, uint64_t *digest) {
    return ask(self, digest);
}

static void *snapshot_open(const struct task *task, inro_str source) {
    struct peer *peer = peer_new(task, source);
    if (!peer)
        return NULL;
    peer->used = &booted;
    peer->guest.mailbox = booted_mailbox;
    if (task->source)
        return peer;
    bool done = prepare_guest(&peer->guest, task) && take_snapshot(&peer->guest, &peer->image);
    wasmtime_guest_close(&peer->guest);
    peer->used = &peer->image;
    if (done)
        return peer;
    peer_close(peer);
    return NULL;
}

static bool snapshot_run(void *self, uint64_t *digest) {
    struct peer *peer = self;
    bool done = wasmtime_guest_open(&peer->guest, peer->used) && ask(peer, digest);
    wasmtime_guest_close(&peer->guest);
    return done;
}

const struct contender wasmtime_boot_contender = {"wasmtime, boot+eval", boot_open, boot_run, peer_close};
const struct contender wasmtime_snapshot_contender = {"wasmtime, snapshot", snapshot_open, snapshot_run,
                                                      peer_close};
const struct contender wasmtime_warm_contender = {"wasmtime, warm", warm_open, warm_run, peer_close};
