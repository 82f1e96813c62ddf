/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_data.h - a profile in memory: the merged tree of call stacks, totals per stack, and the
 * live memory at a few hundred moments. All outputs of mam profile are made from it.
 *
 * A node is a frame below its caller, so a path from the root to a node is a call stack. A leaf is
 * a node at which stacks of allocations end; leaves may have children. Bytes and counts belong to
 * leaves. Those of a node are the sums over the leaves at and below it: profile_sum().
 *
 * Amounts are doubles because a sampled allocation represents a fraction more than itself. They are
 * multiples of 1/1024, so their sums up to 2^43 are exact; those of a profile that is not sampled
 * are integers, exact up to 2^53.
 *
 * Texts are untrusted: any bytes except NUL. Every writer has to escape them.
 */
#ifndef TOOLS_PROFILE_DATA_H
#define TOOLS_PROFILE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/names.h"

#define PROFILE_NONE UINT32_MAX
#define PROFILE_MOMENTS_MAX 512 /* limit of `moment_count` */

enum profile_kind {
	PROFILE_ROOT, /* the first frame, only of the root */
	PROFILE_TAG,  /* a tag of the program: below the root, outside all other frames */
	PROFILE_PYTHON,
	PROFILE_NATIVE,
	PROFILE_UNKNOWN /* no stack, an unknown number, or code without a symbol */
};

/* One place in the code. Equal places have one number. The texts are numbers in `names`. */
struct profile_frame {
	enum profile_kind kind;
	uint32_t function; /* its name; for unknown ones "(unknown stack)" or "libx.so+0x12a0" */
	uint32_t file;     /* source file; 0: unknown */
	uint32_t line;     /* 0: unknown */
	uint32_t module;   /* path of the loaded file; 0: unknown */
};

/* A parent has a lower number than its children. Siblings have different frames. */
struct profile_node {
	uint32_t parent; /* the caller; PROFILE_NONE for the root, which is node 0 */
	uint32_t frame;
};

struct profile_amount {
	double bytes;
	double count; /* of blocks */
};

/*
 * Times are nanoseconds since the first event, or numbers of events if the file has no times. The
 * peak is the first event after which the live bytes of all leaves have their maximum.
 */
struct profile_leaf {
	uint32_t node;                   /* each node has at most one leaf */
	struct profile_amount allocated; /* in total */
	struct profile_amount peak;      /* live at the peak of all live bytes */
	struct profile_amount exit;      /* never freed */
	double freed;                    /* count of blocks that were freed */
	double lifetime;                 /* sum over the freed blocks; their mean: / freed */
	uint64_t shortest;               /* the shortest one; UINT64_MAX: none was freed */
	double held;                     /* bytes times the time that they were live, to the end */
	/* Variances of bytes, 0 unless sampled; they add, and the square root is the error. */
	double allocated_variance, peak_variance, exit_variance;
};

/* The live memory after an event. */
struct profile_moment {
	uint64_t time;
	uint64_t event;             /* how many events had happened */
	struct profile_amount live; /* of all leaves */
	double high;                /* maximum live bytes since the previous moment */
	size_t first_change;        /* leaves that changed since the previous moment */
	uint32_t change_count;
};

/* The live memory of one leaf at a moment; unchanged until the next change of this leaf. */
struct profile_change {
	uint32_t leaf;
	struct profile_amount live;
};

/* A time in a file that has times, and otherwise; PROFILE_NO_TIME: none. */
#define PROFILE_NO_TIME UINT64_MAX
struct profile_time {
	uint64_t ns, event;
};

struct profile {
	const char *path; /* as given on the command line */
	struct names names;
	struct profile_frame *frames; /* [0]: the root */
	struct profile_node *nodes;
	struct profile_leaf *leaves;
	struct profile_moment *moments; /* in order; the last one is the end of the file */
	struct profile_change *changes; /* of all moments, in order */
	uint32_t frame_count;
	uint32_t node_count; /* at least 1 */
	uint32_t leaf_count;
	uint32_t moment_count; /* at least 1 */
	size_t change_count;
	uint32_t peak; /* number of the moment of the peak */
	uint32_t asked
		[2]; /* numbers of the moments that the caller wanted; PROFILE_NONE: it ended before */
	bool has_times;                  /* otherwise times are numbers of events */
	uint64_t events;                 /* allocations and frees */
	double sample_rate;              /* bytes; 0: every allocation was recorded */
	struct profile_amount allocated; /* in total */
};

/* Measures of a node or leaf. */
enum profile_by { PROFILE_BY_BYTES = 1, PROFILE_BY_COUNT = 2, PROFILE_BY_LIFETIME = 3 };

/* profile_live - fill live[leaf_count] with what was live at a moment. */
void profile_live(const struct profile *profile, uint32_t moment, struct profile_amount *live);

/*
 * profile_sum - fill total[node_count] with the sums at and below each node of of_leaf[leaf_count].
 */
void profile_sum(const struct profile *profile, const struct profile_amount *of_leaf,
		 struct profile_amount *total);

static inline const char *profile_text(const struct profile *profile, uint32_t name)
{
	return profile->names.texts[name];
}

#endif
