/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figures.c - the figures of `mam bench model`, after those of the random-walk paper; plot_table.c
 * has those of all others.
 */
#include "bench/plot_table.h"

/* mam bench model. Values by equations are drawn as dashed lines. */
static const struct plot_drawn modelled[] = {
	{ "mam", "mam", { "mam-pages" }, NULL },
	{ "mam, (11) of 64", "mam dash", { "mam-pages-formula" }, NULL },
	{ "CoRW", "torch", { "corw" }, NULL },
	{ "CoRW, (11)", "torch dash", { "corw-formula" }, NULL },
	{ "RW-BM", "jemalloc", { "rw-bm" }, NULL },
	{ "RW-BM, (5), (6)", "jemalloc dash", { "rw-bm-formula" }, NULL },
	{ "RW", "rmm", { "rw" }, NULL },
	{ "RW, (3), (4)", "rmm dash", { "rw-formula" }, NULL },
	{ "queue", "other", { "queue" }, NULL },
	{ "queue, (1), (2)", "other dash", { "queue-formula" }, NULL },
};

static const struct plot_drawn remembering[] = {
	{ "CRW", "async", { "crw" }, NULL },
	{ "CRW, (14), (6)", "async dash", { "crw-formula" }, NULL },
	{ "CRW, host's walk", "plain dash", { "crw-simulated" }, NULL },
	{ "RW-BM", "jemalloc", { "rw-bm" }, NULL },
	{ "RW-BM, (5), (6)", "jemalloc dash", { "rw-bm-formula" }, NULL },
	{ "RW", "rmm", { "rw" }, NULL },
	{ "RW, (3), (4)", "rmm dash", { "rw-formula" }, NULL },
	{ "RW, host's walk", "mimalloc dash", { "rw-simulated" }, NULL },
};

static const struct plot_drawn measured[] = {
	{ "measured", "mam", { "measured", "atomic" }, NULL },
	{ "equations", "mam dash", { "formula" }, NULL },
	{ "in whole steps", "plain dash", { "whole" }, NULL },
};

/* Where there is no equation. */
static const struct plot_drawn askers[] = {
	{ "mam", "mam", { "mam-pages" }, NULL }, { "CoRW", "torch", { "corw" }, NULL },
	{ "CRW", "async", { "crw" }, NULL },     { "RW-BM", "jemalloc", { "rw-bm" }, NULL },
	{ "RW", "rmm", { "rw" }, NULL },         { "RW_malloc", "torch", { "rw-malloc" }, "corw" },
	{ "queue", "other", { "queue" }, NULL }, { "CUDA malloc", "cuda", { "cuda-malloc" }, NULL },
};

/* clang-format off */
#define THREADS(share)                                                                    \
	{ "1000000 " share " 500",  "1000000 " share " 1000", "1000000 " share " 2000",        \
	  "1000000 " share " 3000", "1000000 " share " 4000", "1000000 " share " 5000" }
/* clang-format on */
#define SHORT_THREADS                               \
	{                                           \
		"500", "1k", "2k", "3k", "4k", "5k" \
	}
/* clang-format off */
#define ENOUGH                                                                            \
	{ { "50% free", METRIC, NULL, THREADS("50%"), SHORT_THREADS },                         \
	  { "10% free", METRIC, NULL, THREADS("10%"), SHORT_THREADS },                         \
	  { "1% free", METRIC, NULL, THREADS("1%"), SHORT_THREADS } }
/* clang-format on */
/* clang-format off */
#define SCARCE                                                                            \
	{ { "0.7% free", METRIC, NULL, THREADS("0.7%"), SHORT_THREADS },                       \
	  { "0.5% free", METRIC, NULL, THREADS("0.5%"), SHORT_THREADS } }
/* clang-format on */
#define SOME_LANES(share)                                                           \
	{                                                                           \
		"1000000 " share " 156 x1", "1000000 " share " 624 x4",             \
			"1000000 " share " 1248 x8", "1000000 " share " 2496 x16",  \
			"1000000 " share " 3120 x20", "1000000 " share " 3744 x24", \
			"1000000 " share " 4368 x28", "1000000 " share " 4992 x32"  \
	}
