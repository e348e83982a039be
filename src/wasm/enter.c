/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/enter.h"

#include "wasm/fault.h"

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Functions that run on a guest's stack, or are left by a jump: the sanitizers' own idea of the stack (shadow
 * bytes of frames, a list of callers) would be wrong after either. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ON_GUEST_STACK __attribute__((no_sanitize("address"), no_sanitize("thread"), noinline))
#else
#define ON_GUEST_STACK
#endif

/* What a callback and the entries around it must find free on a thread's stack. */
#define HOST_STACK_LEAST 24576u

/* initial-exec: read by the fault handler, where a lazy lookup could allocate. */
static __thread struct inro__activation *current __attribute__((tls_model("initial-exec")));
static __thread unsigned depth __attribute__((tls_model("initial-exec")));

struct inro__activation *inro__activation_current(void) {
    return current;
}

unsigned inro__activation_depth(void) {
    return depth;
}

/* The lowest address of this thread's stack, or NULL where it is not known (the main thread's grows). */
static __thread char *stack_low __attribute__((tls_model("initial-exec")));
static __thread size_t stack_size __attribute__((tls_model("initial-exec")));
static __thread bool stack_known __attribute__((tls_model("initial-exec")));

static void learn_stack(void) {
    pthread_attr_t attributes;
    void *low;
    stack_known = true;
    if (getpid() == (pid_t)syscall(SYS_gettid) || pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &stack_size) == 0)
        stack_low = low;
    pthread_attr_destroy(&attributes);
}

inro_status inro__enter_prepare(inro_error *err) {
    if (!stack_known)
        learn_stack();
    return inro__fault_prepare(err);
}

bool inro__enter_has_room(void) {
    size_t left = (size_t)((char *)__builtin_frame_address(0) - stack_low);
    /* On a stack that is not the thread's own (a fiber's) nothing is known. */
    return depth < INRO__ENTER_DEPTH_MAX && (!stack_low || left >= stack_size || left >= HOST_STACK_LEAST);
}

/* ---- machine state: rounding, exception masks, and the segment of the guest's memory ---- */

/* Guest code computes with SSE alone, so of the two floating-point units only this one's control matters. It
 * can set the status bits (the lower six), never the control bits. */
#define MXCSR_DEFAULT 0x1f80u
#define MXCSR_STATUS 0x3fu

static void save_host_state(struct inro__activation *activation) {
    activation->host_mxcsr = _mm_getcsr();
    __asm__ volatile("fnstcw %0" : "=m"(activation->host_x87));
#ifdef INRO_SEGMENT_GS
    __asm__ volatile("rdgsbase %0" : "=r"(activation->host_gs));
#endif
}

/* A service may have changed rounding or %gs; the guest gets its own again, so that results never depend on
 * what host code ran before. */
static void set_guest_state(const struct inro__slot *slot) {
    if ((_mm_getcsr() & ~MXCSR_STATUS) != MXCSR_DEFAULT)
        _mm_setcsr(MXCSR_DEFAULT);
#ifdef INRO_SEGMENT_GS
    __asm__ volatile("wrgsbase %0" : : "r"(slot->instance.w2c_memory.base) : "memory");
#else
    (void)slot;
#endif
}

static void set_host_state(const struct inro__activation *activation) {
    if ((activation->host_mxcsr & ~MXCSR_STATUS) != MXCSR_DEFAULT)
        _mm_setcsr(activation->host_mxcsr);
#ifdef INRO_SEGMENT_GS
    __asm__ volatile("wrgsbase %0" : : "r"(activation->host_gs) : "memory");
#endif
}

/* At the end: all as it was at the beginning, also the status that the guest's arithmetic has left. */
static void restore_host_floats(const struct inro__activation *activation) {
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    if (x87 != activation->host_x87)
        __asm__ volatile("fldcw %0" : : "m"(activation->host_x87));
    if (_mm_getcsr() != activation->host_mxcsr)
        _mm_setcsr(activation->host_mxcsr);
}

/* ---- states ---- */

/* Guest code is over for now. If the watchdog was first, its signal is on the way: wait for it here, still in
 * guest state, where the handler may unwind. (Or the watchdog takes its KILL back.) */
ON_GUEST_STACK static void leave_guest(struct inro__slot *slot, int state) {
    int expected = INRO__SLOT_GUEST;
    while (!atomic_compare_exchange_strong(&slot->state, &expected, state)) {
        expected = INRO__SLOT_GUEST;
        sched_yield();
    }
}

