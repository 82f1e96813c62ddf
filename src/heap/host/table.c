/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - table.h: copies of struct mam_growth and of the other tables, to and from the device.
 */
#include "heap/host/table.h"

#include <stdlib.h>
#include <string.h>

#include "heap/service/post.h"

/* So that a cache line of one head never held another one (parts.h). */
_Static_assert(offsetof(struct mam_growth, head) % MAM_PAGES_LINE == 0, "heads begin lines");

/* Limits for the values of a copy: a kernel with an out-of-bounds write may have left any value. */
#define MAX_BLOCKS ((uint32_t)1 << 26)
#define MAX_COLUMNS 8192u

uintptr_t mam_table_at(const struct mam_heap *heap)
{
	return mam_grant_head(heap) + mam_growth_offset(heap->blocks, heap->columns);
}

void mam_table_make(const struct mam_heap *heap, struct mam_copy_visit *visit,
		    const struct mam_growth *growth)
{
	const size_t constant = offsetof(struct mam_growth, stage);
	const size_t free_at = offsetof(struct mam_growth, large_free);
	const uintptr_t at = mam_table_at(heap);

	mam_copy_write(visit, at, growth, constant);
	mam_copy_fill(visit, at + constant, 0, sizeof(*growth) - constant);
	mam_copy_fill(visit, at + free_at, 0xff, sizeof(growth->large_free));
}

/* The entries of a table after the first that the host copies: grants and heads. */
static size_t entries_bytes(uint32_t size)
{
	const struct mam_parts_table table = { 0, size };

	return (uintptr_t)mam_parts_dry(table);
}

/* Allocates a copy for `room` parts. */
static struct mam_table *allocate(uint32_t room)
{
	struct mam_table *table =
		calloc(1, sizeof(*table) + room * (sizeof(*table->head) + sizeof(*table->part)));

	if (table) {
		table->room = room;
		table->head = (struct mam_kheap *)(table + 1);
		table->part = (struct mam_grant *)(table->head + room);
	}
	return table;
}

/* The tables after the first, when their number is known. */
static void copy_more(struct mam_copy_visit *visit, struct mam_table *table)
{
	for (uint32_t n = 1; n < table->tables; n++) {
		const struct mam_parts_table from = { table->at[n], mam_parts_size(n) };
		const uint32_t first = mam_parts_before(n);

		mam_copy_read(visit, &table->part[first], (uintptr_t)mam_parts_grants(from),
			      from.size * sizeof(*table->part));
		mam_copy_read(visit, &table->head[first], (uintptr_t)mam_parts_heads(from),
			      from.size * sizeof(*table->head));
	}
}

enum mam_status mam_table_copy(const struct mam_heap *heap, struct mam_copy_visit *visit,
			       struct mam_table **table)
{
	uint64_t at[MAM_PARTS_TABLES + 1] = { 0 };
	uint32_t tables;

	/* Kernels that the stream waits for may need more tables. */
	mam_copy_wait(visit);
	tables = mam_post_part_tables(heap->post, at);
	*table = allocate(mam_parts_before(tables));
	if (!*table)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	(*table)->tables = tables;
	memcpy((*table)->at, at, sizeof(at));
	mam_copy_read(visit, &(*table)->growth, mam_table_at(heap),
		      offsetof(struct mam_growth, dry));
	copy_more(visit, *table);
	mam_copy_wait(visit);
	memcpy((*table)->part, (*table)->growth.part, sizeof((*table)->growth.part));
	memcpy((*table)->head, (*table)->growth.head, sizeof((*table)->growth.head));
	return MAM_OK;
}

enum mam_status mam_table_read(const struct mam_heap *heap, struct CUstream_st *stream,
			       struct mam_table **table)
{
	struct mam_copy_visit visit;
	struct mam_table *copy = NULL;
	enum mam_status status, end;

	status = mam_copy_begin(&heap->reach, stream, true, &visit);
	if (status != MAM_OK)
		return status;
	status = mam_table_copy(heap, &visit, &copy);
	end = mam_copy_end(&visit);
	status = status == MAM_OK ? end : status;
	if (status == MAM_OK)
		*table = copy;
	else
		free(copy);
	return status;
}

bool mam_table_plot(const struct mam_table *table, uint32_t i, struct mam_plot *plot)
{
	const struct mam_grant *part = &table->part[i];

	if (i >= table->room || i >= table->growth.parts.value || part->space == 0 ||
	    part->blocks == 0 || part->blocks >= MAX_BLOCKS || part->columns == 0 ||
	    part->columns > MAX_COLUMNS)
		return false;
	*plot = (struct mam_plot){ (unsigned char *)(uintptr_t)part->space, part->blocks,
				   part->columns };
	return true;
}