#define SHORT_SOME_LANES                                    \
	{                                                   \
		"1", "4", "8", "16", "20", "24", "28", "32" \
	}
#define CLUSTERS(share)                                                \
	{                                                              \
		share " /100 1000", share " /2 1000", share " /1 1000" \
	}
#define SHORT_CLUSTERS             \
	{                          \
		".01A", ".5A", "A" \
	}
#define REMEMBER(share)                                            \
	{                                                          \
		share " /1 250", share " /1 500", share " /1 1000" \
	}
#define SHORT_REMEMBER             \
	{                          \
		"250", "500", "1k" \
	}
/* clang-format off */
#define DEVIATIONS(share)                                                                 \
	{ share " -3", share " -2", share " -1", share " 0", share " 1", share " 2", share " 3" }
/* clang-format on */
#define SHORT_DEVIATIONS                             \
	{                                            \
		"-3", "-2", "-1", "0", "1", "2", "3" \
	}
/* clang-format off */
#define SCENARIOS(askers)                                                                 \
	{ "4M 100% " askers " 4096B+free", "4M 100% " askers " 4096B", "4M 100% " askers " 4100B", \
	  "4M 100% " askers " 8192B", "4M 100% " askers " 4..8192B" }
/* clang-format on */
#define SHORT_SCENARIOS                                \
	{                                              \
		"4096*", "4096", "4100", "8192", "mix" \
	}
#define SEVEN(share)                                                                    \
	{                                                                               \
		"4M " share " 1K 16B", "4M " share " 1K 256B", "4M " share " 1K 1024B", \
			"4M " share " 1K 4096B", "4M " share " 1K 8192B",               \
			"4M " share " 1K 4..8192B", "4M " share " 1K 4096B+free"        \
	}
#define SHORT_SEVEN                                         \
	{                                                   \
		"16", "256", "1K", "4K", "8K", "mix", "4K*" \
	}
#define MANY(share)                                                           \
	{                                                                     \
		"32M " share " 16K", "32M " share " 128K", "32M " share " 1M" \
	}
#define SHORT_MANY                  \
	{                           \
		"16K", "128K", "1M" \
	}

/* clang-format off */
#define FEW_GIVES(share)                                                                  \
	{ share " 500", share " 1000", share " 2000", share " 3000", share " 4000", share " 5000" }
/* clang-format on */
#define GIVES(share)                                                                      \
	{                                                                                 \
		share " 500", share " 1000", share " 2000", share " 3000", share " 4000", \
			share " 5000", share " 125K"                                      \
	}
#define SHORT_GIVES                                         \
	{                                                   \
		"500", "1k", "2k", "3k", "4k", "5k", "125K" \
	}