ON_GUEST_STACK _Noreturn static void stop(struct inro__slot *slot, enum inro__trap trap) {
    leave_guest(slot, INRO__SLOT_HOST);
    inro__unwind(&slot->entered->frame, (int)trap);
}

/* Guest code goes on; if the deadline passed while host code ran, it does not. */
ON_GUEST_STACK static void go_on(struct inro__slot *slot) {
    atomic_store(&slot->state, INRO__SLOT_GUEST);
    if (atomic_load(&slot->expired_ns) == atomic_load_explicit(&slot->deadline_ns, memory_order_relaxed))
        stop(slot, INRO__TRAP_TIMEOUT);
}

ON_GUEST_STACK void inro__guest_trap(enum inro__trap trap) {
    stop(current->slot, trap);
}

/* ---- entering ---- */

struct entry_call {
    struct inro__slot *slot;
    inro__entry_fn entry;
    uint32_t a, b;
    uint64_t result;
};

/* On the guest's stack. */
ON_GUEST_STACK static void entry_body(void *argument) {
    struct entry_call *call = argument;
    go_on(call->slot);
    call->result = call->entry(&call->slot->instance, call->a, call->b);
    leave_guest(call->slot, INRO__SLOT_HOST);
}

/* A first entry begins at the top of the guest's stack, a further one below what the guest has in use. */
static void *guest_stack(const struct inro__slot *slot) {
    if (!slot->entered)
        return slot->stack + INRO__GUEST_STACK - 64;
    return (void *)((uintptr_t)slot->entered->guest_stack & ~(uintptr_t)15);
}

enum inro__trap inro__enter(struct inro__slot *slot, inro__entry_fn entry, uint32_t a, uint32_t b,
                            uint64_t *result) {
    if (slot->trapped != INRO__TRAP_NONE)
        return slot->trapped;
    struct entry_call call = {slot, entry, a, b, 0};
    void *stack = guest_stack(slot);
    struct inro__activation activation = {
        .slot = slot, .outer_in_slot = slot->entered, .outer_in_thread = current};
    uint32_t guest_stack_pointer = slot->instance.w2c___stack_pointer;
    save_host_state(&activation);
    slot->entered = &activation;
    current = &activation;
    depth++;
    set_guest_state(slot);
    int trap = inro__protect(&activation.frame, stack, entry_body, &call);
    set_host_state(&activation);
    depth--;
    current = activation.outer_in_thread;
    slot->entered = activation.outer_in_slot;
    restore_host_floats(&activation);
    if (trap != 0) {
        slot->trapped = (enum inro__trap)trap;
        slot->instance.w2c___stack_pointer = guest_stack_pointer;
    }
    if (!slot->entered)
        atomic_store_explicit(&slot->state, INRO__SLOT_IDLE, memory_order_release);
    *result = call.result;
    return (enum inro__trap)trap;
}

/* ---- imports: out of the guest ---- */

/* Runs `body` in host state, on the stack where the guest was entered, and comes back to the guest, unless
 * something inside trapped. */
ON_GUEST_STACK static void call_host(struct inro__slot *slot, void (*body)(void *), void *argument,
                                     const enum inro__trap *trap) {
    struct inro__activation *activation = slot->entered;
    leave_guest(slot, INRO__SLOT_HOST);
    set_host_state(activation);
    inro__call_host(activation->frame.stack_pointer, body, argument, &activation->guest_stack);
    set_guest_state(slot);
    enum inro__trap reason = slot->trapped != INRO__TRAP_NONE ? slot->trapped : *trap;
    if (reason != INRO__TRAP_NONE)
        inro__unwind(&activation->frame, (int)reason);
    go_on(slot);
}

static inline struct inro__slot *slot_of(struct inro__instance *instance) {
    return (struct inro__slot *)(void *)instance;
}

struct host_request {
    struct inro__slot *slot;
    struct inro__range range;
    uint32_t number; /* stream or target */
    uint32_t flags;
    uint64_t answer;
    enum inro__trap trap;
};

static void write_body(void *argument) {
    struct host_request *request = argument;
    struct inro__slot *slot = request->slot;
    request->trap = slot->host->write(slot->host_user, slot, request->number, request->range);
}

static void call_body(void *argument) {
    struct host_request *request = argument;
    struct inro__slot *slot = request->slot;
    request->trap = slot->host->call(slot->host_user, slot, request->number, request->range, request->flags,
                                     &request->answer);
}

static void clock_body(void *argument) {
    struct host_request *request = argument;
    request->trap = request->slot->host->clock(request->slot->host_user, request->slot, &request->answer);
}

