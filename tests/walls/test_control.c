/* Control: the guest's jumps, traps in entries inside each other, native stacks, deadlines.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "harness.h"
#include "hostile.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define FUNCTION(name) inro__hostile_export_##name

/* ---- try and throw ---- */

static enum inro__trap with_name(inro__entry_fn entry, uint32_t a, uint32_t b, uint32_t name,
                                 uint64_t *result) {
    struct inro__slot *slot = hostile_begin();
    hostile_poke_word(slot, HOSTILE_WORD, name);
    enum inro__trap trap = hostile_enter(slot, entry, a, b, result);
    if (trap == INRO__TRAP_NONE)
        CHECK_INT(slot->instance.w2c___stack_pointer, HOSTILE_STACK_POINTER);
    CHECK(!slot->entered && inro__activation_depth() == 0 && !inro__activation_current());
    hostile_end(slot);
    return trap;
}

TEST(a_throw_reaches_a_living_frame) {
    uint64_t left;
    CHECK_INT(with_name(FUNCTION(try), HOSTILE_NOOP, 0, 77, &left), INRO__TRAP_NONE);
    CHECK_INT(left, 0);
    CHECK_INT(with_name(FUNCTION(try), HOSTILE_DEEP, 5, 77, &left), INRO__TRAP_NONE);
    CHECK_INT(left, 1);
    CHECK_INT(with_name(FUNCTION(try), HOSTILE_LOWER_STACK, 77, 77, &left), INRO__TRAP_NONE);
    CHECK_INT(left, 1);
}

/* Without a throw the guest's own stack pointer is its own affair, except that a try sets it back. */
TEST(the_stack_pointer_is_set_back) {
    CHECK_INT(with_name(FUNCTION(try), HOSTILE_LOWER_STACK, 0, 77, NULL), INRO__TRAP_NONE);
    struct inro__slot *slot = hostile_begin();
    CHECK_INT(hostile_enter(slot, FUNCTION(indirect_body), HOSTILE_LOWER_STACK, 0, NULL), INRO__TRAP_NONE);
    CHECK_INT(slot->instance.w2c___stack_pointer, 100);
    hostile_end(slot);
}

TEST(throws_across_frames_leak_nothing) {
    uint64_t caught = 0;
    CHECK_INT(with_name(FUNCTION(throw_again), 10000, 5, 77, &caught), INRO__TRAP_NONE);
    CHECK_INT(caught, 10000);
    CHECK_INT(with_name(FUNCTION(throw_again), 100, 1000, 77, &caught), INRO__TRAP_NONE);
    CHECK_INT(caught, 100);
}

/* 100 frames inside each other: the throw leaves exactly those inside the one it names. */
TEST(a_throw_leaves_exactly_the_frames_inside) {
    for (uint32_t target = 1; target <= 100; target += 11) {
        struct inro__slot *slot = hostile_begin();
        hostile_poke_word(slot, HOSTILE_WORD, 10000 + target);
        hostile_poke_word(slot, 1104, 0);
        hostile_poke_word(slot, 1108, 0);
        CHECK_INT(hostile_enter(slot, FUNCTION(indirect_body), HOSTILE_NESTED, 100, NULL), INRO__TRAP_NONE);
        uint32_t caught_at, returned;
        memcpy(&caught_at, inro__slot_read(slot, (struct inro__range){1104, 4}), 4);
        memcpy(&returned, inro__slot_read(slot, (struct inro__range){1108, 4}), 4);
        CHECK_INT(caught_at, target);
        CHECK_INT(returned, 100 - target);
        hostile_end(slot);
    }
}

