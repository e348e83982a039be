/* Every allocation of the library fails once: the right status, no leak, and it goes on working.
 * Issue 2 "fail-every-allocation over the public API".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

static struct {
    long live_blocks;
    long long live_bytes;
    long left;    /* allocations until one fails; below 0 none does */
    bool forever; /* not only that one, all after it, too */
    long failed;
} heap = {0, 0, -1, false, 0};

static bool must_fail(void) {
    if (heap.left < 0)
        return false;
    if (heap.left > 0) {
        heap.left--;
        return false;
    }
    heap.failed++;
    if (!heap.forever)
        heap.left = -1;
    return true;
}

/* Counts blocks and bytes, and checks that the library knows the sizes of its own. */
static void *resize(void *user, void *old, size_t old_size, size_t new_size) {
    size_t *block = old ? (size_t *)old - 2 : NULL;
    CHECK(user == &heap);
    CHECK(block == NULL || *block == old_size);
    if (new_size == 0) {
        heap.live_blocks -= block != NULL;
        heap.live_bytes -= block ? (long long)old_size : 0;
        free(block);
        return NULL;
    }
    if ((block == NULL || new_size > old_size) && must_fail())
        return NULL;
    size_t *grown = realloc(block, new_size + 2 * sizeof *block);
    CHECK(grown != NULL);
    heap.live_blocks += block == NULL;
    heap.live_bytes += (long long)new_size - (block ? (long long)old_size : 0);
    *grown = new_size;
    return grown + 2;
}

static void use_heap(void) {
    inro_error err;
    CHECK_INT(inro_set_allocator(resize, &heap, &err), INRO_OK);
}

static bool is_memory(inro_status status) {
    if (status != INRO_OK && status != INRO_ERR_MEMORY)
        test_fail(__FILE__, __LINE__, "%s", inro_status_name(status));
    return status == INRO_ERR_MEMORY;
}

/* What is tested: runs a piece of the API, answers false when it could not for lack of memory. All it made it
 * has freed when it returns. */
typedef bool (*piece)(void);

static void fail_each_allocation(piece run, bool forever) {
    CHECK(run()); /* what is kept for good is made now: slots, images, a thread's stack */
    inro_trim();
    CHECK(run());
    const long blocks = heap.live_blocks;
    const long long bytes = heap.live_bytes;
    bool passed = false;
    long n;
    for (n = 0; !passed; n++) {
        CHECK(n < 20000);
        heap.left = n;
        heap.forever = forever;
        heap.failed = 0;
        bool done = run();
        passed = heap.failed == 0;
        heap.left = -1;
        CHECK(done || heap.failed > 0);
        if (n % 16 == 0 || passed) {
            CHECK(run()); /* it goes on working */
            inro_trim();
            CHECK(run());
        }
    }
    printf("%ld allocations\n", n - 1);
    CHECK(n > 1);
    inro_trim();
    CHECK(run());
    if (heap.live_blocks != blocks || heap.live_bytes != bytes)
        test_fail(__FILE__, __LINE__, "%ld blocks and %lld bytes more than before", heap.live_blocks - blocks,
                  heap.live_bytes - bytes);
}

static void fail_all(piece run) {
    use_heap();
    fail_each_allocation(run, false);
    fail_each_allocation(run, true);
}

/* ---- the pieces ---- */

static bool set_up(inro_sandbox **sandbox, inro_service_fn call, const char *snippet) {
    inro_error err;
    *sandbox = NULL;
    if (is_memory(inro_sandbox_new(NULL, sandbox, &err)))
        return false;
    inro_object *object = inro_object_new(call, NULL, NULL);
    inro_status status =
        object ? inro_sandbox_bind(*sandbox, INRO_STR("Ns::Service"), object, &err) : INRO_ERR_MEMORY;
    inro_object_unref(object);
    if (status == INRO_OK)
        status = inro_sandbox_bind(*sandbox, INRO_STR("Other"), NULL, &err);
    if (status == INRO_OK && snippet)
        status = inro_sandbox_preload(*sandbox, inro_str_from_c(snippet), INRO_STR("Snippet"), &err);
    if (!is_memory(status))
        return true;
    inro_sandbox_free(*sandbox);
    *sandbox = NULL;
    return false;
}

