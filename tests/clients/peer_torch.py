# SPDX-License-Identifier: Apache-2.0
"""PyTorch with mam as its allocator, tensors on two devices: python3 peer_torch.py LIBMAM

Copies between the devices, by copy_, to() and a gather, over sizes that make both pools grow. Prints how many words
were wrong. Status: 0, and "all is well" last; 77 without PyTorch or a second device.
"""
import sys

try:
    import torch
    from torch.nn.parallel import comm
except ImportError:
    sys.exit(77)
if torch.cuda.device_count() < 2:
    sys.exit(77)

torch.cuda.memory.change_current_allocator(
    torch.cuda.memory.CUDAPluggableAllocator(sys.argv[1], "mam_torch_alloc", "mam_torch_free"))

wrong = 0
kept = []
for size in (1024, 1 << 16, 1 << 20, 1 << 24):
    for source, target in ((0, 1), (1, 0)):
        words = torch.arange(size, device=f"cuda:{source}", dtype=torch.int32) * 3 + size + source
        host = words.cpu()
        by_to = words.to(f"cuda:{target}")
        by_copy = torch.empty_like(by_to)
        by_copy.copy_(words, non_blocking=True)
        torch.cuda.synchronize(source)
        torch.cuda.synchronize(target)
        for got in (by_to, by_copy):
            wrong += int((got.cpu() != host).sum())
        kept.append((by_to, host))
gathered = comm.gather([torch.full((1000, 100), 1.5, device=f"cuda:{i}") for i in range(2)], dim=0, destination=0)
wrong += int((gathered.cpu() != 1.5).sum())
for tensor, host in kept:
    wrong += int((tensor.cpu() != host).sum())
print(f"{wrong} wrong words")
print("something is wrong" if wrong else "all is well")
sys.exit(1 if wrong else 0)
