/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_loop.cu - a program with CUDA graphs: captures, allocations inside and between them, many
 * launches.
 *
 * stdout: what cudaMalloc and cudaFree return inside a capture of each mode and what happens to the
 * capture, then sums over the results of the graphs. stderr: milliseconds per round.
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <cuda_runtime.h>

/* clang-format off */
#define CHECK(call)                                                                              \
	do {                                                                                     \
		cudaError_t code = (call);                                                       \
		if (code != cudaSuccess) {                                                       \
			fprintf(stderr, "graph_loop: %s: %s\n", #call, cudaGetErrorString(code)); \
			exit(1);                                                                 \
		}                                                                                \
	} while (0)
/* clang-format on */

enum { WORDS = 1 << 16, ROUNDS = 50, LAUNCHES = 10 };

__global__ void add(unsigned *words, unsigned value)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	words[i] += value + i;
}

static double now()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void verdicts(cudaStreamCaptureMode mode)
{
	cudaStream_t stream;
	cudaGraph_t graph = NULL;
	void *before, *inside = NULL;
	cudaError_t allocated, freed;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&before, 1000));
	CHECK(cudaStreamBeginCapture(stream, mode));
	allocated = cudaMalloc(&inside, 1000);
	printf("capture mode %d: cudaMalloc %d, ", (int)mode, (int)allocated);
	printf("end %d\n", (int)cudaStreamEndCapture(stream, &graph));
	cudaGetLastError();
	CHECK(cudaStreamBeginCapture(stream, mode));
	freed = cudaFree(before);
	printf("capture mode %d: cudaFree %d, ", (int)mode, (int)freed);
	printf("end %d\n", (int)cudaStreamEndCapture(stream, &graph));
	cudaGetLastError();
	if (freed != cudaSuccess)
		CHECK(cudaFree(before));
	if (allocated == cudaSuccess)
		CHECK(cudaFree(inside));
	CHECK(cudaStreamDestroy(stream));
}

static unsigned long long sum(const unsigned *words)
{
	static unsigned host[WORDS];
	unsigned long long total = 0;

	CHECK(cudaMemcpy(host, words, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < WORDS; i++)
		total += host[i];
	return total;
}

/*
 * A graph over memory from cudaMalloc, with memory nodes of its own. A relaxed capture allows
 * cudaMalloc and cudaFree, so during that capture a block that the graph uses is allocated and
 * another block is freed.
 */
static unsigned long long round_trip(cudaStream_t stream, cudaStreamCaptureMode mode,
				     unsigned value)
{
	unsigned *words, *scratch, *inside = NULL, *before = NULL;
	unsigned long long total;
	cudaGraph_t graph;
	cudaGraphExec_t run;

	CHECK(cudaMalloc(&words, WORDS * sizeof(*words)));
	CHECK(cudaMemset(words, 0, WORDS * sizeof(*words)));
	if (mode == cudaStreamCaptureModeRelaxed)
		CHECK(cudaMalloc(&before, 5000));
	CHECK(cudaStreamBeginCapture(stream, mode));
	if (mode == cudaStreamCaptureModeRelaxed) {
		CHECK(cudaMalloc(&inside, WORDS * sizeof(*inside)));
		CHECK(cudaFree(before));
		CHECK(cudaMemsetAsync(inside, 0, WORDS * sizeof(*inside), stream));
		add<<<WORDS / 256, 256, 0, stream>>>(inside, value + 7);
	}
	CHECK(cudaMallocAsync(&scratch, WORDS * sizeof(*scratch), stream));
	CHECK(cudaMemsetAsync(scratch, 0, WORDS * sizeof(*scratch), stream));
	add<<<WORDS / 256, 256, 0, stream>>>(scratch, value);
	add<<<WORDS / 256, 256, 0, stream>>>(words, value);
	CHECK(cudaFreeAsync(scratch, stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&run, graph, 0));
	for (int i = 0; i < LAUNCHES; i++) {
		void *between;

		CHECK(cudaGraphLaunch(run, stream));
		CHECK(cudaMalloc(&between, 1 << (10 + i)));
		CHECK(cudaMemsetAsync(between, 255, 1 << (10 + i), stream));
		CHECK(cudaFree(between));
	}
	CHECK(cudaStreamSynchronize(stream));
	total = sum(words);
	if (inside != NULL)
		total += 3 * sum(inside);
	CHECK(cudaGraphExecDestroy(run));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaFree(words));
	CHECK(cudaFree(inside));
	return total;
}

int main()
{
	unsigned long long total = 0;
	cudaStream_t stream;
	double start;

	verdicts(cudaStreamCaptureModeGlobal);
	verdicts(cudaStreamCaptureModeThreadLocal);
	verdicts(cudaStreamCaptureModeRelaxed);
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	total += round_trip(stream, cudaStreamCaptureModeGlobal, 1);
	start = now();
	for (unsigned i = 0; i < ROUNDS; i++) {
		total += round_trip(stream, cudaStreamCaptureModeGlobal, i);
		total += round_trip(stream, cudaStreamCaptureModeRelaxed, i);
	}
	fprintf(stderr, "ms_per_round %.4f\n", (now() - start) / (2 * ROUNDS));
	printf("sum %llu\n", total);
	return 0;
}
