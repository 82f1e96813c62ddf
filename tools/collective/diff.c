/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.c - see diff.h.
 *
 * 1. Each line gets a number, which is the same for equal lines (kit/names.h). A last line without
 *    a newline equals no line of the other text.
 * 2. An edit path leads from the start of both texts to their end: a step to the right deletes a
 *    line of the old text, a step down inserts a line of the new one, and a diagonal step, which
 *    costs nothing, keeps a line of both. A shortest path is found from its middle: the furthest
 *    points on each diagonal at cost 1, 2, ... are recorded from both ends until they meet. Then
 *    each half is solved separately.
 * 3. Changes with at most six kept lines between them form one hunk.
 *
 * Source: E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986),
 * section 4b. The search limit COST_MOST is our addition: texts that differ more are split at the
 * best point so far, and the diff is slightly longer.
 *
 * Bound: memory for the lines of both texts; time O((lines of both) * (changes or COST_MOST)). Each
 * recursion for the left half halves the cost; the right half is a loop.
 */
#include "collective/diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kit/names.h"

#define AROUND 3L       /* lines of context around a change */
#define COST_MOST 2000L /* limit of a search for the middle */

struct side {
	const char *text;
	size_t *starts;  /* of lines, and of the end */
	uint32_t *lines; /* their numbers */
	bool *changed;   /* deleted or inserted */
	long count;
};

struct diff {
	struct side old, new;
	long *ahead, *back; /* furthest old line on a diagonal, from either end */
	long zero;          /* index of diagonal 0 in both */
};

/* A part of both texts, each from a first line (inclusive) to an end (exclusive). */
struct box {
	long old, old_end, new, new_end;
};

struct point {
	long old, new;
};

