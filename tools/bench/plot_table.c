/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot_table.c - the table of line figures: their rows, and the allocators in them with labels and
 * colors.
 *
 * An allocator has the same color in all. Of the driver's and of other allocators, the row that a
 * program would typically use is drawn; the CPU's own are a lower bound.
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

/* Where the pool's own metadata is measured, without caches. */
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

/* clang-format off */
const struct plot_drawn plot_holders[] = {
	{ "mam, mapped", "mam", { "mam-vmm-cache", "mam-vmm" }, NULL },
	{ "mam, simulated", "mam", { "mam-vmm-simulated", "mam-simulated-cache" }, "mam-vmm" },
	{ "mam, chunks", "plain", { "mam-cudamalloc-cache", "mam-cudamalloc", "mam-host-cache" }, NULL },
	{ "cudaMallocAsync", "async", { "cudaMallocAsync" }, NULL },
	{ "PyTorch, expandable", "torch", { "torch-expandable" }, NULL },
	{ "PyTorch", "torch", { "torch" }, NULL },
	{ "RMM pool, growing", "rmm", { "rmm-pool-grow" }, NULL },
};
/* clang-format on */

/* mam bench pages. A formula has the color of the measurement, as a dashed line. */
static const struct plot_drawn pagers[] = {
	{ "mam", "mam", { "mam-pages" }, NULL },
	{ "CoRW", "torch", { "corw" }, NULL },
	{ "CRW", "async", { "crw" }, NULL },
	{ "RW-BM", "jemalloc", { "rw-bm" }, NULL },
	{ "RW", "rmm", { "rw" }, NULL },
	{ "RW_malloc", "torch", { "rw-malloc" }, "corw" },
	{ "queue", "other", { "queue" }, NULL },
	{ "CUDA malloc", "cuda", { "cuda-malloc" }, NULL },
	{ "counter", "plain dash", { "bump" }, NULL },
	{ "counter, a warp", "mimalloc dash", { "bumpw" }, NULL },
};

static const struct plot_drawn walkers[] = {
	{ "mam", "mam", { "mam-pages" }, NULL },
	{ "CoRW", "torch", { "corw" }, NULL },
	{ "CoRW, formula", "torch dash", { "corw-formula" }, NULL },
	{ "CRW", "async", { "crw" }, NULL },
	{ "CRW, formula", "async dash", { "crw-formula" }, NULL },
	{ "RW-BM", "jemalloc", { "rw-bm" }, NULL },
	{ "RW-BM, formula", "jemalloc dash", { "rw-bm-formula" }, NULL },
	{ "RW", "rmm", { "rw" }, NULL },
	{ "RW, formula", "rmm dash", { "rw-formula" }, NULL },
	{ "queue", "other", { "queue" }, NULL },
	{ "queue, formula", "other dash", { "queue-formula" }, NULL },
};

/* mam bench device. */
static const struct plot_drawn mallocs[] = {
	{ "mam", "mam", { "mam" }, NULL },
	{ "CoRW, one size", "torch", { "corw" }, NULL },
	{ "CRW, one size", "async", { "crw" }, NULL },
	{ "RW, one size", "rmm", { "rw" }, NULL },
	{ "RW_malloc", "jemalloc", { "rw-malloc" }, NULL },
	{ "CUDA malloc", "cuda", { "cuda-malloc" }, NULL },
	{ "counter", "plain dash", { "bump" }, NULL },
	{ "counter, a warp", "mimalloc dash", { "bumpw" }, NULL },
};

/* mam bench kma. */
static const struct plot_drawn superblocks[] = {
	{ "KMA", "mam", { "kma" }, NULL },
	{ "KMA, OpenCL", "async", { "kma-opencl" }, NULL },
	{ "mam_kmalloc", "plain", { "mam_kmalloc" }, NULL },
	{ "CUDA malloc", "cuda", { "cuda" }, NULL },
	{ "poor man's", "mimalloc", { "poor" }, NULL },
	{ "poor man's, OpenCL", "jemalloc", { "poor-opencl" }, NULL },
	{ "KMA, 2014", "mam dash", { "published" }, NULL },
	{ "CUDA, 2014", "cuda dash", { "published-cuda" }, NULL },
	{ "poor man's, 2014", "mimalloc dash", { "published-poor" }, NULL },
};

