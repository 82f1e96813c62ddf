/* SPDX-License-Identifier: Apache-2.0 */
/* Returns before an allocation: by some, by all, and by those who got no memory. */

struct body {
	float x, y, mass;
	int cell;
};

/* Threads without a body are gone. */
__global__ void near_bodies(const int *places, int count, int reach, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	if (id >= count)
		return;

	int *near = (int *)malloc(reach * sizeof(int)); // want: none -
	int used = 0;

	for (int i = 0; near && i < count && used < reach; i++)
		if (i != id && places[i] < places[id] + 3 && places[i] > places[id] - 3)
			near[used++] = i;
	for (int i = 0; i < used; i++)
		out[id] += near[i];
	free(near);
}

/* The whole grid goes home, or none does. */
__global__ void move_bodies(const int *places, int count, int steps, int *out)
{
	if (count == 0 || steps <= 0)
		return;

	int id = blockIdx.x * blockDim.x + threadIdx.x;
	struct body *body = (struct body *)malloc(sizeof(*body)); // want: block uniform

	if (body == nullptr)
		return;
	body->x = (float)places[id % count];
	body->y = 0;
	body->mass = 2;
	for (int i = 0; i < steps; i++)
		body->y += body->x * body->mass;
	out[id] = (int)body->y;
	free(body);
}

/* Who has no first buffer does not ask for a second one. */
__global__ void double_buffer(const int *from, int length, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *front = (int *)malloc(length * sizeof(int)); // want: block uniform
	if (front == NULL)
		return;
	int *back = (int *)malloc(length * sizeof(int)); /* later: block */ // want: none -
	if (back == NULL) {
		free(front);
		return;
	}
	for (int i = 0; i < length; i++)
		front[i] = from[(id + i) % 100];
	for (int i = 0; i < length; i++)
		back[length - 1 - i] = front[i] + front[(i + 1) % length];
	out[id] = back[0] - back[length - 1];
	free(back);
	free(front);
}

/* One block too many was started; of it everybody leaves. */
__global__ void per_block_job(int jobs, int width, int *out)
{
	if (blockIdx.x >= jobs)
		return;
	char *line = (char *)malloc(width); // want: block uniform
	if (line) {
		for (int i = 0; i < width; i++)
			line[i] = (char)('0' + (i * threadIdx.x + blockIdx.x) % 10);
		for (int i = 0; i < width; i++)
			out[blockIdx.x * blockDim.x + threadIdx.x] += line[i];
	}
	free(line);
}

/* The return is deep inside, in a loop. */
__global__ void search_then_build(const int *table, int buckets, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;

	for (int i = 0; i < buckets; i++) {
		if (table[i] == id) {
			out[id] = i;
			return;
		}
	}
	int *node = (int *)malloc(2 * sizeof(int)); // want: none -
	if (node) {
		node[0] = id;
		node[1] = -1;
		out[id] = node[0] + node[1];
		free(node);
	}
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	CORPUS_RUN(near_bodies, 3, 64, corpus_numbers(150, 60, 1), 150, 10, corpus_out);
	CORPUS_RUN(move_bodies, 2, 64, corpus_numbers(100, 60, 2), 100, 5, corpus_out);
	CORPUS_RUN(double_buffer, 2, 64, corpus_numbers(100, 60, 3), 7, corpus_out);
	CORPUS_RUN(per_block_job, 4, 64, 3, 20, corpus_out);
	CORPUS_RUN(search_then_build, 2, 64, corpus_numbers(40, 128, 4), 40, corpus_out);
	return 0;
}
#endif
