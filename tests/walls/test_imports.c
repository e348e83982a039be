/* The host's functions, called by a guest that has nothing good in mind: every word of every call, and every
 * message, is the attacker's.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"
#include "hostile.h"
#include "sandbox/invoke.h"

#include <stdlib.h>

#define FUNCTION(name) inro__hostile_export_##name

/* Words that sit at edges: of memory, of 31 and 32 bits, of a page, and odd ones between. */
static const uint32_t edges[] = {
    0,          1,          3,          4095,       4096,       8191,       HOSTILE_SIZE - 4097,
    262143,     262144,     262145,     0x00ffffff, 0x01000001, 0x7ffffffe, 0x7fffffff,
    0x80000000, 0x80000001, 0xfffbffff, 0xfffc0000, 0xfffffffe, 0xffffffff};
enum { EDGES = sizeof edges / sizeof *edges };

struct attack {
    inro_sandbox *sandbox;
    struct inro__invocation invocation;
    uint64_t calls;
};

/* Yields if it can, and answers what it got. */
static inro_status service(void *user, inro_call *call) {
    const inro_value *result;
    inro_error error;
    ++*(uint64_t *)user;
    CHECK_INT(inro_value_get_type(inro_call_args(call)), INRO_VALUE_ARRAY);
    CHECK_INT(inro_value_get_type(inro_call_kwargs(call)), INRO_VALUE_MAP);
    if (inro_call_has_block(call)) {
        inro_status status = inro_call_yield(call, inro_call_args(call), &result, &error);
        if (status != INRO_OK)
            return status;
        return inro_call_answer(call, inro_value_copy(result));
    }
    return inro_call_answer(call, inro_value_copy(inro_call_args(call)));
}

static void attack_begin(struct attack *attack, uint64_t profile) {
    inro_sandbox_options options = INRO_SANDBOX_OPTIONS_INIT;
    options.profile = profile;
    attack->calls = 0;
    attack->sandbox = new_sandbox_with(&options);
    bind_user(attack->sandbox, "Service", service, &attack->calls);
}

static void attack_end(struct attack *attack) {
    inro_sandbox_free(attack->sandbox);
    CHECK(hostile_check_pool() > 0);
}

static struct inro__slot *invocation_begin(struct attack *attack) {
    inro_error error;
    CHECK_INT(inro__invocation_begin(&attack->invocation, &attack->sandbox->limits,
                                     inro__image_booted(&inro__hostile_guest), &error),
              INRO_OK);
    attack->invocation.sandbox = attack->sandbox;
    return attack->invocation.slot;
}

/* Sends a message to an entry point of the guest and concludes; answers how it ended. */
static inro_ended conclude(struct attack *attack, inro__entry_fn entry, const void *message, size_t length) {
    inro_status status = inro__invocation_send(&attack->invocation, entry, message, length);
    CHECK_INT(status, INRO_OK);
    CHECK_INT(inro__invocation_conclude(&attack->invocation), INRO_OK);
    inro_ended ended = inro_outcome_ended(attack->invocation.outcome);
    CHECK((ended == INRO_ENDED_VALUE) == (inro_outcome_failure(attack->invocation.outcome) == NULL));
    inro_outcome_free(attack->invocation.outcome);
    inro__invocation_end(&attack->invocation);
    return ended;
}

static void abandon(struct attack *attack) {
    inro_outcome_free(attack->invocation.outcome);
    inro__invocation_end(&attack->invocation);
}

static bool is_range(uint32_t address, uint32_t length) {
    return (uint64_t)address + length <= HOSTILE_SIZE;
}

/* ---- write ---- */