#define SHAPES                                                                             \
	{                                                                                  \
		"64B 256x1", "64B 32x8", "64B 16x16", "64B 8x8x4", "64B 64x4", "64B 48x4", \
			"64B 40x6", "64B 100x2", "64B 33x3", "64B 256x1 in 1x4096",        \
			"64B 16x16 in 64x64", "64B 8x8x4 in 16x16x16"                      \
	}
#define SHORT_SHAPES                                                                        \
	{                                                                                   \
		"256x1", "32x8", "16x16", "8x8x4", "64x4", "48x4", "40x6", "100x2", "33x3", \
			"1x4096", "64x64", "16x16x16"                                       \
	}

#define KMA_LANES(what)                                                                          \
	{                                                                                        \
		what " 384", what " 1536", what " 4608", what " 16K", what " 64K", what " 256K", \
			what " 1M"                                                               \
	}
#define KMA_SHORT_LANES                                           \
	{                                                         \
		"384", "1.5K", "4.5K", "16K", "64K", "256K", "1M" \
	}
#define KMA_FEW_LANES(what)                                                                \
	{                                                                                  \
		what " 384", what " 1536", what " 3K", what " 6K", what " 8K", what " 16K" \
	}
#define KMA_SHORT_FEW_LANES                            \
	{                                              \
		"384", "1.5K", "3K", "6K", "8K", "16K" \
	}

/* mam bench xmalloc. Published values are dashed. */
static const struct plot_drawn xmallocs[] = {
	{ "mam", "mam", { "mam" }, NULL },
	{ "mam, coalesced", "async", { "mam-coalesce" }, NULL },
	{ "mam, XMalloc", "plain", { "mam-xmalloc" }, NULL },
	{ "mam, xmcMalloc", "mam dash", { "mam-xmc" }, NULL },
	{ "pages", "other", { "pages" }, NULL },
	{ "pages, coalesced", "mimalloc", { "pages-coalesce" }, NULL },
	{ "CUDA malloc", "cuda", { "cuda" }, NULL },
	{ "CUDA, coalesced", "rmm", { "cuda-coalesce" }, NULL },
	{ "CUDA, XMalloc", "torch", { "cuda-xmalloc" }, NULL },
	{ "CUDA, xmcMalloc", "plain dash", { "cuda-xmc" }, NULL },
	{ "RW_malloc", "jemalloc", { "rw-malloc" }, NULL },
	{ "counter, a warp", "mimalloc dash", { "bumpw" }, NULL },
	{ "XMalloc, 2011", "torch dash", { "published" }, NULL },
	{ "CUDA, 2011", "cuda dash", { "published-cuda" }, NULL },
};

static const struct plot_drawn speedups[] = {
	{ "over CUDA malloc", "torch", { "over-cuda" }, NULL },
	{ "over mam", "mam", { "over-mam" }, NULL },
	{ "over pages", "mimalloc", { "over-pages" }, NULL },
	{ "published, 2011", "other dash", { "published" }, NULL },
};

/* mam bench mpi. Published values have the color of ours, as dashed lines. */
static const struct plot_drawn coalescers[] = {
	{ "CUDA, warp", "torch", { "cuda-NW" }, NULL },
	{ "CUDA, warp, headers", "rmm", { "cuda-HW" }, NULL },
	{ "CUDA, block", "async", { "cuda-NB" }, NULL },
	{ "CUDA, block, headers", "jemalloc", { "cuda-HB" }, NULL },
	{ "CUDA, dynamic", "other", { "cuda-dynamic" }, NULL },
	{ "CUDA malloc", "cuda", { "cuda" }, NULL },
	{ "mam", "plain", { "mam" }, NULL },
	{ "mam, a warp", "mam", { "mam-kwarp", "mam-NW" }, NULL },
	{ "published, warp", "torch dash", { "published-NW" }, NULL },
	{ "published, w., headers", "rmm dash", { "published-HW" }, NULL },
	{ "published, block", "async dash", { "published-NB" }, NULL },
	{ "published, b., headers", "jemalloc dash", { "published-HB" }, NULL },
};

