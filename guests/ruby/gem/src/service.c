/* Services: constants that forward what is asked of them to the host, and the handles that calls give back.
 *
 * A service is a class below Inro::Service, whose number is kept where no Ruby code can name it; a handle is
 * an object whose number is kept in bytes that no Ruby code can write. Neither is a secret: the host looks
 * every number up in a table of this invocation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"
#include "wire.h"

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/data.h>
#include <mruby/error.h>
#include <mruby/hash.h>
#include <mruby/istruct.h>
#include <mruby/presym.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/throw.h>
#include <mruby/variable.h>
#include <string.h>

static struct RClass *service_class;
static struct RClass *handle_class;
/* First what a block raised or broke with, until its call is over; then the blocks of the calls under way. A
 * block's number is its index. */
static mrb_value blocks;

static void set_pending(mrb_value value) {
    RARRAY_PTR(blocks)[0] = value;
}

static mrb_value get_pending(void) {
    return RARRAY_PTR(blocks)[0];
}

/* ---- handles ---- */

mrb_value handle_new(mrb_state *mrb, uint32_t id) {
    struct RIStruct *object = MRB_OBJ_ALLOC(mrb, MRB_TT_ISTRUCT, handle_class);
    memcpy(object->inline_data, &id, sizeof id);
    MRB_SET_FROZEN_FLAG(object);
    return mrb_obj_value(object);
}

uint32_t handle_id(mrb_state *mrb, mrb_value value) {
    uint32_t id = 0;
    (void)mrb;
    if (mrb_type(value) == MRB_TT_ISTRUCT && mrb_class(mrb, value) == handle_class)
        memcpy(&id, ISTRUCT_PTR(value), sizeof id);
    return id;
}

/* ---- calling ---- */

struct call {
    mrb_sym method;
    mrb_int argc;
    const mrb_value *argv;
    mrb_value kwargs;
    mrb_value block;
};

static int put_keyword(mrb_state *mrb, mrb_value key, mrb_value value, void *user) {
    struct wire_out *out = user;
    if (mrb_string_p(key))
        key = mrb_symbol_value(mrb_intern_str(mrb, key));
    if (!mrb_symbol_p(key))
        mrb_raise(mrb, E_TYPE_ERROR, "keyword argument keys must be Symbols");
    wire_put(mrb, out, key, "keyword");
    wire_put(mrb, out, value, "keyword argument");
    return 0;
}

static uint64_t put_call(mrb_state *mrb, const struct call *call) {
    struct wire_out *out = wire_begin();
    mrb_int length;
    const char *name = mrb_sym_name_len(mrb, call->method, &length);
    inro__mp_write_str(&out->writer, name, (uint32_t)length);
    inro__mp_write_array(&out->writer, (uint32_t)call->argc);
    for (mrb_int i = 0; i < call->argc; i++)
        wire_put(mrb, out, call->argv[i], "argument");
    bool keywords = mrb_hash_p(call->kwargs) && !mrb_hash_empty_p(mrb, call->kwargs);
    inro__mp_write_map(&out->writer, keywords ? (uint32_t)mrb_hash_size(mrb, call->kwargs) : 0);
    if (keywords)
        mrb_hash_foreach(mrb, mrb_hash_ptr(call->kwargs), put_keyword, out);
    return wire_end(mrb, out);
}

mrb_noreturn static void raise_fault(mrb_state *mrb, struct inro__mp_reader *reader) {
    mrb_int kind = mrb_integer(wire_get(mrb, reader));
    mrb_value message = wire_get(mrb, reader);
    bool known = kind >= 0 && kind < ERROR_FAULTS;
    mrb_exc_raise(mrb, mrb_exc_new_str(mrb, guest_errors[known ? kind : ERROR_SERVICE], message));
}

static mrb_value read_reply(mrb_state *mrb, uint64_t packed) {
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)(packed >> 32);
    struct inro__mp_reader reader = {bytes + 1, bytes + (uint32_t)packed};
    mrb_value held = get_pending();
    switch (bytes[0]) {
    case REPLY_VALUE:
        return wire_get(mrb, &reader);
    case REPLY_BREAK:
    case REPLY_RAISED:
        if (mrb_nil_p(held))
            mrb_raise(mrb, guest_errors[ERROR_WIRE], "the host says that a block raised, but none did");
        mrb_gc_protect(mrb, held);
        set_pending(mrb_nil_value());
        mrb_exc_raise(mrb, held);
    default:
        raise_fault(mrb, &reader);
    }
}

