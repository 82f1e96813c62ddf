/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_pools.cu - pools of two devices on the source vmm, and every way to pass memory between
 * them.
 *
 *     nvcc -arch=native -I PREFIX/include -o peer_pools peer_pools.cu -L PREFIX/lib -lmam
 *     ./peer_pools
 *
 * 1. One device: blocks from 4 KiB to 64 MiB are filled and checked.
 * 2. Two devices: blocks of each size are copied both ways, before and after
 *    cudaDeviceEnablePeerAccess(); then kernels of each device read and write the other's block.
 *    Each size makes both pools grow, and the earlier blocks are checked again.
 * 3. Half of the blocks are freed and larger ones allocated, so that memory moves, and again.
 * 4. The cost of a map with access for all devices and for one is printed.
 *
 * Prints the number of wrong words of each way; every word is checked. With one device, or without
 * peer access between the first two, only part 1 runs. Status: 0, and "all is well" last.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>
#include <mam/mam.h>
#include <mam/source.h>

typedef unsigned int word;

static bool failed;

__global__ void fill(word *words, size_t count, word seed)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
	     i += (size_t)gridDim.x * blockDim.x)
		words[i] = seed + (word)i * 2654435761u;
}

__global__ void count_wrong(const word *words, size_t count, word seed, unsigned long long *wrong)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
	     i += (size_t)gridDim.x * blockDim.x)
		if (words[i] != seed + (word)i * 2654435761u)
			atomicAdd(wrong, 1ull);
}

static void check(cudaError_t result, const char *what)
{
	if (result == cudaSuccess)
		return;
	std::printf("peer_pools: %s: %s\n", what, cudaGetErrorString(result));
	std::exit(1);
}

static void check(enum mam_status status, const char *what)
{
	if (status == MAM_OK)
		return;
	std::printf("peer_pools: %s: %s\n", what, mam_strerror(status));
	std::exit(1);
}

struct side {
	struct mam_pool *pool;
	unsigned long long *wrong; /* on the device */
	cudaStream_t stream;
};

struct block {
	word *words;
	size_t count;
	word seed;
};

static struct side sides[2];

static void use(int device)
{
	check(cudaSetDevice(device), "cudaSetDevice");
}

static void finish(int device, const char *what)
{
	use(device);
	check(cudaDeviceSynchronize(), what);
}

/* Fills a block by a kernel of `device`, which need not be the block's device. */
static void write_by(int device, struct block *block, word seed)
{
	use(device);
	block->seed = seed;
	fill<<<256, 256, 0, sides[device].stream>>>(block->words, block->count, seed);
	check(cudaGetLastError(), "launching a kernel that writes");
	finish(device, "a kernel that writes");
}

/* The number of wrong words, as seen by a kernel of `device`. */
static unsigned long long wrong_by(int device, const struct block *block, word seed)
{
	unsigned long long wrong = 0;

	use(device);
	check(cudaMemset(sides[device].wrong, 0, sizeof(wrong)), "cudaMemset");
	count_wrong<<<256, 256>>>(block->words, block->count, seed, sides[device].wrong);
	check(cudaGetLastError(), "launching a kernel that reads");
	check(cudaMemcpy(&wrong, sides[device].wrong, sizeof(wrong), cudaMemcpyDeviceToHost),
	      "a kernel that reads");
	failed = failed || wrong != 0;
	return wrong;
}

static struct block allocate(int device, size_t bytes)
{
	struct block block = { NULL, bytes / sizeof(word), 0 };
	void *memory = NULL;

	use(device);
	check(mam_malloc(sides[device].pool, bytes, &memory), "mam_malloc");
	block.words = (word *)memory;
	return block;
}

enum way { PEER, PEER_ASYNC, DEFAULT_ASYNC, DEFAULT_SYNC, WAYS };

/*
 * One copy, in a stream of device `user`. Returns the number of wrong words, or -1 after an error.
 */
