/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slist.h - a single-linked list to which any lane adds, and from which one takes all there is.
 *
 * A node is the caller's, with a struct mam_sll_node in it; the list knows no memory.
 *
 * add:
 * 1. Read the newest node, write it down as the next one of the new.
 * 2. Make the new one the newest by compare-and-swap, which releases. Lost: again from 1.
 * take: the newest is exchanged for none.
 *
 * Source: KMA (Spliet, Howes, Gaster, Varbanescu, GPGPU-7, 2014) has sll_init() and sll_add() in its
 * listings 2 and 3 and does not show them. The list is Treiber's, without the removal of one node,
 * so that there is nothing a tag would have to tell apart: an add that finds the newest what it
 * was, though all was taken and came back in between, is still right, as that node is the newest.
 *
 * What is ordered: who finds a node in the list, or takes it, sees what its adder wrote and had seen
 * before the add. That holds for all nodes behind the newest, too: adds are compare-and-swaps one
 * upon the other, so who acquires the last acquires all.
 *
 * Bound: lock-free: an add is lost only to another one. Take is one exchange, a walk a load a node.
 *
 * Who may call what together with whom:
 *
 *             add  first/next  take
 *     init    no   no          no      before all, by the host or one lane; zeroed memory is init
 *     add     yes  yes         yes
 *     walk         yes         (1)     a walk sees what was there when it began
 *     take                     yes     each node goes to one of them
 *
 * (1) A walk goes on through nodes that were taken, as long as who took them leaves them as they are:
 *     neither gives them back nor adds them anywhere.
 */
#ifndef MAM_DS_SLIST_H
#define MAM_DS_SLIST_H

#include "ds/base.h"

struct mam_sll {
	uint64_t newest; /* address of a node, 0: none; atomic */
};

struct mam_sll_node {
	uint64_t next; /* the same; nobody changes it while the node is in the list */
};

MAM_KBOTH void mam_sll_init(MAM_GLOBAL struct mam_sll *list)
{
	list->newest = 0;
}

/* `node` is in no list. */
MAM_KFN void mam_sll_add(MAM_GLOBAL struct mam_sll *list, MAM_GLOBAL struct mam_sll_node *node)
{
	uint64_t was = mam_atomic_load64(&list->newest, MAM_RELAXED, MAM_AT_DEVICE), seen;
	uint32_t came = mam_warp_active();

	MAM_ROLLED
	do {
		seen = was;
		node->next = seen;
		was = mam_atomic_cas64(&list->newest, seen, MAM_DS_WORD(node), MAM_RELEASE,
				       MAM_AT_DEVICE);
	} while (was != seen);
	mam_warp_sync(came);
}

/* The newest node, or NULL. */
MAM_KFN MAM_GLOBAL struct mam_sll_node *mam_sll_first(MAM_GLOBAL struct mam_sll *list)
{
	return MAM_DS_POINTER(struct mam_sll_node,
			      mam_atomic_load64(&list->newest, MAM_ACQUIRE, MAM_AT_DEVICE));
}

/* The one that was added before it, or NULL. */
MAM_KFN MAM_GLOBAL struct mam_sll_node *mam_sll_next(MAM_GLOBAL struct mam_sll_node *node)
{
	return MAM_DS_POINTER(struct mam_sll_node, node->next);
}

/* Takes all nodes out: the newest, the others behind it by mam_sll_next(); NULL: there were none. */
MAM_KFN MAM_GLOBAL struct mam_sll_node *mam_sll_take(MAM_GLOBAL struct mam_sll *list)
{
	return MAM_DS_POINTER(struct mam_sll_node,
			      mam_atomic_xchg64(&list->newest, 0, MAM_ACQUIRE, MAM_AT_DEVICE));
}

#endif
