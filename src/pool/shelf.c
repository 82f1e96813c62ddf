/* SPDX-License-Identifier: Apache-2.0 */
/* shelf.c - classes that are trees, and the rarer searches; see shelf.h. */
#include "pool/shelf.h"

#include "base/bits.h"
#include "base/pages.h"

#define ALIGNED_TRIES 8 /* tight free blocks tried before one that fits for sure */

#define BOOKS_BYTES ((sizeof(struct mam_shelf_books) + 4095) / 4096 * 4096)

_Static_assert(MAM_SHELF_CLASSES % 64 == 0, "classes fill their words of bits");

enum mam_status mam_shelf_init(struct mam_shelf *shelf, size_t granule)
{
	shelf->books = mam_pages_map(BOOKS_BYTES);
	shelf->granule_shift = (unsigned)__builtin_ctzll(granule);
	return shelf->books == NULL ? MAM_ERROR_OUT_OF_HOST_MEMORY : MAM_OK;
}

void mam_shelf_fini(struct mam_shelf *shelf)
{
	if (shelf->books != NULL)
		mam_pages_unmap(shelf->books, BOOKS_BYTES);
	*shelf = (struct mam_shelf){ 0 };
}

static struct mam_rbnode *node_of(const struct mam_records *segments, uint32_t handle)
{
	return &mam_segment_at(segments, handle)->by_size;
}

void mam_shelf_insert_into_tree(struct mam_shelf_books *books, const struct mam_records *segments,
				uint64_t class, uint32_t handle)
{
	uint32_t root = books->root[class] & ~MAM_SHELF_TREE;

	if (root == books->root[class]) /* the first of a list becomes the tree's only node */
		*node_of(segments, root) = (struct mam_rbnode){ 0, { 0, 0 } };
	mam_sizetree_insert(segments, &root, handle);
	books->root[class] = root | MAM_SHELF_TREE;
}

void mam_shelf_remove_from_tree(struct mam_shelf_books *books, const struct mam_records *segments,
				uint64_t class, uint32_t handle)
{
	uint32_t root = books->root[class] & ~MAM_SHELF_TREE;
	const struct mam_rbnode *node;

	mam_sizetree_remove(segments, &root, handle);
	node = node_of(segments, root);
	if ((node->child[MAM_RB_LEFT] | node->child[MAM_RB_RIGHT]) != 0)
		root |= MAM_SHELF_TREE;
	books->root[class] = root;
}

uint32_t mam_shelf_best_in_tree(const struct mam_records *segments, uint32_t root, uint64_t bytes)
{
	return mam_sizetree_best(segments, root & ~MAM_SHELF_TREE, bytes);
}

static bool holds(const struct mam_segment *segment, uint64_t bytes, uint64_t alignment)
{
	uint64_t skip = mam_round_up(segment->base, alignment) - segment->base;

	return segment->bytes >= bytes && segment->bytes - bytes >= skip;
}

/* The first that fits, in ascending sizes; gives up after `tries` free blocks. */
static uint32_t scan_aligned(const struct mam_shelf *shelf, const struct mam_records *segments,
			     uint64_t bytes, uint64_t alignment, uint64_t tries)
{
	uint32_t first = mam_shelf_best(shelf, segments, bytes);
	uint32_t at;

	while (first != 0) {
		for (at = first; at != 0; at = mam_segment_at(segments, at)->peer_next) {
			if (holds(mam_segment_at(segments, at), bytes, alignment))
				return at;
			if (--tries == 0)
				return 0;
		}
		first = mam_shelf_best(shelf, segments,
				       mam_segment_at(segments, first)->bytes +
					       ((uint64_t)1 << shelf->granule_shift));
	}
	return 0;
}

uint32_t mam_shelf_best_aligned(const struct mam_shelf *shelf, const struct mam_records *segments,
				uint64_t bytes, uint64_t alignment)
{
	uint64_t granule = (uint64_t)1 << shelf->granule_shift;
	uint32_t found = scan_aligned(shelf, segments, bytes, alignment, ALIGNED_TRIES);

	if (found == 0)
		found = mam_shelf_best(shelf, segments, bytes + alignment - granule);
	if (found == 0)
		found = scan_aligned(shelf, segments, bytes, alignment, UINT64_MAX);
	return found;
}

