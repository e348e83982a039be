/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include "guest.h"

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/hash.h>
#include <mruby/internal.h>
#include <mruby/presym.h>
#include <mruby/string.h>

static struct wire_out out_message;
struct messages messages;

/* ---- out ---- */

static bool flush(struct inro__mp_writer *writer, size_t need) {
    struct wire_out *out = writer->user;
    host_write(HOST_MESSAGE, writer->start, (uint32_t)(writer->at - writer->start));
    writer->at = writer->start;
    out->flushed = true;
    return need <= WIRE_OUT;
}

struct wire_out *wire_begin(void) {
    struct wire_out *out = &out_message;
    if (out->flushed) /* the last message was given up half way */
        host_write(HOST_RESTART, NULL, 0);
    out->flushed = false;
    out->writer = (struct inro__mp_writer){
        .start = messages.out, .at = messages.out, .end = messages.out + WIRE_OUT, .grow = flush, .user = out};
    return out;
}

struct wire_out *wire_current(void) {
    return &out_message;
}

uint64_t wire_end(mrb_state *mrb, struct wire_out *out) {
    if (out->writer.failed)
        mrb_raise(mrb, E_RUNTIME_ERROR, "the message could not be written");
    out->flushed = false;
    return (uint64_t)(uintptr_t)messages.out << 32 | (uint32_t)(out->writer.at - messages.out);
}

struct put {
    struct wire_out *out;
    const char *role;
    int depth;
};

static void put(mrb_state *mrb, const struct put *state, mrb_value value);

mrb_noreturn static void refuse(mrb_state *mrb, const char *role, mrb_value value) {
    mrb_raisef(mrb, E_TYPE_ERROR, "%s of type %C is not a supported sandbox value type", role,
               mrb_obj_class(mrb, value));
}

static void put_string(mrb_state *mrb, struct inro__mp_writer *writer, mrb_value value) {
    (void)mrb;
    const char *bytes = RSTRING_PTR(value);
    uint32_t length = (uint32_t)RSTRING_LEN(value);
    if (inro__utf8_is_valid(bytes, length))
        inro__mp_write_str(writer, bytes, length);
    else
        inro__mp_write_bin(writer, bytes, length);
}

static void put_symbol(mrb_state *mrb, const struct put *state, mrb_value value) {
    mrb_int length;
    const char *name = mrb_sym_name_len(mrb, mrb_symbol(value), &length);
    if (!inro__utf8_is_valid(name, (size_t)length))
        mrb_raisef(mrb, E_TYPE_ERROR,
                   "%s of type Symbol with a name that is not UTF-8 is not a supported sandbox value type",
                   state->role);
    inro__mp_write_symbol(&state->out->writer, name, (uint32_t)length);
}

static struct put deeper(mrb_state *mrb, const struct put *state) {
    if (state->depth == WIRE_DEPTH_MAX)
        mrb_raisef(mrb, E_ARGUMENT_ERROR, "%s nests deeper than %d levels", state->role, WIRE_DEPTH_MAX);
    return (struct put){state->out, state->role, state->depth + 1};
}

static void put_array(mrb_state *mrb, const struct put *state, mrb_value value) {
    struct put inner = deeper(mrb, state);
    mrb_int length = RARRAY_LEN(value);
    inro__mp_write_array(&state->out->writer, (uint32_t)length);
    for (mrb_int i = 0; i < length; i++)
        put(mrb, &inner, RARRAY_PTR(value)[i]);
}

static int put_pair(mrb_state *mrb, mrb_value key, mrb_value value, void *user) {
    put(mrb, user, key);
    put(mrb, user, value);
    return 0;
}

static void put_hash(mrb_state *mrb, const struct put *state, mrb_value value) {
    struct put inner = deeper(mrb, state);
    inro__mp_write_map(&state->out->writer, (uint32_t)mrb_hash_size(mrb, value));
    mrb_hash_foreach(mrb, mrb_hash_ptr(value), put_pair, &inner);
}

/* The interpreter leaves -(2**63) a big integer, although it fits, and cannot compare it to one that is not. */
static bool is_int_min(mrb_state *mrb, mrb_value value) {
    mrb_value next = mrb_bint_add(mrb, value, mrb_fixnum_value(1));
    return mrb_integer_p(next) && mrb_integer(next) == MRB_INT_MIN + 1;
}

