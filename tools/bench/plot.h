/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot.h - figures of results: plots/plot.py draws them, with Python and matplotlib.
 */
#ifndef MAM_TOOLS_BENCH_PLOT_H
#define MAM_TOOLS_BENCH_PLOT_H

struct bench_machine;
struct bench_results;

/* mam bench plot */
int plot_main(int argc, char **argv);
/*
 * plot_check - before a measurement: can `path`, the argument of --plot, be written, and figures be
 * drawn? Returns an exit status after reporting errors.
 */
int plot_check(const char *path);
/*
 * plot_results - write all figures of the current measurements into one file; returns an exit
 * status after reporting errors
 */
int plot_results(const char *path, const struct bench_results *results,
		 const struct bench_machine *machine);

#endif
