/* The guest's entry points. Each takes a message that the host put into the mailbox and answers, packed as
 * address << 32 | length, the end of a message whose beginning went through the message channel.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "guest.h"

#include "wire.h"

#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/compile.h>
#include <mruby/dump.h>
#include <mruby/error.h>
#include <mruby/gc.h>
#include <mruby/hash.h>
#include <mruby/irep.h>
#include <mruby/presym.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>
#include <stdlib.h>
#include <string.h>

/* Lines of a backtrace that are told: so many from its beginning, one for what is left out, the end of it. */
enum { BACKTRACE_MAX = 100, BACKTRACE_FIRST = 50, BACKTRACE_LAST = BACKTRACE_MAX - BACKTRACE_FIRST - 1 };

static mrb_state *mrb;
static struct RClass *inro_module;
static mrb_value dispatch;      /* the method of mrblib/service.rb */
static mrb_value own_constants; /* a Hash: the top-level names there are before any snippet */
static uint8_t *large_mailbox;

/* ---- memory for the host's messages ---- */

/* Room for a message of `length` bytes; the last large one is given up. 0 when there is no memory. */
EXPORT(inro_mailbox) uint32_t guest_mailbox(uint32_t length) {
    if (length <= sizeof messages.in)
        return (uint32_t)(uintptr_t)messages.in;
    free(large_mailbox);
    large_mailbox = malloc(length);
    return (uint32_t)(uintptr_t)large_mailbox;
}

/* ---- outcomes ---- */

struct ending {
    mrb_value value;
    bool failed;
};

static void put_text(struct wire_out *out, mrb_value text) {
    wire_put(mrb, out, mrb_string_p(text) ? text : mrb_nil_value(), "text");
}

static bool is_service_error(mrb_value exception) {
    struct RClass *class = mrb_obj_class(mrb, exception);
    return class == guest_errors[ERROR_SERVICE] || class == guest_errors[ERROR_ARGUMENT] ||
           class == guest_errors[ERROR_UNDEFINED] || class == guest_errors[ERROR_DISCONNECTED];
}

static mrb_value details_of(mrb_value exception) {
    if (mrb_obj_class(mrb, exception) != guest_errors[ERROR_ENTRYPOINT])
        return mrb_nil_value();
    return mrb_iv_get(mrb, exception, MRB_SYM(details));
}

static mrb_value ask_message(mrb_state *state, void *user) {
    return mrb_funcall_id(state, *(mrb_value *)user, MRB_SYM(message), 0);
}

/* What its method says, which may be the script's; when it is empty the name of the class. */
static mrb_value message_of(mrb_state *state, mrb_value exception) {
    mrb_bool failed;
    mrb_value message = mrb_protect_error(state, ask_message, &exception, &failed);
    if (failed)
        return mrb_str_new_lit(state, "an exception that cannot be described");
    message = mrb_obj_as_string(state, message);
    return RSTRING_LEN(message) > 0 ? message : mrb_str_new_cstr(state, mrb_obj_classname(state, exception));
}

static void put_lines(struct wire_out *out, mrb_value lines, mrb_int from, mrb_int to) {
    for (mrb_int i = from; i < to; i++)
        put_text(out, RARRAY_PTR(lines)[i]);
}

/* The script may have set it to what it likes; what is no text is left out by the host. */
static void put_backtrace(mrb_state *state, struct wire_out *out, mrb_value lines) {
    mrb_int count = mrb_array_p(lines) ? RARRAY_LEN(lines) : 0;
    inro__mp_write_array(&out->writer, (uint32_t)(count > BACKTRACE_MAX ? BACKTRACE_MAX : count));
    if (count <= BACKTRACE_MAX) {
        put_lines(out, lines, 0, count);
        return;
    }
    put_lines(out, lines, 0, BACKTRACE_FIRST);
    put_text(out, mrb_format(state, "... %i more", count - BACKTRACE_FIRST - BACKTRACE_LAST));
    put_lines(out, lines, count - BACKTRACE_LAST, count);
}

/* [origin, class, message, backtrace, details] */
static mrb_value put_panic(mrb_state *state, void *user) {
    mrb_value exception = ((struct ending *)user)->value;
    mrb_value message = message_of(state, exception);
    mrb_value lines = mrb_funcall_id(state, exception, MRB_SYM(backtrace), 0);
    struct wire_out *out = wire_begin();
    *out->writer.at++ = OUTCOME_PANIC;
    inro__mp_write_array(&out->writer, 5);
    bool service = is_service_error(exception);
    inro__mp_write_str(&out->writer, service ? "service" : "sandbox", 7);
    const char *class_name = mrb_obj_classname(state, exception);
    inro__mp_write_str(&out->writer, class_name ? class_name : "Exception",
                       (uint32_t)(class_name ? strlen(class_name) : 9));
    put_text(out, message);
    put_backtrace(state, out, lines);
    wire_put(state, out, details_of(exception), "details");
    return mrb_nil_value();
}

