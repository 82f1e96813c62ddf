/* SPDX-License-Identifier: Apache-2.0 */
/* script.h - a source that follows a script, and records the calls that it gets. */
#ifndef MAM_TESTS_SOURCE_SCRIPT_H
#define MAM_TESTS_SOURCE_SCRIPT_H

#include "source/source.h"

struct script {
	struct mam_source source;
	size_t max;              /* larger grows are refused */
	enum mam_status refusal; /* with this status */
	enum mam_status shrinks; /* status of a shrink */
	unsigned int grows;      /* calls so far */
	unsigned int shrinks_seen;
	unsigned int quiesces;
	size_t first, last; /* bytes of the first and the last grow */
	bool rose;          /* a grow requested at least as much as the one before */
};

static inline enum mam_status script_grow(struct mam_source *source, size_t bytes, void **base)
{
	struct script *script = (struct script *)source;

	if (script->grows++ == 0)
		script->first = bytes;
	else if (bytes >= script->last)
		script->rose = true;
	script->last = bytes;
	if (bytes > script->max)
		return script->refusal;
	*base = (void *)source->properties.alignment;
	return MAM_OK;
}

static inline enum mam_status script_shrink(struct mam_source *source, void *base, size_t bytes)
{
	struct script *script = (struct script *)source;

	(void)base;
	(void)bytes;
	script->shrinks_seen++;
	return script->shrinks;
}

static inline enum mam_status script_quiesce(struct mam_source *source)
{
	((struct script *)source)->quiesces++;
	return MAM_OK;
}

static const struct mam_source_ops script_ops = {
	.size = sizeof(script_ops),
	.grow = script_grow,
	.shrink = script_shrink,
	.quiesce = script_quiesce,
};

/* total_bytes: as in the properties; most: the largest grow that does not return OUT_OF_MEMORY. */
static inline struct script script_of(size_t granularity, size_t total_bytes, size_t max)
{
	return (struct script){
		.source = {
			.size = sizeof(struct mam_source),
			.ops = &script_ops,
			.properties = {
				.name = "script",
				.granularity = granularity,
				.alignment = (size_t)2 << 20,
				.total_bytes = total_bytes,
				.device = 3,
			},
		},
		.max = max,
		.refusal = MAM_ERROR_OUT_OF_MEMORY,
	};
}

#endif
