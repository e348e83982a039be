/* Exhaustion: whatever a script asks for, its deadline and its memory limit hold, and it cannot talk its way
 * out.
 *
 * How late a deadline is noticed is printed, not checked: a busy machine is no defect.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"
#include "hostile.h"
#include "policy/limits.h"
#include "sandbox/sandbox.h"

#include <stdlib.h>
#include <time.h>

enum { TIMEOUT_MS = 50 };

static inro_sandbox *new_limited(uint64_t memory) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(TIMEOUT_MS);
    options.memory_limit_bytes = memory;
    return new_sandbox_with(&options);
}

static void print_overshoot(const char *what, const inro_outcome *outcome) {
    const inro_failure *failure = inro_outcome_failure(outcome);
    double wall = (double)inro_outcome_usage(outcome)->wall_ns / 1e6;
    printf("%-40.40s %s %.1f ms", what, failure ? inro_fault_class(failure->fault) : "value", wall);
    if (failure && failure->fault == INRO_FAULT_TIMEOUT)
        printf(", %.2f ms late", wall - TIMEOUT_MS);
    printf("\n");
}

/* ---- long built-ins ---- */

static const char *const long_builtins[] = {
    "'a' * 60_000_000 ; 'a' * 400_000_000",
    "loop { 'ab' * 20_000_000 }",
    "Array.new(8_000_000, 1)",
    "loop { Array.new(1_000_000) { |i| i } }",
    "a = (0..3_000_000).to_a ; loop { a.sort { |x, y| y <=> x } }",
    "a = (0..1_000_000).map { |x| x.to_s } ; loop { a.sort }",
    "loop { ([1] * 1_000_000).pack('N*') }",
    "loop { '%050000000d' % 1 }",
    "loop { '%.9999999f' % 1.5 }",
    "loop { 7 ** 200_000 }",
    "(2 ** 3_000_000) ** 50",
    "(9 ** 300_000).to_s",
    "x = 3 ** 100_000 ; loop { x * x }",
    "x = 10 ** 100_000 ; y = 7 ** 50_000 ; loop { x / y ; x % y }",
    "loop { ('ab' * 5_000_000).gsub('a', 'xyz') }",
    "loop { ('ab' * 1_000_000).gsub('a') { 'b' } }",
    "s = 'a' * 10_000_000 + 'b' ; loop { s.index('ab' * 1000) }",
    "s = ('a' * 5000 + 'b') * 500 ; t = 'a' * 5000 + 'c' ; loop { s.include?(t) }",
    "loop { ('a' * 20_000_000).reverse.upcase.swapcase }",
    "loop { ('a,' * 2_000_000).split(',') }",
    "loop { ('é' * 5_000_000).chars }",
    "loop { ('x' * 5_000_000).each_char { } }",
    "h = {} ; i = 0 ; loop { h[i] = i ; i += 1 }",
    "h = {} ; 200_000.times { |i| h[i] = i } ; loop { h.rehash }",
    "a = nil ; loop { a = [a] }",
    "a = nil ; 500_000.times { a = [a] } ; loop { GC.start }",
    "loop { (1..10_000_000).to_a }",
    "(1..Float::INFINITY).each { }",
    "(1..10 ** 15).sum { |x| x }",
    "(1..).lazy.select { false }.first",
    "[1, 2, 3].cycle { }",
    "a = [1] * 5_000_000 ; loop { a.uniq }",
    "a = [1] * 5_000_000 ; loop { a.inspect }",
    "a = (1..3000).to_a ; loop { a.product(a) }",
    "a = (1..30).to_a ; a.permutation(20) { }",
    "a = (1..30).to_a ; a.combination(15) { }",
    "a = (1..2000).to_a ; loop { a.flat_map { a } }",
    "a = (1..1_000_000).to_a ; loop { a.shift ; a.unshift(1) ; a.insert(500_000, 1) }",
    "i = 0 ; loop { :\"sym#{i += 1}\" }",
    "i = 0 ; loop { Class.new { define_method(:\"m#{i += 1}\") { } } }",
    "i = 0 ; loop { Object.const_set(:\"C#{i += 1}\", i) }",
    "loop { Fiber.new { }.resume }",
    "fs = [] ; loop { f = Fiber.new { Fiber.yield } ; f.resume ; fs << f }",
    "loop { Struct.new(:a, :b) }",
    "loop { raise 'x' rescue 1 }",
    "loop { catch(:a) { throw :a } }",
    "loop { begin ; raise 'a' * 1_000_000 ; rescue => e ; e.inspect ; end }",
    "loop { Rational(3 ** 1000, 7 ** 1000) + Rational(1, 3) }",
    "x = 1.0 ; loop { x = Math.sin(x) }",
    "Comparable.instance_method(:clamp) ; loop { 5.clamp(1, 3) }",
    "s = Set.new ; i = 0 ; loop { s << (i += 1) }",
    "loop { [*1..100_000].each_slice(3).to_a }",
    "a = [3, 1, 2] * 300_000 ; loop { a.min_by { |x| -x } ; a.group_by { |x| x } }",
    "'a'.succ.then { |s| loop { s = s.succ * 2 } }",
    "loop { 'z' * 100_000 <=> 'z' * 100_000 }",
    "loop { ('a'..'zzzzzzzz').each { } }",
    "def m(*) = 1 ; loop { m(*([1] * 100_000)) }",
    "loop { [1, 2, 3].to_enum(:each).next }",
};

