/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stress.cu - runs the gallery's bugs on a GPU, with many launches each, and counts the launches
 * that show them.
 *
 *    stress [FIRST [LAUNCHES [LINES]]]
 *
 * prints LINES lines of CSV, starting at line FIRST, or all that follow: each bug and its twin,
 * with many small blocks and with few large ones: name, bug or twin, blocks, lanes per block,
 * launches, launches that showed the bug, description. A kernel that has not ended after two
 * seconds hangs: its line reports that, and the program ends with status 3, as nothing can run
 * after it. The caller continues with the line that follows.
 *
 * All files of the gallery are one translation unit here, each in its own namespace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "simt/gallery/gallery.h"

namespace in_check_then_set
{
#include "simt/gallery/check_then_set.c"
}
namespace in_lost_count
{
#include "simt/gallery/lost_count.c"
}
namespace in_missing_retry
{
#include "simt/gallery/missing_retry.c"
}
namespace in_overshoot
{
#include "simt/gallery/overshoot.c"
}
namespace in_early_ticket
{
#include "simt/gallery/early_ticket.c"
}
namespace in_aba
{
#include "simt/gallery/aba.c"
}
namespace in_double_attach
{
#include "simt/gallery/double_attach.c"
}
namespace in_lost_slab
{
#include "simt/gallery/lost_slab.c"
}
namespace in_header_late
{
#include "simt/gallery/header_late.c"
}
namespace in_shuffle_barrier
{
#include "simt/gallery/shuffle_barrier.c"
}
namespace in_page_no_release
{
#include "simt/gallery/page_no_release.c"
}
namespace in_missing_acquire
{
#include "simt/gallery/missing_acquire.c"
}
namespace in_last_reference
{
#include "simt/gallery/last_reference.c"
}
namespace in_late_use
{
#include "simt/gallery/late_use.c"
}
namespace in_block_fence
{
#include "simt/gallery/block_fence.c"
}
namespace in_block_scope
{
#include "simt/gallery/block_scope.c"
}
namespace in_host_scope
{
#include "simt/gallery/host_scope.c"
}
namespace in_store_buffer
{
#include "simt/gallery/store_buffer.c"
}
namespace in_shared_race
{
#include "simt/gallery/shared_race.c"
}
namespace in_full_mask
{
#include "simt/gallery/full_mask.c"
}
namespace in_ended_lane
{
#include "simt/gallery/ended_lane.c"
}
namespace in_absent_lane
{
#include "simt/gallery/absent_lane.c"
}
namespace in_second_active
{
#include "simt/gallery/second_active.c"
}
namespace in_split_barrier
{
#include "simt/gallery/split_barrier.c"
}
namespace in_warp_lock
{
#include "simt/gallery/warp_lock.c"
}
namespace in_co_resident
{
#include "simt/gallery/co_resident.c"
}

#define ROW_OF(name) &in_##name::gallery_##name##_row,
static const struct gallery_row *const rows[] = { GALLERY_ROWS(ROW_OF) };

#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))
#define DEADLINE_S 2

static const struct {
	unsigned int grid, block;
} shapes[] = { { 32, 32 }, { 4, 256 } };

#define SHAPES ((int)(sizeof(shapes) / sizeof(shapes[0])))

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Waits for the launch: 0 if it has ended, 1 if it hangs, 2 if it failed. */
static int wait_for(cudaEvent_t event)
{
	double deadline = now() + DEADLINE_S;
	cudaError_t error;

	while ((error = cudaEventQuery(event)) == cudaErrorNotReady)
		if (now() > deadline)
			return 1;
	return error == cudaSuccess ? 0 : 2;
}

/* Runs one bug or twin and prints its line. Ends the program if a kernel hangs or faults. */
static void run(const struct gallery_row *row, bool bug, int shape, int launches)
{
	unsigned int grid = shapes[shape].grid, block = shapes[shape].block;
	void *state;
	cudaEvent_t event;
	const char *seen = NULL;
	int shown = 0, end = 0;

	if (cudaMallocManaged(&state, row->bytes) != cudaSuccess ||
	    cudaEventCreate(&event) != cudaSuccess) {
		fprintf(stderr, "stress: no memory on the GPU for %s\n", row->name);
		exit(1);
	}
	for (int i = 0; i < launches && end == 0; i++) {
		void *arguments[] = { &state };

		memset(state, 0, row->bytes);
		row->begin(state, bug, grid, block);
		if (cudaLaunchKernel((const void *)row->kernel, dim3(grid), dim3(block), arguments,
				     0, 0) != cudaSuccess ||
		    cudaEventRecord(event, 0) != cudaSuccess)
			end = 2;
		else
			end = wait_for(event);
		const char *wrong = end == 1 ? "hangs" : end == 2 ? "faults" : row->check(state);

		if (wrong) {
			shown++;
			seen = wrong;
		}
		if (end)
			launches = i + 1;
	}
	printf("%s,%s,%u,%u,%d,%d,\"%s\"\n", row->name, bug ? "bug" : "twin", grid, block, launches,
	       shown, seen ? seen : "-");
	fflush(stdout);
	if (end)
		_exit(3);
	cudaEventDestroy(event);
	cudaFree(state);
}

int main(int argc, char **argv)
{
	int first = argc > 1 ? atoi(argv[1]) : 0;
	int launches = argc > 2 ? atoi(argv[2]) : 200;
	int lines = 2 * SHAPES * ROWS;
	int count = argc > 3 ? atoi(argv[3]) : lines;

	for (int at = first < 0 ? 0 : first; at < lines && count > 0; at++, count--)
		run(rows[at / 2 / SHAPES], at % 2 == 0, at / 2 % SHAPES, launches);
	return 0;
}
