/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdicts.c - collects the results at each call.
 *
 *   1. facts.c records each call that may matter; afterwards they are sorted by the address of
 *      their node.
 *   2. In the last pass, each context of a function records its result at a call: the greatest
 *      level counts. Contexts that are entered with CO_EACH are left out of `best` and of the size,
 *      because they pass no scope and allocate alone.
 *   3. Calls of functions without allocations are removed, and so are calls that do not matter. The
 *      instances of a template, which have one text, become one verdict. If not all of them call
 *      something that allocates, nothing is claimed. The verdicts are in the order of the file.
 *
 * O(calls x log(calls)).
 */
#include <stdlib.h>
#include <string.h>

#include "coalesce/judge/judge_parts.h"

static bool in_library(const struct judge *judge, const char *name)
{
	for (size_t i = 0; judge->library && name && judge->library[i]; i++)
		if (strcmp(judge->library[i], name) == 0)
			return true;
	return false;
}

/* Determines the kind of a call, as far as it is known by now. False: it does not matter. */
static bool kind_of(const struct judge *judge, const struct co_node *node, enum co_call_kind *kind)
{
	*kind = CO_HELPER;
	if (node->kind != CO_CALL) {
		*kind = node->kind == CO_NEW ? CO_OPERATOR_NEW : CO_OPERATOR_DELETE;
		return true;
	}
	switch (call_known(judge->program, node)) {
	case KNOWN_MALLOC: *kind = CO_MALLOC; return true;
	case KNOWN_KMALLOC: *kind = CO_KMALLOC; return true;
	case KNOWN_FREE: *kind = CO_FREE; return true;
	case KNOWN_KFREE: *kind = CO_KFREE; return true;
	default: break;
	}
	if (node->function != CO_NONE)
		return judge->program->functions[node->function].in_file &&
		       !judge->program->functions[node->function].kernel;
	return in_library(judge, node->name);
}

static bool allocates(enum co_call_kind kind)
{
	return kind == CO_MALLOC || kind == CO_KMALLOC || kind == CO_OPERATOR_NEW;
}

/* The expression for the size. */
static const struct co_node *measure_of(const struct co_node *node, enum co_call_kind kind)
{
	if (kind == CO_OPERATOR_NEW)
		return node->array ? node->first : NULL;
	if (kind == CO_KMALLOC)
		return node->first ? node->first->next : NULL;
	return kind == CO_MALLOC ? node->first : NULL;
}

bool verdicts_note_call(struct judge *judge, int function, const struct co_node *node)
{
	enum co_call_kind kind;
	if (!node->in_file)
		return true;
	if (!kind_of(judge, node, &kind))
		kind = CO_STRANGER;
	if (allocates(kind) || (kind == CO_HELPER && node->function == CO_NONE))
		judge->facts[function].allocates = true;
	/* It is listed at the place of its text. */
	if (node->elsewhere && kind != CO_HELPER)
		return true;
	size_t count = judge->record_count;
	if ((count & (count - 1)) == 0) { /* full */
		struct record *wider =
			co_arena_take(judge->own, (count ? 2 * count : 1) * sizeof *wider);
		if (!wider)
			return false;
		if (count)
			memcpy(wider, judge->records, count * sizeof *wider);
		judge->records = wider;
	}
	struct record *record = &judge->records[judge->record_count++];
	memset(record, 0, sizeof *record);
	record->verdict.kind = kind;
	record->verdict.node = node;
	record->verdict.function = function;
	record->measure = measure_of(node, kind);
	record->definition = judge->program->functions[function].template_of;
	record->reached = record->best = record->sizes = record->all_sizes = cell_all;
	return true;
}

static int by_node(const void *one, const void *other)
{
	uintptr_t a = (uintptr_t)((const struct record *)one)->verdict.node;
	uintptr_t b = (uintptr_t)((const struct record *)other)->verdict.node;
	return (a > b) - (a < b);
}

void verdicts_sort(struct judge *judge)
{
	if (judge->record_count)
		qsort(judge->records, judge->record_count, sizeof *judge->records, by_node);
}

void verdicts_note(struct walk *walk, const struct co_node *node, struct cell reached,
		   struct cell size)
{
	struct judge *judge = walk->judge;
	struct record key = { .verdict.node = node };
	struct record *record = NULL;
	if (judge->record_count)
		record = bsearch(&key, judge->records, judge->record_count, sizeof key, by_node);
	walk->sizes = cell_join(walk->sizes, size);
	if (!record || !judge->noting)
		return;
	record->seen = true;
	record->reached = cell_join(record->reached, reached);
	record->all_sizes = cell_join(record->all_sizes, size);
	if (walk->context->entry.level == CO_EACH)
		return;
	record->some = true;
	record->best = cell_join(record->best, reached);
	record->sizes = cell_join(record->sizes, size);
}

