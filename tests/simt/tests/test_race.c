/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Litmus sequences: short runs of a few lanes, and whether their last step races. No earlier step
 * may race. Lanes 0 and 1 are of block 0, 2 and 3 of block 1, 4 and 5 are host threads.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simt/race/race.h"

enum act { END, WRITE, READ, STORE, LOAD, ADD, FAIL, FENCE, MEET, ORDER, FORGET };

struct step {
	enum act act;
	unsigned int lane; /* MEET: a mask of lanes */
	unsigned int at;   /* offset in memory; ORDER: the other lane */
	unsigned int bytes;
	enum simt_order order;
	enum simt_scope scope;
};

struct litmus {
	const char *name;
	bool races; /* at the last step */
	struct step steps[12];
};

#define X 0
#define Y 8
#define F 64
#define G 72
#define RLX MAM_RELAXED
#define ACQ MAM_ACQUIRE
#define REL MAM_RELEASE
#define AR MAM_ACQ_REL
#define SC MAM_SEQ_CST
#define BLK MAM_AT_BLOCK
#define DEV MAM_AT_DEVICE
#define SYS MAM_AT_SYSTEM

#define W(lane, at)                          \
	{                                    \
		WRITE, lane, at, 8, RLX, BLK \
	}
#define W_(lane, at, bytes)                      \
	{                                        \
		WRITE, lane, at, bytes, RLX, BLK \
	}
#define R(lane, at)                         \
	{                                   \
		READ, lane, at, 8, RLX, BLK \
	}
#define R_(lane, at, bytes)                     \
	{                                       \
		READ, lane, at, bytes, RLX, BLK \
	}
#define ST(lane, at, order, scope)               \
	{                                        \
		STORE, lane, at, 8, order, scope \
	}
#define LD(lane, at, order, scope)              \
	{                                       \
		LOAD, lane, at, 8, order, scope \
	}
#define RMW(lane, at, order, scope)            \
	{                                      \
		ADD, lane, at, 8, order, scope \
	}
#define ST4(lane, at, order, scope)              \
	{                                        \
		STORE, lane, at, 4, order, scope \
	}
#define LD4(lane, at, order, scope)             \
	{                                       \
		LOAD, lane, at, 4, order, scope \
	}
#define ST2(lane, at, order, scope)              \
	{                                        \
		STORE, lane, at, 2, order, scope \
	}
#define LD2(lane, at, order, scope)             \
	{                                       \
		LOAD, lane, at, 2, order, scope \
	}
#define CAS2(lane, at, order, scope)           \
	{                                      \
		ADD, lane, at, 2, order, scope \
	}
#define CASF(lane, at, order, scope)            \
	{                                       \
		FAIL, lane, at, 8, order, scope \
	}
#define FE(lane, order, scope)                  \
	{                                       \
		FENCE, lane, 0, 0, order, scope \
	}
#define MEETS(mask)                        \
	{                                  \
		MEET, mask, 0, 0, RLX, BLK \
	}
#define ORD(from, to)                        \
	{                                    \
		ORDER, from, to, 0, RLX, BLK \
	}
#define FORGETS(at, bytes)                     \
	{                                      \
		FORGET, 0, at, bytes, RLX, BLK \
	}

