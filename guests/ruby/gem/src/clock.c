/* The time and entropy: what the permissive profile opens. Under the hermetic one the host answers zeros.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

#include <mruby/class.h>
#include <mruby/presym.h>
#include <mruby/string.h>

enum { ENTROPY_CHUNK = 256, ENTROPY_MAX = 65536 };

/* Inro.clock: nanoseconds since the epoch. */
static mrb_value clock_now(mrb_state *mrb, mrb_value self) {
    (void)self;
    return mrb_int_value(mrb, (mrb_int)host_clock());
}

/* Inro.entropy(n): a String of n random bytes. The host gives no more than a chunk at once. */
static mrb_value clock_entropy(mrb_state *mrb, mrb_value self) {
    mrb_int length;
    (void)self;
    mrb_get_args(mrb, "i", &length);
    if (length < 1 || length > ENTROPY_MAX)
        mrb_raisef(mrb, E_ARGUMENT_ERROR, "entropy gives 1 to %d bytes, not %i", ENTROPY_MAX, length);
    mrb_value bytes = mrb_str_new(mrb, NULL, length);
    for (mrb_int at = 0; at < length; at += ENTROPY_CHUNK) {
        mrb_int chunk = length - at < ENTROPY_CHUNK ? length - at : ENTROPY_CHUNK;
        host_entropy(RSTRING_PTR(bytes) + at, (uint32_t)chunk);
    }
    return bytes;
}

void clock_init(mrb_state *mrb, struct RClass *inro) {
    mrb_define_module_function_id(mrb, inro, MRB_SYM(clock), clock_now, MRB_ARGS_NONE());
    mrb_define_module_function_id(mrb, inro, MRB_SYM(entropy), clock_entropy, MRB_ARGS_REQ(1));
}
