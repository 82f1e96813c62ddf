/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks_report.c - see leaks_report.h.
 *
 *   mam: memory leak: app (process 17) did not free 3 blocks, 5.00 MiB (5242880 bytes)
 *   2 blocks, 4.00 MiB (4194304 bytes), by cudaMalloc, from the pool, 1.2 to 3.4 s old, thread 17
 *       #0 load_weights+0x31 (/home/me/app+0x1231)
 *       #1 main+0x20 (/home/me/app+0x10f0)
 *
 * Entries are sorted by stack and function, so that groups are contiguous. Groups are then sorted
 * by their bytes. Heap sort works in place, so that no allocation can fail at exit.
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "interpose/watch/leaks_report.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "interpose/process/elf.h"
#include "interpose/process/file.h"
#include "interpose/process/say.h"
#include "interpose/process/stack.h"
#include "interpose/watch/count.h"

#define GROUPS_MAX 1000 /* maximum number of groups printed */

/* Blocks of one stack and function. */
struct group {
	size_t first, count; /* entries */
	uint64_t bytes;
};

static bool is_before(const struct mam_ledger_entry *a, const struct mam_ledger_entry *b)
{
	if (a->id != b->id)
		return a->id < b->id;
	if (a->function != b->function)
		return a->function < b->function;
	if (a->fate != b->fate)
		return a->fate < b->fate;
	if (a->is_library != b->is_library)
		return b->is_library;
	return a->ns < b->ns;
}

static void sift(struct mam_ledger_entry *entries, size_t root, size_t count)
{
	struct mam_ledger_entry moved = entries[root];

	for (size_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
		if (child + 1 < count && is_before(&entries[child], &entries[child + 1]))
			child++;
		if (!is_before(&moved, &entries[child]))
			break;
		entries[root] = entries[child];
		root = child;
	}
	entries[root] = moved;
}

static void sort(struct mam_ledger_entry *entries, size_t count)
{
	for (size_t root = count / 2; root-- > 0;)
		sift(entries, root, count);
	for (size_t last = count; last-- > 1;) {
		struct mam_ledger_entry greatest = entries[0];

		entries[0] = entries[last];
		entries[last] = greatest;
		sift(entries, 0, last);
	}
}

static bool is_same_group(const struct mam_ledger_entry *a, const struct mam_ledger_entry *b)
{
	return a->id == b->id && a->function == b->function && a->fate == b->fate &&
	       a->is_library == b->is_library;
}

/* Returns the group that starts at `first`; its count is 0 if there is none. */
static struct group group_at(const struct mam_leaks_left *left, size_t first)
{
	struct group group = { first, 0, 0 };

	while (first + group.count < left->count &&
	       is_same_group(&left->entries[first], &left->entries[first + group.count])) {
		group.bytes += left->entries[first + group.count].bytes;
		group.count++;
	}
	return group;
}

/* Finds the largest groups, largest first. Returns the number of all groups. */
static size_t largest(const struct mam_leaks_left *left, struct group *groups, size_t *shown)
{
	size_t all = 0;

	*shown = 0;
	for (struct group group = group_at(left, 0); group.count != 0;
	     group = group_at(left, group.first + group.count)) {
		size_t at = *shown;

		all++;
		while (at > 0 && groups[at - 1].bytes < group.bytes)
			at--;
		if (at == GROUPS_MAX)
			continue;
		if (*shown < GROUPS_MAX)
			++*shown;
		memmove(&groups[at + 1], &groups[at], (*shown - at - 1) * sizeof(*groups));
		groups[at] = group;
	}
	return all;
}

static bool is_of_cuda(const char *path)
{
	const char *slash = strrchr(path, '/');

	return mam_stack_is_of_cuda(slash == NULL ? path : slash + 1);
}

/*
 * A return address belongs to the call before it. The offset is for addr2line. The innermost frames
 * are omitted if they are those of CUDA's libraries, or of mam. Returns the number of the next frame.
 */
