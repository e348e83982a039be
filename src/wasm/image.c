/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/image.h"

#include "base/alloc.h"
#include "wasm/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Guests of this build; each has one booted image and at most one descriptor. */
#define GUESTS_MAX 8

static struct {
    pthread_mutex_t lock;
    struct booted_entry {
        struct inro__image image;
        int descriptor;
    } entries[GUESTS_MAX];
    size_t count;
} booted = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void image_before_fork(void) {
    pthread_mutex_lock(&booted.lock);
}

static void image_after_fork(void) {
    pthread_mutex_unlock(&booted.lock);
}

/* The child must not find the lock held by a thread that it does not have. */
__attribute__((constructor)) static void image_watch_forks(void) {
    pthread_atfork(image_before_fork, image_after_fork, image_after_fork);
}

static struct booted_entry *booted_entry(const struct inro__guest *guest) {
    for (size_t i = 0; i < booted.count; i++)
        if (booted.entries[i].image.guest == guest)
            return &booted.entries[i];
    if (booted.count == GUESTS_MAX)
        return NULL;
    struct booted_entry *entry = &booted.entries[booted.count++];
    entry->image = (struct inro__image){
        .guest = guest, .size = guest->booted->size, .stack_pointer = guest->booted->stack_pointer};
    entry->descriptor = -1;
    return entry;
}

const struct inro__image *inro__image_booted(const struct inro__guest *guest) {
    pthread_mutex_lock(&booted.lock);
    struct booted_entry *entry = booted_entry(guest);
    pthread_mutex_unlock(&booted.lock);
    return entry ? &entry->image : NULL;
}

static bool is_zero_page(const struct inro__booted *memory, uint32_t page) {
    return memory->zero_pages[page / 64] >> (page % 64) & 1;
}

static int write_page(int descriptor, const uint8_t *bytes, off_t at) {
    ssize_t done;
    do
        done = pwrite(descriptor, bytes, INRO__PAGE, at);
    while (done < 0 && errno == EINTR);
    return done == INRO__PAGE ? 0 : -1;
}

static int write_pages(int descriptor, const struct inro__booted *memory) {
    for (uint32_t page = 0; page < memory->size / INRO__PAGE; page++) {
        size_t at = (size_t)page * INRO__PAGE;
        if (!is_zero_page(memory, page) && write_page(descriptor, memory->bytes + at, (off_t)at))
            return -1;
    }
    return 0;
}

/* The kernel shares these pages between all slots, and copies one when a slot first writes to it. */
static int descriptor_new(const struct inro__booted *memory) {
    int descriptor = memfd_create("inro-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0)
        return -1;
    /* Sealed: private mappings show what the file holds wherever they have not written yet. */
    if (ftruncate(descriptor, memory->size) || write_pages(descriptor, memory) ||
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)) {
        int cause = errno;
        close(descriptor);
        errno = cause;
        return -1;
    }
    return descriptor;
}

int inro__image_descriptor(const struct inro__guest *guest) {
    pthread_mutex_lock(&booted.lock);
    struct booted_entry *entry = booted_entry(guest);
    errno = ENOSPC;
    if (entry && entry->descriptor < 0)
        entry->descriptor = descriptor_new(guest->booted);
    int descriptor = entry ? entry->descriptor : -1;
    pthread_mutex_unlock(&booted.lock);
    return descriptor;
}

const uint8_t *inro__image_booted_page(const struct inro__guest *guest, uint32_t page) {
    const struct inro__booted *memory = guest->booted;
    return page < memory->size / INRO__PAGE && !is_zero_page(memory, page)
               ? memory->bytes + (size_t)page * INRO__PAGE
               : NULL;
}

static const uint8_t *booted_or_zeros(const struct inro__guest *guest, uint32_t page) {
    static const uint8_t zeros[INRO__PAGE];
    const uint8_t *bytes = inro__image_booted_page(guest, page);
    return bytes ? bytes : zeros;
}

/* ---- capturing ---- */

static const uint8_t *here(const struct inro__slot *slot, uint32_t page) {
    return slot->instance.w2c_memory.base + (size_t)page * INRO__PAGE;
}

static uint64_t lines_that_differ(const struct inro__slot *slot, uint32_t page) {
    const uint8_t *now = here(slot, page), *booted_bytes = booted_or_zeros(slot->guest, page);
    uint64_t mask = 0;
    if (memcmp(now, booted_bytes, INRO__PAGE) == 0)
        return 0;
    for (unsigned line = 0; line < INRO__PAGE / INRO__LINE; line++)
        if (memcmp(now + (size_t)line * INRO__LINE, booted_bytes + (size_t)line * INRO__LINE, INRO__LINE) != 0)
            mask |= (uint64_t)1 << line;
    return mask;
}

