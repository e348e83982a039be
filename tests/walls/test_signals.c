/* Signals: what is the host's stays the host's, and what the host does with signals does not stop the wall.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "harness.h"
#include "hostile.h"
#include "wasm/watch.h"

#include <errno.h>
#include <fenv.h>
#include <immintrin.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION(name) inro__hostile_export_##name

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 }; /* the sanitizer's own SIGSEGV handler was there first: it reports and exits */
#else
enum { SANITIZED = 0 };
#endif

/* ---- a guest that calls a service of the test ---- */

typedef void (*service_fn)(struct inro__slot *slot);

static enum inro__trap serve(void *user, struct inro__slot *slot, uint32_t target, struct inro__range range,
                             uint32_t flags, uint64_t *reply) {
    service_fn service;
    (void)target, (void)range, (void)flags;
    memcpy(&service, user, sizeof service);
    service(slot);
    *reply = 0;
    return INRO__TRAP_NONE;
}

static enum inro__trap no_write(void *user, struct inro__slot *slot, uint32_t stream,
                                struct inro__range range) {
    (void)user, (void)slot, (void)stream, (void)range;
    return INRO__TRAP_NONE;
}

static const struct inro__guest_host service_host = {.write = no_write, .call = serve};

static enum inro__trap call_service(service_fn service, uint64_t deadline_us) {
    struct inro__slot *slot = hostile_begin();
    slot->host = &service_host;
    slot->host_user = &service;
    if (deadline_us)
        hostile_deadline(slot, deadline_us);
    enum inro__trap trap = hostile_enter(slot, FUNCTION(call), 0, 0, NULL);
    hostile_end(slot);
    return trap;
}

static void guest_still_works(void) {
    CHECK_INT(hostile_once(FUNCTION(scribble), 0, HOSTILE_SIZE, NULL), INRO__TRAP_NONE);
    CHECK_INT(hostile_once(FUNCTION(access), HOSTILE_ACCESSES, UINT32_MAX, NULL), INRO__TRAP_OOB);
    CHECK_INT(hostile_once(FUNCTION(recurse), 0, 0, NULL), INRO__TRAP_STACK);
    struct inro__slot *slot = hostile_begin();
    hostile_deadline(slot, 2000);
    CHECK_INT(hostile_enter(slot, FUNCTION(spin), 0, 0, NULL), INRO__TRAP_TIMEOUT);
    hostile_end(slot);
}

/* ---- faults of a service ---- */

static void fault_null(struct inro__slot *slot) {
    (void)slot;
    uintptr_t address = 16;
    __asm__ volatile("" : "+r"(address)); /* or the compiler warns, rightly */
    *(volatile int *)address = 1;
}

/* A page of a file that has none: SIGBUS. */
static void fault_bus(struct inro__slot *slot) {
    int descriptor = memfd_create("short", MFD_CLOEXEC);
    (void)slot;
    volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, descriptor, 0);
    close(descriptor);
    (void)page[0];
}

static void fault_abort(struct inro__slot *slot) {
    (void)slot;
    abort();
}

static void fault_divide(struct inro__slot *slot) {
    (void)slot;
    raise(SIGFPE);
    volatile int zero = 0;
    __asm__ volatile("xorl %%edx, %%edx; idivl %0" : : "m"(zero) : "eax", "edx");
}

/* A wild pointer of a service that happens to hit the guest's guard is the host's fault all the same. */
static void fault_guard(struct inro__slot *slot) {
    *(volatile uint8_t *)(slot->reservation + 100) = 1;
}

static void fault_stack_guard(struct inro__slot *slot) {
    *(volatile uint8_t *)(slot->stack - 100) = 1;
}

static const struct {
    service_fn service;
    int signal;
} faults[] = {{fault_null, SIGSEGV},  {fault_bus, SIGBUS},    {fault_abort, SIGABRT},
              {fault_divide, SIGFPE}, {fault_guard, SIGSEGV}, {fault_stack_guard, SIGSEGV}};

/* In a child: the test itself must live. */
static int status_of(void (*run)(void *), void *argument) {
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        run(argument);
        _exit(0);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    return status;
}

static void run_service(void *argument) {
    service_fn service;
    memcpy(&service, argument, sizeof service);
    call_service(service, 0);
}

static void check_killed(int status, int signal) {
    if (SANITIZED && WIFEXITED(status))
        CHECK(WEXITSTATUS(status) != 0);
    else
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signal);
}

