/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play_join.c - a hash join of two tables in one pass, over lists of pages; join.h has its kernels
 * and the algorithm. play_join_counted.c has the join in two passes.
 *
 * Its own memory is the lists' words. Fewer tuples get smaller pages, as the unused rest of each
 * list's last page is wasted.
 */
#include "play_join.h"

#include <stdlib.h>
#include <string.h>

#include "bench/harness/gpu.h"
#include "join_job.h"

#define THREADS 256u
#define TILE 4096u     /* as in join_block.h */
#define PARTS_MAX 512u /* that a tile is sorted by */
#define ROW 12u

#define K UINT32_C(1024)
#define M (1024 * K)

/* ---- the cells ---- */

static const struct {
	uint32_t n, part, page; /* tuples, tuples per partition; bytes */
	bool fine;
} sizes[] = {
	{ 16 * K, 256, 256, true },   { 64 * K, 512, 256, false }, { 256 * K, 1024, 512, true },
	{ M, 2048, 1024, false },     { 4 * M, 2048, 1024, true }, { 16 * M, 2048, 1024, false },
	{ 64 * M, 2048, 1024, true },
};

#define FIRST_RANGE 812u /* per mille: memory in use is then about the same in both ranges */

void case_plan_join(struct device_plan *plan)
{
	static const uint32_t shares[] = { 1000, 500, 50 };
	size_t i, k;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		/* One and a half times what it needs: a heap is not full at the end. */
		const uint64_t need = 20 * (uint64_t)sizes[i].n +
				      2 * (uint64_t)sizes[i].n / sizes[i].part * sizes[i].page;

		for (k = 0; k < sizeof(shares) / sizeof(shares[0]); k++) {
			const struct device_cell cell = {
				.work = CASE_JOIN,
				.heap_bytes = case_heap_bytes(need, shares[k]),
				.askers = 1,
				.lanes = sizes[i].part,
				.min = sizes[i].page,
				.max = sizes[i].page,
				.rounds = FIRST_RANGE,
				.share = shares[k],
				.filled = sizes[i].n,
				.fine = sizes[i].fine || (shares[k] == 1000 && sizes[i].n != M),
			};
			char number[24];

			device_plan_add(plan, cell, "%s %u%%",
					device_plan_number(sizes[i].n, number, sizeof(number)),
					shares[k] / 10);
		}
	}
}

struct join_shape join_shape_of(const struct device_cell *cell)
{
	const uint32_t part = cell->lanes > 0 ? cell->lanes : 1;
	struct join_shape shape = { .n = cell->filled, .kind = cell->buffers };
	uint32_t max, bits = 0;

	shape.total = shape.n > part ? (shape.n - 1) / part + 1 : 1;
	shape.cut = shape.total;
	if (cell->rounds > 0 && cell->rounds < 1000)
		shape.cut = (uint32_t)((uint64_t)shape.total * cell->rounds / 1000);
	max = shape.cut > shape.total - shape.cut ? shape.cut : shape.total - shape.cut;
	while ((shape.total - 1) >> bits > 0)
		bits++;
	if (max > PARTS_MAX)
		shape.shift = bits / 2;
	/* A range begins with an upper partition. */
	shape.cut = shape.cut < shape.total ? shape.cut >> shape.shift << shape.shift : shape.total;
	if (shape.cut == 0)
		shape.cut = shape.total;
	return shape;
}

/* ---- the expected result ---- */

static void add_row(struct join_result *right, uint32_t key, uint32_t row_r, uint32_t row_s)
{
	const uint64_t mark = join_row_mark(key, row_r, row_s);

	right->rows++;
	right->sum += mark;
	right->more += mark * mark;
}

struct join_result join_reference(uint32_t kind, uint32_t n)
{
	struct join_result right = { 0, 0, 0 };
	uint32_t row, number, key, r, end;

	for (row = 0; row < n; row++) {
		number = join_number_of_s(kind, row, n);
		key = join_key_of(number);
		r = end = 0;
		if (kind == JOIN_EQUAL) {
			end = n;
		} else if (number >= n / 4 && number < n) {
			r = number;
			end = number + 1;
		} else if (number < n / 4) {
			r = 2 * number;
			end = r + 2 < n / 4 ? r + 2 : n / 4;
		}
		for (; r < end; r++)
			add_row(&right, key, r, row);
	}
	return right;
}

