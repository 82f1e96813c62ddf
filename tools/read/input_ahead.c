/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_ahead.c - read in a thread of its own.
 *
 * The thread fills the blocks of a ring in turn, and the reader empties them in the same order. A
 * block belongs to the thread while it is outside [taken, filled), and to the reader otherwise.
 */
#include "read/input_ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 4
#define BLOCK_BYTES ((size_t)256 << 10)

struct block {
	size_t bytes; /* 0: the end, or an error */
	enum mam_status status;
	uint64_t position;
	char data[BLOCK_BYTES];
};

struct input_ahead {
	enum mam_status (*read)(void *user, void *buffer, size_t bytes, size_t *got);
	uint64_t (*position)(void *user);
	void *user;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t filled; /* lock: lock; blocks since the start */
	uint64_t taken;  /* lock: lock */
	bool stops;      /* lock: lock */

	/* Of the reader. */
	size_t at; /* in the first filled block */
	bool has_block, has_ended;
	uint64_t last_position;
	struct block blocks[BLOCKS];
};

/* Wait for a block to fill; NULL: the reader does not want more. */
static struct block *wait_for_room(struct input_ahead *ahead)
{
	struct block *block = NULL;

	pthread_mutex_lock(&ahead->lock);
	while (!ahead->stops && ahead->filled - ahead->taken == BLOCKS)
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	if (!ahead->stops)
		block = &ahead->blocks[ahead->filled % BLOCKS];
	pthread_mutex_unlock(&ahead->lock);
	return block;
}

static void *run(void *argument)
{
	struct input_ahead *ahead = argument;
	struct block *block;
	bool more = true;

	while (more && (block = wait_for_room(ahead)) != NULL) {
		block->bytes = 0;
		block->status =
			ahead->read(ahead->user, block->data, sizeof(block->data), &block->bytes);
		if (block->status != MAM_OK)
			block->bytes = 0;
		block->position = ahead->position(ahead->user);
		more = block->bytes > 0;
		pthread_mutex_lock(&ahead->lock);
		ahead->filled++;
		pthread_cond_signal(&ahead->changed);
		pthread_mutex_unlock(&ahead->lock);
	}
	return NULL;
}

struct input_ahead *input_ahead_create(enum mam_status (*read)(void *user, void *buffer,
							       size_t bytes, size_t *got),
				       uint64_t (*position)(void *user), void *user)
{
	struct input_ahead *ahead = malloc(sizeof(*ahead));
	sigset_t all, before;
	int problem;

	if (!ahead)
		return NULL;
	memset(ahead, 0, offsetof(struct input_ahead, blocks));
	ahead->read = read;
	ahead->position = position;
	ahead->user = user;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	/* Signals are for the threads that expect them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	problem = pthread_create(&ahead->thread, NULL, run, ahead);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (problem == 0)
		return ahead;
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
	return NULL;
}

void input_ahead_destroy(struct input_ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->lock);
	ahead->stops = true;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	pthread_join(ahead->thread, NULL);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
}

enum mam_status input_ahead_read(struct input_ahead *ahead, void *buffer, size_t bytes, size_t *got)
{
	struct block *block = &ahead->blocks[ahead->taken % BLOCKS];

	if (!ahead->has_block) {
		pthread_mutex_lock(&ahead->lock);
		while (ahead->filled == ahead->taken)
			pthread_cond_wait(&ahead->changed, &ahead->lock);
		pthread_mutex_unlock(&ahead->lock);
		ahead->has_block = true;
		ahead->at = 0;
	}
	ahead->last_position = block->position;
	ahead->has_ended = block->bytes == 0;
	*got = block->bytes - ahead->at < bytes ? block->bytes - ahead->at : bytes;
	memcpy(buffer, block->data + ahead->at, *got);
	ahead->at += *got;
	if (ahead->has_ended || ahead->at < block->bytes)
		return block->status; /* the last block is never taken: it returns the same again */
	pthread_mutex_lock(&ahead->lock);
	ahead->taken++;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	ahead->has_block = false;
	return MAM_OK;
}

uint64_t input_ahead_position(const struct input_ahead *ahead)
{
	return ahead->last_position;
}

bool input_ahead_ended(const struct input_ahead *ahead)
{
	return ahead->has_ended;
}
