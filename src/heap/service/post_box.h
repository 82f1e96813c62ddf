/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post_box.h - the host's state of one mailbox (mail.h): which blocks it has allocated, and how
 * much it may still allocate.
 *
 * The protocol is in headers, for two reasons. It uses a pool through two functions only, so that
 * tests can substitute one that fails, is late, or returns wrong results. And the words that are
 * shared with the device are accessed only by the few calls below, so that the same code runs in a
 * host thread of the simulator (-DMAM_SIMT), where each of them is a point at which lanes switch:
 *
 *	static struct mam_mail mail;
 *	static struct mam_post_box box;
 *	const struct mam_post_config config = { .max_bytes = ..., .root_bytes = ..., .ahead = 1 };
 *
 *	mam_post_open(&box, &mail, &config, (struct mam_post_pool){ take, give, zero, user });
 *	while (mam_post_ahead(&box, now, true))            posts ahead, before any kernel runs
 *		;
 *	...
 *	in a host thread, until all is done (post_look.h):
 *		mam_post_look(&box);                          replies to requests
 *		mam_post_ahead(&box, now, true);              posts at most one grant ahead of need
 *		simt_host_yield("service");
 *	...
 *	between kernels: mam_post_take_back() and others (post_quiet.h)
 *	mam_post_close(&box);                                 frees everything to the pool
 *
 * One thread at a time may use a box; post.c has a lock for that.
 *
 * The size of a grant: `grow_bytes`, or such that memory and metadata together are half of the held
 * bytes, 2 MiB to 1 GiB, in multiples of 2 MiB; at least a quarter of the held bytes, or with
 * `grow_bytes` a sixteenth. So each is larger than the last, and a hundred grants reach any size. If
 * the pool cannot provide a size, half of it is tried, down to the minimum of a grant; after that at
 * most twice as much as it provided. So a pool whose free memory is in small pieces is used up to
 * the last one, with few tries in vain.
 *
 * Invariants:
 * 1. Held memory is all that was allocated and not freed: grants in `grant`, with rising numbers,
 *    and large objects in `table`. Nothing in the mailbox is trusted about it.
 * 2. `posted` is one more than the number of the last grant, or, where the last was taken back, its
 *    number; never more than MAM_MAIL_GRANTS above the number that the device reported as taken.
 * 3. The held bytes, including the root's memory and large objects, never exceed max_bytes, unless
 *    that is less than the root's size.
 */
#ifndef MAM_HEAP_SERVICE_POST_BOX_H
#define MAM_HEAP_SERVICE_POST_BOX_H

#include <stdlib.h>
#include <string.h>

#include <mam/mam.h>

#include "heap/growth/growth.h"

#define MAM_POST_PIECE ((uint64_t)2 << 20)
#define MAM_POST_MAX ((uint64_t)1 << 30)
#define MAM_POST_LARGE_ALIGNMENT 1024u
#define MAM_POST_ABSURD ((uint64_t)1 << 48) /* no device has so many bytes */
#define MAM_POST_AHEAD_MAX 4u
#define MAM_POST_RETRY_NS 200000000u /* before a failed grant ahead is retried */

#define MAM_POST_WORDS ((MAM_MAIL_SLOTS + 63) / 64)

/* The source of memory. No call may wait for a kernel. */
struct mam_post_pool {
	/*
	 * may_grow false: only memory that the pool has already; WOULD_WAIT: there is none. True:
	 * new memory, too; WOULD_WAIT: for any size, since another thread that may wait for a
	 * kernel is in the way. DESTROYED: final. Other failures: temporary.
	 */
	enum mam_status (*take)(void *user, uint64_t bytes, uint64_t alignment, bool may_grow,
				uint64_t *address);
	void (*give)(void *user, uint64_t address);
	/*
	 * Zeroes memory without a kernel. WOULD_WAIT: that has begun, or will when other memory is
	 * zero; call again with the same arguments. Other failures: it has not begun.
	 */
	enum mam_status (*zero)(void *user, uint64_t address, uint64_t bytes);
	void *user;
};

