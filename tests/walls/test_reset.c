/* Nothing stays: after any ending all of memory, its size and the globals equal the image, and what one script
 * left behind is nowhere in the memory that the next one gets.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"
#include "hostile.h"
#include "wasm/pool.h"

#include <stdlib.h>

/* ---- any ending ---- */

static inro_status fail(void *user, inro_call *call) {
    (void)user;
    return inro_call_fail(call, INRO_CALL_RUNTIME, INRO_STR("as asked"));
}

static inro_status yield_once(void *user, inro_call *call) {
    const inro_value *result = NULL;
    (void)user;
    inro_status status = inro_call_yield(call, inro_call_args(call), &result, NULL);
    return status == INRO_OK ? inro_call_answer(call, inro_value_copy(result)) : status;
}

/* What scribbles, each on its own line so that a script is a few of them ... */
static const char *const scribbles[] = {
    "$g = [] ; 500.times { |i| $g << \"value #{i}\" }",
    "class String; def size; 1; end; end",
    "class Object; def method_missing(*a) = 0; end",
    "A#{n} = 'constant' * 50",
    "h = {} ; 300.times { |i| h[i] = i.to_s.to_sym } ; $h = h",
    "300.times { |i| \"sym_#{i}_#{i * 7}\".to_sym }",
    "$s = 'x' * 70_000",
    "$big = 3 ** 2000",
    "Object.const_set(:\"B#{7}\", Class.new { def x = 1 })",
    "begin ; raise 'inner' ; rescue => $e ; end",
    "f = Fiber.new { Fiber.yield 1 } ; f.resume ; $f = f",
    "puts 'some output' ; $stderr.puts 'and some more'",
    "$x = Yield.call(1) { |v| $inner = [v] * 100 ; v }",
    "def deep(n) = n == 0 ? 0 : deep(n - 1) ; deep(60)",
    "GC.start ; GC.disable",
    "a = (1..2000).to_a.sort_by { |v| -v } ; $a = a.map(&:to_s)",
    "String.class_eval { define_method(:foo) { 1 } } ; undef to_s rescue 0",
    "$o = Object.new ; def $o.sing = 1 ; $o.freeze",
};

/* ... and one of these is how it ends. */
static const char *const endings[] = {
    "nil",
    "[1, {a: 'x' * 300}]",
    "'r' * 100_000",
    "raise 'ends here'",
    "raise Exception, 'as well'",
    "Fail.call",
    "Fail.call(1) rescue 5",
    "loop { }",
    "s = 'c' * 300_000 ; t = s.dup ; loop { t[1, 200_000] = s[0, 200_000] }",
    "x = [] ; loop { x << 'memory' * 1000 }",
    "'m' * 100_000_000",
    "def r = r ; r",
    "Yield.call { loop { } }",
    "Yield.call { raise 'in a block' }",
    "Yield.call { Yield.call { break } }",
    "Object.new",
    "a = [] ; a << a ; a",
    "1 +",
    "Yield.call { def q = q ; q }",
    "throw :nothing",
    "Unbound.call",
    "eval('1')",
    "begin ; loop { } ; ensure ; $late = 'z' * 5000 ; end",
};

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static size_t make_script(char *out, size_t room, uint64_t *seed) {
    size_t length = 0;
    for (uint64_t lines = next_random(seed) % 6; lines > 0; lines--)
        length += (size_t)snprintf(out + length, room - length, "%s\n",
                                   scribbles[next_random(seed) % (sizeof scribbles / sizeof *scribbles)]);
    length += (size_t)snprintf(out + length, room - length, "%s\n",
                               endings[next_random(seed) % (sizeof endings / sizeof *endings)]);
    return length;
}

static inro_sandbox *sandbox_to_scribble_in(unsigned kind) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(30);
    inro_sandbox *sandbox = new_sandbox_with(&options);
    bind(sandbox, "Fail", fail);
    bind(sandbox, "Yield", yield_once);
    if (kind == 1)
        preload(sandbox, "Big", "BIG = 'b' * 600_000 ; $pre = {a: [1]}");
    if (kind == 2)
        preload(sandbox, "Bad", "raise 'each time'");
    return sandbox;
}

