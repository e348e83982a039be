/* Boots the guest once, at build time, and writes its memory to a file.
 *
 * Usage: bake IMAGE-FILE HEADER-FILE
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "wasm/enter.h"
#include "wasm/slot.h"
#include "wasm/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn static void fail(const char *what) {
    fprintf(stderr, "bake: %s\n", what);
    exit(1);
}

static enum inro__trap no_write(void *user, struct inro__slot *slot, uint32_t stream,
                                struct inro__range range) {
    (void)user;
    const uint8_t *bytes = inro__slot_read(slot, range);
    if (bytes && (stream == 1 || stream == 2))
        fprintf(stderr, "bake: guest: %.*s\n", (int)range.length, (const char *)bytes);
    return INRO__TRAP_NONE;
}

static enum inro__trap no_call(void *user, struct inro__slot *slot, uint32_t target, struct inro__range range,
                               uint32_t flags, uint64_t *reply) {
    (void)user, (void)slot, (void)target, (void)range, (void)flags, (void)reply;
    return INRO__TRAP_IMPORT;
}

static enum inro__trap no_clock(void *user, struct inro__slot *slot, uint64_t *answer) {
    (void)user, (void)slot, (void)answer;
    return INRO__TRAP_IMPORT;
}

static enum inro__trap no_entropy(void *user, struct inro__slot *slot, struct inro__range range) {
    (void)user, (void)slot, (void)range;
    return INRO__TRAP_IMPORT;
}

static uint64_t boot(struct inro__instance *instance, uint32_t a, uint32_t b) {
    (void)a, (void)b;
    return inro__ruby_guest.boot(instance);
}

static uint64_t mailbox(struct inro__instance *instance, uint32_t length, uint32_t b) {
    (void)b;
    return inro__ruby_guest.mailbox(instance, length);
}

static void write_header(const char *path, const struct inro__slot *slot, uint64_t mailbox_address) {
    static const uint8_t zeros[INRO__PAGE];
    FILE *file = fopen(path, "w");
    if (!file)
        fail("writing the header");
    uint64_t size = slot->instance.w2c_memory.size;
    fprintf(file, "#define IMAGE_SIZE %lluu\n#define IMAGE_STACK_POINTER %uu\n#define IMAGE_MAILBOX %lluu\n",
            (unsigned long long)size, slot->instance.w2c___stack_pointer, (unsigned long long)mailbox_address);
    fprintf(file, "#define IMAGE_ZERO_PAGES {");
    for (uint64_t first = 0; first < size / INRO__PAGE; first += 64) {
        uint64_t bits = 0;
        for (uint64_t page = first; page < first + 64 && page < size / INRO__PAGE; page++)
            if (memcmp(slot->instance.w2c_memory.base + page * INRO__PAGE, zeros, INRO__PAGE) == 0)
                bits |= (uint64_t)1 << (page - first);
        fprintf(file, "0x%llxu, ", (unsigned long long)bits);
    }
    fprintf(file, "}\n");
    if (fclose(file) != 0)
        fail("writing the header");
}

static void write_file(const char *path, const void *bytes, size_t length) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, length, file) != length || fclose(file) != 0)
        fail("writing a file");
}

int main(int argc, char **argv) {
    static const struct inro__guest_host host = {no_write, no_call, no_clock, no_entropy};
    struct inro__slot *slot;
    inro_error error;
    uint64_t answer = 1, mailbox_address = 0;
    if (argc != 3)
        fail("usage: bake IMAGE-FILE HEADER-FILE");
    if (inro__enter_prepare(&error) != INRO_OK ||
        inro__slot_new_unbooted(&inro__ruby_guest, &slot, &error) != INRO_OK ||
        inro__watch_start(slot, UINT64_MAX, &error) != INRO_OK)
        fail(error.message);
    slot->host = &host;
    slot->memory_max = INRO__IMAGE_MAX;
    enum inro__trap trap = inro__enter(slot, boot, 0, 0, &answer);
    if (trap == INRO__TRAP_NONE && answer == 0)
        trap = inro__enter(slot, mailbox, 0, 0, &mailbox_address);
    if (trap != INRO__TRAP_NONE || answer != 0) {
        fprintf(stderr, "bake: trap %d, boot answered %llu\n", (int)trap, (unsigned long long)answer);
        return 1;
    }
    write_header(argv[2], slot, mailbox_address);
    write_file(argv[1], slot->instance.w2c_memory.base, slot->instance.w2c_memory.size);
    return 0;
}
