/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.h - stops lanes before any one of their atomics until all other lanes have ended: to the
 * other lanes they have stopped forever. Include it before any header of device code.
 *
 * 1. Each atomic of device code after this include is counted for its lane.
 * 2. A lane that called stop_after() stops before the atomic of that number.
 * 3. The lane continues when as many lanes have called stop_leave() as stop_begin() specified. So
 *    its operation is complete at the end.
 *
 * A warp with a stopped lane reaches its next collective and waits there.
 */
#ifndef MAM_TESTS_HEAP_STOP_H
#define MAM_TESTS_HEAP_STOP_H

#include "device/port.h"
#include "simt/simt.h"

#define STOP_LANES 256

/* For the test's own metadata: neither a step of the simulator nor visible to the race checker. */
#define STOP_UNSEEN static __attribute__((noinline, unused, no_sanitize("thread")))

static struct {
	uint32_t after[STOP_LANES]; /* atomics left before the stop, plus one; 0: never stops */
	uint32_t others;            /* lanes that have not left; atomic */
	uint32_t stopped;           /* lanes that have stopped */
} stop;

STOP_UNSEEN uint32_t stop_self(void)
{
	return (simt_block() * simt_block_threads() + simt_thread()) % STOP_LANES;
}

/* Returns whether the caller stops now. */
STOP_UNSEEN bool stop_now(void)
{
	uint32_t *after = &stop.after[stop_self()];

	if (!*after || --*after)
		return false;
	stop.stopped++;
	return true;
}

STOP_UNSEEN void stop_point(void)
{
	if (!stop_now())
		return;
	while (simt_atomic(&stop.others, 4, SIMT_LOAD, 0, 0, MAM_RELAXED, MAM_AT_DEVICE, "stopped"))
		simt_nanosleep(1000, "stopped");
}

STOP_UNSEEN uint64_t stop_atomic(volatile void *where, unsigned int bytes, enum simt_op op,
				 uint64_t operand, uint64_t expected, enum simt_order order,
				 enum simt_scope scope, const char *site)
{
	stop_point();
	return simt_atomic(where, bytes, op, operand, expected, order, scope, site);
}

#undef SIMT_AT16
#undef SIMT_AT32
#undef SIMT_AT64
#define SIMT_AT16(where, op, operand, expected, order, scope) \
	((uint16_t)stop_atomic(SIMT_P16(where), 2, op, operand, expected, order, scope, SIMT_SITE))
#define SIMT_AT32(where, op, operand, expected, order, scope) \
	((uint32_t)stop_atomic(SIMT_P32(where), 4, op, operand, expected, order, scope, SIMT_SITE))
#define SIMT_AT64(where, op, operand, expected, order, scope) \
	stop_atomic(SIMT_P64(where), 8, op, operand, expected, order, scope, SIMT_SITE)

/* Before a run: no lane stops yet, and `others` lanes have yet to leave. */
static inline void stop_begin(uint32_t others)
{
	memset(&stop, 0, sizeof(stop));
	stop.others = others;
}

/* Makes the caller stop before its `atomics`-th atomic from now on, unless it ends first. */
STOP_UNSEEN void stop_after(uint32_t atomics)
{
	stop.after[stop_self()] = atomics;
}

/* Records that the caller has finished. */
static inline void stop_leave(void)
{
	(void)simt_atomic(&stop.others, 4, SIMT_ADD, ~0u, 0, MAM_RELAXED, MAM_AT_DEVICE, "leaves");
}

#endif
