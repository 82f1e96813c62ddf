/* SPDX-License-Identifier: Apache-2.0 */
/* Kept back: loops, their ends, and what is known behind them. */

/* A loop that counts down by a parameter, with an inner one that is the thread's. */
__global__ void countdown(int from, int by, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;

	for (int left = from; left >= by; left -= by) {
		unsigned char *bytes = (unsigned char *)malloc(left); // want: block uniform

		for (int i = id % 3; bytes && i < left; i += 3)
			bytes[i] = (unsigned char)(i + left);
		if (bytes)
			sum += bytes[id % 3 + (left - 1 - id % 3) / 3 * 3];
		free(bytes);
		for (int i = 0; i < id % 3; i++) {
			int *inner = (int *)malloc(4); // want: none -

			if (inner)
				*inner = i;
			sum += inner ? *inner : 0;
			free(inner);
		}
	}
	out[id] = sum;
}

/* Bisection: as many steps for all, but each its own bounds; a list at the end for each. */
__global__ void bisect(const int *sorted, int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int low = 0, high = count;

	for (int width = count; width > 0; width >>= 1) {
		int *bounds = (int *)malloc(2 * sizeof(int)); // want: block uniform
		int middle = (low + high) / 2;

		if (bounds) {
			bounds[0] = middle < count && sorted[middle] < id ? middle + 1 : low;
			bounds[1] = middle < count && sorted[middle] < id ? high : middle;
			low = bounds[0];
			high = bounds[1] < low ? low : bounds[1];
		}
		free(bounds);
	}
	int *hits = (int *)malloc((high - low + 2) * sizeof(int)); // want: block varying
	if (hits) {
		hits[high - low + 1] = low;
		out[id] = hits[high - low + 1];
	}
	free(hits);
}

/* The inner break takes an allocation with it; the outer loop goes on for all. */
__global__ void scan_lines(const char *text, int lines, int width, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, words = 0;

	for (int line = 0; line < lines; ++line) {
		int at = 0;

		while (true) {
			char *word;

			while (at < width && text[(line * width + at + id) % 200] == ' ')
				at++;
			if (at >= width)
				break;
			word = (char *)malloc(width); // want: none -
			for (int i = 0; at < width && text[(line * width + at + id) % 200] != ' ';
			     i++) {
				if (word)
					word[i] = text[(line * width + at + id) % 200];
				at++;
			}
			words = words * 3 + (word ? word[0] : 0);
			free(word);
		}
		int *summary = (int *)malloc(3 * sizeof(int)); // want: block uniform
		if (summary) {
			summary[2] = words;
			words = summary[2] % 10007;
		}
		free(summary);
	}
	out[id] = words;
}

/* A flag that some raise ends the loop for them; another one, of the block, ends it for all. */
__global__ void flags(const int *in, int most, int *out)
{
	__shared__ bool enough;
	int id = blockIdx.x * blockDim.x + threadIdx.x, value = in[id], round = 0;
	bool tired = false;

	while (round < most && !tired) {
		int *step = (int *)malloc(8); // want: none -

		if (step)
			step[1] = value / 2;
		value = step ? step[1] : 0;
		free(step);
		tired = value < 3;
		round++;
	}
	for (int i = 0; i < most; i++) {
		__syncthreads();
		if (threadIdx.x == 0)
			enough = i * i > in[0];
		__syncthreads();
		if (enough)
			break;
		int *more = (int *)malloc(4 * i + 4); // want: block uniform
		if (more)
			more[i] = value;
		value += more ? more[i] % 5 : 0;
		free(more);
	}
	out[id] = value * 100 + round;
}

/* What the last round left behind: the same for all in one case only. */
__global__ void left_behind(const int *in, int n, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int even = 2, odd = 2, i, k;

	for (i = 0; i < n; i++)
		even = i + 3;
	for (k = 0; k < n && in[(id + k) % n] % 4; k++)
		odd = 5;
	char *a = (char *)malloc(even + i); // want: block uniform
	char *b = (char *)malloc(odd);      // want: block varying
	char *c = (char *)malloc(k + 1);    // want: block varying
	if (a && b && c) {
		a[even + i - 1] = 1;
		b[odd - 1] = 2;
		c[k] = 4;
		out[id] = a[even + i - 1] + b[odd - 1] + c[k] + 10 * k;
	}
	free(a);
	free(b);
	free(c);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(countdown, 2, 64, 40, 7, corpus_out);
	CORPUS_RUN(bisect, 2, 64, corpus_numbers(50, 128, 1), 50, corpus_out);
	CORPUS_RUN(scan_lines, 2, 64, corpus_text(200, 2), 5, 20, corpus_out);
	CORPUS_RUN(flags, 2, 64, corpus_numbers(128, 90, 3), 9, corpus_out);
	CORPUS_RUN(left_behind, 2, 64, corpus_numbers(40, 90, 4), 40, corpus_out);
	return 0;
}
#endif
