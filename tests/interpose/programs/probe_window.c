/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_window.c - a program that starts and stops profiles of itself. Blocks have different sizes,
 * by which the test finds them; $PROBE_FILE begins the names of the files.
 */
#include <mam/profile.h>
#include <mam/source.h>
#include <mam/stream.h>
#include <mam/tag.h>

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/driver_api.h"
#include "probe.h"

#define THREADS 4
#define WINDOWS 20

static struct CUctx_st *context;

static void begin(void)
{
	cuInit(0);
	cuDevicePrimaryCtxRetain(&context, probe_device());
	cuCtxSetCurrent(context);
}

__attribute__((noinline)) static unsigned long long take(size_t bytes)
{
	unsigned long long block = 0;

	if (cuMemAlloc_v2(&block, bytes) != 0)
		exit(3);
	return block;
}

static const char *name(const char *suffix)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s%s", getenv("PROBE_FILE"), suffix);
	return path;
}

/* Two windows, and blocks before, between and after them. */
static void windows(void)
{
	unsigned long long before, first;

	begin();
	before = take(1000);
	printf("start %d\n", mam_profile_start(name(".1"), 0));
	first = take(2000);
	cuMemFree_v2(before);
	printf("start again %d\n", mam_profile_start(name(".2"), 0));
	printf("stop %d\n", mam_profile_stop());
	printf("stop again %d\n", mam_profile_stop());
	take(3000);
	printf("start %d\n", mam_profile_start(name(".2"), 0));
	cuMemFree_v2(first);
	cuMemFree_v2(take(4000));
	printf("stop %d\n", mam_profile_stop());
	take(5000);
}

static void mistakes(void)
{
	begin();
	printf("NULL %d\n", mam_profile_start(NULL, 0));
	printf("empty %d\n", mam_profile_start("", 0));
	printf("no folder %d\n", mam_profile_start("/none/of/these", 0));
	printf("stop %d\n", mam_profile_stop());
	printf("start %d\n", mam_profile_start(name(".1"), 0));
	take(1000);
}

/* The child does not continue the profile; it may record its own. */
static void forked(void)
{
	int status;
	pid_t child;

	cuMemFree_v2(0);
	printf("start %d\n", mam_profile_start(name(".1"), 0));
	child = fork();
	if (child == 0) {
		begin();
		take(1000);
		printf("child stop %d\n", mam_profile_stop());
		printf("child start %d\n", mam_profile_start(name(".2"), 0));
		take(2000);
		printf("child stop %d\n", mam_profile_stop());
		exit(0);
	}
	waitpid(child, &status, 0);
	begin();
	take(3000);
	printf("stop %d\n", mam_profile_stop());
}

static atomic_bool ends;

static void *churn(void *unused)
{
	cuCtxSetCurrent(context);
	while (!atomic_load(&ends))
		cuMemFree_v2(take(6000));
	return unused;
}

static void threads(void)
{
	pthread_t all[THREADS];
	int good = 0;

	begin();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&all[i], NULL, churn, NULL);
	for (int i = 0; i < WINDOWS; i++) {
		good += mam_profile_start(name(".1"), 0) == 0;
		cuMemFree_v2(take(7000));
		good += mam_profile_stop() == 0;
	}
	atomic_store(&ends, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	printf("%d of %d\n", good, 2 * WINDOWS);
}

static void control(const char *request)
{
	char command[8192];

	snprintf(command, sizeof(command), "\"$MAM\" ctl %d %s > /dev/null", (int)getpid(),
		 request);
	printf("ctl %d\n", system(command));
}

/* mam ctl ends the profile, and starts a trace, which the program does not end. */
static void replaced(void)
{
	char request[5000];

	begin();
	take(1000);
	printf("start %d\n", mam_profile_start(name(".1"), 0));
	control("trace off");
	snprintf(request, sizeof(request), "trace '%s'", name(".2"));
	control(request);
	printf("stop %d\n", mam_profile_stop());
	take(2000);
	control("trace off");
}

static struct mam_pool *make_pool(void)
{
	struct mam_source *source;
	struct mam_pool *pool;

	if (mam_source_host(0, false, &source) != MAM_OK ||
	    mam_pool_create_on(source, NULL, &pool) != MAM_OK)
		exit(3);
	return pool;
}

__attribute__((noinline)) static void *take_from(struct mam_pool *pool, size_t bytes)
{
	void *block;

	if (mam_malloc(pool, bytes, &block) != MAM_OK)
		exit(3);
	return block;
}

