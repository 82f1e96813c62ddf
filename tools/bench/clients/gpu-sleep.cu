/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-sleep.cu - suspend and resume of pools on a real GPU: time, memory and contents.
 *
 *   gpu-sleep calls            the driver's calls of a suspend, without mam: pinning host memory in several ways,
 *                              and mapping and unmapping pieces of several sizes, also while a copy runs
 *   gpu-sleep cycle            fill a pool of --bytes, suspend it to --to (host, discard or a folder), resume it, and
 *                              check its contents by a graph that was captured before; --repeat times
 *   gpu-sleep stress           for --seconds: pools of --bytes are suspended and resumed in three ways by threads of
 *                              their own, frees and allocations change them meanwhile, and other threads allocate
 *                              from a pool that stays; kernels check all blocks
 *
 * stdout: lines "WORKLOAD,PARAMETER,METRIC,VALUE". Each cycle ends with the calls that mam made, by the time spent in
 * them: the program is the first to define dlsym(), by which mam finds the driver's functions, and counts for it.
 * `control`: a word that the program changed was found, without which the checks prove nothing.
 *
 * Exit status: 0, 1 if contents or memory were wrong, 2 if a call failed.
 */
#include "gpu-sleep-calls.cuh"

/* --- cycle -------------------------------------------------------------------------------------------------------- */

/* cudaMemcpy from and to pinned memory, of 2 GiB: medians. */
static void measure_copies()
{
	size_t bytes = std::min(2 * GIB, options.bytes);
	std::vector<double> out, in;
	void *host, *device;

	CHECK(cudaHostAlloc(&host, bytes, cudaHostAllocPortable));
	CHECK(cudaMalloc(&device, bytes));
	memset(host, 1, bytes);
	for (int i = 0; i < 7; i++) {
		double began = now_ms();

		CHECK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
		out.push_back(gbps(bytes, now_ms() - began));
		began = now_ms();
		CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
		CHECK(cudaDeviceSynchronize());
		in.push_back(gbps(bytes, now_ms() - began));
	}
	CHECK(cudaFree(device));
	CHECK(cudaFreeHost(host));
	options.to_host = median(out);
	options.to_device = median(in);
	row("memcpy", text_of(bytes), "to_host_gbps", options.to_host);
	row("memcpy", text_of(bytes), "to_device_gbps", options.to_device);
}

static void report_calls(const char *workload, const std::string &parameter, const char *when)
{
	for (const counter &c : counters) {
		if (!c.calls)
			continue;
		row(workload, parameter, std::string(when) + "_" + c.name + "_calls",
		    (double)c.calls);
		row(workload, parameter, std::string(when) + "_" + c.name + "_ms",
		    (double)c.ns / 1e6);
	}
}

static double counted_ms(std::initializer_list<int> which)
{
	double sum = 0;

	for (int i : which)
		sum += (double)counters[i].ns / 1e6;
	return sum;
}

/* A lazy suspend whose memory nothing needs, and the end of the pinned memory that the pool kept. */
static void measure_unpin(const char *workload, const std::string &parameter, mam_pool *pool)
{
	struct mam_suspend_attr attr = MAM_SUSPEND_ATTR_INIT;
	double began = now_ms();
	size_t bytes = 0;

	attr.lazy = true;
	CHECK_MAM(mam_pool_suspend(pool, &attr));
	CHECK_MAM(mam_pool_resume(pool));
	row(workload, parameter, "lazy_suspend_and_resume_ms", now_ms() - began);
	began = now_ms();
	CHECK_MAM(mam_pool_unpin(pool, &bytes));
	row(workload, parameter, "unpin_ms", now_ms() - began);
	row(workload, parameter, "unpinned_gib", (double)bytes / GIB);
}