static mrb_value send_call(mrb_state *mrb, uint32_t target, uint32_t flags, const struct call *call) {
    mrb_int depth = RARRAY_LEN(blocks);
    uint64_t request = put_call(mrb, call);
    if (!mrb_nil_p(call->block)) {
        mrb_ary_push(mrb, blocks, call->block);
        flags |= CALL_BLOCK | (uint32_t)depth << CALL_BLOCK_SHIFT;
    }
    uint64_t reply = host_call(target, (const void *)(uintptr_t)(request >> 32), (uint32_t)request, flags);
    if (RARRAY_LEN(blocks) > depth)
        mrb_ary_resize(mrb, blocks, depth);
    return read_reply(mrb, reply);
}

static mrb_value dispatch(mrb_state *mrb, mrb_value self, const struct call *call) {
    uint32_t id = handle_id(mrb, self);
    if (id != 0)
        return send_call(mrb, id, CALL_HANDLE, call);
    mrb_value index = mrb_class_p(self) ? mrb_iv_get(mrb, self, MRB_SYM(index)) : mrb_nil_value();
    if (!mrb_integer_p(index))
        mrb_raisef(mrb, E_NOMETHOD_ERROR, "undefined method '%n': not a service or a handle", call->method);
    return send_call(mrb, (uint32_t)mrb_integer(index), 0, call);
}

/* KV::Lookup.call(...): the usual one, found without method_missing. */
static mrb_value proxy_call(mrb_state *mrb, mrb_value self) {
    struct call call = {.method = mrb_get_mid(mrb), .kwargs = mrb_nil_value()};
    mrb_kwargs keywords = {0, 0, NULL, NULL, &call.kwargs};
    if (mrb->c->ci->nk == 0)
        mrb_get_args(mrb, "*!&", &call.argv, &call.argc, &call.block);
    else
        mrb_get_args(mrb, "*!:&", &call.argv, &call.argc, &keywords, &call.block);
    return dispatch(mrb, self, &call);
}

static mrb_value proxy_missing(mrb_state *mrb, mrb_value self) {
    struct call call = {.kwargs = mrb_nil_value()};
    mrb_kwargs keywords = {0, 0, NULL, NULL, &call.kwargs};
    mrb_get_args(mrb, "n*!:&", &call.method, &call.argv, &call.argc, &keywords, &call.block);
    return dispatch(mrb, self, &call);
}

static mrb_value proxy_responds(mrb_state *mrb, mrb_value self) {
    (void)mrb, (void)self;
    return mrb_true_value();
}

static mrb_value proxy_self(mrb_state *mrb, mrb_value self) {
    (void)mrb;
    return self;
}

/* ---- yielding ---- */

struct yield {
    mrb_value block;
    struct inro__mp_reader reader;
    mrb_value result;
};

static mrb_value yield_body(mrb_state *mrb, void *user) {
    struct yield *yield = user;
    mrb_value args = wire_get(mrb, &yield->reader);
    return mrb_yield_argv(mrb, yield->block, RARRAY_LEN(args), RARRAY_PTR(args));
}

static mrb_value put_result(mrb_state *mrb, void *user) {
    struct yield *yield = user;
    struct wire_out *out = wire_begin();
    *out->writer.at++ = YIELD_VALUE;
    wire_put(mrb, out, yield->result, "block result");
    return mrb_nil_value();
}

/* "Class: message" of what the block raised; its own to_s may raise, too. */
static mrb_value put_raised(mrb_state *mrb, void *user) {
    struct wire_out *out = wire_begin();
    mrb_value text = mrb_str_new_cstr(mrb, mrb_obj_classname(mrb, get_pending()));
    mrb_str_cat_lit(mrb, text, ": ");
    mrb_str_cat_str(mrb, text, mrb_obj_as_string(mrb, get_pending()));
    (void)user;
    *out->writer.at++ = YIELD_RAISED;
    wire_put(mrb, out, text, "message");
    return mrb_nil_value();
}

static uint64_t yield_failed(mrb_state *mrb, mrb_value exception) {
    mrb_bool failed;
    set_pending(exception);
    if (mrb_break_p(exception)) {
        struct wire_out *out = wire_begin();
        *out->writer.at++ = YIELD_BREAK;
        return wire_end(mrb, out);
    }
    mrb_protect_error(mrb, put_raised, NULL, &failed);
    if (failed) {
        struct wire_out *out = wire_begin();
        *out->writer.at++ = YIELD_RAISED;
        inro__mp_write_str(&out->writer, "exception", 9);
        return wire_end(mrb, out);
    }
    return wire_end(mrb, wire_current());
}