static const struct plot_drawn ranks[] = {
	{ "CUDA, warp", "torch", { "cuda-NW" }, NULL },
	{ "CUDA, block", "async", { "cuda-NB" }, NULL },
	{ "CUDA, dynamic", "other", { "cuda-dynamic" }, NULL },
	{ "CUDA, XMalloc", "mimalloc", { "cuda-xmalloc" }, NULL },
	{ "CUDA malloc", "cuda", { "cuda" }, NULL },
	{ "mam", "plain", { "mam" }, NULL },
	{ "mam, dynamic", "mam", { "mam-dynamic" }, NULL },
	{ "published, static", "torch dash", { "published-NW" }, NULL },
	{ "published, dynamic", "other dash", { "published-dynamic" }, NULL },
	{ "published, base", "cuda dash", { "published" }, NULL },
};

#define SIZES                                                                                   \
	{                                                                                       \
		"1B", "8B", "64B", "512B", "4KiB", "32KiB", "256KiB", "2MiB", "16MiB", "128MiB" \
	}
#define COUNTS                                                                \
	{                                                                     \
		"10", "100", "1000", "10000", "100000", "1000000", "10000000" \
	}
#define HOLES                                                     \
	{                                                         \
		"10", "100", "1000", "10000", "100000", "1000000" \
	}
#define SHORT_COUNTS                                          \
	{                                                     \
		"10", "100", "1k", "10k", "100k", "1M", "10M" \
	}
#define LARGEST                                \
	{                                      \
		"1", "4", "64", "1024", "4096" \
	}
#define QUANTILES                                   \
	{                                           \
		"50%", "90%", "99%", "99.9%", "max" \
	}

#define SHARES(pages, askers)                                                      \
	{                                                                          \
		pages " 100% " askers, pages " 50% " askers, pages " 10% " askers, \
			pages " 1% " askers, pages " 0.5% " askers                 \
	}
#define SHORT_SHARES                          \
	{                                     \
		"100", "50", "10", "1", "0.5" \
	}
#define LANES(cell)                                                                      \
	{                                                                                \
		cell " x1", cell " x2", cell " x4", cell " x8", cell " x16", cell " x32" \
	}
#define SHORT_LANES                            \
	{                                      \
		"1", "2", "4", "8", "16", "32" \
	}
#define REQUESTS(cell)                                                                  \
	{                                                                               \
		cell " 16B", cell " 256B", cell " 1024B", cell " 4096B", cell " 8192B", \
			cell " 4..8192B", cell " 4096B+free"                            \
	}
#define SHORT_REQUESTS                                      \
	{                                                   \
		"16", "256", "1K", "4K", "8K", "mix", "4K*" \
	}
/* clang-format off */
#define LESS_AND_LESS                                                                           \
	{                                                                                       \
		{ "10% free", METRIC, NULL, { "1M 10% 1K", "1M 10% 4K", "1M 10% 16K" },         \
		  { "1K", "4K", "16K" } },                                                      \
			{ "1% free", METRIC, NULL, { "1M 1% 1K", "1M 1% 4K", "1M 1% 10000" },   \
			  { "1K", "4K", "10k" } },                                              \
			{ "0.5% free", METRIC, NULL,                                            \
			  { "1M 0.5% 1K", "1M 0.5% 4K", "1M 0.5% 5000" }, { "1K", "4K", "5k" } } \
	}
/* clang-format on */
/* clang-format off */
#define MORE_AND_MORE                                                                           \
	{                                                                                       \
		{ "all free",                                                                   \
		  "mops",                                                                       \
		  NULL,                                                                         \
		  { "1M 100% 1K", "1M 100% 4K", "1M 100% 16K", "1M 100% 128K", "32M 100% 1M" },  \
		  { "1K", "4K", "16K", "128K", "1M" } },                                        \
			{ "50% free",                                                           \
			  "mops",                                                               \
			  NULL,                                                                 \
			  { "1M 50% 1K", "1M 50% 4K", "1M 50% 16K", "1M 50% 128K" },            \
			  { "1K", "4K", "16K", "128K" } },                                      \
			{ "10% free",                                                           \
			  "mops",                                                               \
			  NULL,                                                                 \
			  { "1M 10% 1K", "1M 10% 4K", "1M 10% 16K" },                           \
			  { "1K", "4K", "16K" } },                                              \
	}