static void put(mrb_state *mrb, const struct put *state, mrb_value value) {
    struct inro__mp_writer *writer = &state->out->writer;
    uint32_t id;
    switch ((int)mrb_type(value)) {
    case MRB_TT_FALSE:
        if (mrb_nil_p(value))
            inro__mp_write_nil(writer);
        else
            inro__mp_write_bool(writer, false);
        return;
    case MRB_TT_TRUE:
        inro__mp_write_bool(writer, true);
        return;
    case MRB_TT_INTEGER:
        inro__mp_write_int(writer, mrb_integer(value));
        return;
    case MRB_TT_BIGINT:
        if (!is_int_min(mrb, value))
            refuse(mrb, state->role, value);
        inro__mp_write_int(writer, MRB_INT_MIN);
        return;
    case MRB_TT_FLOAT:
        inro__mp_write_float(writer, mrb_float(value));
        return;
    case MRB_TT_STRING:
        put_string(mrb, writer, value);
        return;
    case MRB_TT_SYMBOL:
        put_symbol(mrb, state, value);
        return;
    case MRB_TT_ARRAY:
        put_array(mrb, state, value);
        return;
    case MRB_TT_HASH:
        put_hash(mrb, state, value);
        return;
    default:
        id = handle_id(mrb, value);
        if (id == 0)
            refuse(mrb, state->role, value);
        inro__mp_write_handle(writer, id);
    }
}

void wire_put(mrb_state *mrb, struct wire_out *out, mrb_value value, const char *role) {
    struct put state = {out, role, 0};
    put(mrb, &state, value);
}

/* ---- in ---- */

static mrb_value get(mrb_state *mrb, struct inro__mp_reader *reader, int depth);

mrb_noreturn static void malformed(mrb_state *mrb) {
    mrb_raise(mrb, guest_errors[ERROR_WIRE], "malformed message from the host");
}

static mrb_value get_array(mrb_state *mrb, struct inro__mp_reader *reader, uint32_t length, int depth) {
    mrb_value array = mrb_ary_new_capa(mrb, (mrb_int)length);
    int arena = mrb_gc_arena_save(mrb);
    for (uint32_t i = 0; i < length; i++) {
        mrb_ary_push(mrb, array, get(mrb, reader, depth));
        mrb_gc_arena_restore(mrb, arena);
    }
    return array;
}

static mrb_value get_hash(mrb_state *mrb, struct inro__mp_reader *reader, uint32_t length, int depth) {
    mrb_value hash = mrb_hash_new_capa(mrb, (mrb_int)length);
    int arena = mrb_gc_arena_save(mrb);
    for (uint32_t i = 0; i < length; i++) {
        mrb_value key = get(mrb, reader, depth);
        mrb_hash_set(mrb, hash, key, get(mrb, reader, depth));
        mrb_gc_arena_restore(mrb, arena);
    }
    return hash;
}

static mrb_value get(mrb_state *mrb, struct inro__mp_reader *reader, int depth) {
    struct inro__mp_token token = inro__mp_read(reader);
    switch (token.type) {
    case INRO__MP_NIL:
        return mrb_nil_value();
    case INRO__MP_BOOL:
        return mrb_bool_value(token.as.flag);
    case INRO__MP_INT:
        return mrb_int_value(mrb, token.as.number);
    case INRO__MP_FLOAT:
        return mrb_float_value(mrb, token.as.real);
    case INRO__MP_STR:
    case INRO__MP_BIN:
        return mrb_str_new(mrb, (const char *)token.as.bytes, (mrb_int)token.length);
    case INRO__MP_SYMBOL:
        return mrb_symbol_value(mrb_intern(mrb, (const char *)token.as.bytes, token.length));
    case INRO__MP_HANDLE:
        return handle_new(mrb, token.as.handle);
    case INRO__MP_ARRAY:
        if (depth < WIRE_DEPTH_MAX)
            return get_array(mrb, reader, token.length, depth + 1);
        break;
    case INRO__MP_MAP:
        if (depth < WIRE_DEPTH_MAX)
            return get_hash(mrb, reader, token.length, depth + 1);
        break;
    case INRO__MP_BAD:
        break;
    }
    malformed(mrb);
}

mrb_value wire_get(mrb_state *mrb, struct inro__mp_reader *reader) {
    return get(mrb, reader, 0);
}
