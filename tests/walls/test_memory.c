/* The wall around guest memory: every access, growth, copies, the function table, arithmetic that traps.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "hostile.h"

#include <stdio.h>
#include <sys/resource.h>

static const unsigned load_widths[HOSTILE_LOADS] = {4, 8, 4, 8, 1, 1, 2, 2, 1, 1, 2, 2, 4, 4};
static const unsigned store_widths[HOSTILE_STORES] = {4, 8, 4, 8, 1, 2, 1, 2, 4};
static const uint32_t offsets[4] = {0, 1, 2147483647u, 4294967295u};

struct access {
    uint32_t index; /* in the table */
    unsigned width;
    uint32_t offset;
    bool store;
};

static struct access access_at(unsigned n) {
    unsigned run = n / (HOSTILE_LOADS + HOSTILE_STORES), place = n % (HOSTILE_LOADS + HOSTILE_STORES);
    bool store = place >= HOSTILE_LOADS;
    return (struct access){.index = HOSTILE_ACCESSES + n,
                           .width = store ? store_widths[place - HOSTILE_LOADS] : load_widths[place],
                           .offset = offsets[run],
                           .store = store};
}

enum { ACCESSES_COUNT = 4 * (HOSTILE_LOADS + HOSTILE_STORES) };

static enum inro__trap try_access(struct access access, uint32_t address) {
    return hostile_once(inro__hostile_export_access, access.index, address, NULL);
}

/* Whether [address + offset, + width) lies within `size` bytes. */
static bool is_inside(struct access access, uint32_t address, uint64_t size) {
    return (uint64_t)address + access.offset + access.width <= size;
}

/* Around the end of memory, around 4 GiB, and where address + offset wraps around 2^32. */
TEST_SECONDS(every_access_at_every_edge, 120) {
    static const uint32_t ends[] = {0, 1, HOSTILE_SIZE, 0x7fffffffu, 0x80000000u, 0xffffffffu};
    unsigned inside = 0, outside = 0;
    for (unsigned n = 0; n < ACCESSES_COUNT; n++) {
        struct access access = access_at(n);
        for (unsigned e = 0; e < sizeof ends / sizeof *ends; e++)
            for (int64_t near = -9; near <= 9; near++) {
                int64_t address = (int64_t)ends[e] + near;
                if (address < 0 || address > UINT32_MAX)
                    continue;
                bool fits = is_inside(access, (uint32_t)address, HOSTILE_SIZE);
                enum inro__trap trap = try_access(access, (uint32_t)address);
                if (trap != (fits ? INRO__TRAP_NONE : INRO__TRAP_OOB))
                    test_fail(__FILE__, __LINE__, "access %u (width %u, offset %u) at %lld: trap %d", n,
                              access.width, access.offset, (long long)address, (int)trap);
                fits ? inside++ : outside++;
            }
    }
    CHECK(inside > 500 && outside > 2000);
}

/* The last valid byte is valid: a store there is seen by a load, and is gone in the next run. */
TEST(last_byte_is_written_and_forgotten) {
    struct inro__slot *slot = hostile_begin();
    uint64_t value = 1;
    const struct access store = access_at(HOSTILE_LOADS + 4), load = access_at(5);
    CHECK_INT(store.width, 1);
    CHECK_INT(load.width, 1);
    CHECK_INT(hostile_enter(slot, inro__hostile_export_access, store.index, HOSTILE_SIZE - 1, NULL),
              INRO__TRAP_NONE);
    CHECK_INT(hostile_enter(slot, inro__hostile_export_access, load.index, HOSTILE_SIZE - 1, &value),
              INRO__TRAP_NONE);
    CHECK_INT(value, 0x5a);
    hostile_end(slot);
    CHECK_INT(hostile_once(inro__hostile_export_access, load.index, HOSTILE_SIZE - 1, &value), INRO__TRAP_NONE);
    CHECK_INT(value, 0);
}

/* A store half in, half out leaves nothing behind that a reset does not take back; a load half out traps. */
TEST(straddling_accesses_trap) {
    for (unsigned n = 0; n < HOSTILE_LOADS + HOSTILE_STORES; n++)
        for (uint32_t in = 1; in < access_at(n).width; in++)
            CHECK_INT(try_access(access_at(n), HOSTILE_SIZE - in), INRO__TRAP_OOB);
}

