/* SPDX-License-Identifier: Apache-2.0 */
/* Structures: of the host's, given by value; the thread's own; returned by helpers. */

struct settings {
	int width, height;
	bool smooth;
	const int *cells;
};

/* Members of a parameter are the host's; what a member points to is memory. */
__global__ void blur(struct settings settings, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	int *line = (int *)malloc(settings.width * sizeof(int)); // want: block uniform

	for (int x = 0; line && x < settings.width; x++)
		line[x] = settings.cells[id % settings.height * settings.width + x];
	if (settings.smooth) {
		int *kernel = (int *)malloc(3 * sizeof(int)); // want: block uniform

		if (kernel && line) {
			kernel[0] = kernel[2] = 1;
			kernel[1] = 2;
			for (int x = 1; x + 1 < settings.width; x++)
				out[id] += kernel[0] * line[x - 1] + kernel[1] * line[x] +
					   kernel[2] * line[x + 1];
		}
		free(kernel);
	}
	if (settings.cells[0] > 20) {
		int *bright = (int *)malloc(8); // want: none -

		if (bright)
			bright[1] = 9;
		out[id] += bright ? bright[1] : 0;
		free(bright);
	}
	free(line);
}

struct range {
	int begin, end;
};

static __device__ struct range range_of_block(int count)
{
	struct range range;
	int share = (count + gridDim.x - 1) / gridDim.x;

	range.begin = blockIdx.x * share;
	range.end = range.begin + share;
	if (range.end > count)
		range.end = count;
	return range;
}

static __device__ struct range range_of_thread(int count)
{
	struct range range = { (int)threadIdx.x % count, count };

	return range;
}

/* A helper returns a range; of the block it is uniform, of the thread it is not. */
__global__ void ranges(const int *values, int count, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	struct range block = range_of_block(count), mine = range_of_thread(count);
	int *part = (int *)malloc((block.end - block.begin) * sizeof(int)); // want: block uniform
	int *own = (int *)malloc((mine.end - mine.begin) * sizeof(int));    // want: block varying

	if (part && own) {
		for (int i = block.begin; i < block.end; i++)
			part[i - block.begin] = values[i] + id;
		own[mine.end - mine.begin - 1] = part[0];
		out[id] = own[mine.end - mine.begin - 1] + part[block.end - block.begin - 1];
	}
	free(part);
	free(own);
}

/* One member is the thread's; it may spoil the whole variable for who does not look at members. */
struct job {
	int first;
	struct {
		int bytes;
	} room;
};

static __device__ int *job_room(struct job job)
{
	return (int *)malloc(job.room.bytes); // want: block varying
}

__global__ void jobs(int bytes, int *out)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	struct job job;

	job.first = id;
	job.room.bytes = bytes + 4 * (id % 3);
	int *room = job_room(job);
	if (room) {
		room[id % 3] = job.first;
		out[id] = room[id % 3] + job.room.bytes;
	}
	free(room);
}

/* An array of a structure, whose element the loop's count says. */
__global__ void fields(struct range table, int *out)
{
	struct range parts[2];
	int id = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;

	parts[0] = table;
	parts[1].begin = table.begin;
	parts[1].end = table.end + 8;
	for (int i = 0; i < 2; i++) {
		int items = parts[i].end - parts[i].begin;
		short *field = (short *)malloc(items * sizeof(short)); // want: block uniform

		if (field) {
			field[items - 1] = (short)(id % 100 + items);
			sum += field[items - 1];
		}
		free(field);
	}
	out[id] = sum;
}

#ifdef CORPUS_MAIN
#include "../main.h"

int main(void)
{
	struct settings settings = { 10, 6, true, corpus_numbers(60, 90, 1) };
	struct range table = { 3, 19 };

	CORPUS_RUN(blur, 2, 64, settings, corpus_out);
	CORPUS_RUN(ranges, 3, 64, corpus_numbers(40, 90, 2), 40, corpus_out);
	CORPUS_RUN(jobs, 2, 64, 24, corpus_out);
	CORPUS_RUN(fields, 2, 64, table, corpus_out);
	return 0;
}
#endif
