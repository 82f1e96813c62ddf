/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selftest.c - check that a pool on this machine's GPU keeps the data written into it.
 *
 * 1. Allocate a few hundred blocks of many sizes, free every third and allocate again, so that some
 *    blocks reuse free blocks.
 * 2. Fill each with the pattern of its own seed.
 * 3. Check each. This detects blocks that overlap, and blocks that are not device memory.
 */
#include "info/selftest.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include <mam/mam.h>
#include <mam/pattern.h>

#include "command.h"
#include "kit/format.h"
#include "kit/message.h"

#define BLOCKS 300
#define FIRST_SEED UINT64_C(0x6d616d00)
#define MAX_BYTES ((size_t)3 << 20)

struct blocks {
	struct mam_pool *pool;
	void *addresses[BLOCKS];
	size_t bytes[BLOCKS];
	uint64_t seeds[BLOCKS];
	uint64_t next_seed;
	size_t total; /* bytes */
};

bool selftest_built(void)
{
	return mam_pattern_fill((void *)8, 8, 0) != MAM_ERROR_UNSUPPORTED;
}

/* Sizes from 8 bytes to a few MiB, most of them small, none of them round. */
static size_t size_of(unsigned int number)
{
	uint64_t mixed = (number + 1) * UINT64_C(0x9E3779B97F4A7C15);

	return (size_t)((mixed >> 20) % (MAX_BYTES >> (number % 16))) / 8 * 8 + 8;
}

static enum mam_status take(struct blocks *blocks, unsigned int i, unsigned int number)
{
	blocks->bytes[i] = size_of(number);
	blocks->seeds[i] = blocks->next_seed++;
	return mam_malloc(blocks->pool, blocks->bytes[i], &blocks->addresses[i]);
}

static enum mam_status take_all(struct blocks *blocks)
{
	enum mam_status status = MAM_OK;

	for (unsigned int i = 0; i < BLOCKS && !status; i++)
		status = take(blocks, i, i);
	for (unsigned int i = 0; i < BLOCKS && !status; i += 3) {
		status = mam_free(blocks->pool, blocks->addresses[i]);
		blocks->addresses[i] = NULL;
	}
	for (unsigned int i = 0; i < BLOCKS && !status; i += 3)
		status = take(blocks, i, BLOCKS + i);
	return status;
}

static enum mam_status fill_all(struct blocks *blocks)
{
	enum mam_status status = MAM_OK;

	for (unsigned int i = 0; i < BLOCKS && !status; i++) {
		status = mam_pattern_fill(blocks->addresses[i], blocks->bytes[i], blocks->seeds[i]);
		blocks->total += blocks->bytes[i];
	}
	return status;
}

/* *wrong: the number of blocks whose contents changed. */
static enum mam_status check_all(struct blocks *blocks, unsigned int *wrong)
{
	enum mam_status status = MAM_OK;

	for (unsigned int i = 0; i < BLOCKS && !status; i++) {
		bool intact = false;
		size_t offset = 0;

		status = mam_pattern_check(blocks->addresses[i], blocks->bytes[i], blocks->seeds[i],
					   &intact, &offset);
		if (status || intact)
			continue;
		if ((*wrong)++ == 0)
			message_error(
				"the block of %s at %p does not contain the data written to it, "
				"starting at byte %zu",
				format_bytes(blocks->bytes[i]).text, blocks->addresses[i], offset);
	}
	return status;
}

static int judge(const struct blocks *blocks, enum mam_status status, unsigned int wrong)
{
	if (status == MAM_ERROR_NO_DEVICE) {
		printf("self-test: skipped, there is no GPU here\n");
		return STATUS_NO_GPU;
	}
	if (status == MAM_ERROR_UNSUPPORTED) {
		printf("self-test: skipped, this mam was built without kernels for this GPU\n");
		return STATUS_NO_GPU;
	}
	if (status) {
		printf("self-test: failed: %s\n", mam_strerror(status));
		return STATUS_FAILED;
	}
	if (wrong) {
		printf("self-test: failed: %u of %d blocks were damaged\n", wrong, BLOCKS);
		return STATUS_FAILED;
	}
	printf("self-test: passed, %d blocks of %s in all hold their patterns\n", BLOCKS,
	       format_bytes(blocks->total).text);
	return STATUS_GOOD;
}

int selftest(void)
{
	struct blocks blocks = { .next_seed = FIRST_SEED };
	unsigned int wrong = 0;
	enum mam_status status;

	status = mam_pool_create(NULL, &blocks.pool);
	if (!status) {
		status = take_all(&blocks);
		if (!status)
			status = fill_all(&blocks);
		if (!status)
			status = check_all(&blocks, &wrong);
		for (unsigned int i = 0; i < BLOCKS; i++)
			if (blocks.addresses[i])
				mam_free(blocks.pool, blocks.addresses[i]);
		mam_pool_destroy(blocks.pool);
	}
	return judge(&blocks, status, wrong);
}
