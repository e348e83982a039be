#!/usr/bin/env python3
"""Fits the C that wasm2c wrote to inro's own runtime.

wasm2c emits helpers for a runtime that we do not use (see docs/security.md). This cuts them away, so that the
translated functions stand on src/wasm/translated.h instead, makes the function table a constant, splits the
functions over several files (they compile in parallel), and refuses output it does not know: every cut must
fit exactly once, and nothing of the old runtime may remain.

Usage: translate.py GUEST.c NAME PARTS OUTPUT-FOLDER
Writes NAME.h, NAME_1.c .. NAME_PARTS.c, NAME_data.c.

SPDX-License-Identifier: Apache-2.0
"""
import re
import sys
from pathlib import Path


def fail(text):
    raise SystemExit(f"translate.py: {text}")


def cut(text, pattern, what):
    found = re.findall(pattern, text, flags=re.M | re.S)
    if len(found) != 1:
        fail(f"{what}: {len(found)} places, expected 1")
    return found[0]


FUNCTION = re.compile(r"^(static \w+ w2c_\w+\([^;{]*?\)) \{\n.*?^\}\n", re.M | re.S)
PROTOTYPE = re.compile(r"^static \w+ w2c_\w+\([^;{]*\);\n", re.M)


def table_source(text, name):
    """The function table as constant data; index 0 stays null and so does every gap."""
    size, maximum = cut(text, r"wasm_rt_allocate_funcref_table\(&instance->w2c_T0, (\d+), (\d+)\)", "table")
    if size != maximum:
        fail("the function table can grow")
    exprs = cut(text, r"^static const wasm_elem_segment_expr_t elem_segment_exprs_w2c_e0\[\] = \{\n(.*?)^\};", "elements")
    count, at = cut(text, r"funcref_table_init\(&instance->w2c_T0, elem_segment_exprs_w2c_e0, (\d+), (\d+)u, 0, \d+,", "table start")
    entries = re.findall(r"\{(\d+), \(wasm_rt_function_ptr_t\)&(w2c_\w+), 0\}", exprs)
    if len(entries) != int(count):
        fail("a table element that is not one of the guest's own functions")
    rows = "".join(f"    [{int(at) + i}] = {{{int(kind) + 1}, (void (*)(void)){function}}},\n"
                   for i, (kind, function) in enumerate(entries))
    return int(size), f"const struct guest_table_entry guest_table[GUEST_TABLE_SIZE] = {{\n{rows}}};\n"


def data_source(text):
    """The initial memory: (address, bytes array name, length) of each segment, and the arrays."""
    arrays = "".join(m.group(0) for m in re.finditer(r"^static const u8 data_segment_data_\w+\[\] = \{.*?^\};\n", text, re.M | re.S))
    loads = re.findall(r"^  LOAD_DATA\(instance->w2c_memory, (\d+)u, (\w+), (\d+)\);", text, re.M)
    if not loads:
        fail("no data segments")
    return arrays, loads


def exports(text):
    found = re.findall(r"^/\* export: '(\w+)' \*/\n(\w+) (Z_guestZ_\w+)\((Z_guest_instance_t\* instance[^)]*)\) \{\n  return (w2c_\w+)\(", text, re.M)
    return [(name, kind, args, target) for name, kind, _, args, target in found]


def header_source(prototypes, imports, size, name):
    return (f"/* Made by guests/translate.py from {name}. */\n#include \"wasm/translated.h\"\n"
            "typedef struct inro__instance Z_guest_instance_t;\n#define Z_inro_instance_t inro__instance\n"
            f"#define GUEST_TABLE_SIZE {size}u\n"
            "struct guest_table_entry { u32 type; void (*function)(void); };\n"
            "#pragma GCC visibility push(hidden)\n"
            f"#define guest_table inro__{name}_table\n"
            "extern const struct guest_table_entry guest_table[GUEST_TABLE_SIZE];\n"
            f"{imports}{prototypes}#pragma GCC visibility pop\n")


def prefix_map(functions, name):
    """Functions lose `static` to be shared between files, so they get the guest's name as a prefix."""
    return {f: f"inro__{name}_{f[4:]}" for f in functions}


def rename(text, names):
    return re.sub(r"\bw2c_(?!T0\b|memory\b|__stack_pointer\b|[ijfdlp]\d+\b|[BILW]\d+\b)\w+", lambda m: names.get(m.group(0), m.group(0)), text)


# The head of an interpreter's loop: fetch a byte, jump by it.
DISPATCH = re.compile(r"^ *w2c_L(\d+): *\n((?: *w2c_i\d = [^\n]*;\n){0,2} *(w2c_i\d) = i32_load8_u\([^\n]*\);\n)"
                      r" *switch \(\3\) \{\n((?: *case \d+: goto \w+;\n){64,256}) *default: goto (\w+);\n *\}\n", re.M)


