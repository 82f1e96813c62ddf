/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.c - attr.h: reads by size, checks each field, fills from the environment.
 */
#include "api/attr.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/bits.h"
#include "base/log.h"
#include "base/option.h"
#include "base/sized.h"
#include "source/source.h"

/* Index of "off" among the words of MAM_CACHE. */
#define CACHE_IS_OFF 1u

/* The words of MAM_SOURCE, in their order, and what is selected instead of one. */
static const char *const sources[] = { "vmm", "cudamalloc", "pinned", "managed", "host" };
enum { VMM, CUDAMALLOC, PINNED, MANAGED, HOST, VMM_IF_POSSIBLE, NONE };

static _Atomic int selected = NONE; /* atomic */

#define MIN_GRANULE 16u
#define MAX_GRANULE (2u << 20)
#define MAX_FOOTPRINT 1000u /* percent */

/* All fields except the first one. */
#define FIELD(name) MAM_SIZED_FIELD(struct mam_pool_attr, name)
static const struct mam_sized_field fields[] = {
	FIELD(device),  FIELD(chunk_bytes), FIELD(growth_bytes), FIELD(limit_bytes),
	FIELD(granule), FIELD(free_policy), FIELD(name),         FIELD(cache),
	FIELD(quota),   FIELD(spare_bytes), FIELD(footprint),
};

static bool fields_are_valid(const struct mam_pool_attr *attr)
{
	bool capped = attr->limit_bytes != 0 && attr->chunk_bytes != MAM_CHUNK_LARGEST;

	if (attr->device < MAM_DEVICE_CURRENT)
		return false;
	if (capped && attr->chunk_bytes > attr->limit_bytes)
		return false;
	if (attr->granule != 0 && (!mam_is_power_of_two(attr->granule) ||
				   attr->granule < MIN_GRANULE || attr->granule > MAX_GRANULE))
		return false;
	if (attr->cache < MAM_CACHE_DEFAULT || attr->cache > MAM_CACHE_OFF)
		return false;
	if (attr->footprint > MAX_FOOTPRINT)
		return false;
	return attr->free_policy == MAM_FREE_DEFAULT || attr->free_policy == MAM_FREE_STRICT ||
	       attr->free_policy == MAM_FREE_STREAM || attr->free_policy == MAM_FREE_DEFERRED;
}

enum mam_status mam_attr_read(const struct mam_pool_attr *given, struct mam_pool_attr *attr)
{
	const struct mam_pool_attr defaults = MAM_POOL_ATTR_INIT;
	struct mam_pool_attr whole = defaults;

	if (given) {
		if (!mam_sized_fits(given, sizeof(whole), fields,
				    sizeof(fields) / sizeof(fields[0])))
			return MAM_ERROR_INVALID_VALUE;
		mam_sized_read(&whole, given, sizeof(whole));
	}
	if (!fields_are_valid(&whole))
		return MAM_ERROR_INVALID_VALUE;
	*attr = whole;
	return MAM_OK;
}

void mam_attr_config(const struct mam_pool_attr *attr, struct mam_pool_config *config)
{
	memset(config, 0, sizeof(*config));
	config->chunk_bytes = attr->chunk_bytes;
	config->growth_bytes = attr->growth_bytes;
	config->limit_bytes = attr->limit_bytes;
	config->granule = attr->granule;
	config->free_policy = attr->free_policy;
	config->spare_bytes = attr->spare_bytes;
	config->footprint = attr->footprint;
	if (attr->name)
		memcpy(config->name, attr->name, strnlen(attr->name, sizeof(config->name) - 1));
}

void mam_attr_environment(struct mam_pool_attr *attr)
{
	const struct mam_pool_attr defaults = MAM_POOL_ATTR_INIT;

	*attr = defaults;
	attr->source = mam_option_text(MAM_OPTION_SOURCE);
	attr->chunk_bytes = mam_option_bytes(MAM_OPTION_CHUNK);
	attr->growth_bytes = mam_option_bytes(MAM_OPTION_GROWTH);
	attr->limit_bytes = mam_option_bytes(MAM_OPTION_LIMIT);
	attr->granule = mam_option_bytes(MAM_OPTION_GRANULE);
	attr->footprint = mam_option_percent(MAM_OPTION_FOOTPRINT);
	attr->free_policy = (enum mam_free_policy)mam_option_choice(MAM_OPTION_FREE);
	attr->cache =
		mam_option_choice(MAM_OPTION_CACHE) == CACHE_IS_OFF ? MAM_CACHE_OFF : MAM_CACHE_ON;
	/* A pool that never grows and starts empty would be useless. */
	if (attr->growth_bytes == MAM_GROWTH_NONE && attr->chunk_bytes == 0)
		attr->chunk_bytes = MAM_CHUNK_LARGEST;
	if (!fields_are_valid(attr)) {
		/*
		 * Each option was checked when it was read; only a combination of two options can
		 * still be invalid.
		 */
		mam_log(MAM_LOG_WARN, "MAM_CHUNK=%zu exceeds MAM_LIMIT=%zu; using the limit",
			attr->chunk_bytes, attr->limit_bytes);
		attr->chunk_bytes = attr->limit_bytes;
	}
}

enum mam_status mam_attr_select_source(const char *source)
{
	const bool is_set = strcmp(mam_option_origin("MAM_SOURCE"), "default") != 0;

	if (!source) {
		if (!is_set && atomic_load(&selected) == NONE)
			atomic_store(&selected, VMM_IF_POSSIBLE);
		return MAM_OK;
	}
	for (int i = VMM; i <= HOST; i++) {
		if (strcmp(sources[i], source) == 0) {
			atomic_store(&selected, i);
			return MAM_OK;
		}
	}
	return MAM_ERROR_INVALID_VALUE;
}

/* The index of a word, or VMM_IF_POSSIBLE. */
static int source_in_effect(void)
{
	int index = atomic_load_explicit(&selected, memory_order_relaxed);

	return index == NONE ? (int)mam_option_choice(MAM_OPTION_SOURCE) : index;
}

const char *mam_attr_source(int device)
{
	int index = source_in_effect();

	if (index == VMM_IF_POSSIBLE)
		index = mam_vmm_is_possible(device) ? VMM : CUDAMALLOC;
	return sources[index];
}

bool mam_attr_source_is_host(void)
{
	return source_in_effect() == HOST;
}
