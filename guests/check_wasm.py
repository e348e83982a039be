#!/usr/bin/env python3
"""Refuses a guest that could do what the wall does not expect.

One 32-bit memory with a maximum, a table that cannot grow, known imports only, one mutable global, no
instruction of exceptions, threads, SIMD, tail calls or reference types, no static offset beyond the guard.

Usage: check_wasm.py GUEST.wasm

SPDX-License-Identifier: Apache-2.0
"""
import re
import subprocess
import sys

IMPORTS = {"inro.try", "inro.throw", "inro.write", "inro.call", "inro.clock", "inro.entropy"}
EXPORTS = {"memory", "_initialize", "inro_boot", "inro_mailbox", "inro_setup", "inro_load", "inro_check", "inro_eval",
           "inro_run", "inro_yield"}
FORBIDDEN = re.compile(r"\| +(try|catch|throw|rethrow|delegate|return_call\w*|memory\.atomic\S*|\w+\.atomic\S*|v128\S*|"
                       r"[if](?:8x16|16x8|32x4|64x2)\S*|ref\.\w+|table\.\w+|elem\.drop|memory\.init|data\.drop)\b")
GUARD = 1 << 32  # a static offset is at most 2^32-1; the reservation holds index + offset + 64 KiB


def problems(details, code):
    imports = set(re.findall(r"<- (inro\.\w+|\S+\.\S+)$", section(details, "Import"), re.M))
    if imports - IMPORTS:
        yield f"unexpected imports: {', '.join(sorted(imports - IMPORTS))}"
    exports = set(re.findall(r'-> "(\w+)"', section(details, "Export")))
    if exports != EXPORTS:
        yield f"exports differ: {', '.join(sorted(exports ^ EXPORTS))}"
    memories = re.findall(r"memory\[\d+\] pages: initial=(\d+)( max=(\d+))?( \w+)?", section(details, "Memory"))
    if len(memories) != 1 or not memories[0][2] or int(memories[0][2]) >= 65536 or memories[0][3]:
        yield f"not one unshared 32-bit memory with a maximum below 65536 pages: {memories}"
    tables = re.findall(r"table\[\d+\] type=funcref initial=(\d+) max=(\d+)", section(details, "Table"))
    if len(tables) != 1 or tables[0][0] != tables[0][1]:
        yield f"not one fixed function table: {tables}"
    if len(re.findall(r"mutable=1", section(details, "Global"))) != 1:
        yield "not exactly one mutable global"
    forbidden = FORBIDDEN.search(code)
    if forbidden:
        yield f"forbidden instruction: {forbidden.group(1)}"
    offsets = [int(o) for o in re.findall(r"\| +\S+\.(?:load|store)\S* \d+ (\d+)", code)]
    if not offsets or max(offsets) >= GUARD:
        yield "no static offsets found" if not offsets else f"static offset {max(offsets)} beyond the guard"


def section(details, name):
    found = re.search(rf"^{name}\[\d+\]:\n(.*?)(?=^\w+\[\d+\]:|\Z)", details, re.M | re.S)
    return found.group(1) if found else ""


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout


def main(path):
    found = list(problems(run("wasm-objdump", "-x", path), run("wasm-objdump", "-d", path)))
    for problem in found:
        print(f"{path}: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1]))
