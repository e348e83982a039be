#!/usr/bin/env python3
"""Tests of the command: real runs of the built program, its answers and its exit statuses.

    tests/cli/test_cli.py [INRO [PART-OF-A-NAME]]

The program is the first argument, or INRO_COMMAND in the environment. Prints TAP.

SPDX-License-Identifier: Apache-2.0
"""
import base64
import json
import os
import pathlib
import pty
import random
import re
import resource
import select
import shlex
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INRO = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("INRO_COMMAND", "")
SECONDS = 300
VALUE, FAILED, USAGE, TRAP = 0, 1, 2, 3
TESTS = []
MIB = 1 << 20


# AddressSanitizer's remark that a guest has a stack of its own; it names the program's stack, and nothing is wrong.
SANITIZER_REMARK = re.compile(rb"==\d+==WARNING: ASan is ignoring requested __asan_handle_no_return.*\n.*\n.*\n")


def test(function):
    TESTS.append(function)
    return function


class Run:
    def __init__(self, *arguments, stdin=b"", **options):
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        done = subprocess.run([INRO, *arguments], input=stdin, timeout=SECONDS, **options)
        self.status, self.out, self.err = done.returncode, done.stdout, SANITIZER_REMARK.sub(b"", done.stderr or b"")
        self.what = " ".join(map(repr, arguments))[:300]

    def explain(self):
        return f"{self.what}: status {self.status}\n  out {self.out!r:.600}\n  err {self.err!r:.1200}"

    def expect(self, status, out=None, err=None):
        """`out` must be equal, each of `err` (bytes or a list) must be contained."""
        assert self.status == status, f"expected status {status}: {self.explain()}"
        assert out is None or self.out == out, f"expected {out!r:.200}: {self.explain()}"
        for part in [err] if isinstance(err, bytes) else err or []:
            assert part in self.err, f"{part!r} is not on standard error: {self.explain()}"
        if err == b"":
            assert self.err == b"", f"something is on standard error: {self.explain()}"
        return self

    def json(self):
        assert self.out.endswith(b"\n") and self.out.count(b"\n") == 1, f"not one line: {self.explain()}"
        return json.loads(self.out, object_pairs_hook=unique_keys)


