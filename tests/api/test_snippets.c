/* Snippets: preloaded source and bytecode, run before every invocation. Issue 2 "preload"; spec a.6.
 *
 * A snippet that is alike in every run is baked into the sandbox's image; that must not be told from the
 * outside.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static inro_status try_preload(inro_sandbox *sandbox, const char *name, const char *source, inro_error *err) {
    memset(err, 0, sizeof *err);
    return inro_sandbox_preload(sandbox, inro_str_from_c(source), inro_str_from_c(name), err);
}

TEST(snippets_run_in_the_order_they_came) { /* spec a.45 */
    inro_sandbox *sandbox = new_sandbox();
    preload(sandbox, "Base", "module Base; LIST = [:base]; end; puts 'base'");
    preload(sandbox, "More", "Base::LIST << :more; puts 'more'");
    preload(sandbox, "Last", "Base::LIST << :last; $ready = true; $stderr.puts 'last'");
    for (int i = 0; i < 3; i++) {
        inro_outcome *outcome = eval(sandbox, "puts 'eval'; Base::LIST << :eval; [Base::LIST, $ready]");
        CHECK_VALUE(outcome, "[[:base, :more, :last, :eval], true]");
        CHECK_STR(inro_outcome_stdout(outcome), "base\nmore\neval\n");
        CHECK_STR(inro_outcome_stderr(outcome), "last\n");
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

TEST(names_are_checked) { /* spec a.42 */
    static const char *const bad[] = {"",           "lower", "_Leading", "1Digit",  "Has-Dash",
                                      "Two::Parts", "A b",   "A\n",      "\xc3\x84"};
    inro_sandbox *sandbox = new_sandbox();
    inro_error err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_INT(try_preload(sandbox, bad[i], "1", &err), INRO_ERR_ARGUMENT);
        CHECK_CONTAINS(err.message, "snippet name must match");
    }
    CHECK_INT(try_preload(sandbox, "Good", "1", &err), INRO_OK);
    CHECK_INT(try_preload(sandbox, "Good", "2", &err), INRO_ERR_CONFLICT);
    CHECK_CONTAINS(err.message, "already preloaded");
    CHECK_INT(try_preload(sandbox, "Good_2", "2", &err), INRO_OK);
    inro_sandbox_free(sandbox);
}

TEST(source_and_name_are_copied) { /* spec a.43 */
    char source[] = "Value = 1", name[] = "Value";
    inro_sandbox *sandbox = new_sandbox();
    preload(sandbox, name, source);
    memset(source, 'x', sizeof source - 1);
    memset(name, 'y', sizeof name - 1);
    EVAL_VALUE(sandbox, "Value", "1");
    inro_sandbox_free(sandbox);
}

TEST(a_syntax_error_is_refused_and_changes_nothing) { /* spec a.44, README */
    inro_sandbox *sandbox = new_sandbox();
    inro_error err;
    preload(sandbox, "Fine", "Fine = 1");
    CHECK_INT(try_preload(sandbox, "Broken", "x = 1\ndef f\n  1 +\nend", &err), INRO_ERR_SYNTAX);
    CHECK_CONTAINS(err.message, "(snippet:Broken):4");
    CHECK_CONTAINS(err.message, "syntax error");
    CHECK_INT(try_preload(sandbox, "Broken", "yield", &err), INRO_ERR_SYNTAX);
    CHECK_INT(try_preload(sandbox, "Broken", "Broken = 2", &err), INRO_OK);
    EVAL_VALUE(sandbox, "[Fine, Broken]", "[1, 2]");
    inro_sandbox_free(sandbox);
}

TEST(a_snippet_that_only_fails_to_run_is_taken) { /* spec a.44 */
    inro_sandbox *sandbox = new_sandbox();
    preload(sandbox, "First", "first body"); /* a call of a method that is not there */
    EVAL_FAILURE(sandbox, "1", INRO_FAULT_SANDBOX, "NoMethodError", "body");
    inro_sandbox_free(sandbox);
}