/* ---- merging --------------------------------------------------------------------------------- */

static void judge_record(struct judge *judge, struct record *record)
{
	struct co_verdict *verdict = &record->verdict;
	bool judged = allocates(verdict->kind) || verdict->kind == CO_HELPER;
	bool known = judged && record->seen && judge->work < MAX_WORK;
	verdict->reached = known ? record->reached.level : CO_EACH;
	verdict->best = known ? (record->some ? record->best : record->reached).level : CO_EACH;
	verdict->size = known ? (record->some ? record->sizes : record->all_sizes).level : CO_EACH;
}

/* True for a record that is not part of the judgement, unless another instance of its text is. */
static bool is_idle(const struct judge *judge, const struct record *record)
{
	const struct co_node *node = record->verdict.node;
	return record->verdict.kind == CO_STRANGER ||
	       (record->verdict.kind == CO_HELPER && node->function != CO_NONE &&
		!judge->facts[node->function].allocates);
}

/* The function that is called, in the file: the first instance of its template. */
static int callee(const struct judge *judge, const struct record *record)
{
	int function = record->verdict.node->function;
	return function == CO_NONE ? CO_NONE : judge->program->functions[function].template_of;
}

static int by_place(const void *one, const void *other)
{
	const struct record *a = one, *b = other;
	const struct co_node *x = a->verdict.node, *y = b->verdict.node;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	if (a->definition != b->definition)
		return a->definition < b->definition ? -1 : 1;
	if (a->verdict.function != b->verdict.function)
		return a->verdict.function < b->verdict.function ? -1 : 1;
	return by_node(one, other);
}

/* Two instances of one text. */
static bool is_one_text(const struct record *a, const struct record *b)
{
	return a->verdict.node->begin == b->verdict.node->begin &&
	       a->verdict.node->end == b->verdict.node->end && a->definition == b->definition &&
	       a->verdict.function != b->verdict.function;
}

/* Merges `other` into `record`. */
static void merge(const struct judge *judge, struct record *record, const struct record *other)
{
	bool alike = record->verdict.kind == other->verdict.kind &&
		     is_idle(judge, record) == is_idle(judge, other) &&
		     (record->verdict.kind != CO_HELPER ||
		      callee(judge, record) == callee(judge, other));
	record->verdict.mixed |= record->verdict.kind != other->verdict.kind;
	if (is_idle(judge, record)) { /* show the one that allocates */
		record->verdict.node = other->verdict.node;
		record->verdict.kind = other->verdict.kind;
	}
	bool never = !other->seen && other->reached.level == CO_ALL;
	record->reached = cell_join(record->reached, other->reached);
	record->best = cell_join(record->best, other->best);
	record->sizes = cell_join(record->sizes, other->sizes);
	record->all_sizes = cell_join(record->all_sizes, other->all_sizes);
	record->some |= other->some;
	if (!alike || never || !record->seen)
		record->seen = false;
}

struct co_judgement *verdicts_make(struct judge *judge)
{
	size_t count = 0;
	struct record *records = judge->records;
	struct co_judgement *judgement = co_arena_take(judge->arena, sizeof *judgement);
	if (!judgement)
		return NULL;
	if (judge->record_count)
		qsort(records, judge->record_count, sizeof *records, by_place);
	for (size_t i = 0; i < judge->record_count; i++) {
		if (count && is_one_text(&records[count - 1], &records[i]))
			merge(judge, &records[count - 1], &records[i]);
		else if (!count || !is_idle(judge, &records[count - 1]))
			records[count++] = records[i];
		else
			records[count - 1] = records[i];
	}
	if (count && is_idle(judge, &records[count - 1]))
		count--;
	judgement->arena = judge->arena;
	judgement->verdicts = co_arena_take(judge->arena, count * sizeof *judgement->verdicts);
	if (!judgement->verdicts)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		judge_record(judge, &records[i]);
		struct co_verdict *verdict = &records[i].verdict;
		verdict->reason = reason_of(judge, &records[i], &verdict->reason_line);
		if (!verdict->reason)
			return NULL;
		judgement->verdicts[i] = *verdict;
	}
	judgement->count = count;
	return judgement;
}
