/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept.c - see kept.h.
 */
#include "interpose/memory/kept.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/memory/account.h"
#include "interpose/memory/capture.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/real.h"

#define GRAPH_RESERVED_NOW 2 /* CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT */

static atomic_bool has_graphs; /* atomic */

void mam_kept_note_graphs(void)
{
	atomic_store_explicit(&has_graphs, true, memory_order_relaxed);
}

bool mam_kept_is_too_much(size_t bytes)
{
	uint64_t limit = mam_account_limit();

	return limit != 0 && bytes > limit;
}

void mam_kept_look(int device)
{
	const struct mam_real_driver *driver;
	uint64_t bytes = 0;

	if (!atomic_load_explicit(&has_graphs, memory_order_relaxed) || device < 0 ||
	    mam_capture_restricts())
		return;
	driver = mam_real_driver();
	if (driver != NULL && driver->graph_attribute != NULL &&
	    driver->graph_attribute(device, GRAPH_RESERVED_NOW, &bytes) == MAM_CUDA_SUCCESS)
		mam_account_set(device, MAM_ACCOUNT_GRAPH, bytes);
}

/* A device has a default pool and a current one. They are the same until a program sets another. */
static bool trim_pools(const struct mam_real_driver *driver, int device)
{
	int (*const ask[])(void **, int) = { driver->default_pool, driver->current_pool };
	void *pool = NULL, *last = NULL;
	bool trimmed = false;

	for (size_t i = 0; driver->pool_trim != NULL && i < sizeof(ask) / sizeof(ask[0]); i++) {
		if (ask[i] == NULL || ask[i](&pool, device) != MAM_CUDA_SUCCESS || pool == last)
			continue;
		trimmed = driver->pool_trim(pool, 0) == MAM_CUDA_SUCCESS || trimmed;
		last = pool;
	}
	return trimmed;
}

bool mam_kept_trim(int device, bool over)
{
	const struct mam_real_driver *driver = mam_real_driver();
	bool trimmed = false;

	if (driver == NULL || device < 0)
		return false;
	if (!over)
		trimmed = trim_pools(driver, device);
	if (atomic_load_explicit(&has_graphs, memory_order_relaxed) && driver->graph_trim != NULL &&
	    driver->graph_trim(device) == MAM_CUDA_SUCCESS) {
		mam_kept_look(device);
		trimmed = true;
	}
	return trimmed;
}
