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


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(path):
    undefined = re.findall(r" U (\S+)", run("nm", "--undefined-only", path))
    found = [f"unexpected symbol {name}" for name in undefined if not ALLOWED.fullmatch(name)]
    found += [f"forbidden instruction {m}" for m in sorted(set(SYSTEM.findall(run("objdump", "-d", path))))]
    for problem in found:
        print(f"{path}: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1]))