#ifdef API_SANITIZED
enum { SCRIPTS = 250 };
#else
enum { SCRIPTS = 1200 };
#endif

TEST_SECONDS(after_any_ending_memory_equals_the_image, 300) {
    static const char probe[] = "[String.new('abc').size, $g, $s, $a, Object.const_defined?(:B7)]";
    char script[4096];
    uint64_t seed = 0x9e3779b97f4a7c15u;
    unsigned ended[4] = {0};
    inro_sandbox *sandboxes[3];
    for (unsigned kind = 0; kind < 3; kind++)
        sandboxes[kind] = sandbox_to_scribble_in(kind);
    for (unsigned i = 0; i < SCRIPTS; i++) {
        size_t length = make_script(script, sizeof script, &seed);
        inro_sandbox *sandbox = sandboxes[next_random(&seed) % 8 ? i % 2 : 2];
        inro_outcome *outcome = NULL;
        inro_error err = {0};
        inro_status status = inro_sandbox_eval(sandbox, (inro_str){script, length}, NULL, &outcome, &err);
        if (status != INRO_OK)
            test_fail(__FILE__, __LINE__, "%s\n%s", err.message, script);
        ended[inro_outcome_ended(outcome)]++;
        inro_outcome_free(outcome);
        CHECK(hostile_check_pool() > 0);
        if (sandbox != sandboxes[2])
            EVAL_VALUE(sandbox, probe, "[3, nil, nil, nil, false]");
    }
    for (unsigned i = 0; i < 4; i++)
        CHECK(ended[i] > 0);
    for (unsigned kind = 0; kind < 3; kind++)
        inro_sandbox_free(sandboxes[kind]);
    CHECK(hostile_check_pool() > 0);
}

/* ---- the canary ---- */

/* Sixteen bytes that no image has. */
static const char marker[] = "K4n4r1-0f-t3n4nt";

static size_t find_marker(const uint8_t *bytes, uint64_t length) {
    size_t found = 0;
    for (const uint8_t *at = bytes, *end = bytes + length; (at = memmem(at, (size_t)(end - at), marker, 8));
         at++)
        found++;
    return found;
}

struct scan {
    size_t found;
    size_t slots;
};

/* All memory the guest could read, and as much of its native stack as no other guest may be shown. */
static void scan_slot(struct inro__slot *slot, void *user) {
    struct scan *scan = user;
    scan->slots++;
    scan->found += find_marker(slot->instance.w2c_memory.base, slot->instance.w2c_memory.size);
}

static struct scan scan_pool(void) {
    struct scan scan = {0};
    inro__pool_each(scan_slot, &scan);
    return scan;
}

static size_t found_during_service;

static inro_status scan_now(void *user, inro_call *call) {
    (void)user, (void)call;
    found_during_service = scan_pool().found;
    return INRO_OK;
}

/* Wherever a script can put bytes. `M` is the marker, made at run time so that the source is not the only
 * place. */
static const char leave_marks[] = "M = ['4b346e3472312d30662d74336e346e74'].pack('H*')\n"
                                  "$global = M + '1'\n"
                                  "CONSTANT = M * 5\n"
                                  "class String; def marked = 'K4n4r1-0f-t3n4nt in a method'; end\n"
                                  "(M + ' symbol').to_sym\n"
                                  "$h = {M => M.to_sym, nil => [M] * 10}\n"
                                  "local = M * 400\n"
                                  "$grown = (1..12).map { |i| M * 4000 }\n"
                                  "M.instance_variable_set(:@iv, M + 'iv') rescue 0\n"
                                  "$o = Object.new; $o.instance_variable_set(:@iv, M + 'object')\n"
                                  "$f = Fiber.new { x = M + 'fiber'; Fiber.yield x; x }; $f.resume\n"
                                  "$p = proc { M + local }\n"
                                  "def m(a) = a.bytes.each_slice(2).map { |x| x.inspect }.join; m(M)\n"
                                  "Struct.new(:a).new(M + 'struct')\n"
                                  "begin; raise M + 'raised'; rescue => $exception; end\n"
                                  "1000.times { |i| M + i.to_s }; GC.start; 200.times { |i| M + i.to_s }\n"
                                  "puts M; $stderr.puts M\n"
                                  "Scan.call(M, [M], k: M) { |x| M }\n";