TEST(loads_that_nobody_uses_trap_too) {
    for (unsigned n = 0; n < HOSTILE_DEAD_LOADS_COUNT; n++) {
        CHECK_INT(hostile_once(inro__hostile_export_access, HOSTILE_DEAD_LOADS + n, HOSTILE_SIZE, NULL),
                  INRO__TRAP_OOB);
        CHECK_INT(hostile_once(inro__hostile_export_access, HOSTILE_DEAD_LOADS + n, UINT32_MAX, NULL),
                  INRO__TRAP_OOB);
        CHECK_INT(hostile_once(inro__hostile_export_access, HOSTILE_DEAD_LOADS + n, 0, NULL), INRO__TRAP_NONE);
    }
}

/* ---- growth ---- */

TEST(memory_grows_as_the_specification_says) {
    static const struct {
        uint32_t pages;
        uint32_t expected;
    } grows[] = {{0, 4},
                 {1, 4},
                 {65535, UINT32_MAX},
                 {65536, UINT32_MAX},
                 {UINT32_MAX, UINT32_MAX},
                 {1020, UINT32_MAX},
                 {1019, 5},
                 {1, UINT32_MAX},
                 {0, 1024}};
    struct inro__slot *slot = hostile_begin();
    const uint8_t *base = slot->instance.w2c_memory.base;
    for (size_t i = 0; i < sizeof grows / sizeof *grows; i++) {
        uint64_t answer;
        CHECK_INT(hostile_enter(slot, inro__hostile_export_grow, grows[i].pages, 0, &answer), INRO__TRAP_NONE);
        CHECK_INT(answer, grows[i].expected);
    }
    CHECK_INT(slot->instance.w2c_memory.size, HOSTILE_SIZE_MAX);
    CHECK(slot->instance.w2c_memory.base == base);
    CHECK_INT(hostile_enter(slot, inro__hostile_export_access, access_at(5).index, HOSTILE_SIZE_MAX - 1, NULL),
              INRO__TRAP_NONE);
    CHECK_INT(hostile_enter(slot, inro__hostile_export_access, access_at(5).index, HOSTILE_SIZE_MAX, NULL),
              INRO__TRAP_OOB);
    hostile_end(slot);
}

/* What was grown is gone after a reset, and comes back as zeros. */
TEST(grown_pages_are_taken_back) {
    for (unsigned round = 0; round < 3; round++) {
        struct inro__slot *slot = hostile_begin();
        CHECK_INT(hostile_enter(slot, inro__hostile_export_grow, 16, 0, NULL), INRO__TRAP_NONE);
        for (uint32_t i = HOSTILE_SIZE; i < HOSTILE_SIZE + 16 * INRO__WASM_PAGE; i++)
            CHECK_INT(slot->instance.w2c_memory.base[i], 0);
        CHECK_INT(hostile_enter(slot, inro__hostile_export_fill, HOSTILE_SIZE, 16 * INRO__WASM_PAGE, NULL),
                  INRO__TRAP_NONE);
        CHECK_INT(slot->instance.w2c_memory.base[HOSTILE_SIZE + 70000], 0x5a);
        hostile_end(slot);
        CHECK_INT(hostile_once(inro__hostile_export_access, access_at(5).index, HOSTILE_SIZE, NULL),
                  INRO__TRAP_OOB);
    }
}

/* The guest may collect its garbage then; that it cannot go on without memory is its own to say. */
TEST(growth_past_the_limit_is_refused) {
    struct inro__slot *slot = hostile_begin();
    slot->memory_max = HOSTILE_SIZE + 2 * INRO__WASM_PAGE;
    CHECK_INT(hostile_enter(slot, inro__hostile_export_grow, 2, 0, NULL), INRO__TRAP_NONE);
    CHECK_INT(hostile_enter(slot, inro__hostile_export_grow_again, 0, 100000, NULL), INRO__TRAP_NONE);
    uint64_t refused = 0;
    CHECK_INT(hostile_enter(slot, inro__hostile_export_grow, 1, 0, &refused), INRO__TRAP_NONE);
    CHECK_INT((uint32_t)refused, UINT32_MAX);
    CHECK_INT(slot->instance.w2c_memory.size, HOSTILE_SIZE + 2 * INRO__WASM_PAGE);
    hostile_end(slot);
}

static struct rlimit no_more_data(void) {
    struct rlimit before, none = {4096, 0}; /* 0 would mean the hard limit, for the sake of valgrind */
    CHECK_INT(getrlimit(RLIMIT_DATA, &before), 0);
    none.rlim_max = before.rlim_max;
    CHECK_INT(setrlimit(RLIMIT_DATA, &none), 0);
    return before;
}

