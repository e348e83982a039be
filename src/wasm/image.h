/* An image: the memory that an invocation starts from, as pages that differ from the guest's booted memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__IMAGE_H
#define INRO__IMAGE_H

#include "wasm/guest.h"
#include <inro/base.h>

struct inro__slot;

struct inro__image {
    const struct inro__guest *guest;
    uint32_t size; /* bytes; at least the booted size */
    uint32_t stack_pointer;
    uint32_t delta_count;
    uint16_t *delta_pages; /* ascending page numbers */
    uint8_t *delta_bytes;  /* one host page each, in the same order */
    uint16_t *index;       /* by page: 1 + place among the deltas, 0: as booted */
};

/* The image without deltas of a guest; static, never freed. */
const struct inro__image *inro__image_booted(const struct inro__guest *guest);

/* Takes what a quiet slot (entered, but no guest code running) differs from its guest's booted memory.
 * Expected: INRO_ERR_LIMIT (larger than INRO__IMAGE_MAX), INRO_ERR_MEMORY. */
INRO_MUST_CHECK inro_status inro__image_capture(const struct inro__slot *slot, struct inro__image **out);

/* Frees a captured image; no slot may wear it. NULL is fine. */
void inro__image_free(struct inro__image *image);

/* A page's bytes: of the delta, of the booted memory, or NULL for a page of zeros. */
const uint8_t *inro__image_page(const struct inro__image *image, uint32_t page);

/* A descriptor of the booted memory for private mappings, made at first use; -1 with errno. */
int inro__image_descriptor(const struct inro__guest *guest);

#endif
