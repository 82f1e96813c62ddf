/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.c - the common part of all allocations that the driver serves (pass.h).
 *
 *   1. Charge the account, and call the real function.
 *   2. Over the limit, or out of memory: release the completely free chunks of all pools of the
 *      device, and retry. If that is not enough, do the same after all quarantined blocks were
 *      reclaimed. Both wait for this device and for no other. Then retry after the driver has
 *      released the memory that it retains (kept.h). All this is skipped for host memory, and in a
 *      thread that a capture restricts.
 *   3. Over the limit: call the real function with an impossible size, so that the error is
 *      genuine.
 *   4. Note the allocated memory, or refund the charge.
 *
 * A free removes the note before it calls the driver, and refunds the charge after (account.h).
 */
#include "interpose/memory/pass.h"

#include <stddef.h>

#include "interpose/memory/capture.h"
#include "interpose/memory/kept.h"
#include "interpose/memory/pools.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"
#include "interpose/routes/real.h"
#include "interpose/watch/watch.h"

size_t mam_pass_rounded(size_t bytes)
{
	size_t unit = bytes > (size_t)1 << 20 ? (size_t)2 << 20 : 512;

	return bytes > SIZE_MAX - unit ? SIZE_MAX : (bytes + unit - 1) / unit * unit;
}

/* Returns the device of a context, or -1 if the driver does not report it. */
static int device_of(const struct mam_real_driver *driver, void *context, const void *current)
{
	int device = mam_pools_device(context);
	void *popped;

	if (device >= 0 || (context != current && driver->ctx_push(context) != MAM_CUDA_SUCCESS))
		return device;
	if (driver->ctx_device(&device) != MAM_CUDA_SUCCESS)
		device = -1;
	if (context != current)
		driver->ctx_pop(&popped);
	return device;
}

/*
 * Returns the context that will own the memory, and its device: those of the stream, otherwise the
 * current ones.
 */
static void *owner(void *stream, int *device)
{
	const struct mam_real_driver *driver = mam_real_driver();
	void *current = NULL, *context;

	*device = -1;
	if (driver == NULL || driver->ctx_current(&current) != MAM_CUDA_SUCCESS)
		return NULL;
	context = stream == NULL ? current : mam_capture_context_of(stream);
	if (context == NULL)
		return NULL;
	*device = device_of(driver, context, current);
	return mam_pools_owner(context);
}

/* Called only for watchers, which are rare. */
static void ask_device(int *device)
{
	const struct mam_real_driver *driver = mam_real_driver();

	if (mam_watch_wants(~0u) != 0 && driver != NULL &&
	    driver->ctx_device(device) != MAM_CUDA_SUCCESS)
		*device = -1;
}

static bool is_block(enum mam_account_kind kind)
{
	return kind == MAM_ACCOUNT_DIRECT || kind == MAM_ACCOUNT_ASYNC ||
	       kind == MAM_ACCOUNT_MANAGED || kind == MAM_ACCOUNT_HOST;
}

static void watch(const struct mam_pass *pass, int answer, void *context)
{
	struct mam_watch_call call = {
		.function = pass->function,
		.road = pass->road,
		.fate = answer == MAM_CUDA_SUCCESS ? MAM_FATE_FORWARDED : MAM_FATE_FAILED,
		.why = pass->why,
		.code = answer,
		.bytes = pass->bytes,
		.context = context,
		.device = pass->device,
		.stream = pass->stream,
	};

	if (answer == MAM_CUDA_SUCCESS && !pass->is_placed && is_block(pass->kind)) {
		call.block = (void *)(uintptr_t)pass->key;
		if (call.device < 0) /* a context that this call reinitialized has a device now */
			ask_device(&call.device);
		mam_watch_alloc(&call);
	} else {
		mam_watch_call(&call);
	}
	if (answer == MAM_CUDA_OUT_OF_MEMORY && pass->kind != MAM_ACCOUNT_HOST)
		mam_watch_out_of_memory(&call);
}

