/* Inside a host object: a callback with its user data, counted.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INRO__OBJECT_H
#define INRO__OBJECT_H

#include <inro/service.h>
#include <stdatomic.h>

struct inro_object {
    atomic_size_t references;
    inro_service_fn call;
    void *user;
    inro_release_fn release; /* may be NULL */
};

#endif