static long long copy(enum way way, struct block blocks[2], int from, int user)
{
	const int to = 1 - from;
	const size_t bytes = blocks[0].count * sizeof(word);
	static word seed = 1;
	cudaError_t result = cudaSuccess;

	write_by(to, &blocks[to], 0xdeadbeef);
	write_by(from, &blocks[from], ++seed * 40503);
	use(user);
	switch (way) {
	case PEER:
		result = cudaMemcpyPeer(blocks[to].words, to, blocks[from].words, from, bytes);
		break;
	case PEER_ASYNC:
		result = cudaMemcpyPeerAsync(blocks[to].words, to, blocks[from].words, from, bytes,
					     sides[user].stream);
		break;
	case DEFAULT_ASYNC:
		result = cudaMemcpyAsync(blocks[to].words, blocks[from].words, bytes,
					 cudaMemcpyDefault, sides[user].stream);
		break;
	default:
		result = cudaMemcpy(blocks[to].words, blocks[from].words, bytes, cudaMemcpyDefault);
	}
	if (result != cudaSuccess) {
		cudaGetLastError();
		std::printf("error %d: %s\n", (int)result, cudaGetErrorString(result));
		failed = true;
		return -1;
	}
	for (int device = 0; device < 2; device++)
		finish(device, "a copy");
	blocks[to].seed = blocks[from].seed;
	return (long long)wrong_by(to, &blocks[to], blocks[to].seed);
}

static long long copies(enum way way, struct block blocks[2])
{
	long long wrong = 0;

	for (int from = 0; from < 2; from++)
		for (int user = 0; user < 2; user++) {
			long long more = copy(way, blocks, from, user);

			if (more < 0)
				return -1;
			wrong += more;
		}
	return wrong;
}

/* A row of the table: each way of copying, and with peer access each device's kernels. */
static void row(const char *when, struct block blocks[2], bool is_enabled)
{
	long long counts[WAYS], reads = 0, writes = 0;

	for (int way = 0; way < WAYS; way++)
		counts[way] = copies((enum way)way, blocks);
	for (int owner = 0; is_enabled && owner < 2; owner++) {
		write_by(owner, &blocks[owner], 77u + (word)owner);
		reads += (long long)wrong_by(1 - owner, &blocks[owner], blocks[owner].seed);
		write_by(1 - owner, &blocks[owner], 99u + (word)owner);
		writes += (long long)wrong_by(owner, &blocks[owner], blocks[owner].seed);
	}
	std::printf("%-26s %9zu %9lld %9lld %9lld %9lld", when, blocks[0].count * sizeof(word),
		    counts[PEER], counts[PEER_ASYNC], counts[DEFAULT_ASYNC], counts[DEFAULT_SYNC]);
	if (is_enabled)
		std::printf(" %9lld %9lld\n", reads, writes);
	else
		std::printf(" %9s %9s\n", "-", "-");
	std::fflush(stdout);
}

static const size_t sizes[] = { 4096, 65536, 1 << 20, 2 << 20, 16 << 20, 64 << 20 };
static const int size_count = (int)(sizeof(sizes) / sizeof(sizes[0]));

static void make_side(int device)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	use(device);
	attr.source = "vmm";
	attr.device = device;
	check(mam_pool_create(&attr, &sides[device].pool), "mam_pool_create");
	check(cudaMalloc(&sides[device].wrong, sizeof(*sides[device].wrong)), "cudaMalloc");
	check(cudaStreamCreateWithFlags(&sides[device].stream, cudaStreamNonBlocking),
	      "cudaStreamCreateWithFlags");
}

static void one_device()
{
	std::printf("one device, wrong words:");
	for (int i = 0; i < size_count; i++) {
		struct block block = allocate(0, sizes[i]);

		write_by(0, &block, 1234u + (word)i);
		std::printf(" %zu: %llu", sizes[i], wrong_by(0, &block, block.seed));
		check(mam_free(sides[0].pool, block.words), "mam_free");
	}
	std::printf("\n");
}

/* Blocks that contain what was last written to them, seen from both devices. */
static void still_right(const char *when, std::vector<struct block> pairs[2])
{
	unsigned long long wrong = 0;

	for (int owner = 0; owner < 2; owner++)
		for (const struct block &block : pairs[owner])
			for (int user = 0; user < 2; user++)
				wrong += wrong_by(user, &block, block.seed);
	std::printf("%-26s %llu wrong words in %zu blocks\n", when, wrong,
		    pairs[0].size() + pairs[1].size());
}

