#!/usr/bin/env python3
"""Frameworks in partitions of a real GPU: inside both walls, and inside compute walls alone; and what others lose by those.

frameworks.py --bulkhead FILE --program FILE [--gpu cuda:0] [--json FILE]

PROGRAM is tests/soak/churn.cu, by nvcc -cudart shared with PTX. Needs PyTorch, Triton, CuPy and JAX for this Python, and
NVIDIA's MPS; changes no setting of the GPU.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).parent / "frameworks"
# Where each is expected to work: PyTorch's own kernels are machine code.
FRAMEWORKS = [("PyTorch", "pytorch.py", "compute"), ("Triton", "triton_kernels.py", "compute"), ("CuPy", "cupy_arrays.py", "compute"),
              ("JAX", "jax_product.py", "compute"), ("Triton", "triton_kernels.py", "both"), ("CuPy", "cupy_arrays.py", "both"),
              ("JAX", "jax_product.py", "both")]
# XLA is to compile products and sorts itself, and to try no kernels against each other with code of its wheel.
XLA_FLAGS = ("--xla_gpu_autotune_level=0 --xla_gpu_triton_gemm_any=true --xla_gpu_cublas_fallback=false "
             "--xla_gpu_enable_cub_radix_sort=false")


def inside(options, walls, partition, words):
    return [options.bulkhead, "isolate", "run", "--gpu", options.gpu, "--walls", walls, "--partition", partition, "--", *words]


def framework(options, walls, name, script, beside):
    begin = time.monotonic()
    done = subprocess.run(inside(options, walls, "A", [sys.executable, str(FOLDER / script), "5"]), text=True, check=False,
                          capture_output=True, env={**os.environ, "XLA_FLAGS": XLA_FLAGS} if walls == "both" else None)
    last = (done.stdout.strip().splitlines() or [""])[-1].split("; ")
    right = done.returncode == 0 and last[0] == "right"
    if not right:
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
    return {"framework": name, "walls": walls, "beside": beside, "right": "yes" if right else "no",
            "SMs": int(last[1]) if right else None, "what": last[2] if right else "", "run": round(time.monotonic() - begin, 1)}


def figure(options, walls, partition, mode, seconds):
    """The median of what a program says of itself, a figure a second."""
    done = subprocess.run(inside(options, walls, partition, [options.program, mode, str(seconds), "4096", "1"]), text=True,
                          check=False, capture_output=True)
    if "out 0 0" not in done.stdout:
        print(f"{mode}, {walls}: {done.stdout[-300:]} {done.stderr[-300:]}", file=sys.stderr)
    return statistics.median(float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("sample"))


def losses(options):
    neighbours = {"nobody": None,
                  "a stream with both walls": inside(options, "both", "A", [options.program, "stream", "60", "16384", "2"]),
                  "a stream with compute walls": inside(options, "compute", "A", [options.program, "stream", "60", "16384", "2"]),
                  "PyTorch with compute walls": inside(options, "compute", "A", [sys.executable, str(FOLDER / "pytorch.py"), "60"])}
    rows = []
    for name, command in neighbours.items():
        process = command and subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(12 if "PyTorch" in name else 3)
        for walls in ("both", "compute"):
            rows.append({"walls": walls, "beside": name, "latency": round(figure(options, walls, "B", "latency", 4), 1),
                         "stream": round(figure(options, walls, "B", "stream", 4))})
            print(rows[-1], flush=True)
        if process:
            subprocess.run([options.bulkhead, "isolate", "stop", "--gpu", options.gpu, "--partition", "A"], check=True)
            process.wait()
    return rows


def column(name, unit=""):
    return {"name": name, "unit": unit}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bulkhead", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--gpu", default="cuda:0")
    parser.add_argument("--json")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="frameworks.")
    for name in ("pipe", "log"):
        os.makedirs(f"{folder}/{name}")
        os.environ[f"CUDA_MPS_{name.upper()}_DIRECTORY"] = f"{folder}/{name}"
    os.environ["BULKHEAD_LEASES"] = f"{folder}/leases"
    subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True)
    try:
        subprocess.run([options.bulkhead, "isolate", "set", "--gpu", options.gpu, "--partitions", "A=50%,B=50%"], check=True,
                       stdout=subprocess.DEVNULL)
        rows = [framework(options, walls, name, script, "nobody") for name, script, walls in FRAMEWORKS]
        stream = subprocess.Popen(inside(options, "both", "B", [options.program, "stream", "60", "16384", "2"]),
                                  stdout=subprocess.DEVNULL)
        time.sleep(2)
        rows += [framework(options, walls, name, script, "a stream") for name, script, walls in FRAMEWORKS if walls == "both"]
        subprocess.run([options.bulkhead, "isolate", "stop", "--gpu", options.gpu, "--partition", "B"], check=True)
        stream.wait()
        for row in rows:
            print(row, flush=True)
        lost = losses(options)
    finally:
        subprocess.run([options.bulkhead, "isolate", "clear", "--gpu", options.gpu], check=False)
        subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        version = subprocess.run([options.bulkhead, "--version"], capture_output=True, text=True, check=True).stdout
        device = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True,
                                text=True, check=True).stdout.strip().replace(", ", ", driver ")
        provenance = {"command": "tests/soak/frameworks.py", "gpu": options.gpu, "device": device,
                      "version": re.search(r"[0-9.]+[0-9]", version).group(),
                      "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
        results = [{"title": "Frameworks in half of a GPU", "provenance": provenance,
                    "columns": [column("framework"), column("walls"), column("beside"), column("right"), column("SMs"),
                                column("what"), column("run", "s")], "rows": rows},
                   {"title": "What a program in one half loses to one in the other", "provenance": provenance,
                    "columns": [column("walls"), column("beside"), column("latency", "ns"), column("stream", "GB/s")],
                    "rows": lost}]
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"schema": "bulkhead.result/1", "title": "Frameworks in partitions, and compute walls alone",
                       "results": results}, file, indent=2)
            file.write("\n")
    return 1 if any(row["right"] != "yes" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