TEST(write_with_every_word_at_an_edge) {
    static const uint32_t streams[] = {0, 1, 2, 3, 4, 0x7fffffff, 0x80000000, 0xffffffff};
    struct attack attack;
    attack_begin(&attack, INRO_PROFILE_HERMETIC);
    for (size_t s = 0; s < sizeof streams / sizeof *streams; s++)
        for (size_t a = 0; a < EDGES; a++)
            for (size_t l = 0; l < EDGES; l++) {
                struct inro__slot *slot = invocation_begin(&attack);
                uint64_t unused;
                hostile_poke_word(slot, HOSTILE_WORD, edges[a]);
                hostile_poke_word(slot, HOSTILE_WORD + 4, edges[l]);
                bool good = streams[s] <= 3 && is_range(edges[a], edges[l]);
                CHECK_INT(hostile_enter(slot, FUNCTION(write), streams[s], 0, &unused),
                          streams[s] == 4 ? INRO__TRAP_MEMORY /* the guest says itself that it has none left */
                          : good          ? INRO__TRAP_NONE
                                          : INRO__TRAP_IMPORT);
                abandon(&attack);
            }
    attack_end(&attack);
}

/* A flood: what is kept has a limit, and so has a message that never ends. */
TEST_SECONDS(floods_are_bounded, 120) {
    struct attack attack;
    attack_begin(&attack, INRO_PROFILE_HERMETIC);
    for (uint32_t stream = 0; stream < 3; stream++) {
        struct inro__slot *slot = invocation_begin(&attack);
        uint64_t packed = (uint64_t)2048 << 32;
        hostile_poke_word(slot, HOSTILE_WORD, 0);
        hostile_poke_word(slot, HOSTILE_WORD + 4, HOSTILE_SIZE);
        hostile_poke(slot, HOSTILE_ANSWER, &packed, sizeof packed);
        CHECK_INT(hostile_enter(slot, FUNCTION(write_again), stream, 2000, NULL), INRO__TRAP_NONE);
        if (stream == 0) {
            CHECK(attack.invocation.message_too_large);
            CHECK(attack.invocation.message.capacity <= 2 * (size_t)INRO_MESSAGE_BYTES_MAX);
        } else {
            inro_bytes kept = stream == 1 ? inro_outcome_stdout(attack.invocation.outcome)
                                          : inro_outcome_stderr(attack.invocation.outcome);
            CHECK_INT(kept.length, 1 << 20);
            CHECK(attack.invocation.outcome->captures[stream - 1].truncated);
        }
        CHECK_INT(conclude(&attack, FUNCTION(answer), "x", 1),
                  stream == 0 ? INRO_ENDED_SANDBOX : INRO_ENDED_TRAP);
    }
    attack_end(&attack);
}

/* ---- clock and entropy ---- */

TEST(entropy_goes_only_where_the_guest_may_write) {
    struct attack attack;
    for (uint64_t profile = INRO_PROFILE_HERMETIC; profile <= INRO_PROFILE_PERMISSIVE; profile++) {
        attack_begin(&attack, profile);
        for (size_t a = 0; a < EDGES; a++)
            for (size_t l = 0; l < EDGES; l++) {
                struct inro__slot *slot = invocation_begin(&attack);
                bool good = edges[l] <= 256 && is_range(edges[a], edges[l]);
                CHECK_INT(hostile_enter(slot, FUNCTION(entropy), edges[a], edges[l], NULL),
                          good ? INRO__TRAP_NONE : INRO__TRAP_IMPORT);
                abandon(&attack);
            }
        struct inro__slot *slot = invocation_begin(&attack);
        uint64_t now = 1;
        CHECK_INT(hostile_enter(slot, FUNCTION(clock), 0, 0, &now), INRO__TRAP_NONE);
        CHECK_INT(now != 0, profile == INRO_PROFILE_PERMISSIVE);
        uint8_t zeros[256] = {0};
        CHECK_INT(hostile_enter(slot, FUNCTION(entropy), HOSTILE_SIZE - 256, 256, NULL), INRO__TRAP_NONE);
        CHECK_INT(memcmp(slot->instance.w2c_memory.base + HOSTILE_SIZE - 256, zeros, 256) == 0,
                  profile == INRO_PROFILE_HERMETIC);
        abandon(&attack);
        attack_end(&attack);
    }
}

