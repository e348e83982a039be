/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/pool.h"

#include "base/error.h"

#include <pthread.h>

static struct {
    pthread_mutex_t idle_lock; /* the free list */
    struct inro__slot *idle;
    pthread_mutex_t all_lock; /* the table of all; taken after idle_lock, if both */
    struct inro__slot *all[INRO__SLOTS_MAX];
    uint32_t count;
} pool = {.idle_lock = PTHREAD_MUTEX_INITIALIZER, .all_lock = PTHREAD_MUTEX_INITIALIZER};

/* The child of a fork has one thread. Slots that other threads had in use stay unused there: their memory was
 * half way through something. */
static void pool_before_fork(void) {
    pthread_mutex_lock(&pool.idle_lock);
    pthread_mutex_lock(&pool.all_lock);
}

static void pool_after_fork(void) {
    pthread_mutex_unlock(&pool.all_lock);
    pthread_mutex_unlock(&pool.idle_lock);
}

__attribute__((constructor)) static void pool_at_fork(void) {
    pthread_atfork(pool_before_fork, pool_after_fork, pool_after_fork);
}

static bool enlist(struct inro__slot *slot) {
    pthread_mutex_lock(&pool.all_lock);
    bool room = pool.count < INRO__SLOTS_MAX;
    if (room) {
        slot->number = pool.count;
        pool.all[pool.count++] = slot;
    }
    pthread_mutex_unlock(&pool.all_lock);
    return room;
}

static void discard(struct inro__slot *slot) {
    pthread_mutex_lock(&pool.all_lock);
    struct inro__slot *last = pool.all[--pool.count];
    pool.all[slot->number] = last;
    last->number = slot->number;
    pthread_mutex_unlock(&pool.all_lock);
    inro__slot_free(slot);
}

/* The first idle slot that wears the image, else the last one in the list (worn longest ago). */
static struct inro__slot *take_idle(const struct inro__image *image) {
    pthread_mutex_lock(&pool.idle_lock);
    struct inro__slot **link = &pool.idle, **found = NULL;
    for (; *link; link = &(*link)->next) {
        if ((*link)->guest != image->guest)
            continue;
        found = link;
        if ((*link)->image == image)
            break;
    }
    struct inro__slot *slot = found ? *found : NULL;
    if (slot)
        *found = slot->next;
    pthread_mutex_unlock(&pool.idle_lock);
    return slot;
}

static inro_status make(const struct inro__image *image, struct inro__slot **out, inro_error *err) {
    inro_status status = inro__slot_new(image->guest, out, err);
    if (status == INRO_OK && !enlist(*out)) {
        inro__slot_free(*out);
        *out = NULL;
        status = inro__fail(err, INRO_ERR_LIMIT, 0, "%u invocations are running or nested already", INRO__SLOTS_MAX);
    }
    return status;
}

inro_status inro__pool_take(const struct inro__image *image, struct inro__slot **out, inro_error *err) {
    *out = take_idle(image);
    if (!*out) {
        inro_status status = make(image, out, err);
        if (status != INRO_OK)
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
    pthread_mutex_lock(&pool.idle_lock);
    slot->next = pool.idle;
    pool.idle = slot;
    pthread_mutex_unlock(&pool.idle_lock);
}

/* Takes the idle slots that wear `image` (NULL: all) off the list and unmaps them. */
static void discard_idle(const struct inro__image *image) {
    struct inro__slot *going = NULL;
    pthread_mutex_lock(&pool.idle_lock);
    for (struct inro__slot **link = &pool.idle; *link;) {
        struct inro__slot *slot = *link;
        if (image && slot->image != image) {
            link = &slot->next;
            continue;
        }
        *link = slot->next;
        slot->next = going;
        going = slot;
    }
    pthread_mutex_unlock(&pool.idle_lock);
    while (going) {
        struct inro__slot *next = going->next;
        discard(going);
        going = next;
    }
}

void inro__pool_forget(const struct inro__image *image) {
    inro_error unused;
    struct inro__slot *slot;
    const struct inro__image *plain = inro__image_booted(image->guest);
    for (;;) {
        pthread_mutex_lock(&pool.idle_lock);
        struct inro__slot **link = &pool.idle;
        while (*link && (*link)->image != image)
            link = &(*link)->next;
        slot = *link;
        if (slot)
            *link = slot->next;
        pthread_mutex_unlock(&pool.idle_lock);
        if (!slot)
            return;
        if (inro__slot_dress(slot, plain, &unused) != INRO_OK)
            discard(slot);
        else
            inro__pool_give(slot);
    }
}

void inro__pool_trim(void) {
    discard_idle(NULL);
}

void inro__pool_each(void (*each)(struct inro__slot *slot, void *user), void *user) {
    pthread_mutex_lock(&pool.all_lock);
    for (uint32_t i = 0; i < pool.count; i++)
        each(pool.all[i], user);
    pthread_mutex_unlock(&pool.all_lock);
}