/* clang-format on */

#define OBJECTS(askers)                                                                         \
	{                                                                                       \
		"16B " askers, "64B " askers, "256B " askers, "1024B " askers, "4096B " askers, \
			"8192B " askers                                                         \
	}
#define SHORT_OBJECTS                               \
	{                                           \
		"16", "64", "256", "1K", "4K", "8K" \
	}
/* clang-format off */
#define DOUBLED                                                                                \
	{                                                                                      \
		"64B 1", "64B 2", "64B 4", "64B 8", "64B 16", "64B 32", "64B 64", "64B 128",   \
			"64B 256", "64B 512", "64B 1K", "64B 2K", "64B 4K", "64B 8K",          \
			"64B 16K", "64B 32K", "64B 64K", "64B 128K", "64B 256K", "64B 512K",   \
			"64B 1M"                                                               \
	}
/* clang-format on */
#define SHORT_DOUBLED                                                                              \
	{                                                                                          \
		"1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1K", "2K", "4K", "8K", \
			"16K", "32K", "64K", "128K", "256K", "512K", "1M"                          \
	}
#define MIXED                                                                 \
	{                                                                     \
		"4..8192B 1K", "4..8192B 16K", "4..8192B 128K", "4..8192B 1M" \
	}
#define SHORT_MIXED                       \
	{                                 \
		"1K", "16K", "128K", "1M" \
	}
#define NEARLY_FULL(askers)                                               \
	{                                                                 \
		"256B 50% " askers, "256B 10% " askers, "256B 1% " askers \
	}
#define SHORT_NEARLY_FULL       \
	{                       \
		"50", "10", "1" \
	}

#define WORKERS(count)                                                                   \
	{                                                                                \
		count " 1", count " 2", count " 4", count " 8", count " 16", count " 32" \
	}
#define SHORT_WORKERS                          \
	{                                      \
		"1", "2", "4", "8", "16", "32" \
	}
#define BUFFERS(asked)                                                                   \
	{                                                                                \
		asked " 0", asked " 1", asked " 2", asked " 4", asked " 8", asked " 16", \
			asked " 32"                                                      \
	}
#define SHORT_BUFFERS                               \
	{                                           \
		"0", "1", "2", "4", "8", "16", "32" \
	}

#define FLOATS                                                                                   \
	{                                                                                        \
		"25", "50", "75", "100", "125", "150", "175", "200", "225", "250", "275", "300", \
			"325", "350", "375", "400"                                               \
	}
#define HUNDREDS                           \
	{                                  \
		"100", "200", "300", "400" \
	}
#define OPERATIONS                                  \
	{                                           \
		"reduce", "broadcast", "all-to-all" \
	}
#define WORK(name)                                                 \
	{                                                          \
		name " 100", name " 200", name " 300", name " 400" \
	}
#define CURVES                                                                     \
	{                                                                          \
		{ "Gflop/s", "gflops", NULL, FLOATS, { NULL } },                   \
			{ "times the base", "speedup", NULL, HUNDREDS, { NULL } }, \
	}