/* clang-format off */
static const struct litmus cases[] = {
	/* Plain accesses. */
	{ "one lane", false, { W(0, X), R(0, X), W(0, X) } },
	{ "two reads", false, { R(0, X), R(1, X) } },
	{ "write, write", true, { W(0, X), W(1, X) } },
	{ "write, read", true, { W(0, X), R(1, X) } },
	{ "read, write", true, { R(0, X), W(1, X) } },
	{ "second reader is not ordered", true, { R(0, X), R(1, X), ORD(0, 2), W(2, X) } },
	{ "both readers are ordered", false, { R(0, X), R(1, X), ORD(0, 2), ORD(1, 2), W(2, X) } },
	{ "other granules", false, { W(0, X), W(1, Y) } },
	{ "other bytes", false, { W_(0, X, 4), W_(1, X + 4, 4) } },
	{ "one byte of four", true, { W_(0, X, 4), R_(1, X + 3, 1) } },
	{ "across granules", true, { W_(0, X + 6, 4), W_(1, Y + 1, 1) } },
	{ "next to one across granules", false, { W_(0, X + 6, 4), W_(1, Y + 2, 6), W_(2, X, 6) } },
	{ "a small write does not hide a large one", true,
	  { W(0, X), W_(0, X, 4), R_(1, X + 4, 4) } },
	{ "many bytes", true, { W_(0, X, 40), R_(1, X + 33, 1) } },

	/* Message passing. */
	{ "relaxed", true, { W(0, X), ST(0, F, RLX, DEV), LD(2, F, RLX, DEV), R(2, X) } },
	{ "release, relaxed", true, { W(0, X), ST(0, F, REL, DEV), LD(2, F, RLX, DEV), R(2, X) } },
	{ "relaxed, acquire", true, { W(0, X), ST(0, F, RLX, DEV), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "release, acquire", false, { W(0, X), ST(0, F, REL, DEV), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "seq_cst", false, { W(0, X), ST(0, F, SC, DEV), LD(2, F, SC, DEV), W(2, X) } },
	{ "acquire, then release", true,
	  { W(0, X), LD(0, F, ACQ, DEV), ST(2, F, REL, DEV), R(2, X) } },
	{ "accesses after the release", true,
	  { ST(0, F, REL, DEV), W(0, X), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "accesses before the acquire", true,
	  { W(0, X), ST(0, F, REL, DEV), R(2, X) } },
	{ "another flag", true, { W(0, X), ST(0, F, REL, DEV), LD(2, G, ACQ, DEV), R(2, X) } },
	{ "by read-modify-writes", false,
	  { W(0, X), RMW(0, F, REL, DEV), RMW(2, F, ACQ, DEV), R(2, X) } },
	{ "a failed swap acquires", false,
	  { W(0, X), ST(0, F, REL, DEV), CASF(2, F, AR, DEV), R(2, X) } },
	{ "a failed swap releases nothing", true,
	  { W(0, X), ST(1, F, RLX, DEV), CASF(0, F, AR, DEV), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "the other way round", true,
	  { R(0, X), ST(0, F, RLX, DEV), LD(2, F, ACQ, DEV), W(2, X) } },
	{ "a lock", false,
	  { RMW(0, F, ACQ, DEV), W(0, X), ST(0, F, REL, DEV), RMW(2, F, ACQ, DEV), W(2, X),
	    ST(2, F, REL, DEV), RMW(1, F, ACQ, DEV), W(1, X) } },

	/* Fences. */
	{ "fence to fence", false,
	  { W(0, X), FE(0, REL, DEV), ST(0, F, RLX, DEV), LD(2, F, RLX, DEV), FE(2, ACQ, DEV),
	    R(2, X) } },
	{ "fence to acquire", false,
	  { W(0, X), FE(0, AR, DEV), ST(0, F, RLX, DEV), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "release to fence", false,
	  { W(0, X), ST(0, F, REL, DEV), LD(2, F, RLX, DEV), FE(2, ACQ, DEV), R(2, X) } },
	{ "a fence before its own write", true,
	  { FE(0, REL, DEV), W(0, X), ST(0, F, RLX, DEV), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "a fence after the flag", true,
	  { W(0, X), ST(0, F, RLX, DEV), FE(0, REL, DEV), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "a fence before the load", true,
	  { W(0, X), FE(0, REL, DEV), ST(0, F, RLX, DEV), FE(2, ACQ, DEV), LD(2, F, RLX, DEV),
	    R(2, X) } },
	{ "an acquire fence does not release", true,
	  { W(0, X), FE(0, ACQ, DEV), ST(0, F, RLX, DEV), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "a release fence does not acquire", true,
	  { W(0, X), ST(0, F, REL, DEV), LD(2, F, RLX, DEV), FE(2, REL, DEV), R(2, X) } },
	{ "a relaxed fence does nothing", true,
	  { W(0, X), FE(0, RLX, DEV), ST(0, F, RLX, DEV), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "one fence, two flags", false,
	  { W(0, X), FE(0, REL, DEV), ST(0, F, RLX, DEV), ST(0, G, RLX, DEV), LD(2, G, ACQ, DEV),
	    R(2, X) } },
	{ "fences alone", true, { W(0, X), FE(0, AR, DEV), FE(2, AR, DEV), R(2, X) } },
	{ "seq_cst fences alone are in one order", false,
	  { W(0, X), FE(0, SC, DEV), FE(2, SC, DEV), R(2, X) } },
	{ "seq_cst fences of two blocks, block scope", true,
	  { W(0, X), FE(0, SC, BLK), FE(2, SC, BLK), R(2, X) } },
	{ "seq_cst fences of two blocks, one at block scope", true,
	  { W(0, X), FE(0, SC, DEV), FE(2, SC, BLK), R(2, X) } },
	{ "a seq_cst fence and another", true,
	  { W(0, X), FE(0, SC, DEV), FE(2, AR, DEV), R(2, X) } },
	{ "the flag itself is not ordered before accesses after the fence", true,
	  { FE(0, REL, DEV), ST(0, F, RLX, DEV), LD(2, F, ACQ, DEV), W(2, F) } },

	/* Release sequences. */
	{ "through a relaxed read-modify-write", false,
	  { W(0, X), ST(0, F, REL, DEV), RMW(1, F, RLX, DEV), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "through two", false,
	  { W(0, X), RMW(0, F, REL, DEV), RMW(1, F, RLX, DEV), RMW(3, F, RLX, DEV),
	    LD(2, F, ACQ, DEV), R(2, X) } },
	{ "ended by another lane's store", true,
	  { W(0, X), ST(0, F, REL, DEV), ST(1, F, RLX, DEV), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "ended by another lane's release", true,
	  { W(0, X), ST(0, F, REL, DEV), ST(1, F, REL, DEV), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "ended by its own lane's store", true,
	  { W(0, X), ST(0, F, REL, DEV), ST(0, F, RLX, DEV), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "joined by a releasing one", false,
	  { W(0, X), ST(0, F, REL, DEV), W(1, Y), RMW(1, F, REL, DEV), LD(2, F, ACQ, DEV), R(2, X),
	    R(2, Y) } },
	{ "a middle lane acquires nothing", true,
	  { W(0, X), ST(0, F, REL, DEV), RMW(1, F, RLX, DEV), R(1, X) } },
	{ "ABA: the same value by another lane", true,
	  { W(0, X), ST(0, F, REL, DEV), RMW(1, F, AR, DEV), W(3, Y), ST(3, F, RLX, DEV),
	    RMW(2, F, AR, DEV), R(2, X) } },

	/* Three lanes. */
	{ "transitive", false,
	  { W(0, X), ST(0, F, REL, DEV), LD(1, F, ACQ, DEV), ST(1, G, REL, DEV), LD(2, G, ACQ, DEV),
	    W(2, X) } },
	{ "transitive, except for a relaxed link", true,
	  { W(0, X), ST(0, F, REL, DEV), LD(1, F, RLX, DEV), ST(1, G, REL, DEV), LD(2, G, ACQ, DEV),
	    W(2, X) } },
	{ "transitive through scopes", false,
	  { W(0, X), ST(0, F, REL, BLK), LD(1, F, ACQ, BLK), ST(1, G, REL, DEV), LD(2, G, ACQ, DEV),
	    W(2, X) } },

	/* Scopes. */
	{ "block scope in a block", false,
	  { W(0, X), ST(0, F, REL, BLK), LD(1, F, ACQ, BLK), R(1, X) } },
	{ "block scope between blocks: the flag", true,
	  { W(0, X), ST(0, F, REL, BLK), LD(2, F, ACQ, BLK) } },
	{ "one end at block scope: the flag", true, { ST(0, F, REL, DEV), LD(2, F, ACQ, BLK) } },
	{ "the other end: the flag", true, { ST(0, F, REL, BLK), LD(2, F, ACQ, DEV) } },
	{ "block and device scope in a block", false,
	  { W(0, X), ST(0, F, REL, BLK), LD(1, F, ACQ, DEV), R(1, X) } },
	{ "loads of any scope", false, { LD(0, F, ACQ, BLK), LD(2, F, ACQ, BLK) } },
	{ "an older access at block scope is not forgotten", true,
	  { ST(0, F, RLX, BLK), ST(0, F, RLX, DEV), LD(2, F, RLX, DEV) } },
	{ "a block scope fence, a device scope flag", true,
	  { W(0, X), FE(0, REL, BLK), ST(0, F, RLX, DEV), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "a block scope fence, a device scope flag, in a block", false,
	  { W(0, X), FE(0, REL, BLK), ST(0, F, RLX, DEV), LD(1, F, ACQ, DEV), R(1, X) } },
	{ "a block scope acquire fence", true,
	  { W(0, X), FE(0, REL, DEV), ST(0, F, RLX, DEV), LD(2, F, RLX, DEV), FE(2, ACQ, BLK),
	    R(2, X) } },
	{ "a block scope acquire fence, then a wide one", false,
	  { W(0, X), FE(0, REL, DEV), ST(0, F, RLX, DEV), LD(2, F, RLX, DEV), FE(2, ACQ, BLK),
	    FE(2, ACQ, DEV), R(2, X) } },
	{ "a wide fence, then a narrow one", false,
	  { W(0, X), FE(0, REL, DEV), FE(0, REL, BLK), ST(0, F, RLX, DEV), LD(2, F, ACQ, DEV),
	    R(2, X) } },
	{ "the narrow one knows more", true,
	  { FE(0, REL, DEV), W(0, X), FE(0, REL, BLK), ST(0, F, RLX, DEV), LD(2, F, ACQ, DEV),
	    R(2, X) } },
	{ "a device scope fence after a block scope release", false,
	  { W(0, X), FE(0, REL, SYS), ST(0, F, RLX, SYS), LD(2, F, ACQ, SYS), R(2, X) } },
	{ "a chain whose first link is of another block", true,
	  { W(0, X), ST(0, F, REL, DEV), RMW(3, F, RLX, DEV), LD(2, F, ACQ, BLK) } },
	{ "host: system scope", false,
	  { W(0, X), ST(0, F, REL, SYS), LD(4, F, ACQ, SYS), R(4, X) } },
	{ "host: device scope", true, { ST(0, F, REL, DEV), LD(4, F, ACQ, SYS) } },
	{ "host: device scope at its end", true, { ST(4, F, REL, DEV), LD(0, F, ACQ, SYS) } },
	{ "two host threads: system scope", false,
	  { W(5, X), ST(5, F, REL, SYS), LD(4, F, ACQ, SYS), R(4, X) } },
	{ "two host threads: block scope", true, { ST(5, F, REL, BLK), LD(4, F, ACQ, BLK) } },
	{ "a link that scopes break", true,
	  { W(0, X), RMW(0, F, REL, DEV), RMW(1, F, RLX, BLK), ORD(1, 2), RMW(2, F, RLX, DEV),
	    ORD(1, 3), LD(3, F, ACQ, DEV), R(3, X) } },
	{ "a read that scopes separate from the newest write", true,
	  { W(0, X), RMW(0, F, REL, DEV), RMW(1, F, RLX, BLK), ORD(1, 2), LD(2, F, ACQ, DEV),
	    R(2, X) } },

	/* Atomic and plain, sizes. */
	{ "atomic read of a plain write", true, { W(0, F), LD(1, F, ACQ, DEV) } },
	{ "plain read of an atomic write", true, { ST(0, F, REL, DEV), R(1, F) } },
	{ "plain write after an atomic read", true, { LD(0, F, RLX, DEV), W(1, F) } },
	{ "plain read and atomic read", false, { LD(0, F, RLX, DEV), R(1, F) } },
	{ "ordered: plain, then atomic", false, { W(0, F), ORD(0, 1), RMW(1, F, RLX, DEV) } },
	{ "an atomic write does not hide a plain one", true,
	  { W(0, F), ST(0, F, REL, DEV), LD(1, F, RLX, DEV) } },
	{ "but is acquired from before it counts", false,
	  { W(0, F), ST(0, F, REL, DEV), LD(1, F, ACQ, DEV) } },
	{ "all atomics must be before a plain write", true,
	  { RMW(0, F, RLX, DEV), RMW(1, F, RLX, DEV), RMW(2, F, RLX, DEV), ORD(0, 3), ORD(2, 3),
	    W(3, F) } },
	{ "all atomics are before a plain write", false,
	  { RMW(0, F, AR, DEV), RMW(1, F, AR, DEV), RMW(2, F, AR, DEV), RMW(3, F, AR, DEV),
	    W(3, F) } },
	{ "mixed size", true, { ST(0, F, REL, DEV), LD4(1, F, ACQ, DEV) } },
	{ "mixed size, the upper half", true, { ST4(0, F + 4, REL, DEV), LD(1, F, ACQ, DEV) } },
	{ "mixed size, loads", false, { LD(0, F, ACQ, DEV), LD4(1, F, ACQ, DEV) } },
	{ "two halves", false, { ST4(0, F, REL, DEV), ST4(1, F + 4, REL, DEV) } },
	{ "mixed size, two of four", true, { ST4(0, F, REL, DEV), LD2(1, F + 2, ACQ, DEV) } },
	{ "mixed size, two of eight", true, { CAS2(0, F + 6, REL, DEV), LD(1, F, ACQ, DEV) } },
	{ "two quarters", false, { ST2(0, F + 2, REL, DEV), CAS2(1, F + 4, REL, DEV) } },
	{ "a quarter and the adjacent byte", false,
	  { CAS2(0, F + 2, REL, DEV), W_(2, F + 1, 1), W_(3, F + 4, 4) } },
	{ "a quarter and one of its bytes", true, { CAS2(0, F + 2, REL, DEV), R_(2, F + 3, 1) } },
	{ "by two bytes", false,
	  { W(0, X), CAS2(0, F + 2, REL, DEV), LD2(2, F + 2, ACQ, DEV), R(2, X) } },
	{ "by two bytes and a relaxed swap", false,
	  { W(0, X), CAS2(0, F + 2, REL, DEV), CAS2(1, F + 2, RLX, DEV), LD2(2, F + 2, ACQ, DEV),
	    R(2, X) } },
	{ "by two bytes, relaxed", true,
	  { W(0, X), CAS2(0, F + 2, REL, DEV), LD2(2, F + 2, RLX, DEV), R(2, X) } },
	{ "by two other bytes", true,
	  { W(0, X), CAS2(0, F + 2, REL, DEV), LD2(2, F, ACQ, DEV), R(2, X) } },
	{ "mixed size, ordered", false, { ST(0, F, REL, DEV), ORD(0, 1), LD4(1, F, ACQ, DEV) } },
	{ "mixed size ends a release sequence", true,
	  { ORD(0, 1), W(0, X), RMW(0, F, REL, DEV), ORD(0, 1), ST4(1, F, RLX, DEV), ORD(1, 2),
	    W(1, Y), LD(2, F, ACQ, DEV), R(2, Y) } },

	/* Launches, barriers, discarded accesses. */
	{ "order", false, { W(0, X), ORD(0, 4), ORD(4, 2), W(2, X) } },
	{ "order is one way", true, { W(0, X), ORD(0, 2), W(0, Y), R(2, X), R(2, Y) } },
	{ "order is not reversed", true, { ORD(0, 2), W(2, X), R(0, X) } },
	{ "a barrier", false, { W(0, X), W(2, Y), MEETS(7), R(2, X), R(0, Y), W(1, Y + 32) } },
	{ "a barrier without the lane", true, { W(0, X), MEETS(6), R(2, X) } },
	{ "after a barrier", true, { MEETS(3), W(0, X), R(1, X) } },
	{ "two barriers", false, { W(0, X), MEETS(3), R(1, X), MEETS(3), W(0, X) } },
	{ "one barrier of two", true, { W(0, X), MEETS(3), R(1, X), W(0, X) } },
	{ "forgotten", false, { W(0, X), FORGETS(X, 8), W(1, X) } },
	{ "half of it discarded", false, { W(0, X), FORGETS(X, 4), W_(1, X, 4) } },
	{ "the other half", true, { W(0, X), FORGETS(X, 4), W_(1, X + 4, 1) } },
	{ "many bytes discarded", false,
	  { W(0, X), ST(0, F, RLX, DEV), FORGETS(X, 4096), W(1, X), W(1, F) } },
	{ "a whole table discarded", false,
	  { W(0, X), ST(0, F, RLX, DEV), W_(0, 16380, 4), FORGETS(X, 16384), W(1, X), W(1, F),
	    W_(1, 16380, 4) } },
	{ "all after the first bytes", true,
	  { W(0, X), FORGETS(4, 16384), W_(1, 4, 4), R_(1, 3, 1) } },
	{ "all before the last bytes", true,
	  { W_(0, 16380, 8), FORGETS(X, 16384), W_(1, 16380, 4), R_(1, 16384, 1) } },
	{ "all before the last bytes of a granule", true,
	  { W(0, 16376), FORGETS(X, 16380), W_(1, 16376, 4), R_(1, 16380, 1) } },
	{ "bytes after the range", true, { W(0, X), FORGETS(8, 16384), R(1, X) } },
	{ "bytes before the range", true, { W(0, 16384), FORGETS(X, 16384), R(1, 16384) } },
	{ "bytes far before the range", true, { W(0, X), FORGETS(32, 16384), R(1, X) } },
	{ "bytes far after the range", true, { W(0, 16416), FORGETS(X, 16384), R(1, 16416) } },
	{ "discarded heads", true,
	  { W(0, X), ST(0, F, REL, DEV), FORGETS(F, 8), LD(2, F, ACQ, DEV), R(2, X) } },
	{ "discarded, then new", true, { W(0, X), FORGETS(X, 8), R(1, X), W(0, X) } },
};
/* clang-format on */

static uint64_t memory[4096];

static const char *run(struct race *race, const struct step *step, const char *site)
{
	const void *where = (const char *)memory + step->at;
	enum simt_op op = step->act == LOAD    ? SIMT_LOAD
			  : step->act == STORE ? SIMT_STORE
			  : step->act == ADD   ? SIMT_ADD
					       : SIMT_CAS;
	unsigned int lanes[8], count = 0;

	switch (step->act) {
	case WRITE:
	case READ:
		return race_plain(race, step->lane, where, step->bytes, step->act == WRITE, site);
	case FENCE: race_fence(race, step->lane, step->order, step->scope); return NULL;
	case MEET:
		for (unsigned int i = 0; i < 8; i++)
			if (step->lane >> i & 1)
				lanes[count++] = i;
		race_meet(race, lanes, count);
		return NULL;
	case ORDER: race_order(race, step->lane, step->at); return NULL;
	case FORGET: race_forget(race, where, step->bytes); return NULL;
	default:
		return race_atomic(race, step->lane, where, step->bytes, op,
				   step->act == STORE || step->act == ADD, step->order, step->scope,
				   site);
	}
}

static void place(struct race *race, unsigned int first)
{
	for (unsigned int i = 0; i < 6; i++)
		race_place(race, first + i, i / 2, i >= 4);
}

static void must_be(struct race *race, const struct litmus *litmus, const char *how)
{
	unsigned int last = 0;

	while (litmus->steps[last + 1].act != END)
		last++;
	for (unsigned int i = 0; i <= last; i++) {
		const char *text = run(race, &litmus->steps[i], "here.c:1");
		bool want = litmus->races && i == last;

		ck_assert_msg(!!text == want, "%s%s: step %u: %s", litmus->name, how, i,
			      text ? text : "no race");
	}
}

START_TEST(litmus_sequence_has_expected_verdict)
{
	const struct litmus *litmus = &cases[_i];
	struct race *race = race_create(6);

	ck_assert_ptr_nonnull(race);
	place(race, 0);
	must_be(race, litmus, "");
	race_destroy(race);
}
END_TEST

/* All of them with one object: a reset leaves nothing of an earlier sequence. */
START_TEST(reset_discards_everything)
{
	struct race *race = race_create(6);

	ck_assert_ptr_nonnull(race);
	place(race, 0);
	for (unsigned int turn = 0; turn < 3; turn++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			race_reset(race);
			must_be(race, &cases[i], " after a reset");
		}
	}
	race_destroy(race);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("simt/race");
	TCase *sequences = tcase_create("sequences");
	SRunner *runner;
	int failed;

	suite_add_tcase(suite, sequences);
	tcase_add_loop_test(sequences, litmus_sequence_has_expected_verdict, 0,
			    sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(sequences, reset_discards_everything);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
