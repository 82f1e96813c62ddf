/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_automaton.c - the example of an automaton with lists of states, lane by lane: its matches
 * are those of a column of edit distances on the host; over a base that checks its callers, and
 * over one that refuses.
 */
#include "ds/kit.h"
#include "ds/base.h"
#include "automaton.h"
#include "automaton_host.h"

#define TEXTS 80u

struct plan {
	const char *name;
	uint32_t grid, block;
	uint32_t word, errors;
	uint32_t texts, length;
	uint32_t refuse_every;
	uint32_t seeds;
};

struct own {
	struct automaton made;
	unsigned char *texts;
	uint32_t found[TEXTS], expected[TEXTS];
};

static void begin(struct ckit *kit)
{
	memset(((struct own *)kit->own)->found, 0xa5, sizeof(((struct own *)kit->own)->found));
}

static MAM_KERNEL(search)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	struct own *own = kit->own;

	automaton_search_all(ckit_base(kit), own->made.first, AUTOMATON_SYMBOLS, own->made.targets,
			     own->made.accepts, own->texts, plan->length, plan->texts, own->found);
}

static const char *check(void *argument)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	struct own *own = kit->own;
	uint32_t i, none = 0;

	for (i = 0; i < plan->texts; i++)
		if (own->found[i] == AUTOMATON_NO_MEMORY)
			none++;
		else if (own->found[i] != own->expected[i])
			return "unexpected matches";
	if (none != kit->refusals)
		return "a refused allocation was not reported";
	if (own->found[plan->texts] != 0xa5a5a5a5)
		return "a write after the last text";
	return ckit_check_empty(kit);
}

static const struct plan plans[] = {
	/* name, grid, block, word, errors, texts, length, refuse, seeds */
	{ "a letter", 1, 3, 1, 0, 10, 20, 0, 4 },
	{ "a word", 2, 3, 3, 0, 20, 60, 0, 4 },
	{ "an error", 2, 3, 5, 1, 20, 60, 0, 4 },
	{ "two errors", 2, 2, 6, 2, 15, 60, 0, 4 },
	{ "as many errors as letters", 2, 2, 3, 3, 10, 60, 0, 4 },
	{ "many errors", 1, 2, 12, 4, 6, 60, 0, 2 },
	{ "a warp and more", 2, 20, 4, 1, 70, 10, 0, 4 },
	{ "no text", 2, 2, 3, 1, 4, 0, 0, 2 },
	{ "some requests refused", 2, 4, 4, 1, 20, 10, 13, 30 },
	{ "all requests refused", 2, 4, 4, 1, 20, 10, 1, 4 },
};

START_TEST(matches_are_those_of_edit_distances)
{
	const struct plan *plan = &plans[_i];
	struct ckit *kit = dkit_create(1 << 16, plan, sizeof(struct own), begin);
	struct own *own = kit->own;
	uint32_t i, all = 0;

	kit->whole = true; /* the example's kernels are for all threads */
	ck_assert(automaton_make(&own->made, 11 + (uint64_t)_i, plan->word, plan->errors));
	own->texts = automaton_texts(_i + 1, plan->texts, plan->length);
	ck_assert_ptr_nonnull(own->texts);
	for (i = 0; i < plan->texts; i++)
		all += own->expected[i] = automaton_expect(
			&own->made, own->texts + (size_t)i * plan->length, plan->length);
	ck_assert(all || !plan->length);
	kit->refuse_every = plan->refuse_every;
	kit->max_bytes = (automaton_max(&own->made) + 1) * sizeof(uint32_t);
	/* Each state is in a list once, so no list is longer than all targets, for any text. */
	kit->max_bytes = sizeof(struct automaton_list) + own->made.targets_count * sizeof(uint32_t);
	ckit_explore(kit, plan->name, search, plan->grid, plan->block, plan->seeds, check);
	free(own->texts);
	automaton_free(&own->made);
	dkit_destroy(kit);
}
END_TEST

/* A state is in a list once, regardless of the number of paths to it. */
START_TEST(each_state_is_listed_once)
{
	static const struct plan plan = { .grid = 1, .block = 1 };
	struct ckit *kit = dkit_create(1 << 16, &plan, sizeof(struct own), begin);
	struct own *own = kit->own;
	struct automaton_list *list;
	uint32_t i, j, met = 0;
	bool in[64];

	kit->whole = true; /* the example's kernels are for all threads */
	ck_assert(automaton_make(&own->made, 3, 8, 2));
	ck_assert_uint_le(own->made.states, 64);
	own->texts = automaton_texts(9, 1, 200);
	ck_assert_ptr_nonnull(own->texts);
	ckit_begin(kit);
	list = automaton_list(ckit_base(kit), 1);
	automaton_enter(list, 0);
	for (i = 0; i < 200; i++) {
		list = automaton_step(ckit_base(kit), list, own->made.first + own->texts[i],
				      AUTOMATON_SYMBOLS, own->made.targets);
		ck_assert_ptr_nonnull(list);
		ck_assert_uint_eq(kit->allocs, kit->frees + 1);
		memset(in, 0, sizeof(in));
		for (j = 0; j < list->count; j++) {
			ck_assert(!in[automaton_states(list)[j]]);
			in[automaton_states(list)[j]] = true;
		}
		met = list->count > met ? list->count : met;
	}
	ck_assert_uint_gt(met, 6);
	free(own->texts);
	automaton_free(&own->made);
	dkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("automaton");

	tcase_add_loop_test(tcase, matches_are_those_of_edit_distances, 0,
			    sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(tcase, each_state_is_listed_once);
	return ckit_run(tcase, "examples/automaton");
}