def unique_keys(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key comes twice: {keys}"
    return dict(pairs)


def ev(code, *arguments, **options):
    return Run("eval", code, *arguments, **options)


def folder_with(files):
    folder = tempfile.TemporaryDirectory(prefix="inro-cli-")
    for name, content in files.items():
        (pathlib.Path(folder.name) / name).write_bytes(content)
    return folder


def python_service(body):
    """A program whose `request` is the object on its standard input."""
    code = "import json, os, sys\nrequest = json.load(sys.stdin)\n" + body
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"


# --- eval

@test
def values_are_shown_as_inspect_does():
    ev("1 + 1").expect(VALUE, b"2\n", b"")
    ev("").expect(VALUE, b"nil\n", b"")
    ev('{a: 1, "b" => [nil, 2.5, :c]}').expect(VALUE, b'{a: 1, "b" => [nil, 2.5, :c]}\n', b"")
    ev("0.0 / 0.0").expect(VALUE, b"NaN\n")
    ev('"\\e[31m"').expect(VALUE, b'"\\e[31m"\n')


@test
def output_comes_first_and_each_stream_keeps_its_place():
    ev('puts "out"; $stderr.puts "err"; 3').expect(VALUE, b"out\n3\n", b"err\n")
    ev('print "no line end"; 3').expect(VALUE, b"no line end\n3\n")
    ev('puts "before"; raise "boom"').expect(FAILED, b"before\n", b"RuntimeError: boom\n")


@test
def output_comes_while_the_script_runs():
    """The line is read while a service holds the script."""
    read, write = os.pipe()
    process = subprocess.Popen([INRO, "eval", 'puts "early"; Gate.call; puts "late"', "--service",
                                f"Gate=sh -c 'cat <&{read}'"], stdout=subprocess.PIPE, pass_fds=[read])
    os.close(read)
    with process, os.fdopen(write, "wb") as gate:
        first = process.stdout.readline()
        gate.write(b"null")
        gate.close()
        assert (first, process.stdout.read()) == (b"early\n", b"late\nnil\n")
    assert process.returncode == VALUE


@test
def scripts_come_from_files_and_standard_input():
    with folder_with({"script.rb": b"6 * 7", "-": b"1", "empty.rb": b""}) as folder:
        path = os.path.join(folder, "script.rb")
        Run("eval", "-f", path).expect(VALUE, b"42\n", b"")
        Run("eval", f"-f{path}").expect(VALUE, b"42\n", b"")
        Run("eval", "--file", path).expect(VALUE, b"42\n", b"")
        Run("eval", f"--file={path}").expect(VALUE, b"42\n", b"")
        Run("eval", "-f", os.path.join(folder, "empty.rb")).expect(VALUE, b"nil\n", b"")
        Run("eval", "-f", "./-", cwd=folder).expect(VALUE, b"1\n", b"")
    Run("eval", "-", stdin=b"2 + 2").expect(VALUE, b"4\n", b"")
    Run("eval", "-f", "-", stdin=b"2 + 3").expect(VALUE, b"5\n", b"")
    Run("eval", "--", "-5 + 1").expect(VALUE, b"-4\n", b"")


@test
def files_that_cannot_be_read_are_named():
    with folder_with({}) as folder:
        Run("eval", "-f", os.path.join(folder, "none.rb")).expect(
            USAGE, b"", [b"none.rb", b"No such file or directory"])
        Run("eval", "-f", folder).expect(USAGE, b"", [b"Is a directory"])
        ev("1", "--preload", os.path.join(folder, "gone.rb")).expect(USAGE, b"", [b"gone.rb"])
        ev("1", "--preload-bytecode", os.path.join(folder, "gone.mrb")).expect(USAGE, b"", [b"gone.mrb"])
    Run("eval", "-", stdin=None, preexec_fn=lambda: os.close(0)).expect(USAGE, b"", b"standard input")


@test
def a_binary_file_fails_in_words():
    junk = b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 40
    with folder_with({"junk.rb": junk}) as folder:
        done = Run("eval", "-f", os.path.join(folder, "junk.rb"))
        assert done.status in (FAILED, USAGE) and done.err, done.explain()


@test
def a_huge_source_runs_and_a_larger_one_is_refused():
    line = b"x = 1 # " + b"-" * 120 + b"\n"
    count = MIB // len(line)
    Run("eval", "-", "--memory", "none", stdin=line * count + b"x + 1").expect(VALUE, b"2\n", b"")
    Run("eval", "-", stdin=b"#" * (16 * MIB + 1)).expect(USAGE, b"", b"larger than 16 MiB")


@test
def failures_show_class_message_and_line():
    source = 'def foo\n  raise ArgumentError, "no such fish"\nend\n\nfoo\n'
    done = Run("eval", "-", stdin=source.encode()).expect(FAILED, b"", [
        b"ArgumentError: no such fish\n", b"(eval):2", b'2 | raise ArgumentError, "no such fish"\n', b"(eval):5"])
    lines = done.err.splitlines()
    assert lines[0] == b"ArgumentError: no such fish", done.explain()
    assert re.fullmatch(rb"  \(eval\):2(:in .*)?", lines[1]), done.explain()
    ev("raise 'a' * 100 # " + "z" * 1000).expect(FAILED, b"", b"zzz...\n")
    ev("[1,").expect(FAILED, b"", [b"SyntaxError", b"(eval):1"])
    ev("nothing_here").expect(FAILED, b"", [b"NoMethodError", b"nothing_here"])


@test
def long_backtraces_are_shortened_for_people_only():
    endless = "def f\n  f\nend\nf"
    done = ev(endless).expect(FAILED, b"", [b"SystemStackError: ", b"(eval):2:in f\n", b" more times\n", b"(eval):4\n"])
    assert len(done.err.splitlines()) < 10, done.explain()
    done = ev("def f\n  g\nend\ndef g\n  f\nend\nf").expect(FAILED, b"", [b" more lines\n", b"(eval):7\n"])
    assert len(done.err.splitlines()) < 60, done.explain()
    assert len(ev(endless, "--json").expect(FAILED).json()["error"]["backtrace"]) == 100
    ev("def f(n)\n  n == 0 ? raise('x') : f(n - 1)\nend\nf(1)").expect(FAILED, b"", b"  (eval):2:in f\n  (eval):4\n")


@test
def a_value_that_cannot_cross_is_a_failure():
    ev("Object.new").expect(FAILED, b"", b": ")


# --- limits

@test
def the_timeout_stops_a_loop():
    ev("loop {}", "--timeout", "0.05").expect(TRAP, b"", b"TimeoutError: ")
    ev("1", "--timeout", "none").expect(VALUE, b"1\n")
    ev("1", "--timeout=1e").expect(USAGE)


@test
def the_memory_limit_stops_growth():
    grow = 'a = []; loop { a << "x" * 1000 }'
    ev(grow, "--memory", "4M", "--timeout", "100").expect(TRAP, b"", b"MemoryLimitError: ")
    ev('("x" * 3_000_000).length').expect(TRAP, b"", b"MemoryLimitError: ")
    ev('("x" * 3_000_000).length', "--memory", "64M").expect(VALUE, b"3000000\n")
    ev('("x" * 3_000_000).length', "--memory", "none").expect(VALUE, b"3000000\n")


@test
def output_limits_cut_and_say_so():
    done = ev('puts "a" * 100; 1', "--stdout-limit", "10").expect(VALUE, b"a" * 10 + b"\n1\n", b"--stdout-limit")
    assert b"--stderr-limit" not in done.err, done.explain()
    ev('$stderr.puts "b" * 100; 1', "--stderr-limit", "10").expect(VALUE, b"1\n", [b"b" * 10 + b"\n", b"--stderr-limit"])
    ev('print "a" * 2_000_000; nil', "--stdout-limit", "none", "--memory", "none").expect(
        VALUE, b"a" * 2000000 + b"\nnil\n", b"")
    record = ev('print "a" * 100', "--stdout-limit", "10", "--json").expect(VALUE).json()
    assert record["stdout"] == "a" * 10 and record["stdout_truncated"] and not record["stderr_truncated"], record


@test
def the_profile_grants_a_clock_or_nothing():
    ev("1", "--profile", "hermetic").expect(VALUE, b"1\n")
    ev("1", "--profile", "permissive").expect(VALUE, b"1\n")


@test
def bad_numbers_name_their_option():
    for option in ("--timeout", "--memory", "--stdout-limit", "--stderr-limit"):
        for bad in ("", "abc", "-1", "+1", " 1", "1 ", "0", "1.2.3", "1x", "0x10", "NONE", "inf", "nan", "1e3",
                    "99999999999999999999999", "18446744073709551615"):
            Run("eval", "1", f"{option}={bad}").expect(USAGE, b"", [option.encode(), b"usage: inro eval"])
    for option in ("--memory", "--stdout-limit", "--stderr-limit"):
        for bad in ("0.5", "K", "1KK", "16777216T", "1 K"):
            Run("eval", "1", option, bad).expect(USAGE, b"", option.encode())
    for bad in (".5", "1.", "0.0", "00", "3153600001"):
        Run("eval", "1", "--timeout", bad).expect(USAGE, b"", b"--timeout")


@test
def good_numbers_are_taken():
    for good in ("20", "5.25", "none", "3153600000", "007.50"):
        Run("eval", "1", "--timeout", good).expect(VALUE, b"1\n", b"")
    Run("eval", "loop {}", "--timeout", "0.0000001").expect(TRAP, b"", b"TimeoutError")
    for good in ("65536", "64K", "64k", "10M", "10MB", "10MiB", "1G", "none"):
        Run("eval", "1", "--memory", good, "--stdout-limit", good, "--stderr-limit", good).expect(VALUE, b"1\n", b"")


# --- the command line

@test
def options_may_stand_anywhere():
    Run("eval", "--json", "1").expect(VALUE).json()
    Run("eval", "1", "--json").expect(VALUE).json()


@test
def usage_errors_are_status_2_with_a_hint():
    Run().expect(USAGE, b"", [b"no command given", b"usage: inro COMMAND"])
    Run("evla").expect(USAGE, b"", [b'"evla"', b"did you mean eval?", b"usage: inro COMMAND"])
    Run("runentry").expect(USAGE, b"", b"did you mean run-entry?")
    Run("qqqqqqqqqq").expect(USAGE, b"", b"unknown command")
    Run("q" * 5000).expect(USAGE, b"", b"unknown command")
    Run("eval", "--jsno", "1").expect(USAGE, b"", [b'"--jsno"', b"did you mean --json?", b"usage: inro eval"])
    Run("eval", "--time", "1").expect(USAGE, b"", b"did you mean --timeout?")
    Run("eval", "-x", "1").expect(USAGE, b"", b'"-x"')
    Run("eval", "--json=yes", "1").expect(USAGE, b"", b"--json takes no value")
    Run("eval", "1", "--timeout").expect(USAGE, b"", b"--timeout needs a value")
    Run("eval").expect(USAGE, b"", b"no code given")
    Run("eval", "1", "2").expect(USAGE, b"", b"one word too many")
    Run("eval", "1", "-f", "x.rb").expect(USAGE, b"", b"both given")
    Run("eval", "1", "-f", "").expect(USAGE, b"", b"--file")
    Run("eval", "1", "--profile", "open").expect(USAGE, b"", [b"--profile", b"hermetic"])
    Run("run-entry").expect(USAGE, b"", b"no entry point given")
    Run("doctor", "me").expect(USAGE, b"", b"one word too many")
    Run("version", "x").expect(USAGE, b"", b"one word too many")
    Run("completion", "x").expect(USAGE, b"", b"one word too many")
    Run("help", "evla").expect(USAGE, b"", b"did you mean eval?")
    Run("help", "eval", "eval").expect(USAGE, b"", b"one word too many")
    Run("--nonsense").expect(USAGE, b"", b"unknown option")


def commands():
    page = Run("--help").expect(VALUE, err=b"").out.decode()
    listed = page.split("Commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\S+)", listed, re.MULTILINE)


@test
def every_command_has_help():
    names = commands()
    assert {"eval", "run-entry", "doctor", "help", "version"} <= set(names), names
    for name in names:
        page = Run(name, "--help").expect(VALUE, err=b"").out
        assert page.startswith(f"Usage: inro {name} ".encode()), page
        assert Run("help", name).out == page and Run(name, "-h").out == page
        long = [line for line in page.decode().splitlines() if len(line) > 80 and not line.startswith("  echo")]
        assert not long, long
    assert Run("help").out == Run("-h").out == Run("--help").out
    for option in ("--json", "--timeout", "--memory", "--stdout-limit", "--stderr-limit", "--preload",
                   "--preload-bytecode", "--profile", "--service"):
        assert option.encode() in Run("help", "eval").out, option
        assert option.encode() in Run("help", "run-entry").out, option
    assert b"--kwarg" in Run("help", "run-entry").out and b"--kwarg" not in Run("help", "eval").out


@test
def help_wins_over_what_is_missing():
    Run("run-entry", "--help", "--nonsense").expect(VALUE, err=b"")


@test
def the_version_is_the_library_s():
    header = (ROOT / "include/inro/base.h").read_text()
    version = re.search(r'#define INRO_VERSION "(.*)"', header).group(1)
    for arguments in (["version"], ["--version"], ["-V"]):
        Run(*arguments).expect(VALUE, f"inro {version}\n".encode(), b"")


@test
def the_man_page_is_up_to_date():
    page = Run("--dump-man").expect(VALUE, err=b"").out
    assert (ROOT / "docs/man/inro.1").read_bytes() == page, "write it again: inro --dump-man >docs/man/inro.1"
    assert b"--dump" not in page.replace(b"\\-", b"-").split(b"\n", 1)[1], "a hidden option is described"
    for name in commands():
        assert f".SS inro {name}".replace("-", "\\-").encode() in page, name


@test
def completion_knows_commands_options_and_choices():
    script = Run("completion").expect(VALUE, err=b"").out.decode()

    def complete(*words):
        quoted = " ".join(map(shlex.quote, words))
        ask = f"{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _inro; echo \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
        assert done.stderr == "", done.stderr
        return done.stdout.split()

    assert complete("inro", "ev") == ["eval"], complete("inro", "ev")
    assert complete("inro", "eval", "--js") == ["--json"]
    assert complete("inro", "eval", "--profile", "") == ["hermetic", "permissive"]
    assert "--kwarg" not in complete("inro", "eval", "--") and "--kwarg" in complete("inro", "run-entry", "--")


# --- --json

RECORD_KEYS = {"ended", "error", "stdout", "stderr", "stdout_truncated", "stderr_truncated", "usage"}
ERROR_KEYS = {"class", "fault", "origin", "guest_class", "message", "backtrace", "details"}
USAGE_KEYS = {"wall_ns", "guest_ns", "service_ns", "memory_peak_bytes", "service_calls"}


@test
def a_record_has_all_members_and_nothing_is_streamed():
    done = ev('puts "out"; $stderr.puts "err"; {a: [1, nil, true], "b" => "x"}', "--json").expect(VALUE, err=b"")
    record = done.json()
    assert set(record) == RECORD_KEYS | {"value"}, record
    assert record["ended"] == "value" and record["error"] is None
    assert record["value"] == {"a": [1, None, True], "b": "x"}
    assert (record["stdout"], record["stderr"]) == ("out\n", "err\n")
    assert set(record["usage"]) == USAGE_KEYS and record["usage"]["wall_ns"] > 0, record["usage"]


@test
def a_record_of_a_failure_says_everything():
    record = ev('def f\n  raise IndexError, "b\\e[31m\\"oom"\nend\nf', "--json").expect(FAILED, err=b"").json()
    error = record["error"]
    assert set(record) == RECORD_KEYS and set(error) == ERROR_KEYS, record
    assert record["ended"] == "sandbox" and error["class"] == "SandboxError" and error["fault"] == "sandbox"
    assert error["origin"] == "sandbox" and error["guest_class"] == "IndexError"
    assert error["message"] == 'b\x1b[31m"oom' and error["backtrace"][0].startswith("(eval):2")


@test
def a_record_of_a_trap_has_no_origin():
    record = ev("loop {}", "--json", "--timeout", "0.05").expect(TRAP, err=b"").json()
    error = record["error"]
    assert record["ended"] == "trap" and error["class"] == "TimeoutError" and error["fault"] == "timeout"
    assert error["origin"] is None and error["guest_class"] is None and error["backtrace"] == []


@test
def values_without_json_form_are_inspected():
    for code, inspected in (("0.0 / 0.0", "NaN"), ("[1, 1.0 / 0]", "[1, Infinity]"), ('{1 => 2, "1" => 3}', None)):
        record = ev(code, "--json").expect(VALUE, err=b"").json()
        assert "value" not in record and "inspect" in record, record
        assert inspected is None or record["inspect"] == inspected, record


@test
def bytes_that_are_no_text_are_kept():
    record = ev('print "a\\xff"; "\\xfe\\x00"', "--json").expect(VALUE).json()
    assert base64.b64decode(record["stdout"]["$bytes"]) == b"a\xff", record
    assert base64.b64decode(record["value"]["$bytes"]) == b"\xfe\x00", record
    ev('print "a\\xff\\x00"; nil').expect(VALUE, b"a\xff\x00\nnil\n")


@test
def other_json_readers_agree():
    out = ev('puts "\\u00e9\\u2028"; [1.5, -0.0, 2**62, "\\u0000\\u007f"]', "--json").expect(VALUE).out
    subprocess.run([sys.executable, "-m", "json.tool"], input=out, check=True, stdout=subprocess.DEVNULL)


@test
def usage_errors_print_no_record():
    ev("1", "--json", "--timeout", "x").expect(USAGE, b"")


@test
def the_deepest_value_fits_into_a_record():
    code = "a = 1; 127.times { a = [a] }; a"
    value = ev(code, "--json").expect(VALUE).json()["value"]
    depth = 0
    while isinstance(value, list):
        value, depth = value[0], depth + 1
    assert depth == 127 and value == 1, depth


# --- preload and run-entry

GREET = b'Greet = ->(name, mark: "!") { "hello, #{name}#{mark}" }\n'


@test
def preloaded_code_is_there():
    with folder_with({"kv_store.rb": b"module KvStore; def self.get = 5; end", "2x.rb": b"X = 1",
                      "a=b.rb": b"AB = 9", "__.rb": b"1"}) as folder:
        path = os.path.join(folder, "kv_store.rb")
        ev("KvStore.get", "--preload", path).expect(VALUE, b"5\n", b"")
        ev("KvStore.get", f"--preload=Store={path}").expect(VALUE, b"5\n", b"")
        Run("eval", "AB", "--preload", "a=b.rb", cwd=folder).expect(VALUE, b"9\n", b"")
        digit = os.path.join(folder, "2x.rb")
        ev("X", "--preload", digit).expect(USAGE, b"", [b"2x.rb", b"NAME="])
        ev("X", "--preload", f"Two={digit}").expect(VALUE, b"1\n", b"")
        ev("1", "--preload", os.path.join(folder, "__.rb")).expect(USAGE, b"", b"NAME=")
        ev("1", "--preload", path, "--preload", path).expect(USAGE, b"", b"KvStore")
        ev("1", "--preload", "Name=").expect(USAGE, b"", b"--preload")


@test
def preloads_run_in_the_order_given():
    with folder_with({"one.rb": b"LIST = [1]", "two.rb": b"LIST << 2"}) as folder:
        one, two = os.path.join(folder, "one.rb"), os.path.join(folder, "two.rb")
        ev("LIST", "--preload", one, "--preload", two).expect(VALUE, b"[1, 2]\n")
        ev("LIST", "--preload", two, "--preload", one).expect(FAILED, b"", b"snippet:Two")


@test
def a_preload_that_does_not_compile_is_refused():
    with folder_with({"broken.rb": b"def (", "raises.rb": b'raise "at once"'}) as folder:
        ev("1", "--preload", os.path.join(folder, "broken.rb")).expect(FAILED, b"", [b"broken.rb", b"(snippet:Broken):1:"])
        ev("1", "--preload", os.path.join(folder, "raises.rb")).expect(
            FAILED, b"", [b"RuntimeError: at once", b"(snippet:Raises):1"])


@test
def damaged_bytecode_is_a_failure():
    with folder_with({"bad.mrb": b"RITE0400 nonsense", "empty.mrb": b""}) as folder:
        for name in ("bad.mrb", "empty.mrb"):
            done = ev("1", "--preload-bytecode", os.path.join(folder, name))
            assert done.status in (FAILED, USAGE) and done.out == b"" and done.err, done.explain()


@test
def entry_points_take_json_and_text():
    with folder_with({"greet.rb": GREET, "echo.rb": b"Echo = ->(*args, **named) { [args, named] }"}) as folder:
        greet, echo = os.path.join(folder, "greet.rb"), os.path.join(folder, "echo.rb")
        Run("run-entry", "Greet", "world", "--preload", greet).expect(VALUE, b'"hello, world!"\n', b"")
        Run("run-entry", "Greet", '"world"', "--kwarg", 'mark="?"', "--preload", greet).expect(
            VALUE, b'"hello, world?"\n', b"")
        Run("run-entry", "--preload", echo, "Echo", "1", "-2.5", "null", '[true, {"a": "b"}]', "not json", "--kwarg",
            "n=3", "--kwarg", "t=x=y").expect(
                VALUE, b'[[1, -2.5, nil, [true, {"a" => "b"}], "not json"], {n: 3, t: "x=y"}]\n', b"")
        Run("run-entry", "--preload", echo, "Echo", "--", "--json").expect(VALUE, b'[["--json"], {}]\n', b"")
        record = Run("run-entry", "Echo", "7", "--preload", echo, "--json").expect(VALUE).json()
        assert record["value"] == [[7], {}], record


@test
def entry_points_that_are_missing_are_named():
    with folder_with({"greet.rb": GREET}) as folder:
        greet = os.path.join(folder, "greet.rb")
        Run("run-entry", "Missing", "--preload", greet).expect(FAILED, b"", b"Missing")
        error = Run("run-entry", "Missing", "--preload", greet, "--json").expect(FAILED).json()["error"]
        assert error["fault"] == "undefined_entrypoint" and error["details"] == {"available": ["Greet"]}, error
        Run("run-entry", "lower", "--preload", greet).expect(USAGE, b"", b"inro: ")
        Run("run-entry", "Greet", "x", "--kwarg", "novalue", "--preload", greet).expect(USAGE, b"", b"--kwarg")
        Run("run-entry", "Greet", "x", "--kwarg", "=1", "--preload", greet).expect(USAGE, b"", b"--kwarg")
        Run("run-entry", "Greet", "[" * 1000 + "]" * 1000, "--preload", greet).expect(USAGE, b"", b"argument")


# --- services

ECHO = python_service("print(json.dumps(request))")


@test
def services_get_method_arguments_and_keywords():
    done = ev("KV::Lookup.find(1, 'b', [nil, :sym], deep: {x: 2.5}, flag: true)", "--json", "--service",
              f"KV::Lookup={ECHO}").expect(VALUE, err=b"").json()
    assert done["value"] == {"method": "find", "args": [1, "b", [None, "sym"]],
                             "kwargs": {"deep": {"x": 2.5}, "flag": True}}, done
    assert done["usage"]["service_calls"] == 1 and done["usage"]["service_ns"] > 0, done


@test
def service_words_are_split_as_a_shell_does():
    program = f"{shlex.quote(sys.executable)} -c 'import json,sys; print(json.dumps(sys.argv[1:]))'"
    line = program + """ plain 'single $x' "double \\" \\$ \\\\ \\n" a\\ b '' x"y"'z' $HOME * ~"""
    ev("Words.call", "--service", f"Words={line}", "--json").expect(VALUE)
    words = ev("Words.call", "--service", f"Words={line}", "--json").json()["value"]
    assert words == ["plain", "single $x", 'double " $ \\ \\n', "a b", "", "xyz", "$HOME", "*", "~"], words
    for bad, reason in (("a | b", b"shell"), ("a; b", b"shell"), ("a 'b", b"single quote"), ('a "b', b"double quote"),
                        ("a \\", b"backslash"), ("", b"names no program"), ("  ", b"names no program"),
                        ("''", b"names no program")):
        ev("1", "--service", f"Words={bad}").expect(USAGE, b"", [b"--service Words", reason])


@test
def one_mebibyte_goes_both_ways():
    text = "Box.call('x' * 1048576).length"
    ev(text, "--memory", "none", "--service", "Box=" + python_service("print(json.dumps(request['args'][0] + 'y'))")
       ).expect(VALUE, b"1048577\n", b"")


@test
def a_program_may_answer_before_it_reads():
    late = f"{shlex.quote(sys.executable)} -c 'print(chr(34) + chr(120) * 1048576 + chr(34), flush=True); " \
           "import sys; sys.stdin.read()'"
    ev("Box.call('x' * 1048576).length", "--memory", "none", "--service", f"Box={late}").expect(VALUE, b"1048576\n", b"")


@test
def a_program_need_not_read_at_all():
    ev("Box.call('x' * 1048576)", "--memory", "none", "--service", "Box=echo 7").expect(VALUE, b"7\n", b"")


@test
def what_a_program_leaves_behind_is_not_waited_for():
    read, write = os.pipe()
    try:
        ev("Box.call", "--service", f"Box=sh -c '(exec 2>&-; read x <&{read}) & echo 5'", pass_fds=[read]).expect(VALUE, b"5\n", b"")
    finally:
        os.close(write)  # ends what was left behind
        os.close(read)


@test
def failing_programs_are_service_errors():
    for line, reason in (("false", b"status 1"), ("sh -c 'exit 77'", b"status 77"), ("true", b"not one JSON value"),
                         ("echo {", b"not one JSON value"), ("echo 1 2", b"not one JSON value"),
                         ("sh -c 'kill -9 $$'", b"signal 9"), ("/nonexistent/program", b"cannot be started"),
                         ("/", b"cannot be started"), ("yes", b"longer than 16 MiB")):
        done = ev("Box.call", "--service", f"Box={line}").expect(FAILED, b"", [b"ServiceError", b"Box: ", reason])
        assert done.status == FAILED, line
    ev("Box.call", "--service", "Box=/nonexistent/program").expect(
        FAILED, b"", [b'service Box: cannot start "/nonexistent/program": No such file'])
    error = ev("Box.call", "--service", "Box=/nonexistent/program", "--json").expect(FAILED).json()["error"]
    assert error["class"] == "ServiceError" and error["origin"] == "service", error
    assert "nonexistent" not in error["message"], "the guest sees a path of the host"


@test
def scripts_may_rescue_service_errors():
    ev("begin; Box.call; rescue => e; e.message; end", "--service", "Box=false").expect(
        VALUE, b'"Box: its program ended with status 1"\n')
    ev("3.times.map { begin; Box.call; rescue; 1; end }.sum", "--service", "Box=yes").expect(VALUE, b"3\n")


@test
def arguments_without_json_form_are_argument_errors():
    error = ev("Box.call(0.0 / 0.0)", "--json", "--service", f"Box={ECHO}").expect(FAILED).json()["error"]
    assert error["fault"] == "service_argument" and "NaN" in error["message"], error
    error = ev("Box.call { 1 }", "--json", "--service", f"Box={ECHO}").expect(FAILED).json()["error"]
    assert error["fault"] == "service_argument" and "block" in error["message"], error


@test
def a_program_that_hangs_is_stopped_with_the_script():
    with folder_with({}) as folder:
        pid_file = os.path.join(folder, "pid")
        line = f"sh -c 'echo $$ >\"$0\"; exec sleep 1000' {shlex.quote(pid_file)}"
        ev("begin; Box.call; rescue; end; loop {}", "--timeout", "1", "--service", f"Box={line}").expect(
            TRAP, b"", b"TimeoutError")
        pid = int(pathlib.Path(pid_file).read_text())
        try:
            os.kill(pid, 0)
            raise AssertionError(f"the program is still there as {pid}")
        except ProcessLookupError:
            pass


PROBE = b"""
ls /proc/self/fd | tr '\\n' ' ' >&2
awk '/^SigIgn/ { print "\\"" $2 "\\"" }' /proc/self/status
"""


@test
def programs_start_clean():
    """No descriptor of ours, no ignored SIGPIPE, and their standard error is ours."""
    with folder_with({"probe.sh": PROBE}) as folder:
        line = "sh " + shlex.quote(os.path.join(folder, "probe.sh"))
        done = ev("Box.call", "--json", "--service", f"Box={line}").expect(VALUE)
    assert int(done.json()["value"], 16) >> (signal.SIGPIPE - 1) & 1 == 0, done.explain()
    assert done.err.split() == [b"0", b"1", b"2", b"3"], done.explain()  # 3 is ls looking at the folder


@test
def an_ignored_child_signal_does_not_lose_the_child():
    ev("Box.call", "--service", "Box=sh -c 'echo 1; exit 3'",
       preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)).expect(FAILED, b"", b"ended with status 3")


