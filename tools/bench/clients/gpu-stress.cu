/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-stress.cu - checks that memory is never handed out while a kernel still uses it.
 *
 * Host threads allocate blocks of many sizes and start kernels that, for up to some milliseconds,
 * write a pattern of their own into the block and read it back. They free the block while the
 * kernel may still run. The next owner of the block writes another pattern. A kernel that reads a
 * foreign word has detected shared memory: it counts the word, and the program fails.
 *
 *   --ordered    all work is in one stream and one thread at a time frees, as --free=stream requires.
 *                Otherwise each thread frees at once, regardless of running work.
 *   --seconds N, --threads N, --streams N (per thread), --largest BYTES, --contexts 1|2
 *
 * Streams are blocking, non-blocking and the per-thread default one in turn; kernels are launched
 * normally, as programmatic dependent launches, and from a captured graph. Every other thread works
 * in a second context; if it cannot be created, stderr has a message. stdout: one line of sums. Exit
 * status: 0, 1 if a foreign pattern was seen, 2 if a call failed.
 */
#include <pthread.h>

#include <cuda.h>

#include "gpu-stress.cuh"

/* The name in every driver; cuda.h's macro selects a newer one with other parameters. */
extern "C" CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);

#define CHECK_DRIVER(call)                                                               \
	do {                                                                             \
		CUresult code = (call);                                                  \
		if (code != CUDA_SUCCESS) {                                              \
			fprintf(stderr, "gpu-stress: %s: error %d\n", #call, (int)code); \
			exit(2);                                                         \
		}                                                                        \
	} while (0)

static struct {
	double seconds = 10;
	int threads = 8;
	int streams = 4; /* per thread */
	int contexts = 2;
	size_t largest = 32 << 20;
	bool ordered = false;
} options;

static struct {
	CUcontext context;
	sums *seen;
} places[2];

static cudaStream_t common; /* --ordered */
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

struct worker {
	int number;
	sums *seen; /* its context's */
	uint64_t random;
	unsigned long long blocks, bytes;
	pthread_t thread;
};

/* A fifth of a millisecond to one; one in eight takes up to five. */
static void launch(worker *self, cudaStream_t stream, uint32_t *block, size_t words, uint32_t mark)
{
	long long max = next(&self->random) % 8 ? 1600000 : 9600000;
	long long cycles = 400000 + (long long)(next(&self->random) % max);
	cudaLaunchAttribute attribute = {};
	cudaLaunchConfig_t config = {};

	config.gridDim = 1;
	config.blockDim = 256;
	config.stream = stream;
	attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attribute.val.programmaticStreamSerializationAllowed = 1;
	/* Such launches violate the order that the caller promises. */
	if (!options.ordered && next(&self->random) % 4 == 0) {
		config.attrs = &attribute;
		config.numAttrs = 1;
	}
	CHECK(cudaLaunchKernelEx(&config, use, block, words, mark, cycles, self->seen));
}

/* The same as a graph that is captured, launched and destroyed. */
static void launch_graph(worker *self, cudaStream_t stream, uint32_t *block, size_t words,
			 uint32_t mark)
{
	cudaStream_t side;
	cudaGraph_t graph;
	cudaGraphExec_t run;

	CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	CHECK(cudaStreamBeginCapture(side, cudaStreamCaptureModeRelaxed));
	use<<<1, 256, 0, side>>>(block, words, mark, 1000000, self->seen);
	CHECK(cudaStreamEndCapture(side, &graph));
	CHECK(cudaGraphInstantiate(&run, graph, 0));
	CHECK(cudaGraphLaunch(run, stream));
	CHECK(cudaGraphExecDestroy(run));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaStreamDestroy(side));
}

static void one_block(worker *self, cudaStream_t stream)
{
	size_t bytes = size_of(&self->random, options.largest), words = bytes / 4;
	uint32_t mark = (uint32_t)(self->number << 24) ^ (uint32_t)(self->blocks * 2654435761u);
	uint32_t *block;

	if (options.ordered)
		pthread_mutex_lock(&order);
	CHECK(cudaMalloc(&block, bytes));
	if (!options.ordered && next(&self->random) % 64 == 0)
		launch_graph(self, stream, block, words, mark);
	else
		launch(self, stream, block, words, mark);
	CHECK(cudaFree(block));
	if (options.ordered)
		pthread_mutex_unlock(&order);
	self->blocks++;
	self->bytes += bytes;
}