static void cycle()
{
	struct mam_suspend_attr attr = MAM_SUSPEND_ATTR_INIT;
	const bool discards = options.to == "discard", to_host = options.to == "host";
	const std::string parameter = text_of(options.bytes);
	const char *workload = to_host ? "host" : discards ? "discard" : "file";
	cudaGraphExec_t graph;
	cudaGraph_t captured;
	checker check;
	word wrong = 0, found;

	attr.discard = discards;
	attr.folder = to_host || discards ? NULL : options.to.c_str();
	if (!discards)
		measure_copies();
	fill_block({ check.counter_address(), 8, 1 }, check.stream); /* loads the kernels */
	verify_block({ check.counter_address(), 8, 1 }, check.counter_address(), check.stream);
	check.take();
	const double host_before = host_available_gib();
	mam_pool *pool = new_pool("sleeper");
	const size_t device_before = free_device_bytes();
	std::vector<block> blocks = fill_pool(pool, options.bytes, check.stream);
	row(workload, parameter, "mapped_gib", (double)stats_of(pool).physical_bytes / GIB);
	row(workload, parameter, "pieces", (double)counters[CREATE].calls);

	CHECK(cudaStreamBeginCapture(check.stream, cudaStreamCaptureModeThreadLocal));
	for (const block &b : blocks)
		verify_block(b, check.counter_address(), check.stream);
	CHECK(cudaStreamEndCapture(check.stream, &captured));
	CHECK(cudaGraphInstantiate(&graph, captured, 0));
	CHECK(cudaGraphLaunch(graph, check.stream));
	wrong += check.take();
	CHECK(cudaMemsetAsync((char *)blocks.back().at + 8, 0, 8, check.stream));
	CHECK(cudaGraphLaunch(graph, check.stream));
	found = check.take();
	row(workload, parameter, "control", (double)found);
	wrong_runs += found != 1;
	fill_block(blocks.back(), check.stream);
	check.take();

	for (int i = 0; i < options.repeat; i++) {
		const std::string run = parameter + " " + std::to_string(i + 1);
		double began, ms, pin;

		reset_counters();
		began = now_ms();
		CHECK_MAM(mam_pool_suspend(pool, &attr));
		ms = now_ms() - began;
		pin = counted_ms({ PIN, REGISTER });
		row(workload, run, "suspend_ms", ms);
		if (!discards) {
			row(workload, run, "suspend_share",
			    gbps(options.bytes, ms) / options.to_host);
			row(workload, run, "suspend_share_without_pinning",
			    gbps(options.bytes, std::max(ms - pin, 1.)) / options.to_host);
		}
		report_calls(workload, run, "suspend");
		row(workload, run, "suspended_device_mib",
		    ((double)device_before - (double)free_device_bytes()) / MIB);
		row(workload, run, "suspended_host_gib", host_before - host_available_gib());
		/* The driver has tables for the pinned memory: 8 bytes per page of 4 KiB. */
		wrong_runs += (double)device_before - (double)free_device_bytes() >
			      64. * MIB + (to_host ? (double)options.bytes / 500 : 0);

		reset_counters();
		began = now_ms();
		CHECK_MAM(mam_pool_resume(pool));
		ms = now_ms() - began;
		pin = counted_ms({ UNPIN, UNREGISTER });
		row(workload, run, "resume_ms", ms);
		if (!discards) {
			row(workload, run, "resume_share",
			    gbps(options.bytes, ms) / options.to_device);
			row(workload, run, "resume_share_without_pinning",
			    gbps(options.bytes, std::max(ms - pin, 1.)) / options.to_device);
		}
		report_calls(workload, run, "resume");
		row(workload, run, "host_left_gib", host_before - host_available_gib());
		if (discards) {
			for (const block &b : blocks)
				fill_block(b, check.stream);
		}
		CHECK(cudaGraphLaunch(graph, check.stream));
		found = check.take();
		row(workload, run, "wrong_words", (double)found);
		wrong += found;
	}
	wrong_runs += wrong != 0;
	measure_unpin(workload, parameter, pool);
	row(workload, parameter, "host_left_gib", host_before - host_available_gib());
	for (const block &b : blocks)
		CHECK_MAM(mam_free(pool, b.at));
	CHECK_MAM(mam_pool_destroy(pool));
}

/* --- stress ------------------------------------------------------------------------------------------------------- */

static std::atomic<bool> stop{ false };
static std::atomic<word> stress_wrong{ 0 }, stress_cycles{ 0 }, stress_blocks{ 0 };

struct random_numbers {
	uint64_t state;

	size_t operator()(size_t below)
	{
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		return (size_t)(state >> 33) % below;
	}
};

static void allocate(mam_pool *pool, std::vector<block> &blocks, size_t bytes, random_numbers &any,
		     cudaStream_t stream)
{
	block b = { NULL, bytes & ~(size_t)7, any((size_t)1 << 30) };
	void *at;

	CHECK_MAM(mam_malloc(pool, b.bytes, &at));
	b.at = (word *)at;
	fill_block(b, stream);
	blocks.push_back(b);
	stress_blocks++;
}

static void free_one(mam_pool *pool, std::vector<block> &blocks, random_numbers &any)
{
	size_t i = any(blocks.size());

	CHECK_MAM(mam_free(pool, blocks[i].at));
	blocks[i] = blocks.back();
	blocks.pop_back();
}

