/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom_advice.c - see oom_advice.h.
 *
 *   1. A request larger than the GPU cannot succeed.
 *   2. A free block, or one that the GPU still uses, is large enough, but the pool was not allowed
 *      to use it.
 *   3. The limit is too low, although the GPU has the memory.
 *   4. Enough memory is free, but not in one block. Mapped memory could move the pieces that are
 *      free as a whole, if its pieces had the minimum size; they may be larger.
 *   5. Otherwise memory is missing.
 */
#include "interpose/report/oom_advice.h"

#include <stdarg.h>
#include <stdio.h>

#define MIB ((uint64_t)1 << 20)

struct mam_oom_size mam_oom_size(uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct mam_oom_size size;
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	snprintf(size.text, sizeof(size.text), unit == 0 ? "%.0f %s" : "%.1f %s", value,
		 units[unit]);
	return size;
}

static void add(struct mam_oom_advice *advice, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct mam_oom_advice *advice, const char *format, ...)
{
	va_list arguments;

	if (advice->count == MAM_OOM_ADVICE_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(advice->lines[advice->count++], MAM_OOM_ADVICE_BYTES, format, arguments);
	va_end(arguments);
}

static uint64_t in_pieces(uint64_t bytes)
{
	return (bytes + MAM_OOM_PIECE - 1) / MAM_OOM_PIECE * MAM_OOM_PIECE;
}

/* Only the reason why the pool was not asked keeps it from serving the request. */
static void advise_on_blocks(const struct mam_oom_facts *facts, struct mam_oom_advice *advice)
{
	if (facts->why == MAM_WHY_LARGE && facts->largest_free >= facts->taken)
		add(advice,
		    "the request is above --pass-above: would fit with --pass-above=%llu, in a "
		    "free "
		    "block of %s",
		    (unsigned long long)facts->requested, mam_oom_size(facts->largest_free).text);
	if (facts->has_heap && facts->largest_free < facts->taken &&
	    facts->largest_run >= facts->taken)
		add(advice,
		    "freed blocks still wait for the GPU: would fit after a synchronization, which "
		    "makes %s free in one block",
		    mam_oom_size(facts->largest_run).text);
}

/* The driver itself serves what the limit allows, so the rounded size is all that is missing. */
static void advise_on_limit(const struct mam_oom_facts *facts, struct mam_oom_advice *advice)
{
	const uint64_t needed = facts->charged + facts->taken;

	if (facts->has_gpu && facts->gpu_free >= facts->taken)
		add(advice,
		    "the limit is too low: would fit with --limit=%lluM: needs %s, and --limit is "
		    "%s",
		    (unsigned long long)((needed + MIB - 1) / MIB), mam_oom_size(needed).text,
		    mam_oom_size(facts->limit).text);
}

/* The device can allocate this much without the pool. */
static uint64_t room(const struct mam_oom_facts *facts)
{
	const uint64_t below_limit =
		facts->limit > facts->charged ? facts->limit - facts->charged : 0;

	return facts->limit != 0 && below_limit < facts->gpu_free ? below_limit : facts->gpu_free;
}

static void advise_on_pieces(const struct mam_oom_facts *facts, struct mam_oom_advice *advice)
{
	const uint64_t wanted = in_pieces(facts->requested), together = facts->whole_pieces;
	const bool is_limited = facts->limit != 0 && room(facts) < facts->gpu_free;
	const uint64_t all = is_limited ? facts->limit : facts->gpu_total;
	uint64_t others = is_limited ? facts->charged : facts->gpu_total - facts->gpu_free;

	if (!facts->has_gpu || !facts->has_heap || facts->is_mapped || together == 0 ||
	    room(facts) / MAM_OOM_PIECE * MAM_OOM_PIECE + together < wanted)
		return;
	others = others > together ? others - together : 0;
	add(advice,
	    "enough memory is free, but not in one block; --source=vmm can move free pieces, and "
	    "the "
	    "request may fit: it needs %s of %s",
	    mam_oom_size(others + wanted).text, mam_oom_size(all).text);
}

/* No setting helps while the blocks are where they are. */
static void advise_on_total(const struct mam_oom_facts *facts, struct mam_oom_advice *advice)
{
	const uint64_t all = room(facts) + facts->free;

	if (all < facts->taken)
		add(advice,
		    "all free memory together is too little: at least %s more must be freed",
		    mam_oom_size(facts->taken - all).text);
	else if (facts->is_mapped)
		add(advice,
		    "enough memory is free, but not in one block, and live blocks share its "
		    "pieces of mapped memory");
	else if (facts->has_heap)
		add(advice,
		    "enough memory is free, but not in one block, and too little of it (%s) is in "
		    "whole pieces of 2 MiB, which --source=vmm could move",
		    mam_oom_size(facts->whole_pieces).text);
}

void mam_oom_advise(const struct mam_oom_facts *facts, struct mam_oom_advice *advice)
{
	advice->count = 0;
	if (facts->has_gpu && facts->taken > facts->gpu_total) {
		add(advice, "the request is larger than the memory of the GPU, which is %s",
		    mam_oom_size(facts->gpu_total).text);
		return;
	}
	advise_on_blocks(facts, advice);
	if (facts->why == MAM_WHY_LIMIT)
		advise_on_limit(facts, advice);
	advise_on_pieces(facts, advice);
	if (advice->count == 0 && facts->has_gpu)
		advise_on_total(facts, advice);
}
