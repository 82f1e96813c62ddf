/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.c - attr.h: read by size, check by field, fill from the environment.
 */
#include "api/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/bits.h"
#include "base/log.h"
#include "base/option.h"

/* Place of "off" among the words of the option MAM_CACHE. */
#define CACHE_IS_OFF 1u

#define LEAST_GRANULE 16u
#define MOST_GRANULE (2u << 20)

/*
 * No version's struct will be longer: a size above it is not a size but garbage, and reading that
 * far could crash.
 */
#define MOST_ATTR_BYTES 4096u

/* Where each field ends, in order: the sizes a struct may have. */
static const size_t field_ends[] = {
	offsetof(struct mam_pool_attr, source) + sizeof(const char *),
	offsetof(struct mam_pool_attr, device) + sizeof(int),
	/* the same with the padding that follows it */
	offsetof(struct mam_pool_attr, chunk_bytes),
	offsetof(struct mam_pool_attr, chunk_bytes) + sizeof(size_t),
	offsetof(struct mam_pool_attr, growth_bytes) + sizeof(size_t),
	offsetof(struct mam_pool_attr, limit_bytes) + sizeof(size_t),
	offsetof(struct mam_pool_attr, granule) + sizeof(size_t),
	offsetof(struct mam_pool_attr, free_policy) + sizeof(enum mam_free_policy),
	offsetof(struct mam_pool_attr, name),
	offsetof(struct mam_pool_attr, name) + sizeof(const char *),
	offsetof(struct mam_pool_attr, cache) + sizeof(enum mam_cache_mode),
	offsetof(struct mam_pool_attr, quota),
	offsetof(struct mam_pool_attr, quota) + sizeof(struct mam_quota *),
	offsetof(struct mam_pool_attr, spare_bytes) + sizeof(size_t),
};

static bool ends_a_field(size_t size)
{
	for (size_t i = 0; i < sizeof(field_ends) / sizeof(field_ends[0]); i++)
		if (field_ends[i] == size)
			return true;
	return false;
}

/* Whether the part of a longer struct that this version does not know asks for nothing. */
static bool tail_is_zero(const struct mam_pool_attr *given)
{
	const unsigned char *bytes = (const unsigned char *)given;

	for (size_t i = sizeof(*given); i < given->size; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

static bool fields_are_valid(const struct mam_pool_attr *attr)
{
	bool capped = attr->limit_bytes != 0 && attr->chunk_bytes != MAM_CHUNK_LARGEST;

	if (attr->device < MAM_DEVICE_CURRENT)
		return false;
	if (capped && attr->chunk_bytes > attr->limit_bytes)
		return false;
	if (attr->granule != 0 && (!mam_is_power_of_two(attr->granule) ||
				   attr->granule < LEAST_GRANULE || attr->granule > MOST_GRANULE))
		return false;
	if (attr->cache < MAM_CACHE_DEFAULT || attr->cache > MAM_CACHE_OFF)
		return false;
	return attr->free_policy == MAM_FREE_DEFAULT || attr->free_policy == MAM_FREE_STRICT ||
	       attr->free_policy == MAM_FREE_STREAM || attr->free_policy == MAM_FREE_DEFERRED;
}

enum mam_status mam_attr_read(const struct mam_pool_attr *given, struct mam_pool_attr *attr)
{
	const struct mam_pool_attr defaults = MAM_POOL_ATTR_INIT;
	struct mam_pool_attr whole = defaults;
	size_t size = given ? given->size : 0;

	if (given) {
		if (size > MOST_ATTR_BYTES)
			return MAM_ERROR_INVALID_VALUE;
		if (size > sizeof(whole) ? !tail_is_zero(given)
					 : size < sizeof(whole) && !ends_a_field(size))
			return MAM_ERROR_INVALID_VALUE;
		memcpy(&whole, given, size < sizeof(whole) ? size : sizeof(whole));
		whole.size = sizeof(whole);
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
	attr->free_policy = (enum mam_free_policy)mam_option_choice(MAM_OPTION_FREE);
	attr->cache = mam_option_choice(MAM_OPTION_CACHE) == CACHE_IS_OFF ? MAM_CACHE_OFF
									  : MAM_CACHE_ON;
	/* A pool that never grows and begins with nothing would be no pool. */
	if (attr->growth_bytes == MAM_GROWTH_NONE && attr->chunk_bytes == 0)
		attr->chunk_bytes = MAM_CHUNK_LARGEST;
	if (!fields_are_valid(attr)) {
		/*
		 * Each option was checked when it was read; only two of them together can still be
		 * wrong.
		 */
		mam_log(MAM_LOG_WARN,
			"MAM_CHUNK asks for %zu bytes and MAM_LIMIT allows %zu: the limit holds",
			attr->chunk_bytes, attr->limit_bytes);
		attr->chunk_bytes = attr->limit_bytes;
	}
}
