/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-growth.cu - benchmarks and stress tests of heaps that grow while kernels run.
 *
 *       nvcc -arch=native -I PREFIX/include -I tests/clients -o gpu-growth \
 *               tools/bench/growth/gpu-growth.cu -L PREFIX/lib -lmam
 *       ./gpu-growth PART [--seconds N] [--lanes N]
 *
 * PART is a name of the table below; its gpu-growth-*.cuh describes it. gpu-growth.sh runs all of
 * them and makes a table of the rows. --seconds (10): how long `soak` runs. --lanes (1M): for parts
 * with a variable number of lanes.
 *
 * Status: 0, and "all is well" last; 1 if a check or a call failed, 2 for invalid usage, 3 if a
 * kernel did not return. A part that takes longer than two minutes is ended.
 */
#include "gpu-growth-equal.cuh"
#include "gpu-growth-others.cuh"
#include "gpu-growth-reach.cuh"
#include "gpu-growth-soak.cuh"
#include "gpu-growth-ten.cuh"

/* The first CUDA call of a process. */
static void begin(struct growth_stage *stage)
{
	struct stage *objects = &stage->objects;
	struct cudaDeviceProp properties;

	check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
	stage->sms = (unsigned int)properties.multiProcessorCount;
	check(cudaMalloc(&objects->table.at, objects->table.lanes * sizeof(*objects->table.at)),
	      "memory");
	check(cudaMalloc(&objects->table.bytes,
			 objects->table.lanes * sizeof(*objects->table.bytes)),
	      "memory");
	check(cudaMallocManaged(&objects->table.vain, (1 + WRONGS + 4) * sizeof(u64)), "memory");
	objects->table.bad = objects->table.vain + 1;
	stage->numbers = objects->table.bad + WRONGS;
	for (cudaStream_t &stream : objects->streams)
		check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
		      "cudaStreamCreate");
}

static const struct {
	const char *name;
	void (*make)(struct growth_stage *stage);
	/* For parts with several processes. */
	void (*fork)(void (*begin)(struct growth_stage *stage), struct growth_stage *stage);
} parts[] = {
	{ "reach", make_reach, NULL },       { "new", make_new, NULL },
	{ "crowd", make_crowd, NULL },       { "equal", make_equal, NULL },
	{ "ten", make_ten, NULL },           { "idle", make_idle, NULL },
	{ "causes", make_causes, NULL },     { "stopped", NULL, fork_stopped },
	{ "full", make_full, NULL },         { "streams", make_streams, NULL },
	{ "pressure", NULL, fork_pressure }, { "soak", make_soak, NULL },
};

int main(int argument_count, char **arguments)
{
	struct growth_stage stage = {};
	double from = seconds_now();

	stage.seconds = 10;
	stage.objects.table.lanes = 1u << 20;
	if (argument_count < 2)
		fail(2,
		     "no part given: reach, new, crowd, equal, ten, idle, causes, stopped, full, "
		     "streams, pressure or soak");
	for (int i = 2; i < argument_count; i += 2) {
		int number = i + 1 < argument_count ? std::atoi(arguments[i + 1]) : 0;

		if (number > 0 && !std::strcmp(arguments[i], "--seconds"))
			stage.seconds = number;
		else if (number >= 1 << 18 && !std::strcmp(arguments[i], "--lanes"))
			stage.objects.table.lanes = (unsigned int)number;
		else
			fail(2, "what is %s? Give --seconds N, or --lanes N of %d at least",
			     arguments[i], 1 << 18);
	}
	for (const auto &part : parts) {
		if (std::strcmp(part.name, arguments[1]))
			continue;
		std::setvbuf(stdout, NULL, _IOLBF, 0);
		alarm(2 * SECONDS);
		/* Lazy loading would wait for running kernels. */
		setenv("CUDA_MODULE_LOADING", "EAGER", 0);
		if (part.fork) {
			part.fork(begin, &stage);
		} else {
			begin(&stage);
			part.make(&stage);
		}
		std::printf("   %.2f s\nall is well\n", seconds_now() - from);
		return 0;
	}
	fail(2, "there is no part %s", arguments[1]);
}