const struct plot_figure plot_model_figures[] = {
	{ "model-atomic.svg",
	  "Atomics of many threads on one word",
	  "mean of a thread's; after figure 1 of the random-walk paper; less is better",
	  "clocks; nanoseconds",
	  "threads",
	  "model-atomic",
	  measured,
	  sizeof(measured) / sizeof(measured[0]),
	  { { "clocks",
	      "clocks",
	      NULL,
	      { "1", "32", "128", "512", "2K", "8K", "16K", "32K", "64K", "128K" },
	      { NULL } },
	    { "ns",
	      "ns",
	      NULL,
	      { "1", "32", "128", "512", "2K", "8K", "16K", "32K", "64K", "128K" },
	      { NULL } } } },
	{ "model-scenarios.svg",
	  "Five ways to ask for memory in a kernel",
	  "4096*: freed at once; after figure 2 of the random-walk paper; less is better",
	  "microseconds of the kernel",
	  "bytes that each thread asks for",
	  "model-malloc",
	  askers,
	  sizeof(askers) / sizeof(askers[0]),
	  { { "1K ask", "us", NULL, SCENARIOS("1K"), SHORT_SCENARIOS },
	    { "16K ask", "us", NULL, SCENARIOS("16K"), SHORT_SCENARIOS } } },
#define METRIC "tas"
	{ "model-tas.svg", "Steps of a thread until it has a page (TAS)",
	  "a million pages; after figures 4 and 11 of the random-walk paper; less is better",
	  "steps", "threads that ask", "model-get", modelled,
	  sizeof(modelled) / sizeof(modelled[0]), ENOUGH },
#undef METRIC
#define METRIC "tas"
	{ "model-tas-low.svg", "Steps of a thread until it has a page (TAS)",
	  "a million pages; after figures 4 and 11 of the random-walk paper; less is better",
	  "steps", "threads that ask", "model-get", modelled,
	  sizeof(modelled) / sizeof(modelled[0]), SCARCE },
#undef METRIC
#define METRIC "was"
	{ "model-was.svg", "Steps of the slowest thread of a warp (WAS)",
	  "a million pages; after figures 4 and 11 of the random-walk paper; less is better",
	  "steps", "threads that ask", "model-get", modelled,
	  sizeof(modelled) / sizeof(modelled[0]), ENOUGH },
#undef METRIC
#define METRIC "was"
	{ "model-was-low.svg", "Steps of the slowest thread of a warp (WAS)",
	  "a million pages; after figures 4 and 11 of the random-walk paper; less is better",
	  "steps", "threads that ask", "model-get", modelled,
	  sizeof(modelled) / sizeof(modelled[0]), SCARCE },
#undef METRIC
#define METRIC "us"
	{ "model-time.svg", "Time of a kernel in which each thread takes a page",
	  "a million pages; after figure 11 of the random-walk paper; less is better",
	  "microseconds", "threads that ask", "model-get", modelled,
	  sizeof(modelled) / sizeof(modelled[0]), ENOUGH },
#undef METRIC
#define METRIC "us"
	{ "model-time-low.svg", "Time of a kernel in which each thread takes a page",
	  "a million pages; after figure 11 of the random-walk paper; less is better",
	  "microseconds", "threads that ask", "model-get", modelled,
	  sizeof(modelled) / sizeof(modelled[0]), SCARCE },
#undef METRIC
	{ "model-large.svg",
	  "The same with more threads",
	  "32 million pages; less is better",
	  "microseconds",
	  "threads that ask",
	  "model-get",
	  modelled,
	  sizeof(modelled) / sizeof(modelled[0]),
	  { { "50% free", "us", NULL, MANY("50%"), SHORT_MANY },
	    { "10% free", "us", NULL, MANY("10%"), SHORT_MANY },
	    { "1% free", "us", NULL, { "32M 1% 16K", "32M 1% 128K" }, SHORT_MANY } } },
	{ "model-ratio.svg",
	  "How many times more steps RW-BM needs than CoRW",
	  "WAS, 5,000 threads, a million pages; after figure 5 of the random-walk paper",
	  "times",
	  "per cent of all pages free",
	  "model-ratio",
	  measured,
	  sizeof(measured) / sizeof(measured[0]),
	  { { NULL,
	      "times",
	      NULL,
	      { "1000000 50% 5000", "1000000 20% 5000", "1000000 10% 5000", "1000000 5% 5000",
		"1000000 2% 5000", "1000000 1% 5000", "1000000 0.8% 5000", "1000000 0.7% 5000",
		"1000000 0.5% 5000" },
	      { "50", "20", "10", "5", "2", "1", "0.8", "0.7", "0.5" } } } },
	{ "model-found.svg",
	  "Free pages that a warp sees in one step",
	  "10,000 warps, and a normal number; after figure 6 of the random-walk paper",
	  "share of warps",
	  "standard deviations from the mean of (9)",
	  "model-found",
	  measured,
	  sizeof(measured) / sizeof(measured[0]),
	  { { "10% free", "share", NULL, DEVIATIONS("10%"), SHORT_DEVIATIONS },
	    { "5% free", "share", NULL, DEVIATIONS("5%"), SHORT_DEVIATIONS },
	    { "1% free", "share", NULL, DEVIATIONS("1%"), SHORT_DEVIATIONS } } },
	{ "model-clusters.svg",
	  "Steps of a thread that remembers its last page (TAS)",
	  "1,000 threads, their later pages; after figure 8 of the random-walk paper; less is "
	  "better",
	  "steps",
	  "clusters of free pages, of A free ones",
	  "model-again",
	  remembering,
	  sizeof(remembering) / sizeof(remembering[0]),
	  { { "10% free", "tas", NULL, CLUSTERS("10%"), SHORT_CLUSTERS },
	    { "1% free", "tas", NULL, CLUSTERS("1%"), SHORT_CLUSTERS },
	    { "0.5% free", "tas", NULL, CLUSTERS("0.5%"), SHORT_CLUSTERS } } },
	{ "model-again.svg",
	  "The same of a warp's slowest thread (WAS)",
	  "free pages as chance has them; after figure 9 of the random-walk paper; less is better",
	  "steps",
	  "threads that ask",
	  "model-again",
	  remembering,
	  sizeof(remembering) / sizeof(remembering[0]),
	  { { "10% free", "was", NULL, REMEMBER("10%"), SHORT_REMEMBER },
	    { "1% free", "was", NULL, REMEMBER("1%"), SHORT_REMEMBER },
	    { "0.5% free", "was", NULL, REMEMBER("0.5%"), SHORT_REMEMBER } } },
	{ "model-lanes.svg",
	  "Some asking lanes in each of 156 warps",
	  "a million pages; after figures 12 and 13 of the random-walk paper; less is better",
	  "microseconds of the kernel",
	  "lanes of a warp that ask",
	  "model-lanes",
	  askers,
	  sizeof(askers) / sizeof(askers[0]),
	  { { "5% free", "us", NULL, SOME_LANES("5%"), SHORT_SOME_LANES },
	    { "1% free", "us", NULL, SOME_LANES("1%"), SHORT_SOME_LANES },
	    { "0.5% free", "us", NULL, SOME_LANES("0.5%"), SHORT_SOME_LANES } } },
	{ "model-malloc.svg",
	  "Several pages at once",
	  "1K threads; 4K*: freed at once; after figure 14 of the random-walk paper; less is "
	  "better",
	  "microseconds of the kernel",
	  "bytes that each asks for",
	  "model-malloc",
	  askers,
	  sizeof(askers) / sizeof(askers[0]),
	  { { "50% free", "us", NULL, SEVEN("50%"), SHORT_SEVEN },
	    { "10% free", "us", NULL, SEVEN("10%"), SHORT_SEVEN },
	    { "1% free", "us", NULL, SEVEN("1%"), SHORT_SEVEN } } },
	{ "model-use.svg",
	  "Memory in use when one of a hundred gets none",
	  "pages of 256 bytes; after figure 15 of the random-walk paper; more is better",
	  "share of all bytes",
	  "bytes that each asks for",
	  "model-use",
	  askers,
	  sizeof(askers) / sizeof(askers[0]),
	  { { NULL,
	      "used_ratio",
	      NULL,
	      { "256B", "512B", "1024B", "1050B", "2048B", "4096B", "4100B", "8192B" },
	      { NULL } } } },
	{ "model-give.svg",
	  "Clocks of a thread that frees a page",
	  "a million pages; after figure 16 of the random-walk paper; less is better",
	  "clocks",
	  "threads that free",
	  "model-give",
	  askers,
	  sizeof(askers) / sizeof(askers[0]),
	  { { "50% free", "clocks", NULL, GIVES("50%"), SHORT_GIVES },
	    { "1% free", "clocks", NULL, FEW_GIVES("1%"), SHORT_GIVES } } },
};

const size_t plot_model_figure_count = sizeof(plot_model_figures) / sizeof(plot_model_figures[0]);
