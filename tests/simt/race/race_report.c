/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race_report.c - writes the text of a race.
 *
 * The hint is chosen in this order: two atomics race only because of their sizes or scopes;
 * otherwise, if the second lane read a value that the first one wrote later, that pair of accesses
 * is what should have ordered them, and the miss (race_sync.h) explains why it did not; otherwise
 * there is no such pair.
 */
#include "simt/race/race_report.h"

#include <stdarg.h>
#include <stdio.h>

#include "simt/race/race_site.h"

static const char *const orders[] = { "relaxed", "acquire", "release", "acq_rel", "seq_cst" };
static const char *const scopes[] = { "block", "device", "system" };
static const char *const ops[] = { "load",     "store",           "or", "and", "add",
				   "exchange", "compare-and-swap" };

struct words {
	char *at;
	size_t left;
	race_name *name;
};

static void __attribute__((format(printf, 2, 3))) append(struct words *words, const char *form, ...)
{
	va_list list;
	int bytes;

	va_start(list, form);
	bytes = vsnprintf(words->at, words->left, form, list);
	va_end(list);
	if (bytes < 0)
		return;
	if ((size_t)bytes >= words->left)
		bytes = (int)words->left - 1;
	words->at += bytes;
	words->left -= (size_t)bytes;
}

static void append_lane(struct words *words, const struct race_lane *lanes, uint32_t lane)
{
	char name[96] = "";

	if (words->name)
		words->name(lane, name, sizeof(name));
	if (name[0])
		append(words, "%s", name);
	else if (lanes[lane].group & RACE_HOST)
		append(words, "host thread %u", lane);
	else
		append(words, "lane %u of block %u", lane, lanes[lane].group);
}

static void append_access(struct words *words, const struct race_lane *lanes,
			  const struct race_access *access)
{
	int bytes = __builtin_popcount(access->mask);

	if (!access->atomic)
		append(words, "a plain %s", access->write ? "write" : "read");
	else
		append(words, "%s %s %s%s at %s scope",
		       access->order == MAM_ACQUIRE || access->order == MAM_ACQ_REL ? "an" : "a",
		       orders[access->order], ops[access->op],
		       access->op == SIMT_CAS && !access->write ? " that failed," : "",
		       scopes[access->scope]);
	append(words, " of %d byte%s by ", bytes, bytes == 1 ? "" : "s");
	append_lane(words, lanes, access->lane);
	append(words, " at %s", race_site_text(access->site));
}

static const struct race_miss *find_miss(const struct race_lane *reader, uint32_t writer,
					 uint32_t epoch)
{
	for (unsigned int i = 1; i <= RACE_MISSES; i++) {
		const struct race_miss *miss =
			&reader->misses[(reader->next_miss - i) % RACE_MISSES];

		if (miss->why != RACE_NO_MISS && miss->lane == writer && miss->epoch >= epoch)
			return miss;
	}
	return NULL;
}

static void append_miss(struct words *words, const struct race_miss *miss, const char *need)
{
	append(words, "The second lane saw the first one's write at %s by its read at %s, but ",
	       race_site_text(miss->write.site), race_site_text(miss->read.site));
	switch (miss->why) {
	case RACE_WRITE_RELAXED:
		append(words, "the write is relaxed: release it, or fence before it");
		if (!race_acquires(miss->read.order))
			append(words, "; and acquire by the read, or fence after it");
		break;
	case RACE_READ_RELAXED:
		append(words, "the read is relaxed: acquire by it, or fence after it at %s scope",
		       need);
		break;
	default:
		append(words,
		       "a scope does not cover the other lane (write %s, read %s, or a "
		       "fence of theirs): use %s scope for all of them",
		       scopes[miss->write.scope], scopes[miss->read.scope], need);
		break;
	}
}

static void append_hint(struct words *words, const struct race_lane *lanes,
			const struct race_access *first, const struct race_access *second,
			uint32_t epoch)
{
	const char *need = scopes[race_need(first->group, second->group)];
	const struct race_miss *miss = find_miss(&lanes[second->lane], first->lane, epoch);

	if (first->atomic && second->atomic && first->mask != second->mask)
		append(words,
		       "Atomics of different size are not atomic to one another: use one size");
	else if (first->atomic && second->atomic)
		append(words, "A scope does not cover the other lane: use %s scope for both", need);
	else if (miss)
		append_miss(words, miss, need);
	else if (first->group == second->group)
		append(words,
		       "A barrier that both reach (mam_warp_sync, mam_syncthreads), or a "
		       "release by the first lane that the second acquires, would order them");
	else
		append(words,
		       "A release by the first lane at %s scope that the second one acquires "
		       "would order them",
		       need);
}

void race_report(char *text, size_t bytes, const struct race_lane *lanes, race_name *name,
		 const struct race_track *track, const struct race_record *record,
		 const struct race_access *access)
{
	struct race_access first = {
		.site = record->site,
		.lane = record->lane,
		.group = lanes[record->lane].group,
		.mask = track->mask,
		.write = track->write,
		.atomic = track->atomic,
		.op = (enum simt_op)record->op,
		.order = (enum simt_order)record->order,
		.scope = (enum simt_scope)track->scope,
	};
	struct words words = { text, bytes, name };

	append(&words, "race: ");
	append_access(&words, lanes, &first);
	append(&words, ", and ");
	append_access(&words, lanes, access);
	append(&words, "; nothing orders them. ");
	append_hint(&words, lanes, &first, access, record->epoch);
	append(&words, ".");
}
