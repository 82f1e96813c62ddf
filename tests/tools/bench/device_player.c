/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_player.c - runs one cell of `mam bench device`, by a worker on a simulated GPU.
 */
#include "device_player.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/device/device_allocators.h"
#include "bench/device/device_play.h"
#include "bench/harness/gpu.h"
#include "tools/bench/sim/device_sim.h"

#define ROWS 512

extern const unsigned char mam_device_broken_fatbin[], mam_device_example_fatbin[];

static struct row {
	char allocator[24], metric[24];
	double value;
} rows[ROWS];
static size_t row_count;
char player_trouble[512], player_notes[4096];

static const struct device_suite suite = {
	.prefix = "device",
	.allocators = device_allocators,
	.allocator_count = &device_allocator_count,
	.works = device_works,
	.work_count = DEVICE_WORKS,
	.system_heap = 8 * (uint64_t)BENCH_GIB,
	.takes_part = device_plan_takes_part,
	.places = device_plan_places,
};
static struct device_request request;
static struct device_plan plan;

static const char *make_added(struct device_heap *heap, uint64_t bytes, uint64_t object_bytes)
{
	(void)object_bytes;
	heap->own[0] = heap->heap = bench_gpu_take(bytes);
	heap->space_bytes = bytes;
	heap->low = (uint64_t)(uintptr_t)heap->heap;
	heap->high = heap->low + bytes;
	memset(heap->heap, 0, bytes);
	memcpy(heap->heap, &bytes, sizeof(bytes));
	return NULL;
}

static bool reset_added(struct device_heap *heap)
{
	(void)heap;
	return true;
}

static void add_allocator(const char *name, const unsigned char *module)
{
	request.allocators[request.allocator_count++] =
		(struct device_allocator){ .name = name,
					   .role = DEVICE_ADDED,
					   .module = module,
					   .frees = true,
					   .make = make_added,
					   .end = device_heap_end_block,
					   .reset = reset_added };
}

void player_setup_suite(const struct device_suite *which)
{
	size_t i;

	memset(&request, 0, sizeof(request));
	request.suite = which;
	request.effort = (struct device_effort){ .name = "test",
						 .repeats = 2,
						 .slow_repeats = 2,
						 .warm = 1,
						 .deadline_ns = UINT64_MAX,
						 .MAX_ASKERS = UINT32_MAX,
						 .heap_max = UINT64_MAX,
						 .fine = true };
	memset(request.wanted, true, sizeof(request.wanted));
	for (i = 0; i < *which->allocator_count; i++)
		request.allocators[request.allocator_count++] = which->allocators[i];
	add_allocator("broken", mam_device_broken_fatbin);
}

void player_setup(void)
{
	player_setup_suite(&suite);
	add_allocator("example", mam_device_example_fatbin);
}

static void read_line(char *line)
{
	char *fields[6] = { line };
	size_t count = 1;

	line[strcspn(line, "\n")] = '\0';
	for (; *line != '\0'; line++) {
		if (*line == '\t' && count < 6) {
			*line = '\0';
			fields[count++] = line + 1;
		}
	}
	if (strcmp(fields[0], "R") == 0 && count == 6 && row_count < ROWS) {
		struct row *row = &rows[row_count++];

		snprintf(row->allocator, sizeof(row->allocator), "%s", fields[2]);
		snprintf(row->metric, sizeof(row->metric), "%s", fields[4]);
		row->value = strtod(fields[5], NULL);
	} else if (strcmp(fields[0], "N") == 0 &&
		   strlen(player_notes) + 200 < sizeof(player_notes)) {
		snprintf(player_notes + strlen(player_notes), 200, "%.190s\n", fields[1]);
	} else if (strcmp(fields[0], "T") == 0 || strcmp(fields[0], "X") == 0) {
		snprintf(player_trouble, sizeof(player_trouble), "%s", fields[1]);
	}
}

/* One cell, by a worker of its own. */
void player_play(const char *name, struct device_cell cell)
{
	char line[1024];
	int pipes[2];
	FILE *in;
	pid_t worker;
	size_t i;

	row_count = 0;
	player_trouble[0] = player_notes[0] = '\0';
	for (i = 0; i < request.allocator_count; i++)
		request.usable[i] = name == NULL ? strcmp(request.allocators[i].name, "broken") != 0
						 : strcmp(request.allocators[i].name, name) == 0;
	snprintf(cell.parameter, sizeof(cell.parameter), "it");
	plan.count = 1;
	plan.cells[0] = cell;
	ck_assert_int_eq(pipe(pipes), 0);
	worker = fork();
	ck_assert_int_ge(worker, 0);
	if (worker == 0) {
		close(pipes[0]);
		device_worker(&request, &plan, 0, UINT64_MAX, pipes[1]);
	}
	close(pipes[1]);
	in = fdopen(pipes[0], "r");
	ck_assert_ptr_nonnull(in);
	while (fgets(line, sizeof(line), in) != NULL)
		read_line(line);
	fclose(in);
	ck_assert_int_eq(waitpid(worker, NULL, 0), worker);
}

double player_value(const char *allocator, const char *metric)
{
	size_t i;

	for (i = 0; i < row_count; i++) {
		if (strcmp(rows[i].allocator, allocator) == 0 &&
		    strcmp(rows[i].metric, metric) == 0)
			return rows[i].value;
	}
	return -1;
}

void player_check_all(const char *metric, bool mixed, bool frees)
{
	size_t i;

	ck_assert_str_eq(player_trouble, "");
	for (i = 0; i < request.allocator_count; i++) {
		const struct device_allocator *allocator = &request.allocators[i];

		if (!request.usable[i] || (mixed && allocator->one_size) ||
		    (frees && !allocator->frees))
			continue;
		ck_assert_msg(player_value(allocator->name, metric) > 0, "%s of %s: %g; %s", metric,
			      allocator->name, player_value(allocator->name, metric), player_notes);
		if (player_value(allocator->name, "wrong") >= 0)
			ck_assert_msg(player_value(allocator->name, "wrong") == 0, "%s: %s",
				      allocator->name, player_notes);
	}
}

void player_check_broken(const char *metric)
{
	ck_assert_str_eq(player_trouble, "");
	ck_assert_double_gt(player_value("broken", "wrong"), 0);
	ck_assert_double_eq(player_value("broken", metric), -1);
	ck_assert_ptr_nonnull(strstr(player_notes, "broken: "));
}

struct device_cell player_cell(unsigned int work, uint32_t askers, uint32_t min, uint32_t max,
			       uint32_t rounds)
{
	return (struct device_cell){ .work = work,
				     .heap_bytes = PLAYER_HEAP,
				     .askers = askers,
				     .lanes = askers < 32 ? askers : 32,
				     .min = min,
				     .max = max,
				     .rounds = rounds };
}
