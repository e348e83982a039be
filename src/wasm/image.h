/* An image: the memory that an invocation starts from, as pages that differ from the guest's booted memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__IMAGE_H
#define INRO__IMAGE_H

#include "wasm/guest.h"
#include <inro/base.h>

struct inro__slot;

/* Pages are compared in lines: a bound service changes a few bytes here and there, and a thousand idle
 * sandboxes should not each keep whole pages for them. */
#define INRO__LINE 64u

struct inro__image {
    const struct inro__guest *guest;
    uint32_t size; /* bytes; at least the booted size */
    uint32_t stack_pointer;
    uint32_t delta_count;
    uint32_t lines_count;
    uint16_t *delta_pages; /* ascending page numbers */
    uint64_t *delta_masks; /* for each, a bit for each line that differs */
    uint8_t *lines;        /* those lines, in order */
};

/* The image without deltas of a guest; static, never freed. */
const struct inro__image *inro__image_booted(const struct inro__guest *guest);

/* Takes what a quiet slot (entered, but no guest code running) differs from its guest's booted memory.
 * Expected: INRO_ERR_LIMIT (larger than INRO__IMAGE_MAX), INRO_ERR_MEMORY. */
INRO_MUST_CHECK inro_status inro__image_capture(const struct inro__slot *slot, struct inro__image **out);

/* Frees a captured image; no slot may wear it. NULL is fine. */
void inro__image_free(struct inro__image *image);

/* The booted bytes of a page, or NULL for a page of zeros. */
const uint8_t *inro__image_booted_page(const struct inro__guest *guest, uint32_t page);

/* Writes the image's delta pages, whole, one after the other into `out` (delta_count pages). */
void inro__image_expand(const struct inro__image *image, uint8_t *out);

/* A descriptor of the booted memory for private mappings, made at first use; -1 with errno. */
int inro__image_descriptor(const struct inro__guest *guest);

#endif