/* Without a useful memory limit the deadline has to do, with the usual one either does. */
static void run_builtins(uint64_t memory, const char *which) {
    inro_sandbox *sandbox = new_limited(memory);
    for (size_t i = 0; i < sizeof long_builtins / sizeof *long_builtins; i++) {
        inro_outcome *outcome = eval(sandbox, long_builtins[i]);
        print_overshoot(long_builtins[i], outcome);
        inro_outcome_free(outcome);
        CHECK(hostile_check_pool() > 0);
    }
    printf("(%s)\n", which);
    inro_outcome *outcome = eval(sandbox, "1 + 1");
    CHECK_VALUE(outcome, "2");
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST_SECONDS(long_builtins_with_much_memory, 120) {
    run_builtins(512u << 20, "512 MiB");
}

TEST_SECONDS(long_builtins_with_the_usual_memory, 120) {
    run_builtins(0, "1 MiB");
}

/* ---- the parser and the compiler ---- */

TEST_SECONDS(sources_of_10_megabytes, 120) {
    static const char *const lines[] = {"a = 1\n",
                                        "x = [1, 2, {a: 'b'}]\n",
                                        "def f; end\n",
                                        "'text'\n",
                                        "# note\n",
                                        "\n",
                                        "((((((((1))))))))\n",
                                        "a.b.c.d.e(f, g) { |h| i }\n",
                                        ";",
                                        "\"#{1}#{2}\"\n"};
    enum { SIZE = 10 << 20 };
    char *source = malloc(SIZE);
    CHECK(source != NULL);
    for (size_t l = 0; l < sizeof lines / sizeof *lines; l++)
        for (unsigned large = 0; large < 2; large++) {
            size_t step = strlen(lines[l]), length = 0;
            for (; length + step <= SIZE; length += step)
                memcpy(source + length, lines[l], step);
            inro_sandbox *sandbox = new_limited(large ? 900u << 20 : 0);
            inro_outcome *outcome = NULL;
            inro_error err;
            CHECK_INT(inro_sandbox_eval(sandbox, (inro_str){source, length}, NULL, &outcome, &err), INRO_OK);
            print_overshoot(lines[l], outcome);
            CHECK(inro_outcome_ended(outcome) == INRO_ENDED_TRAP || lines[l][0] == '#' || lines[l][0] == '\n' ||
                  lines[l][0] == ';');
            inro_outcome_free(outcome);
            EVAL_VALUE(sandbox, "1 + 1", "2");
            inro_sandbox_free(sandbox);
        }
    free(source);
}

/* ---- no way out ---- */

static const struct {
    const char *source;
    inro_fault fault;
} tricks[] = {
    {"begin ; loop { } ; rescue Exception ; 1 ; end", INRO_FAULT_TIMEOUT},
    {"begin ; loop { } ; ensure ; puts 'late' ; end", INRO_FAULT_TIMEOUT},
    {"begin ; loop { } ; ensure ; loop { } ; end", INRO_FAULT_TIMEOUT},
    {"loop { begin ; loop { } ; rescue Exception ; retry ; ensure ; next ; end }", INRO_FAULT_TIMEOUT},
    {"catch(:x) { loop { } } ; 1", INRO_FAULT_TIMEOUT},
    {"f = Fiber.new { loop { } } ; f.resume rescue 1", INRO_FAULT_TIMEOUT},
    {"(loop { } rescue 1) || 2", INRO_FAULT_TIMEOUT},
    {"begin ; 'x' * 600_000_000 ; rescue Exception ; 1 ; end", INRO_FAULT_MEMORY_LIMIT},
    {"begin ; a = [] ; loop { a << 'x' * 10_000 } ; rescue Exception ; 1 ; end", INRO_FAULT_MEMORY_LIMIT},
    {"begin ; 1 ; ensure ; a = [] ; loop { a << 'x' * 10_000 } ; end", INRO_FAULT_MEMORY_LIMIT},
    {"begin ; raise 'x' ; rescue ; a = [] ; loop { a << 'x' * 10_000 } rescue 1 ; end",
     INRO_FAULT_MEMORY_LIMIT},
    {"a = [] ; f = Fiber.new { loop { a << 'x' * 10_000 } } ; f.resume rescue 1", INRO_FAULT_MEMORY_LIMIT},
    {"class E < StandardError ; def message = loop { } ; end ; raise E", INRO_FAULT_TIMEOUT},
    {"class E < StandardError ; def message = 'x' * 600_000_000 ; end ; raise E", INRO_FAULT_MEMORY_LIMIT},
    {"class E < StandardError ; def backtrace = loop { } ; end ; raise E", INRO_FAULT_TIMEOUT},
    {"class C ; def inspect = loop { } ; def to_s = loop { } ; end ; \"#{C.new}\"", INRO_FAULT_TIMEOUT},
};

TEST(limits_cannot_be_rescued) {
    inro_sandbox *sandbox = new_limited(0);
    for (size_t i = 0; i < sizeof tricks / sizeof *tricks; i++) {
        inro_outcome *outcome = eval(sandbox, tricks[i].source);
        print_overshoot(tricks[i].source, outcome);
        CHECK_FAILURE(outcome, tricks[i].fault, NULL,
                      tricks[i].fault == INRO_FAULT_TIMEOUT ? "timeout" : "memory");
        CHECK_STR(inro_outcome_stdout(outcome), "");
        inro_outcome_free(outcome);
        EVAL_VALUE(sandbox, "1 + 1", "2");
    }
    inro_sandbox_free(sandbox);
}

/* Memory in every way: all of them meet the limit, and nothing else happens. */
TEST(memory_runs_out_in_every_way) {
    static const char *const ways[] = {
        "a = [] ; loop { a << Object.new }",
        "a = [] ; loop { a << 'a fairly long string, %d' % a.size }",
        "s = 'x' ; loop { s << s }",
        "s = 'x' * 100_000 ; a = [] ; loop { a << s.dup << 'y' }",
        "a = [1] ; loop { a += a }",
        "h = {} ; i = 0 ; loop { h[i += 1] = [i] }",
        "i = 0 ; loop { \"symbol_number_#{i += 1}\".to_sym }",
        "e = [] ; loop { begin ; raise 'm' * 1000 ; rescue => x ; e << x ; end }",
        "b = [] ; loop { b << proc { b } }",
        "x = 2 ; loop { x *= x }",
        "c = [] ; loop { c << Class.new }",
        "f = [] ; loop { y = Fiber.new { Fiber.yield } ; y.resume ; f << y }",
        "def deep(n, *a) = deep(n + 1, *a, *a, n) ; deep(0)",
    };
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(20000);
    inro_sandbox *sandbox = new_sandbox_with(&options);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        inro_outcome *outcome = eval(sandbox, ways[i]);
        print_overshoot(ways[i], outcome);
        CHECK_FAILURE(outcome, INRO_FAULT_MEMORY_LIMIT, NULL, "memory_limit");
        CHECK(inro_outcome_usage(outcome)->memory_peak_bytes <= 1 << 20);
        inro_outcome_free(outcome);
        CHECK(hostile_check_pool() > 0);
        EVAL_VALUE(sandbox, "'x' * 10", "\"xxxxxxxxxx\"");
    }
    inro_sandbox_free(sandbox);
}

