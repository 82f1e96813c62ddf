/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_choice.c - the conclusions of a comparison.
 *
 * 1. A setting is a candidate if it served every allocation and requires the same guarantees from
 *    the program as the first one: the same free policy, streams and lag, the same limit and
 *    threads. Whether memory may be reused at once is a question of correctness, not of preference.
 * 2. One candidate needs least memory, and one takes the least time, including the driver's
 *    share.
 * 3. The recommendation is the fastest of those that need at most COMPARE_SLACK more than the
 *    least: smaller differences would be reversed by another run of the program.
 *
 * Times within COMPARE_NOISE of the minimum cannot be distinguished on a busy machine: the first
 * such setting of the list counts as the fastest, so that the recommendation is reproducible.
 */
#include "compare/compare.h"

#include <math.h>
#include <string.h>

#include "kit/format.h"

#define MEBI ((uint64_t)1 << 20)

static bool asks_the_same(const struct replay_settings *a, const struct replay_settings *b)
{
	return a->free == b->free && a->streams == b->streams && a->lag == b->lag &&
	       a->limit_bytes == b->limit_bytes && a->threads == b->threads;
}

static bool may_be_chosen(const struct compare_table *table, const struct compare_row *row)
{
	return row->setting && row->result.failures == 0 &&
	       asks_the_same(&row->setting->settings, &table->rows[0].setting->settings);
}

static bool is_small(const struct compare_table *table, size_t i, double max)
{
	return may_be_chosen(table, &table->rows[i]) && (double)table->rows[i].needed_bytes <= max;
}

/* The fastest of those that need at most `most` bytes. */
static size_t quickest(const struct compare_table *table, double max)
{
	size_t best = 0;
	double min = HUGE_VAL;

	for (size_t i = 0; i < table->count; i++)
		if (is_small(table, i, max) && table->rows[i].ns_per_event < min)
			min = table->rows[i].ns_per_event;
	while (best < table->count &&
	       !(is_small(table, best, max) &&
		 table->rows[best].ns_per_event <= (1 + COMPARE_NOISE) * min))
		best++;
	return best < table->count ? best : COMPARE_NONE;
}

static size_t smallest(const struct compare_table *table)
{
	size_t best = COMPARE_NONE;

	for (size_t i = 0; i < table->count; i++) {
		const struct compare_row *row = &table->rows[i];

		if (may_be_chosen(table, row) &&
		    (best == COMPARE_NONE || row->needed_bytes < table->rows[best].needed_bytes))
			best = i;
	}
	return best;
}

struct compare_choice compare_choose(const struct compare_table *table)
{
	struct compare_choice choice = { smallest(table), COMPARE_NONE, COMPARE_NONE, false };

	for (size_t i = 0; i < table->count; i++)
		choice.others |=
			table->rows[i].setting && !asks_the_same(&table->rows[i].setting->settings,
								 &table->rows[0].setting->settings);
	if (choice.memory == COMPARE_NONE)
		return choice;
	choice.time = quickest(table, HUGE_VAL);
	choice.choice = quickest(table, (1 + COMPARE_SLACK) *
						(double)table->rows[choice.memory].needed_bytes);
	return choice;
}

static void add(char *text, size_t bytes, const char *name, const char *value)
{
	size_t used = strlen(text);

	snprintf(text + used, bytes - used, "%s%s=%s", used ? " " : "", name, value);
}

static void add_size(char *text, size_t bytes, const char *name, uint64_t size)
{
	char value[32];

	compare_size(size, value, sizeof(value));
	add(text, bytes, name, size == REPLAY_LARGEST ? "largest" : value);
}

void compare_choice_code(const struct compare_row *row, char *text, size_t bytes)
{
	const struct replay_settings *settings = &row->setting->settings;
	const struct replay_settings *given = &row->setting->given;
	bool is_host = strcmp(settings->source, "host") == 0; /* models chunks of cudaMalloc */

	*text = '\0';
	if (!is_host && strcmp(settings->source, "cudamalloc") != 0)
		add(text, bytes, "MAM_SOURCE", settings->source);
	if (settings->growth_bytes == REPLAY_LARGEST) {
		add_size(text, bytes, "MAM_CHUNK",
			 (row->needed_bytes + 2 * MEBI - 1) / (2 * MEBI) * (2 * MEBI));
		add(text, bytes, "MAM_GROWTH", "none");
	} else {
		if (given->chunk_bytes != REPLAY_DEFAULT)
			add_size(text, bytes, "MAM_CHUNK", given->chunk_bytes);
		if (settings->growth_bytes)
			add_size(text, bytes, "MAM_GROWTH", settings->growth_bytes);
	}
	if (settings->granule != 512)
		add_size(text, bytes, "MAM_GRANULE", settings->granule);
	if (settings->cache == REPLAY_CACHE_OFF)
		add(text, bytes, "MAM_CACHE", "off");
	if (settings->limit_bytes)
		add_size(text, bytes, "MAM_LIMIT", settings->limit_bytes);
	if (settings->footprint)
		add_size(text, bytes, "MAM_FOOTPRINT", settings->footprint);
}

static const char *reason_of(const struct compare_choice *choice)
{
	if (choice->choice == choice->memory && choice->choice == choice->time)
		return "no other setting needs less memory or is faster";
	if (choice->choice == choice->time)
		return "the fastest, and within 2% of the minimum";
	if (choice->choice == choice->memory)
		return "faster settings need over 2% more";
	return "the fastest within 2% of the minimum";
}

/* mam run always allocates in chunks and has no caches. */
static const char *who_can(const struct replay_settings *settings)
{
	bool chunks = strcmp(settings->source, "host") == 0 ||
		      strcmp(settings->source, "cudamalloc") == 0;

	return chunks && settings->cache == REPLAY_CACHE_OFF ? "mam run and default pools"
							     : "the library's default pools";
}

static void say_choice(const struct compare_row *chosen, const char *reason, FILE *file)
{
	char code[200];

	compare_choice_code(chosen, code, sizeof(code));
	fprintf(file, "Choose \"%s\": %s.\n", compare_row_name(chosen), reason);
	if (*code)
		fprintf(file, "For %s:\n  %s\n", who_can(&chosen->setting->settings), code);
	else
		fputs("This is the default of a pool.\n", file);
}

void compare_choice_say(const struct compare_table *table, FILE *file)
{
	const struct compare_choice choice = compare_choose(table);
	const struct compare_row *memory, *time;

	if (choice.memory == COMPARE_NONE) {
		fputs("None of these settings served every allocation.\n", file);
		return;
	}
	memory = &table->rows[choice.memory];
	time = &table->rows[choice.time];
	say_choice(&table->rows[choice.choice], reason_of(&choice), file);
	fprintf(file, "Least memory: %s, %s (%s).\n", compare_row_name(memory),
		format_bytes(memory->needed_bytes).text, format_ratio(memory->needed_ratio).text);
	fprintf(file, "Least time: %s, %s ns per event.\n", compare_row_name(time),
		format_count((uint64_t)(time->ns_per_event + 0.5)).text);
	if (choice.others)
		fputs("Settings that differ in the free policy or in limits were not considered.\n",
		      file);
}
