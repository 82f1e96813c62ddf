/* SPDX-License-Identifier: Apache-2.0 */
/* new and delete, of one and of many. */

struct particle {
	int x, y, speed;
};

struct shape {
	int width = 3, height = 4;

	__device__ int area(void) const
	{
		return width * height;
	}
};

/* Every thread has as many particles. */
__global__ void swarm(int count, int steps, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	particle *particles = new particle[count]; // want: block uniform
	int sum = 0;

	for (int i = 0; i < count; i++)
		particles[i] = particle{ id, i, id % 5 + i };
	for (int step = 0; step < steps; step++)
		for (int i = 0; i < count; i++)
			particles[i].x = (particles[i].x + particles[i].speed) % 100;
	for (int i = 0; i < count; i++)
		sum = sum * 3 + particles[i].x;
	out[id] = sum;
	delete[] particles;
}

/* One for all, one for some, and one that needs no memory. */
__global__ void shapes(const int *kinds, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	shape *base = new shape; // want: block uniform
	shape *extra = nullptr;
	shape here[1];

	if (kinds[id] == 1) {
		extra = new shape(); // want: none -
		extra->width = id;
	}
	here[0].height = 2;
	out[id] = base->area() + here[0].area() + (extra ? extra->area() : 0);
	delete base;
	delete extra;
}

/* The thread's own length. */
__global__ void own_lengths(const int *lengths, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int length = lengths[id] + 1;
	int *row = new int[length]; // want: block varying

	for (int i = 0; i < length; i++)
		row[i] = i * i;
	out[id] = row[length - 1];
	delete[] row;
}

/* A queue of nodes, made in a loop that all make alike, then emptied. */
struct queue_item {
	int priority;
	queue_item *next;
};

__global__ void queues(const int *priorities, int count, int *out)
{
	int id = threadIdx.x + blockIdx.x * blockDim.x, rank = 0;
	queue_item *first = nullptr;

	for (int i = 0; i < count; i++) {
		queue_item *item = new queue_item; // want: block uniform
		queue_item **at = &first;

		item->priority = priorities[(i + id) % count];
		while (*at && (*at)->priority < item->priority)
			at = &(*at)->next;
		item->next = *at;
		*at = item;
	}
	while (first) {
		queue_item *next = first->next;

		out[id] += first->priority * ++rank;
		delete first;
		first = next;
	}
}

/* A grid of pointers, and each row only if there is one for it. */
__global__ void rows_of_rows(int rows, int columns, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
	int **row = new int *[rows]; // want: block uniform

	for (int i = 0; i < rows; i++)
		row[i] = new int[columns + i]; // want: block uniform
	for (int i = 0; i < rows; i++) {
		row[i][columns - 1] = id * i;
		sum += row[i][columns - 1];
		if (row[i][columns - 1] % 4 == 2) {
			int *copy = new int(sum); // want: none -

			sum += *copy % 3;
			delete copy;
		}
	}
	out[id] = sum;
	for (int i = 0; i < rows; i++)
		delete[] row[i];
	delete[] row;
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(swarm, 2, 64, 6, 5, corpus_out);
	CORPUS_RUN(shapes, 2, 64, corpus_numbers(128, 3, 1), corpus_out);
	CORPUS_RUN(own_lengths, 2, 64, corpus_numbers(128, 20, 2), corpus_out);
	CORPUS_RUN(queues, 2, 64, corpus_numbers(9, 50, 3), 9, corpus_out);
	CORPUS_RUN(rows_of_rows, 2, 64, 4, 5, corpus_out);
	return 0;
}
#endif
