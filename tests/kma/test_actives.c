/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_actives.c - entries: a mark has one owner, an outdated value of an entry cannot change it, a
 * lane that reads a number sees the writes before its publication; and lanes are spread.
 */
#include "kma/kit.h"

#define MAX 8u

struct own {
	uint64_t entry;
	uint32_t value[MAX];         /* of the superblock that the entry names, or of its marker */
	uint32_t marker, next, seen; /* the test's own */
};

STOP_UNSEEN void note_marker(struct own *own, uint32_t from, uint32_t to)
{
	MAM_KASSERT(own->marker == from);
	own->marker = to;
}

STOP_UNSEEN uint32_t next_superblock(struct own *own)
{
	return own->next < MAX ? own->next++ : MAX;
}

STOP_UNSEEN void note_seen(struct own *own)
{
	own->seen++;
}

static MAM_KERNEL(prepare)
{
	struct own *own = argument;
	uint32_t n, superblock, self = mam_kma_self() + 1;
	uint64_t seen, before;

	for (n = 0; n < 6; n++) {
		seen = before = mam_kma_entry_look(&own->entry);
		if (mam_kma_entry_names(seen)) {
			superblock = mam_kma_entry_superblock(seen);
			MAM_KASSERT(own->value[superblock] == superblock + 100);
			note_seen(own);
		}
		if (mam_kma_entry_what(seen) == MAM_KMA_MARK || kkit_below(2) ||
		    !mam_kma_entry_mark(&own->entry, &seen))
			continue;
		note_marker(own, 0, self);
		MAM_KASSERT(!mam_kma_entry_publish(&own->entry, before, 0));
		mam_kma_entry_clear(&own->entry, before);
		superblock = next_superblock(own);
		if (superblock < MAX)
			own->value[superblock] = superblock + 100;
		note_marker(own, self, 0);
		if (superblock < MAX)
			MAM_KASSERT(mam_kma_entry_publish(&own->entry, seen, superblock));
		else
			mam_kma_entry_clear(&own->entry, seen);
	}
}

static void begin(void *argument)
{
	struct own *own = argument;

	memset(own, 0, offsetof(struct own, seen));
	/* Near the wraparound of a tag. */
	own->entry = (uint64_t)0xfffffffc << 32;
	stop_begin(0);
}

static const char *check(void *argument)
{
	struct own *own = argument;

	return mam_kma_entry_what(own->entry) == MAM_KMA_MARK ? "a mark was left" : NULL;
}

START_TEST(marks_have_one_owner)
{
	struct own own = { 0 };
	struct simt_case test = {
		.name = "marks",
		.kernel = prepare,
		.grid = 2,
		.block = 2,
		.argument = &own,
		.begin = begin,
		.check = check,
		.seeds = KKIT_RACE ? 600 : 3000,
		.config = { .race = KKIT_RACE, .strict = true, .steps_max = 100000 },
	};

	simt_must_pass(&test);
	ck_assert(own.seen);
}
END_TEST

START_TEST(lanes_are_spread_over_entries)
{
	static uint64_t entries[16 << MAM_KMA_ENTRIES_SHIFT_MAX];
	uint64_t *entry;
	uint32_t shift, which, lane, used, wrong = 0;
	bool seen[1 << MAM_KMA_ENTRIES_SHIFT_MAX];

	for (shift = 0; shift <= MAM_KMA_ENTRIES_SHIFT_MAX; shift++)
		for (which = 0; which < 16; which++) {
			memset(seen, 0, sizeof(seen));
			for (lane = used = 0; lane < 256u << shift; lane++) {
				entry = mam_kma_entry(entries, shift, which, lane);
				/* Lanes of a warp have one entry, which is of the class. */
				wrong += entry != mam_kma_entry(entries, shift, which,
								lane / 32 * 32) ||
					 (size_t)(entry - entries) >> shift != which;
				used += !seen[(entry - entries) % (1u << shift)];
				seen[(entry - entries) % (1u << shift)] = true;
			}
			ck_assert_uint_ge(used * 8, 7u << shift);
		}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("actives");

	tcase_add_test(tcase, marks_have_one_owner);
	tcase_add_test(tcase, lanes_are_spread_over_entries);
	return kkit_run(tcase, "kma/actives");
}
