/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mail.h - the mailbox of a heap, in pinned host memory that both sides see: kernels request memory
 * from the host, and the host replies.
 *
 * No word is written by both sides, as on some machines host and device have no atomic operation in
 * common: each side stores its own words with a system-scope release, and reads the other's with a
 * system-scope acquire. Lanes first agree among themselves by atomics in device memory (growth.h).
 *
 * Grants: memory that the heap keeps. They are interchangeable, so the lane that takes one need not
 * be the lane that requested it.
 * 1. The device stores `asked`: the number of the request, and the total of grants wanted so far.
 * 2. The host posts grants, one after the other, until it has posted as many as are wanted and some
 *    ahead: the entry of grant i at i % MAM_MAIL_GRANTS, then `posted`, i + 1. If it cannot post as
 *    many as are wanted, it stores `refused` instead: the number of that request, and the cause.
 * 3. The requester takes the next posted grant. A grant that comes late is the first that the next
 *    requester finds. The host provides tables for as many grants as it posts (growth.h).
 *
 * Large objects: blocks of the pool. A slot serves one message at a time, from any lane: a lane
 * owns it until the reply, or, if it does not wait for that, until the message is written. Both
 * stamps of a slot contain a generation, which each message raises: a reply belongs to the message
 * of its generation and to no other.
 * 1. ALLOC: the device writes `bytes`, then the stamp. The host replies under the same generation,
 *    with a cause, or with the address and with the record where kernels find the object. The
 *    device has the first table of records; the host provides more when they fill up.
 * 2. FREE: the device writes the address, then the stamp. The host frees the block and its record,
 *    and replies.
 * 3. CANCEL: the device has waited for the ALLOC of the previous generation as long as it may, and
 *    will never read its reply. The host frees the block that it had allocated, if any, and
 *    replies. Before it refuses for lack of memory, the host serves each FREE and CANCEL that it
 *    finds, and tries again: a lane that frees an object and then allocates another may get that
 *    memory. A CANCEL of that very ALLOC may be among them: then no reply is left to send.
 * The next user of a slot waits for the reply to its last FREE or CANCEL.
 *
 * `beat` changes whenever the host looks at the mailbox. A lane whose wait timed out records it,
 * and no lane waits again before it has changed (grow.h): so a stopped host costs one wait.
 */
#ifndef MAM_HEAP_GROWTH_MAIL_H
#define MAM_HEAP_GROWTH_MAIL_H

#include "heap/pages/layout.h"

#define MAM_MAIL_GRANTS 8u
#ifndef MAM_MAIL_SLOTS /* smaller in tests */
#define MAM_MAIL_SLOTS 512u
#endif
/* Tables after the first (growth.h): more than memory can have objects and grants. */
#define MAM_LARGE_TABLES 20u
#define MAM_PARTS_TABLES 16u

/* The host's reply. */
enum mam_mail_cause {
	MAM_MAIL_GIVEN,
	MAM_MAIL_LIMIT, /* the heap would exceed its size limit */
	MAM_MAIL_FULL,  /* the pool has no such memory, and cannot get it without a wait */
	MAM_MAIL_BAD,   /* an invalid request: 0 bytes, or an address that was not allocated */
	MAM_MAIL_ENDED, /* the heap no longer grows */
};

/* The device's request in a slot. */
enum mam_mail_kind {
	MAM_MAIL_NOTHING,
	MAM_MAIL_ALLOC,
	MAM_MAIL_FREE,
	MAM_MAIL_CANCEL,
};

/* Granted memory: blocks, followed by their metadata (metadata.h). */
struct mam_grant {
	uint64_t space; /* address; a multiple of a block */
	uint32_t blocks;
	uint32_t columns;
};

struct mam_mail_ask {
	uint64_t stamp;  /* generation << 8 | enum mam_mail_kind */
	uint64_t detail; /* ALLOC: bytes; otherwise: the address */
};

struct mam_mail_answer {
	uint64_t stamp; /* generation << 8 | enum mam_mail_cause */
	/* Of an ALLOC that was GIVEN: */
	uint64_t address;
	uint64_t record; /* address of a struct mam_large */
	uint64_t tables; /* count of those in `large_table` */
};

struct mam_mail {
	/* written by the device */
	uint64_t asked; /* number of the request << 32 | grants wanted, in total */
	uint64_t knock; /* changed, to any value, after each stamp in `ask`: a hint that one was
			   written */
	uint64_t pad0[MAM_PAGES_LINE / 8 - 2];
	/* written by the host */
	uint64_t posted;  /* total count of grants */
	uint64_t refused; /* number of the request << 8 | enum mam_mail_cause */
	uint64_t beat;
	uint64_t pad1[MAM_PAGES_LINE / 8 - 3];
	struct mam_grant grant[MAM_MAIL_GRANTS]; /* written by the host */
	/* Tables, each announced with the first reply that needs it; written by the host. */
	uint64_t large_table[MAM_LARGE_TABLES];
	uint64_t part_table[MAM_PARTS_TABLES];
	struct mam_mail_ask ask[MAM_MAIL_SLOTS];       /* written by the device */
	struct mam_mail_answer answer[MAM_MAIL_SLOTS]; /* written by the host */
};

#endif