/* ---- call ---- */

TEST_SECONDS(call_with_every_word_at_an_edge, 240) {
    static const uint32_t targets[] = {0, 1, 2, 0x7fffffff, 0xffffffff};
    static const uint32_t flags[] = {0, 1, 2, 3, 4, 0x102, 0x80000002, 0xffffffff};
    struct attack attack;
    attack_begin(&attack, INRO_PROFILE_HERMETIC);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
        for (size_t f = 0; f < sizeof flags / sizeof *flags; f++)
            for (size_t a = 0; a < EDGES; a += 2)
                for (size_t l = 0; l < EDGES; l++) {
                    struct inro__slot *slot = invocation_begin(&attack);
                    uint64_t reply = 0;
                    hostile_poke_word(slot, HOSTILE_WORD, edges[a]);
                    hostile_poke_word(slot, HOSTILE_WORD + 4, edges[l]);
                    enum inro__trap trap = hostile_enter(slot, FUNCTION(call), targets[t], flags[f], &reply);
                    CHECK_INT(trap, is_range(edges[a], edges[l]) ? INRO__TRAP_NONE : INRO__TRAP_IMPORT);
                    CHECK(trap != INRO__TRAP_NONE || is_range((uint32_t)(reply >> 32), (uint32_t)reply));
                    abandon(&attack);
                }
    CHECK_INT(attack.calls, 0); /* not one of these requests was well formed */
    attack_end(&attack);
}

/* "m", [1, "x", [1.5]], {} */
static size_t good_request(uint8_t *out, size_t room) {
    struct inro__mp_writer writer = {.start = out, .at = out, .end = out + room};
    inro__mp_write_str(&writer, "m", 1);
    inro__mp_write_array(&writer, 3);
    inro__mp_write_int(&writer, 1);
    inro__mp_write_str(&writer, "x", 1);
    inro__mp_write_array(&writer, 1);
    inro__mp_write_float(&writer, 1.5);
    inro__mp_write_map(&writer, 0);
    CHECK(!writer.failed);
    return (size_t)(writer.at - writer.start);
}

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static enum inro__trap send_request(struct attack *attack, const uint8_t *bytes, size_t length, uint32_t flags,
                                    uint32_t mode, const uint8_t *block_answer, size_t block_length) {
    struct inro__slot *slot = invocation_begin(attack);
    uint64_t reply = 0, packed = (uint64_t)16384 << 32 | block_length;
    hostile_poke(slot, 12288, bytes, length);
    hostile_poke(slot, 16384, block_answer, block_length);
    hostile_poke_word(slot, HOSTILE_WORD, 12288);
    hostile_poke_word(slot, HOSTILE_WORD + 4, (uint32_t)length);
    hostile_poke_word(slot, HOSTILE_MODE, mode);
    hostile_poke(slot, HOSTILE_ANSWER, &packed, sizeof packed);
    enum inro__trap trap = hostile_enter(slot, FUNCTION(call), 0, flags, &reply);
    CHECK(trap != INRO__TRAP_NONE || is_range((uint32_t)(reply >> 32), (uint32_t)reply));
    abandon(attack);
    return trap;
}

TEST_SECONDS(requests_mutated_and_cut, 240) {
    struct attack attack;
    uint8_t good[256], bad[256];
    size_t length = good_request(good, sizeof good);
    uint64_t seed = 88172645463325252u;
    attack_begin(&attack, INRO_PROFILE_HERMETIC);
    CHECK_INT(send_request(&attack, good, length, 0, 0, good, 0), INRO__TRAP_NONE);
    CHECK_INT(attack.calls, 1);
    for (size_t cut = 0; cut < length; cut++)
        CHECK_INT(send_request(&attack, good, cut, 0, 0, good, 0), INRO__TRAP_NONE);
    CHECK_INT(attack.calls, 1);
    for (unsigned i = 0; i < 30000; i++) {
        memcpy(bad, good, sizeof bad);
        for (uint64_t changes = 1 + next_random(&seed) % 4; changes > 0; changes--)
            bad[next_random(&seed) % (length + 8)] = (uint8_t)next_random(&seed);
        CHECK_INT(send_request(&attack, bad, length + next_random(&seed) % 8, 0, 0, good, 0), INRO__TRAP_NONE);
    }
    CHECK(attack.calls > 1);
    attack_end(&attack);
}