/* An evaluation that gives this value, or fails for lack of memory: of the library, or as the script saw it. */
static bool evaluate(inro_sandbox *sandbox, const char *source, const char *expected) {
    inro_outcome *outcome = NULL;
    inro_error err = {0};
    if (is_memory(inro_sandbox_eval(sandbox, inro_str_from_c(source), NULL, &outcome, &err))) {
        CHECK(outcome == NULL);
        CHECK_INT(err.status, INRO_ERR_MEMORY);
        return false;
    }
    CHECK(outcome != NULL);
    char *text = NULL;
    bool fine = inro_outcome_ended(outcome) == INRO_ENDED_VALUE;
    if (!fine)
        CHECK(heap.failed > 0);
    else if (inro_value_inspect(inro_outcome_value(outcome), &text, NULL, &err) == INRO_OK) {
        if (heap.failed == 0 && strcmp(text, expected) != 0)
            test_fail(__FILE__, __LINE__, "%s, expected %s", text, expected);
    } else {
        CHECK_INT(err.status, INRO_ERR_MEMORY);
        fine = false;
    }
    inro_text_free(text);
    inro_outcome_free(outcome);
    return fine;
}

static bool lifetime(void) {
    inro_sandbox *sandbox;
    if (!set_up(&sandbox, echo, "module Snippet; LIST = [1, 2]; end; puts 'out'"))
        return false;
    bool fine = evaluate(sandbox, "[Snippet::LIST, Ns::Service.call({a: ['x', 2.5, :s]})]",
                         "[[1, 2], {a: [\"x\", 2.5, :s]}]");
    fine = evaluate(sandbox, "1", "1") && fine;
    inro_sandbox_free(sandbox);
    return fine;
}

TEST_SECONDS(a_lifetime, 300) {
    fail_all(lifetime);
}

static bool outputs(void) {
    inro_sandbox *sandbox;
    if (!set_up(&sandbox, echo, NULL))
        return false;
    bool fine =
        evaluate(sandbox, "puts 'x' * 5000; 10.times { $stderr.print 'y' * 3000 }; 'z' * 20_000; 1", "1");
    inro_sandbox_free(sandbox);
    return fine;
}

TEST_SECONDS(output_and_large_values, 300) {
    fail_all(outputs);
}

static inro_status yield_and_answer(void *user, inro_call *call) {
    const inro_value *result = NULL;
    inro_error err;
    (void)user;
    inro_status status = inro_call_yield(call, inro_call_args(call), &result, &err);
    if (status != INRO_OK)
        return status;
    return inro_call_answer(call, inro_value_copy(result));
}

static bool yields(void) {
    inro_sandbox *sandbox;
    if (!set_up(&sandbox, yield_and_answer, NULL))
        return false;
    bool fine =
        evaluate(sandbox, "Ns::Service.call(1, 'a' * 300) { |a, b| Ns::Service.call(b) { |c| [a, c.size] } }",
                 "[1, 300]");
    inro_sandbox_free(sandbox);
    return fine;
}

TEST_SECONDS(yields_and_nested_calls, 300) {
    fail_all(yields);
}

static inro_status answer_handle(void *user, inro_call *call) {
    (void)user;
    inro_object *object = inro_object_new(answer_handle, NULL, NULL);
    if (object == NULL)
        return inro_call_answer(call, NULL);
    inro_status status = inro_call_answer(call, inro_value_new_object(object));
    inro_object_unref(object);
    return status;
}

static bool handles(void) {
    inro_sandbox *sandbox;
    if (!set_up(&sandbox, answer_handle, NULL))
        return false;
    bool fine = evaluate(sandbox, "h = Ns::Service.call; 40.times { h = h.call }; [h, {h => 1}]",
                         "[#<Handle>, {#<Handle> => 1}]");
    inro_sandbox_free(sandbox);
    return fine;
}

TEST_SECONDS(handles_and_objects_in_outcomes, 300) {
    fail_all(handles);
}

static inro_status fail_always(void *user, inro_call *call) {
    (void)user;
    return inro_call_fail(call, INRO_CALL_ARGUMENT,
                          INRO_STR("a reason that is longer than any small buffer would be, surely"));
}