struct mam_post_config {
	uint64_t max_bytes;  /* maximum memory for kernels, including the root's */
	uint64_t root_bytes; /* of the root's memory */
	uint64_t grow_bytes; /* the minimum of a grant; 0: half of the held bytes */
	unsigned int ahead;  /* grants posted before they are requested; 0: none */
	uint32_t columns;    /* of each grant's metadata; 0: from mam_metadata_columns() */
	uint64_t large;      /* address of the first table of records of large objects */
};

/* A grant that was posted and belongs to the heap. */
struct mam_post_grant {
	uint64_t number;
	uint64_t space;
	uint64_t bytes; /* including metadata */
	uint32_t blocks;
};

/* A slot: its last message. */
struct mam_post_slot {
	uint64_t seen;       /* stamp of the last message that was read */
	uint64_t generation; /* the highest that was read */
	uint64_t bytes;      /* of the waiting request */
	uint64_t address;    /* given in reply to the last message; 0: none */
};

/* A large object; its place in its table is that of the device's record. */
struct mam_post_large {
	uint64_t address; /* 0: none */
	uint64_t bytes;
};

/* A table of records (growth.h). */
struct mam_post_table {
	uint64_t at; /* address on the device; 0: none yet */
	struct mam_post_large *large;
};

struct mam_post_counts {
	uint64_t posted;       /* count of grants that kernels have taken or may take */
	uint64_t posted_bytes; /* of those, including metadata */
	uint64_t large;        /* count of large objects */
	uint64_t large_bytes;  /* of those */
	uint64_t table_bytes;  /* of tables that the device does not have from the start */
	uint64_t asks;         /* total count of requests for either */
	uint64_t refusals;     /* total count of refused requests */
	uint64_t bad;          /* total count of invalid messages */
};

struct mam_post_box {
	struct mam_mail *mail;
	struct mam_post_pool pool;
	struct mam_post_config config;
	struct mam_post_counts counts;
	bool ended;    /* the pool was destroyed */
	bool held_up;  /* another thread was in the way of new memory at the last try */
	uint64_t held; /* bytes of memory, including the root's and large objects */
	uint64_t beat;
	uint64_t looks; /* count */

	uint64_t asked;   /* as last read */
	bool open;        /* that request has no reply yet */
	uint64_t posted;  /* total count of grants */
	uint64_t wanted;  /* total count of grants wanted */
	uint64_t target;  /* the same, plus the grants to post ahead */
	uint64_t settled; /* grants below this number are known to be taken */
	uint32_t blocks;  /* size of the current tries; 0: none yet */
	uint64_t retry_at;
	uint32_t max_blocks; /* of the next try, as the pool had no more; 0: no maximum */
	unsigned int grants;
	unsigned int room; /* for so many */
	struct mam_post_grant *grant;
	uint32_t
		part_tables; /* count of tables that kernels may know; the next one may exist, too */
	uint64_t part_table[MAM_PARTS_TABLES + 1]; /* addresses; that of the first is not needed */

	uint64_t knock;                   /* as last read */
	uint64_t waiting[MAM_POST_WORDS]; /* slots whose ALLOC has no reply yet */
	uint32_t turn;                    /* slot that gets new memory next */
	struct mam_post_slot slot[MAM_MAIL_SLOTS];

	bool cramped;    /* an object needs the next table */
	uint32_t tables; /* count of those that kernels may know; the next one may exist, too */
	struct mam_post_table table[MAM_LARGE_TABLES + 1];
	struct mam_post_large first[MAM_LARGE_ROWS * MAM_LARGE_ROW];
};

/* ---- words shared with the device ----  */

/* A word of the device, with an acquire. */
static inline uint64_t mam_post_read(uint64_t *where)
{
#ifdef MAM_SIMT
	return mam_atomic_load64(where, MAM_ACQUIRE, MAM_AT_SYSTEM);
#else
	return __atomic_load_n(where, __ATOMIC_ACQUIRE);
#endif
}

