# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for PyTorch, CuPy, Numba and RMM: the parts of their interfaces that the adapters of mam use.

Each install_*() puts a module into sys.modules. They call the functions that mam gives them as the real library does.
"""

import contextlib
import ctypes
import sys
import types
import weakref
from ctypes import c_int, c_size_t, c_ssize_t, c_void_p


def _module(name, **contents):
    module = types.ModuleType(name)
    module.__dict__.update(contents)
    sys.modules[name] = module
    return module


class Plug:
    """torch.cuda.memory.CUDAPluggableAllocator, and the object that its allocator() returns."""

    def __init__(self, path, alloc, free):
        library = ctypes.CDLL(path)
        self.alloc = ctypes.CFUNCTYPE(c_void_p, c_ssize_t, c_int, c_void_p)((alloc, library))
        self.free = ctypes.CFUNCTYPE(None, c_void_p, c_ssize_t, c_int, c_void_p)((free, library))
        self.record_stream = self.reset = None

    def allocator(self):
        return self

    def set_record_stream_fn(self, address):
        self.record_stream = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)(address)

    def set_reset_fn(self, address):
        self.reset = ctypes.CFUNCTYPE(None)(address)


class MemPool:
    """torch.cuda.MemPool: an allocator, without PyTorch's cache over it."""

    def __init__(self, allocator=None):
        self.allocator = allocator


def install_torch():
    """`state.current` is the allocator; once `state.is_used` is set, it cannot be changed. `state.pool` is the MemPool in
    use, and `state.device` the current device."""
    state = types.SimpleNamespace(current="PyTorch's own", is_used=False, pool=None, device=0)

    @contextlib.contextmanager
    def use_mem_pool(pool, device=None):
        state.pool, before = pool, state.pool
        yield
        state.pool = before

    def change(allocator):
        if state.is_used:
            raise RuntimeError("Can't swap an already initialized allocator\nException raised from here")
        state.current = allocator

    memory = _module("torch.cuda.memory", CUDAPluggableAllocator=Plug, change_current_allocator=change)
    cuda = _module("torch.cuda", memory=memory, MemPool=MemPool, use_mem_pool=use_mem_pool,
                   current_device=lambda: state.device)
    private = types.SimpleNamespace(_cuda_getAllocator=lambda: state.current, _cuda_changeCurrentAllocator=change)
    _module("torch", cuda=cuda, _C=private, device=lambda name: types.SimpleNamespace(index=int(name[len("cuda:"):])))
    return state


class CuPyMemory:
    """cupy.cuda.MemoryPointer of a CFunctionAllocator: freed with the parameter of its allocator."""

    def __init__(self, parameter, size, alloc, free):
        self.ptr = alloc(parameter, size, 0) or 0
        weakref.finalize(self, free, parameter, self.ptr, 0)


class CFunctionAllocator:
    def __init__(self, parameter, alloc, free, owner):
        self.parameter = parameter
        self.alloc = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_int)(alloc)
        self.free = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_int)(free)

    def malloc(self, size):
        return CuPyMemory(self.parameter, size, self.alloc, self.free)


def install_cupy():
    """`state.allocator` is the current allocator, `state.stream` the current stream's handle."""
    state = types.SimpleNamespace(allocator="CuPy's own", stream=0)
    cuda = _module(
        "cupy.cuda",
        CFunctionAllocator=CFunctionAllocator,
        get_allocator=lambda: state.allocator,
        set_allocator=lambda allocator: setattr(state, "allocator", allocator),
        get_current_stream=lambda: types.SimpleNamespace(ptr=state.stream),
    )
    _module("cupy", cuda=cuda)
    return state


class MemoryPointer:
    """numba.cuda.MemoryPointer: calls the finalizer when it is collected."""

    def __init__(self, context, pointer, size, owner=None, finalizer=None):
        self.context, self.device_pointer, self.size = context, pointer, size
        if finalizer is not None:
            self.free = weakref.finalize(self, finalizer)

    @property
    def device_pointer_value(self):
        return self.device_pointer.value


class HostOnlyCUDAMemoryManager:
    def __init__(self, *args, **kwargs):
        self.context = kwargs.pop("context")
        self.is_deferring = False
        self.was_reset = False

    def reset(self):
        self.was_reset = True

    @contextlib.contextmanager
    def defer_cleanup(self):
        self.is_deferring = True
        yield
        self.is_deferring = False


class GetIpcHandleMixin:
    def get_ipc_handle(self, memory):
        return "handle", memory


class NumbaDriver:
    """The functions of the driver that numba.cuda.cudadrv.driver.driver passes on, with errors as exceptions."""

    def __getattr__(self, name):
        function = getattr(ctypes.CDLL("libcuda.so.1"), name + "_v2")

        def call(*arguments):
            if function(*arguments) != 0:
                raise RuntimeError(name)

        return call


def install_numba():
    """`state.manager` is the class of the memory manager."""
    state = types.SimpleNamespace(manager=None)

    def set_memory_manager(manager):
        if manager(context=None).interface_version != 1:
            raise RuntimeError("interface version")
        state.manager = manager

    driver = _module(
        "numba.cuda.cudadrv.driver",
        USE_NV_BINDING=False,
        drvapi=types.SimpleNamespace(cu_device_ptr=ctypes.c_uint64),
        driver=NumbaDriver(),
    )
    cudadrv = _module("numba.cuda.cudadrv", driver=driver)
    cuda = _module(
        "numba.cuda",
        cudadrv=cudadrv,
        MemoryPointer=MemoryPointer,
        MemoryInfo=lambda free, total: types.SimpleNamespace(free=free, total=total),
        HostOnlyCUDAMemoryManager=HostOnlyCUDAMemoryManager,
        GetIpcHandleMixin=GetIpcHandleMixin,
        set_memory_manager=set_memory_manager,
    )
    _module("numba", cuda=cuda)
    return state


def install_rmm():
    class CallbackMemoryResource:
        def __init__(self, allocate, free):
            self.allocate, self.free = allocate, free

    _module("rmm", mr=types.SimpleNamespace(CallbackMemoryResource=CallbackMemoryResource))


class RMMStream:
    """rmm.pylibrmm.stream.Stream, of which the adapter uses the protocol."""

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return 0, self.handle
