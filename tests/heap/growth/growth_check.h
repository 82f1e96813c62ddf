/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth_check.h - after a run: compares the root and the parts of a heap that grows with the
 * shadow of growth_kit.h, which includes this file.
 *
 * gkit_check() proves of the root and of each part what okit_check() proves of a heap. It also
 * proves that each grant was used once, in the order in which the host posted them, that no fetch
 * is in progress, and that each NULL was counted once, at the root. The other checks do the same
 * and more: gkit_check_empty(): all objects were freed. gkit_check_served(): besides, no request
 * failed.
 */
#ifndef MAM_TESTS_HEAP_GROWTH_CHECK_H
#define MAM_TESTS_HEAP_GROWTH_CHECK_H

/* Number of parts. */
OKIT_UNSEEN uint32_t gkit_parts(const struct gkit *kit)
{
	return (uint32_t)kit->growth->parts.value;
}

/* The head of the root, number 0, or of a part, from 1 up. */
OKIT_UNSEEN struct mam_kheap *gkit_head(const struct gkit *kit, uint32_t number)
{
	const struct mam_grant *part;

	if (!number)
		return kit->o.heap;
	part = records_part(kit->growth, number - 1);
	return (struct mam_kheap *)(uintptr_t)(part->space +
					       ((uint64_t)part->blocks << MAM_BLOCK_SHIFT));
}

/*
 * One of them in the form that objects_check.h expects. Only the fields that it reads are set. They
 * are the same for all lanes that look, which may happen at the same time because functions of the
 * library read the metadata.
 */
OKIT_UNSEEN struct okit *gkit_view(const struct gkit *kit, uint32_t number)
{
	struct okit *view = &kit->view[number];
	size_t quantum;

	view->heap = gkit_head(kit, number);
	view->space = view->heap->space;
	view->blocks = view->heap->blocks;
	quantum = (size_t)(view->space - kit->o.space) / OKIT_GRAIN;
	view->owner = kit->o.owner + quantum;
	view->extent = kit->o.extent + quantum;
	return view;
}

/* The same after a run, with a count of the live objects. */
OKIT_UNSEEN const struct okit *gkit_count(const struct gkit *kit, uint32_t number)
{
	struct okit *view = gkit_view(kit, number);
	size_t i;

	view->live = 0;
	for (i = 0; i < (size_t)view->blocks * OKIT_BLOCK_GRAINS; i++)
		view->live += view->extent[i] != 0;
	return view;
}

/* How often this was counted, at the root. */
OKIT_UNSEEN uint64_t gkit_tally(const struct gkit *kit, enum mam_object_tally what)
{
	return kit->o.heap->tallies->of[what].value;
}

/* A request failed. Where nothing is freed there is no room for it, not even now. */
OKIT_UNSEEN void gkit_fail(struct gkit *kit, size_t bytes)
{
	uint32_t class_ = mam_class_of(bytes), number;
	uint32_t units = (uint32_t)(okit_usable(bytes) >> MAM_UNIT_SHIFT);

	kit->o.failed++;
	if (!kit->only_taken || !bytes || units > MAM_LARGE_UNITS)
		return;
	for (number = 0; number <= gkit_parts(kit); number++) {
		if (class_)
			MAM_KASSERT(!okit_room(gkit_view(kit, number), class_));
		else
			MAM_KASSERT(okit_longest(gkit_view(kit, number)) < units);
	}
}

/* Returns whether this tally counts failed requests. */
static inline bool gkit_is_null(uint32_t tally)
{
	return tally != MAM_OBJECT_FOREIGN && tally != MAM_OBJECT_INTERIOR &&
	       tally != MAM_OBJECT_TWICE;
}

/* NULLs are counted at the root, each once; tests count invalid frees themselves. */
OKIT_UNSEEN const char *gkit_check_tallies(const struct gkit *kit)
{
	uint64_t nulls = 0;
	uint32_t tally, number;

	for (tally = 0; tally < MAM_OBJECT_TALLIES; tally++) {
		if (!gkit_is_null(tally))
			continue;
		nulls += gkit_tally(kit, tally);
		for (number = 1; number <= gkit_parts(kit); number++)
			if (gkit_head(kit, number)->tallies->of[tally].value)
				return okit_wrong("part %u counts failed requests (%u)", number,
						  tally);
	}
	if (nulls != kit->o.failed)
		return okit_wrong("%u requests failed, but %llu were counted", kit->o.failed,
				  (unsigned long long)nulls);
	return NULL;
}

/* The parts are the grants in order, and no fetch is in progress. */
OKIT_UNSEEN const char *gkit_check_grants(const struct gkit *kit)
{
	struct mam_growth *growth = kit->growth;
	uint32_t number, parts = gkit_parts(kit);

	if ((growth->stage.value & 255) != MAM_STAGE_IDLE)
		return "a fetch is still in progress";
	if (parts > kit->granted || growth->taken != parts)
		return okit_wrong("%u grants were posted and %u used, but there are %u parts",
				  kit->granted, (uint32_t)growth->taken, parts);
	for (number = 0; number < parts; number++)
		if (memcmp(records_part(growth, number), &kit->grant[number],
			   sizeof(struct mam_grant)))
			return okit_wrong("part %u differs from the host's grant", number + 1);
	return NULL;
}

static inline const char *gkit_check(void *argument)
{
	struct gkit *kit = argument;
	const char *wrong = gkit_check_grants(kit);
	char what[256];
	uint32_t number;

	for (number = 0; number <= gkit_parts(kit) && !wrong; number++) {
		wrong = okit_check_units(gkit_count(kit, number));
		if (!wrong)
			wrong = okit_check_words(gkit_view(kit, number));
		if (!wrong && gkit_head(kit, number)->units->open.value)
			wrong = "a run is still open";
		if (!wrong)
			continue;
		snprintf(what, sizeof(what), "%s", wrong);
		wrong = okit_wrong("part %u: %s", number, what);
	}
	if (!wrong)
		wrong = gkit_check_tallies(kit);
	if (!wrong && kit->chained)
		wrong = gkit_check(kit->chained);
	return wrong;
}

/* As gkit_check(), and all objects were freed. */
static inline const char *gkit_check_empty(void *argument)
{
	const struct gkit *kit = argument;

	for (; kit; kit = kit->chained)
		if (kit->o.live)
			return okit_wrong("%u objects were not freed", kit->o.live);
	return gkit_check(argument);
}

/* As gkit_check_empty(), and no request failed. */
static inline const char *gkit_check_served(void *argument)
{
	const struct gkit *kit = argument;

	for (; kit; kit = kit->chained)
		if (kit->o.failed)
			return okit_wrong("%u requests failed", kit->o.failed);
	return gkit_check_empty(argument);
}

#endif