TEST(a_raise_is_the_failure_of_every_invocation) { /* spec a.45 */
    inro_sandbox *sandbox = new_sandbox();
    preload(sandbox, "Before", "puts 'before'; Before = 1");
    preload(sandbox, "Broken", "puts 'in'\nraise ArgumentError, 'broken ' + Before.to_s");
    preload(sandbox, "After", "puts 'after'");
    for (int i = 0; i < 3; i++) {
        inro_outcome *outcome = eval(sandbox, "puts 'eval'");
        CHECK_FAILURE(outcome, INRO_FAULT_SANDBOX, "ArgumentError", "broken 1");
        CHECK(inro_outcome_failure(outcome)->backtrace_count > 0);
        CHECK_STR(inro_outcome_failure(outcome)->backtrace[0], "(snippet:Broken):2");
        CHECK_STR(inro_outcome_stdout(outcome), "before\nin\n");
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

static inro_status failing(void *user, inro_call *call) {
    (void)user;
    return inro_call_fail(call, INRO_CALL_RUNTIME, INRO_STR("down"));
}

TEST(a_service_error_in_a_snippet_is_the_sandboxs) { /* spec a.45: always origin "sandbox" */
    inro_sandbox *sandbox = new_sandbox();
    bind(sandbox, "Down", failing);
    preload(sandbox, "Uses", "Down.call");
    EVAL_FAILURE(sandbox, "1", INRO_FAULT_SANDBOX, "Inro::ServiceError", "down");
    inro_sandbox_free(sandbox);
}

/* ---- baked and not baked must look alike ---- */

TEST(a_snippet_that_calls_a_service_calls_it_each_time) {
    int calls = 0;
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "Count", count, &calls);
    preload(sandbox, "Before", "Before = [1]; puts 'b'");
    preload(sandbox, "Uses", "Count.call; Before << 2; puts 'u'");
    preload(sandbox, "After", "Before << 3; puts 'a'");
    for (int i = 1; i <= 3; i++) {
        inro_outcome *outcome = eval(sandbox, "Before");
        CHECK_VALUE(outcome, "[1, 2, 3]");
        CHECK_STR(inro_outcome_stdout(outcome), "b\nu\na\n");
        CHECK_INT(inro_outcome_usage(outcome)->service_calls, 1);
        CHECK_INT(calls, i);
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

TEST(a_snippet_that_rescues_a_service_call_calls_it_each_time) {
    int calls = 0;
    inro_sandbox *sandbox = new_sandbox();
    bind_user(sandbox, "Count", count, &calls);
    preload(sandbox, "Uses", "begin; Count.call; SAW = :ok; rescue Exception; SAW = :failed; end");
    EVAL_VALUE(sandbox, "SAW", ":ok");
    EVAL_VALUE(sandbox, "SAW", ":ok");
    CHECK_INT(calls, 2);
    inro_sandbox_free(sandbox);
}

TEST(output_of_snippets_counts_against_the_limits) { /* spec a.47 */
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.stdout_limit_bytes = 10;
    inro_sandbox *sandbox = new_sandbox_with(&options);
    preload(sandbox, "Prints", "print '12345678'");
    for (int i = 0; i < 2; i++) {
        inro_outcome *outcome = eval(sandbox, "print 'abcd'");
        CHECK_STR(inro_outcome_stdout(outcome), "12345678ab");
        CHECK(inro_outcome_is_stdout_truncated(outcome));
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

TEST(a_snippet_that_allocates_much) {
    inro_sandbox *sandbox = new_sandbox(); /* 1 MiB */
    preload(sandbox, "Big", "BIG = 'x' * 600_000");
    EVAL_VALUE(sandbox, "BIG.size", "600000");
    EVAL_VALUE(sandbox, "BIG[0] = 'y'; BIG[0, 2]", "\"yx\"");
    EVAL_VALUE(sandbox, "BIG[0, 2]", "\"xx\"");
    inro_sandbox_free(sandbox);
}

TEST(a_snippet_that_allocates_too_much_traps_every_invocation) {
    inro_sandbox *sandbox = new_sandbox();
    preload(sandbox, "Small", "SMALL = 1; puts 'small'");
    preload(sandbox, "Huge", "HUGE = 'x' * 3_000_000");
    for (int i = 0; i < 3; i++) {
        inro_outcome *outcome = eval(sandbox, "1");
        CHECK_FAILURE(outcome, INRO_FAULT_MEMORY_LIMIT, NULL, "memory_limit");
        CHECK_STR(inro_outcome_stdout(outcome), "small\n");
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

TEST(a_snippet_that_never_ends_times_out_every_invocation) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(250);
    inro_sandbox *sandbox = new_sandbox_with(&options);
    preload(sandbox, "Loops", "puts 'looping'; loop { }");
    for (int i = 0; i < 3; i++) {
        inro_outcome *outcome = eval(sandbox, "1");
        CHECK_FAILURE(outcome, INRO_FAULT_TIMEOUT, NULL, "timeout");
        CHECK_STR(inro_outcome_stdout(outcome), "looping\n");
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
}

TEST(what_a_script_does_to_a_snippets_objects_is_undone) {
    inro_sandbox *sandbox = new_sandbox();
    preload(sandbox, "Data", "DATA_ = {a: [1, 2]}; class Helper; def self.v; 1; end; end");
    EVAL_VALUE(sandbox, "DATA_[:a] << 3; DATA_[:b] = 1; def Helper.v; 2; end; [DATA_, Helper.v]",
               "[{a: [1, 2, 3], b: 1}, 2]");
    EVAL_VALUE(sandbox, "[DATA_, Helper.v]", "[{a: [1, 2]}, 1]");
    inro_sandbox_free(sandbox);
}

TEST(changes_of_the_language_hold) {
    inro_sandbox *sandbox = new_sandbox();
    preload(
        sandbox, "Patch",
        "class Integer; def double; self * 2; end; end; class String; undef upcase; end; $stdout = $stderr");
    inro_outcome *outcome = eval(sandbox, "puts 21.double; ('a'.upcase rescue :gone)");
    CHECK_VALUE(outcome, ":gone");
    CHECK_STR(inro_outcome_stderr(outcome), "42\n");
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

TEST(sixty_four_snippets) {
    inro_sandbox *sandbox = new_sandbox();
    char name[32], source[128];
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "Helper%d", i);
        snprintf(source, sizeof source, "module %s; VAL = %d; def self.value; VAL; end; end", name, i);
        preload(sandbox, name, source);
    }
    EVAL_VALUE(sandbox, "(0..63).map { |i| Object.const_get(\"Helper#{i}\").value }.sum", "2016");
    inro_sandbox_free(sandbox);
}

TEST(two_sandboxes_bake_for_themselves) {
    inro_sandbox *one = new_sandbox(), *two = new_sandbox();
    preload(one, "Value", "Value = 1");
    preload(two, "Value", "Value = 2");
    for (int i = 0; i < 5; i++) {
        EVAL_VALUE(one, "Value", "1");
        EVAL_VALUE(two, "Value", "2");
    }
    inro_sandbox_free(one);
    EVAL_VALUE(two, "Value", "2");
    inro_sandbox_free(two);
}

/* ---- bytecode ---- */

/* Compiles with the guest's own compiler; the bytes are the caller's. */
static uint8_t *compile(const char *source, bool debug, size_t *length) {
    const char *root = getenv("INRO_ROOT");
    char compiler[512], in[] = "/tmp/inro-test-XXXXXX", out[64];
    snprintf(compiler, sizeof compiler, "%s/build-guest/native/build/host/bin/mrbc", root ? root : ".");
    if (access(compiler, X_OK) != 0)
        SKIP("host: the guest's compiler is not there");
    int file = mkstemp(in);
    CHECK(file >= 0 && write(file, source, strlen(source)) == (ssize_t)strlen(source));
    close(file);
    snprintf(out, sizeof out, "%s.mrb", in);
    char *arguments[] = {compiler, (char *)(debug ? "-g" : "-B"), (char *)"-o", out, in, NULL};
    if (!debug) {
        arguments[1] = (char *)"-o";
        arguments[2] = out;
        arguments[3] = in;
        arguments[4] = NULL;
    }
    pid_t pid;
    int status = -1;
    CHECK_INT(posix_spawn(&pid, compiler, NULL, NULL, arguments, environ), 0);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    uint8_t *bytes = malloc(1 << 16);
    file = open(out, O_RDONLY);
    CHECK(file >= 0);
    ssize_t got = read(file, bytes, 1 << 16);
    CHECK(got > 20);
    close(file);
    unlink(in);
    unlink(out);
    *length = (size_t)got;
    return bytes;
}

static void preload_bytes(inro_sandbox *sandbox, const uint8_t *bytes, size_t length) {
    inro_error err = {0};
    inro_status status = inro_sandbox_preload_bytecode(sandbox, (inro_bytes){bytes, length}, &err);
    if (status != INRO_OK)
        test_fail(__FILE__, __LINE__, "preload_bytecode: %s: %s", inro_status_name(status), err.message);
}

TEST(bytecode_runs) { /* spec a.46 */
    size_t length;
    for (int debug = 0; debug < 2; debug++) {
        uint8_t *bytes = compile("module Answers; def self.all; [42, :a, 'x', 2.5]; end; end; puts 'loaded'",
                                 debug, &length);
        inro_sandbox *sandbox = new_sandbox();
        preload(sandbox, "Before", "puts 'first'");
        preload_bytes(sandbox, bytes, length);
        memset(bytes, 0, length); /* it was copied */
        preload(sandbox, "After", "X = Answers.all");
        for (int i = 0; i < 2; i++) {
            inro_outcome *outcome = eval(sandbox, "X");
            CHECK_VALUE(outcome, "[42, :a, \"x\", 2.5]");
            CHECK_STR(inro_outcome_stdout(outcome), "first\nloaded\n");
            inro_outcome_free(outcome);
        }
        free(bytes);
        inro_sandbox_free(sandbox);
    }
}

TEST(bytecode_that_raises_is_a_plain_failure) { /* spec a.46 */
    size_t length;
    uint8_t *bytes = compile("raise 'boom in bytecode'", true, &length);
    inro_sandbox *sandbox = new_sandbox();
    preload_bytes(sandbox, bytes, length);
    EVAL_FAILURE(sandbox, "1", INRO_FAULT_SANDBOX, "RuntimeError", "boom in bytecode");
    EVAL_FAILURE(sandbox, "1", INRO_FAULT_SANDBOX, "RuntimeError", "boom in bytecode");
    free(bytes);
    inro_sandbox_free(sandbox);
}

static void check_bytecode_failure(const uint8_t *bytes, size_t length, const char *part) {
    inro_sandbox *sandbox = new_sandbox();
    preload_bytes(sandbox, bytes, length); /* taken unseen: spec a.43 */
    for (int i = 0; i < 2; i++)
        EVAL_FAILURE(sandbox, "1", INRO_FAULT_BYTECODE, "Inro::BytecodeError", part);
    inro_sandbox_free(sandbox);
}

TEST(damaged_bytecode_is_a_bytecode_failure) { /* spec a.46 */
    size_t length;
    uint8_t *bytes = compile("X = [1, 2, 3].map { |x| x.to_s * 2 }", false, &length);
    check_bytecode_failure((const uint8_t *)"", 0, "shorter");
    check_bytecode_failure((const uint8_t *)"RITE", 4, "shorter");
    check_bytecode_failure((const uint8_t *)"RITE but this is only text, no bytecode at all", 46, "version");
    check_bytecode_failure((const uint8_t *)"not bytecode, and longer than the header of such", 48, "not RITE");
    memcpy(bytes + 4, "9999", 4);
    check_bytecode_failure(bytes, length, "version");
    memcpy(bytes + 4, "0300", 4);
    check_bytecode_failure(bytes, length - 10, "");
    free(bytes);
}

/* Whatever the bytes: an ending, never a fault of the host. The interpreter trusts its bytecode, the wall does
 * not. */
TEST(bytecode_with_any_byte_changed_ends_somehow) {
    size_t length;
    uint8_t *bytes =
        compile("X = {a: [1, 2.5, 'text']}; def f(a, b: 1) a.to_s + b.to_s end; f(1, b: 2)", true, &length);
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.timeout_us = MILLISECONDS(20);
    options.memory_limit_bytes = 4 << 20;
#ifdef API_SANITIZED
    const size_t step = 11;
#else
    const size_t step = 1;
#endif
    for (size_t i = 0; i < length; i += step) {
        for (int bit = 0; bit < 3; bit++) {
            uint8_t change = (uint8_t)(0x81 >> (bit * 3));
            bytes[i] ^= change;
            inro_sandbox *sandbox = new_sandbox_with(&options);
            preload_bytes(sandbox, bytes, length);
            inro_outcome_free(eval(sandbox, "X"));
            inro_sandbox_free(sandbox);
            bytes[i] ^= change;
        }
    }
    for (size_t cut = 0; cut < length; cut += step) {
        inro_sandbox *sandbox = new_sandbox_with(&options);
        preload_bytes(sandbox, bytes, cut);
        inro_outcome_free(eval(sandbox, "1"));
        inro_sandbox_free(sandbox);
    }
    free(bytes);
}
