/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.c - the clock, medians, and the churn that most workloads time.
 *
 * A churn keeps the number of live blocks about constant. One round:
 *   1. choose the blocks to free and the sizes to allocate; copy both into small arrays, so that the
 *      bench's own tables are in cache and cost the same for every peer;
 *   2. read the clock, run the whole batch, read it again; subtract the cost of reading; divide;
 *   3. do the same for the other half of the round, and put the new blocks into the table.
 * Rounds are repeated until the time slice is used up, at least MIN_ROUNDS times. The first few
 * are discarded.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/bench.h"

#define MIN_ROUNDS 5
#define MAX_ROUNDS 40000
#define WARM_ROUNDS 2
#define MANY_BLOCKS 200000 /* freeing this many one by one would take longer than measuring */

static double clock_cost;

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

void *bench_measure_pages(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return NULL;
	memset(pages, 0, bytes);
	return pages;
}

void bench_measure_pages_free(void *pages, size_t bytes)
{
	if (pages != NULL)
		munmap(pages, bytes);
}

double bench_measure_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

void bench_measure_init(void)
{
	double looks[1001];
	size_t i;

	for (i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		uint64_t start = bench_now();

		looks[i] = (double)(bench_now() - start);
	}
	clock_cost = bench_measure_median(looks, sizeof(looks) / sizeof(looks[0]));
}

double bench_measure_clock_cost(void)
{
	return clock_cost;
}

void bench_sample_add(struct bench_sample *sample, const char *metric, double value)
{
	bench_sample_add_at(sample, NULL, metric, value);
}

void bench_sample_add_at(struct bench_sample *sample, const char *parameter, const char *metric,
			 double value)
{
	if (sample->count < BENCH_METRICS_MAX)
		sample->numbers[sample->count++] =
			(struct bench_number){ metric, parameter, value };
}

bool bench_table_init(struct bench_table *table, size_t room)
{
	table->blocks = bench_measure_pages(room * sizeof(*table->blocks));
	table->count = 0;
	table->room = room;
	return table->blocks != NULL;
}

void bench_table_fini(struct bench_table *table, struct bench_peer *peer)
{
	if (table->count > MANY_BLOCKS && peer->drop != NULL)
		peer->drop(peer);
	while (table->count > 0 && !peer->dropped)
		bench_give(peer, &table->blocks[--table->count]);
	bench_measure_pages_free(table->blocks, table->room * sizeof(*table->blocks));
}

struct bench_block bench_table_take(struct bench_table *table, struct bench_random *random)
{
	size_t at = bench_random_below(random, table->count);
	struct bench_block block = table->blocks[at];

	table->blocks[at] = table->blocks[--table->count];
	return block;
}

bool bench_rounds_init(struct bench_rounds *rounds)
{
	*rounds = (struct bench_rounds){ .alloc = bench_measure_pages(MAX_ROUNDS * sizeof(double)),
					 .free = bench_measure_pages(MAX_ROUNDS * sizeof(double)) };
	return rounds->alloc != NULL && rounds->free != NULL;
}

void bench_rounds_fini(struct bench_rounds *rounds)
{
	bench_measure_pages_free(rounds->alloc, MAX_ROUNDS * sizeof(double));
	bench_measure_pages_free(rounds->free, MAX_ROUNDS * sizeof(double));
}

bool bench_rounds_full(const struct bench_rounds *rounds)
{
	return rounds->count == MAX_ROUNDS;
}

static void keep_round(struct bench_rounds *rounds, size_t batch, double alloc_ns, double free_ns)
{
	if (bench_rounds_full(rounds))
		return;
	rounds->alloc[rounds->count] = alloc_ns / (double)batch;
	rounds->free[rounds->count] = free_ns / (double)batch;
	rounds->alloc_sum += alloc_ns;
	rounds->free_sum += free_ns;
	rounds->operations += batch;
	rounds->count++;
}