bool join_wrong(struct device_run *run, const struct join_play *join, struct case_pass *pass)
{
	const struct join_result *right = &join->right;
	struct case_told told;

	if (!bench_gpu_fetch(&told, run->found, sizeof(told)))
		return false;
	if (pass->counts && told.live != 0)
		pass->wrong++; /* a page that was not freed */
	if (told.none > 0 || pass->none)
		return true;
	if (told.count != right->rows)
		pass->wrong += told.count > right->rows ? told.count - right->rows
							: right->rows - told.count;
	else if (told.sum != right->sum || told.more != right->more)
		pass->wrong++;
	return true;
}

/* ---- one pass ---- */

uint32_t join_blocks(const struct device_heap *heap, const char *kernel, uint64_t parts)
{
	const uint32_t max = bench_gpu_resident(bench_gpu_kernel(heap->module, kernel), THREADS);

	if (max == 0)
		return parts < 64 ? (uint32_t)parts : 64;
	return parts < max ? (uint32_t)parts : max;
}

bool join_probe(struct case_play *play, const char *kernel, uint32_t parts,
		const struct device_job *job)
{
	const uint32_t blocks = join_blocks(play->heap, kernel, UINT32_MAX);
	const uint32_t threads = 2 * parts <= blocks ? 2 * THREADS : THREADS;

	return case_launch(play, kernel, parts < blocks ? parts : blocks, threads, job);
}

static uint64_t words_of(uint64_t direct)
{
	return direct + 4; /* of lists.h: a count, three trees */
}

/* Words for the pages of a list of `items` items, plus a margin. */
static uint64_t direct_of(uint64_t items, uint32_t of_page)
{
	const uint64_t pages = items / of_page;

	return pages + pages / 8 + 3;
}

/* Lays out the lists, with one list of results per probing block; returns their number of words. */
static uint64_t lay_out(const struct device_heap *heap, const struct join_shape *shape,
			struct device_job *job)
{
	const uint32_t rest = shape->total - shape->cut;
	const uint32_t items = job->min / 8;
	const uint64_t n = shape->n, uppers = ((shape->total - 1) >> shape->shift) + 1;
	const uint64_t each = n / shape->total + 1;
	const uint64_t results =
		join_blocks(heap, "join_probe", shape->cut > rest ? shape->cut : rest);
	const uint64_t lower = direct_of(each, items);
	const uint64_t upper = shape->shift > 0 ? direct_of(each << shape->shift, items) : 0;
	const uint64_t result = direct_of(n / results, job->min / ROW);
	const uint64_t upper_words = shape->shift > 0 ? 2 * uppers * words_of(upper) : 0;
	const uint64_t lower_words = 2 * shape->total * words_of(lower);

	job->JOIN_LOWER = upper_words; /* after the upper lists */
	job->JOIN_RESULTS = upper_words + lower_words;
	job->JOIN_DIRECT = upper | lower << 32;
	job->JOIN_RESULT_LISTS = result | results << 32;
	return upper_words + lower_words + results * words_of(result);
}

static bool launch(struct case_play *play, const char *kernel, uint64_t parts,
		   const struct device_job *job)
{
	return case_launch(play, kernel, join_blocks(play->heap, kernel, parts), THREADS, job);
}

/*
 * Splits the upper partitions of this range again, with enough blocks per partition to fill the
 * device.
 */
static bool split_again(struct case_play *play, const struct join_shape *shape,
			struct device_job *job)
{
	const uint32_t uppers =
		((job->JOIN_LAST - 1) >> shape->shift) + 1 - (job->JOIN_FIRST >> shape->shift);
	const uint64_t max = ((uint64_t)shape->n << shape->shift) / shape->total / TILE + 1;
	const uint64_t wanted =
		4 * (uint64_t)join_blocks(play->heap, "join_split_again", UINT32_MAX) /
			(2 * uppers) +
		1;
	const uint32_t each = (uint32_t)(wanted < max ? wanted : max);

	job->seed = JOIN_SEED(shape->kind, each);
	return launch(play, "join_split_again", 2 * (uint64_t)uppers * each, job);
}

