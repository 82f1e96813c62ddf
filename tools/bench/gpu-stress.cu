/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-stress.cu - is memory ever handed out while a kernel still uses it?
 *
 * Host threads allocate blocks of many sizes, start kernels that for up to some milliseconds write a
 * pattern of their own into the block and read it back, and free the block while the kernel may
 * still run. Whoever gets the block next writes another pattern. A kernel that reads what it did not
 * write has caught somebody with its memory: it counts that, and the program fails.
 *
 *   --policy strict    each thread frees at once: cudaFree waits, as it does without mam
 *   --policy deferred  the same
 *   --policy stream    all work is in one stream and one thread at a time frees, as the policy asks
 *   --seconds N, --threads N, --streams N, --largest BYTES
 *
 * Streams are blocking, non-blocking and the per-thread default one in turn, kernels are started
 * plainly, as programmatic dependent launches, and from a captured graph. stdout: one line of
 * sums. Exit status: 0, 1 when a foreign pattern was seen, 2 when a call failed.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>

#include <cuda_runtime.h>

#define CHECK(call)                                                                      \
	do {                                                                             \
		cudaError_t code = (call);                                               \
		if (code != cudaSuccess) {                                               \
			fprintf(stderr, "gpu-stress: %s: %s\n", #call,                   \
				cudaGetErrorString(code));                               \
			exit(2);                                                         \
		}                                                                        \
	} while (0)

enum { WORDS_MOST = 1 << 16 }; /* of a block that one kernel looks at, spread over all of it */

/* Device memory of the driver's own: what kernels saw. */
struct sums {
	unsigned long long foreign; /* words that were not what the kernel wrote */
	unsigned long long kernels;
};

__device__ static size_t place(size_t i, size_t words)
{
	return words <= WORDS_MOST ? i : i * (words / WORDS_MOST);
}

__global__ void use(uint32_t *block, size_t words, uint32_t mark, long long cycles, sums *seen)
{
	size_t looked = words < WORDS_MOST ? words : WORDS_MOST;
	long long start = clock64();
	volatile uint32_t *memory = block;
	unsigned long long foreign = 0;

	cudaTriggerProgrammaticLaunchCompletion();
	for (size_t i = threadIdx.x; i < looked; i += blockDim.x)
		memory[place(i, words)] = mark ^ (uint32_t)i;
	__syncthreads();
	do {
		for (size_t i = threadIdx.x; i < looked; i += blockDim.x) {
			uint32_t got = memory[place(i, words)];

			if (got != (mark ^ (uint32_t)i))
				foreign++;
			memory[place(i, words)] = mark ^ (uint32_t)i;
		}
	} while (clock64() - start < cycles);
	if (foreign != 0)
		atomicAdd(&seen->foreign, foreign);
	if (threadIdx.x == 0)
		atomicAdd(&seen->kernels, 1ULL);
}

static struct {
	double seconds = 10;
	int threads = 8;
	int streams = 4; /* a thread */
	size_t largest = 32 << 20;
	bool one_stream = false;
} options;

static sums *seen;
static cudaStream_t common; /* --policy stream */
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

static double now()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

struct worker {
	int number;
	uint64_t random;
	unsigned long long blocks, bytes;
	pthread_t thread;
};

static uint64_t next(worker *self)
{
	self->random ^= self->random << 13;
	self->random ^= self->random >> 7;
	self->random ^= self->random << 17;
	return self->random;
}

/* Small ones often, large ones now and then. */
static size_t size_of(worker *self)
{
	size_t most = (size_t)256 << (next(self) % 18);

	if (most > options.largest)
		most = options.largest;
	return 4 + next(self) % most;
}

static void launch(worker *self, cudaStream_t stream, uint32_t *block, size_t words, uint32_t mark)
{
	long long cycles = 100000 + (long long)(next(self) % 4000000);
	cudaLaunchAttribute attribute = {};
	cudaLaunchConfig_t config = {};

	config.gridDim = 1;
	config.blockDim = 256;
	config.stream = stream;
	attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attribute.val.programmaticStreamSerializationAllowed = 1;
	/* With one stream the caller promises an order, which such launches do not keep. */
	if (!options.one_stream && next(self) % 4 == 0) {
		config.attrs = &attribute;
		config.numAttrs = 1;
	}
	CHECK(cudaLaunchKernelEx(&config, use, block, words, mark, cycles, seen));
}

