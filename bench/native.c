/* Native mruby: the same sources and gems without any wall. Nothing is reset, bounded or captured.
 *
 * "fresh" opens an interpreter, evaluates, and closes it; "warm" evaluates in one that stays open, so what one
 * script leaves is there for the next. SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <mruby.h>
#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/compile.h>
#include <mruby/hash.h>
#include <mruby/numeric.h>
#include <mruby/string.h>
#include <mruby/variable.h>
#include <stdlib.h>

struct native {
    mrb_state *mrb; /* NULL in the fresh one */
    inro_str source;
    mrb_value entry;
};

/* ---- what the services are, as C functions of the interpreter ---- */

static mrb_value noop(mrb_state *mrb, mrb_value self) {
    (void)mrb, (void)self;
    return mrb_nil_value();
}

static mrb_value echo(mrb_state *mrb, mrb_value self) {
    mrb_value value;
    (void)self;
    mrb_get_args(mrb, "o", &value);
    return value;
}

static mrb_value greet(mrb_state *mrb, mrb_value self) {
    mrb_value options, name;
    (void)self;
    mrb_get_args(mrb, "H", &options);
    name = mrb_hash_get(mrb, options, mrb_symbol_value(mrb_intern_lit(mrb, "name")));
    if (!mrb_string_p(name) || RSTRING_LEN(name) != 5)
        return mrb_nil_value();
    return mrb_str_new_lit(mrb, GREETING);
}

static mrb_value greet_plainly(mrb_state *mrb, mrb_value self) {
    (void)self;
    return mrb_str_new_lit(mrb, GREETING);
}

static mrb_value make_greeter(mrb_state *mrb, mrb_value self) {
    return mrb_obj_new(mrb, mrb_class_get_under(mrb, mrb_class_ptr(self), "Greeter"), 0, NULL);
}

static mrb_value each(mrb_state *mrb, mrb_value self) {
    mrb_int count;
    mrb_value block;
    (void)self;
    mrb_get_args(mrb, "i&", &count, &block);
    for (mrb_int i = 0; i < count; i++) {
        int arena = mrb_gc_arena_save(mrb);
        mrb_yield(mrb, block, mrb_int_value(mrb, i));
        mrb_gc_arena_restore(mrb, arena);
    }
    return mrb_nil_value();
}

static void define_services(mrb_state *mrb) {
    static const struct {
        const char *name;
        mrb_func_t call;
    } services[] = {
        {"Noop", noop}, {"Echo", echo}, {"Greet", greet}, {"Each", each}, {"Factory", make_greeter},
    };
    struct RClass *module = mrb_define_module(mrb, "Bench"), *last = NULL;
    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
        last = mrb_define_class_under(mrb, module, services[i].name, mrb->object_class);
        mrb_define_class_method(mrb, last, "call", services[i].call, MRB_ARGS_ANY());
    }
    struct RClass *greeter = mrb_define_class_under(mrb, last, "Greeter", mrb->object_class);
    mrb_define_method(mrb, greeter, "greet", greet_plainly, MRB_ARGS_NONE());
}

/* ---- evaluating ---- */

static uint64_t digest_of(mrb_value value) {
    if (mrb_nil_p(value))
        return digest_nil();
    if (mrb_integer_p(value))
        return digest_int(mrb_integer(value));
    if (mrb_float_p(value))
        return digest_float(mrb_float(value));
    return mrb_string_p(value) ? digest_text(RSTRING_PTR(value), (size_t)RSTRING_LEN(value)) : 0;
}

static bool conclude(mrb_state *mrb, mrb_value value, uint64_t *digest) {
    if (mrb->exc) {
        mrb_value text = mrb_inspect(mrb, mrb_obj_value(mrb->exc));
        complain("native mruby: %.*s", (int)RSTRING_LEN(text), RSTRING_PTR(text));
        mrb->exc = NULL;
        return false;
    }
    *digest = digest_of(value);
    return true;
}

static mrb_value evaluate(mrb_state *mrb, inro_str source) {
    mrb_ccontext *context = mrb_ccontext_new(mrb);
    mrb_value value = mrb_load_nstring_cxt(mrb, source.data, source.length, context);
    mrb_ccontext_free(mrb, context);
    return value;
}

static bool evaluate_once(mrb_state *mrb, inro_str source, uint64_t *digest) {
    int arena = mrb_gc_arena_save(mrb);
    bool done = conclude(mrb, evaluate(mrb, source), digest);
    mrb_gc_arena_restore(mrb, arena);
    return done;
}

/* ---- fresh ---- */

static void *fresh_open(const struct task *task, inro_str source) {
    struct native *native = calloc(1, sizeof *native);
    (void)task;
    if (native)
        native->source = source;
    return native;
}

static bool fresh_run(void *self, uint64_t *digest) {
    const struct native *native = self;
    mrb_state *mrb = mrb_open();
    if (!mrb)
        return false;
    bool done = evaluate_once(mrb, native->source, digest);
    mrb_close(mrb);
    return done;
}

/* ---- warm ---- */

static bool load_snippets(mrb_state *mrb, size_t count) {
    uint64_t ignored;
    bool done = evaluate_once(mrb, INRO_STR(NOOP_SOURCE), &ignored);
    for (size_t i = 0; i < count && done; i++) {
        char *source = snippet_source(i);
        done = evaluate_once(mrb, inro_str_from_c(source), &ignored);
        free(source);
    }
    return done;
}

static void native_close(void *self) {
    struct native *native = self;
    if (native->mrb)
        mrb_close(native->mrb);
    free(native);
}

static void *warm_open(const struct task *task, inro_str source) {
    struct native *native = fresh_open(task, source);
    if (!native)
        return NULL;
    native->mrb = mrb_open();
    if (native->mrb && task->services)
        define_services(native->mrb);
    if (native->mrb && (task->source || load_snippets(native->mrb, task->snippets))) {
        if (!task->source)
            native->entry = mrb_const_get(native->mrb, mrb_obj_value(native->mrb->object_class),
                                          mrb_intern_lit(native->mrb, "Noop"));
        return native;
    }
    native_close(native);
    return NULL;
}

static bool warm_run(void *self, uint64_t *digest) {
    const struct native *native = self;
    mrb_state *mrb = native->mrb;
    if (native->source.data)
        return evaluate_once(mrb, native->source, digest);
    int arena = mrb_gc_arena_save(mrb);
    bool done = conclude(mrb, mrb_funcall(mrb, native->entry, "call", 0), digest);
    mrb_gc_arena_restore(mrb, arena);
    return done;
}

const struct contender native_fresh_contender = {"native mruby, open+eval+close", fresh_open, fresh_run,
                                                 native_close};
const struct contender native_warm_contender = {"native mruby, warm", warm_open, warm_run, native_close};
