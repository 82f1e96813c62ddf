/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - the subcommands of `mam`. mam.c has the table of them.
 *
 * Each is called with what stands behind `mam`, so argv[0] is its own name, and returns the exit
 * status.
 */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

/* Exit statuses all subcommands share. mam.1 promises them. */
enum {
	STATUS_GOOD = 0,
	STATUS_FAILED = 1, /* it ran, and something it was to check is wrong */
	STATUS_BAD = 2,    /* bad usage or bad input; nothing was written */
	STATUS_NO_GPU = 77 /* what was asked needs a GPU, and there is none */
};

int bench_main(int argc, char **argv);
int coalesce_main(int argc, char **argv);
int info_main(int argc, char **argv);
int replay_main(int argc, char **argv);
int run_main(int argc, char **argv);

#endif
