# SPDX-License-Identifier: Apache-2.0
"""figures.py - the figures of `mam bench plot` as data: which rows of a result file they show.

A figure has one line per allocator, and one or more groups of points. A point is one row of the
workload: its parameter and metric, and the name below the axis. Points without a row are omitted,
and so are allocators, groups and figures without any.
"""

# ---- the allocators of a figure: label | color and style | names in rows | omitted if this has rows
#
# The first name that has a row is used. Colors are those of mam.mplstyle, in the order of COLORS;
# mam is always blue. "dash" and "dot", with hollow markers: published, computed and simulated
# values, bounds, and variants of another line.

COLORS = "blue sky orange red pink gray olive green wine black".split()


def series(table):
    rows = []
    for line in table.strip().splitlines():
        label, look, names, unless = ([part.strip() for part in line.split("|")] + [""])[:4]
        color, _, style = look.partition(" ")
        rows.append((label, color, style, names.split(), unless))
    return rows


HOST = """
PyTorch         | red   | torch
cudaMallocAsync | pink  | cudaMallocAsync-warm cudaMallocAsync
cudaMalloc      | gray  | cudaMalloc
glibc (CPU)     | olive | glibc
jemalloc (CPU)  | green | jemalloc | cudaMalloc
mimalloc (CPU)  | wine  | mimalloc | cudaMalloc
"""
EVERYONE = series("""
mam             | blue   | mam-cudamalloc-cache mam-host-cache mam-host
mam, no caches  | sky    | mam-cudamalloc mam-host
RMM pool        | orange | rmm-pool
""" + HOST.strip())
# Without thread caches: the time of the pool itself.
POOLS = series("""
mam              | blue   | mam-cudamalloc mam-host
mam, host memory | sky    | mam-host
RMM pool         | orange | rmm-pool
""" + HOST.strip())
HOLDERS = series("""
mam, mapped         | blue   | mam-vmm-cache mam-vmm
mam, simulated      | blue   | mam-vmm-simulated mam-simulated-cache | mam-vmm
mam, chunks         | sky    | mam-cudamalloc-cache mam-cudamalloc mam-host-cache
cudaMallocAsync     | pink   | cudaMallocAsync
PyTorch, expandable | red    | torch-expandable
PyTorch             | red    | torch
RMM pool, growing   | orange | rmm-pool-grow
""")
PAGES = series("""
mam              | blue       | mam-pages
CoRW             | red        | corw
CRW              | pink       | crw
RW-BM            | green      | rw-bm
RW               | orange     | rw
RW_malloc        | wine       | rw-malloc | corw
queue            | olive      | queue
CUDA malloc      | gray       | cuda-malloc
counter          | black dash | bump
counter per warp | black dot  | bumpw
""")
STEPS = series("""
mam            | blue        | mam-pages
CoRW           | red         | corw
CoRW, formula  | red dash    | corw-formula
CRW            | pink        | crw
CRW, formula   | pink dash   | crw-formula
RW-BM          | green       | rw-bm
RW-BM, formula | green dash  | rw-bm-formula
RW             | orange      | rw
RW, formula    | orange dash | rw-formula
queue          | olive       | queue
queue, formula | olive dash  | queue-formula
""")
MALLOCS = series("""
mam              | blue       | mam
CoRW, one size   | red        | corw
CRW, one size    | pink       | crw
RW, one size     | orange     | rw
RW_malloc        | wine       | rw-malloc
CUDA malloc      | gray       | cuda-malloc
counter          | black dash | bump
counter per warp | black dot  | bumpw
""")
KMA = series("""
mam_kmalloc        | blue       | mam_kmalloc
KMA                | green      | kma
KMA, OpenCL        | pink       | kma-opencl
CUDA malloc        | gray       | cuda
poor man's         | wine       | poor
poor man's, OpenCL | olive      | poor-opencl
KMA, 2014          | green dash | published
CUDA, 2014         | gray dash  | published-cuda
poor man's, 2014   | wine dash  | published-poor
""")
XMALLOC = series("""
mam              | blue        | mam
mam, coalesced   | sky         | mam-coalesce
mam, XMalloc     | green       | mam-xmalloc
mam, xmcMalloc   | green dot   | mam-xmc
pages            | olive       | pages
pages, coalesced | olive dot   | pages-coalesce
CUDA malloc      | gray        | cuda
CUDA, coalesced  | orange      | cuda-coalesce
CUDA, XMalloc    | red         | cuda-xmalloc
CUDA, xmcMalloc  | red dot     | cuda-xmc
RW_malloc        | wine        | rw-malloc
counter per warp | black dot   | bumpw
XMalloc, 2011    | red dash    | published
CUDA, 2011       | gray dash   | published-cuda
""")
SPEEDUPS = series("""
over CUDA malloc | gray     | over-cuda
over mam         | blue     | over-mam
over pages       | olive    | over-pages
published, 2011  | red dash | published
""")
COALESCERS = series("""
mam                    | blue        | mam
mam, per warp          | sky         | mam-kwarp mam-NW
CUDA, warp             | red         | cuda-NW
CUDA, warp, headers    | orange      | cuda-HW
CUDA, block            | pink        | cuda-NB
CUDA, block, headers   | green       | cuda-HB
CUDA, dynamic          | olive       | cuda-dynamic
CUDA malloc            | gray        | cuda
published, warp        | red dash    | published-NW
published, w., headers | orange dash | published-HW
published, block       | pink dash   | published-NB
published, b., headers | green dash  | published-HB
""")
RANKS = series("""
mam                | blue       | mam
mam, dynamic       | sky        | mam-dynamic
CUDA, warp         | red        | cuda-NW
CUDA, block        | pink       | cuda-NB
CUDA, dynamic      | olive      | cuda-dynamic
CUDA, XMalloc      | wine       | cuda-xmalloc
CUDA malloc        | gray       | cuda
published, static  | red dash   | published-NW
published, dynamic | olive dash | published-dynamic
published, base    | gray dash  | published
""")
# Numbers in parentheses are the paper's equations.
EQUATIONS = series("""
mam             | blue        | mam-pages
mam, (11) of 64 | blue dash   | mam-pages-formula
CoRW            | red         | corw
CoRW, (11)      | red dash    | corw-formula
RW-BM           | green       | rw-bm
RW-BM, (5), (6) | green dash  | rw-bm-formula
RW              | orange      | rw
RW, (3), (4)    | orange dash | rw-formula
queue           | olive       | queue
queue, (1), (2) | olive dash  | queue-formula
""")
CACHED = series("""
CRW             | pink        | crw
CRW, (14), (6)  | pink dash   | crw-formula
CRW, simulated  | pink dot    | crw-simulated
RW-BM           | green       | rw-bm
RW-BM, (5), (6) | green dash  | rw-bm-formula
RW              | orange      | rw
RW, (3), (4)    | orange dash | rw-formula
RW, simulated   | orange dot  | rw-simulated
""")
MEASURED = series("""
measured       | blue       | measured atomic
equations      | red dash   | formula
in whole steps | orange dot | whole
""")
MEASURED_PAGES = PAGES[:8]
CASES = series("""
mam_kmalloc  | blue       | mam_kmalloc
mam pages    | sky        | mam-pages
CoRW         | red        | corw
RW           | orange     | rw
two passes   | black dash | two-pass
few counters | black dot  | two-pass-compact
CUDA malloc  | gray       | cuda-malloc
""")


