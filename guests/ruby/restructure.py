#!/usr/bin/env python3
"""Turns mruby's setjmp sites into structured protected calls.

mruby jumps out of C with setjmp and longjmp. WebAssembly has neither, and a jump target kept in guest memory
could be forged. Here every MRB_TRY body becomes a function that the host calls inside a frame of its own
(see throw.h beside this file, and src/wasm/enter.c): inro_try(body, argument, jmpbuf) answers 0 when the
body returned and 1 when inro_throw(jmpbuf) left it.

The sources are pinned by SHA-256, so every edit below must fit exactly once; anything else is an error.

Usage: restructure.py PATH-OF-MRUBY   (edits in place)

SPDX-License-Identifier: Apache-2.0
"""
import re
import sys
from pathlib import Path


class Source:
    def __init__(self, root, name):
        self.path = Path(root, name)
        self.text = self.path.read_text()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.path.write_text(self.text)

    def once(self, pattern, new):
        """Replaces the one match of a regular expression by literal text."""
        self.text, count = re.subn(pattern, lambda _: new, self.text, flags=re.M | re.S)
        if count != 1:
            raise SystemExit(f"{self.path}: {count} places match {pattern!r}, expected 1")

    def function(self, head, new):
        """Replaces a whole definition: from the line that matches `head` to the brace in column 0."""
        self.once(head + r"[^;{]*?\n\{.*?^\}\n", new)


PROTECT_ERROR = """\
struct protect_error {
  mrb_state *mrb;
  mrb_protect_error_func *body;
  void *userdata;
  mrb_value result;
};

static void
protect_error_body(void *argument)
{
  struct protect_error *call = argument;
  call->result = call->body(call->mrb, call->userdata);
}

/* Drops the frames that the exception passed; after a fiber switch only those that were called directly. */
static void
protect_error_unwind(mrb_state *mrb, const struct mrb_context *entered, ptrdiff_t depth)
{
  struct mrb_context *now = mrb->c;
  if (now == entered) {
    while (now->ci - now->cibase > depth)
      cipop(mrb);
  }
  else {
    while (now->ci > now->cibase && now->ci->cci == CINFO_DIRECT)
      cipop(mrb);
  }
}

MRB_API mrb_value
mrb_protect_error(mrb_state *mrb, mrb_protect_error_func *body, void *userdata, mrb_bool *error)
{
  struct protect_error call = {mrb, body, userdata, mrb_nil_value()};
  struct mrb_jmpbuf *outer = mrb->jmp, jump;
  const struct mrb_context *entered = mrb->c;
  ptrdiff_t depth = entered->ci - entered->cibase;
  int arena = mrb_gc_arena_save(mrb);

  mrb->jmp = &jump;
  mrb_bool raised = inro_try(protect_error_body, &call, &jump) != 0;
  mrb->jmp = outer;
  if (error) *error = raised;
  if (raised) {
    call.result = mrb_obj_value(mrb->exc);
    mrb->exc = NULL;
    protect_error_unwind(mrb, entered, depth);
  }
  mrb_gc_arena_restore(mrb, arena);
  mrb_gc_protect(mrb, call.result);
  return call.result;
}
"""

VM_EXEC = """\
struct vm_run {
  mrb_state *mrb;
  const struct RProc *proc;
  const mrb_code *pc;
  struct mrb_jmpbuf *outer;
  struct mrb_jmpbuf jump;
  int arena;
  mrb_bool raised;
  mrb_value result;
};

static void
vm_run_body(void *argument)
{
  struct vm_run *run = argument;
  run->result = vm_loop(run->mrb, run->proc, run->pc, run->outer, &run->jump, run->arena, run->raised);
}

/* After a throw the loop starts again, at the frame that the exception reached. */
static void
vm_run_caught(struct vm_run *run)
{
  mrb_state *mrb = run->mrb;
  mrb_callinfo *ci = mrb->c->ci;
  while (ci > mrb->c->cibase && ci->cci == CINFO_DIRECT)
    ci = cipop(mrb);
  run->raised = TRUE;
  run->pc = ci->pc;
  if (ci->proc && !MRB_PROC_CFUNC_P(ci->proc))
    run->proc = ci->proc;
}

MRB_API mrb_value
mrb_vm_exec(mrb_state *mrb, const struct RProc *proc, const mrb_code *pc)
{
  struct vm_run run = {mrb, proc, pc, mrb->jmp, {0}, mrb_gc_arena_save(mrb), FALSE, mrb_nil_value()};
  while (inro_try(vm_run_body, &run, &run.jump))
    vm_run_caught(&run);
  return run.result;
}
"""

