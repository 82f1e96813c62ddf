/* SPDX-License-Identifier: Apache-2.0 */
/* freelists.c - classes that are trees, and the rarer searches; see freelists.h. */
#include "index/freelists.h"

#include "base/bits.h"
#include "base/pages.h"

#define ALIGNED_TRIES 8 /* tight free blocks tried before one that fits for sure */

#define PAGE 4096
#define METADATA_BYTES ((sizeof(struct mam_freelists_metadata) + PAGE - 1) / PAGE * PAGE)
#define ROOT_BYTES (MAM_FREELISTS_CLASSES * sizeof(uint32_t)) /* a page per octave */

_Static_assert(MAM_FREELISTS_CLASSES % 64 == 0, "classes fill their words of bits");
_Static_assert(sizeof(uint32_t) << MAM_FREELISTS_FINE == PAGE,
	       "the roots of an octave fill a page");
_Static_assert(MAM_FREELISTS_CLASSES >> MAM_FREELISTS_FINE <= 64, "a word has a bit per octave");

enum mam_status mam_freelists_init(struct mam_freelists *freelists, size_t granule)
{
	freelists->metadata = mam_pages_map(METADATA_BYTES);
	freelists->granule_shift = (unsigned)__builtin_ctzll(granule);
	return freelists->metadata == NULL ? MAM_ERROR_OUT_OF_HOST_MEMORY : MAM_OK;
}

void mam_freelists_fini(struct mam_freelists *freelists)
{
	if (freelists->metadata != NULL)
		mam_pages_unmap(freelists->metadata, METADATA_BYTES);
	*freelists = (struct mam_freelists){ 0 };
}

size_t mam_freelists_bytes(const struct mam_freelists *freelists)
{
	const struct mam_freelists_metadata *metadata = freelists->metadata;

	if (metadata == NULL || metadata->octaves == 0)
		return 0;
	return METADATA_BYTES - ROOT_BYTES + (size_t)__builtin_popcountll(metadata->octaves) * PAGE;
}

static struct mam_rbnode *node_of(const struct mam_records *segments, uint32_t handle)
{
	return &mam_segment_at(segments, handle)->by_size;
}

void mam_freelists_insert_into_tree(struct mam_freelists_metadata *metadata,
				    const struct mam_records *segments, uint64_t class,
				    uint32_t handle)
{
	uint32_t root = metadata->root[class] & ~MAM_FREELISTS_TREE;

	if (root == metadata->root[class]) /* the first of a list becomes the tree's only node */
		*node_of(segments, root) = (struct mam_rbnode){ 0, { 0, 0 } };
	mam_sizetree_insert(segments, &root, handle);
	metadata->root[class] = root | MAM_FREELISTS_TREE;
}

void mam_freelists_remove_from_tree(struct mam_freelists_metadata *metadata,
				    const struct mam_records *segments, uint64_t class,
				    uint32_t handle)
{
	uint32_t root = metadata->root[class] & ~MAM_FREELISTS_TREE;
	const struct mam_rbnode *node;

	mam_sizetree_remove(segments, &root, handle);
	node = node_of(segments, root);
	if ((node->child[MAM_RB_LEFT] | node->child[MAM_RB_RIGHT]) != 0)
		root |= MAM_FREELISTS_TREE;
	metadata->root[class] = root;
}

uint32_t mam_freelists_best_in_tree(const struct mam_records *segments, uint32_t root,
				    uint64_t bytes)
{
	return mam_sizetree_best(segments, root & ~MAM_FREELISTS_TREE, bytes);
}

static bool holds(const struct mam_segment *segment, uint64_t bytes, uint64_t alignment)
{
	uint64_t skip = mam_round_up(segment->base, alignment) - segment->base;

	return segment->bytes >= bytes && segment->bytes - bytes >= skip;
}

/*
 * The first that fits, in ascending sizes; gives up after `tries` free blocks. `first`: the
 * smallest of at least `bytes`.
 */
static uint32_t scan_aligned(const struct mam_freelists *freelists,
			     const struct mam_records *segments, uint32_t first, uint64_t bytes,
			     uint64_t alignment, uint64_t tries)
{
	uint32_t at;

	while (first != 0) {
		for (at = first; at != 0; at = mam_segment_at(segments, at)->peer_next) {
			if (holds(mam_segment_at(segments, at), bytes, alignment))
				return at;
			if (--tries == 0)
				return 0;
		}
		first = mam_freelists_best(freelists, segments,
					   mam_segment_at(segments, first)->bytes +
						   ((uint64_t)1 << freelists->granule_shift));
	}
	return 0;
}

uint32_t mam_freelists_best_aligned(const struct mam_freelists *freelists,
				    const struct mam_records *segments, uint64_t bytes,
				    uint64_t alignment)
{
	uint64_t granule = (uint64_t)1 << freelists->granule_shift;
	uint32_t first = mam_freelists_best(freelists, segments, bytes), found;

	if (first ==
	    0) /* no free block is large enough: the common case where large ones follow the tail */
		return 0;
	found = scan_aligned(freelists, segments, first, bytes, alignment, ALIGNED_TRIES);
	if (found == 0)
		found = mam_freelists_best(freelists, segments, bytes + alignment - granule);
	if (found == 0)
		found = scan_aligned(freelists, segments, first, bytes, alignment, UINT64_MAX);
	return found;
}