uint64_t service_yield(mrb_state *mrb, const uint8_t *message, uint32_t length) {
    struct yield yield = {.reader = {message, message + length}};
    struct inro__mp_token number = inro__mp_read(&yield.reader);
    mrb_bool failed;
    set_pending(mrb_nil_value());
    if (number.type != INRO__MP_INT || number.as.number < 1 || number.as.number >= RARRAY_LEN(blocks))
        __builtin_trap();
    yield.block = RARRAY_PTR(blocks)[number.as.number];
    int arena = mrb_gc_arena_save(mrb);
    yield.result = mrb_protect_error(mrb, yield_body, &yield, &failed);
    mrb_value refused = yield.result;
    if (!failed)
        refused = mrb_protect_error(mrb, put_result, &yield, &failed);
    uint64_t answer = failed ? yield_failed(mrb, refused) : wire_end(mrb, wire_current());
    mrb_gc_arena_restore(mrb, arena);
    return answer;
}

/* ---- constants ---- */

static struct RClass *module_at(mrb_state *mrb, struct RClass *outer, mrb_sym name) {
    mrb_value holder = mrb_obj_value(outer);
    if (mrb_const_defined_at(mrb, holder, name)) {
        mrb_value found = mrb_const_get(mrb, holder, name);
        if (mrb_module_p(found) || mrb_class_p(found))
            return mrb_class_ptr(found);
    }
    return mrb_define_module_under_id(mrb, outer, name);
}

static void define_proxy(mrb_state *mrb, struct RClass *outer, mrb_sym name, uint32_t index) {
    mrb_value holder = mrb_obj_value(outer);
    if (mrb_const_defined_at(mrb, holder, name))
        mrb_const_remove(mrb, holder, name);
    struct RClass *proxy = mrb_define_class_under_id(mrb, outer, name, service_class);
    mrb_iv_set(mrb, mrb_obj_value(proxy), MRB_SYM(index), mrb_int_value(mrb, index));
}

void service_define(mrb_state *mrb, const char *path, uint32_t length, uint32_t index) {
    struct RClass *outer = mrb->object_class;
    const char *at = path, *end = path + length;
    for (;;) {
        const char *colon = memchr(at, ':', (size_t)(end - at));
        mrb_sym name = mrb_intern(mrb, at, (size_t)((colon ? colon : end) - at));
        if (!colon) {
            define_proxy(mrb, outer, name, index);
            return;
        }
        outer = module_at(mrb, outer, name);
        at = colon + 2;
    }
}

static void define_proxy_methods(mrb_state *mrb, struct RClass *class) {
    mrb_define_method_id(mrb, class, MRB_SYM(call), proxy_call, MRB_ARGS_ANY());
    mrb_define_method_id(mrb, class, MRB_OPSYM(aref), proxy_call, MRB_ARGS_ANY());
    mrb_define_method_id(mrb, class, MRB_SYM(method_missing), proxy_missing, MRB_ARGS_ANY());
    mrb_define_method_id(mrb, class, MRB_SYM_Q(respond_to), proxy_responds, MRB_ARGS_ANY());
}

void service_init(mrb_state *mrb, struct RClass *inro) {
    service_class = mrb_define_class_under_id(mrb, inro, MRB_SYM(Service), mrb->object_class);
    guest_keep(mrb, service_class);
    define_proxy_methods(mrb, mrb_singleton_class_ptr(mrb, mrb_obj_value(service_class)));
    handle_class = mrb_define_class_under_id(mrb, inro, MRB_SYM(Handle), mrb->object_class);
    guest_keep(mrb, handle_class);
    MRB_SET_INSTANCE_TT(handle_class, MRB_TT_ISTRUCT);
    mrb_undef_class_method_id(mrb, handle_class, MRB_SYM(new));
    mrb_undef_class_method_id(mrb, handle_class, MRB_SYM(allocate));
    define_proxy_methods(mrb, handle_class);
    mrb_define_method_id(mrb, handle_class, MRB_SYM(dup), proxy_self, MRB_ARGS_ANY());
    mrb_define_method_id(mrb, handle_class, MRB_SYM(clone), proxy_self, MRB_ARGS_ANY());
    blocks = mrb_ary_new_capa(mrb, 8);
    mrb_gc_register(mrb, blocks);
    mrb_ary_push(mrb, blocks, mrb_nil_value());
}
