/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slist.h - a singly linked list: any lane can add a node, and one call takes all nodes.
 *
 * The caller owns the nodes, which embed a struct mam_sll_node; the list allocates nothing.
 *
 * add:
 * 1. Read the newest node, and store it as the next node of the new one.
 * 2. Make the new one the newest by compare-and-swap, which releases. If that fails, repeat from 1.
 * take: exchange the newest node for 0.
 *
 * Source: KMA (Spliet, Howes, Gaster, Varbanescu, GPGPU-7, 2014) has sll_init() and sll_add() in
 * its listings 2 and 3 and does not show them. It is Treiber's list without the removal of single
 * nodes, so it needs no tag against ABA. If all nodes were taken and added again between the two
 * steps of an add, and the newest is the same node, the add is still right.
 *
 * Memory order: a lane that finds or takes a node sees what its adder wrote and had seen before the
 * add. That also holds for all nodes after the newest: the adds form a chain of compare-and-swaps,
 * so acquiring the last one acquires all.
 *
 * Bound: lock-free: an add fails only because another one succeeded. Take is one exchange;
 * iteration is one load per node.
 *
 * Concurrent calls:
 *
 *             add  first/next  take
 *     init    no   no          no      before all, by the host or one lane; zeroed memory is init
 *     add     yes  yes         yes
 *     walk         yes         (1)     it sees the nodes that existed when it began
 *     take                     yes     each node is returned by one of them
 *
 * (1) An iteration may continue over taken nodes as long as the lane that took them leaves them
 *     unchanged: it neither frees them nor adds them to a list.
 */
#ifndef MAM_DS_SLIST_H
#define MAM_DS_SLIST_H

#include "ds/base.h"

struct mam_sll {
	uint64_t newest; /* address of a node, 0: none; atomic */
};

struct mam_sll_node {
	uint64_t next; /* the same; does not change while the node is in the list */
};

MAM_KBOTH void mam_sll_init(MAM_GLOBAL struct mam_sll *list)
{
	list->newest = 0;
}

/* pre: `node` is not in a list. */
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

/*
 * Takes all nodes out and returns the newest; mam_sll_next() returns the others. NULL: the list was
 * empty.
 */
MAM_KFN MAM_GLOBAL struct mam_sll_node *mam_sll_take(MAM_GLOBAL struct mam_sll *list)
{
	return MAM_DS_POINTER(struct mam_sll_node,
			      mam_atomic_xchg64(&list->newest, 0, MAM_ACQUIRE, MAM_AT_DEVICE));
}

#endif
