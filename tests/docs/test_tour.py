#!/usr/bin/env python3
"""Checks that what the pages name exists: files and folders, and functions in a file named in the same paragraph.

SPDX-License-Identifier: Apache-2.0
"""
import functools
import re
import sys

from support import ROOT, TESTS, main

PAGES = ["docs/tour.md", "docs/security.md"]
FOLDERS = ("src", "guests", "include", "tests", "tools", "docs", "fuzz", "bench", "examples", "presets")
PATH = re.compile(rf"`((?:{'|'.join(FOLDERS)})(?:/[\w.+-]+)*)`")
FUNCTION = re.compile(r"`(\w+)\(\)`")
CONSTANT = re.compile(r"`(INRO_\w+)`")


@functools.cache
def text_of(path):
    return (ROOT / path).read_text(errors="replace") if (ROOT / path).is_file() else ""


def paragraphs(page):
    """(first line's number, text): a run of lines; a list item is a paragraph of its own."""
    start, lines = 1, []
    for number, line in enumerate((ROOT / page).read_text().splitlines() + [""], 1):
        if not line or re.match(r"(\d+\.|-|\|) ?", line):
            if lines:
                yield start, "\n".join(lines)
            start, lines = number, []
        if line:
            lines.append(line)


def defines(path, function):
    """A definition in C or assembly: the name on a line that is not indented, and a body behind it."""
    text = text_of(path)
    if path.endswith(".S"):
        return re.search(rf"^{function}:", text, re.M) is not None
    return re.search(r"^(?!\s)[^\n;{]*\b" + function + r"\([^;]*?\{", text, re.M) is not None


def missing_paths(page):
    return [f"{page}: {path} does not exist" for path in PATH.findall((ROOT / page).read_text())
            if not (ROOT / path).exists()]


def missing_functions(page):
    for start, text in paragraphs(page):
        paths = PATH.findall(text)
        for function in FUNCTION.findall(text):
            if not any(defines(path, function) for path in paths):
                yield f"{page}:{start}: {function}() is defined in none of {', '.join(paths) or 'no file'}"


def missing_constants(page):
    headers = "".join(path.read_text() for path in (ROOT / "include/inro").glob("*.h"))
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.h"))
    for name in CONSTANT.findall((ROOT / page).read_text()):
        generated = re.sub(r"^INRO_(FAULT_)?", "", name)
        if not re.search(rf"\b{name}\b|\bXX\({generated},", headers + sources):
            yield f"{page}: {name} does not exist"


def named_things(page):
    def check():
        problems = missing_paths(page) + list(missing_functions(page)) + list(missing_constants(page))
        assert not problems, "\n".join(problems)
        assert PATH.search((ROOT / page).read_text()), "the page names no file"
    check.__name__ = f"everything_named_in_{page.split('/')[1].split('.')[0]}_exists"
    TESTS.append(check)


for name in PAGES:
    named_things(name)


if __name__ == "__main__":
    sys.exit(main())