# ---- points: (parameter, metric, name)


def over(metric, pattern, values, names=None):
    """One metric over parameters: each value takes the place of {} in the pattern; ~ is a blank."""
    return [(pattern.format(value.replace("~", " ")), metric, name.replace("~", " "))
            for value, name in zip(values.split(), (names or values).split())]


def metrics(parameter, values, names):
    return [(parameter, value, name) for value, name in zip(values.split(), names.split())]


COUNTS = ("10 100 1000 10000 100000 1000000 10000000", "10 100 1k 10k 100k 1M 10M")
RANGES = ("1B 8B 64B 512B 4KiB 32KiB 256KiB 2MiB 16MiB 128MiB",
          "1~B 8~B 64~B 512~B 4~KiB 32~KiB 256~KiB 2~MiB 16~MiB 128~MiB")
LARGEST = ("1MiB 4MiB 64MiB 1GiB 4GiB", "1 4 64 1024 4096")
PERCENTILES = "50% 90% 99% 99.9% max"
SHARES = ("100% 50% 10% 1% 0.5%", "100 50 10 1 0.5")
LANES = "1 2 4 8 16 32"
SOME_LANES = "1 4 8 16 20 24 28 32"
REQUESTS = ("16B 256B 1024B 4096B 8192B 4..8192B 4096B+free", "16 256 1K 4K 8K mix 4K*")
SIZES = ("16B 64B 256B 1024B 4096B 8192B", "16 64 256 1K 4K 8K")
DOUBLED = "1 2 4 8 16 32 64 128 256 512 1K 2K 4K 8K 16K 32K 64K 128K 256K 512K 1M"
KMA_LANES = ("384 1536 4608 16K 64K 256K 1M", "384 1.5K 4.5K 16K 64K 256K 1M")
KMA_FEW = ("384 1536 3K 6K 8K 16K", "384 1.5K 3K 6K 8K 16K")
BUFFERS = "0 1 2 4 8 16 32"
FLOATS = " ".join(str(n) for n in range(25, 401, 25))
HUNDREDS = "100 200 300 400"
CONTENDED = "1 32 128 512 2K 8K 16K 32K 64K 128K"
THREADS = ("500 1000 2000 3000 4000 5000", "500 1k 2k 3k 4k 5k")
JOIN = "16K 64K 256K 1M 4M 16M 64M"
GROUP = "64K 1M 4M 10M 64M"


