/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot_table.c - which pictures of lines there are, of which rows, and who is drawn as what.
 *
 * An allocator has the same colour in all. Of a driver's and of others' the row that a program
 * would meet is taken; the processor's own are there for a floor.
 */
#include "plot_table.h"

static const struct plot_drawn everybody[] = {
	{ "mam", "mam", { "mam-cudamalloc-cache", "mam-host-cache", "mam-host" }, NULL },
	{ "mam, no caches", "plain", { "mam-cudamalloc", "mam-host" }, NULL },
	{ "RMM pool", "rmm", { "rmm-pool" }, NULL },
	{ "PyTorch's cache", "torch", { "torch" }, NULL },
	{ "cudaMallocAsync", "async", { "cudaMallocAsync-warm", "cudaMallocAsync" }, NULL },
	{ "cudaMalloc", "cuda", { "cudaMalloc" }, NULL },
	{ "glibc (CPU)", "other", { "glibc" }, NULL },
	{ "jemalloc (CPU)", "jemalloc", { "jemalloc" }, "cudaMalloc" },
	{ "mimalloc (CPU)", "mimalloc", { "mimalloc" }, "cudaMalloc" },
};

/* Where the pool's own books are measured, without caches. */
static const struct plot_drawn bookkeepers[] = {
	{ "mam", "mam", { "mam-cudamalloc", "mam-host" }, NULL },
	{ "mam, host memory", "plain", { "mam-host" }, NULL },
	{ "RMM pool", "rmm", { "rmm-pool" }, NULL },
	{ "PyTorch's cache", "torch", { "torch" }, NULL },
	{ "cudaMallocAsync", "async", { "cudaMallocAsync-warm", "cudaMallocAsync" }, NULL },
	{ "cudaMalloc", "cuda", { "cudaMalloc" }, NULL },
	{ "glibc (CPU)", "other", { "glibc" }, NULL },
	{ "jemalloc (CPU)", "jemalloc", { "jemalloc" }, "cudaMalloc" },
	{ "mimalloc (CPU)", "mimalloc", { "mimalloc" }, "cudaMalloc" },
};

const struct plot_drawn plot_holders[] = {
	{ "mam, mapped", "mam", { "mam-vmm-cache", "mam-vmm" }, NULL },
	{ "mam, simulated", "mam", { "mam-vmm-simulated", "mam-simulated-cache" }, "mam-vmm" },
	{ "mam, chunks", "plain", { "mam-cudamalloc-cache", "mam-cudamalloc", "mam-host-cache" }, NULL },
	{ "cudaMallocAsync", "async", { "cudaMallocAsync" }, NULL },
	{ "PyTorch, expandable", "torch", { "torch-expandable" }, NULL },
	{ "PyTorch", "torch", { "torch" }, NULL },
	{ "RMM pool, growing", "rmm", { "rmm-pool-grow" }, NULL },
};

#define SIZES                                                                                 \
	{                                                                                     \
		"1B", "8B", "64B", "512B", "4KiB", "32KiB", "256KiB", "2MiB", "16MiB", "128MiB" \
	}
#define COUNTS                                                                            \
	{                                                                                 \
		"10", "100", "1000", "10000", "100000", "1000000", "10000000" \
	}
#define HOLES                                                               \
	{                                                                   \
		"10", "100", "1000", "10000", "100000", "1000000" \
	}
#define SHORT_COUNTS                                       \
	{                                                  \
		"10", "100", "1k", "10k", "100k", "1M", "10M" \
	}
#define LARGEST                                           \
	{                                                 \
		"1", "4", "64", "1024", "4096" \
	}
#define QUANTILES                                      \
	{                                              \
		"50%", "90%", "99%", "99.9%", "max" \
	}

