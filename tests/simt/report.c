/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/report.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {
	[SIMT_BALLOT] = "mam_warp_ballot()",
	[SIMT_SHUFFLE] = "mam_warp_shuffle()",
	[SIMT_MATCH] = "mam_warp_match()",
	[SIMT_SYNCWARP] = "mam_warp_sync()",
};

const char *simt_report_kind(enum simt_collective kind)
{
	return kinds[kind];
}

const char *simt_verdict_name(enum simt_verdict verdict)
{
	static const char *const names[] = {
		[SIMT_FINE] = "fine",         [SIMT_FAILED] = "failed",
		[SIMT_BAD_MASK] = "bad mask", [SIMT_BAD_LANE] = "bad lane",
		[SIMT_DEADLOCK] = "deadlock", [SIMT_LIVELOCK] = "livelock",
		[SIMT_RACE] = "race",         [SIMT_NO_MEMORY] = "no memory",
	};

	return names[verdict];
}

const char *simt_policy_name(enum simt_policy policy)
{
	static const char *const names[] = {
		[SIMT_BY_LANE] = "lane",
		[SIMT_BY_WARP] = "warp",
		[SIMT_BY_PCT] = "pct",
		[SIMT_BY_BOUND] = "bound",
	};

	return policy <= SIMT_BY_BOUND ? names[policy] : "none";
}

static void __attribute__((format(printf, 2, 3))) append(char *text, const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, SIMT_TEXT_BYTES - length, format, arguments);
	va_end(arguments);
}

/*
 * Which of the world's launches it is, if there is more than one; counted from 1, without host
 * threads.
 */
static uint32_t rank_of(const struct simt_world *world, const struct simt_launch *launch)
{
	uint32_t rank = 0;

	for (uint32_t i = 0; i < world->launches; i++) {
		rank += world->launch[i]->host == launch->host;
		if (world->launch[i] == launch)
			break;
	}
	return rank;
}

const char *simt_report_name(const struct simt_lane *lane)
{
	static char texts[2][96];
	static unsigned int turn;
	char *text = texts[turn++ % 2];
	const struct simt_launch *launch = lane->block->launch;
	int length = 0;

	if (launch->host) {
		snprintf(text, sizeof(texts[0]), "host thread %u", rank_of(simt_now, launch));
		return text;
	}
	if (simt_now->launches - simt_now->hosts > 1)
		length = snprintf(text, sizeof(texts[0]), "launch %u ", rank_of(simt_now, launch));
	snprintf(text + length, sizeof(texts[0]) - (size_t)length,
		 "block %u thread %u (lane %u of warp %u)", lane->block->index,
		 launch->skipped + lane->thread, lane->lane, lane->warp->index);
	return text;
}

void simt_report_number(unsigned int number, char *text, size_t bytes)
{
	for (uint32_t i = 0; i < simt_now->launches; i++) {
		const struct simt_launch *launch = simt_now->launch[i];
		uint32_t at = number - launch->first;
		uint32_t thread = launch->skipped + at % launch->block;

		if (number < launch->first || at >= launch->grid * launch->block)
			continue;
		if (launch->host)
			snprintf(text, bytes, "host thread %u", rank_of(simt_now, launch));
		else if (simt_now->launches - simt_now->hosts > 1)
			snprintf(text, bytes, "launch %u block %u thread %u",
				 rank_of(simt_now, launch), at / launch->block, thread);
		else
			snprintf(text, bytes, "block %u thread %u", at / launch->block, thread);
	}
}

void simt_report_set(struct simt_world *world, enum simt_verdict verdict, const char *format,
		     va_list arguments)
{
	world->result.verdict = verdict;
	vsnprintf(world->result.text, sizeof(world->result.text), format, arguments);
}

static bool alike(const struct simt_lane *a, const struct simt_lane *b)
{
	return a->state == b->state && a->site == b->site &&
	       (a->state != SIMT_AT_COLLECTIVE || (a->kind == b->kind && a->mask == b->mask));
}

static void append_where(char *text, const struct simt_lane *lane)
{
	switch (lane->state) {
	case SIMT_AT_COLLECTIVE:
		append(text, "wait at %s of 0x%x", kinds[lane->kind], lane->mask);
		break;
	case SIMT_AT_BARRIER: append(text, "wait at mam_syncthreads()"); break;
	case SIMT_AT_ACTIVE: append(text, "wait at mam_warp_active()"); break;
	case SIMT_AT_STREAM: append(text, "waits for a stream"); break;
	case SIMT_ASLEEP: append(text, "sleep"); break;
	default: append(text, "are");
	}
	append(text, " at %s\n", lane->site);
}

/* Lanes that are at the same place share a line. */
static void append_warp(struct simt_world *world, char *text, const struct simt_warp *warp)
{
	const struct simt_launch *launch = warp->block->launch;
	uint32_t left = warp->exist & ~warp->ended;

	while (left) {
		const struct simt_lane *first = &warp->lanes[__builtin_ctz(left)];
		uint32_t same = 0;

		for (uint32_t rest = left; rest; rest &= rest - 1) {
			const struct simt_lane *lane = &warp->lanes[__builtin_ctz(rest)];

			if (alike(first, lane))
				same |= lane->bit;
		}
		left &= ~same;
		if (launch->host) {
			append(text, "  host thread %u: ", rank_of(world, launch));
		} else {
			append(text, "  ");
			if (world->launches - world->hosts > 1)
				append(text, "launch %u ", rank_of(world, launch));
			append(text, "block %u warp %u lanes 0x%x ", warp->block->index,
			       warp->index, same);
		}
		append_where(text, first);
	}
}

static void append_lanes(struct simt_world *world)
{
	for (uint32_t i = 0; i < world->slots; i++) {
		const struct simt_block *block = world->slot[i];

		for (uint32_t j = 0; block->used && j < (block->count + SIMT_WARP - 1) / SIMT_WARP;
		     j++)
			append_warp(world, world->result.text, &block->warps[j]);
	}
}

void simt_report_deadlock(struct simt_world *world)
{
	world->result.verdict = SIMT_DEADLOCK;
	snprintf(world->result.text, sizeof(world->result.text), "nobody can go on:\n");
	append_lanes(world);
}

void simt_report_livelock(struct simt_world *world)
{
	uint32_t waiting = 0;

	for (uint32_t i = 0; i < world->launches; i++) {
		if (world->launch[i]->begun)
			waiting += world->launch[i]->grid - world->launch[i]->next;
	}
	world->result.verdict = SIMT_LIVELOCK;
	snprintf(world->result.text, sizeof(world->result.text), "no end after %llu steps",
		 (unsigned long long)world->steps_max);
	if (waiting) {
		append(world->result.text,
		       ", while %u block%s not resident: those that run depend on blocks "
		       "that may start only after them",
		       waiting, waiting == 1 ? " is" : "s are");
	}
	append(world->result.text, "\n");
	append_lanes(world);
}

void simt_report_no_memory(struct simt_world *world)
{
	world->result.verdict = SIMT_NO_MEMORY;
	snprintf(world->result.text, sizeof(world->result.text),
		 "the simulator got no memory for stacks, lanes or clocks");
}

void simt_report_trace(const struct simt_lane *lane, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%8llu %s ", (unsigned long long)simt_now->steps, simt_report_name(lane));
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, " at %s\n", lane->site);
}
