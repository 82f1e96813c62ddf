/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case_figures.c - the figures of `mam bench case`, after the random-walk paper's figures 17 and
 * 18; plot_table.c has those of all others.
 */
#include "bench/plot_table.h"

/* mam bench case. */
static const struct plot_drawn cases[] = {
	{ "mam_kmalloc", "mam", { "mam_kmalloc" }, NULL },
	{ "mam's pages", "plain", { "mam-pages" }, NULL },
	{ "CoRW", "torch", { "corw" }, NULL },
	{ "RW", "rmm", { "rw" }, NULL },
	{ "two passes", "mimalloc dash", { "two-pass" }, NULL },
	{ "few counters", "async dash", { "two-pass-compact" }, NULL },
	{ "CUDA malloc", "cuda", { "cuda-malloc" }, NULL },
};

#define CASE_JOIN(share)                                                                           \
	{                                                                                          \
		"16K " share, "64K " share, "256K " share, "1M " share, "4M " share, "16M " share, \
			"64M " share                                                               \
	}
#define CASE_JOIN_SHORT                                        \
	{                                                      \
		"16K", "64K", "256K", "1M", "4M", "16M", "64M" \
	}
#define CASE_GROUP(share)                                                          \
	{                                                                          \
		"64K " share, "1M " share, "4M " share, "10M " share, "64M " share \
	}
#define CASE_GROUP_SHORT                        \
	{                                       \
		"64K", "1M", "4M", "10M", "64M" \
	}

const struct plot_figure plot_case_figures[] = {
	{ "case-join.svg",
	  "A hash join",
	  "two tables of so many tuples, by the share of the heap that is free; after figure 17; "
	  "less is better",
	  "microseconds of kernels",
	  "tuples in each table",
	  "case-join",
	  cases,
	  sizeof(cases) / sizeof(cases[0]),
	  { { "all free", "us", NULL, CASE_JOIN("100%"), CASE_JOIN_SHORT },
	    { "50% free", "us", NULL, CASE_JOIN("50%"), CASE_JOIN_SHORT },
	    { "5% free", "us", NULL, CASE_JOIN("5%"), CASE_JOIN_SHORT } } },
	{ "case-join-memory.svg",
	  "Peak memory of a hash join",
	  "without its inputs; less is better",
	  "MiB",
	  "tuples in each table",
	  "case-join",
	  cases,
	  sizeof(cases) / sizeof(cases[0]),
	  { { "all free", "peak_mib", NULL, CASE_JOIN("100%"), CASE_JOIN_SHORT },
	    { "50% free", "peak_mib", NULL, CASE_JOIN("50%"), CASE_JOIN_SHORT },
	    { "5% free", "peak_mib", NULL, CASE_JOIN("5%"), CASE_JOIN_SHORT } } },
	{ "case-group.svg",
	  "A group-by",
	  "Gaussian keys of 32 bits, by the share of the heap that is free; after figure 18; less "
	  "is better",
	  "microseconds of kernels",
	  "keys",
	  "case-group",
	  cases,
	  sizeof(cases) / sizeof(cases[0]),
	  { { "all free", "us", NULL, CASE_GROUP("100%"), CASE_GROUP_SHORT },
	    { "50% free", "us", NULL, CASE_GROUP("50%"), CASE_GROUP_SHORT },
	    { "5% free", "us", NULL, CASE_GROUP("5%"), CASE_GROUP_SHORT } } },
	{ "case-group-memory.svg",
	  "Peak memory of a group-by",
	  "without its inputs; less is better",
	  "MiB",
	  "keys",
	  "case-group",
	  cases,
	  sizeof(cases) / sizeof(cases[0]),
	  { { "all free", "peak_mib", NULL, CASE_GROUP("100%"), CASE_GROUP_SHORT },
	    { "50% free", "peak_mib", NULL, CASE_GROUP("50%"), CASE_GROUP_SHORT },
	    { "5% free", "peak_mib", NULL, CASE_GROUP("5%"), CASE_GROUP_SHORT } } },
};

const size_t plot_case_figure_count = sizeof(plot_case_figures) / sizeof(plot_case_figures[0]);
