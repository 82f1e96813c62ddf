/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join_job.h - which fields of a job say what to the kernels of a hash join, beside got and more (the
 * tables R and S), askers (rows of each) and least (bytes of a page).
 */
#ifndef MAM_TOOLS_BENCH_CASES_JOIN_JOB_H
#define MAM_TOOLS_BENCH_CASES_JOIN_JOB_H

#define JOIN_KIND(job) ((job)->seed & 255) /* an enum join_kind */
#define JOIN_BLOCKS(job) \
	((job)->seed >> 8) /* that a partition is shared by when it is split again */
#define JOIN_SEED(kind, blocks) ((kind) | (blocks) << 8)
#define JOIN_TOTAL count  /* partitions that there are */
#define JOIN_SHIFT most   /* 2^shift of them share an upper one; 0: there are no upper ones */
#define JOIN_FIRST rounds /* of a range of partitions */
#define JOIN_LAST lanes   /* behind the last one */

/* Of one pass: addresses of the lists' words, which lie behind each other from the upper ones on. */
#define JOIN_UPPER own[0]
#define JOIN_LOWER own[1]
#define JOIN_RESULTS own[2]
#define JOIN_DIRECT own[3]    /* words of pages of an upper list; of a lower one, by 2^32 */
#define JOIN_RESULT_LISTS low /* words of pages of a list of results; lists, by 2^32 */

/*
 * Of two passes: got and more are what is read, JOIN_R_TO and JOIN_S_TO what is written, of the tables from
 * JOIN_TABLE to below JOIN_TABLES. For each table stand in JOIN_COUNTS and JOIN_BOUNDS as many counters as there
 * are partitions, and one more.
 */
#define JOIN_AGAIN(job) ((job)->flags >> 8) /* as JOIN_SHIFT, of what is read; 0: it is one table */
#define JOIN_AGAIN_FLAGS(shift) ((shift) << 8)
#define JOIN_TABLE rounds
#define JOIN_TABLES lanes
#define JOIN_R_TO map
#define JOIN_S_TO low
#define JOIN_COUNTS numbers
#define JOIN_BOUNDS own[0] /* where partitions begin, of what is written */
#define JOIN_WITHIN own[1] /* the same of what is read; 0: it is one */
#define JOIN_ROWS own[2]   /* a partition's rows; then where they go */
#define JOIN_OUT own[3]    /* the results; 0: they are counted */
#define JOIN_OUT_ROWS high

#endif