/* What the block answers: every first byte, cut and empty answers, and traps. */
TEST_SECONDS(answers_of_blocks_of_every_kind, 240) {
    struct attack attack;
    uint8_t good[256], answer[64];
    size_t length = good_request(good, sizeof good);
    uint64_t seed = 1181783497276652981u;
    attack_begin(&attack, INRO_PROFILE_HERMETIC);
    for (unsigned tag = 0; tag < 256; tag++)
        for (size_t size = 0; size < 12; size++) {
            for (size_t i = 0; i < sizeof answer; i++)
                answer[i] = (uint8_t)next_random(&seed);
            answer[0] = (uint8_t)tag;
            answer[1] = size % 2 ? answer[1] : 0xc0;
            CHECK_INT(send_request(&attack, good, length, 2, 0, answer, size), INRO__TRAP_NONE);
        }
    static const enum inro__trap expected[] = {
        [1] = INRO__TRAP_THROW, INRO__TRAP_UNREACHABLE, INRO__TRAP_OOB, INRO__TRAP_STACK};
    for (uint32_t mode = 1; mode <= 4; mode++)
        CHECK_INT(send_request(&attack, good, length, 2, mode, answer, 1), expected[mode]);
    /* A block that calls again, whose block calls again, ...: refused at the host's bound, not at its stack's.
     */
    uint64_t before = attack.calls;
    send_request(&attack, good, length, 2, 5, answer, 1);
    CHECK(attack.calls - before >= 16 && attack.calls - before <= 64);
    attack_end(&attack);
}

/* Blocks whose answer lies outside. */
TEST(answers_out_of_range_stop_the_guest) {
    struct attack attack;
    uint8_t good[256];
    size_t length = good_request(good, sizeof good);
    attack_begin(&attack, INRO_PROFILE_HERMETIC);
    for (size_t a = 0; a < EDGES; a++)
        for (size_t l = 0; l < EDGES; l++) {
            struct inro__slot *slot = invocation_begin(&attack);
            uint64_t packed = (uint64_t)edges[a] << 32 | edges[l];
            hostile_poke(slot, 12288, good, length);
            hostile_poke_word(slot, HOSTILE_WORD, 12288);
            hostile_poke_word(slot, HOSTILE_WORD + 4, (uint32_t)length);
            hostile_poke_word(slot, HOSTILE_MODE, 0);
            hostile_poke(slot, HOSTILE_ANSWER, &packed, sizeof packed);
            CHECK_INT(hostile_enter(slot, FUNCTION(call), 0, 2, NULL),
                      is_range(edges[a], edges[l]) ? INRO__TRAP_NONE : INRO__TRAP_IMPORT);
            abandon(&attack);
        }
    attack_end(&attack);
}

/* ---- the mailbox and the outcome ---- */

/* A large message goes where the guest says, if that is its memory. */
TEST(a_mailbox_anywhere) {
    struct attack attack;
    static uint8_t message[INRO__MAILBOX + 1000];
    attack_begin(&attack, INRO_PROFILE_HERMETIC);
    for (size_t a = 0; a < EDGES; a++) {
        struct inro__slot *slot = invocation_begin(&attack);
        uint64_t packed = (uint64_t)2048 << 32;
        hostile_poke_word(slot, HOSTILE_MAILBOX, edges[a]);
        hostile_poke(slot, HOSTILE_ANSWER, &packed, sizeof packed);
        bool good = is_range(edges[a], sizeof message) && edges[a] != 0;
        CHECK_INT(inro__invocation_send(&attack.invocation, FUNCTION(answer), message, sizeof message),
                  INRO_OK);
        CHECK_INT(slot->trapped, good ? INRO__TRAP_NONE : INRO__TRAP_MEMORY);
        CHECK_INT(inro__invocation_conclude(&attack.invocation), INRO_OK);
        CHECK(inro_outcome_failure(attack.invocation.outcome) != NULL);
        abandon(&attack);
    }
    attack_end(&attack);
}