static mrb_value put_value(mrb_state *state, void *user) {
    struct wire_out *out = wire_begin();
    *out->writer.at++ = OUTCOME_VALUE;
    wire_put(state, out, ((struct ending *)user)->value, "result");
    return mrb_nil_value();
}

/* When even the description of a failure fails: its message may be a method of the script. */
static uint64_t put_bare_panic(void) {
    struct wire_out *out = wire_begin();
    *out->writer.at++ = OUTCOME_PANIC;
    inro__mp_write_array(&out->writer, 5);
    inro__mp_write_str(&out->writer, "sandbox", 7);
    inro__mp_write_str(&out->writer, "Exception", 9);
    inro__mp_write_str(&out->writer, "an exception that cannot be described", 37);
    inro__mp_write_array(&out->writer, 0);
    inro__mp_write_nil(&out->writer);
    return wire_end(mrb, out);
}

static uint64_t answer(struct ending *ending) {
    mrb_bool failed = ending->failed;
    if (!failed)
        ending->value = mrb_protect_error(mrb, put_value, ending, &failed);
    if (failed) {
        mrb_bool failed_again;
        mrb_gc_protect(mrb, ending->value);
        mrb_protect_error(mrb, put_panic, ending, &failed_again);
        if (failed_again)
            return put_bare_panic();
    }
    return wire_end(mrb, wire_current());
}

/* ---- running ---- */

/* The outermost frame remembers what ran in it last; a backtrace would name it. */
static void forget_last(void) {
    mrb->c->cibase->proc = NULL;
    mrb->c->cibase->pc = NULL;
}

/* The exception that reached the top, or the value. */
static struct ending ending_of(mrb_value value) {
    struct ending ending = {value, mrb->exc != NULL};
    if (ending.failed) {
        ending.value = mrb_obj_value(mrb->exc);
        mrb->exc = NULL;
    }
    return ending;
}

static struct ending protect(mrb_protect_error_func *body, void *user) {
    struct ending ending;
    mrb_bool failed;
    ending.value = mrb_protect_error(mrb, body, user, &failed);
    ending.failed = failed;
    return ending;
}

struct source {
    const char *text;
    uint32_t length;
    const char *file;
    struct RProc *code;
};

mrb_noreturn static void raise_syntax_error(struct mrb_parser_state *parser, const char *file) {
    const struct mrb_parser_message *first = &parser->error_buffer[0];
    mrb_value text = mrb_format(mrb, "%s", first->message ? first->message : "syntax error");
    mrb_value exception = mrb_exc_new_str(mrb, guest_errors[ERROR_SYNTAX], text);
    mrb_value line = mrb_format(mrb, "%s:%d:%d", file, (int)first->lineno, (int)first->column);
    mrb_funcall_id(mrb, exception, MRB_SYM(set_backtrace), 1, mrb_ary_new_from_values(mrb, 1, &line));
    mrb_parser_free(parser);
    mrb_exc_raise(mrb, exception);
}

/* The parser takes a NUL for the end of the source, and what follows would be left out without a word. */
static void refuse_nul(mrb_state *state, const struct source *source) {
    const char *nul = memchr(source->text, 0, source->length);
    if (!nul)
        return;
    int line = 1;
    for (const char *at = source->text; at < nul; at++)
        line += *at == '\n';
    mrb_raisef(state, guest_errors[ERROR_SYNTAX], "%s:%d: NUL byte in the source", source->file, line);
}

/* Compiles; the diagnostics are in the exception, nothing is printed. */
static mrb_value compile(mrb_state *state, void *user) {
    struct source *source = user;
    mrb_ccontext context = {.capture_errors = TRUE, .lineno = 1};
    refuse_nul(state, source);
    struct mrb_parser_state *parser = mrb_parser_new(state);
    if (!parser)
        mrb_raise(state, E_RUNTIME_ERROR, "no memory for the parser");
    mrb_ccontext_filename(state, &context, source->file);
    parser->s = source->text;
    parser->send = source->text + source->length;
    mrb_parser_parse(parser, &context);
    mrb_free(state, context.filename);
    if (!parser->tree || parser->nerr > 0)
        raise_syntax_error(parser, source->file);
    source->code = mrb_generate_code(state, parser);
    mrb_parser_free(parser);
    if (!source->code)
        mrb_raise(
            state, guest_errors[ERROR_SYNTAX],
            "the source parses but cannot be compiled (yield outside a method, or too large, or too deep)");
    return mrb_nil_value();
}

