#!/usr/bin/env python3
"""Tests of the developers' tools: a checker that cannot fail checks nothing, so each is shown a bad sample.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TESTS = []


def test(function):
    TESTS.append(function)
    return function


@contextlib.contextmanager
def folder_of(files):
    """A temporary folder with these files ({name: text})."""
    with tempfile.TemporaryDirectory(prefix="inro-tools-") as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if text.startswith("#!"):
                path.chmod(0o755)
        yield root


def tool(name, *arguments, **environment):
    done = subprocess.run([str(ROOT / name), *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "INRO_FORBID_SKIPS": "0", **environment})
    return done.returncode, done.stdout


def expect(outcome, status, *texts):
    found, output = outcome
    assert found == status, f"exit status {found}, expected {status}:\n{output}"
    for text in texts:
        assert text in output, f"{text!r} is not in:\n{output}"


# --- check-headers

GOOD_HEADER = """/* Head. */
#ifndef X
#define X
/* A type. */
typedef struct inro_box inro_box;

/* Opens.
 * Expected: cannot fail. */
INRO_API int inro_box_open(inro_box *box);
#endif
"""


@test
def check_headers_accepts_contracts():
    with folder_of({"x.h": GOOD_HEADER}) as root:
        expect(tool("tools/check-headers", root), 0)


@test
def check_headers_finds_a_function_without_comment():
    with folder_of({"x.h": GOOD_HEADER.replace("cannot fail. */\n", "cannot fail. */\n\n")}) as root:
        expect(tool("tools/check-headers", root), 1, "x.h:10", "inro_box_open has no comment")


@test
def check_headers_finds_a_comment_without_expectations():
    with folder_of({"x.h": GOOD_HEADER.replace("Expected", "Returns")}) as root:
        expect(tool("tools/check-headers", root), 1, "inro_box_open has no \"Expected:\"")


@test
def check_headers_finds_types_without_comment():
    for line in ("typedef int inro_number;", "struct inro_thing {", "enum inro_kind {",
                 "typedef void (*inro_release_fn)(void *user);"):
        with folder_of({"x.h": GOOD_HEADER.replace("#endif", f"\n{line}\n#endif")}) as root:
            expect(tool("tools/check-headers", root), 1, "has no comment")


@test
def check_headers_fails_on_an_empty_folder():
    with folder_of({}) as root:
        expect(tool("tools/check-headers", root), 1)


# --- check-layers

@test
def check_layers_accepts_includes_to_the_left():
    with folder_of({"src/base/a.h": "", "src/value/a.c": '#include "base/a.h"\n#include "b.h"\n#include <inro/inro.h>\n',
                    "src/cli/main.c": '#include <inro/inro.h>\n#include "cli/x.h"\n'}) as root:
        expect(tool("tools/check-layers", root), 0)


@test
def check_layers_finds_an_include_to_the_right():
    with folder_of({"src/base/a.c": '#include <stdio.h>\n#include "wasm/slot.h"\n'}) as root:
        expect(tool("tools/check-layers", root), 1, "src/base/a.c:2", "to its right")


@test
def check_layers_finds_a_climbing_include():
    with folder_of({"src/base/a.c": '#include "../wasm/slot.h"\n'}) as root:
        expect(tool("tools/check-layers", root), 1, "climbs out")


@test
def check_layers_keeps_users_on_the_public_api():
    for file in ("src/cli/main.c", "examples/quickstart.c", "tests/api/test_x.c"):
        for line in ('#include "base/alloc.h"\n', "#include <base/alloc.h>\n"):
            with folder_of({"src/base/alloc.h": "", file: line}) as root:
                expect(tool("tools/check-layers", root), 1, file + ":1", "<inro/...> only")


@test
def check_layers_finds_an_unknown_folder():
    with folder_of({"src/misc/a.c": ""}) as root:
        expect(tool("tools/check-layers", root), 1, "src/misc")


# --- check-sizes

def function_of(lines):
    return "int f(void);\nint f(void) {\n" + "    (void)0;\n" * (lines - 3) + "    return 0;\n}\n"


@test
def check_sizes_accepts_sixty_lines():
    with folder_of({"src/a.c": function_of(60)}) as root:
        expect(tool("tools/check-sizes", root), 0)


@test
def check_sizes_finds_a_long_function():
    with folder_of({"src/a.c": function_of(61)}) as root:
        expect(tool("tools/check-sizes", root), 1, "f has 61 lines")


@test
def check_sizes_finds_a_long_file():
    with folder_of({"src/a.c": function_of(10) + "\n" * 790}) as root:
        expect(tool("tools/check-sizes", root), 1, "801 lines")


# --- check-symbols, check-hardening

def compile_shared(root, source, *flags):
    (root / "x.c").write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", *flags, "-o", str(root / "x.so"), str(root / "x.c")], check=True)
    return root / "x.so"


@test
def check_symbols_compares_both_ways():
    with folder_of({"h/x.h": GOOD_HEADER}) as root:
        exact = compile_shared(root, "int inro_box_open(void *b) { return b != 0; }\n")
        expect(tool("tools/check-symbols", exact, root / "h"), 0)
        more = compile_shared(root, "int inro_box_open(void *b) { return b != 0; }\nint leaked;\n")
        expect(tool("tools/check-symbols", more, root / "h"), 1, "leaked is exported")
        less = compile_shared(root, "static int x;\nint *inro_box(void);\nint *inro_box(void) { return &x; }\n")
        expect(tool("tools/check-symbols", less, root / "h"), 1, "inro_box_open is declared")


@test
def check_hardening_reads_the_linked_file():
    with folder_of({}) as root:
        hard = compile_shared(root, "int x;\n", "-Wl,-z,relro,-z,now,-z,noexecstack")
        expect(tool("tools/check-hardening", hard), 0)
        soft = compile_shared(root, "int x;\n", "-Wl,-z,norelro,-z,lazy,-z,execstack")
        expect(tool("tools/check-hardening", soft), 1, "executable stack", "relro", "lazily")


# --- check-format, check-tidy

@test
def check_format_finds_bad_format():
    with folder_of({"good.c": "int f(void);\n", "bad.c": "int   f( void );\n"}) as root:
        expect(tool("tools/check-format", root / "good.c"), 0)
        expect(tool("tools/check-format", root / "bad.c"), 1, "bad.c:1")


@test
def check_tidy_finds_a_bug():
    source = "int f(int *p);\nint f(int *p) {\n    if (p == 0)\n        return *p;\n    return 0;\n}\n"
    with folder_of({"bad.c": source}) as root:
        (root / "compile_commands.json").write_text(json.dumps(
            [{"directory": str(root), "file": "bad.c", "command": "gcc -c bad.c"}]))
        expect(tool("tools/check-tidy", root, root / "bad.c"), 1, "null pointer")
        (root / "bad.c").write_text(source.replace("*p;", "1;"))
        expect(tool("tools/check-tidy", root, root / "bad.c"), 0, "1 examined")
        expect(tool("tools/check-tidy", root, root / "bad.c"), 0, "0 examined")


# --- derive-deb-src, setup

DEB822 = """Types: deb
URIs: https://mirror.example/security
Suites: bookworm-security
Components: main