void mam_pass_watch(enum mam_table_id function, enum mam_road road, enum mam_why why, int answer)
{
	mam_watch_call(&(struct mam_watch_call){
		.function = function,
		.road = road,
		.fate = answer == MAM_CUDA_SUCCESS ? MAM_FATE_FORWARDED : MAM_FATE_FAILED,
		.why = why,
		.code = answer,
		.device = -1 });
}

/*
 * Charges the account if the call succeeds. Over the limit: sets *over and returns out of memory
 * without a call.
 */
static int attempt(struct mam_pass *pass, bool *over)
{
	int answer = MAM_CUDA_OUT_OF_MEMORY;

	mam_kept_look(pass->device);
	*over = !mam_account_charge(pass->device, pass->kind, pass->taken);
	if (!*over) {
		answer = pass->ask(pass->arguments, pass->bytes, &pass->key);
		if (answer != MAM_CUDA_SUCCESS)
			mam_account_refund(pass->device, pass->kind, pass->taken);
	}
	return answer;
}

/* Releasing device memory does not help an allocation of host memory. */
static bool may_make_room(const struct mam_pass *pass)
{
	return pass->kind != MAM_ACCOUNT_HOST && !mam_capture_restricts();
}

/* Returns false if no memory was released. */
static bool make_room(const struct mam_pass *pass, bool quarantined)
{
	return may_make_room(pass) && mam_pools_make_room(pass->device, quarantined) != 0;
}

int mam_pass_alloc(struct mam_pass *pass)
{
	bool over = false;
	void *context = NULL;
	uint64_t none;
	int answer;

	mam_init_depth++;
	if (!pass->is_placed)
		context = owner(pass->stream, &pass->device);
	if (pass->why == MAM_WHY_NONE)
		pass->why = MAM_WHY_KIND;
	if (pass->taken >= MAM_PASS_TOO_MUCH) { /* no need to charge this size */
		answer = pass->ask(pass->arguments, pass->bytes, &none);
	} else {
		answer = attempt(pass, &over);
		if (answer == MAM_CUDA_OUT_OF_MEMORY && make_room(pass, false))
			answer = attempt(pass, &over);
		if (answer == MAM_CUDA_OUT_OF_MEMORY && make_room(pass, true))
			answer = attempt(pass, &over);
		if (answer == MAM_CUDA_OUT_OF_MEMORY && may_make_room(pass) &&
		    mam_kept_trim(pass->device, over))
			answer = attempt(pass, &over);
		if (answer == MAM_CUDA_SUCCESS)
			mam_account_note(pass->key, context, pass->device, pass->kind, pass->taken);
	}
	if (over) {
		pass->why = MAM_WHY_LIMIT;
		answer = pass->ask(pass->arguments, MAM_PASS_TOO_MUCH, &none);
	}
	watch(pass, answer, context);
	mam_init_depth--;
	return answer;
}

/*
 * Watchers are notified of a block on the account before it is freed. They are notified of other
 * blocks afterward, because most of those are invalid frees, which the driver rejects.
 */
int mam_pass_free(enum mam_table_id function, enum mam_road road, enum mam_account_kind kind,
		  uint64_t key, int (*release)(uint64_t key))
{
	struct mam_watch_call call = { .function = function,
				       .road = road,
				       .fate = MAM_FATE_FORWARDED,
				       .why = MAM_WHY_KIND,
				       .device = -1 };
	struct mam_account_noted noted;
	bool known, announced;

	mam_init_depth++;
	known = mam_account_take(key, kind, &noted);
	if (known)
		call.device = noted.device;
	announced = known && is_block(kind);
	if (is_block(kind))
		call.block = (void *)(uintptr_t)key;
	if (announced) {
		call.bytes = noted.bytes;
		mam_watch_free(&call);
	}
	call.code = release(key);
	if (known)
		mam_account_finish(&noted, call.code == MAM_CUDA_SUCCESS);
	if (call.code != MAM_CUDA_SUCCESS)
		call.fate = MAM_FATE_FAILED;
	if (!announced && call.block != NULL && call.code == MAM_CUDA_SUCCESS)
		mam_watch_free(&call);
	else if (!announced)
		mam_watch_call(&call);
	mam_init_depth--;
	return call.code;
}