static const char *const mark_endings[] = {"M",
                                           "raise M",
                                           "loop { M + 'x' }",
                                           "x = []; loop { x << M * 1000 }",
                                           "def r(a) = r(a + M); r(M)",
                                           "Fail.call(M)",
                                           "M * 1_000_000_000",
                                           "catch(M) { throw M, M }",
                                           "M.to_sym"};

TEST_SECONDS(a_canary_is_nowhere_in_the_next_run, 120) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(200);
    inro_sandbox *tenant = new_sandbox_with(&options), *other = new_sandbox_with(&options);
    bind(tenant, "Scan", scan_now);
    bind(tenant, "Fail", fail);
    bind(other, "Scan", scan_now);
    for (size_t i = 0; i < sizeof mark_endings / sizeof *mark_endings; i++) {
        char source[4096];
        snprintf(source, sizeof source, "%s%s\n", leave_marks, mark_endings[i]);
        found_during_service = 0;
        inro_outcome_free(eval(tenant, source));
        CHECK(found_during_service > 20); /* they are there while the script runs, so the scan can see */
        struct scan scan = scan_pool();
        CHECK(scan.slots > 0);
        CHECK_INT(scan.found, 0);
        found_during_service = 1;
        EVAL_VALUE(other, "Scan.call", "nil");
        CHECK_INT(found_during_service, 0);
        EVAL_VALUE(tenant, "x = 'y' * 800_000; Scan.call; [x.index('K4n4'), Object.const_defined?(:M)]",
                   "[nil, false]");
        CHECK_INT(found_during_service, 0);
    }
    inro_sandbox_free(tenant);
    inro_sandbox_free(other);
}

/* Memory grows anew from its first size, as zeros, in every run. */
TEST(memory_shrinks_back) {
    inro_sandbox *sandbox = new_sandbox();
    uint64_t first = 0;
    for (unsigned i = 0; i < 50; i++) {
        inro_outcome *outcome = eval(sandbox, "a = 'x' * 700_000; a.size");
        uint64_t peak = inro_outcome_usage(outcome)->memory_peak_bytes;
        CHECK_VALUE(outcome, "700000");
        first = i == 0 ? peak : first;
        CHECK(peak >= 700000 - 262144 && peak == first);
        inro_outcome_free(outcome);
        CHECK(hostile_check_pool() > 0);
    }
    inro_sandbox_free(sandbox);
}

/* The same script sees the same addresses, hashes and order every time, in every slot. */
TEST(runs_are_alike_to_the_last_bit) {
    static const char source[] =
        "[Object.new.inspect, Object.new.object_id, 'a'.hash, :sym.object_id, {a: 1}.hash, "
        "Class.new.inspect, proc { }.inspect]";
    inro_sandbox *sandbox = new_sandbox();
    inro_outcome *first = eval(sandbox, source);
    char *expected = inspected(inro_outcome_value(first));
    inro_outcome_free(first);
    for (unsigned i = 0; i < 40; i++) {
        if (i % 4 == 1)
            inro_outcome_free(eval(sandbox, "$junk = (1..3000).map { |x| x.to_s }; raise 'x'"));
        if (i % 10 == 9)
            inro_trim();
        EVAL_VALUE(sandbox, source, expected);
    }
    inro_text_free(expected);
    inro_sandbox_free(sandbox);
}
