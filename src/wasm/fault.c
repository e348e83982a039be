/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/fault.h"

#include "base/error.h"
#include "wasm/enter.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define ALTERNATE_STACK 131072u /* AVX-512 and AMX state alone can take 11 KiB of a signal frame */
#define ALTERNATE_STACK_LEAST 32768u
#define WRITE_FAULT 2
#define HWCAP2_FSGSBASE_BIT 2u
#define SIGNAL_FRAME_MAX 65536u
#define KILLS_PUT_OFF_MAX 20u

static struct {
    pthread_mutex_t lock;
    bool installed;
    struct sigaction before;
} handler = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static __thread bool thread_ready __attribute__((tls_model("initial-exec")));
/* The signals that the thread blocked when it was readied. */
static __thread uint64_t thread_mask __attribute__((tls_model("initial-exec")));

bool inro__fault_open(void *address, size_t length) {
    return mprotect(address, length, PROT_READ | PROT_WRITE) == 0;
}

/* ---- what a fault is ---- */

static bool within(uintptr_t address, const uint8_t *start, uint64_t length) {
    return address - (uintptr_t)start < length;
}

static bool is_first_write(const struct inro__slot *slot, uintptr_t address, const ucontext_t *context) {
    return slot->image && (context->uc_mcontext.gregs[REG_ERR] & WRITE_FAULT) &&
           within(address, slot->instance.w2c_memory.base, slot->image->size);
}

/* The trap that an address means, or NONE when it is none of this slot's. */
static enum inro__trap trap_of(const struct inro__slot *slot, uintptr_t address) {
    if (within(address, slot->stack - INRO__STACK_GUARD, INRO__STACK_GUARD))
        return INRO__TRAP_STACK;
    if (within(address, slot->reservation, INRO__PRE_GUARD + INRO__RESERVE))
        return INRO__TRAP_OOB;
    return INRO__TRAP_NONE;
}

/* Makes the interrupted thread go on in inro__unwind(frame, trap): the kernel restores mask and signal stack
 * as after any handler, so nothing of the signal is left behind. */
static void resume_in_unwind(ucontext_t *context, struct inro__slot *slot, enum inro__trap trap) {
    greg_t *registers = context->uc_mcontext.gregs;
    atomic_store(&slot->state, INRO__SLOT_HOST);
    registers[REG_RDI] = (greg_t)(uintptr_t)&slot->entered->frame;
    registers[REG_RSI] = (greg_t)trap;
    registers[REG_RIP] = (greg_t)(uintptr_t)inro__unwind;
    /* inro__unwind sets the stack before it uses it; until then a valid one is still wanted. */
    registers[REG_RSP] = (greg_t)(uintptr_t)slot->entered->frame.stack_pointer;
}

/* ---- what is not ours ---- */

static void pass_to_default(int signal, const siginfo_t *info) {
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(signal, &standard, NULL);
    /* A fault happens again when we return; a signal that was sent has to be sent again. */
    if (info->si_code <= 0)
        raise(signal);
}

static void pass_to_handler(int signal, siginfo_t *info, void *context) {
    const struct sigaction before = handler.before;
    sigset_t mask = before.sa_mask, interrupted;
    if (!(before.sa_flags & SA_NODEFER))
        sigaddset(&mask, signal);
    if (before.sa_flags & (int)SA_RESETHAND)
        handler.before.sa_handler = SIG_DFL;
    pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, NULL);
    pthread_sigmask(SIG_BLOCK, &mask, &interrupted);
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(signal, info, context);
    else
        before.sa_handler(signal);
    pthread_sigmask(SIG_SETMASK, &interrupted, NULL);
}

static void pass_on(int signal, siginfo_t *info, void *context) {
    bool sent = info->si_code <= 0;
    if (handler.before.sa_handler == SIG_IGN && sent)
        return;
    if (handler.before.sa_handler == SIG_DFL || handler.before.sa_handler == SIG_IGN)
        pass_to_default(signal, info);
    else
        pass_to_handler(signal, info, context);
}

/* ---- the watchdog's signal ---- */

static uint64_t mask_word(const sigset_t *mask) {
    uint64_t word;
    memcpy(&word, mask, sizeof word);
    return word;
}

static bool is_held(int state) {
    return state == INRO__SLOT_KILL || state == INRO__SLOT_KILL_SENT;
}

