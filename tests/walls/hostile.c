/* The hostile guest's description and its booted memory, which is made here instead of being baked.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "hostile.h"

#include "harness.h"
#include "wasm/pool.h"
#include "wasm/watch.h"

#include <string.h>

extern const struct inro__layout inro__hostile_layout;
void inro__hostile_call_body(struct inro__instance *, uint32_t, uint32_t);

/* The last pages of the image are zeros that nobody stores. */
enum { USED = 3 * 65536 + 12288, PAGES = HOSTILE_SIZE / 4096 };
static uint8_t booted_bytes[HOSTILE_SIZE] __attribute__((aligned(4096)));
static uint64_t zero_pages[PAGES / 64];
static const struct inro__booted booted = {.bytes = booted_bytes,
                                           .zero_pages = zero_pages,
                                           .size = HOSTILE_SIZE,
                                           .stack_pointer = HOSTILE_STACK_POINTER,
                                           .mailbox = 8192};

__attribute__((constructor)) static void boot(void) {
    for (size_t i = 0; i < USED; i++)
        booted_bytes[i] = (uint8_t)(i >> 12 ^ i);
    for (size_t i = 0; i < inro__hostile_layout.segments_count; i++) {
        const struct inro__segment *segment = &inro__hostile_layout.segments[i];
        memcpy(booted_bytes + segment->address, segment->bytes, segment->length);
    }
    for (size_t page = USED / 4096; page < PAGES; page++)
        zero_pages[page / 64] |= (uint64_t)1 << (page % 64);
}

static uint32_t boot_entry(struct inro__instance *instance) {
    return (uint32_t)inro__hostile_export_boot(instance, 0, 0);
}

static uint32_t mailbox_entry(struct inro__instance *instance, uint32_t length) {
    return (uint32_t)inro__hostile_export_mailbox(instance, length, 0);
}

const struct inro__guest inro__hostile_guest = {
    .name = "hostile",
    .layout = &inro__hostile_layout,
    .booted = &booted,
    .boot = boot_entry,
    .mailbox = mailbox_entry,
    .setup = inro__hostile_export_answer,
    .load = inro__hostile_export_answer,
    .check = inro__hostile_export_answer,
    .eval = inro__hostile_export_answer,
    .run = inro__hostile_export_answer,
    .yield = inro__hostile_export_yield,
    .call_body = inro__hostile_call_body,
};

/* ---- a host that lets nothing pass ---- */

static enum inro__trap take_write(void *user, struct inro__slot *slot, uint32_t stream,
                                  struct inro__range range) {
    (void)user;
    return stream <= 3 && inro__slot_read(slot, range) ? INRO__TRAP_NONE : INRO__TRAP_IMPORT;
}

static enum inro__trap refuse_call(void *user, struct inro__slot *slot, uint32_t target,
                                   struct inro__range range, uint32_t flags, uint64_t *reply) {
    (void)user, (void)slot, (void)target, (void)range, (void)flags, (void)reply;
    return INRO__TRAP_IMPORT;
}

static enum inro__trap refuse_clock(void *user, struct inro__slot *slot, uint64_t *answer) {
    (void)user, (void)slot, (void)answer;
    return INRO__TRAP_IMPORT;
}

static enum inro__trap refuse_entropy(void *user, struct inro__slot *slot, struct inro__range range) {
    (void)user, (void)slot, (void)range;
    return INRO__TRAP_IMPORT;
}

static const struct inro__guest_host host = {take_write, refuse_call, refuse_clock, refuse_entropy};

/* ---- entering it ---- */

struct inro__slot *hostile_begin(void) {
    inro_error error;
    struct inro__slot *slot;
    CHECK_INT(inro__enter_prepare(&error), INRO_OK);
    CHECK_INT(inro__pool_take(inro__image_booted(&inro__hostile_guest), &slot, &error), INRO_OK);
    CHECK(inro__slot_is_pristine(slot));
    slot->host = &host;
    slot->host_user = NULL;
    slot->memory_max = HOSTILE_SIZE_MAX;
    CHECK_INT(inro__watch_start(slot, UINT64_MAX, &error), INRO_OK);
    return slot;
}

void hostile_end(struct inro__slot *slot) {
    inro__watch_stop(slot);
    CHECK(inro__slot_reset(slot));
    CHECK(inro__slot_is_pristine(slot));
    inro__pool_give(slot);
}

enum inro__trap hostile_enter(struct inro__slot *slot, inro__entry_fn entry, uint32_t a, uint32_t b,
                              uint64_t *result) {
    uint64_t unused;
    return inro__enter(slot, entry, a, b, result ? result : &unused);
}

enum inro__trap hostile_once(inro__entry_fn entry, uint32_t a, uint32_t b, uint64_t *result) {
    struct inro__slot *slot = hostile_begin();
    enum inro__trap trap = hostile_enter(slot, entry, a, b, result);
    hostile_end(slot);
    slot = hostile_begin();
    uint64_t pages = 0;
    CHECK_INT(hostile_enter(slot, inro__hostile_export_size, 0, 0, &pages), INRO__TRAP_NONE);
    CHECK_INT(pages, HOSTILE_SIZE / INRO__WASM_PAGE);
    hostile_end(slot);
    return trap;
}

void hostile_poke(struct inro__slot *slot, uint32_t address, const void *bytes, size_t length) {
    uint8_t *target = inro__slot_write(slot, (struct inro__range){address, (uint32_t)length});
    CHECK(target != NULL);
    memcpy(target, bytes, length);
}

void hostile_poke_word(struct inro__slot *slot, uint32_t address, uint32_t word) {
    hostile_poke(slot, address, &word, sizeof word);
}

void hostile_deadline(struct inro__slot *slot, uint64_t microseconds) {
    inro_error error;
    CHECK_INT(inro__watch_start(slot, inro__now_ns() + microseconds * 1000, &error), INRO_OK);
}

static void check_idle(struct inro__slot *slot, void *user) {
    if (atomic_load(&slot->state) != INRO__SLOT_IDLE || slot->entered)
        return;
    CHECK(inro__slot_is_pristine(slot));
    ++*(unsigned *)user;
}

unsigned hostile_check_pool(void) {
    unsigned idle = 0;
    inro__pool_each(check_idle, &idle);
    return idle;
}
