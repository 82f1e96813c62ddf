/* SPDX-License-Identifier: Apache-2.0 */
/* sizeforest.c - trees by size, a class each; sizeforest.h has the story. */
#include "pool/sizeforest.h"

#include <string.h>

/* The first tree from `tree` upwards that is not empty; MAM_SIZEFOREST_TREES if there is none. */
static unsigned full_from(const struct mam_sizeforest *forest, unsigned tree)
{
	unsigned word = tree / 64;
	uint64_t left;

	if (tree >= MAM_SIZEFOREST_TREES)
		return MAM_SIZEFOREST_TREES;
	left = forest->full[word] & ~(uint64_t)0 << tree % 64;
	while (left == 0) {
		if (++word == MAM_SIZEFOREST_WORDS)
			return MAM_SIZEFOREST_TREES;
		left = forest->full[word];
	}
	return word * 64 + (unsigned)__builtin_ctzll(left);
}

void mam_sizeforest_init(struct mam_sizeforest *forest, size_t granule, uint32_t *roots)
{
	memset(forest, 0, sizeof(*forest));
	forest->root = roots;
	forest->granule_shift = (unsigned)__builtin_ctzll(granule);
}

uint32_t mam_sizeforest_best(const struct mam_sizeforest *forest,
			     const struct mam_records *segments, uint64_t bytes)
{
	unsigned tree = full_from(forest, mam_sizeforest_class(forest, bytes));
	uint32_t found;

	if (tree == MAM_SIZEFOREST_TREES)
		return 0;
	found = mam_sizetree_best(segments, forest->root[tree], bytes);
	if (found != 0)
		return found;
	tree = full_from(forest, tree + 1);
	return tree == MAM_SIZEFOREST_TREES
		       ? 0
		       : mam_sizetree_best(segments, forest->root[tree], bytes);
}

uint32_t mam_sizeforest_below(const struct mam_sizeforest *forest,
			      const struct mam_records *segments, uint64_t bytes)
{
	unsigned tree = mam_sizeforest_class(forest, bytes) + 1;
	uint32_t found = 0;

	while (found == 0 && tree-- > 0) {
		if (forest->root[tree] != 0)
			found = mam_sizetree_below(segments, forest->root[tree], bytes);
	}
	return found;
}

static const char *check_tree(const struct mam_sizeforest *forest,
			      const struct mam_records *segments, unsigned tree, uint64_t most,
			      uint64_t *count)
{
	bool full = (forest->full[tree / 64] >> tree % 64 & 1) != 0;
	uint32_t root = forest->root[tree];
	uint32_t smallest;
	uint32_t largest;
	const char *fault;

	if (full != (root != 0))
		return "a bit does not say whether a tree by size is empty";
	if (!full)
		return NULL;
	fault = mam_sizetree_check(segments, root, most, count);
	if (fault != NULL)
		return fault;
	smallest = mam_sizetree_best(segments, root, 0);
	largest = mam_sizetree_below(segments, root, UINT64_MAX);
	if (mam_sizeforest_class(forest, mam_segment_at(segments, smallest)->bytes) != tree ||
	    mam_sizeforest_class(forest, mam_segment_at(segments, largest)->bytes) != tree)
		return "a hole is in the tree of another class of sizes";
	if (mam_segment_at(segments, smallest)->bytes >> forest->granule_shift >>
		    MAM_SIZEFOREST_LEAST_BIT ==
	    0)
		return "a hole that belongs into a bin is in a tree by size";
	return NULL;
}

const char *mam_sizeforest_check(const struct mam_sizeforest *forest,
				 const struct mam_records *segments, uint64_t most, uint64_t *count)
{
	const char *fault = NULL;
	unsigned tree;

	for (tree = 0; fault == NULL && tree < MAM_SIZEFOREST_TREES; tree++)
		fault = check_tree(forest, segments, tree, most, count);
	return fault;
}