/*
 * Joins a range of partitions. By blocks of JOIN_THREADS even if there are few: larger ones would
 * read so much at a time that results need extra pages.
 */
static bool join_range(struct case_play *play, const struct join_shape *shape,
		       struct device_job *job, uint32_t first, uint32_t last)
{
	job->JOIN_FIRST = first;
	job->JOIN_LAST = last;
	return launch(play, "join_split", 2 * (((uint64_t)shape->n - 1) / TILE + 1), job) &&
	       (shape->shift == 0 || split_again(play, shape, job)) &&
	       launch(play, "join_probe", last - first, job);
}

static bool join_once(struct device_run *run, struct device_heap *heap,
		      const struct device_cell *cell, struct case_pass *pass, void *user)
{
	const struct join_play *const join = (const struct join_play *)user;
	const struct join_shape *const shape = &join->shape;
	struct case_play play = { .run = run, .heap = heap };
	struct device_job job = case_job(run, heap, cell);
	uint64_t begin = bench_now(), bytes;
	void *words;
	bool good;

	bytes = sizeof(uint64_t) * lay_out(heap, shape, &job);
	words = case_take(&play, bytes);
	pass->none = play.none;
	if (words == NULL)
		return true;
	job.JOIN_UPPER = (uint64_t)(uintptr_t)words;
	job.JOIN_LOWER = job.JOIN_UPPER + sizeof(uint64_t) * job.JOIN_LOWER;
	job.JOIN_RESULTS = job.JOIN_UPPER + sizeof(uint64_t) * job.JOIN_RESULTS;
	job.flags = pass->counts ? CASE_COUNT : 0;
	job.got = join->r;
	job.more = join->s;
	job.askers = shape->n;
	job.seed = JOIN_SEED(shape->kind, 1);
	job.JOIN_TOTAL = shape->total;
	job.JOIN_SHIFT = shape->shift;
	good = bench_gpu_fill(words, 0, bytes) && join_range(&play, shape, &job, 0, shape->cut) &&
	       (shape->cut == shape->total ||
		join_range(&play, shape, &job, shape->cut, shape->total));
	pass->us = play.us;
	pass->wall_us = (double)(bench_now() - begin) / 1000;
	pass->peak = play.peak;
	good = good && launch(&play, "join_check", UINT32_MAX, &job) &&
	       launch(&play, "join_end", UINT32_MAX, &job) && join_wrong(run, join, pass);
	if (good)
		case_give(&play, words, bytes);
	return good;
}

/* ---- a cell ---- */

/* Cells with equal numbers of tuples are adjacent. */
static struct join_result right_of(const struct join_shape *shape)
{
	static struct join_shape last;
	static struct join_result right;

	if (last.n != shape->n || last.kind != shape->kind || last.n == 0)
		right = join_reference(shape->kind, shape->n);
	last = *shape;
	return right;
}

static bool make_tables(struct device_run *run, struct device_heap *heap,
			const struct device_cell *cell, const struct join_play *join)
{
	struct device_job job = case_job(run, heap, cell);

	job.got = join->r;
	job.more = join->s;
	job.askers = join->shape.n;
	job.seed = JOIN_SEED(join->shape.kind, 1);
	return device_launch_as(heap, "join_make",
				join_blocks(heap, "join_make", join->shape.n / THREADS + 1),
				THREADS, &job, NULL);
}

bool case_play_join(struct device_run *run, struct device_heap *heap,
		    const struct device_cell *cell)
{
	struct join_play join = { .shape = join_shape_of(cell) };
	const uint64_t bytes = sizeof(uint64_t) * (uint64_t)join.shape.n;
	bool good = true;

	join.r = bench_gpu_take(bytes);
	join.s = bench_gpu_take(bytes);
	if (join.r == NULL || join.s == NULL) {
		device_note(run, heap, cell,
			    "the device has too little free memory for the tables");
	} else {
		join.right = right_of(&join.shape);
		good = make_tables(run, heap, cell, &join) &&
		       case_runs(run, heap, cell,
				 case_is_reserved(heap->allocator) ? join_once_counted : join_once,
				 &join);
	}
	if (good) {
		bench_gpu_give(join.r);
		bench_gpu_give(join.s);
	}
	return good;
}