def by_threads(metric):
    return [("all free", over(metric, "1M 100% {}", "1K 4K 16K 128K")
             + over(metric, "32M 100% {}", "1M")),
            ("50% free", over(metric, "1M 50% {}", "1K 4K 16K 128K")),
            ("10% free", over(metric, "1M 10% {}", "1K 4K 16K"))]


def by_steps(metric):
    return [("10% free", over(metric, "1M 10% {}", "1K 4K 16K")),
            ("1% free", over(metric, "1M 1% {}", "1K 4K 10000", "1K 4K 10k")),
            ("0.5% free", over(metric, "1M 0.5% {}", "1K 4K 5000", "1K 4K 5k"))]


def shares(metric, pattern, values, *of):
    return [("all free" if share == "100%" else share + " free",
             over(metric, pattern.replace("SHARE", share), *([values] if isinstance(values, str)
                                                           else values))) for share in of]


# ---- figures: file, title, subtitle, vertical axis (one, or one per group), horizontal axis, workload,
# allocators, then groups: (label, points)

STEPS_OF_PAPER = "1M pages; measured, and as predicted by the paper's formulas; lower is better"
PAPER_4_11 = "1M pages; as in figures 4 and 11 of the random-walk paper; lower is better"
THREADS_ALLOCATE = "threads that allocate"
MICROSECONDS = "kernel time in µs"
HEAP_SHARE = "by free share of the heap; as in figure %d of the random-walk paper; lower is better"