/* Our own signal. With the queue of signals full the kernel delivers it without what was to go with it. */
static bool is_kill(const siginfo_t *info, int state) {
    if (info->si_code == SI_QUEUE)
        return info->si_value.sival_ptr == &handler && info->si_pid == getpid();
    return info->si_code == SI_USER && info->si_pid == 0 && is_held(state);
}

/* A handler of the host may be running on top of the guest: it blocks signals that the thread does not. Leaving
 * it half way would leave them blocked, and whatever it was doing undone, so the watchdog has to come again;
 * but only so often, since the host may have changed the thread's mask in the meantime. */
static bool is_in_host_handler(struct inro__slot *slot, const ucontext_t *context) {
    uint64_t mask = mask_word(&context->uc_sigmask);
    if (!(mask & ~thread_mask))
        return false;
    if (slot->kills_put_off++ < KILLS_PUT_OFF_MAX)
        return true;
    thread_mask = mask;
    return false;
}

/* One that comes late, to a slot that is not to be stopped any more, is nothing. */
static void take_kill(struct inro__slot *slot, ucontext_t *context) {
    if (!is_held(atomic_load(&slot->state)))
        return;
    if (is_in_host_handler(slot, context))
        atomic_store(&slot->state, INRO__SLOT_KILL_AGAIN);
    else
        resume_in_unwind(context, slot, INRO__TRAP_TIMEOUT);
}

/* While one SIGSEGV is pending the kernel drops another. So when a kill was sent before this one was taken, it
 * may never come: wait until it has been sent for sure (or taken back), fetch it if it is there, and act as if
 * it was. True when there was one. */
static bool claim_kill(struct inro__slot *slot) {
    static const struct timespec at_once = {0, 0};
    sigset_t fault;
    siginfo_t other;
    while (atomic_load(&slot->state) == INRO__SLOT_KILL)
        sched_yield();
    if (atomic_load(&slot->state) != INRO__SLOT_KILL_SENT)
        return false;
    sigemptyset(&fault);
    sigaddset(&fault, SIGSEGV);
    if (syscall(SYS_rt_sigtimedwait, &fault, &other, &at_once, sizeof(uint64_t)) == SIGSEGV &&
        !is_kill(&other, INRO__SLOT_KILL_SENT))
        kill(getpid(), SIGSEGV); /* somebody's, sent to the process: send it again */
    return true;
}

/* ---- the guest's faults ---- */

static bool is_on_guest_stack(const struct inro__slot *slot, const ucontext_t *context, size_t length) {
    return within((uintptr_t)context->uc_mcontext.gregs[REG_RSP], slot->stack - INRO__STACK_GUARD,
                  INRO__STACK_GUARD + length);
}

/* The kernel gives no address when a signal's frame did not fit on the stack: then the guest had used it up. */
static enum inro__trap trap_of_fault(const struct inro__slot *slot, const siginfo_t *info,
                                     const ucontext_t *context) {
    if (info->si_code == SI_KERNEL)
        return is_on_guest_stack(slot, context, SIGNAL_FRAME_MAX) ? INRO__TRAP_STACK : INRO__TRAP_NONE;
    return trap_of(slot, (uintptr_t)info->si_addr);
}

/* Host code that is still, or already, on the guest's stack is ours (entering, or on the way to a host call),
 * and can only be there to use that stack up. */
static bool may_fault(const struct inro__slot *slot, int state, const siginfo_t *info,
                      const ucontext_t *context) {
    if (info->si_code <= 0 || state == INRO__SLOT_IDLE)
        return false;
    return state != INRO__SLOT_HOST || (is_on_guest_stack(slot, context, INRO__GUEST_STACK) &&
                                        trap_of_fault(slot, info, context) == INRO__TRAP_STACK);
}

static bool handle_fault(struct inro__slot *slot, int state, const siginfo_t *info, ucontext_t *context) {
    uintptr_t address = (uintptr_t)info->si_addr;
    bool held = is_held(state); /* then the fault waits, and repeats if the kill is taken back */
    if (info->si_code != SI_KERNEL && is_first_write(slot, address, context)) {
        uint32_t page = (uint32_t)((address - (uintptr_t)slot->instance.w2c_memory.base) / INRO__PAGE);
        if (!held && !inro__slot_open_page(slot, page) &&
            atomic_compare_exchange_strong(&slot->state, &state, INRO__SLOT_HOST))
            resume_in_unwind(context, slot, INRO__TRAP_MEMORY);
        return true;
    }
    enum inro__trap trap = trap_of_fault(slot, info, context);
    if (trap == INRO__TRAP_NONE)
        return false;
    if (!held && atomic_compare_exchange_strong(&slot->state, &state, INRO__SLOT_HOST))
        resume_in_unwind(context, slot, trap);
    return true;
}