static bool failures(void) {
    inro_sandbox *sandbox;
    if (!set_up(&sandbox, fail_always, NULL))
        return false;
    inro_outcome *outcome = NULL;
    inro_error err;
    bool fine = evaluate(
        sandbox, "begin; Ns::Service.call(1); rescue Inro::ServiceError => e; e.class.to_s.size; end", "26");
    static const char *const sources[] = {"def f; raise 'x' * 300; end; f", "1 +", "Object.new",
                                          "Ns::Service.call", "'x' * 3_000_000"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (is_memory(inro_sandbox_eval(sandbox, inro_str_from_c(sources[i]), NULL, &outcome, &err))) {
            fine = false;
            continue;
        }
        CHECK(inro_outcome_ended(outcome) != INRO_ENDED_VALUE);
        inro_outcome_free(outcome);
    }
    inro_sandbox_free(sandbox);
    return fine;
}

TEST_SECONDS(failing_scripts, 300) {
    fail_all(failures);
}

static inro_value *nested_arguments(void) {
    inro_value *args = inro_value_new_array(), *map = inro_value_new_map();
    inro_status status =
        inro_value_map_put(map, inro_value_new_symbol(INRO_STR("key")), inro_value_new_text(INRO_STR("text")));
    inro_status pushed = inro_value_array_push(args, map);
    if (status == INRO_OK && pushed == INRO_OK && inro_value_array_push(args, inro_value_new_int(5)) == INRO_OK)
        return args;
    inro_value_free(args);
    return NULL;
}

static bool runs(void) {
    inro_sandbox *sandbox;
    inro_error err;
    if (!set_up(&sandbox, echo, "Snippet = ->(*args) { args }"))
        return false;
    inro_value *args = nested_arguments();
    inro_object *object = inro_object_new(echo, NULL, NULL);
    inro_binding binding = {INRO_STR("Other"), object};
    inro_invocation invocation = INRO_INVOCATION_INIT;
    invocation.bindings = &binding;
    invocation.bindings_count = 1;
    inro_outcome *outcome = NULL;
    bool fine = args != NULL && object != NULL;
    if (fine)
        fine =
            !is_memory(inro_sandbox_run(sandbox, INRO_STR("Snippet"), args, NULL, &invocation, &outcome, &err));
    if (fine)
        fine = inro_outcome_ended(outcome) == INRO_ENDED_VALUE;
    inro_outcome_free(outcome);
    inro_value_free(args);
    inro_object_unref(object);
    inro_sandbox_free(sandbox);
    return fine;
}

TEST_SECONDS(run_with_arguments_and_bindings, 300) {
    fail_all(runs);
}

static bool many(void) {
    inro_sandbox *sandbox = NULL;
    inro_error err;
    if (is_memory(inro_sandbox_new(NULL, &sandbox, &err)))
        return false;
    char name[32];
    inro_status status = INRO_OK;
    for (int i = 0; i < 6 && status == INRO_OK; i++) {
        snprintf(name, sizeof name, "Ns%d::Name", i);
        status = inro_sandbox_bind(sandbox, inro_str_from_c(name), NULL, &err);
        snprintf(name, sizeof name, "Snippet%d", i);
        if (status == INRO_OK)
            status = inro_sandbox_preload(
                sandbox, inro_str_from_c(i == 3 ? "begin; Ns1::Name.call; rescue; end" : "$x = [1] * 500"),
                inro_str_from_c(name), &err);
    }
    bool fine = !is_memory(status) && evaluate(sandbox, "$x.size", "500");
    inro_sandbox_free(sandbox);
    return fine;
}

TEST_SECONDS(many_bindings_and_snippets, 300) {
    fail_all(many);
}

/* ---- the hook itself ---- */

TEST(nothing_is_left_at_the_end) {
    use_heap();
    CHECK(lifetime());
    inro_trim();
    printf("%ld blocks, %lld bytes are kept\n", heap.live_blocks, heap.live_bytes);
    CHECK(heap.live_bytes <= 64 * 1024); /* a thread's own things, the deadline's thread */
}

TEST(the_hook_cannot_change_while_memory_is_held) {
    inro_error err;
    use_heap();
    inro_sandbox *sandbox = new_sandbox();
    CHECK_INT(inro_set_allocator(NULL, NULL, &err), INRO_ERR_SEALED);
    CHECK_INT(err.status, INRO_ERR_SEALED);
    EVAL_VALUE(sandbox, "1", "1");
    inro_sandbox_free(sandbox);
}

TEST(without_use_the_hook_can_change) {
    inro_error err;
    use_heap();
    CHECK_INT(inro_set_allocator(NULL, NULL, &err), INRO_OK);
    use_heap();
}