FIGURES = [
    ("latency.svg", "Time of one allocation and free",
     "one thread, few live blocks; lower is better",
     "ns per alloc/free pair", "block size", "pair", EVERYONE,
     ("", over("pair_ns", "{}", "256B 1MiB 16MiB 1GiB", "256~B 1~MiB 16~MiB 1~GiB"))),
    ("threads.svg", "Threads that share one pool",
     "blocks of 256 B to 1 MiB; higher is better",
     "million operations per second", "threads", "threads", EVERYONE,
     ("", over("mops", "{}", "1 2 4 8 16"))),
    ("live.svg", "Time of an operation with many live blocks",
     "median, blocks of 1 to 10 B; as in figure 10 of the MAM paper; lower is better",
     "ns per operation", "live blocks", "live", POOLS,
     ("alloc", over("alloc_ns", "{}", *COUNTS)), ("free", over("free_ns", "{}", *COUNTS))),
    ("fragmented.svg", "Time of an operation in a fragmented heap",
     "median, as many free blocks as live ones, 512 B to 16 KiB; lower is better",
     "ns per operation", "live blocks, and as many free ones", "fragmented", POOLS,
     *[(kind, over(kind + "_ns", "{}", *COUNTS)[:6]) for kind in ("alloc", "free")]),
    ("percentiles.svg", "Latency percentiles of single operations",
     "256 B to 16 MiB; heap growth is separate where the allocator reports it; lower is better",
     "ns per operation", "percentile of operations", "latency", EVERYONE,
     *[(kind, metrics("mixed", " ".join(f"{kind}_{at}_ns" for at in "p50 p90 p99 p999 max".split()),
                      PERCENTILES)) for kind in ("alloc", "free")]),
    ("random.svg", "Random sizes: RMM's benchmark",
     "up to 16,000 MiB live; lower is better",
     "ns per operation", "largest size in MiB; sizes are uniform from 1 B", "random", EVERYONE,
     *[(f"{count:,} blocks", over("op_ns", f"{count},{{}}", *LARGEST))
       for count in (1000, 10000, 100000)]),
    ("sizes.svg", "Random sizes until memory is exhausted",
     "median per range of sizes; as in figures 1, 8 and 9 of the MAM paper; lower is better",
     "ns per operation", "size range, from", "fill", EVERYONE,
     ("alloc", over("alloc_ns", "{}", *RANGES)), ("free", over("free_ns", "{}", *RANGES))),

    ("pages-threads.svg", "Page allocation in kernels, by number of threads",
     "one page per thread; 1M pages, 32M for 1M threads; higher is better",
     "million pages per second", THREADS_ALLOCATE, "pages-get", PAGES, *by_threads("mops")),
    ("pages-frees.svg", "Page frees in a later kernel, by number of threads",
     "one page per thread; 1M pages, 32M for 1M threads; higher is better",
     "million pages per second", "threads that free", "pages-free", PAGES, *by_threads("mops")),
    ("pages-share.svg", "Page allocation in kernels, by share of free pages",
     "one page per thread, free pages at random positions; higher is better",
     "million pages per second", "free pages (% of all)", "pages-get", PAGES,
     ("1K threads, 1M pages", over("mops", "1M {} 1K", *SHARES)),
     ("4K threads, 1M pages", over("mops", "1M {} 4K", *SHARES)),
     ("16K threads, 4M pages", over("mops", "4M {} 16K", "50% 10% 1%", "50 10 1"))),
    ("pages-tas.svg", "Steps until a thread finds a page (TAS)", STEPS_OF_PAPER,
     "steps", THREADS_ALLOCATE, "pages-get", STEPS, *by_steps("tas")),
    ("pages-was.svg", "Steps of the slowest thread of a warp (WAS)", STEPS_OF_PAPER,
     "steps", THREADS_ALLOCATE, "pages-get", STEPS, *by_steps("was")),
    ("pages-lanes.svg", "Page allocation by some lanes of each warp",
     "one page per active lane, 1M pages; higher is better",
     "million pages per second", "active lanes per warp", "pages-lanes", PAGES,
     ("128K threads, all free", over("mops", "1M 100% 128K x{}", LANES)),
     ("16K threads, 5% free", over("mops", "1M 5% 16K x{}", LANES)),
     ("4K threads, 1% free", over("mops", "1M 1% 4K x{}", LANES))),
    ("pages-malloc.svg", "Allocation of several contiguous pages",
     "32M pages of 256 B; mix: 4 B to 8 KiB; 4K*: freed at once; higher is better",
     "million requests per second", "bytes per request", "pages-malloc", PAGES,
     ("16K threads, all free", over("mops", "32M 100% 16K {}", *REQUESTS)),
     ("128K threads, 50% free", over("mops", "32M 50% 128K {}", *REQUESTS))),

    ("device-sizes.svg", "malloc in kernels, by size",
     "one object per thread, heap of 8 GiB (16 GiB for 8 KiB objects); higher is better",
     "million objects per second", "object size in bytes", "device-w1", MALLOCS,
     ("1M threads", over("mops", "{} 1M", *SIZES)),
     ("128K threads", over("mops", "{} 128K", *SIZES))),
    ("device-frees.svg", "free in kernels, by size",
     "each thread frees one object that an earlier kernel allocated; higher is better",
     "million objects per second", "object size in bytes", "device-w1", MALLOCS,
     ("1M threads", over("free_mops", "{} 1M", *SIZES)),
     ("128K threads", over("free_mops", "{} 128K", *SIZES))),
    ("device-threads.svg", "malloc in kernels, by number of threads",
     "64 B per thread, heap of 8 GiB; higher is better",
     "million objects per second", THREADS_ALLOCATE, "device-scale", MALLOCS,
     ("", over("mops", "64B {}", DOUBLED))),
    ("device-mixed.svg", "Mixed sizes in kernels, by number of threads",
     "4 to 8192 B per thread, heap of 8 GiB; higher is better",
     "million objects per second", "threads that allocate and free", "device-w2", MALLOCS,
     ("malloc", over("mops", "4..8192B {}", "1K 16K 128K 1M")),
     ("free", over("free_mops", "4..8192B {}", "1K 16K 128K 1M"))),
    ("device-full.svg", "malloc in a nearly full heap",
     "256 B per thread, heap of 1 GiB, free space at random positions; lower is better",
     MICROSECONDS, "free share of the heap in %", "device-w5", MALLOCS,
     ("16K threads", over("us", "256B {} 16K", "50% 10% 1%", "50 10 1")),
     ("4K threads", over("us", "256B {} 4K", "50% 10% 1%", "50 10 1"))),
    ("device-shapes.svg", "malloc in kernels, by shape of the thread block",
     "1M threads, 64 B each, heap of 8 GiB; higher is better",
     "million objects per second",
     "threads of a block; the last three: blocks of the grid, 256 threads each", "device-shapes",
     MALLOCS,
     ("", over("mops", "64B {}", "256x1 32x8 16x16 8x8x4 64x4 48x4 40x6 100x2 33x3")
      + [("64B 256x1 in 1x4096", "mops", "1x4096"), ("64B 16x16 in 64x64", "mops", "64x64"),
         ("64B 8x8x4 in 16x16x16", "mops", "16x16x16")])),

    ("kma-one.svg", "malloc and free of 4 B by one lane",
     "as in figure 4 of the KMA paper; lower is better", "ns per pair", "pairs", "kma-one", KMA,
     ("", over("ns", "{}", "1000 10000 100000", "1k 10k 100k"))),
    ("kma-many.svg", "100 malloc/free pairs per lane",
     "by variance of sizes; as in figure 5 of the KMA paper; higher is better",
     "million pairs per second", "lanes", "kma-many", KMA,
     ("64 B", over("mpairs", "none {}", *KMA_LANES)),
     ("32 to 128 B", over("mpairs", "low {}", *KMA_LANES)),
     ("4 to 2048 B", over("mpairs", "high {}", *KMA_LANES))),
    ("kma-arraylist.svg", "10 elements per lane, from malloc or from a list",
     "nothing is freed; as in figure 6 of the KMA paper; lower is better",
     MICROSECONDS, "lanes", "kma-arraylist", KMA,
     *[(what, over("us", what.replace(",", "").replace(" B", "B") + " {}", *KMA_FEW))
       for what in ("malloc, 4 B", "list, 4 B", "list, 8 B")]),
    ("kma-tree.svg", "From a list of edges to a graph",
     "64K edges, 10,000 nodes; as in figure 7 of the KMA paper; lower is better",
     MICROSECONDS, "lanes", "kma-tree", KMA,
     ("", over("us", "64K {}", "64 256 384 1536 4K 16K 64K", "64 256 384 1.5K 4K 16K 64K"))),

    ("xmalloc-lanes.svg", "malloc, write, read and free of 4 B",
     "one kernel, heap of 500 MiB; as in figure 2 of the XMalloc paper; lower is better",
     "ns per object", "workers per warp", "xmalloc-time", XMALLOC,
     ("1M workers", over("ns", "1M {}", LANES)), ("16K workers", over("ns", "16K {}", LANES))),
    ("xmalloc-coalesce.svg", "Coalesced requests of a warp, without buffers",
     "malloc, write, read, free; as in figure 5 of the XMalloc paper; lower is better",
     "ns per object", "workers per warp", "xmalloc-coalesce", XMALLOC,
     ("16K workers", over("ns", "16K {}", LANES)), ("1M workers", over("ns", "1M {}", "32"))),
    ("xmalloc-buffers.svg", "Buffers of free blocks, by number of buffers",
     "malloc, write, read, free; as in figure 6 of the XMalloc paper; lower is better",
     "ns per request of a warp", "buffers per size class", "xmalloc-buffers", XMALLOC,
     ("1 worker per warp", over("request_ns", "16K 1 {}", BUFFERS)),
     ("32 workers per warp", over("request_ns", "1M 32 {}", BUFFERS))),
    ("xmalloc-speedup.svg", "Speedup of XMalloc, measured and published",
     "relative to the base; of 16 buffers: relative to one buffer; higher is better",
     "speedup",
     "xmcMalloc; as published; heap one quarter full; coalescing alone; 16 buffers",
     "xmalloc-speedup", SPEEDUPS,
     ("", over("times", "{}", "time time_256 prefilled coalesce buffers",
               "xmcMalloc published prefilled coalesce buffers"))),

    *[(f"mpi-{work}.svg", f"{work.capitalize()} work on each thread's own memory",
       f"{what} of n floats, 12 blocks of 1024 threads; higher is better",
       ("Gflop/s", "speedup over the base alone"), "floats per thread", "mpi-" + work, COALESCERS,
       ("Gflop/s", over("gflops", "{}", FLOATS)), ("speedup", over("speedup", "{}", HUNDREDS)))
      for work, what in (("linear", "sum"), ("quadratic", "products of all pairs"))],
    ("mpi-speedup.svg", "Speedup of work and messages over the base alone",
     "as in figures 3 and 5 of Coalescing Memory Allocations for GPU MPI; higher is better",
     "speedup over the base alone", "floats per thread, or operation", "mpi-speedup", COALESCERS,
     ("linear", over("times", "linear {}", HUNDREDS)),
     ("quadratic", over("times", "quadratic {}", HUNDREDS)),
     ("messages", over("times", "{}", "reduce broadcast all-to-all", "red. bcast a2a"))),
    ("mpi-operations.svg", "Operations of threads that exchange messages",
     "median of ranks and of runs; published on a smaller GPU; lower is better",
     "milliseconds", "operation", "mpi-operations", RANKS,
     ("", over("median_ms", "{}", "reduce broadcast all-to-all"))),

    ("model-atomic.svg", "Atomics of many threads on one word",
     "mean per thread; as in figure 1 of the random-walk paper; lower is better",
     ("clocks", "nanoseconds"), "threads", "model-atomic", MEASURED,
     ("clocks", over("clocks", "{}", CONTENDED)), ("ns", over("ns", "{}", CONTENDED))),
    ("model-scenarios.svg", "Five ways to allocate memory in a kernel",
     "4096*: freed at once; as in figure 2 of the random-walk paper; lower is better",
     MICROSECONDS, "bytes per request", "model-malloc", MEASURED_PAGES,
     *[(f"{threads} threads",
        over("us", f"4M 100% {threads} {{}}", "4096B+free 4096B 4100B 8192B 4..8192B",
             "4096* 4096 4100 8192 mix")) for threads in ("1K", "16K")]),
    *[(f"model-{name}{low}.svg", title, PAPER_4_11, unit, THREADS_ALLOCATE, "model-get", EQUATIONS,
       *shares(metric, "1000000 SHARE {}", THREADS, *of))
      for name, title, unit, metric in (
          ("tas", "Steps until a thread finds a page (TAS)", "steps", "tas"),
          ("was", "Steps of the slowest thread of a warp (WAS)", "steps", "was"),
          ("time", "Time of a kernel in which each thread allocates a page", MICROSECONDS, "us"))
      for low, of in (("", ("50%", "10%", "1%")), ("-low", ("0.7%", "0.5%")))],
    ("model-large.svg", "Time of a kernel in which each thread allocates a page",
     "32M pages; lower is better",
     MICROSECONDS, THREADS_ALLOCATE, "model-get", EQUATIONS,
     *shares("us", "32M SHARE {}", "16K 128K 1M", "50%", "10%"),
     *shares("us", "32M SHARE {}", "16K 128K", "1%")),
    ("model-ratio.svg", "Steps of RW-BM relative to CoRW",
     "WAS, 5,000 threads, 1M pages; as in figure 5 of the random-walk paper",
     "ratio of steps", "free pages (% of all)", "model-ratio", MEASURED,
     ("", over("times", "1000000 {}% 5000", "50 20 10 5 2 1 0.8 0.7 0.5"))),
    ("model-found.svg", "Free pages that a warp sees in one step",
     "10,000 warps, and a normal distribution; as in figure 6 of the random-walk paper",
     "share of warps", "standard deviations from the mean of (9)", "model-found", MEASURED,
     *shares("share", "SHARE {}", "-3 -2 -1 0 1 2 3", "10%", "5%", "1%")),
    ("model-clusters.svg", "Steps of a thread that remembers its last page (TAS)",
     "1,000 threads, later pages; as in figure 8 of the random-walk paper; lower is better",
     "steps", "clusters of free pages, of A free ones", "model-again", CACHED,
     *shares("tas", "SHARE {} 1000", ("/100 /2 /1", ".01A .5A A"), "10%", "1%", "0.5%")),
    ("model-again.svg", "Steps of a warp's slowest thread that remembers its page (WAS)",
     "free pages at random positions; as in figure 9 of the random-walk paper; lower is better",
     "steps", THREADS_ALLOCATE, "model-again", CACHED,
     *shares("was", "SHARE /1 {}", ("250 500 1000", "250 500 1k"), "10%", "1%", "0.5%")),
    ("model-lanes.svg", "Page allocation by some lanes of each of 156 warps",
     "1M pages; as in figures 12 and 13 of the random-walk paper; lower is better",
     MICROSECONDS, "active lanes per warp", "model-lanes", MEASURED_PAGES,
     *shares("us", "1000000 SHARE {}", (" ".join(f"{156 * int(n)}~x{n}" for n in SOME_LANES.split()),
                                        SOME_LANES), "5%", "1%", "0.5%")),
    ("model-malloc.svg", "Allocation of several contiguous pages",
     "1K threads; 4K*: freed at once; as in figure 14 of the random-walk paper; lower is better",
     MICROSECONDS, "bytes per request", "model-malloc", MEASURED_PAGES,
     *shares("us", "4M SHARE 1K {}", REQUESTS, "50%", "10%", "1%")),
    ("model-use.svg", "Memory in use when 1% of the requests fail",
     "pages of 256 B; as in figure 15 of the random-walk paper; higher is better",
     "share of all bytes", "bytes per request", "model-use", MEASURED_PAGES,
     ("", over("used_ratio", "{}", "256B 512B 1024B 1050B 2048B 4096B 4100B 8192B",
               "256 512 1024 1050 2048 4096 4100 8192"))),
    ("model-give.svg", "Clocks of a thread that frees a page",
     "1M pages; as in figure 16 of the random-walk paper; lower is better",
     "clocks", "threads that free", "model-give", MEASURED_PAGES,
     *shares("clocks", "SHARE {}", (THREADS[0] + " 125K", THREADS[1] + " 125K"), "50%"),
     *shares("clocks", "SHARE {}", THREADS, "1%")),

    *[(f"case-{case}{end}.svg", title, subtitle, unit, axis, "case-" + case, CASES,
       *shares(metric, "{} SHARE", sizes, "100%", "50%", "5%"))
      for case, what, kind, number, axis, sizes in (
          ("join", "a hash join", "two tables", 17, "tuples per table", JOIN),
          ("group", "a group-by", "32-bit Gaussian keys", 18, "keys", GROUP))
      for end, title, subtitle, unit, metric in (
          ("", "Time of " + what, f"{kind}, " + HEAP_SHARE % number, "time of kernels in µs", "us"),
          ("-memory", "Peak memory of " + what, "without its inputs; lower is better", "MiB",
           "peak_mib"))],
]

# The bars of footprint.svg: percent above live memory, of physical memory if that differs from
# reserved addresses. Each trace of workload replay is a group, too.
FOOTPRINT = ("footprint.svg", "Memory held beyond live memory",
             "peak held memory above peak live memory, in %; lower is better")
FOOTPRINT_TRAINING = ("training", "growing", "synthetic training run, 33.6 GiB live")
FOOTPRINT_METRICS = ("physical_ratio", "reserved_ratio")