/* True when the signal was the guest's. */
static bool handle_guest(siginfo_t *info, ucontext_t *context) {
    struct inro__activation *activation = inro__activation_current();
    if (!activation)
        return is_kill(info, INRO__SLOT_IDLE);
    struct inro__slot *slot = activation->slot;
    int state = atomic_load(&slot->state);
    if (is_kill(info, state)) {
        take_kill(slot, context);
        return true;
    }
    bool ours = may_fault(slot, state, info, context) && handle_fault(slot, state, info, context);
    if (!ours)
        pass_on(SIGSEGV, info, context);
    if (is_held(state) && claim_kill(slot))
        take_kill(slot, context);
    return true;
}

static void on_signal(int signal, siginfo_t *info, void *context) {
    int error = errno;
    if (!handle_guest(info, context))
        pass_on(signal, info, context);
    errno = error;
}

/* ---- setting up ---- */

static inro_status install(inro_error *err) {
    if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT))
        return inro__fail(err, INRO_ERR_UNSUPPORTED, 0,
                          "this kernel or processor has no FSGSBASE (Linux 5.9 and later)");
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGSEGV, &ours, &handler.before))
        return inro__fail(err, INRO_ERR_SYSTEM, errno, "installing the SIGSEGV handler: %s", strerror(errno));
    __atomic_store_n(&handler.installed, true, __ATOMIC_RELEASE);
    return INRO_OK;
}

static inro_status install_once(inro_error *err) {
    if (__atomic_load_n(&handler.installed, __ATOMIC_ACQUIRE))
        return INRO_OK;
    pthread_mutex_lock(&handler.lock);
    inro_status status = handler.installed ? INRO_OK : install(err);
    pthread_mutex_unlock(&handler.lock);
    return status;
}

/* At thread exit: our alternate stack, unless the thread has replaced it. */
static void thread_done(void *stack) {
    stack_t now;
    thread_ready = false;
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == stack) {
        stack_t none = {.ss_flags = SS_DISABLE};
        sigaltstack(&none, NULL);
    }
    munmap((uint8_t *)stack - INRO__PAGE, ALTERNATE_STACK + INRO__PAGE);
}

static void make_key(void) {
    pthread_key_create(&thread_key, thread_done);
}

static inro_status alternate_stack(inro_error *err) {
    stack_t now;
    if (sigaltstack(NULL, &now) == 0 && !(now.ss_flags & SS_DISABLE) && now.ss_size >= ALTERNATE_STACK_LEAST)
        return INRO_OK;
    pthread_once(&key_once, make_key);
    uint8_t *all =
        mmap(NULL, ALTERNATE_STACK + INRO__PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (all == MAP_FAILED)
        return inro__fail(err, INRO_ERR_SYSTEM, errno, "mapping a signal stack: %s", strerror(errno));
    stack_t ours = {.ss_sp = all + INRO__PAGE, .ss_size = ALTERNATE_STACK};
    if (mprotect(ours.ss_sp, ALTERNATE_STACK, PROT_READ | PROT_WRITE) || sigaltstack(&ours, NULL) ||
        pthread_setspecific(thread_key, ours.ss_sp)) {
        munmap(all, ALTERNATE_STACK + INRO__PAGE);
        return inro__fail(err, INRO_ERR_SYSTEM, errno, "setting a signal stack: %s", strerror(errno));
    }
    return INRO_OK;
}

/* A thread that blocks SIGSEGV would be killed by the first fault. */
static void unblock(void) {
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    pthread_sigmask(SIG_UNBLOCK, &set, &before);
    thread_mask = mask_word(&before);
}

inro_status inro__fault_prepare(inro_error *err) {
    if (thread_ready)
        return INRO_OK;
    inro_status status = install_once(err);
    if (status == INRO_OK)
        status = alternate_stack(err);
    if (status != INRO_OK)
        return status;
    unblock();
    thread_ready = true;
    return INRO_OK;
}

void inro__fault_kill(struct inro__slot *slot) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = SIGSEGV;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = &handler;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), atomic_load(&slot->thread), SIGSEGV, &info);
}
