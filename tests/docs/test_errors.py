#!/usr/bin/env python3
"""Checks that docs/errors.md is what the headers say, and that tools/gen-errors notices when it is not.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import pathlib
import shutil
import sys
import tempfile

from support import ROOT, main, run, test


@contextlib.contextmanager
def copy():
    """A copy of the little that the generator reads and writes."""
    with tempfile.TemporaryDirectory(prefix="inro-docs-") as folder:
        root = pathlib.Path(folder)
        for name in ("tools/gen-errors", "include/inro/base.h", "include/inro/outcome.h", "docs/errors.md"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
        yield root


def edit(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {path.name}"
    path.write_text(text.replace(old, new))


def generate(root, *arguments):
    return run(root / "tools/gen-errors", *arguments)


@test
def the_page_is_what_the_headers_say():
    status, output = run(ROOT / "tools/gen-errors", "--check")
    assert status == 0, output


@test
def every_status_and_fault_is_on_the_page():
    with copy() as root:
        (root / "docs/errors.md").write_text("")
        assert generate(root, "--check")[0] == 1
        assert generate(root)[0] == 0
        page = (root / "docs/errors.md").read_text()
    for name in ("INRO_OK", "INRO_ERR_ARGUMENT", "INRO_ERR_TRAP", "INRO_ENDED_SANDBOX", "INRO_FAULT_NONE", "INRO_FAULT_WIRE"):
        assert f"| `{name}` |" in page, f"{name} is not on the page"


@test
def a_changed_text_makes_the_page_stale():
    with copy() as root:
        edit(root / "include/inro/base.h", '-1, "wrong argument"', '-1, "bad argument"')
        status, output = generate(root, "--check")
        assert status == 1 and "run tools/gen-errors" in output, output


@test
def a_new_row_needs_a_description():
    with copy() as root:
        edit(root / "include/inro/outcome.h", 'XX(WIRE, 12, SANDBOX, "WireError")',
             'XX(WIRE, 12, SANDBOX, "WireError") \\\n    XX(NEW, 13, TRAP, "NewError")')
        status, output = generate(root)
        assert status == 1 and "fault NEW has no description" in output, output


@test
def a_description_needs_a_row():
    with copy() as root:
        edit(root / "include/inro/base.h", 'XX(ERR_TRAP, -13, "the guest was stopped")', 'XX(OTHER, -13, "other")')
        status, output = generate(root)
        assert status == 1 and "no description" in output, output


if __name__ == "__main__":
    sys.exit(main())
