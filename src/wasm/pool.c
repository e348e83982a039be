/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/pool.h"

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>

/* Idle slots lie on several lists, so that threads which do nothing but short invocations rarely meet at a
 * lock. A thread gives to its own list, and takes from the others only when that one is empty. */
#define SHARDS 16u

static struct shard {
    _Alignas(64) pthread_mutex_t lock;
    struct inro__slot *idle;
} shards[SHARDS];

static struct {
    pthread_mutex_t lock; /* taken after those of the shards, if both */
    struct inro__slot *slots[INRO__SLOTS_MAX];
    uint32_t count;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned own_shard(void) {
    static atomic_uint threads;
    static __thread unsigned number __attribute__((tls_model("initial-exec")));
    if (number == 0)
        number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % SHARDS + 1;
    return number - 1;
}

/* The child of a fork has one thread. Slots that other threads had in use stay unused there: their memory was
 * half way through something. */
static void pool_before_fork(void) {
    for (unsigned i = 0; i < SHARDS; i++)
        pthread_mutex_lock(&shards[i].lock);
    pthread_mutex_lock(&registry.lock);
}

static void pool_after_fork(void) {
    pthread_mutex_unlock(&registry.lock);
    for (unsigned i = 0; i < SHARDS; i++)
        pthread_mutex_unlock(&shards[i].lock);
}

__attribute__((constructor)) static void pool_at_load(void) {
    for (unsigned i = 0; i < SHARDS; i++)
        pthread_mutex_init(&shards[i].lock, NULL);
    pthread_atfork(pool_before_fork, pool_after_fork, pool_after_fork);
}

static bool enlist(struct inro__slot *slot) {
    pthread_mutex_lock(&registry.lock);
    bool room = registry.count < INRO__SLOTS_MAX;
    if (room) {
        slot->number = registry.count;
        registry.slots[registry.count++] = slot;
    }
    pthread_mutex_unlock(&registry.lock);
    return room;
}

static void discard(struct inro__slot *slot) {
    pthread_mutex_lock(&registry.lock);
    struct inro__slot *last = registry.slots[--registry.count];
    registry.slots[slot->number] = last;
    last->number = slot->number;
    pthread_mutex_unlock(&registry.lock);
    inro__slot_free(slot);
}

/* Takes the first slot of a list that `wants` accepts. */
static struct inro__slot *take_from(struct shard *shard, bool (*wants)(const struct inro__slot *, const void *),
                                    const void *user) {
    pthread_mutex_lock(&shard->lock);
    struct inro__slot **link = &shard->idle;
    while (*link && !wants(*link, user))
        link = &(*link)->next;
    struct inro__slot *slot = *link;
    if (slot)
        *link = slot->next;
    pthread_mutex_unlock(&shard->lock);
    return slot;
}

static bool wears(const struct inro__slot *slot, const void *image) {
    return slot->image == image;
}

static bool is_of_guest(const struct inro__slot *slot, const void *image) {
    return slot->guest == ((const struct inro__image *)image)->guest;
}

static bool is_any(const struct inro__slot *slot, const void *unused) {
    (void)slot, (void)unused;
    return true;
}

static struct inro__slot *take_idle(const struct inro__image *image) {
    unsigned own = own_shard();
    struct inro__slot *slot = take_from(&shards[own], wears, image);
    for (unsigned i = 0; i < SHARDS && !slot; i++)
        slot = take_from(&shards[(own + i) % SHARDS], is_of_guest, image);
    return slot;
}

static inro_status make(const struct inro__image *image, struct inro__slot **out, inro_error *err) {
    inro_status status = inro__slot_new(image->guest, out, err);
    if (status == INRO_OK && !enlist(*out)) {
        inro__slot_free(*out);
        *out = NULL;
        status =
            inro__fail(err, INRO_ERR_LIMIT, 0, "%u invocations are running or nested already", INRO__SLOTS_MAX);
    }
    return status;
}

inro_status inro__pool_take(const struct inro__image *image, struct inro__slot **out, inro_error *err) {
    *out = take_idle(image);
    if (!*out) {
        inro_status status = make(image, out, err);
        if (!*out)
            return status;
    }
    inro_status status = inro__slot_dress(*out, image, err);
    if (status != INRO_OK) {
        discard(*out);
        *out = NULL;
    }
    return status;
}

void inro__pool_give(struct inro__slot *slot) {
    if (!inro__slot_reset(slot)) {
        discard(slot);
        return;
    }
    struct shard *shard = &shards[own_shard()];
    pthread_mutex_lock(&shard->lock);
    slot->next = shard->idle;
    shard->idle = slot;
    pthread_mutex_unlock(&shard->lock);
}

void inro__pool_forget(const struct inro__image *image) {
    inro_error unused;
    const struct inro__image *plain = inro__image_booted(image->guest);
    for (unsigned i = 0; i < SHARDS; i++) {
        struct inro__slot *slot;
        while ((slot = take_from(&shards[i], wears, image))) {
            if (inro__slot_dress(slot, plain, &unused) == INRO_OK)
                inro__pool_give(slot);
            else
                discard(slot);
        }
    }
}

void inro__pool_trim(void) {
    for (unsigned i = 0; i < SHARDS; i++) {
        struct inro__slot *slot;
        while ((slot = take_from(&shards[i], is_any, NULL)))
            discard(slot);
    }
}

void inro__pool_each(void (*each)(struct inro__slot *slot, void *user), void *user) {
    pthread_mutex_lock(&registry.lock);
    for (uint32_t i = 0; i < registry.count; i++)
        each(registry.slots[i], user);
    pthread_mutex_unlock(&registry.lock);
}