static void *work(void *argument)
{
	worker *self = (worker *)argument;
	cudaStream_t streams[16];
	double end = now() + options.seconds;
	int place = self->number % options.contexts;

	self->seen = places[place].seen;
	CHECK_DRIVER(cuCtxSetCurrent(places[place].context));
	for (int i = 0; i < options.streams; i++) {
		if (options.ordered)
			streams[i] = common;
		else if (i % 3 == 2)
			streams[i] = cudaStreamPerThread;
		else
			CHECK(cudaStreamCreateWithFlags(&streams[i], i % 3 == 0
									     ? cudaStreamNonBlocking
									     : cudaStreamDefault));
	}
	/* Work piles up under policies that do not wait: synchronize from time to time. */
	for (int i = 0; now() < end; i++) {
		one_block(self, streams[next(&self->random) % options.streams]);
		if (i % 64 == 63)
			CHECK(cudaStreamSynchronize(
				streams[next(&self->random) % options.streams]));
	}
	CHECK(cudaDeviceSynchronize());
	return NULL;
}

static bool read_options(int count, char **arguments)
{
	for (int i = 1; i < count; i++) {
		const char *name = arguments[i], *value = i + 1 < count ? arguments[i + 1] : "";

		if (strcmp(name, "--ordered") == 0) {
			options.ordered = true;
			continue;
		}
		if (strcmp(name, "--seconds") == 0)
			options.seconds = atof(value);
		else if (strcmp(name, "--threads") == 0)
			options.threads = atoi(value);
		else if (strcmp(name, "--streams") == 0)
			options.streams = atoi(value);
		else if (strcmp(name, "--contexts") == 0)
			options.contexts = atoi(value);
		else if (strcmp(name, "--largest") == 0)
			options.largest = strtoull(value, NULL, 10);
		else
			return false;
		i++;
	}
	if (options.ordered)
		options.contexts = 1;
	return options.seconds > 0 && options.threads >= 1 && options.threads <= 64 &&
	       options.streams >= 1 && options.streams <= 16 && options.largest >= 256 &&
	       options.contexts >= 1 && options.contexts <= 2;
}

static void prepare_contexts()
{
	CHECK(cudaFree(NULL));
	CHECK_DRIVER(cuCtxGetCurrent(&places[0].context));
	CHECK(prepare(&places[0].seen));
	if (options.contexts == 1)
		return;
	if (cuCtxCreate_v2(&places[1].context, 0, 0) != CUDA_SUCCESS ||
	    prepare(&places[1].seen) != cudaSuccess) {
		fprintf(stderr, "gpu-stress: a second context cannot be used: there is one\n");
		options.contexts = 1;
		cudaGetLastError();
	}
	CHECK_DRIVER(cuCtxSetCurrent(places[0].context));
}

int main(int count, char **arguments)
{
	static worker workers[64];
	unsigned long long blocks = 0, bytes = 0;
	sums result = {};

	if (!read_options(count, arguments)) {
		fprintf(stderr,
			"usage: %s [--ordered] [--seconds N] [--threads N] [--streams N] "
			"[--contexts N] "
			"[--largest BYTES]\n",
			arguments[0]);
		return 2;
	}
	prepare_contexts();
	CHECK(cudaStreamCreateWithFlags(&common, cudaStreamNonBlocking));
	for (int i = 0; i < options.threads; i++) {
		workers[i].number = i;
		workers[i].random = 88172645463325252ULL + (uint64_t)i * 7919;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
			fprintf(stderr, "gpu-stress: no thread could be started\n");
			return 2;
		}
	}
	for (int i = 0; i < options.threads; i++) {
		pthread_join(workers[i].thread, NULL);
		blocks += workers[i].blocks;
		bytes += workers[i].bytes;
	}
	for (int i = 0; i < options.contexts; i++) {
		CHECK_DRIVER(cuCtxSetCurrent(places[i].context));
		CHECK(cudaDeviceSynchronize());
		result.kernels += places[i].seen->kernels - 1; /* not the first, a warm-up */
		result.foreign += places[i].seen->foreign;
	}
	printf("blocks %llu gib %.1f kernels %llu foreign %llu\n", blocks,
	       (double)bytes / (1 << 30), result.kernels, result.foreign);
	return result.foreign != 0;
}
