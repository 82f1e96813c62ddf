#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One rank of a program on several GPUs, started by torchrun: NCCL's all-reduce, DDP and FSDP, with one allocator.

    torchrun --nproc-per-node 2 torch_ranks.py FOLDER MODE LIMIT PART[,PART...] [OPTION...]

PART is allreduce, ddp or fsdp; OPTION is one of plug.py. Each part runs in a process of its own, for LIMIT seconds at
most, forked from this one, which has imported PyTorch. The first part starts when there is a file FOLDER/MODE.go, so
several of these may import PyTorch at the same time, and then use the GPUs one by one.

FOLDER/MODE.PART.RANK.out and .err have the output of a part. allreduce: lines "BYTES KIND GB_PER_S", where KIND is
plain, registered (ncclCommRegister) or ncclmem (ncclMemAlloc, registered; with PyTorch's own allocator alone), and
each sum is checked. ddp and fsdp: the loss of each step, exactly. .err also has ms_per_step (the mean of the second
half), device_before and device_peak (memory in use on the GPU, by NVML, when NCCL is ready and at the most) and status.
"""

import argparse
import ctypes
import os
import random
import signal
import sys
import time
import traceback

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import plug  # noqa: E402
import torch  # noqa: E402  (cuBLAS reads the variable when it starts)
import torch.distributed as distributed  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch_gpt2 import WIDTH, Block  # noqa: E402
from torch_modes import DeviceMemory  # noqa: E402

RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
ORDINAL = int(os.environ.get("LOCAL_RANK", "0"))
SIZES = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 512 << 20]
STEPS = 24
WORDS, BLOCKS, LONGEST, BATCH = 16384, 8, 768, 8
FLOAT, SUM = 7, 0  # of NCCL
PR_SET_PDEATHSIG = 1  # of Linux


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm, self.scores = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.scores(self.norm(x))


def train(part, device):
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    model = Model().to(device)
    if part == "fsdp":
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
    else:
        model = nn.parallel.DistributedDataParallel(model, device_ids=[ORDINAL])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    lengths = random.Random(1)
    generator = torch.Generator().manual_seed(2 + RANK)
    times = []
    for step in range(STEPS):
        length = lengths.randrange(256, LONGEST, 32)
        tokens = torch.randint(0, WORDS, (BATCH, length + 1), generator=generator).to(device)
        distributed.barrier()
        torch.cuda.synchronize()
        start = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16):
            scores = model(tokens[:, :-1])
            loss = functional.cross_entropy(scores.reshape(-1, WORDS).float(), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
        print(f"step {step} length {length} loss {loss.item().hex()}")
    later = times[len(times) // 2:]
    print(f"ms_per_step {1000 * sum(later) / len(later):.3f}", file=sys.stderr)


class Communicator:
    """That of PyTorch, and the functions of NCCL that PyTorch does not call by itself."""

    def __init__(self, device):
        self.pointer = ctypes.c_void_p(distributed.group.WORLD._get_backend(device)._comm_ptr())
        self.library = ctypes.CDLL("libnccl.so.2")

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            raise RuntimeError(f"{name} returns {code}")

    def reduce(self, tensor, stream):
        address = ctypes.c_void_p(tensor.data_ptr())
        self.call("ncclAllReduce", address, address, ctypes.c_size_t(tensor.numel()), FLOAT, SUM, self.pointer, stream)

    def register(self, tensor):
        handle = ctypes.c_void_p()
        self.call("ncclCommRegister", self.pointer, ctypes.c_void_p(tensor.data_ptr()),
                  ctypes.c_size_t(tensor.numel() * 4), ctypes.byref(handle))
        return handle


class Memory:
    """Memory of ncclMemAlloc, as an array for torch.as_tensor."""

    def __init__(self, communicator, count):
        self.address = ctypes.c_void_p()
        communicator.call("ncclMemAlloc", ctypes.byref(self.address), ctypes.c_size_t(4 * count))
        self.__cuda_array_interface__ = {"shape": (count,), "typestr": "<f4", "data": (self.address.value, False),
                                         "version": 2}


def is_right(tensor):
    tensor.fill_(RANK + 1)
    distributed.all_reduce(tensor)
    return bool((tensor == WORLD * (WORLD + 1) / 2).all().item())


def speed(communicator, tensor):
    """GB/s of the fastest of eight batches; ranks of two, so it is NCCL's bus bandwidth too."""
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    size, least = tensor.numel() * 4, float("inf")
    count = max(4, min(200, (2 << 30) // size))
    tensor.fill_(0)
    for batch in range(9):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            communicator.reduce(tensor, stream)
        end.record()
        end.synchronize()
        if batch:
            least = min(least, start.elapsed_time(end) / count)
    return size / 1e6 / least


def all_reduce(device, own):
    communicator = Communicator(device)
    for size in SIZES:
        kinds = ["plain", "registered"] + (["ncclmem"] if own else [])
        for kind in kinds:
            if kind == "ncclmem":
                memory = Memory(communicator, size // 4)
                tensor = torch.as_tensor(memory, device=device)
            else:
                tensor = torch.empty(size // 4, device=device)
            handle = None
            try:
                if kind != "plain":
                    handle = communicator.register(tensor)
                if is_right(tensor):
                    print(size, kind, f"{speed(communicator, tensor):.3f}")
                else:
                    print(size, kind, "wrong")
            except RuntimeError as error:
                print(size, kind, str(error).splitlines()[0].replace(" ", "-"))
            if handle is not None:
                communicator.call("ncclCommDeregister", communicator.pointer, handle)
            sys.stdout.flush()
            del tensor
            if kind == "ncclmem":
                torch.cuda.synchronize()
                communicator.call("ncclMemFree", memory.address)


def play(folder, mode, part, options):
    """In the child."""
    device = torch.device("cuda", ORDINAL)
    plug.use(options)  # before set_device(), which initializes PyTorch's own allocator
    torch.cuda.set_device(device)
    distributed.init_process_group("nccl", init_method=f"file://{folder}/{mode}.{part}.store", rank=RANK,
                                   world_size=WORLD, device_id=device)
    distributed.all_reduce(torch.ones(1, device=device))
    torch.cuda.synchronize()
    print(f"device_before {DeviceMemory(ORDINAL).used()}", file=sys.stderr)
    if part == "allreduce":
        all_reduce(device, mode == "own")
    else:
        train(part, device)
    distributed.barrier()
    torch.cuda.synchronize()


def child(folder, mode, part, options):
    status = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # torchrun ends the parent alone
    for number, kind in (1, "out"), (2, "err"):
        os.dup2(os.open(f"{folder}/{mode}.{part}.{RANK}.{kind}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), number)
    try:
        play(folder, mode, part, options)
        status = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in "folder", "mode", "limit", "parts":
        parser.add_argument(name)
    plug.add_options(parser)
    options = parser.parse_args()
    while not os.path.exists(f"{options.folder}/{options.mode}.go"):
        time.sleep(0.05)
    memory = DeviceMemory(ORDINAL)
    for part in options.parts.split(","):
        deadline, code, peak, process = time.monotonic() + float(options.limit), None, 0, os.fork()
        if process == 0:
            child(options.folder, options.mode, part, options)
        while code is None:
            done, code = os.waitpid(process, os.WNOHANG)
            if not done:
                code, peak = None, max(peak, memory.used())
                time.sleep(0.003)
                if time.monotonic() > deadline:
                    os.kill(process, signal.SIGKILL)
        with open(f"{options.folder}/{options.mode}.{part}.{RANK}.err", "a") as report:
            print(f"device_peak {peak}\nstatus {os.waitstatus_to_exitcode(code)}", file=report)


if __name__ == "__main__":
    main()  # a status other than 0 would end the other ranks
