#!/usr/bin/env python3
"""Tenants come and go in parts of a real GPU while programs in another part are timed.

churn.py --bulkhead FILE --program FILE [--gpu cuda:0] [--partitions 2] [--map FILE] [--seconds 600] [--seed 1]
         [--json FILE]

PROGRAM is tests/soak/churn.cu, by nvcc -cudart shared with PTX, or by bulkhead cc. Uses an MPS daemon and a folder of
leases of its own; changes no setting of the GPU. In all partitions but the first, programs that stream, gather and fill
memory join, work for some seconds, and leave, or are ended by isolate stop in the middle of a kernel. In the first a
program that waits for every access, and one that streams, are timed second by second: alone first, then beside all of it.
More than two partitions need a map of the GPU, by bulkhead dissect.
"""

import argparse
import datetime
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time


class Tenant:
    """A program in a partition, and what it said when."""

    def __init__(self, options, partition, mode, seconds, megabytes, seed):
        self.begin = time.monotonic()
        self.mode, self.megabytes, self.end, self.failure = mode, megabytes, None, None
        self.joined = self.filled = None  # seconds since it was started
        self.samples, self.cycles, self.times, self.left = [], [], [], None
        command = [options.bulkhead, "isolate", "run", "--gpu", options.gpu, "--partition", partition, "--",
                   options.program, mode, str(seconds), str(megabytes), str(seed)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            words = line.split()
            if words[:1] == ["joined"]:
                self.joined = time.monotonic() - self.begin
            elif words[:1] == ["in"]:
                self.filled = time.monotonic() - self.begin
            elif words[:1] == ["sample"]:
                self.samples.append(float(words[1]))
                self.times.append(time.monotonic())
                self.cycles += [float(word) for word in words[2:]]
            elif words[:1] == ["out"]:
                self.end = [int(words[1]), int(words[2])]
            elif self.end != "stopped":
                self.failure = line.strip()

    def wait(self):
        self.process.wait()
        self.reader.join()
        self.left = time.monotonic()
        return self

    def works(self, begin, end):
        """Whether it was inside for all of that time."""
        return self.filled is not None and self.begin + self.filled <= begin and end <= self.left


class Neighbours(threading.Thread):
    """Tenants of a partition, one after the other."""

    def __init__(self, options, partition, seed):
        super().__init__()
        self.options, self.partition, self.random = options, partition, random.Random(f"{partition}{seed}")
        self.over, self.all, self.stopped = False, [], 0

    def run(self):
        while not self.over:
            mode = self.random.choice(["stream", "stream", "gather"])
            megabytes = self.random.choice([64, 1000, 8000, 30000, 60000]) * 2 // self.options.partitions
            seconds = self.random.choice([1, 3, 6, 10])
            tenant = Tenant(self.options, self.partition, mode, seconds, megabytes, self.random.randrange(1 << 30))
            self.all.append(tenant)
            if self.random.random() < 0.4:
                deadline = time.monotonic() + 10
                while tenant.filled is None and time.monotonic() < deadline and tenant.process.poll() is None:
                    time.sleep(0.01)
                time.sleep(self.random.random() * seconds)
                if tenant.process.poll() is None:
                    tenant.end = "stopped"
                    subprocess.run([self.options.bulkhead, "isolate", "stop", "--gpu", self.options.gpu, "--partition",
                                    self.partition], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
                    self.stopped += 1
            tenant.wait()


def victim(options, mode, seconds, megabytes):
    return Tenant(options, "A", mode, seconds, megabytes, 7).wait()


def by_second(mode, unit, began, victims, neighbours):
    """What each second of a program that was timed gave, and who worked beside it all the while, as a result."""
    says = {"latency": ("A pointer chase, second by second", "How long does an access take in each second?", "time",
                        "An access took {:.0f} to {:.0f} ns."),
            "stream": ("A stream, second by second", "How fast is the stream in each second?", "rate",
                       "It moved {:.0f} to {:.0f} GB/s.")}
    title, question, name, answer = says[mode]
    rows = []
    for tenant in victims:
        for end, sample in zip(tenant.times, tenant.samples):
            inside = [f"{n.mode}, {n.megabytes} MB" for n in neighbours if n.works(end - 1, end)]
            beside = "; ".join(inside) or "who comes or goes"
            stopped = sum(n.end == "stopped" and n.left <= end for n in neighbours)
            rows.append({"second": round(end - began), name: sample, "beside": beside, "stopped before": stopped})
    values = [row[name] for row in rows]
    return {"title": title, "question": question, "answer": answer.format(min(values), max(values)),
            "columns": [column("second", "s"), column(name, unit), column("beside"), column("stopped before")],
            "charts": [{"kind": "scatter", "title": title, "x": "second", "y": [name], "label": "beside"}],
            "rows": rows}


def compare(program, unit, alone, beside):
    usual, rate = statistics.median(alone), unit == "GB/s"
    worst = min(beside) if rate else max(beside)
    return {"program": program, "unit": unit, "alone": round(usual, 2), "beside": round(statistics.median(beside), 2),
            "worst second": worst, "seconds": len(beside),
            "loss in the worst second": round(100 * (1 - worst / usual if rate else worst / usual - 1), 2)}


def column(name, unit=""):
    return {"name": name, "unit": unit}


def device():
    names = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                           capture_output=True, text=True, check=True).stdout
    return ", driver ".join(names.splitlines()[0].split(", "))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bulkhead", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--gpu", default="cuda:0")
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--map")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    folder = tempfile.mkdtemp()
    os.environ.update(CUDA_MPS_PIPE_DIRECTORY=folder + "/pipe", CUDA_MPS_LOG_DIRECTORY=folder + "/log",
                      BULKHEAD_LEASES=folder + "/leases")
    os.mkdir(folder + "/pipe")
    os.mkdir(folder + "/log")
    subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True)
    isolate = [options.bulkhead, "isolate"]
    victims, began = [("latency", 64, "ns"), ("stream", 8000 * 2 // options.partitions, "GB/s")], time.monotonic()
    names = [chr(ord("A") + i) for i in range(options.partitions)]
    rows, wrong, neighbours = [], [], [Neighbours(options, name, options.seed) for name in names[1:]]
    try:
        subprocess.run(isolate + ["set", "--gpu", options.gpu, "--partitions",
                        ",".join(f"{name}={100 // options.partitions}%" for name in names)]
                       + (["--map", options.map] if options.map else []), check=True, stdout=subprocess.DEVNULL)
        alone = {mode: victim(options, mode, 8, megabytes) for mode, megabytes, _ in victims}
        for tenant in alone.values():
            if not tenant.samples:
                raise SystemExit(f"churn.py: a program alone in its partition says: {tenant.failure}")
        for one in neighbours:
            one.start()
        beside = {mode: [] for mode, _, _ in victims}
        while time.monotonic() - began < options.seconds - 25:
            for mode, megabytes, _ in victims:
                beside[mode].append(victim(options, mode, 20, megabytes))
        for one in neighbours:
            one.over = True
        for one in neighbours:
            one.join()
        came = [t for one in neighbours for t in one.all]
        for mode, _, unit in victims:
            tenants = beside[mode]
            rows.append(compare(mode, unit, alone[mode].samples, [s for t in tenants for s in t.samples]))
            if alone[mode].cycles:
                rows.append(compare(mode, "cycles", alone[mode].cycles, [c for t in tenants for c in t.cycles]))
        everybody = came + [t for tenants in beside.values() for t in tenants] + list(alone.values())
        joins = [t.joined for t in everybody if t.joined is not None]
        fills = [t.filled - t.joined for t in everybody if t.filled is not None]
        for tenant in everybody:
            if tenant.filled is None or tenant.failure or (tenant.end != "stopped" and tenant.end != [0, 0]):
                wrong.append(f"{tenant.mode}: joined {tenant.joined}, filled {tenant.filled}, end {tenant.end}, "
                             f"{tenant.failure}")
    finally:
        subprocess.run(isolate + ["clear", "--gpu", options.gpu], check=False)
        subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)
    counts = {"tenants": len(everybody), "stopped": sum(one.stopped for one in neighbours), "not right": len(wrong),
              "median join": round(statistics.median(joins), 3), "longest join": round(max(joins), 3),
              "longest fill": round(max(fills), 3)}
    print(json.dumps(rows, indent=1), json.dumps(counts), *wrong[:20], sep="\n")
    if options.json:
        version = subprocess.run([options.bulkhead, "--version"], capture_output=True, text=True, check=True).stdout
        provenance = {"command": f"tests/soak/churn.py --partitions {options.partitions} --seconds {options.seconds:g} "
                                 f"--seed {options.seed}",
                      "gpu": options.gpu, "version": re.search(r"[0-9.]+[0-9]", version).group(), "device": device(),
                      "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
        worst = {row["program"]: row["loss in the worst second"] for row in rows if row["unit"] != "cycles"}
        victims_table = {"title": "Programs in one part of a GPU",
                         "question": "What do tenants that come and go cost programs in another part?",
                         "answer": f"In its worst second a pointer chase is slower by {worst['latency']} % and a stream by "
                                   f"{worst['stream']} %.", "provenance": provenance,
                         "columns": [column("program"), column("unit"), column("alone"), column("beside"),
                                     column("worst second"), column("seconds"),
                                     column("loss in the worst second", "%")], "rows": rows}
        joins_table = {"title": "Tenants that came and went", "question": "Do tenants join, and are their results right?",
                       "answer": f"Of {counts['tenants']} tenants {counts['not right'] or 'none'} "
                                 f"{'were' if counts['not right'] > 1 else 'was'} wrong; {counts['stopped']} were stopped "
                                 f"in a kernel, and a join took {counts['median join']:.2f} s by the median and at most "
                                 f"{counts['longest join']:.2f} s.", "provenance": provenance,
                       "columns": [column("tenants"), column("stopped"), column("not right"),
                                   column("median join", "s"), column("longest join", "s"),
                                   column("longest fill", "s")], "rows": [counts]}
        seconds = [by_second(mode, unit, began, beside[mode], came) | {"provenance": provenance}
                   for mode, _, unit in victims]
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"schema": "bulkhead.result/1", "title": "Tenants come and go in parts of a GPU while programs in "
                       "another part are timed", "results": [victims_table, joins_table, *seconds]}, file, indent=2)
            file.write("\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
