/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - mam bench compare: what became slower between two files of results. */
#ifndef MAM_TOOLS_BENCH_COMPARE_H
#define MAM_TOOLS_BENCH_COMPARE_H

/* Returns the exit status: STATUS_FAILED if something became slower. */
int compare_results_main(int argc, char **argv);

#endif