TEST(forged_and_stale_names_stop_the_guest) {
    static const uint32_t names[] = {0, 1, 78, 10000, 0x7fffffffu, UINT32_MAX};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK_INT(hostile_once(FUNCTION(throw), names[i], 0, NULL), INRO__TRAP_THROW);
        struct inro__slot *slot = hostile_begin();
        hostile_poke_word(slot, HOSTILE_WORD, 77);
        CHECK_INT(hostile_enter(slot, FUNCTION(try), HOSTILE_LOWER_STACK, names[i] ? names[i] : 5, NULL),
                  INRO__TRAP_THROW);
        hostile_end(slot);
    }
    CHECK_INT(with_name(FUNCTION(indirect_body), HOSTILE_STALE, 0, 20000, NULL), INRO__TRAP_THROW);
    CHECK_INT(with_name(FUNCTION(try), HOSTILE_STALE, 0, 77, NULL), INRO__TRAP_THROW);
}

/* A frame of an earlier entry is as dead as any other. */
TEST(names_do_not_outlive_their_entry) {
    struct inro__slot *slot = hostile_begin();
    hostile_poke_word(slot, HOSTILE_WORD, 77);
    CHECK_INT(hostile_enter(slot, FUNCTION(try), HOSTILE_NOOP, 0, NULL), INRO__TRAP_NONE);
    CHECK_INT(hostile_enter(slot, FUNCTION(throw), 77, 0, NULL), INRO__TRAP_THROW);
    CHECK_INT(hostile_enter(slot, FUNCTION(size), 0, 0, NULL),
              INRO__TRAP_THROW); /* a trapped slot stays trapped */
    hostile_end(slot);
}

/* ---- entries inside each other ---- */

enum { DEPTH = 8 };
struct nesting {
    unsigned left;     /* further entries */
    uint32_t mode;     /* what the innermost one does; see `yield` in hostile.wat */
    bool other_slot;   /* each entry in a slot of its own */
    unsigned returned; /* host calls that were entered and came to their end */
    enum inro__trap seen;
};

static enum inro__trap nest(void *user, struct inro__slot *slot, uint32_t target, struct inro__range range,
                            uint32_t flags, uint64_t *reply);
static enum inro__trap no_write(void *user, struct inro__slot *slot, uint32_t stream,
                                struct inro__range range) {
    (void)user, (void)slot, (void)stream, (void)range;
    return INRO__TRAP_NONE;
}
static const struct inro__guest_host nesting_host = {.write = no_write, .call = nest};

static enum inro__trap nest(void *user, struct inro__slot *slot, uint32_t target, struct inro__range range,
                            uint32_t flags, uint64_t *reply) {
    struct nesting *nesting = user;
    struct inro__slot *inner = slot;
    (void)target, (void)range, (void)flags;
    if (nesting->other_slot) {
        inner = hostile_begin();
        inner->host = &nesting_host;
        inner->host_user = nesting;
    }
    hostile_poke_word(inner, HOSTILE_MODE, nesting->left > 0 ? 5 : nesting->mode);
    if (nesting->left > 0)
        nesting->left--;
    nesting->seen = hostile_enter(inner, FUNCTION(yield), 0, 0, reply);
    nesting->returned++;
    if (inner != slot)
        hostile_end(inner);
    return INRO__TRAP_NONE;
}

static enum inro__trap run_nested(struct nesting *nesting, inro__entry_fn entry, uint32_t a, uint32_t b,
                                  uint32_t name) {
    struct inro__slot *slot = hostile_begin();
    slot->host = &nesting_host;
    slot->host_user = nesting;
    hostile_poke_word(slot, HOSTILE_WORD, name);
    enum inro__trap trap = hostile_enter(slot, entry, a, b, NULL);
    CHECK(!slot->entered && inro__activation_depth() == 0 && !inro__activation_current());
    hostile_end(slot);
    return trap;
}

static const enum inro__trap mode_traps[] = {INRO__TRAP_NONE, INRO__TRAP_THROW, INRO__TRAP_UNREACHABLE,
                                             INRO__TRAP_OOB, INRO__TRAP_STACK};

/* A trap in an inner entry ends all entries into that slot, each after the host code between has returned. */
TEST(traps_end_every_entry_into_the_same_slot) {
    for (uint32_t mode = 0; mode <= 4; mode++)
        for (unsigned left = 0; left < DEPTH; left++) {
            struct nesting nesting = {.left = left, .mode = mode};
            CHECK_INT(run_nested(&nesting, FUNCTION(call), 0, 2, 0), mode_traps[mode]);
            CHECK_INT(nesting.returned, left + 1);
            CHECK_INT(nesting.seen, mode_traps[mode]);
        }
}

