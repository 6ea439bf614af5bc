#!/usr/bin/env python3
"""Compiles the kernels below by Triton, runs them on the machine's NVIDIA GPU, and writes for each a folder as Triton's
cache has it, with PTX (without debugging information) and JSON, and what the GPU answered (h200.bin):

    python3 tests/exec/triton/make.py tests/exec/triton

Needs torch and triton (2.11 and 3.6 made what is there). Inputs are patterns that numbers of a counter give, so that
triton_test.cpp makes the same ones.
"""

import glob
import json
import os
import re
import sys
import tempfile

os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()

import numpy as np
import torch
import triton
import triton.language as tl

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn,
         "i8": torch.int8, "i32": torch.int32}


def random(seed, count):
    """splitmix64 of a counter."""
    z = (np.arange(count, dtype=np.uint64) + np.uint64(seed << 32) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def patterns(kind, seed, count):
    """Floats of magnitudes from 1/8 to 2, any bytes, or integers below a number."""
    word = lambda n: np.uint64(n)
    r = random(seed, count)
    size = (r >> word(32)) & word(3)
    if kind == "f32":
        return ((r & word(0x80000000)) | ((word(124) + size) << word(23)) | (r & word(0x7FFFFF))).astype(np.uint32)
    if kind == "f16":
        return ((r & word(0x8000)) | ((word(12) + size) << word(10)) | (r & word(0x3FF))).astype(np.uint16)
    if kind == "bf16":
        return ((r & word(0x8000)) | ((word(124) + size) << word(7)) | (r & word(0x7F))).astype(np.uint16)
    if kind == "e4m3":
        return (r & word(0xBF)).astype(np.uint8)
    if kind == "i8":
        return (r & word(0xFF)).astype(np.uint8)
    return (r % word(int(kind.removeprefix("below")))).astype(np.uint32)


def inputs(kind, seed, count):
    bits = patterns(kind, seed, count)
    tensor = torch.from_numpy(bits.view({1: np.int8, 2: np.int16, 4: np.int32}[bits.itemsize]).copy()).cuda()
    return tensor.view(TYPES[kind]) if kind in TYPES else tensor


def outputs(kind, count):
    return torch.zeros(count, dtype=TYPES[kind], device="cuda")


def save(name, kernel, output):
    torch.cuda.synchronize()
    folder = os.path.join(sys.argv[1], name)
    os.makedirs(folder, exist_ok=True)
    ptx = kernel.asm["ptx"]
    cached = next(f for f in glob.glob(os.environ["TRITON_CACHE_DIR"] + "/*/*.ptx") if open(f).read() == ptx)
    metadata = json.load(open(cached[:-4] + ".json"))
    for key in ("extern_libs", "hash"):
        metadata.pop(key, None)
    end = ptx.find("\n\t.file\t1")
    ptx = (ptx[:end] + "\n" if end > 0 else ptx).replace(", debug", "")
    ptx = re.sub(r"\n(\t\.loc\t|\$L__tmp\d+:|\$L__func_(begin|end)\d+:)[^\n]*", "", ptx)
    path = os.path.join(folder, kernel.metadata.name)
    open(path + ".ptx", "w").write(ptx)
    open(path + ".json", "w").write(json.dumps(metadata, indent=1) + "\n")
    open(os.path.join(folder, "h200.bin"), "wb").write(output.view(torch.uint8).cpu().numpy().tobytes())


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


def vector_add():
    n = 5000
    out = outputs("f32", n)
    save("vector_add", add_kernel[(5,)](inputs("f32", 1, n), inputs("f32", 2, n), out, n, BLOCK=1024), out)


@triton.jit
def softmax_kernel(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    v = tl.load(x + row * stride + column, mask=inside, other=-float("inf"))
    v = v - tl.max(v, axis=0)
    e = tl.exp(v)
    tl.store(out + row * stride + column, e / tl.sum(e, axis=0), mask=inside)


def softmax():
    rows, columns = 16, 200
    out = outputs("f32", rows * columns)
    kernel = softmax_kernel[(rows,)](inputs("f32", 3, rows * columns), out, columns, columns, BLOCK=256)
    save("softmax", kernel, out)


@triton.jit
def norm_kernel(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    v = tl.load(x + row * columns + column, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / columns
    d = tl.where(inside, v - mean, 0.0)
    variance = tl.sum(d * d, axis=0) / columns
    scaled = d * (1 / tl.sqrt(variance + epsilon)) * tl.load(weight + column, mask=inside)
    tl.store(out + row * columns + column, scaled + tl.load(bias + column, mask=inside), mask=inside)


def layer_norm():
    rows, columns = 16, 384
    out = outputs("f32", rows * columns)
    kernel = norm_kernel[(rows,)](inputs("f16", 4, rows * columns), inputs("f32", 5, columns),
                                  inputs("f32", 6, columns), out, columns, 1e-5, BLOCK=512)
    save("layer_norm", kernel, out)


@triton.jit
def product_kernel(a, b, c, M, N, K, OUT: tl.constexpr, SUM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                   BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    left = a + m[:, None] * K + k[None, :]
    right = b + k[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), dtype=SUM)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(left), tl.load(right), total, out_dtype=SUM)
        left += BK
        right += BK * N
    tl.store(c + m[:, None] * N + n[None, :], total.to(OUT))


def product(name, kind, shape, block, warps, stages, out_type, sum_type, kind_out):
    M, N, K = shape
    BM, BN, BK = block
    out = outputs(kind_out, M * N)
    kernel = product_kernel[(M // BM, N // BN)](inputs(kind, 7, M * K), inputs(kind, 8, K * N), out, M, N, K,
                                                OUT=out_type, SUM=sum_type, BM=BM, BN=BN, BK=BK, num_warps=warps,
                                                num_stages=stages)
    save(name, kernel, out)


@triton.jit
def attention_kernel(q, k, v, out, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    base = tl.program_id(1) * N * D
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    queries = tl.load(q + base + m[:, None] * D + d[None, :])
    largest = tl.full((BM,), -float("inf"), tl.float32)
    sums = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, N, BN):
        n = start + tl.arange(0, BN)
        scores = tl.dot(queries, tl.load(k + base + n[None, :] * D + d[:, None])) * scale
        now = tl.maximum(largest, tl.max(scores, 1))
        p = tl.exp2(scores - now[:, None])
        factor = tl.exp2(largest - now)
        sums = sums * factor + tl.sum(p, 1)
        values = tl.load(v + base + n[:, None] * D + d[None, :])
        total = tl.dot(p.to(tl.float16), values, total * factor[:, None])
        largest = now
    tl.store(out + base + m[:, None] * D + d[None, :], (total / sums[:, None]).to(tl.float16))


def flash_attention():
    heads, N, D = 2, 128, 64
    count = heads * N * D
    out = outputs("f16", count)
    kernel = attention_kernel[(N // 64, heads)](inputs("f16", 9, count), inputs("f16", 10, count),
                                                inputs("f16", 11, count), out, 0.18033688, N, D=D, BM=64, BN=64,
                                                num_warps=4, num_stages=2)
    save("flash_attention", kernel, out)


@triton.jit
def experts_kernel(x, weights, tokens, experts, out, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    token = tl.load(tokens + m)
    expert = tl.load(experts + tl.program_id(0))
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        left = tl.load(x + token[:, None] * K + (start + k)[None, :])
        right = tl.load(weights + expert * K * N + (start + k)[:, None] * N + n[None, :])
        total = tl.dot(left, right, total)
    tl.store(out + m[:, None] * N + n[None, :], total)


def mixture_of_experts():
    tokens, K, N, experts, rows = 96, 128, 64, 4, 128
    out = outputs("f32", rows * N)
    kernel = experts_kernel[(rows // 32, N // 32)](inputs("bf16", 12, tokens * K), inputs("bf16", 13, experts * K * N),
                                                   inputs("below96", 14, rows), inputs("below4", 15, rows // 32), out,
                                                   K, N, BM=32, BN=32, BK=32, num_warps=4)
    save("mixture_of_experts", kernel, out)


vector_add()
softmax()
layer_norm()
flash_attention()
mixture_of_experts()
product("product_f16", "f16", (128, 128, 256), (64, 64, 64), 4, 3, tl.float16, tl.float32, "f16")
product("product_bf16", "bf16", (256, 128, 128), (128, 128, 64), 8, 3, tl.float32, tl.float32, "f32")
product("product_e4m3", "e4m3", (128, 64, 256), (64, 64, 64), 4, 2, tl.float32, tl.float32, "f32")
product("product_i8", "i8", (128, 64, 256), (64, 64, 64), 4, 2, tl.int32, tl.int32, "i32")
product("product_tf32", "f32", (64, 64, 64), (64, 64, 32), 4, 2, tl.float32, tl.float32, "f32")
