/* The one primitive of output; everything else is Ruby (mrblib/io.rb).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

#include <mruby/class.h>
#include <mruby/presym.h>
#include <mruby/string.h>

/* Inro.write(fd, text): the number of bytes given to the host, which keeps what its limit allows. */
static mrb_value output_write(mrb_state *mrb, mrb_value self) {
    mrb_int descriptor;
    mrb_value text;
    (void)self;
    mrb_get_args(mrb, "iS", &descriptor, &text);
    if (descriptor != HOST_STDOUT && descriptor != HOST_STDERR)
        mrb_raise(mrb, E_ARGUMENT_ERROR, "inro IO writes only to fd 1 (stdout) or fd 2 (stderr)");
    host_write((uint32_t)descriptor, RSTRING_PTR(text), (uint32_t)RSTRING_LEN(text));
    return mrb_int_value(mrb, RSTRING_LEN(text));
}

void output_init(mrb_state *mrb, struct RClass *inro) {
    mrb_define_module_function_id(mrb, inro, MRB_SYM(write), output_write, MRB_ARGS_REQ(2));
}