/* The same as a graph that is captured, started and destroyed. */
static void launch_graph(cudaStream_t stream, uint32_t *block, size_t words, uint32_t mark)
{
	cudaStream_t side;
	cudaGraph_t graph;
	cudaGraphExec_t run;

	CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	CHECK(cudaStreamBeginCapture(side, cudaStreamCaptureModeRelaxed));
	use<<<1, 256, 0, side>>>(block, words, mark, 1000000, seen);
	CHECK(cudaStreamEndCapture(side, &graph));
	CHECK(cudaGraphInstantiate(&run, graph, 0));
	CHECK(cudaGraphLaunch(run, stream));
	CHECK(cudaGraphExecDestroy(run));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaStreamDestroy(side));
}

static void one_block(worker *self, cudaStream_t stream)
{
	size_t bytes = size_of(self), words = bytes / 4;
	uint32_t mark = (uint32_t)(self->number << 24) ^ (uint32_t)(self->blocks * 2654435761u);
	uint32_t *block;

	if (options.one_stream)
		pthread_mutex_lock(&order);
	CHECK(cudaMalloc(&block, bytes));
	if (!options.one_stream && next(self) % 64 == 0)
		launch_graph(stream, block, words, mark);
	else
		launch(self, stream, block, words, mark);
	CHECK(cudaFree(block));
	if (options.one_stream)
		pthread_mutex_unlock(&order);
	self->blocks++;
	self->bytes += bytes;
}

static void *work(void *argument)
{
	worker *self = (worker *)argument;
	cudaStream_t streams[16];
	double end = now() + options.seconds;

	for (int i = 0; i < options.streams; i++) {
		if (options.one_stream)
			streams[i] = common;
		else if (i % 3 == 2)
			streams[i] = cudaStreamPerThread;
		else
			CHECK(cudaStreamCreateWithFlags(&streams[i], i % 3 == 0 ? cudaStreamNonBlocking
										: cudaStreamDefault));
	}
	/* Work piles up under policies that do not wait: let it drain now and then. */
	for (int i = 0; now() < end; i++) {
		one_block(self, streams[next(self) % options.streams]);
		if (i % 256 == 255)
			CHECK(cudaStreamSynchronize(streams[next(self) % options.streams]));
	}
	CHECK(cudaDeviceSynchronize());
	return NULL;
}

static bool read_options(int count, char **arguments)
{
	for (int i = 1; i + 1 < count; i += 2) {
		const char *name = arguments[i], *value = arguments[i + 1];

		if (strcmp(name, "--seconds") == 0)
			options.seconds = atof(value);
		else if (strcmp(name, "--threads") == 0)
			options.threads = atoi(value);
		else if (strcmp(name, "--streams") == 0)
			options.streams = atoi(value);
		else if (strcmp(name, "--largest") == 0)
			options.largest = strtoull(value, NULL, 10);
		else if (strcmp(name, "--policy") == 0)
			options.one_stream = strcmp(value, "stream") == 0;
		else
			return false;
	}
	return count % 2 == 1 && options.threads >= 1 && options.threads <= 64 &&
	       options.streams >= 1 && options.streams <= 16 && options.largest >= 256;
}

int main(int count, char **arguments)
{
	static worker workers[64];
	unsigned long long blocks = 0, bytes = 0;
	sums result;

	if (!read_options(count, arguments)) {
		fprintf(stderr,
			"usage: %s [--policy strict|deferred|stream] [--seconds N] [--threads N] "
			"[--streams N] [--largest BYTES]\n",
			arguments[0]);
		return 2;
	}
	CHECK(cudaMallocManaged(&seen, sizeof(*seen)));
	memset(seen, 0, sizeof(*seen));
	CHECK(cudaStreamCreateWithFlags(&common, cudaStreamNonBlocking));
	use<<<1, 32>>>((uint32_t *)seen + 4, 0, 0, 0, seen); /* loads the kernel */
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < options.threads; i++) {
		workers[i].number = i;
		workers[i].random = 88172645463325252ULL + (uint64_t)i * 7919;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < options.threads; i++) {
		pthread_join(workers[i].thread, NULL);
		blocks += workers[i].blocks;
		bytes += workers[i].bytes;
	}
	CHECK(cudaDeviceSynchronize());
	result = *seen;
	printf("blocks %llu gib %.1f kernels %llu foreign %llu\n", blocks,
	       (double)bytes / (1 << 30), result.kernels, result.foreign);
	return result.foreign != 0;
}
