/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-growth-others.cuh - growth, and its interaction with the rest of the machine.
 *
 * idle: the CPU time of the service thread while no kernel requests growth.
 * stopped: the whole process is stopped by a signal while its kernel requests growth. The parent
 * stops and continues the child; the kernel, which has waited for that moment, must get NULL in
 * time.
 * pressure: another process holds almost all of the device's memory; the pool gets the rest, then
 * reports that there is no more; and gets memory again after the other process has freed it.
 *
 * Each process that uses CUDA begins to do so after the fork.
 */
#ifndef MAM_GPU_GROWTH_OTHERS_CUH
#define MAM_GPU_GROWTH_OTHERS_CUH

#include <csignal>
#include <dirent.h>
#include <map>
#include <string>
#include <sys/wait.h>

#include "gpu-growth-hard.cuh"

#define PRESSURE_LEFT (3072 * MIB)

/* CPU time in nanoseconds of each thread of this process. */
static std::map<int, u64> thread_times()
{
	std::map<int, u64> times;
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;

	if (!folder)
		fail(1, "/proc/self/task cannot be read");
	while ((entry = readdir(folder)) != NULL) {
		std::string path = std::string("/proc/self/task/") + entry->d_name + "/schedstat";
		std::FILE *file = std::fopen(path.c_str(), "r");
		u64 ns;

		if (!file)
			continue;
		if (std::fscanf(file, "%llu", &ns) == 1)
			times[std::atoi(entry->d_name)] = ns;
		std::fclose(file);
	}
	closedir(folder);
	if (times.empty())
		fail(1, "this system does not report the CPU times of threads");
	return times;
}

__global__ void wait_for(u64 ns)
{
	pause_for(ns);
}

/* The CPU share, in hundredths, of threads that are not in `before`, over `seconds`. */
static double idle_share(const std::map<int, u64> &before, double seconds)
{
	std::map<int, u64> from = thread_times(), to;
	double begin = seconds_now();
	u64 ns = 0;

	usleep((useconds_t)(seconds * 1e6));
	to = thread_times();
	for (const auto &thread : to)
		if (!before.count(thread.first) && from.count(thread.first))
			ns += thread.second - from[thread.first];
	return (double)ns / 1e9 / (seconds_now() - begin) * 100;
}

static void make_idle(struct growth_stage *stage)
{
	struct mam_pool *pool = pool_of("vmm", 0);
	struct growth_wish wish = { MIB, MAM_HEAP_UNLIMITED, 2 * MIB, 0, 0 };
	std::map<int, u64> before = thread_times();
	struct mam_heap *heap;
	double share;
	int threads;

	heap = growing_heap(pool, &wish);
	empty_table(&stage->objects);
	fill<<<64, THREADS>>>(mam_heap_device(heap), stage->objects.table, 1, 1024, false);
	finish(NULL, "a fill");
	if (!info_of(heap).grants)
		fail(1, "the heap did not grow");
	usleep(200000);
	threads = (int)(thread_times().size() - before.size());
	if (threads < 1)
		fail(1, "no thread was started for a heap that grows");
	share = idle_share(before, 5);
	row("idle", "no kernel", share, "% of a CPU", 1);
	std::printf("ok - idle: %d thread, %.3f%% of a CPU in 5 s\n", threads, share);
	wait_for<<<1, 1, 0, stage->objects.streams[0]>>>(3500000000ull);
	share = idle_share(before, 3);
	finish(stage->objects.streams[0], "a kernel that waits");
	row("idle", "a kernel that does not ask", share, "% of a CPU", 1);
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	check(mam_pool_destroy(pool), "mam_pool_destroy");
}

/*
 * Sleeps until the host is certainly stopped, then every lane allocates; numbers: the longest call.
 */
__global__ void ask_later(struct mam_kheap *heap, struct table table, unsigned int bytes, u64 ns,
			  u64 *numbers)
{
	unsigned int place = blockIdx.x * blockDim.x + threadIdx.x;
	u64 start;

	pause_for(ns);
	start = now_ns();
	take(heap, table, place, bytes);
	atomicMax(&numbers[0], now_ns() - start);
}

static void signal_host(int pipe)
{
	if (write(pipe, "", 1) != 1)
		fail(1, "the other process is gone");
}

static void await(int pipe)
{
	char byte;

	if (read(pipe, &byte, 1) != 1)
		fail(1, "the other process ended before its time");
}

static void await_child(pid_t child, const char *what)
{
	int status;

	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status))
		fail(1, "%s: the other process failed", what);
}