/* Appends the live ones of `count` records to `live`. */
static void append(const struct mam_large *large, size_t count, struct mam_table_large *live)
{
	for (size_t i = 0; i < count; i++)
		if (large[i].address != 0 && !(large[i].address & MAM_LARGE_UNSENT)) {
			live->large[live->count] = large[i];
			live->large[live->count++].bytes &= ~MAM_LARGE_MARKED;
		}
}

enum mam_status mam_table_large(const struct mam_heap *heap, struct CUstream_st *stream,
				struct mam_table_large *live)
{
	const size_t one = sizeof(struct mam_large);
	uint64_t at[MAM_LARGE_TABLES + 1];
	uint32_t tables = mam_post_large_tables(heap->post, at);
	size_t bytes = 0, done = 0;
	struct mam_copy_visit visit;
	enum mam_status status;
	struct mam_large *copy;

	for (uint32_t i = 0; i < tables; i++)
		bytes += mam_large_table_bytes(i);
	copy = malloc(bytes);
	*live = (struct mam_table_large){ .large = malloc(bytes) };
	status = copy && live->large ? mam_copy_begin(&heap->reach, stream, true, &visit)
				     : MAM_ERROR_OUT_OF_HOST_MEMORY;
	if (status == MAM_OK) {
		for (uint32_t i = 0; i < tables; done += mam_large_table_bytes(i++))
			mam_copy_read(&visit, (char *)copy + done, at[i], mam_large_table_bytes(i));
		mam_copy_wait(&visit);
		status = mam_copy_end(&visit);
	}
	if (status == MAM_OK)
		append(copy, bytes / one, live);
	else
		free(live->large);
	free(copy);
	return status;
}

/* Parts that had no room may have some now, or may be other parts. */
static void forget_dry(const struct mam_heap *heap, struct mam_copy_visit *visit,
		       const struct mam_table *table)
{
	mam_copy_fill(visit, mam_table_at(heap) + offsetof(struct mam_growth, dry), 0,
		      sizeof(table->growth.dry));
	for (uint32_t n = 1; n < table->tables; n++) {
		const struct mam_parts_table at = { table->at[n], mam_parts_size(n) };
		const size_t before = entries_bytes(at.size);

		mam_copy_fill(visit, (uintptr_t)mam_parts_dry(at), 0,
			      mam_parts_table_bytes(at.size) - before);
	}
}

/* Generations stay: the mailbox still has the last message of each slot. */
void mam_table_forget(const struct mam_heap *heap, struct mam_copy_visit *visit,
		      struct mam_table *table)
{
	struct mam_growth *growth = &table->growth;
	const uintptr_t at = mam_table_at(heap);
	const size_t unsent = offsetof(struct mam_growth, large_unsent);

	for (uint32_t i = 0; i < MAM_MAIL_SLOTS; i++)
		growth->large_sent[i] &= ~(uint64_t)0xff;
	mam_copy_write(visit, at + offsetof(struct mam_growth, large_sent), growth->large_sent,
		       sizeof(growth->large_sent));
	mam_copy_fill(visit, at + offsetof(struct mam_growth, large), 0, sizeof(growth->large));
	mam_copy_fill(visit, at + unsent, 0, offsetof(struct mam_growth, dry) - unsent);
	mam_copy_fill(visit, at + offsetof(struct mam_growth, large_free), 0xff,
		      sizeof(growth->large_free));
	forget_dry(heap, visit, table);
}

/* The first table and the count of parts in one copy: nothing between them changes meanwhile. */
void mam_table_write(const struct mam_heap *heap, struct mam_copy_visit *visit,
		     struct mam_table *table)
{
	struct mam_growth *growth = &table->growth;
	const uint64_t current = growth->parts.value;
	const size_t from = offsetof(struct mam_growth, parts);
	const size_t to = offsetof(struct mam_growth, part_table);

	memcpy(growth->part, table->part, sizeof(growth->part));
	memcpy(growth->head, table->head, sizeof(growth->head));
	for (uint32_t n = 1; n < table->tables; n++) {
		const struct mam_parts_table at = { table->at[n], mam_parts_size(n) };
		const uint32_t first = mam_parts_before(n);

		mam_copy_write(visit, (uintptr_t)mam_parts_grants(at), &table->part[first],
			       at.size * sizeof(*table->part));
		mam_copy_write(visit, (uintptr_t)mam_parts_heads(at), &table->head[first],
			       at.size * sizeof(*table->head));
	}
	mam_copy_write(visit, mam_grant_head(heap) + offsetof(struct mam_kheap, current), &current,
		       sizeof(current));
	mam_copy_write(visit, mam_table_at(heap) + from, (const char *)growth + from, to - from);
	forget_dry(heap, visit, table);
}