static struct ending run_code(struct RProc *code) {
    MRB_PROC_SET_TARGET_CLASS(code, mrb->object_class);
    if (mrb->c->ci)
        mrb_vm_ci_target_class_set(mrb->c->ci, mrb->object_class);
    return ending_of(mrb_top_run(mrb, code, mrb_top_self(mrb), 0));
}

static struct ending run_source(struct source *source) {
    struct ending ending = protect(compile, source);
    return ending.failed ? ending : run_code(source->code);
}

/* ---- entry points ---- */

/* A script. */
EXPORT(inro_eval) uint64_t guest_eval(const char *text, uint32_t length) {
    struct source source = {text, length, "(eval)", NULL};
    forget_last();
    struct ending ending = run_source(&source);
    return answer(&ending);
}

struct run {
    struct inro__mp_reader reader;
};

static mrb_value is_new_constant(mrb_state *state, mrb_value name) {
    return mrb_hash_key_p(state, own_constants, name) ? mrb_nil_value() : name;
}

static mrb_value available_constants(mrb_state *state) {
    mrb_value all = mrb_funcall_id(state, mrb_obj_value(state->object_class), MRB_SYM(constants), 0);
    mrb_value found = mrb_ary_new(state);
    for (mrb_int i = 0; i < RARRAY_LEN(all); i++) {
        mrb_value name = is_new_constant(state, RARRAY_PTR(all)[i]);
        if (!mrb_nil_p(name))
            mrb_ary_push(state, found, name);
    }
    return found;
}

mrb_noreturn static void raise_undefined_entrypoint(mrb_state *state, mrb_sym name) {
    mrb_value details = mrb_hash_new(state);
    mrb_hash_set(state, details, mrb_str_new_lit(state, "available"), available_constants(state));
    mrb_value exception = mrb_exc_new_str(state, guest_errors[ERROR_ENTRYPOINT],
                                          mrb_format(state, "undefined entrypoint: %n", name));
    mrb_iv_set(state, exception, MRB_SYM(details), details);
    mrb_exc_raise(state, exception);
}

static mrb_value entrypoint(mrb_state *state, mrb_sym name) {
    mrb_value holder = mrb_obj_value(state->object_class);
    if (!mrb_const_defined_at(state, holder, name))
        raise_undefined_entrypoint(state, name);
    mrb_value target = mrb_const_get(state, holder, name);
    if (!mrb_respond_to(state, target, MRB_SYM(call)))
        mrb_raisef(state, E_TYPE_ERROR, "entrypoint %n does not respond to :call", name);
    return target;
}

static mrb_value run_entrypoint(mrb_state *state, void *user) {
    struct run *run = user;
    mrb_value argv[3];
    mrb_sym name = mrb_intern_str(state, wire_get(state, &run->reader));
    argv[0] = entrypoint(state, name);
    argv[1] = wire_get(state, &run->reader);
    argv[2] = wire_get(state, &run->reader);
    return mrb_yield_with_class(state, dispatch, 3, argv, mrb_obj_value(inro_module), inro_module);
}

/* name (str), args (array), kwargs (map) */
EXPORT(inro_run) uint64_t guest_run(const uint8_t *message, uint32_t length) {
    struct run run = {{message, message + length}};
    forget_last();
    struct ending ending = protect(run_entrypoint, &run);
    return answer(&ending);
}

struct snippet {
    struct inro__mp_reader reader;
    bool bytecode;
    mrb_value file, body;
};

/* is bytecode (bool), name (str), body (str or bin) */
static mrb_value read_snippet(mrb_state *state, void *user) {
    struct snippet *snippet = user;
    snippet->bytecode = mrb_test(wire_get(state, &snippet->reader));
    mrb_value name = wire_get(state, &snippet->reader);
    snippet->file = mrb_format(state, "(snippet:%S)", name);
    snippet->body = wire_get(state, &snippet->reader);
    return mrb_nil_value();
}

