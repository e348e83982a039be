/* The guards are there: the mappings of every slot, as the kernel shows them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "harness.h"
#include "hostile.h"
#include "wasm/pool.h"

#include <fcntl.h>
#include <inro/inro.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct mapping {
    uintptr_t start, end;
    char access[5];
    char name[64];
};

enum { MAPPINGS_MAX = 4096 };
static struct mapping mappings[MAPPINGS_MAX];
static size_t mappings_count;

static void read_mappings(void) {
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512];
    CHECK(file != NULL);
    for (mappings_count = 0; fgets(line, sizeof line, file); mappings_count++) {
        CHECK(mappings_count < MAPPINGS_MAX);
        struct mapping *mapping = &mappings[mappings_count];
        mapping->name[0] = '\0';
        CHECK(sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %*s %63s", &mapping->start, &mapping->end,
                     mapping->access, mapping->name) >= 3);
    }
    fclose(file);
}

/* Checks that [start, start + length) is mapped without a hole and that every byte has exactly this access. */
static void check_access(const void *start, uint64_t length, const char *access) {
    uintptr_t at = (uintptr_t)start, end = at + length;
    for (size_t i = 0; i < mappings_count && at < end; i++) {
        if (mappings[i].end <= at)
            continue;
        if (mappings[i].start > at || strcmp(mappings[i].access, access) != 0)
            test_fail(__FILE__, __LINE__, "%#" PRIxPTR ": %s, expected %s", at, mappings[i].access, access);
        at = mappings[i].end;
    }
    CHECK(at >= end);
}

/* How many bytes of a range may be written. */
static uint64_t writable_bytes(const void *start, uint64_t length) {
    uintptr_t from = (uintptr_t)start, end = from + length;
    uint64_t sum = 0;
    for (size_t i = 0; i < mappings_count; i++) {
        uintptr_t low = mappings[i].start > from ? mappings[i].start : from;
        uintptr_t high = mappings[i].end < end ? mappings[i].end : end;
        if (low < high && mappings[i].access[1] == 'w')
            sum += high - low;
        CHECK(low >= high || (mappings[i].access[2] == '-' && mappings[i].access[3] == 'p'));
    }
    return sum;
}

static void check_slot(struct inro__slot *slot, void *user) {
    const uint8_t *base = slot->instance.w2c_memory.base;
    uint64_t size = slot->instance.w2c_memory.size;
    ++*(unsigned *)user;
    CHECK(base == slot->reservation + INRO__PRE_GUARD);
    check_access(slot->reservation, INRO__PRE_GUARD, "---p");
    check_access(base + size, INRO__RESERVE - size, "---p");
    check_access(slot->stack - INRO__STACK_GUARD, INRO__STACK_GUARD, "---p");
    check_access(slot->stack, INRO__GUEST_STACK, "rw-p");
    uint64_t open = 0;
    for (uint32_t page = 0; page < slot->image->size / INRO__PAGE; page++)
        open += slot->open[page / 64] >> (page % 64) & 1;
    CHECK_INT(writable_bytes(slot->reservation, INRO__PRE_GUARD + INRO__RESERVE),
              open * INRO__PAGE + (size - slot->image->size));
    CHECK_INT(open, slot->hot_count);
}

static unsigned check_all(void) {
    unsigned slots = 0;
    read_mappings();
    inro__pool_each(check_slot, &slots);
    return slots;
}

TEST(a_slot_has_its_guards) {
    hostile_end(hostile_begin());
    CHECK_INT(check_all(), 1);
    CHECK_INT(hostile_once(inro__hostile_export_scribble, 0, HOSTILE_SIZE, NULL), INRO__TRAP_NONE);
    check_all();
    CHECK_INT(hostile_once(inro__hostile_export_recurse, 0, 0, NULL), INRO__TRAP_STACK);
    CHECK_INT(hostile_once(inro__hostile_export_grow, 100, 0, NULL), INRO__TRAP_NONE);
    CHECK_INT(check_all(), 1);
}

TEST(guards_move_with_the_memory) {
    struct inro__slot *slot = hostile_begin();
    for (uint32_t pages = 0; pages < 40; pages += 7) {
        CHECK_INT(hostile_enter(slot, inro__hostile_export_grow, pages, 0, NULL), INRO__TRAP_NONE);
        check_all();
    }
    hostile_end(slot);
    CHECK_INT(check_all(), 1);
}

TEST(slots_next_to_each_other_are_apart) {
    struct inro__slot *slots[12];
    for (size_t i = 0; i < 12; i++)
        slots[i] = hostile_begin();
    CHECK_INT(check_all(), 12);
    for (size_t i = 0; i < 12; i++)
        hostile_end(slots[i]);
    CHECK_INT(check_all(), 12);
    inro__pool_trim();
    CHECK_INT(check_all(), 0);
}

/* A sandbox with an image of its own is larger than the booted memory: its pages are data, nothing more. */
TEST(a_sandboxs_own_image_has_its_guards) {
    inro_sandbox *sandbox;
    inro_outcome *outcome;
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.memory_limit_bytes = 8 << 20;
    CHECK_INT(inro_sandbox_new(&options, &sandbox, NULL), INRO_OK);
    CHECK_INT(inro_sandbox_preload(sandbox, INRO_STR("X = 'abcdefgh' * 200_000"), INRO_STR("Large"), NULL),
              INRO_OK);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_INT(inro_sandbox_eval(sandbox, INRO_STR("X[0] = 'b'; X.size + ('a' * 500_000).size"), NULL,
                                    &outcome, NULL),
                  INRO_OK);
        CHECK_INT(inro_value_get_int(inro_outcome_value(outcome)), 2100000);
        inro_outcome_free(outcome);
        CHECK(check_all() > 0);
        CHECK(hostile_check_pool() > 0);
    }
    inro_sandbox_free(sandbox);
    check_all();
    CHECK(hostile_check_pool() > 0);
}

/* Guests bring data, never code: nothing that can be written can be executed, and no mapping appears executable
 * that was not there before the first slot. */
static unsigned executable_mappings(void) {
    unsigned count = 0;
    read_mappings();
    for (size_t i = 0; i < mappings_count; i++) {
        CHECK(!(mappings[i].access[1] == 'w' && mappings[i].access[2] == 'x'));
        count += mappings[i].access[2] == 'x';
    }
    return count;
}

TEST(nothing_becomes_executable) {
    inro_sandbox *sandbox;
    inro_outcome *outcome;
    unsigned before = executable_mappings();
    CHECK_INT(inro_sandbox_new(NULL, &sandbox, NULL), INRO_OK);
    CHECK_INT(inro_sandbox_eval(sandbox, INRO_STR("1 + 1"), NULL, &outcome, NULL), INRO_OK);
    CHECK_INT(executable_mappings(), before);
    inro_outcome_free(outcome);
    inro_sandbox_free(sandbox);
}

/* The file behind all private mappings cannot be changed any more, by nobody. */
TEST(the_images_file_is_sealed) {
    int descriptor = inro__image_descriptor(&inro__hostile_guest);
    CHECK(descriptor >= 0);
    CHECK_INT(fcntl(descriptor, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    CHECK(fcntl(descriptor, F_GETFD) & FD_CLOEXEC);
    CHECK(pwrite(descriptor, "x", 1, 0) == -1);
    CHECK(ftruncate(descriptor, 0) == -1);
    CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) == MAP_FAILED);
}