TEST(traps_end_only_the_slot_they_happen_in) {
    for (uint32_t mode = 0; mode <= 4; mode++)
        for (unsigned left = 0; left < DEPTH; left++) {
            struct nesting nesting = {.left = left, .mode = mode, .other_slot = true};
            CHECK_INT(run_nested(&nesting, FUNCTION(call), 0, 2, 0), INRO__TRAP_NONE);
            CHECK_INT(nesting.returned, left + 1);
            CHECK_INT(nesting.seen, left ? INRO__TRAP_NONE : mode_traps[mode]);
        }
    CHECK(hostile_check_pool() >= DEPTH);
}

/* The block throws to a frame of the outer entry, alive though it is: host code lies between. */
TEST(a_throw_never_passes_the_host) {
    struct nesting nesting = {.mode = 1};
    CHECK_INT(run_nested(&nesting, FUNCTION(try), HOSTILE_CALL_THROWING, 0, 30000), INRO__TRAP_THROW);
    CHECK_INT(nesting.returned, 1);
    nesting = (struct nesting){.mode = 0};
    CHECK_INT(run_nested(&nesting, FUNCTION(try), HOSTILE_CALL_THROWING, 0, 30001), INRO__TRAP_NONE);
}

/* ---- native stacks ---- */

static void overflow_both_ways(void) {
    CHECK_INT(hostile_once(FUNCTION(recurse), 0, 0, NULL), INRO__TRAP_STACK);
    CHECK_INT(hostile_once(FUNCTION(recurse_try), 0, 0, NULL), INRO__TRAP_STACK);
    CHECK_INT(hostile_once(FUNCTION(access), HOSTILE_ACCESSES, UINT32_MAX, NULL), INRO__TRAP_OOB);
}

TEST(endless_recursion_on_the_main_thread) {
    for (unsigned i = 0; i < 20; i++)
        overflow_both_ways();
}

static void *overflow_on_a_thread(void *unused) {
    overflow_both_ways();
    return unused;
}

static void run_on_thread(size_t stack) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (stack)
        CHECK_INT(pthread_attr_setstacksize(&attributes, stack), 0);
    CHECK_INT(pthread_create(&thread, &attributes, overflow_on_a_thread, NULL), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}

TEST(endless_recursion_on_threads_of_every_size) {
    run_on_thread(0); /* before anything was set up on the main thread */
    overflow_both_ways();
    run_on_thread(64 * 1024);
    for (unsigned i = 0; i < 50; i++)
        run_on_thread(128 * 1024);
}

struct big_frame {
    unsigned calls;
};

/* A service with a large frame; the guest has almost no stack left, which is not the service's. */
static enum inro__trap big_call(void *user, struct inro__slot *slot, uint32_t target, struct inro__range range,
                                uint32_t flags, uint64_t *reply) {
    volatile uint8_t frame[1024 * 1024];
    (void)slot, (void)target, (void)range, (void)flags;
    for (size_t i = 0; i < sizeof frame; i += 4096)
        frame[i] = 1;
    ((struct big_frame *)user)->calls += frame[0];
    *reply = 0;
    return INRO__TRAP_NONE;
}

static enum inro__trap call_at_depth(uint32_t depth, struct big_frame *frame) {
    static const struct inro__guest_host host = {.write = no_write, .call = big_call};
    struct inro__slot *slot = hostile_begin();
    slot->host = &host;
    slot->host_user = frame;
    enum inro__trap trap = hostile_enter(slot, FUNCTION(call_below), depth, 0, NULL);
    hostile_end(slot);
    return trap;
}

