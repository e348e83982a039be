/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_TASKS_H
#define BENCH_TASKS_H

#include "bench.h"

/* Everything that one contender's call can show. */
extern const struct task tasks[];
extern const size_t tasks_count;

#endif
