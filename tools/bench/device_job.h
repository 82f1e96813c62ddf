/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_job.h - what a kernel of `mam bench device` is told and what it tells, as the host and the
 * kernels both see it; and how much an asker asks for.
 *
 * An asker is a lane that asks for objects. Askers are the first `lanes` lanes of each warp; they
 * are numbered through, and the arrays have a place for each. What it asks for follows from its
 * number alone, so that every allocator is asked the same.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_JOB_H
#define MAM_TOOLS_BENCH_DEVICE_JOB_H

#include "bench/mix.h"

#define DEVICE_WARP 32
#define DEVICE_BLOCK 256 /* threads of a block, unless a launch says otherwise */
#define DEVICE_GRAIN 16  /* bytes of ground for which the map has a bit */

/* What kernels count. */
struct device_found {
	uint64_t none;    /* askers that got nothing */
	uint64_t objects; /* that askers got */
	uint64_t bytes;   /* that they had asked for, of those that got something */
	uint64_t twice;   /* objects that share a byte of theirs with another */
	uint64_t beyond;  /* objects that do not lie wholly in the ground */
	uint64_t corrupt; /* parts of objects that say something else than their owner wrote */
	uint64_t crooked; /* objects at no multiple of 8, or of 16 where they have as many bytes */
	uint64_t refused; /* frees that the allocator did not take, where it says so */
	uint64_t low;     /* the lowest address of an object, as ~address, so that the most is it */
	uint64_t high;    /* the highest address behind one */
	uint64_t cycles[2]; /* of all malloc, of all free: sums over warps */
	uint64_t warps;     /* that counted cycles */
	uint64_t spare[3];
};

struct device_job {
	void *heap;           /* the allocator's */
	uint32_t askers;      /* count */
	uint32_t lanes;       /* that ask, in each warp: from 1 to DEVICE_WARP */
	uint32_t least, most; /* bytes an asker asks for; sizes between them by its number */
	uint32_t seed;        /* of those sizes */
	uint32_t rounds;      /* of kernels that do a thing more than once */
	uint32_t count;       /* share: so many of the askers give theirs back */
	uint32_t flags;       /* of the kernel's own */
	uint64_t *got;        /* an asker's object, 0: none */
	uint64_t *more;       /* a second array, of the kernel's own */
	uint32_t *numbers;    /* a third one */
	uint64_t *map;        /* a bit for each DEVICE_GRAIN of the ground, from `low` */
	uint64_t low, high;   /* addresses: the ground; the map covers it */
	struct device_found *found;
	uint64_t own[4]; /* of the kernel's own */
};

/* What an asker asks for. */
MAM_KBOTH uint32_t device_bytes_of(const struct device_job *job, uint32_t asker)
{
	if (job->least == job->most)
		return job->least;
	return job->least +
	       bench_mix(asker + job->seed * 0x9e3779b9u + 1) % (job->most - job->least + 1);
}

#endif
