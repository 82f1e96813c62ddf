# SPDX-License-Identifier: Apache-2.0
"""mam as the allocator of PyTorch, CuPy and RMM, for the programs in this folder, and the counters of its pool.

A library is named by its path: libmam.so as installed, in ../lib relative to the mam command.
"""

import ctypes
import os
import sys

# struct mam_stats of <mam/stats.h>, in order: its own size, then numbers of 8 bytes.
FIELDS = """size live_blocks live_bytes live_rounded_bytes peak_live_blocks peak_live_bytes
    peak_live_rounded_bytes chunks reserved_bytes peak_reserved_bytes high_water_bytes segments
    free_blocks free_block_bytes largest_free_block_bytes largest_free_bytes allocs frees failures grows shrinks host_bytes
    retired_blocks retired_bytes peak_retired_bytes physical_bytes peak_physical_bytes remaps
    driver_calls driver_ns cached_blocks cached_bytes suspended_bytes""".split()


def load(path):
    library = ctypes.CDLL(path)
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    library.mam_rmm_alloc.restype = pointer
    library.mam_rmm_alloc.argtypes = [size, pointer, pointer]
    library.mam_rmm_free.argtypes = [pointer, size, pointer, pointer]
    library.mam_rmm_free.restype = None
    return library


def address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def stats(path, device=0):
    """The numbers of a device's default pool by name."""
    library, pool = load(path), ctypes.c_void_p()
    numbers = (ctypes.c_uint64 * len(FIELDS))(8 * len(FIELDS))
    status = library.mam_pool_default(device, ctypes.byref(pool))
    status = status or library.mam_pool_stats(pool, numbers)
    if status:
        raise RuntimeError(f"mam_pool_stats answers {status}")
    return dict(zip(FIELDS, numbers))


def report(path, device=0):
    """The peaks in the format of the loops."""
    found = stats(path, device)
    for key in ("peak_live_bytes", "peak_reserved_bytes", "peak_physical_bytes", "remaps",
                "driver_calls", "driver_ns"):
        print(f"{key} {found[key]}", file=sys.stderr)


def torch_report():
    """The same keys of PyTorch's own statistics; reserved means allocated from the driver."""
    import torch
    print(f"peak_live_bytes {torch.cuda.max_memory_allocated()}", file=sys.stderr)
    print(f"peak_reserved_bytes {torch.cuda.max_memory_reserved()}", file=sys.stderr)
    print(f"peak_physical_bytes {torch.cuda.max_memory_reserved()}", file=sys.stderr)
    ratio = torch.cuda.max_memory_reserved() / torch.cuda.max_memory_allocated()
    print(f"torch_reserved_ratio {ratio:.4f}", file=sys.stderr)


def add_options(parser):
    """The options of the programs for PyTorch."""
    parser.add_argument("--plug", metavar="LIBMAM", help="let mam allocate, by this libmam.so")
    parser.add_argument("--extension", action="store_true", help="let mam allocate, by PyTorch's own interface")


def use(options):
    """Call it before the first tensor on a GPU."""
    if options.plug:
        torch(options.plug)
    elif options.extension:
        import mam
        mam.torch.enable(extension=True)


def report_peaks(options):
    if options.plug:
        report(options.plug)
    elif not os.environ.get("PYTORCH_NO_CUDA_MEMORY_CACHING"):
        torch_report()


def torch(path):
    """Call it before the first tensor on a GPU."""
    from torch.cuda import memory
    library = load(path)
    plug = memory.CUDAPluggableAllocator(path, "mam_torch_alloc", "mam_torch_free")
    for setter, function in (("set_record_stream_fn", library.mam_torch_record_stream),
                             ("set_reset_fn", library.mam_torch_empty_cache)):
        if hasattr(plug.allocator(), setter):
            getattr(plug.allocator(), setter)(address(function))
        else:
            print(f"plug: this PyTorch has no {setter}", file=sys.stderr)
    memory.change_current_allocator(plug)


def cupy(path, stream=0):
    """All blocks in the order of one stream, by default CuPy's default stream."""
    import cupy as module
    library = load(path)
    blocks = module.cuda.CFunctionAllocator(stream, address(library.mam_cupy_alloc),
                                            address(library.mam_cupy_free), library)

    def alloc(size):
        block = blocks.malloc(size)
        if size and not block.ptr:
            raise module.cuda.memory.OutOfMemoryError(size, -1)
        return block

    module.cuda.set_allocator(alloc)