FUNCALL_TOP = """\
struct funcall_top {
  mrb_state *mrb;
  mrb_value self, blk, result;
  mrb_sym mid;
  mrb_int argc;
  const mrb_value *argv;
};

static void
funcall_top_body(void *argument)
{
  struct funcall_top *call = argument;
  call->result = mrb_funcall_with_block(call->mrb, call->self, call->mid, call->argc, call->argv, call->blk);
}

/* A call from outside of any protected frame: the exception itself is the result. */
static mrb_value
funcall_top(mrb_state *mrb, mrb_value self, mrb_sym mid, mrb_int argc, const mrb_value *argv, mrb_value blk)
{
  struct funcall_top call = {mrb, self, blk, mrb_nil_value(), mid, argc, argv};
  struct mrb_jmpbuf jump;
  ptrdiff_t depth = mrb->c->ci - mrb->c->cibase;

  mrb->jmp = &jump;
  if (inro_try(funcall_top_body, &call, &jump)) {
    while (depth < mrb->c->ci - mrb->c->cibase)
      cipop(mrb);
    call.result = mrb_obj_value(mrb->exc);
  }
  mrb->jmp = NULL;
  return call.result;
}

"""

INIT_PROTECT = """\
struct init_protect {
  mrb_state *mrb;
  void (*body)(mrb_state*, void*);
  void *opaque;
};

static void
init_protect_body(void *argument)
{
  struct init_protect *call = argument;
  call->body(call->mrb, call->opaque);
}

int
mrb_core_init_protect(mrb_state *mrb, void (*body)(mrb_state*, void*), void *opaque)
{
  struct init_protect call = {mrb, body, opaque};
  struct mrb_jmpbuf *outer = mrb->jmp, jump;

  mrb->jmp = &jump;
  int failed = inro_try(init_protect_body, &call, &jump);
  mrb->jmp = outer;
  return failed;
}
"""

GENERATE = """\
struct generate {
  mrb_state *mrb;
  codegen_scope *scope;
  parser_state *p;
  int val;
  struct RProc *proc;
};

static void
generate_body(void *argument)
{
  struct generate *call = argument;
  mrb_state *mrb = call->mrb;
  codegen(call->scope, call->p->tree, call->val);
  call->proc = mrb_proc_new(mrb, call->scope->irep);
  call->proc->c = NULL;
  if (mrb->c->cibase && mrb->c->cibase->proc == call->proc->upper)
    call->proc->upper = NULL;
}

static struct RProc*
generate_code(mrb_state *mrb, parser_state *p, int val)
{
  struct generate call = {mrb, scope_new(mrb, 0, 0), p, val, NULL};
  struct mrb_jmpbuf *outer = mrb->jmp, jump;

  call.scope->mrb = mrb;
  call.scope->parser = p;
  call.scope->filename_sym = p->filename_sym;
  call.scope->filename_index = p->current_filename_index;
  mrb->jmp = &jump;
  int failed = inro_try(generate_body, &call, &jump);
  mrb->jmp = outer;
  mrb_irep_decref(mrb, call.scope->irep);
  mrb_pool_close(call.scope->mpool);
  return failed ? NULL : call.proc;
}
"""

PARSE = """\
struct parse {
  parser_state *p;
  mrb_ccontext *c;
  mrb_bool refused;
};

static void
parse_body(void *argument)
{
  struct parse *call = argument;
  parser_state *p = call->p;
  p->cmd_start = TRUE;
  p->in_def = p->in_single = 0;
  p->nerr = p->nwarn = 0;
  p->lex_strterm = NULL;
  parser_init_cxt(p, call->c);
  call->refused = yyparse(p) != 0 || p->nerr > 0;
  if (call->refused)
    p->tree = 0;
  else
    parser_update_cxt(p, call->c);
}

MRB_API void
mrb_parser_parse(parser_state *p, mrb_ccontext *c)
{
  struct parse call = {p, c, FALSE};
  struct mrb_jmpbuf *outer = p->mrb->jmp, jump;

  p->mrb->jmp = &jump;
  if (inro_try(parse_body, &call, &jump)) {
    if (p->mrb->exc == NULL) /* the parser throws without an exception when it gets no memory */
      inro_exhausted();
    p->nerr++;
    p->tree = 0;
  }
  p->mrb->jmp = outer;
}
"""