/* Every depth near the end of the stack: the call happens or the guest is stopped, and nothing else. */
TEST(calls_from_the_end_of_the_stack) {
    struct big_frame frame = {0};
    uint32_t fits = 0, too_deep = 1u << 22;
    while (too_deep - fits > 1) {
        uint32_t middle = fits + (too_deep - fits) / 2;
        *(call_at_depth(middle, &frame) == INRO__TRAP_NONE ? &fits : &too_deep) = middle;
    }
    CHECK(fits > 1000 && too_deep < 1u << 22);
    for (uint32_t depth = fits - 40; depth < fits + 40; depth++) {
        unsigned before = frame.calls;
        enum inro__trap trap = call_at_depth(depth, &frame);
        CHECK(trap == INRO__TRAP_STACK || (trap == INRO__TRAP_NONE && frame.calls == before + 1));
    }
}

/* ---- deadlines ---- */

static void stop_after(inro__entry_fn entry, uint32_t a, uint32_t b, uint64_t microseconds) {
    struct inro__slot *slot = hostile_begin();
    hostile_poke_word(slot, HOSTILE_WORD, 77);
    hostile_deadline(slot, microseconds);
    CHECK_INT(hostile_enter(slot, entry, a, b, NULL), INRO__TRAP_TIMEOUT);
    CHECK(!slot->entered && atomic_load(&slot->state) == INRO__SLOT_IDLE);
    hostile_end(slot);
}

TEST(every_kind_of_endless_loop_is_stopped) {
    for (unsigned i = 0; i < 20; i++) {
        uint64_t after = 1000 + i * 37;
        stop_after(FUNCTION(spin), 0, 0, after);
        stop_after(FUNCTION(spin_memory), 4096, 0, after);
#ifndef __SANITIZE_THREAD__ /* its memmove may be left half way, with a lock of its own held */
        stop_after(FUNCTION(spin_copy), 3 * INRO__WASM_PAGE - 1, 0, after);
        stop_after(FUNCTION(spin_copy), 3, 0, after);
#endif
        stop_after(FUNCTION(spin_write), 0, 0, after);
        stop_after(FUNCTION(spin_throw), 0, 0, after);
        stop_after(FUNCTION(spin_grow), 0, 0, after);
        stop_after(FUNCTION(fault_again), 0, 0, after);
        stop_after(FUNCTION(spin_below), 20000, 1, after);
        stop_after(FUNCTION(indirect_body), HOSTILE_SPIN, 0, after);
        stop_after(FUNCTION(try), HOSTILE_SPIN, 0, after);
    }
}

/* Deadlines that fall into the beginning, the end, and the faults of a run: it ends, one way or the other. */
TEST(deadlines_at_awkward_moments) {
    unsigned ended = 0, stopped = 0;
    for (unsigned i = 0; i < 4000; i++) {
        struct inro__slot *slot = hostile_begin();
        hostile_deadline(slot, i % 40);
        enum inro__trap trap = hostile_enter(slot, FUNCTION(scribble), 0, HOSTILE_SIZE, NULL);
        CHECK(trap == INRO__TRAP_NONE || trap == INRO__TRAP_TIMEOUT);
        trap == INRO__TRAP_NONE ? ended++ : stopped++;
        hostile_end(slot);
    }
    CHECK(ended > 0 && stopped > 0);
}

/* A deadline long past when the guest goes on, or when it is entered. */
static enum inro__trap slow_call(void *user, struct inro__slot *slot, uint32_t target, struct inro__range range,
                                 uint32_t flags, uint64_t *reply) {
    (void)target, (void)range, (void)flags;
    while (!*(volatile bool *)user && !atomic_load(&slot->expired_ns))
        ;
    *reply = 0;
    return INRO__TRAP_NONE;
}

TEST(a_deadline_during_a_host_call_waits_for_its_end) {
    static const struct inro__guest_host host = {.write = no_write, .call = slow_call};
    bool unused = false;
    struct inro__slot *slot = hostile_begin();
    slot->host = &host;
    slot->host_user = &unused;
    hostile_deadline(slot, 2000);
    CHECK_INT(hostile_enter(slot, FUNCTION(call), 0, 0, NULL), INRO__TRAP_TIMEOUT);
    hostile_end(slot);
}