TEST(a_service_that_faults_kills_the_process_by_default) {
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        service_fn service = faults[i].service;
        check_killed(status_of(run_service, &service), faults[i].signal);
    }
}

static sigjmp_buf back;
static volatile sig_atomic_t seen_signal, seen_count;
static void *volatile seen_address;

static void jump_back(int signal, siginfo_t *info, void *context) {
    (void)context;
    seen_signal = signal;
    seen_address = info->si_addr;
    siglongjmp(back, 1);
}

static service_fn guarded_service;

static void run_guarded(struct inro__slot *slot) {
    if (sigsetjmp(back, 1) == 0)
        guarded_service(slot);
}

static void install(int signal, void (*action)(int, siginfo_t *, void *), int flags) {
    struct sigaction ours = {.sa_sigaction = action, .sa_flags = SA_SIGINFO | flags};
    CHECK_INT(sigaction(signal, &ours, NULL), 0);
}

/* The host's handlers were there first: they see the service's faults as if there were no sandbox. */
TEST(a_service_that_faults_reaches_the_hosts_handler) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        install(signals[i], jump_back, 0);
    for (unsigned round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
            guarded_service = faults[i].service;
            seen_signal = 0;
            CHECK_INT(call_service(run_guarded, 0), INRO__TRAP_NONE);
            CHECK_INT(seen_signal, faults[i].signal);
            if (faults[i].service == fault_null)
                CHECK_INT((uintptr_t)seen_address, 16);
            guest_still_works();
        }
}

/* ---- the host's own SIGSEGV handlers, of every kind ---- */

static volatile sig_atomic_t was_blocked;

static void count(int signal) {
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    was_blocked = sigismember(&now, signal);
    seen_count = seen_count + 1;
}

static void count_info(int signal, siginfo_t *info, void *context) {
    (void)context;
    CHECK(info->si_code <= 0);
    count(signal);
}

static void check_sent_signals(void (*send)(void), int blocked) {
    int before = seen_count;
    send();
    guest_still_works();
    send();
    CHECK_INT(seen_count, before + 2);
    CHECK_INT(was_blocked, blocked);
}

static void send_to_process(void) {
    kill(getpid(), SIGSEGV);
}

static void send_to_thread(void) {
    raise(SIGSEGV);
}

TEST(a_plain_handler_from_before_gets_what_is_sent) {
    struct sigaction plain = {.sa_handler = count};
    CHECK_INT(sigaction(SIGSEGV, &plain, NULL), 0);
    guest_still_works();
    check_sent_signals(send_to_process, 1);
    check_sent_signals(send_to_thread, 1);
}

TEST(an_undeferred_handler_from_before_gets_what_is_sent) {
    install(SIGSEGV, count_info, SA_NODEFER);
    guest_still_works();
    check_sent_signals(send_to_process, 0);
    check_sent_signals(send_to_thread, 0);
}

static void reset_after_one(void *unused) {
    struct sigaction once = {.sa_handler = count, .sa_flags = (int)SA_RESETHAND};
    (void)unused;
    sigaction(SIGSEGV, &once, NULL);
    guest_still_works();
    raise(SIGSEGV);
    if (seen_count != 1)
        _exit(3);
    guest_still_works();
    raise(SIGSEGV);
}

/* Such a handler returns from a fault and expects to be killed by its repetition. */
static void return_from_fault(void *unused) {
    struct sigaction once = {.sa_handler = count, .sa_flags = (int)SA_RESETHAND};
    service_fn service = fault_null;
    (void)unused;
    sigaction(SIGSEGV, &once, NULL);
    run_service(&service);
}

TEST(a_one_shot_handler_is_called_once) {
    if (SANITIZED)
        SKIP("host: the sanitizers keep their own handler under SA_RESETHAND");
    check_killed(status_of(reset_after_one, NULL), SIGSEGV);
    check_killed(status_of(return_from_fault, NULL), SIGSEGV);
}

static void ignore_then_fault(void *unused) {
    service_fn service = fault_null;
    (void)unused;
    signal(SIGSEGV, SIG_IGN);
    guest_still_works();
    send_to_process();
    send_to_thread();
    guest_still_works();
    run_service(&service);
    _exit(3);
}

TEST(an_ignored_signal_is_ignored_but_a_fault_is_not) {
    check_killed(status_of(ignore_then_fault, NULL), SIGSEGV);
}

/* Installed after ours, and passes on what is not its own: guests work through it. */
static struct sigaction inner_action;

