/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_source.c - the sources on which a replay may run.
 *
 * Only host needs no GPU. Without a GPU, vmm is simulated: it has addresses only, and the cost of
 * each call is added up instead of spent.
 */
#include "replay/replay.h"

#include <assert.h>
#include <string.h>

#include <mam/source.h>

#include "info/info.h"
#include "kit/message.h"

#define HOST_MAX ((uint64_t)80 << 30) /* capacity of plain addresses unless more is requested */

static enum mam_status make_host(const struct replay_settings *settings,
				 struct mam_source **source);
static enum mam_status make_named(const struct replay_settings *settings,
				  struct mam_source **source);
static enum mam_status make_vmm(const struct replay_settings *settings, struct mam_source **source);

static const struct kind {
	const char *name;
	enum mam_status (*make)(const struct replay_settings *settings, struct mam_source **source);
	bool may_simulate;
} kinds[] = {
	{ "host", make_host, false },     { "cudamalloc", make_named, false },
	{ "vmm", make_vmm, true },        { "pinned", make_named, false },
	{ "managed", make_named, false },
};

static uint64_t at_least(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The largest capacity that the settings mention. */
static uint64_t total_of(const struct replay_settings *settings)
{
	uint64_t total = HOST_MAX * settings->threads;

	if (settings->chunk_bytes != REPLAY_LARGEST)
		total = at_least(total, settings->chunk_bytes);
	return at_least(total, settings->limit_bytes);
}

static enum mam_status make_host(const struct replay_settings *settings, struct mam_source **source)
{
	return mam_source_host(total_of(settings), false, source);
}

static enum mam_status make_named(const struct replay_settings *settings,
				  struct mam_source **source)
{
	return mam_source_create(settings->source, MAM_DEVICE_CURRENT, source);
}

static enum mam_status make_vmm(const struct replay_settings *settings, struct mam_source **source)
{
	struct mam_vmm_attr attr = MAM_VMM_ATTR_INIT;

	attr.simulated = settings->simulate;
	attr.total_bytes = settings->simulate ? total_of(settings) : 0;
	if (settings->lags) /* each thread plays its own events */
		attr.lag = 1 + settings->lag * settings->threads;
	return mam_source_vmm(&attr, source);
}

static const struct kind *find(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

bool replay_source_known(const struct replay_settings *settings)
{
	const struct kind *kind = find(settings->source);

	if (!kind)
		message_error("unknown source '%s'; expected host, cudamalloc, vmm, "
			      "pinned or managed",
			      settings->source);
	else if (settings->simulate && !kind->may_simulate)
		message_error("--simulate requires --source vmm, not '%s'", settings->source);
	else
		return true;
	return false;
}

/* The kind of a source that replay_source_known() has accepted. */
static const struct kind *kind_of(const struct replay_settings *settings)
{
	const struct kind *kind = find(settings->source);

	assert(kind != NULL);
	return kind;
}

enum mam_status replay_source_make(const struct replay_settings *settings,
				   struct mam_source **source)
{
	return kind_of(settings)->make(settings, source);
}

void replay_source_choose(struct replay_settings *settings)
{
	if (kind_of(settings)->may_simulate && info_device_count() == 0)
		settings->simulate = true;
}
