/* A slot: reserved address space in which one guest at a time runs, and the way back to its image.
 *
 * Layout of the reservation, from low to high addresses:
 *
 *   guard | image pages | grown pages | nothing (up to 4 GiB of index + 4 GiB of offset) | guard
 *
 * Image pages are a private mapping of the booted image. Cold ones are read-only; the first write faults, and
 * the handler opens the page and puts it on the hot list. Hot pages stay open and are copied back at each
 * reset; one that turns out to stay clean is made cold again. So after a reset
 * every byte equals the image, whatever the guest did, and no page fault is paid for what guests always touch.
 * Grown pages are given back. Host writes open their pages first, through inro__slot_write.
 *
 * A slot is used by one thread at a time. SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__SLOT_H
#define INRO__SLOT_H

#include "wasm/guest.h"
#include "wasm/image.h"
#include <inro/base.h>

#include <stdatomic.h>

#define INRO__PAGE 4096u
/* Images may grow (baked snippets) up to this; a larger one is not baked. */
#define INRO__IMAGE_MAX 16777216u
#define INRO__IMAGE_PAGES_MAX (INRO__IMAGE_MAX / INRO__PAGE)
#define INRO__GUEST_STACK 4194304u
#define INRO__STACK_GUARD 262144u
/* 32-bit index + 32-bit offset + the widest access, rounded up: the guard behind. */
#define INRO__RESERVE (((uint64_t)8 << 30) + INRO__WASM_PAGE)
#define INRO__PRE_GUARD ((uint64_t)1 << 20)

/* Who may touch the slot now; the watchdog changes GUEST to KILL and on, everything else is the thread's own.
 */
enum inro__slot_state {
    INRO__SLOT_IDLE, /* in the pool, or between two entries */
    INRO__SLOT_GUEST,
    INRO__SLOT_HOST, /* guest frames exist, host code runs */
    INRO__SLOT_KILL, /* a signal is about to be sent to the thread, which must wait for it in guest state */
    INRO__SLOT_KILL_SENT, /* it has been sent */
    INRO__SLOT_KILL_AGAIN /* it came at a bad moment, the watchdog has to send another */
};

struct inro__activation;

struct inro__slot {
    struct inro__instance instance; /* first: imports get its address */
    const struct inro__guest *guest;
    const struct inro__image *image;  /* what the memory equals when idle; NULL while booting */
    struct inro__activation *entered; /* innermost entry, or NULL */
    uint8_t *reservation;
    uint8_t *stack; /* lowest usable byte of the native stack */
    const struct inro__guest_host *host;
    void *host_user;
    uint64_t memory_max;    /* instance size may not pass this */
    uint64_t memory_peak;   /* largest instance size since the reset */
    unsigned kills_put_off; /* since the deadline was set */
    uint64_t grown_end;     /* bytes ever opened past the image since the reset */
    _Atomic int32_t thread; /* kernel's id of the thread inside */
    enum inro__trap trapped;
    _Atomic int state;
    _Atomic uint64_t deadline_ns; /* monotonic; UINT64_MAX: none */
    _Atomic uint64_t expired_ns;  /* the deadline that the watchdog has found passed */
    uint32_t hot_count;
    uint16_t hot[INRO__IMAGE_PAGES_MAX];
    /* The pages that the worn image makes differ from the booted memory: numbers, whole bytes (the slot's own
     * copy, since an image outlives neither its sandbox nor a change of clothes), and place by page, from 1. */
    uint32_t dressed_count;
    uint16_t dressed[INRO__IMAGE_PAGES_MAX];
    uint8_t *dressed_bytes;
    uint16_t dressed_place[INRO__IMAGE_PAGES_MAX];
    uint8_t clean_surveys[INRO__IMAGE_PAGES_MAX]; /* of hot pages */
    uint8_t times_cooled[INRO__IMAGE_PAGES_MAX];  /* since the slot was made; more each time, up to a limit */
    uint32_t resets;
    uint64_t open[INRO__IMAGE_PAGES_MAX / 64];
    struct inro__slot *next; /* in the pool's free list */
    uint32_t number;
};

/* Makes a slot that wears the guest's booted image. */
INRO_MUST_CHECK inro_status inro__slot_new(const struct inro__guest *guest, struct inro__slot **out,
                                           inro_error *err);

/* Makes a slot whose memory is the guest's unbooted layout; for the build's baking tool only. */
INRO_MUST_CHECK inro_status inro__slot_new_unbooted(const struct inro__guest *guest, struct inro__slot **out,
                                                    inro_error *err);

/* Unmaps all of it. NULL is fine. */
void inro__slot_free(struct inro__slot *slot);

/* Makes an idle slot wear `image`; a no-op when it does. On failure the slot can only be freed. */
INRO_MUST_CHECK inro_status inro__slot_dress(struct inro__slot *slot, const struct inro__image *image,
                                             inro_error *err);

/* Brings every byte back to the image. Answers false when that was not possible: then free the slot. */
INRO_MUST_CHECK bool inro__slot_reset(struct inro__slot *slot);

/* Opens a page of the image for writing; async-signal-safe. False when the system refuses. */
bool inro__slot_open_page(struct inro__slot *slot, uint32_t page);

/* Whether a range lies within the guest's memory. */
bool inro__slot_has(const struct inro__slot *slot, struct inro__range range);

/* Lends guest memory for reading, or NULL when the range is not within it. The guest can change the bytes
 * whenever it runs: copy, then check, then use the copy. */
const uint8_t *inro__slot_read(const struct inro__slot *slot, struct inro__range range);

/* Opens the range for writing and lends it, or NULL. */
uint8_t *inro__slot_write(struct inro__slot *slot, struct inro__range range);

/* How much memory the guest has used since the reset: what it grew, and what it wrote of the free pages that
 * the image comes with. At most `limit`. */
uint64_t inro__slot_used(const struct inro__slot *slot, uint64_t limit);

/* Whether all of an idle slot's memory, size and globals equal its image: the property the tests check. */
bool inro__slot_is_pristine(const struct inro__slot *slot);

#endif