@test
def service_names_that_clash_are_usage_errors():
    ev("1", "--service", "Box=true", "--service", "Box=true").expect(USAGE, b"", b"Box")
    ev("1", "--service", "Box=true", "--service", "Box::In=true").expect(USAGE, b"", b"Box")
    ev("1", "--service", "box=true").expect(USAGE, b"", b"box")
    ev("1", "--service", "Box").expect(USAGE, b"", b"--service")
    ev("1", "--service", "=true").expect(USAGE, b"", b"--service")


# --- output

@test
def output_that_cannot_be_written_is_a_failure():
    for arguments in (["eval", "puts 1"], ["eval", "1"], ["eval", "1", "--json"], ["--help"], ["doctor"], ["version"]):
        with open("/dev/full", "wb") as full:
            Run(*arguments, stdout=full).expect(FAILED, err=[b"standard output", b"No space left on device"])
    Run("eval", "1", stdout=None, preexec_fn=lambda: os.close(1)).expect(FAILED, err=b"standard output")


@test
def a_reader_that_goes_away_ends_it_quietly():
    def run(restore):
        read, write = os.pipe()
        os.close(read)
        try:
            return Run("eval", "loop { puts 1 }", "--stdout-limit", "none", stdout=write, restore_signals=restore)
        finally:
            os.close(write)
    run(True).expect(-signal.SIGPIPE, err=b"")
    run(False).expect(FAILED, err=b"Broken pipe")


