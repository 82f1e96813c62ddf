/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gallery.h - one row per seeded bug of the gallery: its kernel, its state at the start and at the
 * end, and the expected verdict of the simulator.
 *
 * Each file here has one kernel, a state, and a row. The state's `bug` selects the bug or its
 * correct twin; one place in the kernel reads it, and a comment there starts with "The one place".
 * The files are C for the simulator and CUDA for a GPU; begin and check run on the host in both, on
 * memory that host and device can access.
 */
#ifndef MAM_TESTS_SIMT_GALLERY_GALLERY_H
#define MAM_TESTS_SIMT_GALLERY_GALLERY_H

#include "device/port.h"
#include "simt/simt.h"

/* The maximum number of lanes and warps in a state. */
#define GALLERY_LANES 1024
#define GALLERY_WARPS 64

/* The number of polls after which a reader stops waiting for another lane. */
#ifdef __CUDACC__
#define GALLERY_LOOKS 2000
#else
#define GALLERY_LOOKS 6
#endif

/* Host threads are fibers of the simulator; a GPU runs the kernel alone. */
#ifdef __CUDACC__
#define GALLERY_HOST(work) NULL
#else
#define GALLERY_HOST(work) (work)
#endif

/* Sets of verdicts. */
#define GALLERY_WRONG (1u << SIMT_FAILED)
#define GALLERY_RACE (1u << SIMT_RACE)
#define GALLERY_MASK (1u << SIMT_BAD_MASK)
#define GALLERY_LANE (1u << SIMT_BAD_LANE)
#define GALLERY_DEADLOCK (1u << SIMT_DEADLOCK)
#define GALLERY_LIVELOCK (1u << SIMT_LIVELOCK)

struct gallery_row {
	const char *name;
	const char *what; /* a short description of the bug */
	simt_kernel *kernel;
	size_t bytes; /* of the kernel's state */
	unsigned int grid, block;
	/*
	 * Initializes zeroed memory as the state of `grid` blocks of `block` lanes, GALLERY_LANES
	 * at most.
	 */
	void (*begin)(void *state, bool bug, unsigned int grid, unsigned int block);
	const char *(*check)(void *state); /* returns NULL, or a description of the error */
	void (*host)(void *state);         /* a concurrent host thread; NULL if there is none */
	/* The expected verdicts; 0 if the bug cannot be found: plain accesses are not seen. */
	unsigned int plain; /* in the plain program */
	unsigned int hooks; /* in the program with access hooks */
	struct simt_config config;
};

/* clang-format off */
#define GALLERY_ROWS(ROW)                                                                       \
	ROW(check_then_set)                                                                     \
	ROW(lost_count)                                                                         \
	ROW(missing_retry)                                                                      \
	ROW(overshoot)                                                                          \
	ROW(early_ticket)                                                                       \
	ROW(aba)                                                                                \
	ROW(double_attach)                                                                      \
	ROW(lost_slab)                                                                          \
	ROW(header_late)                                                                        \
	ROW(shuffle_barrier)                                                                    \
	ROW(page_no_release)                                                                    \
	ROW(missing_acquire)                                                                    \
	ROW(last_reference)                                                                     \
	ROW(late_use)                                                                           \
	ROW(block_fence)                                                                        \
	ROW(block_scope)                                                                        \
	ROW(host_scope)                                                                         \
	ROW(store_buffer)                                                                       \
	ROW(shared_race)                                                                        \
	ROW(full_mask)                                                                          \
	ROW(ended_lane)                                                                         \
	ROW(absent_lane)                                                                        \
	ROW(second_active)                                                                      \
	ROW(split_barrier)                                                                      \
	ROW(warp_lock)                                                                          \
	ROW(co_resident)
/* clang-format on */

#define GALLERY_DECLARE(name) extern const struct gallery_row gallery_##name##_row;
GALLERY_ROWS(GALLERY_DECLARE)

/* The caller's number in the grid. */
MAM_KFN uint32_t gallery_index(void)
{
	return mam_block() * mam_block_threads() + mam_thread();
}

/* All lanes of the caller's warp, when none has ended. */
MAM_KFN uint32_t gallery_warp(void)
{
	uint32_t left = mam_block_threads() - (mam_thread() - mam_lane());

	return left >= 32 ? 0xffffffffu : (1u << left) - 1;
}

/* Records that the caller saw an invalid state. */
MAM_KFN void gallery_wrong(uint32_t *wrong)
{
	(void)mam_atomic_add32(wrong, 1, MAM_RELAXED, MAM_AT_DEVICE);
}

#endif