/* A word of the device, after its stamp was read. */
static inline uint64_t mam_post_detail(uint64_t *where)
{
#ifdef MAM_SIMT
	return mam_atomic_load64(where, MAM_RELAXED, MAM_AT_SYSTEM);
#else
	return __atomic_load_n(where, __ATOMIC_RELAXED);
#endif
}

/* A word of the host, with a release. */
static inline void mam_post_report(uint64_t *where, uint64_t value)
{
#ifdef MAM_SIMT
	mam_atomic_store64(where, value, MAM_RELEASE, MAM_AT_SYSTEM);
#else
	__atomic_store_n(where, value, __ATOMIC_RELEASE);
#endif
}

/* A word of the host that a later mam_post_report() publishes. */
static inline void mam_post_write(uint64_t *where, uint64_t value)
{
#ifdef MAM_SIMT
	mam_atomic_store64(where, value, MAM_RELAXED, MAM_AT_SYSTEM);
#else
	__atomic_store_n(where, value, __ATOMIC_RELAXED);
#endif
}

/* ---- sizes ---- */

static inline uint32_t mam_post_columns(const struct mam_post_box *box, uint32_t blocks)
{
	return box->config.columns ? box->config.columns : mam_metadata_columns(blocks);
}

/* Bytes of a grant, including its metadata. */
static inline uint64_t mam_post_bytes(const struct mam_post_box *box, uint32_t blocks)
{
	return ((uint64_t)blocks << MAM_BLOCK_SHIFT) +
	       mam_metadata_plan_of(blocks, mam_post_columns(box, blocks)).end;
}

/* The maximum blocks that fit together with their metadata, but at least MAM_GRANT_BLOCKS. */
static inline uint32_t mam_post_fit(const struct mam_post_box *box, uint64_t bytes)
{
	uint64_t blocks = bytes >> MAM_BLOCK_SHIFT, whole;

	while (blocks > MAM_GRANT_BLOCKS) {
		whole = mam_post_bytes(box, (uint32_t)blocks);
		if (whole <= bytes)
			return (uint32_t)blocks;
		blocks -= ((whole - bytes) >> (MAM_BLOCK_SHIFT + 1)) + 1;
	}
	return MAM_GRANT_BLOCKS;
}

/* Bytes of memory that may still be granted. */
static inline uint64_t mam_post_room(const struct mam_post_box *box)
{
	return box->config.max_bytes > box->held ? box->config.max_bytes - box->held : 0;
}

/* Blocks that the next grant should have. 0: the limit leaves none. */
static inline uint32_t mam_post_blocks(const struct mam_post_box *box)
{
	const uint64_t max = (uint64_t)MAM_PAGES_COUNT_MAX / MAM_BLOCK_UNITS - 1;
	uint64_t room = mam_post_room(box) >> MAM_BLOCK_SHIFT, blocks, min, half;

	if (room < MAM_GRANT_BLOCKS)
		return 0;
	half = box->held / 2 / MAM_POST_PIECE * MAM_POST_PIECE;
	half = half < MAM_POST_PIECE ? MAM_POST_PIECE : half > MAM_POST_MAX ? MAM_POST_MAX : half;
	blocks = box->config.grow_bytes ? ((box->config.grow_bytes - 1) >> MAM_BLOCK_SHIFT) + 1
					: mam_post_fit(box, half);
	min = box->held >> (MAM_BLOCK_SHIFT + (box->config.grow_bytes ? 4 : 2));
	blocks = blocks < min ? min : blocks;
	blocks = box->max_blocks && blocks > box->max_blocks ? box->max_blocks : blocks;
	blocks = blocks < MAM_GRANT_BLOCKS ? MAM_GRANT_BLOCKS : blocks;
	blocks = blocks > room ? room : blocks;
	return (uint32_t)(blocks > max ? max : blocks);
}