static long least(long a, long b)
{
	return a < b ? a : b;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool number_lines(struct side *side, const char *text, struct names *names)
{
	const char *at, *end;

	side->text = text;
	for (at = text; *at; at = end) {
		end = strchr(at, '\n');
		end = end ? end + 1 : at + strlen(at);
		side->count++;
	}
	side->starts = malloc(((size_t)side->count + 1) * sizeof(*side->starts));
	side->lines = malloc(((size_t)side->count + 1) * sizeof(*side->lines));
	side->changed = calloc((size_t)side->count + 1, sizeof(*side->changed));
	if (!side->starts || !side->lines || !side->changed)
		return false;
	at = text;
	for (long i = 0; i < side->count; i++, at = end) {
		end = strchr(at, '\n');
		end = end ? end + 1 : at + strlen(at);
		side->starts[i] = (size_t)(at - text);
		/* 0 is the empty name, or an error. */
		if (!names_number(names, at, (size_t)(end - at), &side->lines[i]) ||
		    !side->lines[i])
			return false;
	}
	side->starts[side->count] = (size_t)(at - text);
	return true;
}

/* ---- edit path ------------------------------------------------------------------------------- */

/*
 * The furthest point on diagonal k, from those of its neighbors at one step less; -1: k cannot be
 * reached within the box.
 */
static long step(const long *reached, long k, long wide, long high)
{
	long right = reached[k - 1] >= 0 && reached[k - 1] < wide ? reached[k - 1] + 1 : -1;
	long down = reached[k + 1] >= 0 && reached[k + 1] - k <= high ? reached[k + 1] : -1;

	return right > down ? right : down;
}

/* Extends each diagonal by one step from the start. True: it met the other search, at `met`. */
static bool go_ahead(const struct diff *diff, const struct box *box, long cost, struct point *met)
{
	const long wide = box->old_end - box->old, high = box->new_end - box->new;
	long *ahead = diff->ahead + diff->zero, *back = diff->back + diff->zero;

	for (long k = -cost; k <= cost; k += 2) {
		long x = cost ? step(ahead, k, wide, high) : 0, other = wide - high - k;

		while (x >= 0 && x < wide && x - k < high &&
		       diff->old.lines[box->old + x] == diff->new.lines[box->new + x - k])
			x++;
		ahead[k] = x;
		/* The other search is one step less far, with its own diagonals. */
		if (x >= 0 && (other - cost) % 2 != 0 && labs(other) < cost && back[other] >= 0 &&
		    x + back[other] >= wide) {
			*met = (struct point){ box->old + x, box->new + x - k };
			return true;
		}
	}
	return false;
}

/* The same from the end; all positions count from there. */
static bool go_back(const struct diff *diff, const struct box *box, long cost, struct point *met)
{
	const long wide = box->old_end - box->old, high = box->new_end - box->new;
	long *ahead = diff->ahead + diff->zero, *back = diff->back + diff->zero;

	for (long k = -cost; k <= cost; k += 2) {
		long x = cost ? step(back, k, wide, high) : 0, other = wide - high - k;

		while (x >= 0 && x < wide && x - k < high &&
		       diff->old.lines[box->old_end - 1 - x] ==
			       diff->new.lines[box->new_end - 1 - (x - k)])
			x++;
		back[k] = x;
		if (x >= 0 && (other - cost) % 2 == 0 && labs(other) <= cost && ahead[other] >= 0 &&
		    x + ahead[other] >= wide) {
			*met = (struct point){ box->old_end - x, box->new_end - (x - k) };
			return true;
		}
	}
	return false;
}

/* The point furthest from the start among those that the forward search reached. */
static struct point furthest(const struct diff *diff, const struct box *box, long cost)
{
	struct point best = { box->old, box->new };

	for (long k = -cost; k <= cost; k += 2) {
		long x = diff->ahead[diff->zero + k];

		if (x >= 0 && box->old + x + box->new + x - k > best.old + best.new)
			best = (struct point){ box->old + x, box->new + x - k };
	}
	return best;
}

/*
 * A point of a shortest path that is neither its start nor its end. Neither text of the box is
 * empty, and both their first and their last lines differ.
 */
static struct point middle(const struct diff *diff, const struct box *box)
{
	const long most = least(COST_MOST, box->old_end - box->old + box->new_end - box->new);
	struct point met;
	long cost;

	for (long k = -most - 1; k <= most + 1; k++)
		diff->ahead[diff->zero + k] = diff->back[diff->zero + k] = -1;
	for (cost = 0; cost <= most; cost++)
		if (go_ahead(diff, box, cost, &met) || go_back(diff, box, cost, &met))
			return met;
	return furthest(diff, box, most);
}

static void compare(struct diff *diff, struct box box)
{
	for (;;) {
		struct point at;

		while (box.old < box.old_end && box.new < box.new_end &&
		       diff->old.lines[box.old] == diff->new.lines[box.new]) {
			box.old++;
			box.new ++;
		}
		while (box.old < box.old_end && box.new < box.new_end &&
		       diff->old.lines[box.old_end - 1] == diff->new.lines[box.new_end - 1]) {
			box.old_end--;
			box.new_end--;
		}
		if (box.old == box.old_end || box.new == box.new_end)
			break;
		at = middle(diff, &box);
		compare(diff, (struct box){ box.old, at.old, box.new, at.new });
		box.old = at.old;
		box.new = at.new;
	}
	for (; box.old < box.old_end; box.old++)
		diff->old.changed[box.old] = true;
	for (; box.new < box.new_end; box.new ++)
		diff->new.changed[box.new] = true;
}

/* ---- hunks ----------------------------------------------------------------------------------- */

static void put_line(FILE *file, char sign, const struct side *side, long i)
{
	size_t bytes = side->starts[i + 1] - side->starts[i];

	putc(sign, file);
	fwrite(side->text + side->starts[i], 1, bytes, file);
	if (side->text[side->starts[i + 1] - 1] != '\n')
		fputs("\n\\ No newline at end of file\n", file);
}

static void put_range(FILE *file, long from, long count)
{
	/* An empty range is given by the line before it. */
	fprintf(file, "%ld", count ? from + 1 : from);
	if (count != 1)
		fprintf(file, ",%ld", count);
}

static void put_hunk(FILE *file, const struct diff *diff, const struct box *box)
{
	long i = box->old, k = box->new;

	fputs("@@ -", file);
	put_range(file, box->old, box->old_end - box->old);
	fputs(" +", file);
	put_range(file, box->new, box->new_end - box->new);
	fputs(" @@\n", file);
	while (i < box->old_end || k < box->new_end) {
		if (i < box->old_end && diff->old.changed[i]) {
			put_line(file, '-', &diff->old, i++);
		} else if (k < box->new_end && diff->new.changed[k]) {
			put_line(file, '+', &diff->new, k++);
		} else {
			put_line(file, ' ', &diff->old, i++);
			k++;
		}
	}
}

/* Moves from the end of a change, or the start, to the next change; false: there is none. */
static bool skip_kept(const struct diff *diff, struct point *at)
{
	while (at->old < diff->old.count && at->new < diff->new.count &&
	       !diff->old.changed[at->old] && !diff->new.changed[at->new]) {
		at->old++;
		at->new ++;
	}
	return at->old < diff->old.count || at->new < diff->new.count;
}

static void skip_changed(const struct diff *diff, struct point *at)
{
	while (at->old < diff->old.count && diff->old.changed[at->old])
		at->old++;
	while (at->new < diff->new.count && diff->new.changed[at->new])
		at->new ++;
}

static void put_hunks(FILE *file, const struct diff *diff)
{
	struct point at = { 0, 0 }, next;
	struct box box;
	long around;

	while (skip_kept(diff, &at)) {
		around = least(AROUND, at.old);
		box.old = at.old - around;
		box.new = at.new - around;
		for (;;) {
			skip_changed(diff, &at);
			next = at;
			if (!skip_kept(diff, &next) || next.old - at.old > 2 * AROUND)
				break;
			at = next;
		}
		around = least(AROUND, diff->old.count - at.old);
		box.old_end = at.old + around;
		box.new_end = at.new + around;
		put_hunk(file, diff, &box);
	}
}

/* A name that contains a blank is terminated by a tab. */
static void put_path(FILE *file, const char *sign, const char *path)
{
	fprintf(file, "%s %s%s\n", sign, path, strchr(path, ' ') ? "\t" : "");
}

/* ---- the whole diff -------------------------------------------------------------------------- */

static bool begin(struct diff *diff, const char *before, const char *after, struct names *names)
{
	size_t room;

	if (!number_lines(&diff->old, before, names) || !number_lines(&diff->new, after, names))
		return false;
	/* The reachable diagonals, and one on either side that is read. */
	diff->zero = least(COST_MOST, diff->old.count + diff->new.count) + 2;
	room = 2 * (size_t)diff->zero + 1;
	diff->ahead = calloc(room, sizeof(*diff->ahead));
	diff->back = calloc(room, sizeof(*diff->back));
	return diff->ahead && diff->back;
}

static void end(struct diff *diff)
{
	free(diff->old.starts);
	free(diff->old.lines);
	free(diff->old.changed);
	free(diff->new.starts);
	free(diff->new.lines);
	free(diff->new.changed);
	free(diff->ahead);
	free(diff->back);
}

bool co_diff_put(FILE *file, const char *path_before, const char *path_after, const char *before,
		 const char *after)
{
	struct diff diff = { 0 };
	struct names names;
	bool done;

	if (strcmp(before, after) == 0)
		return true;
	if (!names_init(&names))
		return false;
	done = begin(&diff, before, after, &names);
	if (done) {
		compare(&diff, (struct box){ 0, diff.old.count, 0, diff.new.count });
		put_path(file, "---", path_before);
		put_path(file, "+++", path_after);
		put_hunks(file, &diff);
	}
	end(&diff);
	names_fini(&names);
	return done;
}