static void chain(int signal, siginfo_t *info, void *context) {
    seen_count = seen_count + 1;
    if (seen_address && info->si_addr == seen_address)
        siglongjmp(back, 1);
    inner_action.sa_sigaction(signal, info, context);
}

TEST(a_handler_installed_later_may_chain) {
    guest_still_works();
    struct sigaction later = {.sa_sigaction = chain, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    CHECK_INT(sigaction(SIGSEGV, &later, &inner_action), 0);
    CHECK(inner_action.sa_flags & SA_SIGINFO);
    seen_count = 0;
    guest_still_works();
    CHECK(seen_count >= 2); /* an access and a recursion; a deadline may be met without a signal */
    seen_address = (void *)(uintptr_t)16;
    guarded_service = fault_null;
    CHECK_INT(call_service(run_guarded, 0), INRO__TRAP_NONE);
    guest_still_works();
}

/* ---- alternate stacks ---- */

static void *with_small_stack(void *unused) {
    static __thread uint8_t small[16384];
    stack_t given = {.ss_sp = small, .ss_size = sizeof small}, now;
    CHECK_INT(sigaltstack(&given, NULL), 0);
    guest_still_works();
    CHECK_INT(sigaltstack(NULL, &now), 0);
    CHECK(now.ss_size > sizeof small && !(now.ss_flags & SS_DISABLE));
    return unused;
}

static void *with_large_stack(void *unused) {
    size_t size = 256 * 1024;
    stack_t given = {.ss_sp = malloc(size), .ss_size = size}, now;
    CHECK_INT(sigaltstack(&given, NULL), 0);
    guest_still_works();
    CHECK_INT(sigaltstack(NULL, &now), 0);
    CHECK(now.ss_sp == given.ss_sp);
    stack_t none = {.ss_flags = SS_DISABLE};
    CHECK_INT(sigaltstack(&none, NULL), 0);
    free(given.ss_sp);
    return unused;
}

static void *without_stack(void *unused) {
    stack_t none = {.ss_flags = SS_DISABLE};
    CHECK_INT(sigaltstack(&none, NULL), 0);
    guest_still_works();
    return unused;
}

static void on_thread(void *(*run)(void *)) {
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, run, NULL), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
}

TEST(alternate_stacks_small_large_and_none) {
    for (unsigned i = 0; i < 10; i++) {
        if (!SANITIZED) /* the sanitizer wants its own back when the thread ends */
            on_thread(with_small_stack);
        on_thread(with_large_stack);
        if (!SANITIZED)
            on_thread(without_stack);
    }
}

/* ---- forks ---- */

static void work_in_child(void *unused) {
    (void)unused;
    guest_still_works();
    on_thread(with_large_stack);
}

static void fork_in_service(struct inro__slot *slot) {
    (void)slot;
    CHECK_INT(status_of(work_in_child, NULL), 0);
}

/* Goes on in the child as well: returns from the service into the guest, with the deadline. */
static pid_t forked;
static void split_in_service(struct inro__slot *slot) {
    (void)slot;
    forked = fork();
}

