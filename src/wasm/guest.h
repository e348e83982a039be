/* A translated guest, as the build made it: code, booted image, entry points. And what a host gives it.
 *
 * The same shape serves every language: a guest boots, takes messages in a mailbox, answers messages, and
 * calls the host for a service, for output, for the clock. The messages' content is the sandbox's concern.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__GUEST_H
#define INRO__GUEST_H

#include "wasm/instance.h"

#include <stddef.h>

#define INRO__WASM_PAGE 65536u
#define INRO__MAILBOX 8192u

/* A run of bytes in guest memory, as a guest names it. Never trusted. */
struct inro__range {
    uint32_t address;
    uint32_t length;
};

struct inro__segment {
    uint32_t address;
    const uint8_t *bytes;
    uint32_t length;
};

/* How a guest's memory looks before it has booted. */
struct inro__layout {
    uint32_t pages;
    uint32_t pages_max;
    uint32_t stack_pointer;
    const struct inro__segment *segments;
    size_t segments_count;
};

/* The booted memory, baked at build time. */
struct inro__booted {
    const uint8_t *bytes;       /* aligned to the host's pages */
    const uint64_t *zero_pages; /* a bit for each page that holds nothing but zeros */
    uint32_t size;
    uint32_t stack_pointer;
    uint32_t mailbox; /* where messages of up to INRO__MAILBOX bytes go */
};

/* Entry points take a range of the mailbox (a message) and answer a packed range (address << 32 | length). */
struct inro__guest {
    const char *name;
    const struct inro__layout *layout;
    const struct inro__booted *booted;
    uint32_t (*boot)(struct inro__instance *);
    uint32_t (*mailbox)(struct inro__instance *, uint32_t length);
    uint64_t (*setup)(struct inro__instance *, uint32_t address, uint32_t length);
    uint64_t (*load)(struct inro__instance *, uint32_t address, uint32_t length);
    uint64_t (*check)(struct inro__instance *, uint32_t address, uint32_t length);
    uint64_t (*eval)(struct inro__instance *, uint32_t address, uint32_t length);
    uint64_t (*run)(struct inro__instance *, uint32_t address, uint32_t length);
    uint64_t (*yield)(struct inro__instance *, uint32_t address, uint32_t length);
    void (*call_body)(struct inro__instance *, uint32_t body, uint32_t argument);
};

struct inro__slot;

/* What a slot's owner does for the guest. Each runs in host state on the caller's stack; ranges are not yet
 * checked (use inro__slot_read). A trap other than NONE stops the guest. */
struct inro__guest_host {
    enum inro__trap (*write)(void *user, struct inro__slot *slot, uint32_t stream, struct inro__range range);
    enum inro__trap (*call)(void *user, struct inro__slot *slot, uint32_t target, struct inro__range request,
                            uint32_t flags, uint64_t *reply);
    enum inro__trap (*clock)(void *user, struct inro__slot *slot, uint64_t *nanoseconds);
    enum inro__trap (*entropy)(void *user, struct inro__slot *slot, struct inro__range range);
};

extern const struct inro__guest inro__ruby_guest;

#endif
