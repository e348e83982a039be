/* The tasks. All of them are deterministic, and every contender has to give the same value.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "tasks.h"

#include <stdio.h>
#include <stdlib.h>

#define EVAL                                                                                                   \
    (WITH_INRO | WITH_NATIVE_FRESH | WITH_NATIVE_WARM | WITH_WASMTIME_BOOT | WITH_WASMTIME_SNAPSHOT |          \
     WITH_WASMTIME_WARM)
#define STATEMENTS                                                                                             \
    (WITH_INRO | WITH_NATIVE_FRESH | WITH_NATIVE_WARM | WITH_WASMTIME_SNAPSHOT | WITH_WASMTIME_WARM)
#define RUN (WITH_INRO | WITH_NATIVE_WARM | WITH_WASMTIME_SNAPSHOT | WITH_WASMTIME_WARM)
#define SERVICE (WITH_INRO | WITH_NATIVE_WARM)
#define COMPUTE (WITH_INRO | WITH_NATIVE_WARM | WITH_WASMTIME_WARM)

const struct task tasks[] = {
    /* how much an invocation costs */
    {.name = "eval_nil_us", .unit = "us", .per = 1, .source = "nil", .contenders = EVAL},
    {.name = "eval_1_statements_us",
     .unit = "us",
     .per = 1,
     .source = "a = 1 + 2",
     .source_repeats = 1,
     .contenders = STATEMENTS},
    {.name = "eval_20_statements_us",
     .unit = "us",
     .per = 1,
     .source = "a = 1 + 2",
     .source_repeats = 20,
     .contenders = STATEMENTS},
    {.name = "eval_100_statements_us",
     .unit = "us",
     .per = 1,
     .source = "a = 1 + 2",
     .source_repeats = 100,
     .contenders = STATEMENTS},
    {.name = "eval_400_statements_us",
     .unit = "us",
     .per = 1,
     .source = "a = 1 + 2",
     .source_repeats = 400,
     .contenders = STATEMENTS},
    {.name = "eval_400_nil_lines_us",
     .unit = "us",
     .per = 1,
     .source = "nil",
     .source_repeats = 400,
     .contenders = STATEMENTS},
    {.name = "run_0_snippets_us", .unit = "us", .per = 1, .snippets = 0, .contenders = RUN},
    {.name = "run_8_snippets_us", .unit = "us", .per = 1, .snippets = 8, .contenders = RUN},
    {.name = "run_64_snippets_us", .unit = "us", .per = 1, .snippets = 64, .contenders = RUN},

    /* what passes between host and guest */
    {.name = "service_call_1_us",
     .unit = "us",
     .per = 1,
     .source = "Bench::Noop.call",
     .services = true,
     .contenders = SERVICE | WITH_WASMTIME_WARM},
    {.name = "service_call_us",
     .unit = "us",
     .per = 1000,
     .source = "1000.times { Bench::Noop.call }",
     .services = true,
     .contenders = SERVICE | WITH_WASMTIME_WARM},
    {.name = "service_echo_call_us",
     .unit = "us",
     .per = 1000,
     .source = "s = 0; 1000.times { |i| s += Bench::Echo.call(i) }; s",
     .services = true,
     .contenders = SERVICE},
    {.name = "service_kwargs_call_us",
     .unit = "us",
     .per = 1000,
     .source = "r = nil; 1000.times { r = Bench::Greet.call(name: 'alice') }; r",
     .services = true,
     .contenders = SERVICE},
    {.name = "handle_call_us",
     .unit = "us",
     .per = 1000,
     .source = "g = Bench::Factory.call(nil); r = nil; 1000.times { r = g.greet }; r",
     .services = true,
     .contenders = SERVICE},
    {.name = "yield_us",
     .unit = "us",
     .per = 1000,
     .source = "s = 0; Bench::Each.call(1000) { |i| s += i }; s",
     .services = true,
     .contenders = SERVICE},
    {.name = "return_64b_us", .unit = "us", .per = 1, .source = "'x' * 64", .contenders = COMPUTE},
    {.name = "return_1kib_us", .unit = "us", .per = 1, .source = "'x' * 1024", .contenders = COMPUTE},
    {.name = "return_64kib_us", .unit = "us", .per = 1, .source = "'x' * 65536", .contenders = COMPUTE},
    {.name = "return_512kib_us", .unit = "us", .per = 1, .source = "'x' * 524288", .contenders = COMPUTE},
    {.name = "puts_64b_us",
     .unit = "us",
     .per = 1000,
     .source = "1000.times { puts 'x' * 64 }; nil",
     .contenders = WITH_INRO | WITH_WASMTIME_WARM},

    /* how fast the guest computes */
    {.name = "raise_rescue_us",
     .unit = "us",
     .per = 100,
     .source = "count = 0\n100.times { begin; raise 'boom'; rescue; count += 1; end }\ncount",
     .contenders = COMPUTE},
    {.name = "loop_100k_ms",
     .unit = "ms",
     .per = 1,
     .source = "acc = 0\n100_000.times { |i| acc ^= i }\nacc",
     .contenders = COMPUTE},
    {.name = "fib27_ms",
     .unit = "ms",
     .per = 1,
     .source = "def fib(n) n < 2 ? n : fib(n - 1) + fib(n - 2) end\nfib(27)",
     .contenders = COMPUTE},
    {.name = "string_building_ms",
     .unit = "ms",
     .per = 1,
     .source = "s = ''\n20_000.times { |i| s << \"item #{i}, \" }\ns.length",
     .contenders = COMPUTE},
    {.name = "sort_ms",
     .unit = "ms",
     .per = 1,
     .source = "x = 1\na = Array.new(4_000) { x = (x * 1103515245 + 12345) & 0x7fffffff }\n"
               "b = a.sort\nc = a.sort { |p, q| q <=> p }\nb[0] + c[1] + b[2_000]",
     .contenders = COMPUTE},
    {.name = "float_ms",
     .unit = "ms",
     .per = 1,
     .source = "x = 0.0\ni = 0\nwhile i < 100_000\n  x += 1.0 / (i + 0.5) - x * 0.25\n  i += 1\nend\n(x * "
               "1_000_000).to_i",
     .contenders = COMPUTE},
    {.name = "hash_ms",
     .unit = "ms",
     .per = 1,
     .source =
         "h = {}\n10_000.times { |i| h[\"k#{i % 500}\"] = i; h[i] = i }\ns = 0\nh.each { |k, v| s += v }\ns",
     .contenders = COMPUTE},
};
const size_t tasks_count = sizeof tasks / sizeof *tasks;

/* ---- snippets ---- */

char *snippet_source(size_t number) {
    char *text;
    if (asprintf(&text, "module Helper%zu\n  VAL = %zu\n  def self.value\n    VAL\n  end\nend\n", number,
                 number) < 0)
        abort();
    return text;
}

char *snippet_name(size_t number) {
    char *text;
    if (asprintf(&text, "Helper%zu", number) < 0)
        abort();
    return text;
}
