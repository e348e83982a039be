#!/usr/bin/env python3
"""Runs each line of docs/ruby.md: `code  # => the first line that inro eval prints`.

SPDX-License-Identifier: Apache-2.0
"""
import re
import sys

from support import COMMAND, ROOT, TESTS, blocks, main, run, test

PAGE = "docs/ruby.md"
LINE = re.compile(r"^(.*?)\s+# => (.*)$")


def heading_of(number):
    lines = (ROOT / PAGE).read_text().splitlines()[:number]
    return [line[3:] for line in lines if line.startswith("## ")][-1]


def section(number, block):
    def check():
        wrong = []
        for line in block.splitlines():
            found = LINE.match(line)
            assert found, f"neither code nor result: {line}"
            printed = run(COMMAND, "eval", "--", found.group(1))[1].splitlines()
            if printed[:1] != [found.group(2)]:
                wrong.append(f"{found.group(1)}\n  gives {printed[:1]}\n  the page says {found.group(2)}")
        assert not wrong, "\n".join(wrong)
    check.__name__ = re.sub(r"\W+", "_", heading_of(number)).lower()
    TESTS.append(check)


for number, block in blocks(PAGE, "ruby"):
    section(number, block)


@test
def the_gems_are_those_that_are_built():
    config = (ROOT / "guests/ruby/build_config.rb").read_text()
    built = re.search(r"PURE_GEMS = %w\[(.*?)\]", config, re.S).group(1).split()
    paragraph = (ROOT / PAGE).read_text().split("from `guests/ruby/build_config.rb`:")[1].split("```")[0]
    named = re.findall(r"`([\w-]+)`", paragraph)
    assert named == built, f"the page names {named}, built are {built}"


if __name__ == "__main__":
    sys.exit(main())