/* The child: its kernel requests growth while the process is stopped. */
static void ask_while_stopped(struct growth_stage *stage, int ready, unsigned int bytes,
			      const char *name)
{
	enum { LANES = 4096, WAIT_US = 100000 };
	struct mam_pool *pool = pool_of("vmm", 0);
	struct growth_wish wish = { MAM_HEAP_BLOCK, MAM_HEAP_UNLIMITED, 2 * MIB,
				    MAM_HEAP_AHEAD_NONE, WAIT_US };
	struct mam_heap *heap = growing_heap(pool, &wish);
	struct table table = stage->objects.table;
	struct mam_heap_info info;
	unsigned int lanes = bytes > 65536 ? 256 : LANES;

	empty_table(&stage->objects);
	table.lanes = lanes;
	stage->numbers[0] = 0;
	ask_later<<<lanes / THREADS, THREADS, 0, stage->objects.streams[0]>>>(
		mam_heap_device(heap), table, bytes, 1000000000ull, stage->numbers);
	signal_host(ready);
	finish(stage->objects.streams[0], "a kernel whose process was stopped");
	info = info_of(heap);
	if (*table.vain < lanes - 64)
		fail(1, "%s: only %llu of %u lanes got nothing: was the process stopped?", name,
		     *table.vain, lanes);
	same(*table.vain, info.silent, "requests that the host did not answer in time");
	same(*table.vain, refusals_of(&info), "requests in vain, counted");
	row("stopped", name, (double)stage->numbers[0] / 1e3, "us", 2.0 * WAIT_US);
	row("stopped", name, (double)info.silent, "NULLs");
	/* The process continues, and so does growth. */
	*table.vain = 0;
	fill<<<lanes / THREADS, THREADS, 0, stage->objects.streams[0]>>>(mam_heap_device(heap),
									 table, 2, bytes, false);
	look<<<lanes / THREADS, THREADS, 0, stage->objects.streams[0]>>>(mam_heap_device(heap),
									 table);
	finish(stage->objects.streams[0], "a kernel after that");
	no_wrongs(table.bad, name);
	same(0, *table.vain, "requests in vain after the process went on");
	std::printf(
		"ok - stopped: %s: %llu NULLs, the slowest after %.0f us; then all got theirs\n",
		name, (u64)info.silent, (double)stage->numbers[0] / 1e3);
	std::fflush(stdout);
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	check(mam_pool_destroy(pool), "mam_pool_destroy");
}

/* Before CUDA: the parent stops the child twice, each time when a kernel is about to allocate. */
static void fork_stopped(void (*begin)(struct growth_stage *stage), struct growth_stage *stage)
{
	int ready[2];
	pid_t child;

	if (pipe(ready) || (child = fork()) < 0)
		fail(1, "no second process could be started");
	if (child == 0) {
		close(ready[0]);
		begin(stage);
		ask_while_stopped(stage, ready[1], 1024, "grants");
		ask_while_stopped(stage, ready[1], 512 * 1024, "large objects");
		std::fflush(stdout);
		_exit(0);
	}
	close(ready[1]);
	for (int i = 0; i < 2; i++) {
		await(ready[0]);
		usleep(100000);
		kill(child, SIGSTOP);
		usleep(2500000);
		kill(child, SIGCONT);
	}
	await_child(child, "stopped");
}

/* The other process: allocates all but PRESSURE_LEFT, in pieces, never more than is free. */
static void hold_memory(int ready, int done)
{
	std::vector<void *> held;
	size_t free_bytes, all_bytes;
	void *piece;

	for (;;) {
		check(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
		if (free_bytes < PRESSURE_LEFT + 512 * MIB)
			break;
		check(cudaMalloc(&piece, std::min(free_bytes - PRESSURE_LEFT, 8192 * MIB) / 2),
		      "memory");
		held.push_back(piece);
	}
	signal_host(ready);
	await(done);
	for (void *each : held)
		check(cudaFree(each), "cudaFree");
}

static void fill_under_pressure(struct growth_stage *stage, int ready, int done, pid_t holder)
{
	struct mam_pool *pool = pool_of("vmm", 0);
	struct growth_wish wish = { MIB, MAM_HEAP_UNLIMITED, 128 * MIB, 0, 0 };
	struct mam_heap *heap = growing_heap(pool, &wish);
	size_t bytes = 8192, free_bytes, all_bytes;
	u64 vain, got;

	/* Load the kernels before there is no room for them. */
	empty_table(&stage->objects);
	fill<<<1, THREADS>>>(mam_heap_device(heap), stage->objects.table, 0, 16, false);
	look<<<1, THREADS>>>(mam_heap_device(heap), stage->objects.table);
	drop<<<1, THREADS>>>(mam_heap_device(heap), stage->objects.table, 0, 8);
	finish(NULL, "first kernels");
	empty_table(&stage->objects);
	await(ready);
	check(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
	vain = fill_until(stage, heap, 1u << 19, (unsigned int)bytes, COUNTED(pool_full),
			  "the pool has no more");
	got = ((1u << 19) - vain) * bytes;
	if (!vain || got * 2 < free_bytes || got > free_bytes + 128 * MIB)
		fail(1, "of %zu bytes that were free kernels got %llu", free_bytes, got);
	row("pressure", "got of what was free", (double)got / (double)free_bytes * 100, "%");
	std::printf("ok - pressure: %llu MiB of %zu that were free, then %llu NULLs, all counted\n",
		    got / MIB, free_bytes / MIB, vain);
	signal_host(done);
	await_child(holder, "pressure");
	same(0,
	     fill_until(stage, heap, 1u << 19, (unsigned int)bytes, COUNTED(pool_full),
			"after the other process let go"),
	     "requests in vain after the other process let go");
	std::printf("ok - pressure: once the other has let go, all got theirs\n");
	check(mam_heap_destroy(heap), "mam_heap_destroy");
	check(mam_pool_destroy(pool), "mam_pool_destroy");
}

static void fork_pressure(void (*begin)(struct growth_stage *stage), struct growth_stage *stage)
{
	int ready[2], done[2], started[2];
	pid_t child;

	if (pipe(ready) || pipe(done) || pipe(started) || (child = fork()) < 0)
		fail(1, "no second process could be started");
	if (child == 0) {
		alarm(SECONDS);
		close(ready[0]);
		close(done[1]);
		close(started[1]);
		await(started[0]);
		hold_memory(ready[1], done[0]);
		_exit(0);
	}
	close(ready[1]);
	close(done[0]);
	close(started[0]);
	begin(stage);
	signal_host(started[1]);
	fill_under_pressure(stage, ready[0], done[1], child);
}

#endif
