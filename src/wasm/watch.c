/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/watch.h"

#include "base/error.h"
#include "wasm/enter.h"
#include "wasm/fault.h"
#include "wasm/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running;              /* under the lock */
    bool woken;                /* under the lock */
    _Atomic uint64_t next_due; /* no deadline before this needs a wake-up */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_due = 0};

/* A kill may have come while a handler of the host was running: look again. */
#define KILL_AGAIN_NS 1000000u

static __thread int32_t thread_id __attribute__((tls_model("initial-exec")));

uint64_t inro__now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- the watchdog's thread ---- */

struct round {
    uint64_t now;
    uint64_t next;
};

static bool hold(struct inro__slot *slot) {
    int guest = INRO__SLOT_GUEST, again = INRO__SLOT_KILL_AGAIN;
    return atomic_compare_exchange_strong(&slot->state, &guest, INRO__SLOT_KILL) ||
           atomic_compare_exchange_strong(&slot->state, &again, INRO__SLOT_KILL);
}

/* In host code the mark alone is set; the thread looks at it before guest code goes on. In guest code the
 * thread is held by KILL; if the deadline is another by then, the invocation that had passed it was over in
 * time, and the next one in this slot is let go. */
static void stop_if_due(struct inro__slot *slot, void *user) {
    struct round *round = user;
    uint64_t deadline = atomic_load(&slot->deadline_ns);
    if (deadline > round->now) {
        if (deadline < round->next)
            round->next = deadline;
        return;
    }
    atomic_store(&slot->expired_ns, deadline);
    if (hold(slot)) {
        if (atomic_load(&slot->deadline_ns) != deadline) {
            atomic_store(&slot->state, INRO__SLOT_GUEST);
            return;
        }
        inro__fault_kill(slot);
        int sent = INRO__SLOT_KILL;
        atomic_compare_exchange_strong(&slot->state, &sent, INRO__SLOT_KILL_SENT);
    } else if (atomic_load(&slot->state) == INRO__SLOT_KILL_SENT) {
        inro__fault_kill(
            slot); /* a signal that got lost must not keep a guest alive; one too many is nothing */
    }
    if (atomic_load(&slot->state) >= INRO__SLOT_KILL && round->next > round->now + KILL_AGAIN_NS)
        round->next = round->now + KILL_AGAIN_NS;
}

static uint64_t stop_all_due(void) {
    struct round round = {.now = inro__now_ns(), .next = UINT64_MAX};
    inro__pool_each(stop_if_due, &round);
    return round.next;
}

static void sleep_until(uint64_t due) {
    if (due == UINT64_MAX) {
        pthread_cond_wait(&watch.wake, &watch.lock);
        return;
    }
    struct timespec at = {.tv_sec = (time_t)(due / 1000000000u), .tv_nsec = (long)(due % 1000000000u)};
    pthread_cond_timedwait(&watch.wake, &watch.lock, &at);
}

/* `next_due` is published before the slots are looked at once more, so that a deadline set in between is
 * either seen here or sees it. */
static void *watch_main(void *unused) {
    (void)unused;
    for (;;) {
        atomic_store(&watch.next_due, UINT64_MAX);
        uint64_t due = stop_all_due();
        pthread_mutex_lock(&watch.lock);
        uint64_t known = atomic_load(&watch.next_due);
        if (due < known)
            atomic_store(&watch.next_due, due);
        if (!watch.woken)
            sleep_until(atomic_load(&watch.next_due));
        watch.woken = false;
        pthread_mutex_unlock(&watch.lock);
    }
    return NULL;
}

/* ---- starting it, and forks ---- */

static void init_condition(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&watch.wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* No signal of the host may be delivered to our thread. */
static int start_thread(void) {
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t attributes;
    init_condition();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 65536u);
    int cause = pthread_create(&thread, &attributes, watch_main, NULL);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return cause;
}

static void watch_before_fork(void) {
    pthread_mutex_lock(&watch.lock);
}

static void watch_in_parent(void) {
    pthread_mutex_unlock(&watch.lock);
}

/* The child has no watchdog, and its one thread another number: deadlines of invocations that it is in the
 * middle of go on, once it starts the next one or returns from a host call. */
static void watch_in_child(void) {
    watch.running = false;
    watch.woken = false;
    atomic_store(&watch.next_due, 0);
    thread_id = (int32_t)syscall(SYS_gettid);
    for (struct inro__activation *a = inro__activation_current(); a; a = a->outer_in_thread)
        atomic_store(&a->slot->thread, thread_id);
    if (inro__activation_current() && start_thread() == 0)
        watch.running = true;
    pthread_mutex_unlock(&watch.lock);
}

__attribute__((constructor)) static void watch_at_fork(void) {
    pthread_atfork(watch_before_fork, watch_in_parent, watch_in_child);
}

/* The watchdog learns of a deadline that is due before all it knows. */
static inro_status wake_watchdog(uint64_t deadline_ns, inro_error *err) {
    pthread_mutex_lock(&watch.lock);
    int cause = watch.running ? 0 : start_thread();
    watch.running = cause == 0;
    if (deadline_ns < atomic_load(&watch.next_due))
        atomic_store(&watch.next_due, deadline_ns);
    watch.woken = true;
    if (watch.running)
        pthread_cond_signal(&watch.wake);
    pthread_mutex_unlock(&watch.lock);
    if (cause == 0)
        return INRO_OK;
    return inro__fail(err, INRO_ERR_SYSTEM, cause, "starting the deadline thread: %s", strerror(cause));
}

inro_status inro__watch_start(struct inro__slot *slot, uint64_t deadline_ns, inro_error *err) {
    if (thread_id == 0)
        thread_id = (int32_t)syscall(SYS_gettid);
    atomic_store_explicit(&slot->thread, thread_id, memory_order_relaxed);
    slot->kills_put_off = 0;
    if (deadline_ns == UINT64_MAX)
        return INRO_OK;
    atomic_store(&slot->deadline_ns, deadline_ns);
    uint64_t known = atomic_load(&watch.next_due);
    if (known != 0 && deadline_ns >= known)
        return INRO_OK;
    inro_status status = wake_watchdog(deadline_ns, err);
    if (status != INRO_OK)
        inro__watch_stop(slot);
    return status;
}

void inro__watch_stop(struct inro__slot *slot) {
    atomic_store(&slot->deadline_ns, UINT64_MAX);
}
