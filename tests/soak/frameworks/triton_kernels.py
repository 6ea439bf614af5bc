"""A sum, a softmax and a product that Triton compiles, against the CPU."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, count, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    inside = i < count
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def softmax(out, x, columns, block: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, block)
    values = tl.load(x + row * columns + column, mask=column < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + column, powers / tl.sum(powers, 0), mask=column < columns)


@triton.jit
def product(a, b, c, size, tile: tl.constexpr):
    row = tl.program_id(0) * tile + tl.arange(0, tile)
    column = tl.program_id(1) * tile + tl.arange(0, tile)
    inner = tl.arange(0, tile)
    total = tl.zeros((tile, tile), dtype=tl.float32)
    for k in range(0, size, tile):
        left = tl.load(a + row[:, None] * size + (k + inner)[None, :])
        total += tl.dot(left, tl.load(b + (k + inner)[:, None] * size + column[None, :]))
    tl.store(c + row[:, None] * size + column[None, :], total)


def main():
    torch.manual_seed(1)
    x, y = torch.rand(5000), torch.rand(5000)
    out = torch.zeros(5000).to("cuda")
    add[(5,)](x.to("cuda"), y.to("cuda"), out, 5000, block=1024)
    errors = {"sum": (out.cpu() - (x + y)).abs().max().item()}
    rows = torch.randn(64, 500)
    out = torch.zeros(64, 500).to("cuda")
    softmax[(64,)](out, rows.to("cuda"), 500, block=512)
    errors["softmax"] = (out.cpu() - torch.softmax(rows, 1)).abs().max().item()
    size = 512
    a, b = torch.randn(size, size).half(), torch.randn(size, size).half()
    out = torch.zeros(size, size).to("cuda")
    product[(size // 64, size // 64)](a.to("cuda"), b.to("cuda"), out, size, tile=64)
    expected = a.float() @ b.float()
    errors["product"] = ((out.cpu() - expected).abs().max() / expected.abs().max()).item()
    right = errors["sum"] == 0 and errors["softmax"] < 1e-6 and errors["product"] < 1e-5
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    print("right" if right else f"wrong: {errors}", sms, "sum, softmax and product", sep="; ")


main()
