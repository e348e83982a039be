/* The classes of our own errors, kept where a script cannot exchange them: a script may assign to any constant,
 * and what is raised and reported must not depend on it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

#include <mruby/class.h>
#include <mruby/presym.h>

struct RClass *guest_errors[GUEST_ERRORS];

void guest_keep(mrb_state *mrb, struct RClass *class) {
    mrb_gc_register(mrb, mrb_obj_value(class));
}

static void define(mrb_state *mrb, enum guest_error error, struct RClass *outer, mrb_sym name,
                   struct RClass *parent) {
    guest_errors[error] = mrb_define_class_under_id(mrb, outer, name, parent);
    guest_keep(mrb, guest_errors[error]);
}

void errors_init(mrb_state *mrb, struct RClass *inro) {
    struct RClass *script_error = mrb_class_get_id(mrb, MRB_SYM(ScriptError));
    guest_errors[ERROR_SYNTAX] = mrb_class_get_id(mrb, MRB_SYM(SyntaxError));
    guest_keep(mrb, guest_errors[ERROR_SYNTAX]);
    define(mrb, ERROR_SERVICE, inro, MRB_SYM(ServiceError), E_RUNTIME_ERROR);
    struct RClass *service = guest_errors[ERROR_SERVICE];
    define(mrb, ERROR_ARGUMENT, inro, MRB_SYM(ServiceArgumentError), service);
    define(mrb, ERROR_UNDEFINED, inro, MRB_SYM(NoServiceError), service);
    define(mrb, ERROR_DISCONNECTED, service, MRB_SYM(Disconnected), service);
    define(mrb, ERROR_WIRE, inro, MRB_SYM(WireError), E_RUNTIME_ERROR);
    define(mrb, ERROR_HANDLES, inro, MRB_SYM(HandleTableExhausted), guest_errors[ERROR_WIRE]);
    define(mrb, ERROR_BYTECODE, inro, MRB_SYM(BytecodeError), script_error);
    define(mrb, ERROR_ENTRYPOINT, inro, MRB_SYM(UndefinedEntrypointError), E_NAME_ERROR);
}
