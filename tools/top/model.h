/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - what mam top knows about the processes: the figures of the last sample, the rates since
 * the one before, and live bytes of the samples before.
 */
#ifndef TOOLS_TOP_MODEL_H
#define TOOLS_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mam/statpage.h>

#include "page/page_list.h"

#define TOP_HISTORY 240    /* samples */
#define TOP_NO_GPU (-1)    /* a process without pools */
#define TOP_UNKNOWN (-1.0) /* a rate before the second sample */

#define TOP_SITES 10            /* call sites, and all others as one */
#define TOP_NO_BYTES UINT64_MAX /* the driver reports none */

/* The use of one GPU by one process: the sum of its pools there. */
struct top_use {
	int gpu; /* its number in that process */
	struct mam_statpage_figures figures;
	double alloc_rate;             /* allocations per second */
	uint64_t nvml_bytes;           /* of the process, as the driver counts; TOP_NO_BYTES */
	uint64_t history[TOP_HISTORY]; /* live bytes; a ring */
	unsigned int samples;          /* count of all samples; the last is at samples - 1 modulo */
	struct mam_statpage_holder sites[TOP_SITES + 1]; /* see mam_statpage_read_sites() */
	size_t site_count;
	struct mam_statpage_holder sites_sum;
	uint64_t sites_since; /* 0: the process does not sample */
};

struct top_pool {
	unsigned int number; /* index on the page */
	char name[33], source[33];
	int gpu;
	bool has_ended;
	struct mam_statpage_figures figures;
	double alloc_rate;
};

struct top_process {
	pid_t pid;
	uint64_t start;
	unsigned int copy;
	uint64_t rank; /* of a parallel program, + 1; 0: none */
	char program[65];
	uint64_t sampled_ns;    /* time of the last sample */
	struct top_use *uses;   /* sorted by gpu; at least one */
	struct top_pool *pools; /* sorted by number */
	size_t use_count, pool_count;
};

/* A GPU of the machine, as NVML numbers them. */
struct top_gpu {
	char name[97];
	uint64_t used_bytes, total_bytes;
};

struct top_model {
	struct page_list list;         /* its `is_quiet` may be set before the first sample */
	struct top_process *processes; /* sorted by pid, start and copy */
	size_t count;
	struct top_gpu gpus[MAM_STATPAGE_DEVICES]; /* set by nvml_sample() */
	int gpu_count;                             /* 0: NVML is not available */
};

/*
 * top_model_sample - read all pages. `now_ns` is the time on any clock. False: out of memory
 * (reported); the model is unchanged.
 */
bool top_model_sample(struct top_model *model, uint64_t now_ns);
void top_model_fini(struct top_model *model);

/*
 * Live bytes that were allocated before sampling began, as an estimate; 0: so few that the error of the
 * sample explains them.
 */
uint64_t top_unsampled(const struct top_use *use);

/* Live bytes `age` samples ago; 0: the last one. 0 if there was no such sample. */
uint64_t top_history(const struct top_use *use, unsigned int age);

/* Adds the figures of a part to a sum. */
void top_add(struct mam_statpage_figures *sum, const struct mam_statpage_figures *part);

#endif