/* ---- floods ---- */

TEST(output_floods_are_kept_to_the_limit) {
    inro_sandbox *sandbox = new_limited(0);
    inro_outcome *outcome = eval(sandbox, "s = 'o' * 10_000\nloop { print s; $stderr.print s }");
    CHECK_FAILURE(outcome, INRO_FAULT_TIMEOUT, NULL, "timeout");
    CHECK_INT(inro_outcome_stdout(outcome).length, 1 << 20);
    CHECK_INT(inro_outcome_stderr(outcome).length, 1 << 20);
    CHECK(inro_outcome_is_stdout_truncated(outcome) && inro_outcome_is_stderr_truncated(outcome));
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST_SECONDS(a_million_calls_of_a_service, 120) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(100000);
    inro_sandbox *sandbox = new_sandbox_with(&options);
    bind(sandbox, "Echo", echo);
#ifdef API_SANITIZED
    const uint64_t calls = 50000;
#else
    const uint64_t calls = 1000000;
#endif
    char source[128];
    snprintf(source, sizeof source, "%llu.times { |i| Echo.call(i) == i or raise }", (unsigned long long)calls);
    inro_outcome *outcome = eval(sandbox, source);
    CHECK_INT(inro_outcome_ended(outcome), INRO_ENDED_VALUE);
    CHECK_INT(inro_outcome_usage(outcome)->service_calls, calls);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

/* Calls that fail and are rescued, for ever: the host keeps nothing of them. */
static inro_status refuse(void *user, inro_call *call) {
    (void)user;
    return inro_call_fail(call, INRO_CALL_RUNTIME, INRO_STR("refused"));
}

static inro_status block_for_long(void *user, inro_call *call) {
    struct timespec nap = {0, 120000000};
    (void)user, (void)call;
    CHECK_INT(nanosleep(&nap, NULL), 0);
    return INRO_OK;
}

static inro_status hand_out(void *user, inro_call *call) {
    inro_object *object = inro_object_new(refuse, user, NULL);
    inro_status status = inro_call_answer(call, inro_value_new_object(object));
    inro_object_unref(object);
    return status;
}

/* Either limit will do: what the guest keeps of the answers is garbage, collected when it pleases. */
static void check_stopped(inro_sandbox *sandbox, const char *source) {
    inro_outcome *outcome = eval(sandbox, source);
    CHECK_INT(inro_outcome_ended(outcome), INRO_ENDED_TRAP);
    CHECK(inro_outcome_failure(outcome)->fault != INRO_FAULT_TRAP);
    inro_outcome_free(outcome);
}

TEST_SECONDS(services_are_no_way_around_the_limits, 120) {
    inro_sandbox *sandbox = new_limited(0);
    bind(sandbox, "Refuse", refuse);
    bind(sandbox, "Slow", block_for_long);
    bind(sandbox, "Echo", echo);
    bind(sandbox, "Handles", hand_out);
    EVAL_FAILURE(sandbox, "loop { Refuse.call rescue 1 }", INRO_FAULT_TIMEOUT, NULL, "timeout");
    EVAL_FAILURE(sandbox, "Slow.call rescue 1 ; 5", INRO_FAULT_TIMEOUT, NULL, "timeout");
    EVAL_FAILURE(sandbox, "begin ; Slow.call ; ensure ; puts 1 ; end", INRO_FAULT_TIMEOUT, NULL, "timeout");
    check_stopped(sandbox, "loop { Handles.call }");
    check_stopped(sandbox, "loop { Echo.call('x' * 100_000) }");
    EVAL_FAILURE(sandbox, "loop { Nothing.call rescue 1 }", INRO_FAULT_TIMEOUT, NULL, "timeout");
    EVAL_VALUE(sandbox, "1 + 1", "2");
    inro_sandbox_free(sandbox);
}

/* ---- defaults ---- */

TEST(every_default_is_finite) {
    struct inro__limits limits;
    inro_sandbox_options zero = INRO_SANDBOX_OPTIONS_INIT;
    for (unsigned given = 0; given < 2; given++) {
        CHECK_INT(inro__limits_resolve(given ? &zero : NULL, &limits, NULL), INRO_OK);
        CHECK_INT(limits.timeout_us, 60 * 1000 * 1000);
        CHECK_INT(limits.memory_bytes, 1 << 20);
        CHECK_INT(limits.stdout_bytes, 1 << 20);
        CHECK_INT(limits.stderr_bytes, 1 << 20);
        CHECK_INT(limits.profile, INRO_PROFILE_HERMETIC);
    }
    inro_sandbox *sandbox = new_sandbox();
    EVAL_FAILURE(sandbox, "'x' * 3_000_000", INRO_FAULT_MEMORY_LIMIT, NULL, "memory_limit");
    sandbox->limits.timeout_us = MILLISECONDS(TIMEOUT_MS);
    EVAL_FAILURE(sandbox, "loop { }", INRO_FAULT_TIMEOUT, NULL, "timeout");
    inro_sandbox_free(sandbox);
}