static uint32_t put_frame(struct mam_file_text *text, uint32_t number, const void *frame)
{
	const char *call = (const char *)frame - 1;
	static struct mam_elf_place place; /* lock: none, one thread reports */
	bool is_found = mam_elf_find(call, &place);

	if (number == 0 && is_found && is_of_cuda(place.object))
		return 0;
	mam_file_put(text, "    #%u ", number);
	if (!is_found) {
		mam_file_put(text, "%p\n", frame);
		return number + 1;
	}
	if (place.function[0] != '\0')
		mam_file_put(text, "%s+0x%zx ", place.function, place.distance);
	mam_file_put(text, "(%s+0x%zx)\n", place.object, place.offset);
	return number + 1;
}

static void put_blocks(struct mam_file_text *text, size_t blocks, uint64_t bytes)
{
	mam_file_put(text, "%zu block%s, ", blocks, blocks == 1 ? "" : "s");
	mam_file_put_bytes(text, bytes);
	mam_file_put(text, " (%llu bytes)", (unsigned long long)bytes);
}

static void put_group(struct mam_file_text *text, const struct mam_leaks_left *left,
		      const struct group *group)
{
	const struct mam_ledger_entry *oldest = &left->entries[group->first];
	const struct mam_ledger_entry *youngest = oldest + group->count - 1;
	const struct mam_stack *stack = (const struct mam_stack *)(uintptr_t)oldest->id;
	double old = (double)(left->now - oldest->ns) / 1e9;
	uint32_t shown = 0;
	bool one_thread = true;

	for (size_t i = 1; i < group->count; i++)
		one_thread = one_thread && oldest[i].thread == oldest->thread;
	put_blocks(text, group->count, group->bytes);
	mam_file_put(text, ", by %s, from %s, ",
		     oldest->is_library ? "mam_malloc"
					: mam_table_name((enum mam_table_id)oldest->function),
		     oldest->fate == MAM_FATE_SERVED ? "the pool" : "the driver");
	if (group->count > 1)
		mam_file_put(text, "%.3f to ", (double)(left->now - youngest->ns) / 1e9);
	mam_file_put(text, one_thread ? "%.3f s old, thread %u\n" : "%.3f s old, several threads\n",
		     old, oldest->thread);
	for (uint32_t i = 0; stack != NULL && i < stack->count; i++)
		shown = put_frame(text, shown, stack->frames[i]);
	if (stack == NULL)
		mam_file_put(text, "    unknown call stack\n");
}

static void put_all(struct mam_file_text *text, const struct mam_leaks_left *left)
{
	static struct group groups[GROUPS_MAX]; /* a process ends only once */
	uint64_t bytes = 0;
	size_t shown, all;

	for (size_t i = 0; i < left->count; i++)
		bytes += left->entries[i].bytes;
	if (left->count == 0) {
		mam_file_put(text, "mam: no memory leaks in %s (process %d)\n",
			     program_invocation_short_name, (int)getpid());
	} else {
		mam_file_put(text, "mam: memory leak: %s (process %d) did not free ",
			     program_invocation_short_name, (int)getpid());
		put_blocks(text, left->count, bytes);
		mam_file_put(text, "\n");
	}
	sort(left->entries, left->count);
	all = largest(left, groups, &shown);
	for (size_t i = 0; i < shown; i++)
		put_group(text, left, &groups[i]);
	if (all > shown)
		mam_file_put(text, "%zu smaller group%s not shown\n", all - shown,
			     all - shown == 1 ? "" : "s");
	if (left->forgotten != 0)
		mam_file_put(text, "out of host memory: %llu more block%s not recorded\n",
			     (unsigned long long)left->forgotten, left->forgotten == 1 ? "" : "s");
}

void mam_leaks_report(const struct mam_leaks_left *left, const char *path)
{
	struct mam_file_text text = { .number = STDERR_FILENO };
	struct mam_file file;
	int error;

	if (path == NULL || path[0] == '\0') {
		put_all(&text, left);
		mam_file_flush(&text);
		return;
	}
	error = mam_file_open(path, &file);
	if (error == 0) {
		text.file = &file;
		put_all(&text, left);
		error = mam_file_flush(&text);
		if (error == 0)
			error = mam_file_publish(&file);
		if (mam_file_close(&file) != 0 && error == 0)
			error = errno;
	}
	if (error != 0)
		mam_say(MAM_SAY_ERROR, "cannot write leak report to '%s': %s", path,
			mam_file_error(error));
}
