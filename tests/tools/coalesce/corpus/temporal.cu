/* SPDX-License-Identifier: Apache-2.0 */
/* A counter is uniform within a loop, but not behind it: threads leave at different times. */

/* How many steps it took. */
__global__ void steps_taken(const int *values, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int steps = 0;

	for (int v = values[id]; v > 0; v /= 2)
		steps++;
	int *trail = (int *)malloc((steps + 1) * sizeof(int)); // want: block varying
	if (trail != nullptr) {
		trail[steps] = id;
		out[id] = trail[steps] * 10 + steps;
	}
	free(trail);
	if (steps > 4) {
		int *longer = (int *)malloc(16); // want: none -

		if (longer != nullptr)
			longer[3] = steps;
		out[id] += longer ? longer[3] : 0;
		free(longer);
	}
}

/* The step is the same in every round for who is still there; the last one seen is not. */
__global__ void last_radius(const int *field, int count, int limit, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int radius;

	for (radius = 1; radius < limit; radius++) {
		if (field[(id + radius) % count] > 80)
			break;
	}
	int *ring = (int *)malloc(radius * sizeof(int)); // want: block varying
	int *fixed = (int *)malloc(limit * sizeof(int)); // want: block uniform
	if (ring && fixed) {
		ring[radius - 1] = radius;
		fixed[limit - 1] = id;
		out[id] = ring[radius - 1] * 100 + fixed[limit - 1];
	}
	free(ring);
	free(fixed);
}

/* A uniform value is set in a loop that only some still go through. */
__global__ void set_in_loop(const int *values, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int size = 4, left = values[id] % 3;

	while (left-- > 0)
		size = 12;
	char *text = (char *)malloc(size); // want: block varying
	if (text != nullptr) {
		text[size - 1] = (char)(id % 50);
		out[id] = text[size - 1] + size;
	}
	free(text);
}

/* The loop ends for all at once; so does what it counts. */
__global__ void counted_together(const int *values, int rounds, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int size = 0, sum = 0;

	for (int i = 0; i < rounds; i++) {
		size += i;
		if (values[id] % 2)
			sum += i;
	}
	int *room = (int *)malloc(size * sizeof(int)); // want: block uniform
	int *own = (int *)malloc((sum + 1) * 4);       // want: block varying
	if (room && own) {
		room[size - 1] = values[id];
		own[sum] = id;
		out[id] = room[size - 1] + own[sum];
	}
	free(room);
	free(own);
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(steps_taken, 2, 64, corpus_numbers(128, 500, 1), corpus_out);
	CORPUS_RUN(last_radius, 2, 64, corpus_numbers(99, 90, 2), 99, 20, corpus_out);
	CORPUS_RUN(set_in_loop, 2, 64, corpus_numbers(128, 90, 3), corpus_out);
	CORPUS_RUN(counted_together, 2, 64, corpus_numbers(128, 90, 4), 6, corpus_out);
	return 0;
}
#endif
