"""PyTorch's own kernels, cuBLAS and a CUDA graph: machine code alone. Says SMs, rate, and what more memory than the share does."""

import sys
import time

import torch

host = torch.randn(300, 200), torch.randn(200, 100)
product = (host[0].cuda() @ host[1].cuda()).cpu()
wrong = (product - host[0] @ host[1]).abs().max().item()
size = 8192
x = torch.rand(size, size, device="cuda").half()
graph = torch.cuda.CUDAGraph()
x @ x
torch.cuda.synchronize()
with torch.cuda.graph(graph):
    y = x @ x
graph.replay()
torch.cuda.synchronize()
begin, count = time.time(), 0
while time.time() - begin < float(sys.argv[1]):
    for _ in range(10):
        graph.replay()
    torch.cuda.synchronize()
    count += 10
rate = count * 2 * size**3 / (time.time() - begin) / 1e12
total = torch.cuda.get_device_properties(0).total_memory
refused = 0
held = []
for share in (0.85, 0.3):
    try:
        held.append(torch.empty(int(total * share), dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError:
        refused += 1
print("right" if wrong < 1e-3 and refused == 1 and len(held) == 1 else f"wrong: {wrong}, {refused} refused",
      torch.cuda.get_device_properties(0).multi_processor_count, f"{rate:.0f} TFLOP/s", sep="; ")