const struct plot_figure plot_figures[] = {
	{ "latency.svg",
	  "What a pair of alloc and free costs",
	  "nanoseconds, one thread, small heap; less is better",
	  "ns a pair",
	  "size of the block",
	  "pair",
	  everybody,
	  sizeof(everybody) / sizeof(everybody[0]),
	  { { NULL, "pair_ns", NULL, { "256B", "1MiB", "16MiB", "1GiB" }, { NULL } } } },
	{ "threads.svg",
	  "Threads on one pool",
	  "million operations a second, 256 B to 1 MiB; more is better",
	  "million operations/s",
	  "threads",
	  "threads",
	  everybody,
	  sizeof(everybody) / sizeof(everybody[0]),
	  { { NULL, "mops", NULL, { "1", "2", "4", "8", "16" }, { NULL } } } },
	{ "live.svg",
	  "An operation when many blocks are live",
	  "medians, blocks of 1 to 10 B; after figure 10 of the MAM paper; less is better",
	  "ns an operation",
	  "live blocks",
	  "live",
	  bookkeepers,
	  sizeof(bookkeepers) / sizeof(bookkeepers[0]),
	  { { "alloc", "alloc_ns", NULL, COUNTS, SHORT_COUNTS },
	    { "free", "free_ns", NULL, COUNTS, SHORT_COUNTS } } },
	{ "holes.svg",
	  "An operation when there are as many holes as blocks",
	  "medians, blocks and holes of 512 B to 16 KiB; less is better",
	  "ns an operation",
	  "live blocks, and holes",
	  "holes",
	  bookkeepers,
	  sizeof(bookkeepers) / sizeof(bookkeepers[0]),
	  { { "alloc", "alloc_ns", NULL, HOLES, SHORT_COUNTS },
	    { "free", "free_ns", NULL, HOLES, SHORT_COUNTS } } },
	{ "percentiles.svg",
	  "How long the slow operations take",
	  "single operations, 256 B to 16 MiB; growth apart where a heap tells it; less is better",
	  "ns an operation",
	  "so many of the operations took at most that",
	  "latency",
	  everybody,
	  sizeof(everybody) / sizeof(everybody[0]),
	  { { "alloc",
	      NULL,
	      "mixed",
	      { "alloc_p50_ns", "alloc_p90_ns", "alloc_p99_ns", "alloc_p999_ns", "alloc_max_ns" },
	      QUANTILES },
	    { "free",
	      NULL,
	      "mixed",
	      { "free_p50_ns", "free_p90_ns", "free_p99_ns", "free_p999_ns", "free_max_ns" },
	      QUANTILES } } },
	{ "random.svg",
	  "Random sizes, RMM's benchmark",
	  "nanoseconds an operation, up to 16,000 MiB live; less is better",
	  "ns an operation",
	  "largest size in MiB; sizes are uniform from 1 B",
	  "random",
	  everybody,
	  sizeof(everybody) / sizeof(everybody[0]),
	  { { "1,000 blocks",
	      "op_ns",
	      NULL,
	      { "1000,1MiB", "1000,4MiB", "1000,64MiB", "1000,1GiB", "1000,4GiB" },
	      LARGEST },
	    { "10,000 blocks",
	      "op_ns",
	      NULL,
	      { "10000,1MiB", "10000,4MiB", "10000,64MiB", "10000,1GiB", "10000,4GiB" },
	      LARGEST },
	    { "100,000 blocks",
	      "op_ns",
	      NULL,
	      { "100000,1MiB", "100000,4MiB", "100000,64MiB", "100000,1GiB", "100000,4GiB" },
	      LARGEST } } },
	{ "sizes.svg",
	  "Random sizes until all memory is taken",
	  "medians of a range of sizes; after figures 1, 8 and 9 of the MAM paper; less is better",
	  "ns an operation",
	  "size, from",
	  "fill",
	  everybody,
	  sizeof(everybody) / sizeof(everybody[0]),
	  { { "alloc", "alloc_ns", NULL, SIZES, { NULL } },
	    { "free", "free_ns", NULL, SIZES, { NULL } } } },
};

const size_t plot_line_figures = sizeof(plot_figures) / sizeof(plot_figures[0]);
const size_t plot_holder_count = sizeof(plot_holders) / sizeof(plot_holders[0]);
