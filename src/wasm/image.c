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

static const uint8_t zeros[INRO__PAGE];

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

static const uint8_t *booted_page(const struct inro__guest *guest, uint32_t page) {
    const struct inro__booted *memory = guest->booted;
    return page < memory->size / INRO__PAGE && !is_zero_page(memory, page) ? memory->bytes + (size_t)page * INRO__PAGE : NULL;
}

const uint8_t *inro__image_page(const struct inro__image *image, uint32_t page) {
    uint32_t place = image->index ? image->index[page] : 0;
    return place ? image->delta_bytes + (size_t)(place - 1) * INRO__PAGE : booted_page(image->guest, page);
}

static bool page_differs(const struct inro__slot *slot, uint32_t page) {
    const uint8_t *original = booted_page(slot->guest, page);
    return memcmp(slot->instance.w2c_memory.base + (size_t)page * INRO__PAGE, original ? original : zeros, INRO__PAGE) !=
           0;
}

/* Only pages that were opened, or lie past the booted memory, can differ. */
static uint32_t pages_that_differ(const struct inro__slot *slot, uint32_t pages, uint16_t *found) {
    uint32_t count = 0, booted_pages = slot->guest->booted->size / INRO__PAGE;
    for (uint32_t page = 0; page < pages; page++) {
        bool opened = page >= booted_pages || (slot->open[page / 64] >> (page % 64) & 1);
        if (opened && page_differs(slot, page))
            found[count++] = (uint16_t)page;
    }
    return count;
}

static bool image_allocate(struct inro__image *image, uint32_t count) {
    uint32_t pages = image->size / INRO__PAGE;
    image->delta_count = count;
    image->index = inro__alloc_zero(pages * sizeof *image->index);
    if (count == 0)
        return image->index != NULL;
    image->delta_pages = inro__alloc(count * sizeof *image->delta_pages);
    image->delta_bytes = inro__alloc((size_t)count * INRO__PAGE);
    return image->index && image->delta_pages && image->delta_bytes;
}

inro_status inro__image_capture(const struct inro__slot *slot, struct inro__image **out) {
    *out = NULL;
    if (slot->instance.w2c_memory.size > INRO__IMAGE_MAX)
        return INRO_ERR_LIMIT;
    struct inro__image *image = inro__alloc_zero(sizeof *image);
    if (!image)
        return INRO_ERR_MEMORY;
    image->guest = slot->guest;
    image->size = (uint32_t)slot->instance.w2c_memory.size;
    image->stack_pointer = slot->instance.w2c___stack_pointer;
    uint16_t found[INRO__IMAGE_PAGES_MAX];
    if (!image_allocate(image, pages_that_differ(slot, image->size / INRO__PAGE, found))) {
        inro__image_free(image);
        return INRO_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < image->delta_count; i++) {
        image->delta_pages[i] = found[i];
        image->index[found[i]] = (uint16_t)(i + 1);
        memcpy(image->delta_bytes + (size_t)i * INRO__PAGE,
               slot->instance.w2c_memory.base + (size_t)found[i] * INRO__PAGE, INRO__PAGE);
    }
    *out = image;
    return INRO_OK;
}

void inro__image_free(struct inro__image *image) {
    if (!image)
        return;
    inro__free(image->index, image->size / INRO__PAGE * sizeof *image->index);
    inro__free(image->delta_pages, image->delta_count * sizeof *image->delta_pages);
    inro__free(image->delta_bytes, (size_t)image->delta_count * INRO__PAGE);
    inro__free(image, sizeof *image);
}
