/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations to which every thread comes, with sizes that the host gave. */

/* Each thread counts the digits of its share of the numbers in bins of its own. */
__global__ void private_histogram(const int *numbers, int count, int bins, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *bin = (int *)malloc(bins * sizeof(int)); // want: block uniform
	int best = 0;

	if (bin != nullptr) {
		for (int i = 0; i < bins; i++)
			bin[i] = 0;
		for (int i = id; i < count; i += gridDim.x * blockDim.x)
			bin[numbers[i] % bins]++;
		for (int i = 1; i < bins; i++)
			if (bin[i] > bin[best])
				best = i;
		out[id] = best * 1000 + bin[best];
		free(bin);
	}
}

/* A window over a signal, kept as a ring. */
__global__ void moving_sum(const int *signal, int count, int width, int *out)
{
	const int id = threadIdx.x + blockIdx.x * blockDim.x;
	const size_t bytes = sizeof(int) * (size_t)width;
	int *ring;
	int sum = 0;

	ring = static_cast<int *>(malloc(bytes)); // want: block uniform
	if (!ring)
		return;
	for (int i = 0; i < width; i++) {
		ring[i] = signal[(id + i) % count];
		sum += ring[i];
	}
	for (int i = 0; i < 8; i++) {
		int next = signal[(id + width + i) % count];

		sum += next - ring[i % width];
		ring[i % width] = next;
	}
	out[id] = sum;
	free(ring);
}

/* Two rows of an edit distance; the second row is asked for whatever became of the first. */
__global__ void edit_distance(const char *text, int length, int word, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	const char *left = text + id % (length - word), *right = text + id * 7 % (length - word);
	int *row = (int *)malloc((word + 1) * sizeof(int));  // want: block uniform
	int *last = (int *)malloc((word + 1) * sizeof(int)); // want: block uniform

	if (row && last) {
		for (int j = 0; j <= word; j++)
			last[j] = j;
		for (int i = 1; i <= word; i++) {
			row[0] = i;
			for (int j = 1; j <= word; j++) {
				int cost = last[j - 1] + (left[i - 1] != right[j - 1]);

				cost = cost < last[j] + 1 ? cost : last[j] + 1;
				row[j] = cost < row[j - 1] + 1 ? cost : row[j - 1] + 1;
			}
			int *swap = row;
			row = last;
			last = swap;
		}
		out[id] = last[word];
	}
	free(row);
	free(last);
}

/* A triangle: each thread wants one element more than the one before. */
__global__ void triangle_rows(int *out)
{
	int length = threadIdx.x + 1;
	int *row = (int *)malloc(length * sizeof(int)); // want: block varying
	int sum = 0;

	if (row == nullptr)
		return;
	for (int i = 0; i < length; i++)
		row[i] = i == 0 ? 1 : row[i - 1] * (length - i) / i;
	for (int i = 0; i < length; i++)
		sum ^= row[i];
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
	free(row);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(private_histogram, 2, 64, corpus_numbers(1000, 100, 1), 1000, 10, corpus_out);
	CORPUS_RUN(moving_sum, 2, 96, corpus_numbers(500, 100, 2), 500, 12, corpus_out);
	CORPUS_RUN(edit_distance, 2, 64, corpus_text(300, 3), 300, 10, corpus_out);
	CORPUS_RUN(triangle_rows, 3, 32, corpus_out);
	return 0;
}
#endif