static void entropy_body(void *argument) {
    struct host_request *request = argument;
    request->trap = request->slot->host->entropy(request->slot->host_user, request->slot, request->range);
}

/* The names are the translator's for the imports "inro" "write", "call", "clock", "entropy", "try", "throw". */
void Z_inroZ_write(struct inro__instance *instance, uint32_t stream, uint32_t address, uint32_t length);
uint64_t Z_inroZ_call(struct inro__instance *instance, uint32_t target, uint32_t address, uint32_t length,
                      uint32_t flags);
uint64_t Z_inroZ_clock(struct inro__instance *instance);
void Z_inroZ_entropy(struct inro__instance *instance, uint32_t address, uint32_t length);
uint32_t Z_inroZ_try(struct inro__instance *instance, uint32_t body, uint32_t argument, uint32_t name);
void Z_inroZ_throw(struct inro__instance *instance, uint32_t name);

ON_GUEST_STACK void Z_inroZ_write(struct inro__instance *instance, uint32_t stream, uint32_t address,
                                  uint32_t length) {
    struct host_request request = {.slot = slot_of(instance), .range = {address, length}, .number = stream};
    call_host(request.slot, write_body, &request, &request.trap);
}

ON_GUEST_STACK uint64_t Z_inroZ_call(struct inro__instance *instance, uint32_t target, uint32_t address,
                                     uint32_t length, uint32_t flags) {
    struct host_request request = {
        .slot = slot_of(instance), .range = {address, length}, .number = target, .flags = flags};
    call_host(request.slot, call_body, &request, &request.trap);
    return request.answer;
}

ON_GUEST_STACK uint64_t Z_inroZ_clock(struct inro__instance *instance) {
    struct host_request request = {.slot = slot_of(instance)};
    call_host(request.slot, clock_body, &request, &request.trap);
    return request.answer;
}

ON_GUEST_STACK void Z_inroZ_entropy(struct inro__instance *instance, uint32_t address, uint32_t length) {
    struct host_request request = {.slot = slot_of(instance), .range = {address, length}};
    call_host(request.slot, entropy_body, &request, &request.trap);
}

/* ---- try and throw: the guest's own jumps, all in guest state ---- */

struct try_call {
    struct inro__instance *instance;
    uint32_t body, argument;
};

ON_GUEST_STACK static void try_body(void *argument) {
    struct try_call *call = argument;
    slot_of(call->instance)->guest->call_body(call->instance, call->body, call->argument);
}

ON_GUEST_STACK uint32_t Z_inroZ_try(struct inro__instance *instance, uint32_t body, uint32_t argument,
                                    uint32_t name) {
    struct inro__activation *activation = slot_of(instance)->entered;
    struct try_call call = {instance, body, argument};
    struct inro__try frame = {
        .name = name, .guest_stack_pointer = instance->w2c___stack_pointer, .outer = activation->tries};
    activation->tries = &frame;
    int thrown = inro__protect(&frame.frame, NULL, try_body, &call);
    activation->tries = frame.outer;
    instance->w2c___stack_pointer = frame.guest_stack_pointer;
    return (uint32_t)thrown;
}

ON_GUEST_STACK void Z_inroZ_throw(struct inro__instance *instance, uint32_t name) {
    struct inro__slot *slot = slot_of(instance);
    for (struct inro__try *frame = slot->entered->tries; frame; frame = frame->outer)
        if (frame->name == name)
            inro__unwind(&frame->frame, 1);
    stop(slot, INRO__TRAP_THROW);
}

/* ---- memory.grow ---- */

/* A refusal gives the guest the chance to collect its garbage; if that does not help it asks to be stopped.
 * Only in guest state. `grown_end` moves first: a signal may stop the guest between any two lines, and the
 * reset gives back all that might have been opened. */
ON_GUEST_STACK uint32_t inro__guest_grow(struct inro__instance *instance, uint32_t pages) {
    struct inro__slot *slot = slot_of(instance);
    uint64_t old = instance->w2c_memory.size, new_size = old + (uint64_t)pages * INRO__WASM_PAGE;
    if (new_size > (uint64_t)slot->guest->layout->pages_max * INRO__WASM_PAGE || new_size > slot->memory_max)
        return UINT32_MAX;
    if (new_size > slot->grown_end)
        slot->grown_end = new_size;
    if (new_size > old && !inro__fault_open(instance->w2c_memory.base + old, new_size - old))
        return UINT32_MAX;
    if (new_size > slot->memory_peak)
        slot->memory_peak = new_size;
    instance->w2c_memory.size = new_size;
    return (uint32_t)(old / INRO__WASM_PAGE);
}
