#!/usr/bin/env python3
"""Refuses a compiled guest object that calls anything but its runtime, or contains a system call.

Usage: check_object.py OBJECT.o

SPDX-License-Identifier: Apache-2.0
"""
import re
import subprocess
import sys

ALLOWED = re.compile(r"(_GLOBAL_OFFSET_TABLE_|inro__\w+|Z_inroZ_(try|throw|write|call|clock|entropy)|mem(cpy|move|set)|"
                     r"(floor|ceil|trunc|nearbyint|sqrt|rint)f?)")
SYSTEM = re.compile(r"\t(syscall|sysenter|int +\$?0x[0-9a-f]+|wrgsbase|wrfsbase|rdgsbase|rdtsc\w*|rdrand|rdseed|wrpkru|xrstor)\b")
# An operand in memory at a constant address without %gs: the host's memory, not the guest's (see translated.h).
ABSOLUTE = re.compile(r"\t(\w+ +(?:[^\t\n(]*,)?(?:%[c-f]s:)?0x[0-9a-f]+(?:,[^\n(]*)?)$", re.M)


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(path):
    undefined = re.findall(r" U (\S+)", run("nm", "--undefined-only", path))
    found = [f"unexpected symbol {name}" for name in undefined if not ALLOWED.fullmatch(name)]
    code = run("objdump", "-d", path)
    found += [f"forbidden instruction {m}" for m in sorted(set(SYSTEM.findall(code)))]
    found += [f"access to a fixed address of the host: {m}" for m in sorted(set(ABSOLUTE.findall(code)))]
    for problem in found:
        print(f"{path}: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1]))
