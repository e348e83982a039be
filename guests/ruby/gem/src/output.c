/* Output: the streams and the Kernel methods that use them. In C because scripts print a lot; what is rare is
 * Ruby (mrblib/io.rb). A method of ours that a script has replaced is called, ours is not.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"
#include "wire.h"

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/presym.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>
#include <string.h>

/* Arrays inside arrays are followed by recursion, which the native stack has to bear. */
#define NESTING_MAX 512

static mrb_sym stdout_name, stderr_name;

/* ---- one write ---- */

static mrb_int write_bytes(mrb_state *mrb, mrb_int descriptor, const char *bytes, mrb_int length) {
    if (descriptor != HOST_STDOUT && descriptor != HOST_STDERR)
        mrb_raise(mrb, E_ARGUMENT_ERROR, "inro IO writes only to fd 1 (stdout) or fd 2 (stderr)");
    host_write((uint32_t)descriptor, bytes, (uint32_t)length);
    return length;
}

/* Inro.write(fd, text): the number of bytes given to the host, which keeps what its limit allows. */
static mrb_value output_write(mrb_state *mrb, mrb_value self) {
    mrb_int descriptor;
    mrb_value text;
    (void)self;
    mrb_get_args(mrb, "iS", &descriptor, &text);
    return mrb_int_value(mrb, write_bytes(mrb, descriptor, RSTRING_PTR(text), RSTRING_LEN(text)));
}

static mrb_int descriptor_of(mrb_state *mrb, mrb_value io) {
    mrb_value descriptor = mrb_iv_get(mrb, io, MRB_IVSYM(fileno));
    return mrb_integer_p(descriptor) ? mrb_integer(descriptor) : 0;
}

/* Whether the object's method of this name is the function. */
static bool has_method(mrb_state *mrb, mrb_value object, mrb_sym name, mrb_func_t function) {
    struct RClass *class = mrb_class(mrb, object);
    mrb_method_t method = mrb_method_search_vm(mrb, &class, name);
    return !MRB_METHOD_UNDEF_P(method) && MRB_METHOD_CFUNC_P(method) && MRB_METHOD_CFUNC(method) == function;
}

/* The one argument there is; false for none or many, which cost an array. */
static bool only_argument(mrb_state *mrb, mrb_value *argument) {
    if (mrb->c->ci->nk != 0 || mrb_get_argc(mrb) != 1)
        return false;
    *argument = mrb_get_arg1(mrb);
    return true;
}

static mrb_int write_text(mrb_state *mrb, mrb_value io, mrb_value object) {
    mrb_value text = mrb_obj_as_string(mrb, object);
    return write_bytes(mrb, descriptor_of(mrb, io), RSTRING_PTR(text), RSTRING_LEN(text));
}

static mrb_value io_write(mrb_state *mrb, mrb_value self) {
    mrb_value object;
    const mrb_value *objects;
    mrb_int count, bytes = 0;
    if (only_argument(mrb, &object))
        return mrb_int_value(mrb, write_text(mrb, self, object));
    mrb_get_args(mrb, "*", &objects, &count);
    for (mrb_int i = 0; i < count; i++)
        bytes += write_text(mrb, self, objects[i]);
    return mrb_int_value(mrb, bytes);
}

/* ---- the rest, on top of `write` ---- */

static mrb_value io_print(mrb_state *mrb, mrb_value self) {
    const mrb_value *objects;
    mrb_int count;
    if (has_method(mrb, self, MRB_SYM(write), io_write)) {
        io_write(mrb, self);
    } else {
        mrb_get_args(mrb, "*", &objects, &count);
        mrb_funcall_argv(mrb, self, MRB_SYM(write), count, objects);
    }
    return mrb_nil_value();
}

static mrb_value io_append(mrb_state *mrb, mrb_value self) {
    mrb_value object = mrb_get_arg1(mrb);
    if (has_method(mrb, self, MRB_SYM(write), io_write))
        write_text(mrb, self, object);
    else
        mrb_funcall_argv(mrb, self, MRB_SYM(write), 1, &object);
    return self;
}

