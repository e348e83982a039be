#!/usr/bin/env python3
"""Compiles, runs and compares every block of code in README.md, and follows its links.

A ```c block is a program; a ```text block right behind it is what it prints. Any other ```text block is part of
examples/quickstart.expected. A ```console block has `$ ` lines and what they print.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import sys
import tempfile

from support import ROOT, TESTS, blocks, compile_c, console, languages, main, run, run_console_line, same, test

PAGE = "README.md"
PAGES = sorted(path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
TEXTS = blocks(PAGE, "text")


def add(name, function):
    function.__name__ = name
    TESTS.append(function)


def program(number, source):
    end = number + source.count("\n")
    expected = [text for at, text in TEXTS if end < at <= end + 3]

    def check():
        with tempfile.TemporaryDirectory(prefix="inro-docs-") as folder:
            path = pathlib.Path(folder) / "program"
            compile_c(source, path)
            status, output = run(path)
        assert expected, "no ```text block with the program's output follows"
        same(output, expected[0], "the program")
        assert status == 0, f"it ended with {status}"
    add(f"c_program_at_line_{number}", check)


def session(number, text):
    def check():
        lines = console(text)
        assert lines, "no `$ ` line"
        for line, expected in lines:
            same(run_console_line(line, ROOT), expected, line)
    add(f"console_session_at_line_{number}", check)


for at, block in blocks(PAGE, "c"):
    program(at, block)
for at, block in blocks(PAGE, "console"):
    session(at, block)


@test
def every_block_is_of_a_kind_that_is_tested():
    unknown = set(languages(PAGE)) - {"c", "text", "console"}
    assert not unknown, f"blocks that nothing tests: {unknown}"


@test
def other_texts_are_what_the_quick_start_prints():
    ends = [at + block.count("\n") for at, block in blocks(PAGE, "c")]
    expected = (ROOT / "examples/quickstart.expected").read_text()
    for at, text in TEXTS:
        assert any(end < at <= end + 3 for end in ends) or text in expected, f"line {at}: not in quickstart.expected"


@test
def the_two_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake (\w+)", (ROOT / PAGE).read_text()):
        assert re.search(rf"^{target}:", makefile, re.M), f"make {target} does not exist"


@test
def the_numbers_have_their_place():
    text = (ROOT / PAGE).read_text()
    assert text.count("<!-- numbers -->") == 1 and text.count("<!-- /numbers -->") == 1
    assert text.index("<!-- numbers -->") < text.index("<!-- /numbers -->")


@test
def links_lead_somewhere():
    dead = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text()):
            if not (ROOT / page).parent.joinpath(target).exists():
                dead.append(f"{page}: {target}")
    assert not dead, "\n".join(dead)


if __name__ == "__main__":
    sys.exit(main())