/* The last nonempty class below `class`; MAM_FREELISTS_CLASSES if there is none. */
static uint64_t full_below(const struct mam_freelists_metadata *metadata, uint64_t class)
{
	uint64_t word = class / 64, sum = word / 64;
	uint64_t left = metadata->full[word] & (((uint64_t)1 << class % 64) - 1);

	if (left != 0)
		return word * 64 + 63 - (unsigned)__builtin_clzll(left);
	left = metadata->sums[sum] & (((uint64_t)1 << word % 64) - 1);
	while (left == 0) {
		if (sum-- == 0)
			return MAM_FREELISTS_CLASSES;
		left = metadata->sums[sum];
	}
	word = sum * 64 + 63 - (unsigned)__builtin_clzll(left);
	return word * 64 + 63 - (unsigned)__builtin_clzll(metadata->full[word]);
}

/* One of the largest free blocks under `bytes` in a nonempty class; 0 if there is none. */
static uint32_t below_in(const struct mam_records *segments, uint32_t root, uint64_t bytes)
{
	if ((root & MAM_FREELISTS_TREE) != 0)
		return mam_sizetree_below(segments, root & ~MAM_FREELISTS_TREE, bytes);
	return mam_segment_at(segments, root)->bytes < bytes ? root : 0;
}

uint32_t mam_freelists_below(const struct mam_freelists *freelists,
			     const struct mam_records *segments, uint64_t bytes)
{
	const struct mam_freelists_metadata *metadata = freelists->metadata;
	uint64_t class = mam_freelists_class(freelists, bytes);
	uint32_t found = 0;

	if (metadata->root[class] != 0)
		found = below_in(segments, metadata->root[class], bytes);
	if (found != 0)
		return found;
	class = full_below(metadata, class);
	return class == MAM_FREELISTS_CLASSES ? 0
					      : below_in(segments, metadata->root[class], bytes);
}

uint32_t mam_freelists_largest(const struct mam_freelists *freelists,
			       const struct mam_records *segments)
{
	return mam_freelists_below(freelists, segments, UINT64_MAX);
}

uint32_t mam_freelists_largest_inner(const struct mam_freelists *freelists,
				     const struct mam_records *segments)
{
	uint32_t first = mam_freelists_largest(freelists, segments);
	uint32_t at;

	while (first != 0) {
		for (at = first; at != 0; at = mam_segment_at(segments, at)->peer_next) {
			if (mam_segment_at(segments, at)->next != 0)
				return at;
		}
		first = mam_freelists_below(freelists, segments,
					    mam_segment_at(segments, first)->bytes);
	}
	return 0;
}

static const char *check_class(const struct mam_freelists *freelists,
			       const struct mam_records *segments, uint64_t class, uint64_t *count)
{
	uint32_t root = freelists->metadata->root[class];
	uint32_t first = root & ~MAM_FREELISTS_TREE;
	uint32_t largest;
	const char *fault;

	if (root == first)
		return mam_freelists_class(freelists, mam_segment_at(segments, first)->bytes) ==
				       class
			       ? mam_peers_check(segments, first,
						 mam_segment_at(segments, first)->bytes,
						 segments->touched, count)
			       : "a free block is in the list of another size class";
	fault = mam_sizetree_check(segments, first, segments->touched, count);
	if (fault != NULL)
		return fault;
	first = mam_sizetree_best(segments, first, 0);
	largest = mam_sizetree_below(segments, root & ~MAM_FREELISTS_TREE, UINT64_MAX);
	if (first == largest)
		return "a class of one size is a tree";
	if (mam_freelists_class(freelists, mam_segment_at(segments, first)->bytes) != class ||
	    mam_freelists_class(freelists, mam_segment_at(segments, largest)->bytes) != class)
		return "a free block is in the tree of another size class";
	return NULL;
}

/*
 * Check the classes of a word. Classes of a word that is 0 are skipped, as there are thousands:
 * blocks in them are missing from the count.
 */
static const char *check_word(const struct mam_freelists *freelists,
			      const struct mam_records *segments, uint64_t word, uint64_t *count)
{
	const struct mam_freelists_metadata *metadata = freelists->metadata;
	bool sum = (metadata->sums[word / 64] >> word % 64 & 1) != 0;
	const char *fault = NULL;
	uint64_t class;

	if (sum != (metadata->full[word] != 0))
		return "a summary bit does not match its word of bits";
	for (class = word * 64; sum && fault == NULL && class < word * 64 + 64; class ++) {
		bool full = (metadata->full[word] >> class % 64 & 1) != 0;

		if (full != (metadata->root[class] != 0))
			fault = "the bit of a size class does not match its list";
		else if (full)
			fault = check_class(freelists, segments, class, count);
	}
	return fault;
}

const char *mam_freelists_check(const struct mam_freelists *freelists,
				const struct mam_records *segments, uint64_t *count)
{
	const char *fault = NULL;
	uint64_t total = 0;
	uint64_t word;

	for (word = 0; fault == NULL && word < MAM_FREELISTS_WORDS; word++)
		fault = check_word(freelists, segments, word, &total);
	if (fault == NULL)
		*count = total;
	return fault;
}