/* ---- begin and end ---- */

/* pre: the mailbox is all zeros, and no kernel knows it. */
static inline void mam_post_open(struct mam_post_box *box, struct mam_mail *mail,
				 const struct mam_post_config *config, struct mam_post_pool pool)
{
	memset(box, 0, sizeof(*box));
	box->mail = mail;
	box->pool = pool;
	box->config = *config;
	if (box->config.ahead > MAM_POST_AHEAD_MAX)
		box->config.ahead = MAM_POST_AHEAD_MAX;
	box->held = config->root_bytes;
	box->target = box->config.ahead;
	box->tables = 1;
	box->part_tables = 1;
	box->table[0] = (struct mam_post_table){ config->large, box->first };
}

/* Frees the block to the pool. */
static inline void mam_post_drop(struct mam_post_box *box, uint64_t address)
{
	box->pool.give(box->pool.user, address);
}

/* Returns the freed bytes. */
static inline uint64_t mam_post_drop_large(struct mam_post_box *box, struct mam_post_large *large)
{
	const uint64_t bytes = large->bytes;

	if (large->address == 0)
		return 0;
	mam_post_drop(box, large->address);
	box->held -= bytes;
	box->counts.large--;
	box->counts.large_bytes -= bytes;
	*large = (struct mam_post_large){ 0 };
	return bytes;
}

/* Frees all large objects, and all tables except the first. Returns the freed bytes. */
static inline uint64_t mam_post_drop_tables(struct mam_post_box *box)
{
	uint64_t bytes = 0;

	for (uint32_t n = 0; n <= MAM_LARGE_TABLES && box->table[n].large != NULL; n++) {
		struct mam_post_table *table = &box->table[n];

		for (uint32_t i = 0; i < mam_large_rows(n) * MAM_LARGE_ROW; i++)
			bytes += mam_post_drop_large(box, &table->large[i]);
		if (n == 0)
			continue;
		if (table->at != 0)
			mam_post_drop(box, table->at);
		free(table->large);
		*table = (struct mam_post_table){ 0 };
	}
	for (uint32_t n = 1; n < box->tables; n++) {
		bytes += mam_large_table_bytes(n);
		box->counts.table_bytes -= mam_large_table_bytes(n);
	}
	box->tables = 1;
	box->cramped = false;
	return bytes;
}

/* Returns the freed bytes. */
static inline uint64_t mam_post_drop_grant(struct mam_post_box *box, unsigned int i)
{
	const struct mam_post_grant gone = box->grant[i];

	mam_post_drop(box, gone.space);
	box->held -= (uint64_t)gone.blocks << MAM_BLOCK_SHIFT;
	box->counts.posted--;
	box->counts.posted_bytes -= gone.bytes;
	box->grants--;
	for (; i < box->grants; i++)
		box->grant[i] = box->grant[i + 1];
	return gone.bytes;
}

/* Frees host memory only: in the child of a fork, the other memory belongs to the parent. */
static inline void mam_post_leave(struct mam_post_box *box)
{
	free(box->grant);
	for (uint32_t n = 1; n <= MAM_LARGE_TABLES; n++)
		free(box->table[n].large);
}

/* pre: no thread looks at the mailbox any more, and no kernel uses any of its memory. */
static inline void mam_post_close(struct mam_post_box *box)
{
	while (box->grants != 0)
		(void)mam_post_drop_grant(box, box->grants - 1);
	for (uint32_t n = 1; n <= MAM_PARTS_TABLES; n++)
		if (box->part_table[n] != 0)
			mam_post_drop(box, box->part_table[n]);
	for (uint32_t n = 1; n < box->part_tables; n++)
		box->counts.table_bytes -= mam_parts_table_bytes(mam_parts_size(n));
	free(box->grant);
	box->grant = NULL;
	box->room = 0;
	(void)mam_post_drop_tables(box);
}

#endif
