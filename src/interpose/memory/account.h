/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account.h - how much memory of each device the intercepted calls hold, and the limit MAM_LIMIT.
 *
 * There is one account per device. The charge is the size that the driver uses: requests rounded up
 * to its granularity. Device memory counts toward the limit; host memory and arrays are only
 * listed.
 *   1. Charge the account before the call of the driver. If that fails, the caller returns out of
 *      memory.
 *   2. If the driver fails, refund the charge. If it succeeds, mam_account_note() the address, so
 *      that the free knows the size.
 * With MAM_LIMIT_FILE the limit applies to all processes with that file together (shared.h).
 *
 * Threads: any, no lock needed. Nothing here allocates memory from the driver.
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
	MAM_ACCOUNT_GRAPH,    /* memory that the driver reserves for memory nodes of graphs */
	MAM_ACCOUNT_ARRAY,    /* arrays: not limited */
	MAM_ACCOUNT_HOST,     /* pinned host memory: not limited */
	MAM_ACCOUNT_COUNT
};

/*
 * device -1: unknown, counts as device 0. Returns false if the limit would be exceeded; nothing is
 * charged then.
 */
bool mam_account_charge(int device, enum mam_account_kind kind, size_t bytes);
void mam_account_refund(int device, enum mam_account_kind kind, size_t bytes);

/*
 * Call it after the driver succeeded: only then does a charge count toward the peaks.
 * mam_account_note() calls it.
 */
void mam_account_confirm(int device, enum mam_account_kind kind);

/*
 * mam_account_set - set the bytes of a kind that only the driver knows. They may exceed the limit;
 * then nothing else can be charged.
 */
void mam_account_set(int device, enum mam_account_kind kind, uint64_t bytes);

/*
 * mam_account_note - record that the driver returned `key` (an address or a handle) for a charge of
 * `bytes`. mam_account_drop - find the note, remove it and refund the charge. Returns its bytes, or
 * 0 if it is not found. Key 0 cannot be found again. For key 0, or if there is no memory for the
 * table, the charge is refunded immediately, so the limit then allows `bytes` more.
 */
void mam_account_note(uint64_t key, void *context, int device, enum mam_account_kind kind,
		      size_t bytes);
size_t mam_account_drop(uint64_t key, enum mam_account_kind kind);

/*
 * mam_account_drop() in two halves, around the driver's free. mam_account_take() removes the note
 * before, because another thread may receive the same address as soon as the driver has freed it.
 * mam_account_finish() refunds the charge after, because until then the memory is unavailable to
 * others. If the free failed, it restores the note.
 */
struct mam_account_noted {
	uint64_t key;
	size_t bytes;
	void *context;
	int device;
	enum mam_account_kind kind;
};
bool mam_account_take(uint64_t key, enum mam_account_kind kind, struct mam_account_noted *noted);
void mam_account_finish(const struct mam_account_noted *noted, bool freed);

/*
 * Drops all notes of a context that was destroyed, pinned host memory and arrays included. Notes
 * with a null context belong to no context.
 */
void mam_account_context_gone(void *context);

/* Whether there are any notes. */
bool mam_account_has_notes(void);

/*
 * mam_account_limit - the limit of each device; 0: none. It is MAM_LIMIT until
 * mam_account_set_limit() changes it, which releases nothing. mam_account_fullest - bytes that count
 * toward the limit, of the device that has most.
 */
uint64_t mam_account_limit(void);
void mam_account_set_limit(uint64_t bytes); /* below UINT64_MAX */
uint64_t mam_account_fullest(void);

/* Returns how many bytes can be charged before the limit is reached; SIZE_MAX without a limit. */
size_t mam_account_room(int device);

/* Returns the limited bytes of other processes that share the limit. */
uint64_t mam_account_others(int device);

/*
 * mam_account_look - record the driver's numbers for a device. Memory in use that is not on the
 * account belongs to contexts, modules and other processes.
 */
void mam_account_look(int device, size_t total_bytes, size_t free_bytes);

/* Called in the child of a fork. */
void mam_account_restart(void);

struct mam_account_sums {
	uint64_t now[MAM_ACCOUNT_COUNT];  /* bytes */
	uint64_t peak[MAM_ACCOUNT_COUNT]; /* bytes */
	uint64_t peak_together;           /* peak of the limited bytes */
	uint64_t peak_shared; /* of all processes that share the limit; 0: it is not shared */
	uint64_t other;       /* bytes not on the account, when last queried */
};
void mam_account_sum(int device, struct mam_account_sums *sums); /* device below 0: all */

#endif