def edit_vm(vm):
    vm.function(r"^MRB_API mrb_value\nmrb_protect_error\(", PROTECT_ERROR)
    vm.once(r"^MRB_API mrb_value\nmrb_funcall_with_block\(mrb_state \*mrb, mrb_value self, mrb_sym mid, mrb_int argc, "
            r"const mrb_value \*argv, mrb_value blk\)\n\{\n  mrb_value val;\n",
            FUNCALL_TOP + "MRB_API mrb_value\nmrb_funcall_with_block(mrb_state *mrb, mrb_value self, mrb_sym mid, "
            "mrb_int argc, const mrb_value *argv, mrb_value blk)\n{\n  mrb_value val;\n")
    vm.once(r"  if \(!mrb->jmp\) \{\n    struct mrb_jmpbuf c_jmp;\n    ptrdiff_t nth_ci.*?MRB_END_EXC\(&c_jmp\);\n"
            r"    mrb->jmp = NULL;\n  \}\n",
            "  if (!mrb->jmp) {\n    val = funcall_top(mrb, self, mid, argc, argv, blk);\n  }\n")
    vm.once(r"^MRB_API mrb_value\nmrb_vm_exec\([^)]*\)\n",
            "static mrb_value\nvm_loop(mrb_state *mrb, const struct RProc *proc, const mrb_code *pc, "
            "struct mrb_jmpbuf *prev_jmp,\n        struct mrb_jmpbuf *own_jmp, int ai, mrb_bool exc_catched)\n")
    vm.once(r"^  int ai = mrb_gc_arena_save\(mrb\);\n  struct mrb_jmpbuf \*prev_jmp = mrb->jmp;\n"
            r"  struct mrb_jmpbuf c_jmp;\n(?=  uint32_t a;)", "")
    vm.once(r"^  mrb_bool exc_catched = FALSE;\nRETRY_TRY_BLOCK:\n\n  MRB_TRY\(&c_jmp\) \{\n", "")
    vm.once(r"^  mrb->jmp = &c_jmp;\n  CI_PROC_SET", "  mrb->jmp = own_jmp;\n  CI_PROC_SET")
    vm.once(r"^#undef regs\n  \}\n  MRB_CATCH\(&c_jmp\) \{\n.*?MRB_END_EXC\(&c_jmp\);\n\}\n",
            "#undef regs\n}\n\n" + VM_EXEC)


def main(root):
    with Source(root, "include/mruby/throw.h") as throw:
        throw.text = Path(__file__).with_name("throw.h").read_text()
    with Source(root, "src/vm.c") as vm:
        edit_vm(vm)
    with Source(root, "src/error.c") as error:
        error.function(r"^int\nmrb_core_init_protect\(", INIT_PROTECT)
        error.function(r"^mrb_noreturn void\nmrb_raise_nomemory\(",
                       "mrb_noreturn void\nmrb_raise_nomemory(mrb_state *mrb)\n{\n  (void)mrb;\n  inro_exhausted();\n}\n")
        error.function(r"^void\nmrb_protect_atexit\(", "void\nmrb_protect_atexit(mrb_state *mrb)\n{\n  (void)mrb;\n}\n")
        error.function(r"^MRB_API void\nmrb_print_error\(", "MRB_API void\nmrb_print_error(mrb_state *mrb)\n{\n  (void)mrb;\n}\n")
    with Source(root, "src/backtrace.c") as backtrace:
        # Deep recursion must not need a string for each of its frames: the first 50 and the last 49 are told.
        backtrace.once(r"  backtrace = mrb_obj_ptr\(mrb_ary_new_capa\(mrb, n\)\);\n",
                       "  backtrace = mrb_obj_ptr(mrb_ary_new_capa(mrb, n < 100 ? n : 100));\n")
        backtrace.once(r"^  for \(i = 0; i < n; i\+\+\) \{\n(?=    const struct backtrace_location \*entry)",
                       "  for (i = 0; i < n; i++) {\n    if (n > 100 && i == 50) {\n      mrb_ary_push(mrb, "
                       "mrb_obj_value(backtrace), mrb_format(mrb, \"... %i more\", n - 99));\n"
                       "      i = n - 49;\n    }\n")
    with Source(root, "src/gc.c") as gc:
        # A collection would take the texts of the two exceptions that are made in advance.
        gc.once(r"^  err->mesg = NULL;\n", "  mrb_gc_mark(mrb, (struct RBasic*)err->mesg);\n")
        gc.function(r"^void\nmrb_objspace_each_objects\(",
                    "void\nmrb_objspace_each_objects(mrb_state *mrb, mrb_each_object_callback *callback, void *data)\n"
                    "{\n  mrb_full_gc(mrb);\n  gc_each_objects(mrb, &mrb->gc, callback, data);\n}\n")
    with Source(root, "mrbgems/mruby-compiler/core/codegen.c") as codegen:
        codegen.function(r"^static struct RProc\*\ngenerate_code\(", GENERATE)
    for parser in ("mrbgems/mruby-compiler/core/y.tab.c",):
        with Source(root, parser) as source:
            source.function(r"^MRB_API void\nmrb_parser_parse\(", PARSE)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: restructure.py PATH-OF-MRUBY")
    main(sys.argv[1])
