/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_sim.c - pages_device.h on the simulator: the same files that nvcc compiles, as C.
 */
#include "pages_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/pages/pages_device.h"
#include "simt/simt.h"

#include "bench/papers/model/model_kernels.cu"
#include "bench/pages/pages_checks.cu"
#include "bench/pages/pages_cuda.cu"
#include "bench/pages/pages_ours.cu"
#include "bench/papers/walk/pages_published.cu"

#define CHECK_THREADS 32 /* of a check, which works with any number; fibers are slow */

#define ONE(name)                                                       \
	{ "get_" #name, get_##name }, { "steps_" #name, steps_##name }, \
	{                                                               \
		"give_" #name, give_##name                              \
	}
#define OPEN(name)                         \
	{                                  \
		"open_" #name, open_##name \
	}
#define RUNS(name)                                                                  \
	{ "getrun_" #name, getrun_##name }, { "stepsrun_" #name, stepsrun_##name }, \
		{ "giverun_" #name, giverun_##name },                               \
	{                                                                           \
		"churnrun_" #name, churnrun_##name                                  \
	}

static const struct {
	const char *name;
	simt_kernel *kernel;
} kernels[] = {
	ONE(mam),
	RUNS(mam),
	OPEN(mam),
	ONE(rw),
	OPEN(rw),
	ONE(rwbm),
	OPEN(rwbm),
	ONE(crw),
	OPEN(crw),
	ONE(corw),
	OPEN(corw),
	ONE(queue),
	OPEN(queue),
	ONE(bump),
	OPEN(bump),
	ONE(bumpw),
	OPEN(bumpw),
	RUNS(rwmalloc),
	OPEN(rwmalloc),
	{ "ready_queue", ready_queue },
	{ "get_cuda", get_cuda },
	{ "give_cuda", give_cuda },
	{ "churn_cuda", churn_cuda },
	{ "write_cuda", write_cuda },
	{ "read_cuda", read_cuda },
	{ "check_mark", check_mark },
	{ "check_write", check_write },
	{ "check_read", check_read },
	{ "check_count", check_count },
	{ "check_compare", check_compare },
	{ "check_nothing", check_nothing },
	{ "model_atomic", model_atomic },
	{ "model_found_corw", model_found_corw },
	{ "model_again_rw", model_again_rw },
	{ "model_again_rwbm", model_again_rwbm },
	{ "model_again_crw", model_again_crw },
	{ "model_give_mam", model_give_mam },
	{ "model_give_rw", model_give_rw },
	{ "model_give_rwbm", model_give_rwbm },
	{ "model_give_corw", model_give_corw },
	{ "model_give_queue", model_give_queue },
};

void (*pages_sim_after)(const char *kernel, const struct pages_job *job);
const char *pages_sim_refused;
unsigned int pages_sim_kernels, pages_sim_blocks;
static char trouble[SIMT_TEXT_BYTES + 64];

void pages_sim_reset(void)
{
	pages_sim_after = NULL;
	pages_sim_refused = NULL;
	pages_sim_kernels = pages_sim_blocks = 0;
	trouble[0] = '\0';
}

bool pages_device_start(uint64_t heap_bytes, char *why, size_t why_bytes)
{
	(void)heap_bytes;
	snprintf(why, why_bytes, "%s", "");
	return true;
}

void pages_device_stop(void)
{
}

const char *pages_device_trouble(void)
{
	return trouble;
}

bool pages_device_has(const char *kernel)
{
	size_t i;

	for (i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		if (strcmp(kernels[i].name, kernel) == 0)
			return true;
	}
	return false;
}

unsigned int pages_device_registers(const char *kernel)
{
	return pages_device_has(kernel) ? 32 : 0;
}

uint64_t pages_device_free_bytes(void)
{
	return UINT64_C(1) << 28;
}

void *pages_device_take(uint64_t bytes)
{
	void *memory = bytes <= pages_device_free_bytes() ? malloc((size_t)bytes) : NULL;

	pages_sim_blocks += memory != NULL;
	return memory;
}

void pages_device_give(void *memory)
{
	pages_sim_blocks -= memory != NULL;
	free(memory);
}

bool pages_device_fill(void *memory, unsigned char value, uint64_t bytes)
{
	memset(memory, value, (size_t)bytes);
	return trouble[0] == '\0';
}

bool pages_device_put(void *to, const void *from, uint64_t bytes)
{
	memcpy(to, from, (size_t)bytes);
	return trouble[0] == '\0';
}

bool pages_device_fetch(void *to, const void *from, uint64_t bytes)
{
	return pages_device_put(to, from, bytes);
}

bool pages_device_copy(void *to, const void *from, uint64_t bytes)
{
	return pages_device_put(to, from, bytes);
}

bool pages_device_run(const char *kernel, uint64_t threads, const struct pages_job *job, double *us)
{
	const struct simt_config config = { .seed = pages_sim_kernels + 1,
					    .policy = SIMT_BY_WARP,
					    .steps_max = 50000000 };
	struct simt_result result;
	struct pages_job copy = *job;
	unsigned int block = PAGES_BLOCK;
	size_t i;

	if (trouble[0] != '\0')
		return false;
	if (pages_sim_refused != NULL && strcmp(kernel, pages_sim_refused) == 0) {
		snprintf(trouble, sizeof(trouble), "kernel %s: refused", kernel);
		return false;
	}
	for (i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		if (strcmp(kernels[i].name, kernel) == 0)
			break;
	}
	if (i == sizeof(kernels) / sizeof(kernels[0])) {
		snprintf(trouble, sizeof(trouble), "there is no kernel %s", kernel);
		return false;
	}
	if (strncmp(kernel, "check_", 6) == 0 && threads > CHECK_THREADS)
		threads = block = CHECK_THREADS;
	pages_sim_kernels++;
	if (threads > 0 &&
	    simt_launch(&config, kernels[i].kernel, (unsigned int)((threads + block - 1) / block),
			block, &copy, &result) != SIMT_FINE) {
		snprintf(trouble, sizeof(trouble), "kernel %s: %s: %s", kernel,
			 simt_verdict_name(result.verdict), result.text);
		return false;
	}
	if (pages_sim_after != NULL)
		pages_sim_after(kernel, job);
	if (us != NULL)
		*us = threads > 0 ? 1 + (double)result.steps / 1000 : 1; /* any value above 0 */
	return true;
}
