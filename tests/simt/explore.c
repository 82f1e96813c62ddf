/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explore.c - first all schedules with no deviation, with one and so on (bound.h), so that a
 * failure is found with as few as possible. Then each seed under every policy in turn, so that a
 * failure that any policy finds early is found early.
 *
 * The counts of a program are in memory that it shares with the child processes in which Check may
 * run its tests. The first process prints the counts at exit.
 */
#include "simt/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "simt/bound.h"
#include "simt/crash.h"

/* Shapes of blocks and grids. */
static const struct shape {
	const char *name;
	struct simt_dims block, grid;
} shapes[SIMT_SHAPES] = {
	{ "line", { 0, 0, 0 }, { 0, 0, 0 } },
	{ "48x4", { 48, 4, 1 }, { 1, 0, 0 } },
	{ "16x16", { 16, 16, 1 }, { 1, 1, 0 } },
};
struct counts {
	uint64_t schedules, steps, nanoseconds;
	pid_t owner;
};

static struct counts *counts;

static void print_counts(void)
{
	double seconds = (double)counts->nanoseconds / 1e9;

	if (counts->owner != getpid() || !counts->schedules)
		return;
	printf("simt: %llu schedules, %llu steps, %.1f s: %.0f schedules/s\n",
	       (unsigned long long)counts->schedules, (unsigned long long)counts->steps, seconds,
	       seconds > 0 ? (double)counts->schedules / seconds : 0.0);
	fflush(stdout);
}