static bool ends_line(mrb_value text) {
    return RSTRING_LEN(text) > 0 && RSTRING_PTR(text)[RSTRING_LEN(text) - 1] == '\n';
}

/* The text and a line end, in one write if it is short. No message is under way while Ruby code runs, so the
 * buffer for messages is free: its page is written in every invocation anyway. */
static void write_line(mrb_state *mrb, mrb_value io, mrb_value text) {
    mrb_int descriptor = descriptor_of(mrb, io), length = RSTRING_LEN(text);
    char *line = (char *)messages.out;
    if (length >= WIRE_OUT) {
        write_bytes(mrb, descriptor, RSTRING_PTR(text), length);
        write_bytes(mrb, descriptor, "\n", 1);
        return;
    }
    memcpy(line, RSTRING_PTR(text), (size_t)length);
    line[length] = '\n';
    write_bytes(mrb, descriptor, line, length + 1);
}

static void put_line(mrb_state *mrb, mrb_value io, mrb_value text) {
    if (has_method(mrb, io, MRB_SYM(write), io_write)) {
        write_line(mrb, io, text);
        return;
    }
    text = mrb_str_dup(mrb, text);
    mrb_str_cat_lit(mrb, text, "\n");
    mrb_funcall_argv(mrb, io, MRB_SYM(write), 1, &text);
}

static void put_whole(mrb_state *mrb, mrb_value io, mrb_value text) {
    if (has_method(mrb, io, MRB_SYM(write), io_write))
        write_text(mrb, io, text);
    else
        mrb_funcall_argv(mrb, io, MRB_SYM(write), 1, &text);
}

/* The arrays that are being flattened, from the innermost out. */
struct level {
    const struct level *outer;
    struct RArray *array;
    int depth;
};

static bool is_open(const struct level *level, const struct RArray *array) {
    while (level && level->array != array)
        level = level->outer;
    return level != NULL;
}

static void add_object(mrb_state *mrb, mrb_value all, mrb_value object, const struct level *outer);

/* A to_s on the way may change the array, or take it away from whoever holds it. */
static void add_array(mrb_state *mrb, mrb_value all, mrb_value array, const struct level *outer) {
    struct level level = {outer, mrb_ary_ptr(array), outer ? outer->depth + 1 : 1};
    if (is_open(outer, level.array)) {
        mrb_str_cat_lit(mrb, all, "[...]\n");
        return;
    }
    if (level.depth > NESTING_MAX)
        mrb_exc_raise(mrb, mrb_obj_value(mrb->stack_err));
    mrb_gc_protect(mrb, array);
    for (mrb_int i = 0; i < RARRAY_LEN(array); i++)
        add_object(mrb, all, RARRAY_PTR(array)[i], &level);
}

static void add_object(mrb_state *mrb, mrb_value all, mrb_value object, const struct level *outer) {
    int arena = mrb_gc_arena_save(mrb);
    if (mrb_array_p(object)) {
        add_array(mrb, all, object, outer);
    } else {
        mrb_value text = mrb_obj_as_string(mrb, object);
        mrb_str_cat_str(mrb, all, text);
        if (!ends_line(text))
            mrb_str_cat_lit(mrb, all, "\n");
    }
    mrb_gc_arena_restore(mrb, arena);
}

/* Many lines are one write, so that none is written when the to_s of one raises. */
static mrb_value put_lines(mrb_state *mrb, mrb_value self) {
    const mrb_value *objects;
    mrb_int count;
    mrb_get_args(mrb, "*", &objects, &count);
    mrb_value all = mrb_str_new(mrb, NULL, 0);
    for (mrb_int i = 0; i < count; i++)
        add_object(mrb, all, objects[i], NULL);
    if (count == 0)
        mrb_str_cat_lit(mrb, all, "\n");
    put_whole(mrb, self, all);
    return mrb_nil_value();
}

static mrb_value io_puts(mrb_state *mrb, mrb_value self) {
    mrb_value object;
    if (!only_argument(mrb, &object) || mrb_array_p(object))
        return put_lines(mrb, self);
    mrb_value text = mrb_obj_as_string(mrb, object);
    if (ends_line(text))
        put_whole(mrb, self, text);
    else
        put_line(mrb, self, text);
    return mrb_nil_value();
}