/* The system refuses pages: growth answers "no" and changes nothing; a first write ends as the memory limit. */
TEST(a_system_that_gives_no_pages_stops_the_guest_only) {
    struct inro__slot *slot = hostile_begin();
    uint64_t answer;
    struct rlimit before = no_more_data();
    enum inro__trap trap = hostile_enter(slot, inro__hostile_export_grow, 16, 0, &answer);
    setrlimit(RLIMIT_DATA, &before);
    CHECK_INT(trap, INRO__TRAP_NONE);
    CHECK_INT(answer, UINT32_MAX);
    CHECK_INT(slot->instance.w2c_memory.size, HOSTILE_SIZE);
    CHECK_INT(hostile_enter(slot, inro__hostile_export_grow, 16, 0, &answer), INRO__TRAP_NONE);
    CHECK_INT(answer, 4);
    no_more_data();
    trap = hostile_enter(slot, inro__hostile_export_scribble, 0, HOSTILE_SIZE, NULL);
    setrlimit(RLIMIT_DATA, &before);
    CHECK_INT(trap, INRO__TRAP_MEMORY);
    hostile_end(slot);
}

/* ---- whole ranges ---- */

static enum inro__trap copy(uint32_t to, uint32_t from, uint32_t length) {
    struct inro__slot *slot = hostile_begin();
    hostile_poke_word(slot, HOSTILE_WORD, length);
    enum inro__trap trap = hostile_enter(slot, inro__hostile_export_copy, to, from, NULL);
    hostile_end(slot);
    return trap;
}

TEST(copies_and_fills_are_checked_as_a_whole) {
    static const struct {
        uint32_t to, from, length;
        bool fits;
    } ranges[] = {
        {0, 0, HOSTILE_SIZE, true},
        {HOSTILE_SIZE, HOSTILE_SIZE, 0, true},
        {HOSTILE_SIZE + 1, 0, 0, false},
        {0, HOSTILE_SIZE + 1, 0, false},
        {1, 0, HOSTILE_SIZE, false},
        {0, 1, HOSTILE_SIZE, false},
        {0, 0, UINT32_MAX, false},
        {UINT32_MAX, 0, 1, false},
        {0, UINT32_MAX, 1, false},
        {UINT32_MAX, UINT32_MAX, UINT32_MAX, false},
        {4096, 0, UINT32_MAX - 4095, false},
        {4096, 8192, HOSTILE_SIZE - 8192, true},
        {8192, 4096, HOSTILE_SIZE - 8192, true},
        {UINT32_MAX, 0, 0, false},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        CHECK_INT(copy(ranges[i].to, ranges[i].from, ranges[i].length),
                  ranges[i].fits ? INRO__TRAP_NONE : INRO__TRAP_OOB);
    CHECK_INT(hostile_once(inro__hostile_export_fill, 0, HOSTILE_SIZE, NULL), INRO__TRAP_NONE);
    CHECK_INT(hostile_once(inro__hostile_export_fill, HOSTILE_SIZE, 0, NULL), INRO__TRAP_NONE);
    CHECK_INT(hostile_once(inro__hostile_export_fill, HOSTILE_SIZE, 1, NULL), INRO__TRAP_OOB);
    CHECK_INT(hostile_once(inro__hostile_export_fill, 1, UINT32_MAX, NULL), INRO__TRAP_OOB);
    CHECK_INT(hostile_once(inro__hostile_export_fill, UINT32_MAX, 1, NULL), INRO__TRAP_OOB);
}

/* Nothing of a range that does not fit is touched; an overlapping copy is right in both directions. */
TEST(copies_overlap_and_are_all_or_nothing) {
    struct inro__slot *slot = hostile_begin();
    uint8_t *memory = slot->instance.w2c_memory.base, before[4096];
    memcpy(before, memory + 65536, sizeof before);
    hostile_poke_word(slot, HOSTILE_WORD, 4000);
    CHECK_INT(hostile_enter(slot, inro__hostile_export_copy, 65600, 65536, NULL), INRO__TRAP_NONE);
    CHECK(memcmp(memory + 65600, before, 4000) == 0);
    CHECK_INT(hostile_enter(slot, inro__hostile_export_copy, 65536, 65600, NULL), INRO__TRAP_NONE);
    CHECK(memcmp(memory + 65536, before, 4000) == 0);
    CHECK_INT(hostile_enter(slot, inro__hostile_export_fill, HOSTILE_SIZE - 100, 101, NULL), INRO__TRAP_OOB);
    CHECK_INT(memory[HOSTILE_SIZE - 100], 0);
    hostile_end(slot);
}

/* ---- the function table ---- */

TEST(wrong_indirect_calls_trap) {
    static const uint32_t wrong[] = {
        0,           HOSTILE_TABLE - 3, HOSTILE_TABLE - 1, HOSTILE_TABLE, HOSTILE_TABLE + 1,
        0x7fffffffu, 0x80000000u,       UINT32_MAX,        0x10000000u};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_INT(hostile_once(inro__hostile_export_indirect_body, wrong[i], 0, NULL),
                  INRO__TRAP_CALL_INDIRECT);
        CHECK_INT(hostile_once(inro__hostile_export_access, wrong[i], 0, NULL), INRO__TRAP_CALL_INDIRECT);
        CHECK_INT(hostile_once(inro__hostile_export_operate, wrong[i], 0, NULL), INRO__TRAP_CALL_INDIRECT);
        CHECK_INT(hostile_once(inro__hostile_export_try, wrong[i], 0, NULL), INRO__TRAP_CALL_INDIRECT);
    }
    CHECK_INT(hostile_once(inro__hostile_export_access, HOSTILE_NOOP, 0, NULL), INRO__TRAP_CALL_INDIRECT);
    CHECK_INT(hostile_once(inro__hostile_export_operate, HOSTILE_ACCESSES, 0, NULL), INRO__TRAP_CALL_INDIRECT);
    CHECK_INT(hostile_once(inro__hostile_export_indirect_body, HOSTILE_ACCESSES, 0, NULL),
              INRO__TRAP_CALL_INDIRECT);
    CHECK_INT(hostile_once(inro__hostile_export_try, HOSTILE_OPERATIONS, 0, NULL), INRO__TRAP_CALL_INDIRECT);
    CHECK_INT(hostile_once(inro__hostile_export_indirect_body, HOSTILE_NOOP, 0, NULL), INRO__TRAP_NONE);
}