/* Suspends and resumes pools of its own; at times a second one while the first is suspended. */
static void sleeper(int number)
{
	static const char *const names[] = { "weights", "kv", "activations" };
	const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	random_numbers any = { (uint64_t)number * 77 + 1 };
	std::vector<block> blocks[3];
	mam_pool *pools[3];
	checker check;

	for (int i = 0; i < 3; i++) {
		const size_t limit = i == 2 ? options.bytes / 8 : options.bytes;

		pools[i] = new_pool(names[i]);
		for (size_t sum = 0; sum < limit; sum += blocks[i].back().bytes)
			allocate(pools[i], blocks[i], 4096 + any(limit / 8), any, check.stream);
	}
	while (!stop) {
		const int count = 1 + (int)any(3);
		int order[3] = { 0, 1, 2 };

		for (int i = 2; i > 0; i--)
			std::swap(order[i], order[any((size_t)i + 1)]);
		for (int i = 0; i < count; i++) {
			struct mam_suspend_attr attr = MAM_SUSPEND_ATTR_INIT;

			attr.discard = order[i] == 1;
			attr.folder = order[i] == 2 ? folder : NULL;
			CHECK_MAM(mam_pool_suspend(pools[order[i]], &attr));
		}
		for (int i = 0; i < count; i++)
			for (size_t frees = any(4); frees > 0 && blocks[order[i]].size() > 2;
			     frees--)
				free_one(pools[order[i]], blocks[order[i]], any);
		for (int i = count - 1; i >= 0; i--) {
			const int at = order[i];

			CHECK_MAM(mam_pool_resume(pools[at]));
			if (at == 1)
				for (const block &b : blocks[at])
					fill_block(b, check.stream);
		}
		for (int i = 0; i < 3; i++) {
			for (const block &b : blocks[i])
				verify_block(b, check.counter_address(), check.stream);
			stress_wrong += check.take();
			while (blocks[i].size() < 8)
				allocate(pools[i], blocks[i],
					 4096 + any((i == 2 ? options.bytes / 8 : options.bytes) /
						    8),
					 any, check.stream);
		}
		stress_cycles += (word)count;
	}
	for (int i = 0; i < 3; i++) {
		for (const block &b : blocks[i])
			CHECK_MAM(mam_free(pools[i], b.at));
		CHECK_MAM(mam_pool_destroy(pools[i]));
	}
}

/* Allocates, fills, checks and frees in a pool that is never suspended. */
static void other(mam_pool *pool, int number)
{
	random_numbers any = { (uint64_t)number * 99 + 5 };
	std::vector<block> blocks;
	checker check;

	while (!stop) {
		while (blocks.size() < 16)
			allocate(pool, blocks, 256 + any(any(8) ? MIB : 64 * MIB), any,
				 check.stream);
		for (const block &b : blocks)
			verify_block(b, check.counter_address(), check.stream);
		stress_wrong += check.take();
		for (size_t frees = any(12) + 1; frees > 0; frees--)
			free_one(pool, blocks, any);
	}
	for (const block &b : blocks)
		CHECK_MAM(mam_free(pool, b.at));
}

static void stress()
{
	mam_pool *pool = new_pool("awake");
	double began = now_ms();

	in_threads(5, [&](int i) {
		if (i == 0) {
			while (now_ms() - began < options.seconds * 1e3)
				std::this_thread::sleep_for(std::chrono::milliseconds(50));
			stop = true;
		} else if (i < 3) {
			sleeper(i);
		} else {
			other(pool, i);
		}
	});
	row("stress", "-", "seconds", (now_ms() - began) / 1e3);
	row("stress", "-", "suspends", (double)stress_cycles);
	row("stress", "-", "blocks", (double)stress_blocks);
	row("stress", "-", "wrong_words", (double)stress_wrong);
	wrong_runs += stress_wrong != 0;
	CHECK_MAM(mam_pool_destroy(pool));
}

int main(int count, char **words)
{
	const std::string part = count > 1 ? words[1] : "";

	for (int i = 2; i + 1 < count; i += 2) {
		const std::string option = words[i];

		if (option == "--bytes")
			options.bytes = strtoull(words[i + 1], NULL, 10);
		else if (option == "--to")
			options.to = words[i + 1];
		else if (option == "--repeat")
			options.repeat = atoi(words[i + 1]);
		else if (option == "--seconds")
			options.seconds = atof(words[i + 1]);
		else
			fail("unknown option", words[i]);
	}
	CHECK(cudaSetDevice(0));
	CHECK(cudaFree(NULL));
	if (part == "calls")
		calls();
	else if (part == "cycle")
		cycle();
	else if (part == "stress")
		stress();
	else
		fail("unknown part", part.c_str());
	return wrong_runs != 0;
}
