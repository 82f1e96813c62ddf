/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join_job.h - the job fields that the kernels of a hash join use, besides got and more (the tables
 * R and S), askers (rows of each) and least (bytes of a page).
 */
#ifndef MAM_TOOLS_BENCH_CASES_JOIN_JOB_H
#define MAM_TOOLS_BENCH_CASES_JOIN_JOB_H

#define JOIN_KIND(job) ((job)->seed & 255)  /* an enum join_kind */
#define JOIN_BLOCKS(job) ((job)->seed >> 8) /* that share a partition when it is split again */
#define JOIN_SEED(kind, blocks) ((kind) | (blocks) << 8)
#define JOIN_TOTAL count  /* number of partitions */
#define JOIN_SHIFT max    /* 2^shift of them share an upper one; 0: there are no upper ones */
#define JOIN_FIRST rounds /* of a range of partitions */
#define JOIN_LAST lanes   /* one past the last */

/*
 * Of one pass: addresses of the lists' words, which are contiguous, starting with the upper lists.
 */
#define JOIN_UPPER own[0]
#define JOIN_LOWER own[1]
#define JOIN_RESULTS own[2]
#define JOIN_DIRECT own[3]    /* words for pages of an upper list; of a lower one, times 2^32 */
#define JOIN_RESULT_LISTS low /* words for pages of a list of results; lists, times 2^32 */

/*
 * Of two passes: got and more are the input, JOIN_R_TO and JOIN_S_TO the output, of the tables from
 * JOIN_TABLE to below JOIN_TABLES. JOIN_COUNTS and JOIN_BOUNDS have one counter per partition and
 * one more for each table.
 */
#define JOIN_AGAIN(job) ((job)->flags >> 8) /* as JOIN_SHIFT, of the input; 0: it is one table */
#define JOIN_AGAIN_FLAGS(shift) ((shift) << 8)
#define JOIN_TABLE rounds
#define JOIN_TABLES lanes
#define JOIN_R_TO map
#define JOIN_S_TO low
#define JOIN_COUNTS numbers
#define JOIN_BOUNDS own[0] /* where partitions begin in the output */
#define JOIN_WITHIN own[1] /* the same for the input; 0: it is one */
#define JOIN_ROWS own[2]   /* a partition's rows; then where they go */
#define JOIN_OUT own[3]    /* the results; 0: they are counted */
#define JOIN_OUT_ROWS high

#endif
