/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame.h - the layout of a flame graph: one rectangle per frame, as wide as its amount, above its
 * caller. The page has the same layout as a script (flame.js), for amounts that change.
 *
 * Siblings are in the order of what they held on average, so a frame keeps its place among them at
 * all moments.
 */
#ifndef TOOLS_FLAME_H
#define TOOLS_FLAME_H

#include "profile/profile_data.h"

/* The tree in preorder: the subtree of place i is the places from i to before end[i]. */
struct flame {
	uint32_t count;
	uint32_t *nodes; /* of the profile */
	uint32_t *ends;
	uint32_t *depths; /* 0: the root */
};

/* flame_init - false: out of memory, and nothing needs to be freed. */
bool flame_init(struct flame *flame, const struct profile *profile);
void flame_fini(struct flame *flame);

struct flame_rect {
	uint32_t place;
	uint32_t
		frames; /* 1, or the number of siblings that are too narrow each, from `place` on */
	uint32_t depth;
	double x, width;
};

struct flame_rects {
	struct flame_rect *list;
	size_t count;
	size_t room;
	double width, narrowest; /* for flame_layout(): of the picture, and of a rectangle */
};

/*
 * flame_layout - lay out the frames that are at least `narrowest` wide, in preorder. Adjacent
 * siblings that are narrower share a rectangle, without anything above it. total[count] has the
 * amount of each place, at least the sum of its children's. The caller frees `list`. False: out of
 * memory.
 */
bool flame_layout(const struct flame *flame, const double *total, struct flame_rects *rects);

#endif
