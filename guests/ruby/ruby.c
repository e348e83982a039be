/* The Ruby guest, as the runtime sees it. Built twice: for baking its image, and with the image.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "ruby.h"
#include "wasm/guest.h"

extern const struct inro__layout inro__ruby_layout;
uint32_t inro__ruby_export_inro_boot(struct inro__instance *);
uint32_t inro__ruby_export_inro_mailbox(struct inro__instance *, uint32_t);
uint64_t inro__ruby_export_inro_setup(struct inro__instance *, uint32_t, uint32_t);
uint64_t inro__ruby_export_inro_load(struct inro__instance *, uint32_t, uint32_t);
uint64_t inro__ruby_export_inro_check(struct inro__instance *, uint32_t, uint32_t);
uint64_t inro__ruby_export_inro_eval(struct inro__instance *, uint32_t, uint32_t);
uint64_t inro__ruby_export_inro_run(struct inro__instance *, uint32_t, uint32_t);
uint64_t inro__ruby_export_inro_yield(struct inro__instance *, uint32_t, uint32_t);
void inro__ruby_call_body(struct inro__instance *, uint32_t, uint32_t);

#ifndef INRO_BAKING
#include "ruby_image.h"
extern const uint8_t inro__ruby_image[] __attribute__((visibility("hidden")));
static const uint64_t zero_pages[] = IMAGE_ZERO_PAGES;
static const struct inro__booted booted = {inro__ruby_image, zero_pages, IMAGE_SIZE, IMAGE_STACK_POINTER,
                                           IMAGE_MAILBOX};
#define BOOTED &booted
#else
#define BOOTED NULL
#endif

const struct inro__guest inro__ruby_guest = {
    .name = "ruby",
    .layout = &inro__ruby_layout,
    .booted = BOOTED,
    .boot = inro__ruby_export_inro_boot,
    .mailbox = inro__ruby_export_inro_mailbox,
    .setup = inro__ruby_export_inro_setup,
    .load = inro__ruby_export_inro_load,
    .check = inro__ruby_export_inro_check,
    .eval = inro__ruby_export_inro_eval,
    .run = inro__ruby_export_inro_run,
    .yield = inro__ruby_export_inro_yield,
    .call_body = inro__ruby_call_body,
};
