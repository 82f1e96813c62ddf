/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account.h - how much of each device's memory the caught calls hold, and MAM_LIMIT over it.
 *
 * One account a device. What is charged is what the driver takes: sizes rounded up to its
 * granularity. Memory on the device is held to the limit; host memory and arrays are only listed.
 *   1. Charge before the driver is asked. Refused: the caller answers out of memory.
 *   2. The driver refused: take the charge back. It gave: mam_account_note() the address, so that
 *      the free knows the size.
 * Threads: any, no lock needed. Nothing here calls the driver.
 */
#ifndef MAM_INTERPOSE_ACCOUNT_H
#define MAM_INTERPOSE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mam_account_kind {
	MAM_ACCOUNT_CHUNK,    /* chunks of pools */
	MAM_ACCOUNT_DIRECT,   /* cudaMalloc and the like, served by the driver */
	MAM_ACCOUNT_ASYNC,    /* stream-ordered memory */
	MAM_ACCOUNT_MANAGED,  /* managed memory */
	MAM_ACCOUNT_PHYSICAL, /* cuMemCreate */
	MAM_ACCOUNT_GRAPH,    /* what the driver holds for memory nodes of graphs */
	MAM_ACCOUNT_ARRAY,    /* arrays: not under the limit */
	MAM_ACCOUNT_HOST,     /* pinned host memory: not under the limit */
	MAM_ACCOUNT_COUNT
};

/* device -1: not known; counts as device 0. False: over the limit, nothing was charged. */
bool mam_account_charge(int device, enum mam_account_kind kind, size_t bytes);
void mam_account_refund(int device, enum mam_account_kind kind, size_t bytes);

/* The driver gave it: only then does it count for the peaks. mam_account_note() does this too. */
void mam_account_confirm(int device, enum mam_account_kind kind);

/*
 * mam_account_set - a kind takes so many bytes now, of which the driver alone knows. That may be more
 * than the limit: then nothing else can be charged.
 */
void mam_account_set(int device, enum mam_account_kind kind, uint64_t bytes);

/*
 * The driver gave `bytes` at `key` (an address or a handle) for a charge; mam_account_drop() finds
 * it again, refunds it, and answers its size; 0: it was not noted. Key 0 cannot be found again, and
 * books without memory forget: the charge is then taken back at once, and the limit is that much
 * too generous.
 */
void mam_account_note(uint64_t key, void *context, int device, enum mam_account_kind kind,
		      size_t bytes);
size_t mam_account_drop(uint64_t key, enum mam_account_kind kind);

/*
 * The same in two halves, around the driver's free: the note is taken before, since another thread
 * may get the same address as soon as the driver has freed it. The charge is settled after, since
 * until then the memory is not there for others.
 */
struct mam_account_noted {
	uint64_t key;
	size_t bytes;
	void *context;
	int device;
	enum mam_account_kind kind;
};
bool mam_account_take(uint64_t key, enum mam_account_kind kind, struct mam_account_noted *noted);
void mam_account_settle(const struct mam_account_noted *noted, bool freed);

/*
 * Everything noted of a context died with it, pinned host memory and arrays too. What was noted
 * with a null context belongs to none.
 */
void mam_account_context_gone(void *context);

/* Whether anything is noted at all. */
bool mam_account_has_notes(void);

/* What may still be charged before the limit; SIZE_MAX: there is none. */
size_t mam_account_room(int device);

/*
 * mam_account_look - what the driver says of a device. What is taken there and not on the account
 * is memory of contexts, of modules, and of other processes.
 */
void mam_account_look(int device, size_t total_bytes, size_t free_bytes);

/* In the child of a fork. */
void mam_account_restart(void);

struct mam_account_sums {
	uint64_t now[MAM_ACCOUNT_COUNT];  /* bytes */
	uint64_t peak[MAM_ACCOUNT_COUNT]; /* bytes */
	uint64_t peak_together;           /* bytes under the limit, at their highest */
	uint64_t other;                   /* bytes not on the account, at the last look */
};
void mam_account_sum(struct mam_account_sums *sums); /* over all devices */

#endif