/* What differs, by page. Only pages that were opened, or lie past the booted memory, can. */
struct survey {
    uint32_t count;
    uint32_t lines;
    uint16_t pages[INRO__IMAGE_PAGES_MAX];
    uint64_t masks[INRO__IMAGE_PAGES_MAX];
};

static void take_survey(const struct inro__slot *slot, struct survey *survey) {
    uint32_t pages = (uint32_t)(slot->instance.w2c_memory.size / INRO__PAGE);
    uint32_t booted_pages = slot->guest->booted->size / INRO__PAGE;
    survey->count = survey->lines = 0;
    for (uint32_t page = 0; page < pages; page++) {
        bool opened = page >= booted_pages || (slot->open[page / 64] >> (page % 64) & 1);
        uint64_t mask = opened ? lines_that_differ(slot, page) : 0;
        if (mask == 0)
            continue;
        survey->pages[survey->count] = (uint16_t)page;
        survey->masks[survey->count++] = mask;
        survey->lines += (uint32_t)__builtin_popcountll(mask);
    }
}

static bool image_allocate(struct inro__image *image, const struct survey *survey) {
    image->delta_count = survey->count;
    image->lines_count = survey->lines;
    if (survey->count == 0)
        return true;
    image->delta_pages = inro__alloc(survey->count * sizeof *image->delta_pages);
    image->delta_masks = inro__alloc(survey->count * sizeof *image->delta_masks);
    image->lines = inro__alloc((size_t)survey->lines * INRO__LINE);
    return image->delta_pages && image->delta_masks && image->lines;
}

static void copy_lines(const struct inro__slot *slot, struct inro__image *image) {
    uint8_t *to = image->lines;
    for (uint32_t i = 0; i < image->delta_count; i++)
        for (uint64_t mask = image->delta_masks[i]; mask; mask &= mask - 1, to += INRO__LINE)
            memcpy(to, here(slot, image->delta_pages[i]) + (size_t)__builtin_ctzll(mask) * INRO__LINE,
                   INRO__LINE);
}

static inro_status capture(const struct inro__slot *slot, const struct survey *survey,
                           struct inro__image **out) {
    struct inro__image *image = inro__alloc_zero(sizeof *image);
    if (!image)
        return INRO_ERR_MEMORY;
    image->guest = slot->guest;
    image->size = (uint32_t)slot->instance.w2c_memory.size;
    image->stack_pointer = slot->instance.w2c___stack_pointer;
    if (!image_allocate(image, survey)) {
        inro__image_free(image);
        return INRO_ERR_MEMORY;
    }
    if (survey->count > 0) {
        memcpy(image->delta_pages, survey->pages, survey->count * sizeof *image->delta_pages);
        memcpy(image->delta_masks, survey->masks, survey->count * sizeof *image->delta_masks);
    }
    copy_lines(slot, image);
    *out = image;
    return INRO_OK;
}

inro_status inro__image_capture(const struct inro__slot *slot, struct inro__image **out) {
    *out = NULL;
    if (slot->instance.w2c_memory.size > INRO__IMAGE_MAX)
        return INRO_ERR_LIMIT;
    struct survey *survey = inro__alloc(sizeof *survey); /* 40 KiB: too much for a small thread's stack */
    if (!survey)
        return INRO_ERR_MEMORY;
    take_survey(slot, survey);
    inro_status status = capture(slot, survey, out);
    inro__free(survey, sizeof *survey);
    return status;
}

void inro__image_expand(const struct inro__image *image, uint8_t *out) {
    const uint8_t *from = image->lines;
    for (uint32_t i = 0; i < image->delta_count; i++, out += INRO__PAGE) {
        memcpy(out, booted_or_zeros(image->guest, image->delta_pages[i]), INRO__PAGE);
        for (uint64_t mask = image->delta_masks[i]; mask; mask &= mask - 1, from += INRO__LINE)
            memcpy(out + (size_t)__builtin_ctzll(mask) * INRO__LINE, from, INRO__LINE);
    }
}

void inro__image_free(struct inro__image *image) {
    if (!image)
        return;
    inro__free(image->delta_pages, image->delta_count * sizeof *image->delta_pages);
    inro__free(image->delta_masks, image->delta_count * sizeof *image->delta_masks);
    inro__free(image->lines, (size_t)image->lines_count * INRO__LINE);
    inro__free(image, sizeof *image);
}
