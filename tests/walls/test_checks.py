#!/usr/bin/env python3
"""The build's checks of a guest refuse what they are there to refuse.

Each bad guest is a good one with one thing changed, so that only that thing can be the reason.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("INRO_ROOT", pathlib.Path(__file__).resolve().parents[2]))

ENTRY_POINTS = ["_initialize", "inro_boot", "inro_mailbox", "inro_setup", "inro_load", "inro_check", "inro_eval",
                "inro_run", "inro_yield"]
GOOD_WAT = """(module
  (import "inro" "write" (func $write (param i32 i32 i32)))
  (memory (export "memory") 1 16)
  (table 2 2 funcref)
  (global $stack (mut i32) (i32.const 1024))
  (func $f (param i32) (result i32) (i32.load offset=4 (local.get 0)))
  (elem (i32.const 1) $f)
  ;; more
  EXPORTS)
""".replace("EXPORTS", "\n  ".join(f'(func (export "{name}"))' for name in ENTRY_POINTS))

# name, text to replace, what stands there instead, part of the complaint
BAD_WAT = [
    ("an import of another module", '"inro" "write"', '"env" "write"', "unexpected imports: env.write"),
    ("an import that is not known", '"inro" "write"', '"inro" "open"', "unexpected imports: inro.open"),
    ("an export more", ";; more", '(func (export "extra"))', "exports differ: extra"),
    ("an export less", '(export "inro_run")', "", "exports differ: inro_run"),
    ("a second memory", ";; more", "(memory 1 1)", "not one unshared 32-bit memory"),
    ("a memory of 64 bits", '"memory") 1 16', '"memory") i64 1 16', "not one unshared 32-bit memory"),
    ("a shared memory", '"memory") 1 16', '"memory") 1 16 shared', "not one unshared 32-bit memory"),
    ("a memory without maximum", '"memory") 1 16', '"memory") 1', "not one unshared 32-bit memory"),
    ("a memory of all 4 GiB", '"memory") 1 16', '"memory") 1 65536', "not one unshared 32-bit memory"),
    ("a table that grows", "(table 2 2 funcref)", "(table 2 3 funcref)", "not one fixed function table"),
    ("a table without maximum", "(table 2 2 funcref)", "(table 2 funcref)", "not one fixed function table"),
    ("a second table", ";; more", "(table 2 2 funcref)", "not one fixed function table"),
    ("a second mutable global", ";; more", "(global (mut i32) (i32.const 0))", "not exactly one mutable global"),
    ("a thrown exception", ";; more", "(tag $t) (func (throw $t))", "forbidden instruction: throw"),
    ("a caught exception", ";; more", "(func (try (do (nop)) (catch_all (nop))))", "forbidden instruction: try"),
    ("a vector", ";; more", "(func (drop (i32x4.splat (i32.const 1))))", "forbidden instruction: i32x4.splat"),
    ("an atomic access", ";; more", "(func (drop (i32.atomic.load (i32.const 0))))", "forbidden instruction"),
    ("a tail call", ";; more", "(func $t return_call $t)", "forbidden instruction: return_call"),
    ("a reference", ";; more", "(func (drop (ref.null func)))", "forbidden instruction: ref.null"),
    ("a write to the table", ";; more", "(func (table.set 0 (i32.const 0) (table.get 0 (i32.const 1))))",
     "forbidden instruction: table"),
    ("a passive segment", ";; more", '(data $d "x") (func (memory.init $d (i32.const 0) (i32.const 0) (i32.const 1)))',
     "forbidden instruction: memory.init"),
    ("no access at all", "(i32.load offset=4 (local.get 0))", "(local.get 0)", "no static offsets found"),
]

GOOD_C = """
extern int inro__guest_trap(int);
extern void *memcpy(void *, const void *, unsigned long);
int guest(int a, char *b) { memcpy(b, b + a, 5000); return inro__guest_trap(a); }
/* more */
"""
BAD_C = [
    ("a function of the C library", "int more(void) { extern int puts(const char *); return puts(\"x\"); }",
     "unexpected symbol puts"),
    ("the host's memory", "void *more(void) { extern void *malloc(unsigned long); return malloc(1); }",
     "unexpected symbol malloc"),
    ("errno", "extern __thread int errno; int more(void) { return errno; }", "unexpected symbol errno"),
    ("a system call", "void more(void) { __asm__ volatile(\"syscall\"); }", "forbidden instruction syscall"),
    ("an old system call", "void more(void) { __asm__ volatile(\"int $0x80\"); }", "forbidden instruction int"),
    ("the clock of the processor", "void more(void) { __asm__ volatile(\"rdtsc\"); }", "forbidden instruction rdtsc"),
    ("entropy of the processor", "void more(void) { __asm__ volatile(\"rdrand %rax\"); }", "forbidden instruction rdrand"),
    ("another segment base", "void more(void) { __asm__ volatile(\"wrgsbase %rax\"); }", "forbidden instruction wrgsbase"),
    ("a load from a fixed address", "void more(void) { __asm__ volatile(\"movabs 0xfffffffc, %eax\"); }",
     "access to a fixed address"),
    ("a store to a fixed address", "void more(void) { __asm__ volatile(\"movabs %eax, 0xfffffffc\"); }",
     "access to a fixed address"),
    ("a store to a low fixed address", "void more(void) { __asm__ volatile(\"movl $1, 0x1000\"); }",
     "access to a fixed address"),
]
# The compiler's own mistake that made the check necessary: gcc 12 drops the segment here.
GUEST_C = """
#include "wasm/translated.h"
u32 guest(struct inro__memory *memory);
u32 guest(struct inro__memory *memory) { i32_store(memory, 0xfffffffcu, 1); return i32_load(memory, 0xffffffffu); }
"""

results = []


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def report(name, good, text):
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}")
    if not good:
        print("\n".join(f"# {line}" for line in text.splitlines()) or "# it was accepted")


def check(name, tool, path, complaint):
    """A good sample has no complaint and passes; a bad one has it and fails."""
    done = run(sys.executable, f"guests/{tool}.py", str(path))
    good = done.returncode == 0 if complaint is None else done.returncode == 1 and complaint in done.stderr
    report(f"{tool}: {name}", good, done.stderr)


def check_wat(folder, name, text, complaint):
    (folder / "guest.wat").write_text(text)
    made = run("wat2wasm", "--enable-all", "--no-check", str(folder / "guest.wat"), "-o", str(folder / "guest.wasm"))
    if made.returncode:
        report(f"check_wasm: {name}", False, made.stderr)
    else:
        check(name, "check_wasm", folder / "guest.wasm", complaint)


def check_c(folder, name, text, complaint):
    (folder / "guest.c").write_text(text)
    made = run("gcc", "-O2", "-fPIC", "-Isrc", "-Iinclude", "-c", str(folder / "guest.c"), "-o", str(folder / "guest.o"))
    if made.returncode:
        report(f"check_object: {name}", False, made.stderr)
    else:
        check(name, "check_object", folder / "guest.o", complaint)


def main():
    print(f"1..{len(BAD_WAT) + len(BAD_C) + 5}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_wat(folder, "a good guest", GOOD_WAT, None)
        for name, text, instead, complaint in BAD_WAT:
            assert text in GOOD_WAT, name
            check_wat(folder, name, GOOD_WAT.replace(text, instead), complaint)
        check_c(folder, "a good guest", GOOD_C, None)
        for name, more, complaint in BAD_C:
            check_c(folder, name, GOOD_C.replace("/* more */", more), complaint)
        check_c(folder, "constant addresses beyond 2 GiB", GUEST_C, None)
        check("the guest of this build", "check_wasm", "build-guest/ruby.wasm", None)
        check("the code of this build", "check_object", "build-guest/ruby_1.o", None)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