@test
def a_file_never_becomes_standard_output():
    with folder_with({"script.rb": b"puts 1; 2"}) as folder:
        path = os.path.join(folder, "script.rb")
        Run("eval", "-f", path, stdin=None, stdout=None, preexec_fn=lambda: (os.close(0), os.close(1))).expect(FAILED)
        assert pathlib.Path(path).read_bytes() == b"puts 1; 2"


def on_terminal(*arguments, env=None):
    """What a terminal is sent, and the exit status."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([INRO, *arguments], stdin=subprocess.DEVNULL, stdout=follower, stderr=follower,
                               env={**os.environ, "TERM": "xterm", **(env or {})}, start_new_session=True)
    os.close(follower)
    output = b""
    while True:
        readable, _, _ = select.select([leader], [], [], SECONDS)
        assert readable, f"silence: {output!r}"
        try:
            chunk = os.read(leader, 65536)
        except OSError:
            break
        if not chunk:
            break
        output += chunk
    os.close(leader)
    return SANITIZER_REMARK.sub(b"", output.replace(b"\r\n", b"\n")), process.wait(SECONDS)


@test
def terminals_get_no_control_characters_of_a_guest():
    code = 'print "\\e]0;owned\\a\\r\\x7f\\u009b31m\\u202e tab\\there\\n\\u00e9\\u20ac\\u{1f600}\\xff\\xc3"; 1'
    output, status = on_terminal("eval", code, env={"NO_COLOR": "1"})
    assert status == VALUE
    assert output == ("\\x1b]0;owned\\x07\\x0d\\x7f\\u009b31m\\u202e tab\there\né€😀\\xff\\xc3\n1\n").encode(), output
    plain = ev(code)
    assert plain.out == "\x1b]0;owned\x07\r\x7f\u009b31m\u202e tab\there\né€😀".encode() + b"\xff\xc3\n1\n", plain.out
    output, _ = on_terminal("eval", '$stderr.print "\\e[2J"; raise "\\e[31mred\\nnext"', env={"NO_COLOR": "1"})
    assert b"\\x1b[2J\nRuntimeError: \\x1b[31mred\nnext\n" in output and b"\x1b" not in output, output
    output, _ = on_terminal("eval", 'class Object; def x; end; end; raise "a" # \x1b[31m', env={"NO_COLOR": "1"})
    assert b"\x1b" not in output and b"\\x1b[31m" in output, output
    output, _ = on_terminal("\x1b[31m", env={"NO_COLOR": "1"})
    assert b"\x1b" not in output and b"\\x1b[31m" in output, output
    output, _ = on_terminal("eval", 'print "\\u009b"', "--json", env={"NO_COLOR": "1"})
    assert json.loads(output)["stdout"] == "\x9b" and "\x9b".encode() not in output, output


HARMFUL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def neutral(raw):
    """What a terminal is to be sent for these bytes, by another way than the program's."""
    return HARMFUL.sub(lambda m: ("\\x%02x" if ord(m.group()) < 128 else "\\u%04x") % ord(m.group()),
                       raw.decode("utf-8", "backslashreplace"))


