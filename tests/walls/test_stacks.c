/* Recursion of every kind a script has: it ends as an exception or a trap, never as the host's end.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"
#include "hostile.h"

#include <pthread.h>

static inro_sandbox *new_deep_sandbox(void) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(1000); /* some are exponential, or loops */
    options.memory_limit_bytes = 64 << 20;
    inro_sandbox *sandbox = new_sandbox_with(&options);
    bind(sandbox, "Echo", echo);
    return sandbox;
}

/* Any ending is fine that is one, and the next evaluation must be, too. */
static void check_ends(inro_sandbox *sandbox, const char *what, const char *source, size_t length) {
    inro_outcome *outcome = NULL;
    inro_error err = {0};
    inro_status status = inro_sandbox_eval(sandbox, (inro_str){source, length}, NULL, &outcome, &err);
    if (status != INRO_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", what, err.message);
    const inro_failure *failure = inro_outcome_failure(outcome);
    printf("%s: %s %.*s\n", what, failure ? inro_fault_class(failure->fault) : "value",
           failure ? (int)(failure->message.length < 80 ? failure->message.length : 80) : 0,
           failure && failure->message.data ? failure->message.data : "");
    inro_outcome_free(outcome);
    EVAL_VALUE(sandbox, "[1, 2].map { |x| x + 1 }.inspect", "\"[2, 3]\"");
    CHECK(hostile_check_pool() > 0);
}

static const struct {
    const char *what;
    const char *source;
} recursions[] = {
    {"methods", "def f(n) = f(n + 1) + 1\nf(0)"},
    {"methods with many arguments",
     "def f(a, b, *c, d: 1, **e, &g) = f(a, b, *c, d: d, **e, &g)\nf(1, 2, 3, x: 4) { }"},
    {"blocks", "f = nil\nf = proc { |n| f.call(n + 1) }\nf.call(0)"},
    {"yields", "def f(&b) = f { b.call }\nf { 1 }"},
    {"each inside each", "a = [1]\nf = nil\nf = proc { a.each { f.call } }\nf.call"},
    {"define_method", "class Object; define_method(:g) { |n| g(n + 1) }; end\ng(0)"},
    {"send", "def f = send(:f)\nf"},
    {"instance_eval", "def f = instance_eval { f }\nf"},
    {"method_missing", "class M; def method_missing(n, *a) = send(:\"#{n}x\", *a); end\nM.new.foo"},
    {"respond_to_missing",
     "class M; def respond_to_missing?(n, p) = respond_to?(:\"#{n}x\"); end\nM.new.respond_to?(:a)"},
    {"initialize", "class I; def initialize = I.new; end\nI.new"},
    {"to_s", "class T; def to_s = \"#{self}\"; end\nT.new.to_s"},
    {"inspect", "class T; def inspect = [self].inspect; end\nT.new.inspect"},
    {"inspect of a cycle of arrays", "a = []\na << a\na.inspect"},
    {"inspect of a cycle of hashes", "h = {}\nh[:h] = h\nh.to_s"},
    {"inspect of a deep array", "a = []\n20_000.times { a = [a] }\na.inspect.size"},
    {"flatten of a deep array", "a = []\n20_000.times { a = [a] }\na.flatten"},
    {"flatten of a cycle", "a = []\na << a\na.flatten"},
    {"== of deep arrays", "a = []\nb = []\n20_000.times { a = [a]; b = [b] }\na == b"},
    {"== of cycles", "a = []\na << a\nb = []\nb << b\na == b"},
    {"hash of a deep array", "a = []\n20_000.times { a = [a] }\na.hash"},
    {"hash of a cycle", "a = []\na << a\na.hash"},
    {"eql? of deep arrays", "a = []\nb = []\n20_000.times { a = [a]; b = [b] }\na.eql?(b)"},
    {"join of a cycle", "a = []\na << a\na.join"},
    {"<=> of deep arrays", "a = []\nb = []\n20_000.times { a = [a]; b = [b] }\na <=> b"},
    {"a sort's comparator", "f = nil\nf = proc { [3, 1, 2].sort { |x, y| f.call; x <=> y } }\nf.call"},
    {"a hash's callbacks",
     "class K; def hash = {K.new => 1}.hash; def eql?(o) = {self => 1} == {o => 1}; end\n{K.new => 1}"},
    {"a hash's default", "h = Hash.new { |x, k| x[k + 1] }\nh[0]"},
    {"coerce", "class C; def coerce(o) = [1 + self, self]; end\n1 + C.new"},
    {"comparable", "class C; include Comparable; def <=>(o) = self > o ? 1 : 0; end\nC.new > C.new"},
    {"ensure", "def f = (begin; f; ensure; f; end)\nf"},
    {"rescue", "def f(n) = (begin; raise 'x'; rescue; f(n + 1); end)\nf(0)"},
    {"rescue of everything", "def f = (begin; f; rescue Exception; f; end)\nf"},
    {"an exception's message",
     "class E < StandardError; def message = raise(E); def to_s = raise(E); end\nraise E"},
    {"an exception's backtrace", "class E < StandardError; def backtrace = raise(E); end\nraise E"},
    {"fibers inside fibers", "f = nil\nf = proc { Fiber.new { f.call }.resume }\nf.call"},
    {"enumerators inside enumerators", "e = [1].each\n3000.times { e = e.each_with_index }\ne.next"},
    {"lazy enumerators", "e = (1..3).lazy\n3000.times { e = e.map { |x| x } }\ne.first(1)"},
    {"classes", "c = Object\n5000.times { c = Class.new(c) }\nc.new.foo"},
    {"modules", "class X; end\n3000.times { X.include Module.new }\nX.new.foo"},
    {"super", "c = Class.new { def f = 1 }\n3000.times { c = Class.new(c) { def f = super } }\nc.new.f"},
    {"catch", "def f(n) = catch(n) { f(n + 1) }\nf(0)"},
    {"format", "class T; def to_s = format('%s', self); end\nformat('%s', T.new)"},
    {"pack", "class T; def to_str = [self].pack('a'); end\n[T.new].pack('a')"},
    {"a deep result", "a = []\n20_000.times { a = [a] }\na"},
    {"a cyclic result", "a = []\na << a\na"},
    {"a cyclic hash as result", "h = {}\nh[h] = h\nh"},
    {"a deep argument", "a = []\n20_000.times { a = [a] }\nEcho.call(a)"},
    {"a cyclic argument", "a = []\na << a\nEcho.call(a)"},
    {"services and blocks", "def f = Echo.call(1).then { f }\nf"},
    {"collection of a deep list", "a = nil\n200_000.times { a = [a] }\nGC.start\n1"},
    {"structs", "S = Struct.new(:a)\ns = S.new\ns.a = s\n[s.inspect, s == s, s.hash]"},
    {"sets", "s = Set.new\ns << s\ns.inspect"},
    {"gsub's block", "f = nil\nf = proc { 'a'.sub('a') { f.call } }\nf.call"},
    {"tap and then", "def f = 1.tap { 1.then { f } }\nf"},
    {"aliases of operators", "class Integer; alias plus +; def +(o) = self + o; end\n1.send(:+, 2)"},
};

TEST_SECONDS(recursion_of_every_kind_ends, 300) {
    inro_sandbox *sandbox = new_deep_sandbox();
    for (size_t i = 0; i < sizeof recursions / sizeof *recursions; i++)
        check_ends(sandbox, recursions[i].what, recursions[i].source, strlen(recursions[i].source));
    inro_sandbox_free(sandbox);
}

/* ---- the parser ---- */

static char *repeat(char *at, const char *text, size_t times) {
    size_t length = strlen(text);
    for (size_t i = 0; i < times; i++, at += length)
        memcpy(at, text, length);
    return at;
}

static const struct {
    const char *open, *middle, *close;
} nestings[] = {
    {"(", "1", ")"},
    {"[", "", "]"},
    {"{a: ", "1", "}"},
    {"-", "1", ""},
    {"!", "1", ""},
    {"\"#{", "1", "}\""},
    {"f(", "1", ")"},
    {"->{", "1", "}"},
    {"if 1 then ", "1", " end"},
    {"begin;", "1", ";end"},
    {"def f;", "1", ";end;"},
    {"class A;", "1", ";end;"},
    {"x = ", "1", ""},
    {"1 + ", "1", ""},
    {"1 ? ", "1", " : 2"},
    {"a.b.", "c", ""},
    {"while 1;", "1", ";end;"},
    {"f { ", "1", " }"},
    {"case 1 when ", "1", " then 1 end"},
    {"*", "a", " = 1"},
    {"not ", "1", ""},
    {"%w[", "a", "]"},
    {"a[", "1", "]"},
    {"<<A + ", "1", "\nA\n"},
    {"1 and ", "1", ""},
    {"module A;", "1", ";end;"},
    {"(a, ", "b", ")"},
    {"f f ", "1", ""},
};

TEST_SECONDS(sources_nested_without_end, 300) {
    static const size_t depths[] = {100, 3000, 100000};
    inro_sandbox *sandbox = new_deep_sandbox();
    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
        for (size_t i = 0; i < sizeof nestings / sizeof *nestings; i++) {
            size_t room = depths[d] * (strlen(nestings[i].open) + strlen(nestings[i].close)) + 16;
            char *source = malloc(room), *at = source, what[64];
            CHECK(source != NULL);
            at = repeat(at, nestings[i].open, depths[d]);
            at = repeat(at, nestings[i].middle, 1);
            at = repeat(at, nestings[i].close, depths[d]);
            snprintf(what, sizeof what, "%zu times %s%s", depths[d], nestings[i].open, nestings[i].close);
            check_ends(sandbox, what, source, (size_t)(at - source));
            free(source);
        }
    inro_sandbox_free(sandbox);
}

/* ---- small host stacks ---- */

static void *recurse_on_thread(void *argument) {
    inro_sandbox *sandbox = argument;
    for (size_t i = 0; i < sizeof recursions / sizeof *recursions; i += 6) {
        inro_outcome *outcome = eval(sandbox, recursions[i].source);
        inro_outcome_free(outcome);
        EVAL_VALUE(sandbox, "1 + 1", "2");
    }
    return NULL;
}

static inro_status yield_deeper(void *user, inro_call *call) {
    inro_error err;
    const inro_value *result;
    (void)user;
    inro_status status = inro_call_yield(call, NULL, &result, &err);
    if (status == INRO_ERR_LIMIT)
        return inro_call_fail(call, INRO_CALL_RUNTIME, INRO_STR("too deep"));
    return status == INRO_OK ? inro_call_answer(call, inro_value_copy(result)) : status;
}

/* Blocks inside services inside blocks: each level is on the host's stack as well. */
static void *nest_on_thread(void *argument) {
    inro_outcome *outcome = eval(argument, "def f = Deeper.call { f }\nf");
    CHECK_FAILURE(outcome, INRO_FAULT_SERVICE, "Inro::ServiceError", "too deep");
    inro_outcome_free(outcome);
    EVAL_VALUE(argument, "1 + 1", "2");
    return NULL;
}

static void on_thread(size_t stack, void *(*run)(void *), void *argument) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    CHECK_INT(pthread_attr_setstacksize(&attributes, stack), 0);
    CHECK_INT(pthread_create(&thread, &attributes, run, argument), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}

#ifdef API_SANITIZED
enum { SMALL = 1024 * 1024 }; /* instrumented frames are several times as large */
#else
enum { SMALL = 64 * 1024 };
#endif

TEST_SECONDS(recursion_on_a_small_thread, 120) {
    inro_sandbox *sandbox = new_deep_sandbox();
    bind(sandbox, "Deeper", yield_deeper);
    on_thread(SMALL, recurse_on_thread, sandbox);
    on_thread(8u << 20, nest_on_thread, sandbox);
    inro_sandbox_free(sandbox);
}

TEST(nested_blocks_on_a_small_thread) {
    inro_sandbox *sandbox = new_deep_sandbox();
    bind(sandbox, "Deeper", yield_deeper);
    on_thread(SMALL, nest_on_thread, sandbox);
    inro_sandbox_free(sandbox);
}
