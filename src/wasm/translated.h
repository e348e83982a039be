/* What translated guest code is made of.
 *
 * The translator (wasm2c) emits each guest function as C that uses the names below; its own definitions of
 * them are cut away at build time (guests/translate.py) and these stand in their place. They follow the
 * WebAssembly core specification, one line per instruction.
 *
 * Memory: an address is base + a 32-bit index + a 32-bit static offset, so it lies within 8 GiB from the
 * base, all of it reserved by the slot and unmapped or read-only where the guest may not write. There is no
 * check per access; the fault handler tells first writes from attacks.
 *
 * With INRO_SEGMENT_GS the base is in %gs, so that an access is one instruction and the C compiler cannot
 * fold, cache or clobber the base.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__TRANSLATED_H
#define INRO__TRANSLATED_H

#include "wasm/instance.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef float f32;
typedef double f64;

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define FUNC_PROLOGUE
#define FUNC_EPILOGUE

#define TRAP(name) (inro__guest_trap(INRO__TRAP_##name), 0)
#define UNREACHABLE TRAP(UNREACHABLE)

/* ---- loads and stores ---- */

#ifdef INRO_SEGMENT_GS
#define MEMORY_AT(type, instance_memory, address) (*(__seg_gs volatile type##_loose *)(uintptr_t)(address))
#else
#define MEMORY_AT(type, instance_memory, address)                                                              \
    (*(volatile type##_loose *)((instance_memory)->base + (address)))
#endif

/* Types without alignment and aliasing promises: guest memory is bytes. `volatile` because an access out of
 * bounds must happen even when its result is not used. */
#define LOOSE(type) typedef type type##_loose __attribute__((aligned(1), may_alias))
LOOSE(u8);
LOOSE(s8);
LOOSE(u16);
LOOSE(s16);
LOOSE(u32);
LOOSE(s32);
LOOSE(u64);
LOOSE(f32);
LOOSE(f64);
#undef LOOSE

/* gcc (12 at least) forgets the segment of an access to a constant address that does not fit into a signed
 * 32-bit displacement: the "movabs" it chooses would touch the host's memory at that address. So it must
 * not see such a constant; guests/check_object.py refuses what slips through. */
static inline u64 guest_address(u64 address) {
    if (__builtin_constant_p(address) && address > INT32_MAX)
        __asm__("" : "+r"(address));
    return address;
}

#define DEFINE_LOAD(name, stored, widened, result)                                                             \
    static inline result name(const struct inro__memory *memory, u64 address) {                                \
        (void)memory;                                                                                          \
        return (result)(widened)MEMORY_AT(stored, memory, guest_address(address));                             \
    }
#define DEFINE_STORE(name, stored, given)                                                                      \
    static inline void name(const struct inro__memory *memory, u64 address, given value) {                     \
        (void)memory;                                                                                          \
        MEMORY_AT(stored, memory, guest_address(address)) = (stored)value;                                     \
    }

DEFINE_LOAD(i32_load, u32, u32, u32)
DEFINE_LOAD(i64_load, u64, u64, u64)
DEFINE_LOAD(f32_load, f32, f32, f32)
DEFINE_LOAD(f64_load, f64, f64, f64)
DEFINE_LOAD(i32_load8_s, s8, s32, u32)
DEFINE_LOAD(i64_load8_s, s8, s64, u64)
DEFINE_LOAD(i32_load8_u, u8, u32, u32)
DEFINE_LOAD(i64_load8_u, u8, u64, u64)
DEFINE_LOAD(i32_load16_s, s16, s32, u32)
DEFINE_LOAD(i64_load16_s, s16, s64, u64)
DEFINE_LOAD(i32_load16_u, u16, u32, u32)
DEFINE_LOAD(i64_load16_u, u16, u64, u64)
DEFINE_LOAD(i64_load32_s, s32, s64, u64)
DEFINE_LOAD(i64_load32_u, u32, u64, u64)
DEFINE_STORE(i32_store, u32, u32)
DEFINE_STORE(i64_store, u64, u64)
DEFINE_STORE(f32_store, f32, f32)
DEFINE_STORE(f64_store, f64, f64)
DEFINE_STORE(i32_store8, u8, u32)
DEFINE_STORE(i32_store16, u16, u32)
DEFINE_STORE(i64_store8, u8, u64)
DEFINE_STORE(i64_store16, u16, u64)
DEFINE_STORE(i64_store32, u32, u64)

/* ---- whole ranges: always checked against the size, before a byte is touched ---- */

static inline u8 *guest_range(const struct inro__memory *memory, u32 address, u32 length) {
    if (UNLIKELY((u64)address + length > memory->size))
        inro__guest_trap(INRO__TRAP_OOB);
    return memory->base + address;
}

static inline u32 guest_pages(const struct inro__memory *memory) {
    return (u32)(memory->size >> 16);
}

static inline void memory_fill(struct inro__memory *memory, u32 address, u32 byte, u32 length) {
    memset(guest_range(memory, address, length), (int)(byte & 0xff), length);
}

static inline void memory_copy(struct inro__memory *to_memory, struct inro__memory *from_memory, u32 to,
                               u32 from, u32 length) {
    u8 *target = guest_range(to_memory, to, length);
    memmove(target, guest_range(from_memory, from, length), length);
}

/* ---- calls through the table ---- */

/* The table is constant and shared by all instances; `self` (the translator's per-entry instance) is not
 * evaluated, the caller's own instance is passed on. */
#define CALL_INDIRECT(table, pointer_type, signature, index, self, ...)                                        \
    (((LIKELY((index) < GUEST_TABLE_SIZE) && LIKELY(guest_table[index].type == (signature) + 1))               \
          ? (void)0                                                                                            \
          : inro__guest_trap(INRO__TRAP_CALL_INDIRECT)),                                                       \
     ((pointer_type)guest_table[index].function)(instance, ##__VA_ARGS__))

/* ---- integers ---- */

#define I32_CLZ(x) ((x) ? __builtin_clz(x) : 32)
#define I64_CLZ(x) ((x) ? __builtin_clzll(x) : 64)
#define I32_CTZ(x) ((x) ? __builtin_ctz(x) : 32)
#define I64_CTZ(x) ((x) ? __builtin_ctzll(x) : 64)
#define I32_POPCNT(x) (__builtin_popcount(x))
#define I64_POPCNT(x) (__builtin_popcountll(x))

#define DEFINE_DIVISION(bits)                                                                                  \
    static inline u##bits I##bits##_DIV_S(u##bits x, u##bits y) {                                              \
        if (UNLIKELY(y == 0))                                                                                  \
            inro__guest_trap(INRO__TRAP_DIV_BY_ZERO);                                                          \
        if (UNLIKELY((s##bits)x == INT##bits##_MIN && (s##bits)y == -1))                                       \
            inro__guest_trap(INRO__TRAP_INT_OVERFLOW);                                                         \
        return (u##bits)((s##bits)x / (s##bits)y);                                                             \
    }                                                                                                          \
    static inline u##bits I##bits##_REM_S(u##bits x, u##bits y) {                                              \
        if (UNLIKELY(y == 0))                                                                                  \
            inro__guest_trap(INRO__TRAP_DIV_BY_ZERO);                                                          \
        return (s##bits)y == -1 ? 0 : (u##bits)((s##bits)x % (s##bits)y);                                      \
    }                                                                                                          \
    static inline u##bits I##bits##_ROTL(u##bits x, u##bits y) {                                               \
        y &= bits - 1;                                                                                         \
        return (u##bits)((x << y) | (x >> ((bits - y) & (bits - 1))));                                         \
    }                                                                                                          \
    static inline u##bits I##bits##_ROTR(u##bits x, u##bits y) {                                               \
        y &= bits - 1;                                                                                         \
        return (u##bits)((x >> y) | (x << ((bits - y) & (bits - 1))));                                         \
    }
DEFINE_DIVISION(32)
DEFINE_DIVISION(64)
#undef DEFINE_DIVISION

#define DIV_U(x, y) (UNLIKELY((y) == 0) ? TRAP(DIV_BY_ZERO) : ((x) / (y)))
#define REM_U(x, y) (UNLIKELY((y) == 0) ? TRAP(DIV_BY_ZERO) : ((x) % (y)))

/* ---- floats to integers: NaN and what does not fit trap, or saturate ---- */

/* `low` and `high` are exact in the source type; a value must lie strictly between them after truncation. */
#define DEFINE_TRUNCATION(name, unsigned_type, target, source, fits, low_value, high_value)                    \
    static inline unsigned_type name(source x) {                                                               \
        if (UNLIKELY(x != x))                                                                                  \
            inro__guest_trap(INRO__TRAP_INVALID_CONVERSION);                                                   \
        if (UNLIKELY(!(fits)))                                                                                 \
            inro__guest_trap(INRO__TRAP_INT_OVERFLOW);                                                         \
        return (unsigned_type)(target)x;                                                                       \
    }
#define DEFINE_SATURATION(name, unsigned_type, target, source, fits, low_value, high_value)                    \
    static inline unsigned_type name(source x) {                                                               \
        if (UNLIKELY(x != x))                                                                                  \
            return 0;                                                                                          \
        if (UNLIKELY(!(fits)))                                                                                 \
            return x < 0 ? (unsigned_type)(low_value) : (unsigned_type)(high_value);                           \
        return (unsigned_type)(target)x;                                                                       \
    }
#define CONVERSIONS(DEFINE, kind)                                                                              \
    DEFINE(I32_##kind##_S_F32, u32, s32, f32, x >= -0x1p31f && x < 0x1p31f, INT32_MIN, INT32_MAX)              \
    DEFINE(I64_##kind##_S_F32, u64, s64, f32, x >= -0x1p63f && x < 0x1p63f, INT64_MIN, INT64_MAX)              \
    DEFINE(I32_##kind##_S_F64, u32, s32, f64, x > -0x1.00000002p31 && x < 0x1p31, INT32_MIN, INT32_MAX)        \
    DEFINE(I64_##kind##_S_F64, u64, s64, f64, x >= -0x1p63 && x < 0x1p63, INT64_MIN, INT64_MAX)                \
    DEFINE(I32_##kind##_U_F32, u32, u32, f32, x > -1 && x < 0x1p32f, 0, UINT32_MAX)                            \
    DEFINE(I64_##kind##_U_F32, u64, u64, f32, x > -1 && x < 0x1p64f, 0, UINT64_MAX)                            \
    DEFINE(I32_##kind##_U_F64, u32, u32, f64, x > -1 && x < 0x1p32, 0, UINT32_MAX)                             \
    DEFINE(I64_##kind##_U_F64, u64, u64, f64, x > -1 && x < 0x1p64, 0, UINT64_MAX)
CONVERSIONS(DEFINE_TRUNCATION, TRUNC)
CONVERSIONS(DEFINE_SATURATION, TRUNC_SAT)
#undef CONVERSIONS
#undef DEFINE_TRUNCATION
#undef DEFINE_SATURATION

/* ---- floats ---- */

#define DEFINE_REINTERPRET(name, from, to)                                                                     \
    static inline to name(from x) {                                                                            \
        to result;                                                                                             \
        memcpy(&result, &x, sizeof result);                                                                    \
        return result;                                                                                         \
    }
DEFINE_REINTERPRET(f32_reinterpret_i32, u32, f32)
DEFINE_REINTERPRET(i32_reinterpret_f32, f32, u32)
DEFINE_REINTERPRET(f64_reinterpret_i64, u64, f64)
DEFINE_REINTERPRET(i64_reinterpret_f64, f64, u64)
#undef DEFINE_REINTERPRET

/* Operations give a quiet NaN for any NaN; abs and copysign only move the sign bit. */
#define DEFINE_FLOAT(suffix, type, bits, sign, quiet_bit)                                                      \
    static inline type wasm_quiet##suffix(type x) {                                                            \
        return x != x ? f##bits##_reinterpret_i##bits(i##bits##_reinterpret_f##bits(x) | (quiet_bit)) : x;     \
    }                                                                                                          \
    static inline type wasm_fabs##suffix(type x) {                                                             \
        return f##bits##_reinterpret_i##bits(i##bits##_reinterpret_f##bits(x) & ~(sign));                      \
    }                                                                                                          \
    static inline type wasm_floor##suffix(type x) {                                                            \
        return x != x ? wasm_quiet##suffix(x) : floor##suffix(x);                                              \
    }                                                                                                          \
    static inline type wasm_ceil##suffix(type x) {                                                             \
        return x != x ? wasm_quiet##suffix(x) : ceil##suffix(x);                                               \
    }                                                                                                          \
    static inline type wasm_trunc##suffix(type x) {                                                            \
        return x != x ? wasm_quiet##suffix(x) : trunc##suffix(x);                                              \
    }                                                                                                          \
    static inline type wasm_nearbyint##suffix(type x) {                                                        \
        return x != x ? wasm_quiet##suffix(x) : nearbyint##suffix(x);                                          \
    }                                                                                                          \
    static inline type wasm_sqrt##suffix(type x) {                                                             \
        return x != x ? wasm_quiet##suffix(x) : sqrt##suffix(x);                                               \
    }                                                                                                          \
    static inline type wasm_min##suffix(type x, type y) {                                                      \
        if (x != x || y != y)                                                                                  \
            return (type)NAN;                                                                                  \
        if (x == 0 && y == 0)                                                                                  \
            return signbit(x) ? x : y;                                                                         \
        return x < y ? x : y;                                                                                  \
    }                                                                                                          \
    static inline type wasm_max##suffix(type x, type y) {                                                      \
        if (x != x || y != y)                                                                                  \
            return (type)NAN;                                                                                  \
        if (x == 0 && y == 0)                                                                                  \
            return signbit(x) ? y : x;                                                                         \
        return x > y ? x : y;                                                                                  \
    }
DEFINE_FLOAT(f, f32, 32, 0x80000000u, 0x00400000u)
DEFINE_FLOAT(, f64, 64, 0x8000000000000000u, 0x0008000000000000u)
#undef DEFINE_FLOAT

#define FMIN(x, y) (sizeof(x) == 4 ? wasm_minf((f32)(x), (f32)(y)) : wasm_min((f64)(x), (f64)(y)))
#define FMAX(x, y) (sizeof(x) == 4 ? wasm_maxf((f32)(x), (f32)(y)) : wasm_max((f64)(x), (f64)(y)))

#endif