@test
def terminals_get_clean_text_whatever_the_bytes():
    """Unknown words are quoted in a message, and no script is needed for it."""
    seed = random.randrange(1 << 32)
    source = random.Random(seed)
    interesting = [b"\x1b[", b"\xe2\x80\xae", b"\xc2\x9b", b"\xe2\x82", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80",
                   b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xe2\x81\xa6", b"a", "é".encode()]
    for _ in range(100):
        word = b"q" + b"".join(source.choice(interesting) if source.random() < 0.6 else
                               bytes([source.randrange(1, 256)]) for _ in range(source.randrange(1, 30)))
        output, status = on_terminal(word, env={"NO_COLOR": "1"})
        expected = f'inro: unknown command "{neutral(word)}'
        assert status == USAGE and output.decode().startswith(expected), f"seed {seed}: {word!r} gave {output!r}"


@test
def split_characters_arrive_whole():
    output, _ = on_terminal("eval", '"\\u20ac".each_byte { |b| $stdout.print b.chr }; nil', env={"NO_COLOR": "1"})
    assert output == "€\nnil\n".encode(), output


@test
def colour_is_for_terminals_that_want_it():
    output, status = on_terminal("eval", "raise 'boom'", env={"NO_COLOR": ""})
    assert status == FAILED and b"\x1b[1;31mRuntimeError\x1b[0m: boom\n" in output, output
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
        output, _ = on_terminal("eval", "raise 'boom'", env={"NO_COLOR": "", **env})
        assert b"\x1b" not in output and b"RuntimeError: boom\n" in output, (env, output)
    assert b"\x1b" not in ev("raise 'boom'").err


@test
def an_interrupt_kills_it():
    process = subprocess.Popen([INRO, "eval", 'puts "up"; loop {}'], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(SECONDS) == -signal.SIGINT
    process.stdout.close()


# --- doctor

@test
def the_doctor_finds_this_host_well():
    done = Run("doctor").expect(VALUE, err=b"")
    rows = re.findall(r"^(ok|warn|fail) +(\S.*?)  +", done.out.decode(), re.MULTILINE)
    assert [name for _, name in rows][0] == "sandbox" and rows[0][0] == "ok" and len(rows) >= 6, done.explain()
    page = Run("doctor", "--json").expect(VALUE, err=b"").json()
    assert page["ok"] is True and [row["name"] for row in page["checks"]] == [name for _, name in rows], page
    for row in page["checks"]:
        assert set(row) == {"name", "status", "found", "next"} and row["found"], row
        assert (row["next"] is None) == (row["status"] == "ok"), row


def the_doctor_says_what_to_type():
    small = 2 << 30
    done = Run("doctor", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (small, small)))
    done.expect(FAILED)
    assert b"fail  sandbox" in done.out and b"next: ulimit -v unlimited" in done.out, done.explain()


if os.environ.get("INRO_PRESET") not in ("asan", "tsan"):  # a sanitizer itself needs more address space than that
    test(the_doctor_says_what_to_type)


def main():
    if not INRO:
        sys.exit("test_cli.py: name the program, as first argument or in INRO_COMMAND")
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    chosen = [function for function in TESTS if wanted in function.__name__]
    print(f"1..{len(chosen)}", flush=True)
    failed = False
    for number, function in enumerate(chosen, 1):
        name = function.__name__.replace("_", " ")
        try:
            function()
            print(f"ok {number} - {name}", flush=True)
        except Exception as problem:  # any failure is this test's, and the next one runs
            failed = True
            lines = f"{type(problem).__name__}: {problem}".splitlines()
            print(f"not ok {number} - {name}", *(f"# {line}" for line in lines), sep="\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
