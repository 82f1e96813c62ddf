/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - fills memory with a pattern and checks it on the GPU, many ranges per kernel launch.
 *
 *     mam_check_fill()      a red zone, in a stream of the caller or apart from all work
 *     mam_check_follow()    later checks wait for the work of a stream of the program
 *     mam_check_fill_freed() in order with the checks
 *     mam_check_add()       a range for the next launch
 *     mam_check_launch()    all ranges at once
 *     mam_check_is_done()   without a wait; mam_check_wait() waits
 *     mam_check_bad()       of each range, the first byte that differs
 *
 * Nothing waits for the GPU except mam_check_wait*() and mam_check_end(). There
 * are two non-blocking streams: the checks wait for work of the program, and red zones must not. So no
 * call disturbs a stream capture or is ordered with the legacy stream.
 *
 * Threads: the owner locks; mam_check_wait*() need no lock.
 */
#ifndef MAM_REDZONE_CHECK_H
#define MAM_REDZONE_CHECK_H

#include "source/device.h"

#define MAM_CHECK_RANGES 512u /* per launch */
#define MAM_CHECK_INTACT UINT64_MAX
#define MAM_CHECK_FOREVER UINT64_MAX /* no limit of time */
#define MAM_CHECK_BYTE \
	0xdbu /* the pattern; no small integer, and as a pointer or float implausible */

struct mam_source;

struct mam_check_range {
	uint64_t address;
	uint64_t bytes;
};

struct mam_check {
	struct mam_device device;
	struct CUstream_st *stream; /* of the checks */
	struct CUstream_st *fills;  /* of red zones that the caller has no stream for */
	struct CUevent_st *order;   /* after the work that a check follows */
	struct CUevent_st *done;    /* after the last launch */
	struct CUmod_st *module;
	struct CUfunc_st *function;
	struct mam_check_range *ranges; /* pinned memory, which the kernel reads */
	uint64_t *bad;                  /* pinned memory, which the kernel writes */
	unsigned int count;
	bool is_passive; /* another tool finds errors: fill nothing and launch nothing */
	bool in_flight;
};

/*
 * mam_check_begin - in the context of a source, as mam_source_bind() selects it: only there can a
 * kernel read its memory. NULL, or the name of the driver's function that failed; then nothing is left
 * of it.
 */
const char *mam_check_begin(struct mam_check *check, struct mam_source *source, bool is_passive);

/* mam_check_end - wait for both streams, and free everything. */
void mam_check_end(struct mam_check *check);

/*
 * mam_check_is_possible - whether work may be submitted to a stream now: it is not in capture, and
 * no capture forbids it.
 */
bool mam_check_is_possible(const struct mam_check *check, struct CUstream_st *stream);

/* False: the driver refused. The memory is then unchanged, and no order is established. */
bool mam_check_fill(const struct mam_check *check, uintptr_t address, size_t bytes,
		    struct CUstream_st *stream);
bool mam_check_fill_freed(const struct mam_check *check, uintptr_t address, size_t bytes);
bool mam_check_follow(const struct mam_check *check, struct CUstream_st *stream);

/* mam_check_add - returns the number of the range. pre: not in flight, and there is room. */
unsigned int mam_check_add(struct mam_check *check, uintptr_t address, size_t bytes);

/*
 * mam_check_launch - if the driver refuses, the ranges count as intact, and false is returned. In
 * flight afterwards: mam_check_is_done() and mam_check_clear() must follow.
 */
bool mam_check_launch(struct mam_check *check);
bool mam_check_is_done(const struct mam_check *check);

/*
 * mam_check_wait - until mam_check_is_done(), mam_check_wait_all - for all work of the context. They poll
 * until that time of mam_clock_ns(). False: not done by then. A driver that cannot record an event after
 * all work is waited for without a limit. pre of the latter: the context is current.
 */
bool mam_check_wait(const struct mam_check *check, uint64_t until_ns);
bool mam_check_wait_all(const struct mam_check *check, uint64_t until_ns);
void mam_check_wait_fills(const struct mam_check *check);

/* mam_check_bad - offset of the first byte that differs; MAM_CHECK_INTACT: none. pre: done. */
uint64_t mam_check_bad(const struct mam_check *check, unsigned int range);
void mam_check_clear(struct mam_check *check);

#endif