/* Blocks of pools, one made before the first profile and one on the device. */
static void pools(void)
{
	struct mam_pool *pool = make_pool(), *other;
	void *first = take_from(pool, 1000), *block;

	printf("start %d\n", mam_profile_start(name(".1"), 0));
	mam_tag_push("weights");
	block = take_from(pool, 2000);
	mam_tag_pop();
	mam_free(pool, first);
	mam_free(NULL, block);
	begin();
	if (mam_malloc_async(NULL, 2500, NULL, &block) != MAM_OK ||
	    mam_free_async(NULL, block, (void *)2) != MAM_OK)
		exit(3);
	printf("stop %d\n", mam_profile_stop());
	first = take_from(pool, 3000);
	printf("start %d\n", mam_profile_start(name(".2"), 0));
	mam_free(pool, first);
	other = make_pool();
	take_from(other, 4000);
	mam_pool_abandon(other);
	take_from(pool, 5000);
}

/* Blocks that the program leaves, among others; the chunk of the default pool is none of them. */
static void left(void)
{
	struct mam_pool *pool = make_pool();
	void *block;

	begin();
	mam_tag_push("weights");
	take_from(pool, 1000);
	mam_free(pool, take_from(pool, 2000));
	if (mam_malloc_async(NULL, 3000, NULL, &block) != MAM_OK)
		exit(3);
	mam_tag_pop();
	take(4000);
}

static void *take_once(void *unused)
{
	cuCtxSetCurrent(context);
	take(1000);
	return unused;
}

/* The first allocation, which opens the trace, is that of a thread with the smallest stack. */
static void small_stack(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	begin();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
	printf("create %d\n", pthread_create(&thread, &attributes, take_once, NULL));
	pthread_join(thread, NULL);
}

static void pool_forks(void)
{
	struct mam_pool *pool = make_pool();
	int status;
	pid_t child;

	printf("start %d\n", mam_profile_start(name(".1"), 0));
	child = fork();
	if (child == 0) {
		pool = make_pool();
		take_from(pool, 1000);
		printf("child stop %d\n", mam_profile_stop());
		printf("child start %d\n", mam_profile_start(name(".2"), 0));
		take_from(pool, 2000);
		printf("child stop %d\n", mam_profile_stop());
		exit(0);
	}
	waitpid(child, &status, 0);
	take_from(pool, 3000);
	printf("stop %d\n", mam_profile_stop());
}

/* Events after a dump are in the ring alone. */
static void dump_and_end(void (*end)(void))
{
	struct mam_pool *pool = make_pool();

	printf("dump %d\n", mam_profile_dump());
	printf("start %d\n", mam_profile_start(name(".1"), 0));
	mam_tag_push("weights");
	take_from(pool, 2000);
	mam_tag_pop();
	printf("dump %d\n", mam_profile_dump());
	printf("dump again %d\n", mam_profile_dump());
	take_from(pool, 3000);
	fflush(stdout);
	end();
}

static void end_at_once(void)
{
	_exit(0);
}

static void end_killed(void)
{
	kill(getpid(), SIGKILL);
}

static void dumped(void)
{
	dump_and_end(end_at_once);
}

static void dumped_killed(void)
{
	dump_and_end(end_killed);
}

static void dump_full(void)
{
	struct mam_pool *pool = make_pool();
	struct rlimit limit = { 100, 100 };

	printf("start %d\n", mam_profile_start(name(".1"), 0));
	take_from(pool, 2000);
	setrlimit(RLIMIT_FSIZE, &limit);
	printf("dump %d\n", mam_profile_dump());
	printf("dump again %d\n", mam_profile_dump());
}

static void *churn_pool(void *pool)
{
	while (!atomic_load(&ends))
		mam_free(pool, take_from(pool, 6000));
	return NULL;
}

static void pool_threads(void)
{
	struct mam_pool *pool = make_pool();
	pthread_t all[THREADS];
	int good = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&all[i], NULL, churn_pool, pool);
	for (int i = 0; i < WINDOWS; i++) {
		good += mam_profile_start(name(".1"), 0) == 0;
		mam_free(pool, take_from(pool, 7000));
		good += mam_profile_dump() == 0;
		good += mam_profile_stop() == 0;
	}
	atomic_store(&ends, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	printf("%d of %d\n", good, 3 * WINDOWS);
}

/* The driver does not start: there is no pool, which the recorder must not read. */
static void no_pool(void)
{
	void *block;

	printf("start %d\n", mam_profile_start(name(".1"), 0));
	printf("refused %d\n", mam_malloc(NULL, 1000, &block) != MAM_OK);
	printf("refused %d\n", mam_malloc_async(NULL, 1000, NULL, &block) != MAM_OK);
	printf("stop %d\n", mam_profile_stop());
}

static const struct probe_scene scenes[] = {
	{ "pools", pools },
	{ "left", left },
	{ "small_stack", small_stack },
	{ "dumped", dumped },
	{ "dumped_killed", dumped_killed },
	{ "dump_full", dump_full },
	{ "pool_forks", pool_forks },
	{ "pool_threads", pool_threads },
	{ "no_pool", no_pool },
	{ "windows", windows },
	{ "mistakes", mistakes },
	{ "forked", forked },
	{ "threads", threads },
	{ "replaced", replaced },
};

int main(int count, char **arguments)
{
	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