void bench_rounds_answer(struct bench_rounds *rounds, struct bench_sample *sample)
{
	bench_sample_add(sample, "alloc_ns", bench_measure_median(rounds->alloc, rounds->count));
	bench_sample_add(sample, "free_ns", bench_measure_median(rounds->free, rounds->count));
	bench_sample_add(sample, "alloc_mean_ns", rounds->alloc_sum / (double)rounds->operations);
	bench_sample_add(sample, "free_mean_ns", rounds->free_sum / (double)rounds->operations);
}

static double batch_ns(uint64_t start, uint64_t end)
{
	double ns = (double)(end - start) - clock_cost;

	return ns > 0 ? ns : 0;
}

static bool time_allocs(struct bench_peer *peer, struct bench_table *table,
			const struct bench_churn *churn, struct bench_random *random, double *ns)
{
	size_t sizes[BENCH_BATCH_MAX], i;
	void *blocks[BENCH_BATCH_MAX];
	uint64_t start, end;
	bool refused = false;

	for (i = 0; i < churn->batch; i++) {
		sizes[i] = bench_random_between(random, churn->min_bytes, churn->max_bytes);
		blocks[i] = NULL;
	}
	start = bench_now();
	for (i = 0; i < churn->batch; i++)
		blocks[i] = peer->alloc(peer, sizes[i]);
	end = bench_now();
	for (i = 0; i < churn->batch; i++) {
		if (blocks[i] != NULL)
			table->blocks[table->count++] = (struct bench_block){ blocks[i], sizes[i] };
		else
			refused = true;
	}
	*ns = batch_ns(start, end);
	return !refused;
}

static double time_frees(struct bench_peer *peer, struct bench_table *table,
			 const struct bench_churn *churn, struct bench_random *random)
{
	struct bench_block blocks[BENCH_BATCH_MAX];
	uint64_t start, end;
	size_t i;

	for (i = 0; i < churn->batch; i++)
		blocks[i] = bench_table_take(table, random);
	start = bench_now();
	for (i = 0; i < churn->batch; i++)
		peer->release(peer, blocks[i].address, blocks[i].bytes);
	end = bench_now();
	return batch_ns(start, end);
}

static void finish(struct bench_peer *peer)
{
	if (peer->finish != NULL)
		peer->finish(peer);
}

bool bench_churn_round(struct bench_peer *peer, struct bench_table *table,
		       const struct bench_churn *churn, struct bench_random *random,
		       struct bench_rounds *rounds)
{
	double alloc_ns = 0, free_ns = 0;

	if (churn->free_first) {
		free_ns = time_frees(peer, table, churn, random);
		finish(peer);
	}
	if (!time_allocs(peer, table, churn, random, &alloc_ns))
		return false;
	finish(peer);
	if (!churn->free_first) {
		free_ns = time_frees(peer, table, churn, random);
		finish(peer);
	}
	if (rounds != NULL)
		keep_round(rounds, churn->batch, alloc_ns, free_ns);
	return true;
}

const char *bench_churn_run(struct bench_peer *peer, struct bench_table *table,
			    const struct bench_churn *churn, const struct bench_effort *effort,
			    struct bench_random *random, struct bench_sample *sample)
{
	struct bench_rounds rounds;
	const char *why =
		bench_rounds_init(&rounds) ? NULL : "no memory for the bench's own tables";
	uint64_t until = bench_now() + effort->slice_ns;
	size_t done;

	for (done = 0; why == NULL && !bench_rounds_full(&rounds); done++) {
		if (done >= WARM_ROUNDS + MIN_ROUNDS && bench_now() > until)
			break;
		if (!bench_churn_round(peer, table, churn, random,
				       done < WARM_ROUNDS ? NULL : &rounds))
			why = "a request was refused";
	}
	if (why == NULL)
		bench_rounds_answer(&rounds, sample);
	bench_rounds_fini(&rounds);
	return why;
}
