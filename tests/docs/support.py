"""What the tests of the documentation share: TAP, the build that is under test, and a look at failures.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("INRO_BUILD", ROOT / "build"))
COMMAND = os.environ.get("INRO_COMMAND", str(BUILD / "inro"))
TESTS = []
MICROSECONDS = re.compile(r"\b\d+(\.\d+)? us\b")


def test(function):
    TESTS.append(function)
    return function


def main():
    """Runs the tests of the importing script, those whose name contains the first argument if there is one."""
    chosen = [function for function in TESTS if len(sys.argv) < 2 or sys.argv[1] in function.__name__]
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for number, function in enumerate(chosen, 1):
        try:
            function()
            print(f"ok {number} - {function.__name__}", flush=True)
        except Exception as error:
            failed += 1
            lines = str(error).splitlines() or [type(error).__name__]
            print(f"not ok {number} - {function.__name__}\n" + "\n".join("# " + line for line in lines), flush=True)
    return 1 if failed else 0


def run(*command, **options):
    """(exit status, what it printed on both streams together)"""
    done = subprocess.run([str(word) for word in command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=300, **options)
    return done.returncode, done.stdout


def same(found, expected, what):
    assert found == expected, f"{what} printed\n{found}\nexpected\n{expected}"


def without_times(text):
    """How long something took is nobody's promise."""
    return MICROSECONDS.sub("N us", text)


def blocks(page, language):
    """(line number, text) of each fenced block of a page in this language."""
    found, inside, start = [], None, 0
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        if inside is None and line.startswith("```"):
            inside, start, kind = [], number + 1, line[3:].strip()
        elif inside is not None and line.startswith("```"):
            if kind == language:
                found.append((start, "\n".join(inside) + "\n"))
            inside = None
        elif inside is not None:
            inside.append(line)
    assert inside is None, f"{page}:{start}: a fenced block without an end"
    return found


def languages(page):
    fences = re.findall(r"^```(.*)$", (ROOT / page).read_text(), re.M)
    return fences[::2]


def link_flags():
    """What the build under test was linked with besides the library: sanitizers."""
    flags = ["-lm", "-pthread"]
    options = (BUILD / "preset.ini").read_text() if (BUILD / "preset.ini").exists() else ""
    sanitizers = re.search(r"^b_sanitize = '(\S+)'", options, re.M)
    if sanitizers:
        flags.append(f"-fsanitize={sanitizers.group(1)}")
    return flags


def compile_c(source, program):
    """Compiles a C program that uses the library, the way a user's own would be, all warnings on."""
    path = pathlib.Path(program).with_suffix(".c")
    path.write_text(source)
    status, output = run("gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}/include", path,
                         BUILD / "libinro.a", *link_flags(), "-o", program)
    assert status == 0, f"does not compile:\n{output}"


def console(text):
    """(command words, expected output) of each `$ ` line of a console block."""
    commands = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        else:
            assert commands, f"output before the first command: {line}"
            commands[-1][1].append(line)
    return [(line, "".join(text + "\n" for text in output)) for line, output in commands]


def run_console_line(line, folder):
    """Runs one line in a shell whose `inro` is the build under test; answers what it printed."""
    command = f"inro() {{ {shlex.quote(COMMAND)} \"$@\"; }}; {line}"
    done = subprocess.run(["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=300)
    return done.stdout