static const char *bytecode_problem(mrb_value body) {
    const struct rite_binary_header *header = (const void *)RSTRING_PTR(body);
    if ((size_t)RSTRING_LEN(body) < sizeof *header)
        return "bytecode shorter than RITE binary header";
    if (memcmp(header->binary_ident, RITE_BINARY_IDENT, 4) != 0)
        return "bytecode header is not RITE format";
    if (memcmp(header->major_version, RITE_BINARY_MAJOR_VER, 2) != 0 ||
        memcmp(header->minor_version, RITE_BINARY_MINOR_VER, 2) > 0)
        return "bytecode RITE version mismatch";
    return "bytecode body failed structural validation";
}

static mrb_value load_bytecode(mrb_state *state, void *user) {
    struct snippet *snippet = user;
    mrb_irep *irep = mrb_read_irep_buf(state, RSTRING_PTR(snippet->body), (size_t)RSTRING_LEN(snippet->body));
    if (!irep)
        mrb_raise(state, guest_errors[ERROR_BYTECODE], bytecode_problem(snippet->body));
    struct RProc *code = mrb_proc_new(state, irep);
    mrb_irep_decref(state, irep);
    code->c = NULL;
    return mrb_obj_value(code);
}

static struct ending run_snippet(struct snippet *snippet) {
    if (!snippet->bytecode) {
        struct source source = {RSTRING_PTR(snippet->body), (uint32_t)RSTRING_LEN(snippet->body),
                                RSTRING_CSTR(mrb, snippet->file), NULL};
        return run_source(&source);
    }
    struct ending code = protect(load_bytecode, snippet);
    return code.failed ? code : run_code(mrb_proc_ptr(code.value));
}

/* Runs a snippet; its value does not matter. */
EXPORT(inro_load) uint64_t guest_load(const uint8_t *message, uint32_t length) {
    struct snippet snippet = {.reader = {message, message + length}};
    int arena = mrb_gc_arena_save(mrb);
    forget_last();
    struct ending ending = protect(read_snippet, &snippet);
    if (!ending.failed)
        ending = run_snippet(&snippet);
    if (!ending.failed)
        ending.value = mrb_nil_value();
    uint64_t packed = answer(&ending);
    mrb_gc_arena_restore(mrb, arena);
    return packed;
}

/* Compiles a snippet and forgets it. */
EXPORT(inro_check) uint64_t guest_check(const uint8_t *message, uint32_t length) {
    struct snippet snippet = {.reader = {message, message + length}};
    forget_last();
    struct ending ending = protect(read_snippet, &snippet);
    if (!ending.failed) {
        struct source source = {RSTRING_PTR(snippet.body), (uint32_t)RSTRING_LEN(snippet.body),
                                RSTRING_CSTR(mrb, snippet.file), NULL};
        ending = protect(compile, &source);
    }
    return answer(&ending);
}

EXPORT(inro_yield) uint64_t guest_yield(const uint8_t *message, uint32_t length) {
    return service_yield(mrb, message, length);
}

static mrb_value bind_services(mrb_state *state, void *user) {
    struct run *run = user;
    mrb_value paths = wire_get(state, &run->reader);
    for (mrb_int i = 0; i < RARRAY_LEN(paths); i++) {
        mrb_value path = RARRAY_PTR(paths)[i];
        service_define(state, RSTRING_PTR(path), (uint32_t)RSTRING_LEN(path), (uint32_t)i);
    }
    return mrb_nil_value();
}

static mrb_value remember_constants(mrb_state *state, void *user) {
    (void)user;
    mrb_value all = mrb_funcall_id(state, mrb_obj_value(state->object_class), MRB_SYM(constants), 0);
    mrb_hash_clear(state, own_constants);
    for (mrb_int i = 0; i < RARRAY_LEN(all); i++)
        mrb_hash_set(state, own_constants, RARRAY_PTR(all)[i], mrb_true_value());
    return mrb_nil_value();
}

/* Binds services: an array of paths, whose numbers are their indexes. */
EXPORT(inro_setup) uint64_t guest_setup(const uint8_t *message, uint32_t length) {
    struct run run = {{message, message + length}};
    int arena = mrb_gc_arena_save(mrb);
    struct ending ending = protect(bind_services, &run);
    if (!ending.failed)
        ending = protect(remember_constants, NULL);
    uint64_t packed = answer(&ending);
    mrb_gc_arena_restore(mrb, arena);
    return packed;
}

/* ---- boot ---- */

void mrb_mruby_inro_gem_init(mrb_state *state);
void mrb_mruby_inro_gem_final(mrb_state *state);