/* ---- arithmetic ---- */

union operand {
    uint64_t bits;
    uint32_t word;
    float single;
    double real;
};

static enum inro__trap operate(unsigned operation, union operand left, union operand right, uint64_t *result) {
    struct inro__slot *slot = hostile_begin();
    hostile_poke(slot, HOSTILE_OPERANDS, &left, sizeof left);
    hostile_poke(slot, HOSTILE_OPERANDS + 8, &right, sizeof right);
    enum inro__trap trap =
        hostile_enter(slot, inro__hostile_export_operate, HOSTILE_OPERATIONS + operation, 0, result);
    hostile_end(slot);
    return trap;
}

/* The operations, in the table's order. */
enum { DIV_S, DIV_U, REM_S, REM_U, TRUNC_F32_S = 0, TRUNC_F32_U, TRUNC_F64_S, TRUNC_F64_U };

TEST(divisions_trap_and_never_reach_the_processor) {
    uint64_t result;
    for (unsigned operation = 0; operation < 8; operation++)
        CHECK_INT(operate(operation, (union operand){.bits = 7}, (union operand){.bits = 0}, &result),
                  INRO__TRAP_DIV_BY_ZERO);
    union operand min32 = {.bits = 0x80000000u}, min64 = {.bits = (uint64_t)1 << 63},
                  minus = {.bits = UINT64_MAX};
    CHECK_INT(operate(DIV_S, min32, minus, &result), INRO__TRAP_INT_OVERFLOW);
    CHECK_INT(operate(4 + DIV_S, min64, minus, &result), INRO__TRAP_INT_OVERFLOW);
    CHECK_INT(operate(REM_S, min32, minus, &result), INRO__TRAP_NONE);
    CHECK_INT(result, 0);
    CHECK_INT(operate(4 + REM_S, min64, minus, &result), INRO__TRAP_NONE);
    CHECK_INT(result, 0);
    CHECK_INT(operate(DIV_U, min32, minus, &result), INRO__TRAP_NONE);
    CHECK_INT(result, 0);
    CHECK_INT(operate(4 + REM_U, min64, minus, &result), INRO__TRAP_NONE);
    CHECK(result == min64.bits);
}

static enum inro__trap truncate_double(unsigned operation, double real, uint64_t *result) {
    return operate(8 + operation, (union operand){.real = real}, (union operand){.bits = 0}, result);
}

static enum inro__trap truncate_single(unsigned operation, float single, uint64_t *result) {
    union operand operand = {.bits = 0};
    operand.single = single;
    return operate(8 + operation, operand, (union operand){.bits = 0}, result);
}