/* The last nonempty class below `class`; MAM_SHELF_CLASSES if there is none. */
static uint64_t full_below(const struct mam_shelf_books *books, uint64_t class)
{
	uint64_t word = class / 64;
	uint64_t left = books->full[word] & (((uint64_t)1 << class % 64) - 1);

	while (left == 0) {
		if (word-- == 0)
			return MAM_SHELF_CLASSES;
		left = books->full[word];
	}
	return word * 64 + 63 - (unsigned)__builtin_clzll(left);
}

/* One of the largest free blocks under `bytes` in a nonempty class; 0 if there is none. */
static uint32_t below_in(const struct mam_records *segments, uint32_t root, uint64_t bytes)
{
	if ((root & MAM_SHELF_TREE) != 0)
		return mam_sizetree_below(segments, root & ~MAM_SHELF_TREE, bytes);
	return mam_segment_at(segments, root)->bytes < bytes ? root : 0;
}

uint32_t mam_shelf_below(const struct mam_shelf *shelf, const struct mam_records *segments,
			 uint64_t bytes)
{
	const struct mam_shelf_books *books = shelf->books;
	uint64_t class = mam_shelf_class(shelf, bytes);
	uint32_t found = 0;

	if (books->root[class] != 0)
		found = below_in(segments, books->root[class], bytes);
	if (found != 0)
		return found;
	class = full_below(books, class);
	return class == MAM_SHELF_CLASSES ? 0 : below_in(segments, books->root[class], bytes);
}

uint32_t mam_shelf_largest(const struct mam_shelf *shelf, const struct mam_records *segments)
{
	return mam_shelf_below(shelf, segments, UINT64_MAX);
}

uint32_t mam_shelf_largest_inner(const struct mam_shelf *shelf, const struct mam_records *segments)
{
	uint32_t first = mam_shelf_largest(shelf, segments);
	uint32_t at;

	while (first != 0) {
		for (at = first; at != 0; at = mam_segment_at(segments, at)->peer_next) {
			if (mam_segment_at(segments, at)->next != 0)
				return at;
		}
		first = mam_shelf_below(shelf, segments, mam_segment_at(segments, first)->bytes);
	}
	return 0;
}

static const char *check_class(const struct mam_shelf *shelf, const struct mam_records *segments,
			       uint64_t class, uint64_t *count)
{
	uint32_t root = shelf->books->root[class];
	uint32_t first = root & ~MAM_SHELF_TREE;
	uint32_t largest;
	const char *fault;

	if (root == first)
		return mam_shelf_class(shelf, mam_segment_at(segments, first)->bytes) == class
			       ? mam_peers_check(segments, first,
						 mam_segment_at(segments, first)->bytes,
						 segments->touched, count)
			       : "a free block is in the list of another size class";
	fault = mam_sizetree_check(segments, first, segments->touched, count);
	if (fault != NULL)
		return fault;
	first = mam_sizetree_best(segments, first, 0);
	largest = mam_sizetree_below(segments, root & ~MAM_SHELF_TREE, UINT64_MAX);
	if (first == largest)
		return "a class of one size is a tree";
	if (mam_shelf_class(shelf, mam_segment_at(segments, first)->bytes) != class ||
	    mam_shelf_class(shelf, mam_segment_at(segments, largest)->bytes) != class)
		return "a free block is in the tree of another size class";
	return NULL;
}

/*
 * Check the classes of a word. Classes of a word that is 0 are skipped, as there are thousands:
 * blocks in them are missing from the count.
 */
static const char *check_word(const struct mam_shelf *shelf, const struct mam_records *segments,
			      uint64_t word, uint64_t *count)
{
	const struct mam_shelf_books *books = shelf->books;
	bool sum = (books->sums[word / 64] >> word % 64 & 1) != 0;
	const char *fault = NULL;
	uint64_t class;

	if (sum != (books->full[word] != 0))
		return "a summary bit does not match its word of bits";
	for (class = word * 64; sum && fault == NULL && class < word * 64 + 64; class++) {
		bool full = (books->full[word] >> class % 64 & 1) != 0;

		if (full != (books->root[class] != 0))
			fault = "the bit of a size class does not match its list";
		else if (full)
			fault = check_class(shelf, segments, class, count);
	}
	return fault;
}

const char *mam_shelf_check(const struct mam_shelf *shelf, const struct mam_records *segments,
			    uint64_t *count)
{
	const char *fault = NULL;
	uint64_t total = 0;
	uint64_t word;

	for (word = 0; fault == NULL && word < MAM_SHELF_WORDS; word++)
		fault = check_word(shelf, segments, word, &total);
	if (fault == NULL)
		*count = total;
	return fault;
}