const struct plot_figure plot_figures[] = {
	{ "latency.svg",
	  "Cost of a pair of alloc and free",
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
	  "An operation with as many free blocks as live ones",
	  "medians, blocks of 512 B to 16 KiB; less is better",
	  "ns an operation",
	  "live blocks, and free ones",
	  "holes",
	  bookkeepers,
	  sizeof(bookkeepers) / sizeof(bookkeepers[0]),
	  { { "alloc", "alloc_ns", NULL, HOLES, SHORT_COUNTS },
	    { "free", "free_ns", NULL, HOLES, SHORT_COUNTS } } },
	{ "percentiles.svg",
	  "How long the slow operations take",
	  "single operations, 256 B to 16 MiB; growth apart if the heap reports it; less is better",
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
	{ "pages-threads.svg", "Pages for kernels, against threads",
	  "a page each; a million pages, 32 million for 1M threads; more is better",
	  "million pages a second", "threads that ask", "pages-get", pagers,
	  sizeof(pagers) / sizeof(pagers[0]), MORE_AND_MORE },
	{ "pages-frees.svg", "Pages freed by a later kernel, against threads",
	  "a page each; a million pages, 32 million for 1M threads; more is better",
	  "million pages a second", "threads that free", "pages-free", pagers,
	  sizeof(pagers) / sizeof(pagers[0]), MORE_AND_MORE },
	{ "pages-share.svg",
	  "Pages for kernels, against the share that is free",
	  "a page each, free ones at random places; more is better",
	  "million pages a second",
	  "per cent of all pages free",
	  "pages-get",
	  pagers,
	  sizeof(pagers) / sizeof(pagers[0]),
	  { { "1K ask, of 1M", "mops", NULL, SHARES("1M", "1K"), SHORT_SHARES },
	    { "4K ask, of 1M", "mops", NULL, SHARES("1M", "4K"), SHORT_SHARES },
	    { "16K ask, of 4M", "mops", NULL, SHARES("4M", "16K"), SHORT_SHARES } } },
	{ "pages-tas.svg", "Steps of a thread until it has a page",
	  "TAS of a million pages, and what the paper expects; less is better", "steps",
	  "threads that ask", "pages-get", walkers, sizeof(walkers) / sizeof(walkers[0]),
#define METRIC "tas"
	  LESS_AND_LESS },
#undef METRIC
	{ "pages-was.svg", "Steps of the slowest thread of a warp",
	  "WAS of a million pages, and what the paper expects; less is better", "steps",
	  "threads that ask", "pages-get", walkers, sizeof(walkers) / sizeof(walkers[0]),
#define METRIC "was"
	  LESS_AND_LESS },
#undef METRIC
	{ "pages-lanes.svg",
	  "Pages for some lanes of each warp",
	  "a page for each that asks, of a million; more is better",
	  "million pages a second",
	  "lanes of a warp that ask",
	  "pages-lanes",
	  pagers,
	  sizeof(pagers) / sizeof(pagers[0]),
	  { { "128K ask, all free", "mops", NULL, LANES("1M 100% 128K"), SHORT_LANES },
	    { "16K ask, 5% free", "mops", NULL, LANES("1M 5% 16K"), SHORT_LANES },
	    { "4K ask, 1% free", "mops", NULL, LANES("1M 1% 4K"), SHORT_LANES } } },
	{ "pages-malloc.svg",
	  "Several pages at once",
	  "requests in bytes, pages of 256, 32 million of them; 4K*: freed at once; more is "
	  "better",
	  "million requests a second",
	  "bytes that each asks for",
	  "pages-malloc",
	  pagers,
	  sizeof(pagers) / sizeof(pagers[0]),
	  { { "16K ask, all free", "mops", NULL, REQUESTS("32M 100% 16K"), SHORT_REQUESTS },
	    { "128K ask, 50% free", "mops", NULL, REQUESTS("32M 50% 128K"), SHORT_REQUESTS } } },
	{ "device-sizes.svg",
	  "malloc in kernels, against size",
	  "every thread asks once, heap of 8 GiB (16 GiB at 8 KiB); more is better",
	  "million objects a second",
	  "bytes that each thread asks for",
	  "device-w1",
	  mallocs,
	  sizeof(mallocs) / sizeof(mallocs[0]),
	  { { "1M threads", "mops", NULL, OBJECTS("1M"), SHORT_OBJECTS },
	    { "128K threads", "mops", NULL, OBJECTS("128K"), SHORT_OBJECTS } } },
	{ "device-frees.svg",
	  "free in kernels, against size",
	  "what a kernel before took, every thread once; more is better",
	  "million objects a second",
	  "bytes that each thread had asked for",
	  "device-w1",
	  mallocs,
	  sizeof(mallocs) / sizeof(mallocs[0]),
	  { { "1M threads", "free_mops", NULL, OBJECTS("1M"), SHORT_OBJECTS },
	    { "128K threads", "free_mops", NULL, OBJECTS("128K"), SHORT_OBJECTS } } },
	{ "device-threads.svg",
	  "malloc in kernels, against threads",
	  "64 bytes each, heap of 8 GiB; more is better",
	  "million objects a second",
	  "threads that ask",
	  "device-scale",
	  mallocs,
	  sizeof(mallocs) / sizeof(mallocs[0]),
	  { { NULL, "mops", NULL, DOUBLED, SHORT_DOUBLED } } },
	{ "device-mixed.svg",
	  "malloc of mixed sizes in kernels, against threads",
	  "4 to 8192 bytes each, heap of 8 GiB; more is better",
	  "million objects a second",
	  "threads that allocate and free",
	  "device-w2",
	  mallocs,
	  sizeof(mallocs) / sizeof(mallocs[0]),
	  { { "malloc", "mops", NULL, MIXED, SHORT_MIXED },
	    { "free", "free_mops", NULL, MIXED, SHORT_MIXED } } },
	{ "device-full.svg",
	  "malloc in a heap that is nearly full",
	  "256 bytes each, 1 GiB, free places at random; less is better",
	  "microseconds of the kernel",
	  "per cent of the heap free",
	  "device-w5",
	  mallocs,
	  sizeof(mallocs) / sizeof(mallocs[0]),
	  { { "16K ask", "us", NULL, NEARLY_FULL("16K"), SHORT_NEARLY_FULL },
	    { "4K ask", "us", NULL, NEARLY_FULL("4K"), SHORT_NEARLY_FULL } } },
	{ "device-shapes.svg",
	  "malloc in kernels by blocks of other shapes",
	  "a million threads, 64 bytes each, heap of 8 GiB; more is better",
	  "million objects a second",
	  "threads of a block; in the last three, of 256 threads: blocks of the grid",
	  "device-shapes",
	  mallocs,
	  sizeof(mallocs) / sizeof(mallocs[0]),
	  { { NULL, "mops", NULL, SHAPES, SHORT_SHAPES } } },
	{ "kma-one.svg",
	  "malloc and free of 4 bytes by one lane",
	  "after figure 4 of the KMA paper; less is better",
	  "ns a pair",
	  "pairs",
	  "kma-one",
	  superblocks,
	  sizeof(superblocks) / sizeof(superblocks[0]),
	  { { NULL, "ns", NULL, { "1000", "10000", "100000" }, { NULL } } } },
	{ "kma-many.svg",
	  "100 times malloc and free by each lane",
	  "by variance of sizes; after figure 5 of the KMA paper; more is better",
	  "million pairs a second",
	  "lanes",
	  "kma-many",
	  superblocks,
	  sizeof(superblocks) / sizeof(superblocks[0]),
	  { { "64 B", "mpairs", NULL, KMA_LANES("none"), KMA_SHORT_LANES },
	    { "32 to 128 B", "mpairs", NULL, KMA_LANES("low"), KMA_SHORT_LANES },
	    { "4 to 2048 B", "mpairs", NULL, KMA_LANES("high"), KMA_SHORT_LANES } } },
	{ "kma-arraylist.svg",
	  "10 elements for each lane, by malloc or of a list",
	  "nothing is freed; after figure 6 of the KMA paper; less is better",
	  "microseconds of the kernel",
	  "lanes",
	  "kma-arraylist",
	  superblocks,
	  sizeof(superblocks) / sizeof(superblocks[0]),
	  { { "malloc, 4 B", "us", NULL, KMA_FEW_LANES("malloc 4B"), KMA_SHORT_FEW_LANES },
	    { "list, 4 B", "us", NULL, KMA_FEW_LANES("list 4B"), KMA_SHORT_FEW_LANES },
	    { "list, 8 B", "us", NULL, KMA_FEW_LANES("list 8B"), KMA_SHORT_FEW_LANES } } },
	{ "kma-tree.svg",
	  "A list of edges becomes a graph",
	  "64K edges, 10,000 nodes; after figure 7 of the KMA paper; less is better",
	  "microseconds of the kernel",
	  "lanes",
	  "kma-tree",
	  superblocks,
	  sizeof(superblocks) / sizeof(superblocks[0]),
	  { { NULL,
	      "us",
	      NULL,
	      { "64K 64", "64K 256", "64K 384", "64K 1536", "64K 4K", "64K 16K", "64K 64K" },
	      { "64", "256", "384", "1.5K", "4K", "16K", "64K" } } } },
	{ "xmalloc-lanes.svg",
	  "malloc, write, read and free of 4 bytes",
	  "one kernel, heap of 500 MiB; after figure 2 of the XMalloc paper; less is better",
	  "ns an object",
	  "workers in each warp",
	  "xmalloc-time",
	  xmallocs,
	  sizeof(xmallocs) / sizeof(xmallocs[0]),
	  { { "1M workers", "ns", NULL, WORKERS("1M"), SHORT_WORKERS },
	    { "16K workers", "ns", NULL, WORKERS("16K"), SHORT_WORKERS } } },
	{ "xmalloc-coalesce.svg",
	  "Requests of a warp put together, without buffers",
	  "malloc, write, read, free; after figure 5 of the XMalloc paper; less is better",
	  "ns an object",
	  "workers in each warp",
	  "xmalloc-coalesce",
	  xmallocs,
	  sizeof(xmallocs) / sizeof(xmallocs[0]),
	  { { "16K workers", "ns", NULL, WORKERS("16K"), SHORT_WORKERS },
	    { "1M workers", "ns", NULL, { "1M 32" }, { "32" } } } },
	{ "xmalloc-buffers.svg",
	  "Buffers of free blocks, by how many there are",
	  "malloc, write, read, free; after figure 6 of the XMalloc paper; less is better",
	  "ns a request of a warp",
	  "buffers a class",
	  "xmalloc-buffers",
	  xmallocs,
	  sizeof(xmallocs) / sizeof(xmallocs[0]),
	  { { "1 worker a warp", "request_ns", NULL, BUFFERS("16K 1"), SHORT_BUFFERS },
	    { "32 workers a warp", "request_ns", NULL, BUFFERS("1M 32"), SHORT_BUFFERS } } },
	{ "xmalloc-speedup.svg",
	  "XMalloc's speedup, and its paper's",
	  "times faster than its base, of buffers than one of them; more is better",
	  "times faster",
	  "its calls; as published; in a heap taken by a quarter; coalescing alone; 16 buffers",
	  "xmalloc-speedup",
	  speedups,
	  sizeof(speedups) / sizeof(speedups[0]),
	  { { NULL,
	      "times",
	      NULL,
	      { "time", "time_256", "prefilled", "coalesce", "buffers" },
	      { "xmcMalloc", "256 blocks", "prefilled", "coalesce", "buffers" } } } },
	{ "mpi-linear.svg", "Linear work on memory of each thread's own",
	  "a sum of n floats, 12 blocks of 1024 threads; more is better",
	  "Gflop/s; times the base alone", "floats that each thread asks for", "mpi-linear",
	  coalescers, sizeof(coalescers) / sizeof(coalescers[0]), CURVES },
	{ "mpi-quadratic.svg", "Quadratic work on memory of each thread's own",
	  "products of all pairs of n floats, 12 blocks of 1024 threads; more is better",
	  "Gflop/s; times the base alone", "floats that each thread asks for", "mpi-quadratic",
	  coalescers, sizeof(coalescers) / sizeof(coalescers[0]), CURVES },
	{ "mpi-speedup.svg",
	  "Work and messages against the base alone",
	  "after figures 3 and 5 of Coalescing Memory Allocations for GPU MPI; more is better",
	  "times the base alone",
	  "floats that each thread asks for, or the operation",
	  "mpi-speedup",
	  coalescers,
	  sizeof(coalescers) / sizeof(coalescers[0]),
	  { { "linear", "times", NULL, WORK("linear"), HUNDREDS },
	    { "quadratic", "times", NULL, WORK("quadratic"), HUNDREDS },
	    { "messages", "times", NULL, OPERATIONS, { "red.", "bcast", "a2a" } } } },
	{ "mpi-operations.svg",
	  "Operations of threads that send one another messages",
	  "median of ranks and of runs; published on a smaller GPU; less is better",
	  "milliseconds",
	  "operation",
	  "mpi-operations",
	  ranks,
	  sizeof(ranks) / sizeof(ranks[0]),
	  { { NULL, "median_ms", NULL, OPERATIONS, { NULL } } } },
};

const size_t plot_line_figures = sizeof(plot_figures) / sizeof(plot_figures[0]);
const size_t plot_holder_count = sizeof(plot_holders) / sizeof(plot_holders[0]);
