/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The race checker against a model that keeps everything (race_model.h), on random runs: both must
 * find the first race at the same event, and the earlier access that the checker names must be one
 * that races.
 *
 * Usually an event that races is drawn again, so that runs become long before they end. RACE_RUNS
 * is the number of runs instead of 100,000, RACE_FIRST the first one; a failure prints the run.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simt/race/race.h"
#include "simt/race/race_model.h"

#define RUNS 100000

/* Names of events, which are their sites. */
static char names[MODEL_EVENTS][16];
static char text[16384];
static _Alignas(64) char memory[MODEL_BYTES];

static uint64_t state;

static uint32_t below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state * 0x2545f4914f6cdd1du >> 33) % n);
}

/* Parameters of a run, drawn at its start. */
struct flavour {
	uint32_t lanes;
	uint32_t spread;     /* lane i of the model is lane i * spread of the checker */
	uint32_t words;      /* number of words for atomics */
	uint32_t odd_scopes; /* of 8 accesses */
	uint32_t odd_fences; /* of 8 fences, those with another scope than most accesses */
	enum simt_scope scope;
	uint32_t odd_sizes, plain;
	uint32_t patience; /* how often an event that races is drawn again */
	int events;        /* at most */
};

static enum simt_scope draw_scope(const struct flavour *flavour, uint32_t odd)
{
	return below(8) < odd ? (enum simt_scope)below(3) : flavour->scope;
}

static void draw_access(const struct flavour *flavour, struct model_event *event)
{
	static const enum simt_op ops[] = { SIMT_LOAD, SIMT_LOAD, SIMT_STORE, SIMT_ADD, SIMT_CAS };

	if (below(8) < flavour->plain) {
		event->kind = MODEL_PLAIN;
		event->bytes = below(3) ? 8 : 1 + below(12);
		event->at = below(2) ? 8 * below(flavour->words) : 32 + 8 * below(2);
		if (!below(4))
			event->at += below(8);
		event->wrote = below(2);
		event->op = event->wrote ? SIMT_STORE : SIMT_LOAD;
		return;
	}
	event->kind = MODEL_ATOMIC;
	event->bytes = 8;
	event->at = 8 * below(flavour->words);
	if (below(8) < flavour->odd_sizes) {
		event->bytes = 2u << below(2);
		event->at += event->bytes * below(8 / event->bytes);
	}
	event->op = ops[below(sizeof(ops) / sizeof(ops[0]))];
	event->wrote = event->op != SIMT_LOAD && (event->op != SIMT_CAS || below(2));
	event->order = (enum simt_order)below(5);
	event->scope = draw_scope(flavour, flavour->odd_scopes);
}

static void draw(const struct flavour *flavour, struct model_event *event)
{
	uint32_t dice = below(32);

	memset(event, 0, sizeof(*event));
	event->lane = below(flavour->lanes);
	event->link = -1;
	if (dice < 24) {
		draw_access(flavour, event);
	} else if (dice < 29) {
		event->kind = MODEL_FENCE;
		event->order = (enum simt_order)below(5);
		event->scope = draw_scope(flavour, flavour->odd_fences);
	} else if (dice < 30) {
		event->kind = MODEL_ORDER;
		event->other = below(flavour->lanes);
	} else if (dice < 31) {
		event->kind = MODEL_MEET;
		event->other = below(1u << flavour->lanes);
	} else {
		event->kind = MODEL_FORGET;
		event->at = below(56);
		event->bytes = below(3) ? 1 + below(8) : MODEL_BYTES - event->at;
	}
}

/* Lanes are placed when they first appear, so that there are clocks of several lengths. */
static uint32_t placed;

static unsigned int lane_of(struct race *race, const struct model *model,
			    const struct flavour *flavour, uint32_t lane)
{
	if (!(placed >> lane & 1))
		race_place(race, lane * flavour->spread, model->block[lane], model->host[lane]);
	placed |= 1u << lane;
	return lane * flavour->spread;
}

static const char *submit(struct race *race, const struct model *model,
			  const struct flavour *flavour, const struct model_event *event,
			  const char *name)
{
	unsigned int lane = lane_of(race, model, flavour, event->lane);
	unsigned int lanes[MODEL_LANES], count = 0;

	switch (event->kind) {
	case MODEL_PLAIN:
		return race_plain(race, lane, memory + event->at, event->bytes, event->wrote, name);
	case MODEL_ATOMIC:
		return race_atomic(race, lane, memory + event->at, event->bytes, event->op,
				   event->wrote, event->order, event->scope, name);
	case MODEL_FENCE: race_fence(race, lane, event->order, event->scope); return NULL;
	case MODEL_ORDER:
		race_order(race, lane_of(race, model, flavour, event->other), lane);
		return NULL;
	case MODEL_MEET:
		for (uint32_t i = 0; i < MODEL_LANES; i++)
			if (event->other >> i & 1)
				lanes[count++] = lane_of(race, model, flavour, i);
		race_meet(race, lanes, count);
		return NULL;
	default: race_forget(race, memory + event->at, event->bytes); return NULL;
	}
}