def thread_dispatch(function):
    """Gives every instruction of an interpreter its own jump to the next, instead of one shared switch.

    wasm has no computed goto, so clang folded them into one; a predictor wants them apart. The index is a
    byte and the table has 256 entries, so no check is needed."""
    found = DISPATCH.search(function)
    if not found:
        return function
    label, fetch, index, cases, default = found.groups()
    targets = dict(re.findall(r"case (\d+): goto (\w+);", cases))
    rows = ", ".join(f"&&{targets.get(str(byte), default)}" for byte in range(256))
    jump = "{ " + " ".join(fetch.split()) + f" goto *dispatch[(u8){index}]; }}"
    table = f"  static const void *const dispatch[256] = {{{rows}}};\n"
    function = function[:found.start()] + f"w2c_L{label}:\n{jump}\n" + function[found.end():]
    function = re.sub(rf"goto w2c_L{label};", lambda _: jump, function)
    return function.replace("  FUNC_PROLOGUE;\n", "  FUNC_PROLOGUE;\n" + table, 1)


def split(functions, parts):
    """Cuts the list into runs of about equal text, keeping the order (neighbours inline each other)."""
    total, done, runs = sum(map(len, functions)), 0, [[] for _ in range(parts)]
    for function in functions:
        runs[min(parts - 1, done * parts // total)].append(function)
        done += len(function)
    return runs


def main(source, name, parts, folder):
    text = Path(source).read_text()
    if cut(text, r"^static void init_globals\(Z_guest_instance_t\* instance\) \{\n(.*?)^\}\n", "globals").count("instance->") != 1:
        fail("a mutable global besides the stack pointer")
    stack_pointer = cut(text, r"instance->w2c___stack_pointer = (\d+)u;\n\}", "stack pointer")
    pages = cut(text, r"wasm_rt_allocate_memory\(&instance->w2c_memory, (\d+), (\d+)\);", "memory")
    size, table = table_source(text, name)
    arrays, loads = data_source(text)
    functions = [thread_dispatch(m.group(0)) for m in FUNCTION.finditer(text)]
    names = prefix_map({re.search(r"w2c_\w+", f).group(0) for f in functions}, name)
    prototypes = "".join(m.group(0) for m in PROTOTYPE.finditer(text)).replace("static ", "")
    header = Path(source).with_suffix(".h").read_text()
    imports = "".join(re.findall(r"^\w+ Z_inroZ_\w+\(struct Z_inro_instance_t\*[^;]*;\n", header, re.M))
    body_type = cut(text, r"func_types\[(\d+)\] = wasm_rt_register_func_type\(1, 0, WASM_RT_I32\);", "type of a body")
    folder = Path(folder)
    include = f'#include "{name}.h"\n'
    (folder / f"{name}.h").write_text(rename(header_source(prototypes, imports, size, name), names))
    for number, run in enumerate(split(functions, parts), 1):
        body = "".join(f.replace("static ", "", 1) for f in run)
        body = body.replace("wasm_rt_grow_memory(&instance->w2c_memory, ", "inro__guest_grow(instance, ")
        body = body.replace("instance->w2c_memory.pages", "guest_pages(&instance->w2c_memory)")
        left = re.search(r"wasm_rt_\w+|init_\w+_instances", body)
        if left:
            fail(f"{left.group(0)} is of the old runtime")
        (folder / f"{name}_{number}.c").write_text(include + rename(body, names))
    rows = "".join(f"    {{{at}u, {array}, {length}u}},\n" for at, array, length in loads)
    entry = "".join(f"{kind} inro__{name}_export_{export}({args}) {{\n    return {target}("
                    + ", ".join(re.findall(r"\b(instance|w2c_p\d+)\b", args)) + ");\n}\n"
                    for export, kind, args, target in exports(text))
    entry += (f"void inro__{name}_call_body(Z_guest_instance_t* instance, u32 body, u32 argument) {{\n"
              f"    CALL_INDIRECT(, void (*)(void*, u32), {body_type}, body, , argument);\n}}\n")
    (folder / f"{name}_data.c").write_text(rename(
        include + '#include "wasm/guest.h"\n' + table + arrays
        + f"const struct inro__segment inro__{name}_segments[] = {{\n{rows}}};\n"
        + f"const struct inro__layout inro__{name}_layout = {{{pages[0]}u, {pages[1]}u, {stack_pointer}u, "
        + f"inro__{name}_segments, {len(loads)}}};\n" + entry, names))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