static void inspect_line(mrb_state *mrb, mrb_value io, mrb_value object) {
    int arena = mrb_gc_arena_save(mrb);
    put_line(mrb, io, mrb_inspect(mrb, object));
    mrb_gc_arena_restore(mrb, arena);
}

static mrb_value io_p(mrb_state *mrb, mrb_value self) {
    mrb_value object;
    const mrb_value *objects;
    mrb_int count;
    if (only_argument(mrb, &object)) {
        inspect_line(mrb, self, object);
        return object;
    }
    mrb_get_args(mrb, "*", &objects, &count);
    for (mrb_int i = 0; i < count; i++)
        inspect_line(mrb, self, objects[i]);
    if (count > 1)
        return mrb_ary_new_from_values(mrb, count, objects);
    return count == 1 ? objects[0] : mrb_nil_value();
}

/* ---- Kernel: to what the global variable holds now ---- */

static mrb_value forward(mrb_state *mrb, mrb_value stream, mrb_sym name, mrb_func_t function) {
    const mrb_value *objects;
    mrb_int count;
    if (has_method(mrb, stream, name, function))
        return function(mrb, stream); /* it reads the arguments of the call that is being forwarded */
    mrb_get_args(mrb, "*", &objects, &count);
    return mrb_funcall_argv(mrb, stream, name, count, objects);
}

static mrb_value kernel_puts(mrb_state *mrb, mrb_value self) {
    (void)self;
    return forward(mrb, mrb_gv_get(mrb, stdout_name), MRB_SYM(puts), io_puts);
}

static mrb_value kernel_print(mrb_state *mrb, mrb_value self) {
    (void)self;
    return forward(mrb, mrb_gv_get(mrb, stdout_name), MRB_SYM(print), io_print);
}

static mrb_value kernel_p(mrb_state *mrb, mrb_value self) {
    (void)self;
    return forward(mrb, mrb_gv_get(mrb, stdout_name), MRB_SYM(p), io_p);
}

static mrb_value kernel_warn(mrb_state *mrb, mrb_value self) {
    (void)self;
    if (mrb_get_argc(mrb) > 0 || mrb->c->ci->nk != 0)
        forward(mrb, mrb_gv_get(mrb, stderr_name), MRB_SYM(puts), io_puts);
    return mrb_nil_value();
}

void output_init(mrb_state *mrb, struct RClass *inro) {
    struct RClass *io = mrb_define_class_id(mrb, MRB_SYM(IO), mrb->object_class);
    stdout_name = mrb_intern_lit(mrb, "$stdout");
    stderr_name = mrb_intern_lit(mrb, "$stderr");
    mrb_define_module_function_id(mrb, inro, MRB_SYM(write), output_write, MRB_ARGS_REQ(2));
    mrb_define_method_id(mrb, io, MRB_SYM(write), io_write, MRB_ARGS_ANY());
    mrb_define_method_id(mrb, io, MRB_SYM(print), io_print, MRB_ARGS_ANY());
    mrb_define_method_id(mrb, io, MRB_SYM(puts), io_puts, MRB_ARGS_ANY());
    mrb_define_method_id(mrb, io, MRB_SYM(p), io_p, MRB_ARGS_ANY());
    mrb_define_method_id(mrb, io, MRB_OPSYM(lshift), io_append, MRB_ARGS_REQ(1));
    mrb_define_method_id(mrb, mrb->kernel_module, MRB_SYM(puts), kernel_puts, MRB_ARGS_ANY());
    mrb_define_method_id(mrb, mrb->kernel_module, MRB_SYM(print), kernel_print, MRB_ARGS_ANY());
    mrb_define_method_id(mrb, mrb->kernel_module, MRB_SYM(p), kernel_p, MRB_ARGS_ANY());
    mrb_define_method_id(mrb, mrb->kernel_module, MRB_SYM(warn), kernel_warn, MRB_ARGS_ANY());
}