TEST(forks_of_the_host) {
    guest_still_works();
    for (unsigned i = 0; i < 5; i++)
        CHECK_INT(status_of(work_in_child, NULL), 0);
    CHECK_INT(call_service(fork_in_service, 0), INRO__TRAP_NONE);
    for (unsigned i = 0; i < 5; i++) {
        CHECK_INT(call_service(split_in_service, 60000000), INRO__TRAP_NONE);
        if (forked == 0) {
            guest_still_works();
            _exit(7);
        }
        int status;
        CHECK_INT(waitpid(forked, &status, 0), forked);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    guest_still_works();
}

/* ---- timers during guest code ---- */

static volatile sig_atomic_t ticks_begun, ticks_ended;

static void tick(int signal) {
    int error = errno;
    (void)signal;
    ticks_begun = ticks_begun + 1;
    errno = EPERM;
    for (volatile int i = 0; i < 2000; i++)
        ;
    errno = error;
    ticks_ended = ticks_ended + 1;
}

static void start_ticks(suseconds_t microseconds, int flags) {
    struct sigaction action = {.sa_handler = tick, .sa_flags = flags | SA_RESTART};
    struct itimerval every = {{0, microseconds}, {0, microseconds}};
    CHECK_INT(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_INT(setitimer(ITIMER_REAL, &every, NULL), 0);
}

static void stop_ticks(void) {
    struct itimerval none = {{0, 0}, {0, 0}};
    sigset_t now;
    CHECK_INT(setitimer(ITIMER_REAL, &none, NULL), 0);
    CHECK_INT(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
    CHECK(!sigismember(&now, SIGALRM) && !sigismember(&now, SIGSEGV));
    CHECK_INT(ticks_begun, ticks_ended);
}

static void run_under_ticks(int flags) {
    int before = ticks_ended;
    start_ticks(500, flags);
    for (unsigned i = 0; i < 100; i++) {
        struct inro__slot *slot = hostile_begin();
        hostile_deadline(slot, 3000 + i);
        CHECK_INT(hostile_enter(slot, i % 2 ? FUNCTION(spin) : FUNCTION(fault_again), 0, 0, NULL),
                  INRO__TRAP_TIMEOUT);
        hostile_end(slot);
    }
    stop_ticks();
    CHECK(ticks_ended > before + 20);
}

TEST(the_hosts_timers_go_on_during_guest_code) {
    run_under_ticks(0);
    run_under_ticks(SA_ONSTACK);
}

/* The deadline passes while a handler of the host runs on top of the guest: the handler comes to its end. */
static struct inro__slot *watched;

static void outlast(int signal) {
    (void)signal;
    ticks_begun = ticks_begun + 1;
    while (atomic_load(&watched->state) == INRO__SLOT_GUEST)
        ;
    for (volatile int i = 0; i < 3000000; i++)
        ;
    ticks_ended = ticks_ended + 1;
}

TEST(a_deadline_lets_the_hosts_handler_finish) {
    struct sigaction action = {.sa_handler = outlast};
    struct itimerval once = {{0, 0}, {0, 2000}};
    CHECK_INT(sigaction(SIGALRM, &action, NULL), 0);
    for (unsigned i = 0; i < 10; i++) {
        watched = hostile_begin();
        hostile_deadline(watched, 10000);
        CHECK_INT(setitimer(ITIMER_REAL, &once, NULL), 0);
        CHECK_INT(hostile_enter(watched, FUNCTION(spin), 0, 0, NULL), INRO__TRAP_TIMEOUT);
        hostile_end(watched);
        stop_ticks();
    }
#ifndef __SANITIZE_THREAD__ /* which holds signals back that come during code it does not know */
    CHECK_INT(ticks_ended, 10);
#endif
}

/* The guest waits at the end of its stack until a signal of the host does not fit any more. */
TEST(a_signal_that_does_not_fit_on_the_guests_stack) {
    uint32_t fits = 0, too_deep = 1u << 22;
    while (too_deep - fits > 1) {
        uint32_t middle = fits + (too_deep - fits) / 2;
        *(hostile_once(FUNCTION(spin_below), middle, 0, NULL) == INRO__TRAP_NONE ? &fits : &too_deep) = middle;
    }
    unsigned overflows = 0;
    start_ticks(1000, 0);
    for (uint32_t depth = fits - 8; depth < fits; depth++) {
        struct inro__slot *slot = hostile_begin();
        hostile_deadline(slot, 50000);
        enum inro__trap trap = hostile_enter(slot, FUNCTION(spin_below), depth, 1, NULL);
        CHECK(trap == INRO__TRAP_STACK || trap == INRO__TRAP_TIMEOUT);
        overflows += trap == INRO__TRAP_STACK;
        hostile_end(slot);
    }
    stop_ticks();
    CHECK(overflows > 0);
    guest_still_works();
}

/* Without room in the queue the kernel drops what came with the signal, and the signal must do. */
TEST(a_full_queue_of_signals_does_not_save_the_guest) {
    struct rlimit before, none;
    CHECK_INT(getrlimit(RLIMIT_SIGPENDING, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_SIGPENDING, &none), 0);
    guest_still_works();
    CHECK_INT(setrlimit(RLIMIT_SIGPENDING, &before), 0);
}

/* ---- what a service notices of deadlines: nothing ---- */

static void wait_without_interruption(struct inro__slot *slot) {
    struct timespec rest, nap = {0, 5000000};
    CHECK_INT(poll(NULL, 0, 20), 0);
    CHECK_INT(nanosleep(&nap, &rest), 0);
    CHECK(atomic_load(&slot->expired_ns) != 0);
}

TEST(a_deadline_never_interrupts_a_service) {
    for (unsigned i = 0; i < 20; i++)
        CHECK_INT(call_service(wait_without_interruption, 2000 + i * 100), INRO__TRAP_TIMEOUT);
}

TEST(errno_is_left_alone_by_guest_code) {
    static const inro__entry_fn entries[] = {FUNCTION(scribble), FUNCTION(recurse), FUNCTION(grow),
                                             FUNCTION(spin)};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        struct inro__slot *slot = hostile_begin();
        hostile_deadline(slot, 2000);
        errno = EXDEV;
        hostile_enter(slot, entries[i], 0, HOSTILE_SIZE, NULL);
        int after = errno;
        hostile_end(slot);
        CHECK_INT(after, EXDEV);
    }
}

/* ---- the processor's state ---- */

enum { OPERATION_F64_DIV = HOSTILE_OPERATIONS + 17, OPERATION_F64_NEAREST = HOSTILE_OPERATIONS + 18 };

static uint64_t operate(uint32_t operation, double left, double right) {
    uint64_t result = 0;
    struct inro__slot *slot = hostile_begin();
    hostile_poke(slot, HOSTILE_OPERANDS, &left, sizeof left);
    hostile_poke(slot, HOSTILE_OPERANDS + 8, &right, sizeof right);
    CHECK_INT(hostile_enter(slot, FUNCTION(operate), operation, 0, &result), INRO__TRAP_NONE);
    hostile_end(slot);
    return result;
}

TEST(the_hosts_rounding_is_not_the_guests) {
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    uint64_t third = operate(OPERATION_F64_DIV, 1, 3), nearest = operate(OPERATION_F64_NEAREST, 2.5, 0);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        CHECK_INT(fesetround(modes[i]), 0);
        _mm_setcsr(_mm_getcsr() | 0x8040u); /* flush to zero, denormals are zero */
        CHECK(operate(OPERATION_F64_DIV, 1, 3) == third);
        CHECK(operate(OPERATION_F64_NEAREST, 2.5, 0) == nearest);
        CHECK(operate(OPERATION_F64_DIV, 0x1p-1070, 2) != 0);
        CHECK_INT(hostile_once(FUNCTION(recurse), 0, 0, NULL), INRO__TRAP_STACK);
        CHECK_INT(fegetround(), modes[i]);
        CHECK(_mm_getcsr() & 0x8000u);
        fesetenv(FE_DFL_ENV);
    }
}

/* A service that changes the rounding: the guest is not touched; the host has what it had when it entered. */
static void change_rounding(struct inro__slot *slot) {
    (void)slot;
    CHECK_INT(fegetround(), FE_DOWNWARD);
    fesetround(FE_UPWARD);
    _mm_setcsr(_mm_getcsr() & ~0x1f80u); /* exceptions unmasked: the guest would get SIGFPE */
    uint16_t word = 0x027f;
    __asm__ volatile("fldcw %0" : : "m"(word));
}

TEST(a_service_may_change_rounding_and_masks) {
    struct inro__slot *slot = hostile_begin();
    service_fn service = change_rounding;
    double one = 1, zero = 0;
    uint64_t result;
    slot->host = &service_host;
    slot->host_user = &service;
    fesetround(FE_DOWNWARD);
    CHECK_INT(hostile_enter(slot, FUNCTION(call), 0, 0, NULL), INRO__TRAP_NONE);
    CHECK_INT(fegetround(), FE_DOWNWARD);
    hostile_poke(slot, HOSTILE_OPERANDS, &one, sizeof one);
    hostile_poke(slot, HOSTILE_OPERANDS + 8, &zero, sizeof zero);
    CHECK_INT(hostile_enter(slot, FUNCTION(operate), OPERATION_F64_DIV, 0, &result), INRO__TRAP_NONE);
    CHECK(result == 0x7ff0000000000000u);
    hostile_end(slot);
}

/* %gs is the guest's only while guest code runs. */
static uint64_t get_gs(void) {
    uint64_t base;
    __asm__ volatile("rdgsbase %0" : "=r"(base));
    return base;
}

static uint8_t gs_area[64];

static void check_gs(struct inro__slot *slot) {
    (void)slot;
    CHECK(get_gs() == (uintptr_t)gs_area);
}

TEST(the_hosts_segment_comes_back) {
    guest_still_works(); /* refuses a machine without FSGSBASE */
    __asm__ volatile("wrgsbase %0" : : "r"((uint64_t)(uintptr_t)gs_area));
    CHECK_INT(call_service(check_gs, 0), INRO__TRAP_NONE);
    CHECK(get_gs() == (uintptr_t)gs_area);
    guest_still_works();
    CHECK(get_gs() == (uintptr_t)gs_area);
    CHECK_INT(call_service(wait_without_interruption, 1000), INRO__TRAP_TIMEOUT);
    CHECK(get_gs() == (uintptr_t)gs_area);
}