static inro_ended end_with(struct attack *attack, uint32_t address, uint32_t claimed, const uint8_t *bytes,
                           size_t length) {
    struct inro__slot *slot = invocation_begin(attack);
    uint64_t packed = (uint64_t)address << 32 | claimed;
    if (length > 0)
        hostile_poke(slot, address, bytes, length);
    hostile_poke(slot, HOSTILE_ANSWER, &packed, sizeof packed);
    return conclude(attack, FUNCTION(answer), "", 0);
}

TEST(packed_outcomes_out_of_range) {
    struct attack attack;
    attack_begin(&attack, INRO_PROFILE_HERMETIC);
    for (size_t a = 0; a < EDGES; a++)
        for (size_t l = 0; l < EDGES; l++)
            if (!is_range(edges[a], edges[l]) || edges[l] == 0)
                CHECK_INT(end_with(&attack, edges[a], edges[l], NULL, 0), INRO_ENDED_TRAP);
    attack_end(&attack);
}

static size_t good_panic(uint8_t *out, size_t room) {
    struct inro__mp_writer writer = {.start = out + 1, .at = out + 1, .end = out + room};
    out[0] = 2;
    inro__mp_write_array(&writer, 5);
    inro__mp_write_str(&writer, "service", 7);
    inro__mp_write_str(&writer, "Inro::ServiceError", 18);
    inro__mp_write_str(&writer, "message", 7);
    inro__mp_write_array(&writer, 1);
    inro__mp_write_str(&writer, "(eval):1", 8);
    inro__mp_write_nil(&writer);
    CHECK(!writer.failed);
    return (size_t)(writer.at - out);
}

TEST_SECONDS(outcomes_of_every_tag_cut_and_mutated, 240) {
    struct attack attack;
    uint8_t good[256] = {0}, bad[256];
    size_t length = good_panic(good, sizeof good);
    uint64_t seed = 2463534242u, values = 0, failures = 0;
    attack_begin(&attack, INRO_PROFILE_HERMETIC);
    CHECK_INT(end_with(&attack, 16384, (uint32_t)length, good, length), INRO_ENDED_SERVICE);
    for (uint32_t cut = 1; cut < length; cut++)
        CHECK_INT(end_with(&attack, 16384, cut, good, length), INRO_ENDED_SANDBOX);
    for (unsigned tag = 0; tag < 256; tag++) {
        bad[0] = (uint8_t)tag;
        bad[1] = 0xc0;
        inro_ended expected = tag == 1 ? INRO_ENDED_VALUE : tag == 2 ? INRO_ENDED_SANDBOX : INRO_ENDED_TRAP;
        CHECK_INT(end_with(&attack, 16384, 2, bad, 2), expected);
    }
    for (unsigned i = 0; i < 30000; i++) {
        memcpy(bad, good, sizeof bad);
        bad[0] = i % 2 ? 1 : 2;
        for (uint64_t changes = 1 + next_random(&seed) % 6; changes > 0; changes--)
            bad[1 + next_random(&seed) % (length + 8)] = (uint8_t)next_random(&seed);
        uint32_t claimed = (uint32_t)(1 + next_random(&seed) % (length + 8));
        end_with(&attack, 16384, claimed, bad, length + 10) == INRO_ENDED_VALUE ? values++ : failures++;
    }
    CHECK(values > 0 && failures > 0);
    attack_end(&attack);
}