static void two_devices()
{
	std::vector<struct block> kept[2];
	cudaError_t enabled[2];

	std::printf("%-26s %9s %9s %9s %9s %9s %9s %9s\n", "wrong words", "bytes", "Peer",
		    "PeerAsync", "Async", "Memcpy", "reads", "writes");
	for (int is_enabled = 0; is_enabled < 2; is_enabled++) {
		for (int device = 0; is_enabled && device < 2; device++) {
			use(device);
			enabled[device] = cudaDeviceEnablePeerAccess(1 - device, 0);
			if (enabled[device] == cudaErrorPeerAccessAlreadyEnabled)
				cudaGetLastError();
			else
				check(enabled[device], "cudaDeviceEnablePeerAccess");
		}
		for (int i = 0; i < size_count; i++) {
			struct block pair[2] = { allocate(0, sizes[i]), allocate(1, sizes[i]) };

			row(is_enabled ? "peer access enabled" : "as pools come", pair, is_enabled);
			for (int device = 0; device < 2; device++)
				kept[device].push_back(pair[device]);
		}
	}
	still_right("after growing", kept);
	for (int device = 0; device < 2; device++) {
		use(device);
		for (size_t i = 0; i < kept[device].size(); i += 2)
			check(mam_free(sides[device].pool, kept[device][i].words), "mam_free");
		for (size_t i = kept[device].size(); i-- > 0;)
			if (i % 2 == 0)
				kept[device].erase(kept[device].begin() + (long)i);
	}
	for (size_t bytes = 8 << 20; bytes <= 64 << 20; bytes *= 2) {
		struct block pair[2] = { allocate(0, bytes), allocate(1, bytes) };

		row("after moving", pair, true);
		for (int device = 0; device < 2; device++)
			kept[device].push_back(pair[device]);
	}
	still_right("after moving", kept);
	for (int device = 0; device < 2; device++) {
		use(device);
		for (const struct block &block : kept[device])
			check(mam_free(sides[device].pool, block.words), "mam_free");
	}
}

/* Median microseconds of one map: creating, mapping and setting access. */
static double map_us(uint64_t peers, size_t bytes)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;
	struct mam_source *source;
	std::vector<double> times;
	void *range;

	attr.device = 0;
	attr.peers = peers;
	check(mam_source_vmm(&attr, &source), "mam_source_vmm");
	check(source->ops->grow(source, bytes, &range), "reserving addresses");
	for (int i = 0; i < 21; i++) {
		auto from = std::chrono::steady_clock::now();

		check(source->ops->map(source, range, bytes), "a map");
		times.push_back(std::chrono::duration<double, std::micro>(
					std::chrono::steady_clock::now() - from)
					.count());
		check(source->ops->unmap(source, range, bytes), "an unmap");
	}
	check(source->ops->shrink(source, range, bytes), "freeing addresses");
	mam_source_destroy(source);
	std::sort(times.begin(), times.end());
	return times[times.size() / 2];
}

static void costs(int devices)
{
	use(0);
	std::printf("%-26s %9s %12s\n", "us to map, access for", "one", "all devices");
	for (size_t bytes = 2 << 20; bytes <= 64 << 20; bytes *= 32)
		std::printf("%4zu MiB, %d visible         %9.1f %12.1f\n", bytes >> 20, devices,
			    map_us(1, bytes), map_us(0, bytes));
}

/* Whether setting access starts a context on a device that the program does not use. */
static void peer_is_idle()
{
	unsigned int (*get_state)(int device, unsigned int *flags, int *active) = NULL;
	enum cudaDriverEntryPointQueryResult found;
	unsigned int flags;
	int active = 0;

	check(cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", (void **)&get_state,
					       12000, cudaEnableDefault, &found),
	      "cudaGetDriverEntryPointByVersion");
	if (get_state == NULL || get_state(1, &flags, &active) != 0)
		return;
	std::printf("device 1 after device 0's pool: %s\n",
		    active ? "its primary context was started" : "not started");
}

int main()
{
	int devices = 0, can[2] = { 0, 0 };

	check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
	make_side(0);
	one_device();
	if (devices >= 2) {
		peer_is_idle();
		check(cudaDeviceCanAccessPeer(&can[0], 0, 1), "cudaDeviceCanAccessPeer");
		check(cudaDeviceCanAccessPeer(&can[1], 1, 0), "cudaDeviceCanAccessPeer");
	}
	if (can[0] && can[1]) {
		make_side(1);
		two_devices();
		costs(devices);
		use(1);
		check(mam_pool_destroy(sides[1].pool), "mam_pool_destroy");
	} else {
		std::printf("two devices: skipped, %s\n",
			    devices < 2 ? "there is only one"
					: "the first two have no peer access");
	}
	use(0);
	check(mam_pool_destroy(sides[0].pool), "mam_pool_destroy");
	std::printf("%s\n", failed ? "peer_pools: there are errors" : "all is well");
	return failed ? 1 : 0;
}
