/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - the subcommands of `mam`. mam.c has the table of them.
 *
 * Each gets the arguments that follow `mam`, so argv[0] is its own name, and returns the exit
 * status.
 */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

/* Exit statuses that all subcommands share. mam.1 documents them. */
enum {
	STATUS_GOOD = 0,
	STATUS_FAILED = 1, /* the command ran, and a check that it made failed */
	STATUS_BAD = 2,    /* invalid usage or input; nothing was written */
	STATUS_NO_GPU = 77 /* the request needs a GPU, and there is none */
};

int bench_main(int argc, char **argv);
int coalesce_main(int argc, char **argv);
int ctl_main(int argc, char **argv);
int exporter_main(int argc, char **argv);
int info_main(int argc, char **argv);
int profile_main(int argc, char **argv);
int replay_main(int argc, char **argv);
int run_main(int argc, char **argv);
int share_main(int argc, char **argv);
int top_main(int argc, char **argv);

#endif
