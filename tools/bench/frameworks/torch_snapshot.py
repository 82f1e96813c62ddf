#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a PyTorch program with its allocator's history recorded, and dump a memory snapshot at its end.

    torch_snapshot.py --dump FILE.pickle torch_gnn.py --steps 10

`mam replay FILE.pickle` replays the program's requests. stderr ends with PyTorch's own peaks, for
comparison.
"""

import argparse
import os
import runpy
import sys

import torch


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dump", metavar="FILE", required=True, help="where the snapshot goes")
    parser.add_argument("--entries", type=int, default=1_000_000, help="most events that are kept")
    parser.add_argument("--late", action="store_true",
                        help="begin to record only once there are blocks alive")
    parser.add_argument("--stacks", default="python", help="python, all, or none")
    parser.add_argument("--oom", action="store_true", help="end with a request that cannot be met")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    kept = []
    if options.late:
        kept = [torch.zeros(1 << 20, device="cuda") for _ in range(8)]
    stacks = {"context": None} if options.stacks == "none" else {"stacks": options.stacks}
    torch.cuda.memory._record_memory_history(max_entries=options.entries, **stacks)
    sys.argv = [options.program, *options.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.program)))
    try:
        runpy.run_path(options.program, run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
    del kept[::2]
    if options.oom:
        try:
            torch.empty(1 << 42, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError:
            print("out of memory, as asked", file=sys.stderr)
    torch.cuda.memory._dump_snapshot(options.dump)
    stats = torch.cuda.memory_stats()
    for name, key in (("peak_requested_bytes", "requested_bytes.all.peak"),
                      ("peak_allocated_bytes", "allocated_bytes.all.peak"),
                      ("peak_reserved_bytes", "reserved_bytes.all.peak")):
        print(name, stats[key], file=sys.stderr)


main()
