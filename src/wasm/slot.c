/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/slot.h"

#include "base/alloc.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* One page fault costs as much as some sixty copies of a page. A page that is written with what it held before
 * looks clean and faults again at once: so it takes twice as long each time until it is made cold. */
#define SURVEY_RESETS 16
#define SURVEYS_MAX 4
#define TIMES_COOLED_MAX 5

static uint8_t *memory_of(const struct inro__slot *slot) {
    return slot->instance.w2c_memory.base;
}

static uint32_t booted_size(const struct inro__slot *slot) {
    return slot->guest->booted->size;
}

/* ---- making and unmaking ---- */

static bool map_stack(struct inro__slot *slot) {
    size_t length = INRO__STACK_GUARD + INRO__GUEST_STACK;
    uint8_t *all =
        mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (all == MAP_FAILED)
        return false;
    slot->stack = all + INRO__STACK_GUARD;
    return mprotect(slot->stack, INRO__GUEST_STACK, PROT_READ | PROT_WRITE) == 0;
}

static bool reserve(struct inro__slot *slot) {
    uint8_t *all = mmap(NULL, INRO__PRE_GUARD + INRO__RESERVE, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return false;
    slot->reservation = all;
    slot->instance.w2c_memory.base = all + INRO__PRE_GUARD;
    /* A crash dump of the host must not try to write 8 GiB of nothing. */
    madvise(all, INRO__PRE_GUARD + INRO__RESERVE, MADV_DONTDUMP);
    return true;
}

static inro_status slot_new(const struct inro__guest *guest, struct inro__slot **out, inro_error *err) {
    *out = NULL;
    struct inro__slot *slot = inro__alloc_zero(sizeof *slot);
    if (!slot)
        return inro__fail(err, INRO_ERR_MEMORY, 0, "no memory for a slot");
    slot->guest = guest;
    slot->instance.Z_inro_instance = &slot->instance;
    atomic_store(&slot->deadline_ns, UINT64_MAX);
    if (!reserve(slot) || !map_stack(slot)) {
        inro_status status =
            inro__fail(err, INRO_ERR_SYSTEM, errno,
                       "no address space for a sandbox slot (8 GiB, see ulimit -v): %s", strerror(errno));
        inro__slot_free(slot);
        return status;
    }
    *out = slot;
    return INRO_OK;
}

static inro_status map_booted(struct inro__slot *slot, inro_error *err) {
    int descriptor = inro__image_descriptor(slot->guest);
    if (descriptor < 0)
        return inro__fail(err, INRO_ERR_SYSTEM, errno, "no memory file for the guest's image: %s",
                          strerror(errno));
    if (mmap(memory_of(slot), booted_size(slot), PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, descriptor,
             0) == MAP_FAILED)
        return inro__fail(err, INRO_ERR_SYSTEM, errno, "mapping the guest's image: %s", strerror(errno));
    return INRO_OK;
}

static void wear(struct inro__slot *slot, const struct inro__image *image) {
    slot->image = image;
    slot->instance.w2c_memory.size = image->size;
    slot->instance.w2c___stack_pointer = image->stack_pointer;
    slot->memory_peak = image->size;
    slot->grown_end = image->size;
}

inro_status inro__slot_new(const struct inro__guest *guest, struct inro__slot **out, inro_error *err) {
    inro_status status = slot_new(guest, out, err);
    if (!*out)
        return status;
    status = map_booted(*out, err);
    if (status != INRO_OK) {
        inro__slot_free(*out);
        *out = NULL;
        return status;
    }
    wear(*out, inro__image_booted(guest));
    return INRO_OK;
}

inro_status inro__slot_new_unbooted(const struct inro__guest *guest, struct inro__slot **out, inro_error *err) {
    inro_status status = slot_new(guest, out, err);
    if (!*out)
        return status;
    struct inro__slot *slot = *out;
    const struct inro__layout *layout = guest->layout;
    slot->instance.w2c_memory.size = (uint64_t)layout->pages * INRO__WASM_PAGE;
    slot->instance.w2c___stack_pointer = layout->stack_pointer;
    slot->grown_end = slot->memory_peak = slot->instance.w2c_memory.size;
    if (mprotect(memory_of(slot), slot->instance.w2c_memory.size, PROT_READ | PROT_WRITE)) {
        inro__slot_free(slot);
        *out = NULL;
        return inro__fail(err, INRO_ERR_SYSTEM, errno, "memory of an unbooted guest");
    }
    for (size_t i = 0; i < layout->segments_count; i++)
        memcpy(memory_of(slot) + layout->segments[i].address, layout->segments[i].bytes,
               layout->segments[i].length);
    return INRO_OK;
}

void inro__slot_free(struct inro__slot *slot) {
    if (!slot)
        return;
    if (slot->reservation)
        munmap(slot->reservation, INRO__PRE_GUARD + INRO__RESERVE);
    if (slot->stack)
        munmap(slot->stack - INRO__STACK_GUARD, INRO__STACK_GUARD + INRO__GUEST_STACK);
    inro__free(slot->dressed_bytes, (size_t)slot->dressed_count * INRO__PAGE);
    inro__free(slot, sizeof *slot);
}

/* ---- pages ---- */

static bool is_open(const struct inro__slot *slot, uint32_t page) {
    return slot->open[page / 64] >> (page % 64) & 1;
}

bool inro__slot_open_page(struct inro__slot *slot, uint32_t page) {
    if (mprotect(memory_of(slot) + (size_t)page * INRO__PAGE, INRO__PAGE, PROT_READ | PROT_WRITE))
        return false;
    if (!is_open(slot, page)) {
        slot->open[page / 64] |= (uint64_t)1 << (page % 64);
        slot->clean_surveys[page] = 0;
        slot->hot[slot->hot_count++] = (uint16_t)page;
    }
    return true;
}

bool inro__slot_has(const struct inro__slot *slot, struct inro__range range) {
    return (uint64_t)range.address + range.length <= slot->instance.w2c_memory.size;
}

const uint8_t *inro__slot_read(const struct inro__slot *slot, struct inro__range range) {
    return inro__slot_has(slot, range) ? memory_of(slot) + range.address : NULL;
}

/* The pages of the image; those that the guest grew past it are open anyway. */
static uint32_t image_pages(const struct inro__slot *slot) {
    return slot->image ? slot->image->size / INRO__PAGE : 0;
}

uint8_t *inro__slot_write(struct inro__slot *slot, struct inro__range range) {
    if (!inro__slot_has(slot, range))
        return NULL;
    uint32_t first = range.address / INRO__PAGE;
    uint64_t past = ((uint64_t)range.address + range.length + INRO__PAGE - 1) / INRO__PAGE;
    for (uint32_t page = first; page < past && page < image_pages(slot); page++)
        if (!is_open(slot, page) && !inro__slot_open_page(slot, page))
            return NULL;
    return memory_of(slot) + range.address;
}

/* ---- reset ---- */

static bool is_zero(const uint8_t *page) {
    return page[0] == 0 && memcmp(page, page + 1, INRO__PAGE - 1) == 0;
}

static uint8_t *page_at(const struct inro__slot *slot, uint32_t page) {
    return memory_of(slot) + (size_t)page * INRO__PAGE;
}

/* What a page holds in the worn image; NULL for zeros. */
static const uint8_t *original_of(const struct inro__slot *slot, uint32_t page) {
    uint32_t place = slot->dressed_place[page];
    return place ? slot->dressed_bytes + (size_t)(place - 1) * INRO__PAGE
                 : inro__image_booted_page(slot->guest, page);
}

static void restore_page(struct inro__slot *slot, uint32_t page) {
    const uint8_t *original = original_of(slot, page);
    if (original)
        memcpy(page_at(slot, page), original, INRO__PAGE);
    else
        memset(page_at(slot, page), 0, INRO__PAGE);
}

static bool is_clean(const struct inro__slot *slot, uint32_t page) {
    const uint8_t *original = original_of(slot, page);
    return original ? memcmp(page_at(slot, page), original, INRO__PAGE) == 0 : is_zero(page_at(slot, page));
}

/* Pages past the booted memory have no mapping to fall back on; they stay open as long as the image is worn. */
static bool make_cold(struct inro__slot *slot, uint32_t page) {
    if (page >= booted_size(slot) / INRO__PAGE ||
        mprotect(memory_of(slot) + (size_t)page * INRO__PAGE, INRO__PAGE, PROT_READ))
        return false;
    slot->open[page / 64] &= ~((uint64_t)1 << (page % 64));
    if (slot->times_cooled[page] < TIMES_COOLED_MAX)
        slot->times_cooled[page]++;
    return true;
}

/* Copying a page costs less than comparing it first, so which pages are still in use is only looked at in
 * every SURVEY_RESETS-th reset. A page that was clean in SURVEYS_MAX surveys in a row is made cold. */
static void survey_hot_pages(struct inro__slot *slot) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < slot->hot_count; i++) {
        uint16_t page = slot->hot[i];
        if (!is_clean(slot, page)) {
            restore_page(slot, page);
            slot->clean_surveys[page] = 0;
        } else if (++slot->clean_surveys[page] >= SURVEYS_MAX << slot->times_cooled[page] &&
                   make_cold(slot, page)) {
            continue;
        }
        slot->hot[kept++] = page;
    }
    slot->hot_count = kept;
}