void mrb_mruby_inro_gem_init(mrb_state *state) {
    inro_module = mrb_define_module_id(state, MRB_SYM(Inro));
    guest_keep(state, inro_module);
    errors_init(state, inro_module);
    service_init(state, inro_module);
    output_init(state, inro_module);
    clock_init(state, inro_module);
}

void mrb_mruby_inro_gem_final(mrb_state *state) {
    (void)state;
}

/* Scripts may replace any method, so this one is not left where they find it. */
static bool take_dispatch(void) {
    struct RClass *class = mrb_singleton_class_ptr(mrb, mrb_obj_value(inro_module));
    mrb_method_t method = mrb_method_search_vm(mrb, &class, MRB_SYM(dispatch));
    if (MRB_METHOD_UNDEF_P(method) || MRB_METHOD_CFUNC_P(method))
        return false;
    dispatch = mrb_obj_value(MRB_METHOD_PROC(method));
    mrb_gc_register(mrb, dispatch);
    mrb_undef_class_method_id(mrb, inro_module, MRB_SYM(dispatch));
    return true;
}

/* A first script, so that tables which grow on first use have grown before the image is taken. */
static void warm_up(void) {
    static const char script[] = "x = [1, :a, 'b', {c: 2.5}, 1..2].map { |e| e.to_s }\nx.join; nil";
    guest_eval(script, sizeof script - 1);
}

/* What an invocation writes is copied back at its end, page by page, so what it allocates should lie together.
 * Boot leaves holes all over the heap; these two fill them for good, and scripts then get fresh, adjacent
 * memory: of objects, and of blocks. */
static void fill_object_holes(void) {
    mrb_value fillers = mrb_ary_new_capa(mrb, 1024);
    mrb_gc_register(mrb, fillers);
    int arena = mrb_gc_arena_save(mrb);
    while (mrb->gc.free_heaps) {
        mrb_ary_push(mrb, fillers, mrb_obj_value(mrb_obj_alloc(mrb, MRB_TT_OBJECT, mrb->object_class)));
        mrb_gc_arena_restore(mrb, arena);
    }
    mrb_ary_push(mrb, fillers, mrb_obj_value(mrb_obj_alloc(mrb, MRB_TT_OBJECT, mrb->object_class)));
    mrb_gc_arena_restore(mrb, arena);
}

static void fill_block_holes(void) {
    char *fresh = malloc(32768); /* larger than any hole: from the end of the heap */
    free(fresh);
    for (size_t size = 16384; size >= 8; size -= 8) {
        char *block = malloc(size);
        while (block && block < fresh)
            block = malloc(size);
        free(block);
    }
}

/* What boot has left in memory that is free now: zeros are cheaper to keep and to count. */
static void clear_free_memory(void) {
    size_t size = 131072;
    void *block = malloc(size);
    memset(block, 0, size);
    __asm__ volatile("" : : "r"(block) : "memory"); /* or the compiler drops what is freed next */
    free(block);
}

static void *moved(void *old, size_t size) {
    void *block = malloc(size);
    if (!block)
        __builtin_trap();
    memcpy(block, old, size);
    free(old);
    return block;
}

/* Brings together what every script writes: the interpreter's stack, its frames, its context and its arena. */
static void gather(void) {
    struct mrb_context *context = moved(mrb->c, sizeof *context);
    size_t values = (size_t)(context->stend - context->stbase), depth = (size_t)(context->ci - context->cibase);
    size_t frames = (size_t)(context->ciend - context->cibase);
    mrb_value *old_stack = context->stbase;
    mrb->c = mrb->root_c = context;
    context->cibase = moved(context->cibase, frames * sizeof *context->cibase);
    context->ciend = context->cibase + frames;
    context->ci = context->cibase + depth;
    mrb->gc.arena = moved(mrb->gc.arena, sizeof *mrb->gc.arena * (size_t)mrb->gc.arena_capa);
    context->stbase = moved(context->stbase, values * sizeof *context->stbase);
    context->stend = context->stbase + values;
    for (mrb_callinfo *frame = context->cibase; frame <= context->ci; frame++)
        frame->stack = context->stbase + (frame->stack - old_stack);
}

EXPORT(inro_boot) uint32_t guest_boot(void) {
    mrb = mrb_open();
    if (!mrb || mrb->exc || !take_dispatch())
        return 1;
    own_constants = mrb_hash_new(mrb);
    mrb_gc_register(mrb, own_constants);
    remember_constants(mrb, NULL);
    warm_up();
    forget_last();
    mrb_full_gc(mrb);
    fill_object_holes();
    fill_block_holes();
    gather();
    fill_block_holes();
    clear_free_memory();
    return 0;
}
