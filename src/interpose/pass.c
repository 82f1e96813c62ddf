/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.c - what all allocations that stay the driver's have in common (pass.h).
 *
 *   1. Charge the account. Over the limit: ask the real function for an impossible size, so that
 *      the error is genuine.
 *   2. Ask the real function. Out of memory, and no capture alive: chunks that are wholly free in
 *      any pool go back, and once more.
 *   3. Note what came, or take the charge back.
 *
 * A free drops the note before the driver is asked, and notes it anew where the driver refuses: as
 * soon as the driver has freed it, another thread may get the same address.
 */
#include "interpose/pass.h"

#include <stddef.h>

#include "interpose/alloc.h"
#include "interpose/capture.h"
#include "interpose/hooks.h"
#include "interpose/init.h"
#include "interpose/pools.h"
#include "interpose/real.h"
#include "interpose/watch.h"

size_t mam_pass_rounded(size_t bytes)
{
	size_t unit = bytes > (size_t)1 << 20 ? (size_t)2 << 20 : 512;

	return bytes > SIZE_MAX - unit ? SIZE_MAX : (bytes + unit - 1) / unit * unit;
}

static void *current(int *device)
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *context = NULL;

	*device = -1;
	if (driver == NULL || driver->ctx_current(&context) != MAM_CUDA_SUCCESS || context == NULL)
		return NULL;
	*device = mam_pools_device(context);
	if (*device < 0 && driver->ctx_device(device) != MAM_CUDA_SUCCESS)
		*device = -1;
	return context;
}

static bool is_block(enum mam_account_kind kind)
{
	return kind == MAM_ACCOUNT_DIRECT || kind == MAM_ACCOUNT_ASYNC ||
	       kind == MAM_ACCOUNT_MANAGED || kind == MAM_ACCOUNT_HOST;
}

static void watch(const struct mam_pass *pass, enum mam_why why, int answer, void *context)
{
	struct mam_watch_call call = {
		.function = pass->function,
		.road = pass->road,
		.fate = answer == MAM_CUDA_SUCCESS ? MAM_FATE_FORWARDED : MAM_FATE_FAILED,
		.why = why,
		.code = answer,
		.bytes = pass->bytes,
		.context = context,
		.stream = pass->stream,
	};

	if (answer == MAM_CUDA_SUCCESS && is_block(pass->kind)) {
		call.block = (void *)(uintptr_t)pass->key;
		mam_watch_alloc(&call);
	} else {
		mam_watch_call(&call);
	}
}

int mam_pass_alloc(struct mam_pass *pass)
{
	enum mam_why why = MAM_WHY_KIND;
	uint64_t none;
	void *context;
	int device, answer;

	mam_init_depth++;
	context = current(&device);
	if (!mam_account_charge(device, pass->kind, pass->bytes)) {
		why = MAM_WHY_LIMIT;
		answer = pass->ask(pass->arguments, MAM_ALLOC_TOO_MUCH, &none);
	} else {
		answer = pass->ask(pass->arguments, pass->bytes, &pass->key);
		if (answer == MAM_CUDA_OUT_OF_MEMORY && !mam_capture_alive() &&
		    mam_pools_trim() != 0)
			answer = pass->ask(pass->arguments, pass->bytes, &pass->key);
		if (answer == MAM_CUDA_SUCCESS)
			mam_account_note(pass->key, context, device, pass->kind, pass->bytes);
		else
			mam_account_refund(device, pass->kind, pass->bytes);
	}
	watch(pass, why, answer, context);
	mam_init_depth--;
	return answer;
}

int mam_pass_free(enum mam_table_id function, enum mam_road road, enum mam_account_kind kind,
		  uint64_t key, int (*release)(uint64_t key))
{
	struct mam_watch_call call = { .function = function,
				       .road = road,
				       .fate = MAM_FATE_FORWARDED,
				       .why = MAM_WHY_KIND };
	struct mam_account_noted noted;
	bool known;

	mam_init_depth++;
	if (is_block(kind)) {
		call.block = (void *)(uintptr_t)key;
		mam_watch_free(&call);
	}
	known = mam_account_take(key, kind, &noted);
	call.code = release(key);
	if (known && call.code != MAM_CUDA_SUCCESS)
		mam_account_put_back(&noted);
	if (!is_block(kind)) {
		call.fate = call.code == MAM_CUDA_SUCCESS ? MAM_FATE_FORWARDED : MAM_FATE_FAILED;
		mam_watch_call(&call);
	}
	mam_init_depth--;
	return call.code;
}