static void __attribute__((constructor)) begin_counts(void)
{
	static struct counts alone;

	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (counts == MAP_FAILED)
		counts = &alone;
	counts->owner = getpid();
	atexit(print_counts);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static bool number_of(const char *name, uint64_t *value)
{
	const char *text = getenv(name);
	char *end;
	unsigned long long number;

	if (!text || !*text)
		return false;
	number = strtoull(text, &end, 0);
	if (*end) {
		fprintf(stderr, "simt: %s=%s is not a number; ignored\n", name, text);
		return false;
	}
	*value = number;
	return true;
}

static unsigned int policies_of(const struct simt_case *test)
{
	const char *text = getenv("SIMT_POLICY");

	if (text && *text) {
		for (unsigned int i = 0; i <= SIMT_BY_BOUND; i++) {
			if (!strcmp(text, simt_policy_name(i)))
				return 1u << i;
		}
		fprintf(stderr, "simt: SIMT_POLICY=%s is not lane, warp, pct or bound; ignored\n",
			text);
	}
	return test->policies ? test->policies : (1u << SIMT_POLICIES) - 1;
}

/* The shape that SIMT_SHAPE names, or shape number `which`. */
static const struct shape *shape_of(uint64_t which)
{
	const char *text = getenv("SIMT_SHAPE");

	for (size_t i = 0; text && *text && i < SIMT_SHAPES; i++) {
		if (!strcmp(text, shapes[i].name))
			return &shapes[i];
	}
	if (text && *text)
		fprintf(stderr, "simt: SIMT_SHAPE=%s is not line, 48x4 or 16x16; ignored\n", text);
	return &shapes[which % SIMT_SHAPES];
}

void simt_set_shape(struct simt_config *config, uint64_t which)
{
	const struct shape *shape = shape_of(which);

	config->block = shape->block;
	config->grid = shape->grid;
}

static enum simt_verdict build_and_run(const struct simt_case *test,
				       const struct simt_config *config, struct simt_result *result)
{
	struct simt_world *world = simt_world_create(config);
	enum simt_verdict verdict = SIMT_NO_MEMORY;

	memset(result, 0, sizeof(*result));
	if (world && test->build(world, test->argument)) {
		verdict = simt_world_run(world, result);
	} else {
		result->verdict = verdict;
		snprintf(result->text, sizeof(result->text), "the world was not built");
	}
	simt_world_destroy(world);
	return verdict;
}

/* Runs one interleaving; true if it and its check succeed. */
static bool try_one(const struct simt_case *test, uint64_t seed, enum simt_policy policy,
		    struct simt_search *search)
{
	struct simt_config config = test->config;
	const char *wrong = NULL;

	config.seed = seed;
	config.policy = policy;
	/* Each seed has another shape under each policy, and the next seed yet another one. */
	if (!config.block.x)
		simt_set_shape(&config, seed + policy);
	if (test->begin)
		test->begin(test->argument);
	simt_crash_begin(test, seed, policy);
	if (test->build)
		build_and_run(test, &config, &search->result);
	else
		simt_launch(&config, test->kernel, test->grid, test->block, test->argument,
			    &search->result);
	search->schedules++;
	search->steps += search->result.steps;
	if (search->result.verdict == SIMT_FINE && test->check)
		wrong = test->check(test->argument);
	if (wrong) {
		search->result.verdict = SIMT_FAILED;
		snprintf(search->result.text, sizeof(search->result.text), "after the run: %s",
			 wrong);
	}
	return search->result.verdict == SIMT_FINE;
}

/* The same, and notes a failure. */
static bool try(const struct simt_case *test, uint64_t seed, enum simt_policy policy,
		struct simt_search *search)
{
	if (try_one(test, seed, policy, search))
		return true;
	search->failed = true;
	search->seed = seed;
	search->policy = policy;
	return false;
}

static bool try_random(const struct simt_case *test, struct simt_search *search, uint64_t share)
{
	uint64_t first = 1, seeds = test->seeds, seed;
	unsigned int policies = policies_of(test);

	if (share > 1)
		seeds = (seeds + share - 1) / share;

	/* Each shape at least once. */
	if (seeds && seeds < SIMT_SHAPES && !(policies & (policies - 1)))
		seeds = SIMT_SHAPES;
	number_of("SIMT_FIRST", &first);
	number_of("SIMT_SEEDS", &seeds);
	if (number_of("SIMT_SEED", &seed)) {
		first = seed;
		seeds = 1;
	}
	for (seed = first; seed - first < seeds; seed++)
		for (unsigned int policy = 0; policy <= SIMT_BY_BOUND; policy++)
			if ((policies >> policy & 1) && !try(test, seed, policy, search))
				return false;
	return true;
}

/*
 * All schedules with exactly `left` more deviations than `plan`, which has `used`, the last one at
 * point `last`; of those that would be run last, one of `share`.
 */
static bool try_plan(const struct simt_case *test, struct simt_search *search, uint64_t plan,
		     unsigned int used, uint32_t last, unsigned int left, uint64_t share)
{
	const uint8_t *others;
	uint8_t *copy;
	uint32_t count;
	bool well = true;

	if (left == 0 && search->plans++ % share != 0 && used != 0)
		return true;
	if (!try(test, plan, SIMT_BY_BOUND, search) || left == 0)
		return !search->failed;
	/* The runs below overwrite the choices of this one. */
	count = simt_bound_points(&others);
	copy = malloc(count + 1);
	if (!copy)
		abort();
	memcpy(copy, others, count);
	for (uint32_t at = last + 1; well && at <= count; at++)
		for (uint64_t which = 1; well && which <= copy[at - 1]; which++)
			well = try_plan(test, search,
					plan | (at | which << SIMT_POINT_BITS)
							<< used * SIMT_DEVIATION_BITS,
					used + 1, at, left - 1, share);
	free(copy);
	return well;
}

static bool try_all(const struct simt_case *test, struct simt_search *search, uint64_t share)
{
	bool chosen = getenv("SIMT_SEED") || getenv("SIMT_SEEDS") || getenv("SIMT_POLICY");

	if (test->deviations > SIMT_DEVIATIONS_MAX)
		abort();
	for (unsigned int count = 0; !chosen && test->deviations && count <= test->deviations;
	     count++)
		if (!try_plan(test, search, 0, 0, 0, count, share))
			return false;
	return try_random(test, search, share);
}

static bool explore(const struct simt_case *test, struct simt_search *search, uint64_t share)
{
	const char *only = getenv("SIMT_CASE");
	uint64_t began = now(), took;
	bool well;

	search->schedules = search->steps = search->plans = 0;
	search->seconds = 0;
	search->failed = false;
	if (only && *only && strcmp(only, test->name))
		return true;
	well = try_all(test, search, share);
	simt_crash_end();
	took = now() - began;
	search->seconds = (double)took / 1e9;
	counts->schedules += search->schedules;
	counts->steps += search->steps;
	counts->nanoseconds += took;
	return well;
}

bool simt_explore(const struct simt_case *test, struct simt_search *search)
{
	uint64_t share = 1;

	number_of("TEST_SHARE", &share);
	return explore(test, search, share);
}

bool simt_explore_fully(const struct simt_case *test, struct simt_search *search)
{
	return explore(test, search, 1);
}

/* The path of this program, in a form that a shell accepts in the program's working directory. */
static void own_path(char *path, size_t bytes)
{
	char folder[4096];
	ssize_t length = readlink("/proc/self/exe", path, bytes - 1);
	size_t prefix;

	if (length < 0) {
		snprintf(path, bytes, "PROGRAM");
		return;
	}
	path[length] = '\0';
	if (!getcwd(folder, sizeof(folder)))
		return;
	prefix = strlen(folder);
	if (!strncmp(path, folder, prefix) && path[prefix] == '/') {
		memmove(path + 2, path + prefix + 1, strlen(path + prefix + 1) + 1);
		memcpy(path, "./", 2);
	}
}

void simt_describe(const struct simt_case *test, const struct simt_search *search, char *text,
		   size_t bytes)
{
	static const char *const kept[] = { "CK_FORK", "CK_RUN_SUITE", "CK_RUN_CASE",
					    "SIMT_SHAPE" };
	char path[4096];
	size_t length;

	own_path(path, sizeof(path));
	length = strlen(search->result.text);
	snprintf(text, bytes,
		 "%s: %s after %llu steps with seed %llu, policy %s, shape %s\n%s%sagain: ",
		 test->name, simt_verdict_name(search->result.verdict),
		 (unsigned long long)search->result.steps, (unsigned long long)search->seed,
		 simt_policy_name(search->policy),
		 test->config.block.x ? "its own" : shape_of(search->seed + search->policy)->name,
		 search->result.text,
		 length && search->result.text[length - 1] == '\n' ? "" : "\n");
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if (!getenv(kept[i]))
			continue;
		length = strlen(text);
		snprintf(text + length, bytes - length, "%s='%s' ", kept[i], getenv(kept[i]));
	}
	length = strlen(text);
	snprintf(text + length, bytes - length, "SIMT_CASE='%s' SIMT_SEED=%llu SIMT_POLICY=%s %s",
		 test->name, (unsigned long long)search->seed, simt_policy_name(search->policy),
		 path);
}
