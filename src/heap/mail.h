/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mail.h - the mailbox of a heap: how kernels ask the host for memory, and what it answers, in
 * pinned host memory that both see.
 *
 * No word of it is written by both sides, as host and device have no atomic operation in common on
 * every machine: each side stores its own words, with a release of the whole system, and reads the
 * other's with an acquire of it. What several lanes must agree on they settle by atomics in device
 * memory first (growth.h).
 *
 * Grants: ground that the heap gets for good, one like the other, so who asked for one need not be
 * who takes it.
 * 1. The device stores `asked`: number of the ask, and how many grants it wants in all, ever.
 * 2. The host posts grants, one after the other, until it has posted as many as are wanted and some
 *    ahead: the entry of grant i at i % MAM_MAIL_GRANTS, then `posted`, i + 1. Or, if it cannot post
 *    as many as are wanted, `refused`: the number of that ask, and the cause.
 * 3. Whoever asked takes the next one that was posted. One that comes late is the first that the
 *    next asker finds.
 *
 * Large objects: blocks of the pool, each with a slot of its own from when it is asked for until its
 * end is known to the host. Both stamps of a slot hold a generation, which each message of the
 * device raises: an answer is one to the message of its generation and to no other.
 * 1. ALLOC: the device writes `bytes`, then the stamp. The host answers with the address, or why
 *    not, under the same generation.
 * 2. FREE: the device writes the address, then the stamp. The host gives the block back to its pool
 *    and answers.
 * 3. CANCEL: the device has waited for an ALLOC as long as it may, and will never look at its
 *    answer. The host gives back what it had answered with, if it had, and answers.
 * Whoever sees a FREE or a CANCEL answered may use the slot again.
 * Before it refuses for want of room, the host serves each FREE and CANCEL that is there, and tries
 * again: who gives an object back and then asks for another may have that memory. A CANCEL of the
 * very ALLOC may be among them: then there is nothing left to answer.
 *
 * `beat` changes whenever the host looks at the mailbox. Who has waited in vain remembers it, and
 * nobody waits again before it has changed (grow.h): so a host that is stopped costs one wait.
 */
#ifndef MAM_HEAP_MAIL_H
#define MAM_HEAP_MAIL_H

#include "heap/layout.h"

#define MAM_MAIL_GRANTS 8u
#ifndef MAM_MAIL_SLOTS /* tests have few */
#define MAM_MAIL_SLOTS 512u
#endif

/* What the host answers. */
enum mam_mail_cause {
	MAM_MAIL_GIVEN,
	MAM_MAIL_LIMIT,  /* the heap would be larger than it may */
	MAM_MAIL_FULL,   /* the pool has no such memory, and cannot get it without a wait */
	MAM_MAIL_BAD,    /* no request that makes sense: 0 bytes, or an address that was not given */
	MAM_MAIL_ENDED,  /* the heap does not grow any more */
};

/* What the device asks of a slot. */
enum mam_mail_kind {
	MAM_MAIL_NOTHING,
	MAM_MAIL_ALLOC,
	MAM_MAIL_FREE,
	MAM_MAIL_CANCEL,
};

/* Ground that was granted: blocks, and books behind them (books.h). */
struct mam_grant {
	uint64_t ground; /* address; a multiple of a block */
	uint32_t blocks;
	uint32_t columns;
};

struct mam_mail_ask {
	uint64_t stamp;  /* generation << 8 | enum mam_mail_kind */
	uint64_t detail; /* ALLOC: bytes; else: the address */
};

struct mam_mail_answer {
	uint64_t stamp;   /* generation << 8 | enum mam_mail_cause */
	uint64_t address; /* of an ALLOC that was GIVEN */
};

struct mam_mail {
	/* written by the device */
	uint64_t asked; /* number of the ask << 32 | grants wanted, ever */
	uint64_t knock; /* changed, to anything, after each stamp in `ask`: a hint that one is there */
	uint64_t pad0[MAM_PAGES_LINE / 8 - 2];
	/* written by the host */
	uint64_t posted;  /* count of grants, ever */
	uint64_t refused; /* number of the ask << 8 | enum mam_mail_cause */
	uint64_t beat;
	uint64_t pad1[MAM_PAGES_LINE / 8 - 3];
	struct mam_grant grant[MAM_MAIL_GRANTS];        /* written by the host */
	struct mam_mail_ask ask[MAM_MAIL_SLOTS];        /* written by the device */
	struct mam_mail_answer answer[MAM_MAIL_SLOTS];  /* written by the host */
};

#endif
