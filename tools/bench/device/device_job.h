/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_job.h - inputs and outputs of a kernel of `mam bench device`, shared by the host and the
 * kernels; and the size that an asker requests.
 *
 * An asker is a lane that requests objects. Askers are the first `lanes` lanes of each warp; they
 * are numbered consecutively, and the arrays have an element for each. A size depends only on the
 * asker's number, so that every allocator gets the same requests.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_JOB_H
#define MAM_TOOLS_BENCH_DEVICE_JOB_H

#include "bench/harness/mix.h"

#define DEVICE_WARP 32
#define DEVICE_BLOCK 256 /* threads of a block, unless a launch specifies otherwise */
#define DEVICE_GRAIN 16  /* bytes of the heap per bit of the map */

/* Counters of kernels. */
struct device_found {
	uint64_t none;      /* askers whose request failed */
	uint64_t objects;   /* that askers got */
	uint64_t bytes;     /* requested bytes of successful requests */
	uint64_t twice;     /* objects that share a byte with another */
	uint64_t beyond;    /* objects that are not entirely inside the heap */
	uint64_t corrupt;   /* parts of objects that differ from what their owner wrote */
	uint64_t crooked;   /* objects misaligned to 8, or to 16 if they have as many bytes */
	uint64_t refused;   /* frees that the allocator rejected, if it reports that */
	uint64_t low;       /* the lowest address, as ~address, so that it is a maximum */
	uint64_t high;      /* the highest end address of an object */
	uint64_t cycles[2]; /* of all malloc, of all free: sums over warps */
	uint64_t warps;     /* that counted cycles */
	uint64_t spare[3];
};

struct device_job {
	void *heap;        /* the allocator's */
	uint32_t askers;   /* count */
	uint32_t lanes;    /* requesting lanes of each warp: from 1 to DEVICE_WARP */
	uint32_t min, max; /* requested bytes; sizes in between depend on the asker's number */
	uint32_t seed;     /* of those sizes */
	uint32_t rounds;   /* of kernels that repeat something */
	/* number of: share: askers that free theirs; exhaust, release: requests; exchange: slots */
	uint32_t count;
	uint32_t flags;     /* specific to the kernel */
	uint64_t *got;      /* an asker's object, 0: none */
	uint64_t *more;     /* a second array, specific to the kernel */
	uint32_t *numbers;  /* a third one */
	uint64_t *map;      /* a bit for each DEVICE_GRAIN of the heap, starting at `low` */
	uint64_t low, high; /* address range of the heap, which the map covers */
	struct device_found *found;
	uint64_t own[4]; /* specific to the kernel */
	/* bytes of each object for the checks; NULL: those of device_bytes_of() */
	const uint32_t *sizes;
};

/* The size that an asker requests. */
MAM_KBOTH uint32_t device_bytes_of(const struct device_job *job, uint32_t asker)
{
	if (job->min == job->max)
		return job->min;
	return job->min +
	       bench_mix(asker + job->seed * 0x9e3779b9u + 1) % (job->max - job->min + 1);
}

#endif