static void restore_hot_pages(struct inro__slot *slot) {
    if (++slot->resets % SURVEY_RESETS == 0) {
        survey_hot_pages(slot);
        return;
    }
    for (uint32_t i = 0; i < slot->hot_count; i++)
        restore_page(slot, slot->hot[i]);
}

/* Gives [from, grown_end) back: unreadable for the guest, and zero when it grows again. */
static bool give_back(struct inro__slot *slot, uint64_t from) {
    if (slot->grown_end <= from)
        return true;
    uint64_t length = slot->grown_end - from;
    slot->grown_end = from;
    return mmap(memory_of(slot) + from, length, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

bool inro__slot_reset(struct inro__slot *slot) {
    restore_hot_pages(slot);
    if (!give_back(slot, slot->image->size))
        return false;
    wear(slot, slot->image);
    slot->trapped = INRO__TRAP_NONE;
    return true;
}

/* ---- changing images ---- */

static void forget_dressed(struct inro__slot *slot) {
    for (uint32_t i = 0; i < slot->dressed_count; i++)
        slot->dressed_place[slot->dressed[i]] = 0;
    inro__free(slot->dressed_bytes, (size_t)slot->dressed_count * INRO__PAGE);
    slot->dressed_bytes = NULL;
    slot->dressed_count = 0;
}

/* A page of the worn image may have been made cold: it was clean, but with that image's bytes. */
static bool open_dressed(struct inro__slot *slot) {
    for (uint32_t i = 0; i < slot->dressed_count; i++)
        if (!is_open(slot, slot->dressed[i]) && !inro__slot_open_page(slot, slot->dressed[i]))
            return false;
    return true;
}

/* From any image to the booted one. The worn one is not looked at: while the slot is on its way from the pool's
 * list to another sandbox, the sandbox that it belonged to may be freed, and its image with it. */
static bool undress(struct inro__slot *slot) {
    const struct inro__image *plain = inro__image_booted(slot->guest);
    uint64_t worn_size = slot->grown_end; /* of an idle slot */
    uint32_t booted_pages = plain->size / INRO__PAGE, kept = 0;
    if (!open_dressed(slot))
        return false;
    forget_dressed(slot);
    for (uint32_t i = 0; i < slot->hot_count; i++) {
        uint16_t page = slot->hot[i];
        if (page < booted_pages)
            slot->hot[kept++] = page;
        else
            slot->open[page / 64] &= ~((uint64_t)1 << (page % 64));
    }
    slot->hot_count = kept;
    wear(slot, plain);
    slot->grown_end = worn_size;
    restore_hot_pages(slot);
    return give_back(slot, plain->size);
}

/* The image's own pages, whole, as what resets copy from. */
static bool take_dressed(struct inro__slot *slot, const struct inro__image *image) {
    if (image->delta_count == 0)
        return true;
    slot->dressed_bytes = inro__alloc((size_t)image->delta_count * INRO__PAGE);
    if (!slot->dressed_bytes)
        return false;
    inro__image_expand(image, slot->dressed_bytes);
    slot->dressed_count = image->delta_count;
    for (uint32_t i = 0; i < image->delta_count; i++) {
        slot->dressed[i] = image->delta_pages[i];
        slot->dressed_place[image->delta_pages[i]] = (uint16_t)(i + 1);
    }
    return true;
}

static bool put_on(struct inro__slot *slot, const struct inro__image *image) {
    uint32_t plain_size = slot->image->size;
    if (!take_dressed(slot, image) ||
        (image->size > plain_size &&
         mprotect(memory_of(slot) + plain_size, image->size - plain_size, PROT_READ | PROT_WRITE)))
        return false;
    wear(slot, image);
    for (uint32_t page = plain_size / INRO__PAGE; page < image->size / INRO__PAGE; page++)
        if (!inro__slot_open_page(slot, page))
            return false;
    if (!open_dressed(slot))
        return false;
    for (uint32_t i = 0; i < slot->dressed_count; i++)
        restore_page(slot, slot->dressed[i]);
    return true;
}

inro_status inro__slot_dress(struct inro__slot *slot, const struct inro__image *image, inro_error *err) {
    if (slot->image == image)
        return INRO_OK;
    bool plain = slot->image == inro__image_booted(slot->guest) || undress(slot);
    if (plain && (image == slot->image || put_on(slot, image)))
        return INRO_OK;
    if (image->delta_count > 0 && slot->dressed_count == 0)
        return inro__fail(err, INRO_ERR_MEMORY, 0, "no memory for the pages of an image");
    return inro__fail(err, INRO_ERR_SYSTEM, errno, "opening the pages of an image: %s", strerror(errno));
}

/* ---- accounts ---- */

uint64_t inro__slot_used(const struct inro__slot *slot, uint64_t limit) {
    uint64_t used = slot->memory_peak - slot->image->size;
    for (uint32_t i = 0; i < slot->hot_count; i++)
        if (!original_of(slot, slot->hot[i]) && !is_zero(page_at(slot, slot->hot[i])))
            used += INRO__PAGE;
    if (used > 0)
        used += INRO__PAGE; /* the pages at both ends were in use before, in part */
    return used < limit ? used : limit;
}

/* ---- the tests' view ---- */

bool inro__slot_is_pristine(const struct inro__slot *slot) {
    const struct inro__image *image = slot->image;
    if (slot->instance.w2c_memory.size != image->size ||
        slot->instance.w2c___stack_pointer != image->stack_pointer || slot->grown_end != image->size)
        return false;
    for (uint32_t page = 0; page < image->size / INRO__PAGE; page++)
        if (!is_clean(slot, page))
            return false;
    return true;
}
