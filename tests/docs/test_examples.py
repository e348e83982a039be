#!/usr/bin/env python3
"""Runs every example and compares what it prints with examples/NAME.expected.

SPDX-License-Identifier: Apache-2.0
"""
import sys

from support import BUILD, ROOT, TESTS, main, run, same, test, without_times

ARGUMENTS = {"quickstart": ["examples/quickstart.rb"]}


def example(name):
    def check():
        status, output = run(BUILD / "examples" / name, *ARGUMENTS.get(name, []))
        same(without_times(output), (ROOT / "examples" / f"{name}.expected").read_text(), name)
        assert status == 0, f"{name} ended with {status}"
    check.__name__ = f"prints_what_is_expected_{name}"
    TESTS.append(check)


for source in sorted((ROOT / "examples").glob("*.c")):
    example(source.stem)


@test
def quickstart_fits_a_screen_or_two():
    lines = (ROOT / "examples/quickstart.c").read_text().count("\n")
    assert lines <= 120, f"{lines} lines"


@test
def quickstart_refuses_a_missing_script():
    status, output = run(BUILD / "examples/quickstart", "examples/no-such-script.rb")
    same(output, "usage: quickstart SCRIPT.rb\n", "quickstart")
    assert status == 2, f"ended with {status}"


if __name__ == "__main__":
    sys.exit(main())
