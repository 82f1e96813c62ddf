/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_tags.c - a program that uses the tags of libmam.so, and allocates by the driver. Blocks have
 * different sizes, by which the test finds them.
 */
#include <mam/tag.h>

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/driver_api.h"
#include "probe.h"

#define MIB ((size_t)1 << 20)
#define THREADS 8
#define EACH 500

static struct CUctx_st *context;

static void start(void)
{
	cuInit(0);
	cuDevicePrimaryCtxRetain(&context, probe_device());
	cuCtxSetCurrent(context);
}

static unsigned long long take(size_t bytes)
{
	unsigned long long block = 0;

	if (cuMemAlloc_v2(&block, bytes) != 0)
		exit(3);
	return block;
}

static void nested(void)
{
	unsigned long long block;

	start();
	take(1000);
	SHOW(mam_tag_push("training"));
	take(2000);
	SHOW(mam_tag_push("kv cache"));
	block = take(3000);
	printf("%s\n", mam_tag_path());
	SHOW(mam_tag_pop());
	take(4000);
	SHOW(mam_tag_pop());
	cuMemFree_v2(block);
	take(3001); /* at the address of the freed block */
	SHOW(mam_tag_pop());
}

static void hostile(void)
{
	static char name[10001];

	start();
	memset(name, 'n', sizeof(name) - 1);
	SHOW(mam_tag_push("\x01\n \xff\x80</script>\"%/"));
	take(1000);
	SHOW(mam_tag_push(name));
	take(2000);
	SHOW(mam_tag_push("x"));
	SHOW(mam_tag_pop());
	SHOW(mam_tag_pop());
	SHOW(mam_tag_pop());
	SHOW(mam_tag_push(NULL));
	take(3000);
	SHOW(mam_tag_pop());
}

/* Each thread begins without tags, and its blocks have its own. */
static void *allocate(void *number)
{
	char name[16];
	size_t bytes = 1000 + (size_t)(char *)number;

	cuCtxSetCurrent(context);
	take(900);
	snprintf(name, sizeof(name), "thread%zu", bytes);
	for (int i = 0; i < EACH; i++) {
		mam_tag_push(name);
		cuMemFree_v2(take(bytes));
		mam_tag_pop();
	}
	return NULL;
}

static void threads(void)
{
	pthread_t all[THREADS];

	start();
	mam_tag_push("main");
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&all[i], NULL, allocate, (void *)i);
	for (int i = 0; i < EACH; i++)
		cuMemFree_v2(take(800));
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	mam_tag_pop();
}

/* The child uses CUDA, and so does the parent after it. */
static void forked(void)
{
	int status;
	pid_t child;

	mam_tag_push("parent");
	child = fork();
	if (child == 0)
		mam_tag_push("child");
	start();
	take(1000);
	if (child == 0)
		exit(0);
	waitpid(child, &status, 0);
}

/* On a device of 128 MiB. */
static void full(void)
{
	unsigned long long block;

	start();
	take(8 * MIB);
	mam_tag_push("weights");
	for (int i = 0; i < 8; i++)
		take(4 * MIB);
	mam_tag_pop();
	mam_tag_push("serving");
	mam_tag_push("kv cache");
	for (int i = 0; i < 9; i++)
		block = take(4 * MIB);
	cuMemFree_v2(block);
	SHOW(cuMemAlloc_v2(&block, (size_t)1 << 40));
	SHOW(mam_tag_pop());
	SHOW(mam_tag_pop());
}

/* The child of a process that has pushed a tag, and used CUDA without memory. */
static void full_child(void)
{
	int status;
	pid_t child;

	mam_tag_push("parent");
	mam_tag_pop();
	cuMemFree_v2(0);
	child = fork();
	if (child == 0) {
		full();
		exit(0);
	}
	waitpid(child, &status, 0);
}

/* Waits for the end of its input. */
static void waits(void)
{
	nested();
	puts("ready");
	while (getchar() != EOF)
		;
}

static const struct probe_scene scenes[] = {
	{ "nested", nested }, { "hostile", hostile }, { "threads", threads },
	{ "forked", forked }, { "full", full },       { "full-child", full_child },
	{ "waits", waits },
};

int main(int count, char **arguments)
{
	return probe_play(count, arguments, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