/* Check's own messages are short, so the run is printed to the log. */
static void show(const struct model *model, const struct flavour *flavour, uint64_t run)
{
	static const char *const kinds[] = {
		"plain", "atomic", "fence", "meet", "order", "forget"
	};
	static const char *const orders[] = { "rlx", "acq", "rel", "ar", "sc" };
	size_t used = (size_t)snprintf(text, sizeof(text), "RACE_FIRST=%llu RACE_RUNS=1\n",
				       (unsigned long long)run);

	for (uint32_t i = 0; i < flavour->lanes; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "lane %u: block %u%s\n",
					 i, model->block[i], model->host[i] ? " host" : "");
	for (int i = 0; i < model->count; i++) {
		const struct model_event *event = &model->event[i];

		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "e%d: %s lane %u (%x) at %u bytes %u op %d wrote %d %s "
					 "scope %d before %llx\n",
					 i, kinds[event->kind], event->lane, event->other,
					 event->at, event->bytes, event->op, event->wrote,
					 orders[event->order], event->scope,
					 (unsigned long long)event->before);
	}
	fputs(text, stdout);
	fflush(stdout);
}

static void draw_flavour(struct model *model, struct flavour *flavour)
{
	bool wide = !below(8);

	flavour->lanes = wide ? 10 + below(MODEL_LANES - 10) : 2 + below(5);
	flavour->spread = below(4) ? 1 : 1 + below(40);
	flavour->words = 1 + below(3);
	flavour->odd_scopes = below(2) ? 0 : 1 + below(8);
	flavour->odd_fences = below(2) ? 0 : 1 + below(8);
	flavour->scope = below(4) ? MAM_AT_DEVICE : MAM_AT_SYSTEM;
	flavour->odd_sizes = below(3) ? 0 : 1 + below(4);
	flavour->plain = wide ? 1 + below(2) : 1 + below(6);
	flavour->patience = below(2) ? 30 : 1 + below(2);
	flavour->events = 8 + (int)below(MODEL_EVENTS - 7);
	for (uint32_t i = 0; i < flavour->lanes; i++) {
		model->block[i] = below(3);
		model->host[i] = flavour->scope == MAM_AT_SYSTEM && !below(3);
	}
}

/* The event that the checker's text names first. */
static int named(const char *reply)
{
	const char *at = strstr(reply, " at e");

	return at ? atoi(at + 5) : -1;
}

/* One run; true if it had no race. */
static bool compare(struct race *race, struct model *model, uint64_t run)
{
	struct flavour flavour;

	state = (run + 1) * 0x9e3779b97f4a7c15u;
	below(2);
	draw_flavour(model, &flavour);
	model_reset(model);
	race_reset(race);
	placed = 0;
	while (model->count < flavour.events) {
		struct model_event event;
		uint64_t races = 0;
		const char *reply;
		int at = model->count;

		for (uint32_t i = 0; i < flavour.patience; i++) {
			draw(&flavour, &event);
			races = model_races(model, &event);
			if (!races)
				break;
		}
		reply = submit(race, model, &flavour, &event, names[at]);
		model_add(model, &event);
		if (!races == !reply &&
		    (!reply || (named(reply) >= 0 && races >> named(reply) & 1))) {
			if (reply)
				return false;
			continue;
		}
		show(model, &flavour, run);
		ck_abort_msg("the model finds that e%d races with the set %llx, the checker: %s",
			     at, (unsigned long long)races, reply ? reply : "no race");
	}
	return true;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *reply = getenv(name);

	return reply ? strtoull(reply, NULL, 0) : otherwise;
}

START_TEST(checker_and_model_agree)
{
	static struct model model;
	uint64_t runs = number_of("RACE_RUNS", RUNS), first = number_of("RACE_FIRST", 0);
	uint64_t events = 0, whole = 0;
	struct race *race = race_create(1);

	ck_assert_ptr_nonnull(race);
	for (int i = 0; i < MODEL_EVENTS; i++)
		snprintf(names[i], sizeof(names[i]), "e%d", i);
	for (uint64_t run = first; run < first + runs; run++) {
		/*
		 * Sometimes a new object, which has to grow; the others have been used by many
		 * runs.
		 */
		if (run % 8 == 0 || (run >> 12) % 2) {
			race_destroy(race);
			race = race_create(1);
			ck_assert_ptr_nonnull(race);
		}
		whole += compare(race, &model, run);
		events += (uint64_t)model.count;
	}
	race_destroy(race);
	printf("race model: %llu runs, %llu events, %llu runs without a race\n",
	       (unsigned long long)runs, (unsigned long long)events, (unsigned long long)whole);
	/* Both kinds of runs must occur, or the comparison has little value. */
	ck_assert(runs < 1000 || (whole > runs / 10 && whole < runs - runs / 10));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("simt/race_model");
	TCase *runs = tcase_create("random runs");
	SRunner *runner;
	int failed;

	suite_add_tcase(suite, runs);
	tcase_set_timeout(runs, 600);
	tcase_add_test(runs, checker_and_model_agree);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