TEST(truncations_trap_at_the_exact_edges) {
    static const struct {
        unsigned operation; /* + 4 for 64 bits */
        double real;
        enum inro__trap trap;
        uint64_t result;
    } rows[] = {
        {TRUNC_F64_S, 2147483647.9, INRO__TRAP_NONE, 0x7fffffff},
        {TRUNC_F64_S, 2147483648.0, INRO__TRAP_INT_OVERFLOW, 0},
        {TRUNC_F64_S, -2147483648.9, INRO__TRAP_NONE, 0x80000000},
        {TRUNC_F64_S, -2147483649.0, INRO__TRAP_INT_OVERFLOW, 0},
        {TRUNC_F64_U, 4294967295.9, INRO__TRAP_NONE, 0xffffffff},
        {TRUNC_F64_U, 4294967296.0, INRO__TRAP_INT_OVERFLOW, 0},
        {TRUNC_F64_U, -0.9, INRO__TRAP_NONE, 0},
        {TRUNC_F64_U, -1.0, INRO__TRAP_INT_OVERFLOW, 0},
        {4 + TRUNC_F64_S, 0x1.fffffffffffffp62, INRO__TRAP_NONE, 0x7ffffffffffffc00},
        {4 + TRUNC_F64_S, 0x1p63, INRO__TRAP_INT_OVERFLOW, 0},
        {4 + TRUNC_F64_S, -0x1p63, INRO__TRAP_NONE, 0x8000000000000000},
        {4 + TRUNC_F64_S, -0x1.0000000000001p63, INRO__TRAP_INT_OVERFLOW, 0},
        {4 + TRUNC_F64_U, 0x1.fffffffffffffp63, INRO__TRAP_NONE, 0xfffffffffffff800},
        {4 + TRUNC_F64_U, 0x1p64, INRO__TRAP_INT_OVERFLOW, 0},
        {4 + TRUNC_F64_U, -1.0, INRO__TRAP_INT_OVERFLOW, 0},
    };
    uint64_t result;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_INT(truncate_double(rows[i].operation, rows[i].real, &result), rows[i].trap);
        if (rows[i].trap == INRO__TRAP_NONE)
            CHECK(result == rows[i].result);
    }
    for (unsigned operation = 0; operation < 8; operation++) {
        bool single = operation % 4 < TRUNC_F64_S;
        for (int sign = -1; sign <= 1; sign += 2) {
            CHECK_INT(single ? truncate_single(operation, (float)sign * __builtin_inff(), &result)
                             : truncate_double(operation, sign * __builtin_inf(), &result),
                      INRO__TRAP_INT_OVERFLOW);
            CHECK_INT(single ? truncate_single(operation, __builtin_nanf(""), &result)
                             : truncate_double(operation, __builtin_nan(""), &result),
                      INRO__TRAP_INVALID_CONVERSION);
        }
    }
    CHECK_INT(truncate_single(TRUNC_F32_S, 2147483648.0f, &result), INRO__TRAP_INT_OVERFLOW);
    CHECK_INT(truncate_single(TRUNC_F32_S, -2147483648.0f, &result), INRO__TRAP_NONE);
    CHECK_INT(truncate_single(4 + TRUNC_F32_U, 0x1p64f, &result), INRO__TRAP_INT_OVERFLOW);
    CHECK_INT(truncate_single(4 + TRUNC_F32_U, 0x1.fffffep63f, &result), INRO__TRAP_NONE);
}

/* ---- all of memory ---- */

TEST(every_page_and_the_globals_come_back) {
    for (unsigned round = 0; round < 100; round++) { /* more often than a page stays hot */
        struct inro__slot *slot = hostile_begin();
        CHECK_INT(hostile_enter(slot, inro__hostile_export_scribble, round % 4096, HOSTILE_SIZE, NULL),
                  INRO__TRAP_NONE);
        CHECK(!inro__slot_is_pristine(slot));
        CHECK_INT(slot->instance.w2c___stack_pointer, 4711);
        hostile_end(slot);
        slot = hostile_begin();
        uint64_t stack_pointer;
        CHECK_INT(hostile_enter(slot, inro__hostile_export_stack_pointer, 0, 0, &stack_pointer),
                  INRO__TRAP_NONE);
        CHECK_INT(stack_pointer, HOSTILE_STACK_POINTER);
        hostile_end(slot);
    }
    CHECK(hostile_check_pool() > 0);
}