# a comment
Types: deb
URIs: https://mirror.example/debian https://other.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
"""


@test
def derive_deb_src_reads_deb822():
    with folder_of({"sources.list.d/debian.sources": DEB822}) as root:
        expect(tool("tools/derive-deb-src", "trixie", root), 0,
               "Types: deb-src\nURIs: https://mirror.example/debian\nSuites: trixie\nComponents: main\n"
               "Signed-By: \n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n")


@test
def derive_deb_src_reads_one_line_entries():
    text = "# deb http://no.example/ bookworm main\ndeb [arch=amd64 signed-by=/k.gpg] http://m.example/d bookworm main\n"
    with folder_of({"sources.list": text, "sources.list.d/other.list": "deb http://x.example/ stable main\n"}) as root:
        expect(tool("tools/derive-deb-src", "trixie", root), 0, "URIs: http://m.example/d\n", "Signed-By: /k.gpg\n")


@test
def derive_deb_src_refuses_what_does_not_fit():
    for text in ("", DEB822.replace("Suites: bookworm ", "Suites: sid "), DEB822.replace("# a comment", "Enabled: no")):
        with folder_of({"sources.list.d/debian.sources": text}) as root:
            expect(tool("tools/derive-deb-src", "trixie", root), 1, "no enabled apt entry")


@test
def setup_refuses_an_unknown_option():
    expect(tool("tools/setup", "--everything"), 1, "usage:")


@test
def setup_names_a_wrong_machine_in_one_sentence():
    with folder_of({"bin/uname": "#!/bin/sh\ncase $1 in -s) echo Linux ;; *) echo riscv64 ;; esac\n"}) as root:
        status, output = tool("tools/setup", PATH=f"{root}/bin:{os.environ['PATH']}")
        expect((status, output), 1, "x86-64 only so far, and this machine is riscv64")
        assert output.count("\n") == 1, output


# --- tests/run

def tap(text, status=0):
    return f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {status}\n"


@test
def run_adds_up():
    with folder_of({"a": tap("1..2\nok 1 - x\nok 2 - y # SKIP host: no"), "b": tap("1..1\nok 1 - z")}) as root:
        status, output = tool("tests/run", root / "a", root / "b")
        expect((status, output), 0, "y: host: no")
        assert output.splitlines()[-1] == "2 passed, 0 failed, 1 skipped", output


@test
def run_shows_failures_in_full():
    with folder_of({"a": tap("1..2\nnot ok 1 - x\n# f.c:3: why\nok 2 - y", 1)}) as root:
        expect(tool("tests/run", root / "a"), 1, "not ok: x", "f.c:3: why", "1 passed, 1 failed, 0 skipped")


@test
def run_counts_silence_as_failure():
    bad = {"no plan": tap("ok 1 - x"), "too few": tap("1..2\nok 1 - x"), "bad exit": tap("1..1\nok 1 - x", 3),
           "bail": tap("1..1\nok 1 - x\nBail out! no"), "killed": "#!/bin/sh\necho 1..2\necho ok 1 - x\nkill -9 $$\n"}
    for name, text in bad.items():
        with folder_of({"a": text}) as root:
            expect(tool("tests/run", root / "a"), 1, "1 failed")
    with folder_of({}) as root:
        expect(tool("tests/run", root / "missing"), 1, "1 failed")


@test
def run_forbids_skips_on_demand():
    with folder_of({"a": tap("1..2\nok 1 - x\nok 2 - y # SKIP lazy")}) as root:
        expect(tool("tests/run", root / "a"), 0, "1 passed, 0 failed, 1 skipped")
        expect(tool("tests/run", root / "a", INRO_FORBID_SKIPS="1"), 1, "1 passed, 1 failed, 0 skipped")


@test
def run_fails_when_nothing_ran():
    with folder_of({"a": tap("1..0 # SKIP host: no")}) as root:
        expect(tool("tests/run", root / "a"), 1, "0 passed, 0 failed, 1 skipped")


@test
def run_reads_a_build_folder_and_stops_what_hangs():
    entry = {"name": "t", "cmd": ["/bin/sleep", "60"], "env": {}, "workdir": None, "timeout": 1, "protocol": "exitcode"}
    with folder_of({"meson-info/intro-tests.json": json.dumps([entry])}) as root:
        expect(tool("tests/run", root), 1, "timed out after 1 seconds", "0 passed, 1 failed, 0 skipped")


# --- the harness

HARNESS_SAMPLE = """#include "harness.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
TEST(passes) { CHECK_INT(1, 1); }
TEST(fails) { CHECK_INT(1 + 1, 3); }
TEST(crashes) { raise(SIGSEGV); }
TEST_SECONDS(hangs, 1) { for (;;) pause(); }
TEST(leaves) { exit(0); }
TEST(child_fails) { if (fork() == 0) CHECK(0); wait(NULL); }
TEST(skips) { SKIP("host: no"); }
TEST(skips_lazily) { SKIP("later"); }
TEST(lies) { (void)!write(1, "\\nok 1 - fails\\n", 14); CHECK(0); }
"""


def build_harness(root):
    (root / "t.c").write_text(HARNESS_SAMPLE)
    subprocess.run(["gcc", "-std=gnu11", f"-I{ROOT}/tests", str(root / "t.c"), str(ROOT / "tests/harness.c"),
                    "-o", str(root / "t")], check=True)
    return root / "t"


@test
def harness_tells_every_ending():
    with folder_of({}) as root:
        program = build_harness(root)
        expect(tool(program), 1, "1..9", "ok 1 - passes", "not ok 2 - fails\n# ", "1 + 1 is 2, expected 3",
               "not ok 3 - crashes\n# died by signal SIGSEGV", "not ok 4 - hangs\n# timed out after 1 seconds",
               "not ok 5 - leaves\n# called exit before its end", "not ok 6 - child_fails",
               "ok 7 - skips # SKIP host: no", "ok 8 - skips_lazily # SKIP later", "not ok 9 - lies\n# \n# ok 1 - fails")
        expect(tool(program, "passes"), 0, "1..1")
        expect(tool(program, "none of that name"), 1, "1..0")
        expect(tool(program, "skips", INRO_FORBID_SKIPS="1"), 1, "ok 1 - skips # SKIP", "not ok 2 - skips_lazily")
        expect(tool(program, "--list"), 0, "passes\nfails\n")
        expect(tool(program, "--no-fork", "passes"), 0, "passed: passes")


def main():
    print(f"1..{len(TESTS)}", flush=True)
    failed = 0
    for number, function in enumerate(TESTS, 1):
        try:
            function()
            print(f"ok {number} - {function.__name__}", flush=True)
        except Exception as error:
            failed += 1
            lines = str(error).splitlines() or [type(error).__name__]
            print(f"not ok {number} - {function.__name__}\n" + "\n".join("# " + line for line in lines), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
