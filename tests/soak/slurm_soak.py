"""Sweeps on a real Slurm whose nodes and front ends are killed at random moments: every result must come, once, and be
the same as without a cluster.

usage: slurm_soak.py --bulkhead PROGRAM [--runs 200] [--rounds 6] [--seed 1] [--json FILE]
"""
import argparse
import datetime
import json
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "slurm"))
from cluster import NODES, SKIPPED, Cluster, NoCluster  # noqa: E402
from sweep import Front, comparison, results, slow, submissions  # noqa: E402
from slurm_test import Watch  # noqa: E402


def submitted(store):
    """Runs of all job arrays together."""
    count = 0
    for folder in submissions(store):
        with open(os.path.join(folder, "runs.json")) as file:
            count += len(json.load(file)["runs"])
    return count


class Soak:
    def __init__(self, options):
        self.options, self.draw = options, random.Random(options.seed)
        self.problems, self.counts = [], {"nodes killed": 0, "tasks killed with them": 0,
                                          "front ends killed": 0, "runs": 0, "runs submitted again": 0,
                                          "results written twice": 0, "results that differ from a local run": 0,
                                          "results missing": 0}
        self.slowest, self.slurm = 0.0, ""

    def problem(self, text):
        self.problems.append(text)
        print("slurm_soak: " + text, file=sys.stderr, flush=True)

    def sweep(self, cluster, words, store, watch, kills):
        """Until it has ended by itself: front ends and nodes are killed as often as that, at random moments from the
        first result on."""
        down = {}
        while True:
            front = Front(cluster, self.options.bulkhead, words + ["--on", "slurm", "--store", store] +
                          slow(cluster.file("slow"), self.options.bulkhead, 0.3))
            while front.process.poll() is None:
                time.sleep(self.draw.uniform(0.2, 3))
                for name in [n for n, until in down.items() if time.monotonic() > until]:
                    cluster.start_node(name)
                    del down[name]
                if kills <= 0 or front.process.poll() is not None or not watch.files:
                    continue
                kills -= 1
                if self.draw.random() < 0.5:
                    self.counts["front ends killed"] += 1
                    front.process.kill()
                    break
                name = self.draw.choice(NODES)
                if name not in down and len(down) < len(NODES) - 1:
                    self.counts["nodes killed"] += 1
                    self.counts["tasks killed with them"] += cluster.tasks(name)
                    cluster.kill_node(name)
                    down[name] = time.monotonic() + self.draw.uniform(1, 20)
            status, _, err = front.wait()
            if status == -9:
                continue
            for name in down:
                cluster.start_node(name)
            return status, err

    def round(self, number):
        options = self.options
        words = comparison(options.runs) + ["--seed", str(options.seed * 1000 + number)]
        # Slurm puts what a node had into the queue again, or leaves that to us.
        with Cluster(requeue=number % 2) as cluster:
            self.slurm = cluster.command("sbatch", "--version").stdout.strip()
            store, here = cluster.file("store"), cluster.file("here")
            watch = Watch(store)
            start = time.monotonic()
            try:
                status, err = self.sweep(cluster, words, store, watch, kills=self.draw.randint(2, 6))
            finally:
                files = watch.end()
            self.slowest = max(self.slowest, time.monotonic() - start)
            if status != 0:
                self.problem(f"round {number} ended with {status}: {err[-1000:]}")
            Front(cluster, options.bulkhead, words + ["--store", here]).wait()
            found, wanted = results(store), results(here)
            self.counts["runs"] += options.runs
            self.counts["runs submitted again"] += submitted(store) - options.runs
            self.counts["results missing"] += len(set(wanted) - set(found)) + options.runs - len(wanted)
            self.counts["results that differ from a local run"] += sum(found[n] != wanted.get(n) for n in found)
            self.counts["results written twice"] += sum(len(inodes) > 1 for inodes in files.values())

    def soak(self):
        start = time.monotonic()
        for number in range(self.options.rounds):
            self.round(number)
        for name in ("results written twice", "results that differ from a local run", "results missing"):
            if self.counts[name]:
                self.problem(f"{name}: {self.counts[name]}")
        return self.result(time.monotonic() - start)

    def result(self, seconds):
        options = self.options
        version = subprocess.run([options.bulkhead, "--version"], text=True, capture_output=True).stdout.split()[-1]
        lines = [(what, value, "") for what, value in self.counts.items()]
        lines += [("longest round", round(self.slowest), "s"), ("in all", round(seconds), "s"),
                  ("problems", len(self.problems), "")]
        return {"schema": "bulkhead.result/1",
                "title": f"Sweeps of {options.runs} runs over {len(NODES)} Slurm nodes, with nodes and front ends killed",
                "provenance": {"command": f"tests/soak/slurm_soak.py --runs {options.runs} --rounds {options.rounds} "
                                          f"--seed {options.seed}",
                               "gpu": "sim:gtx480", "seed": options.seed, "version": version, "device": self.slurm,
                               "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")},
                "columns": [{"name": name, "unit": ""} for name in ("what", "value", "unit")],
                "rows": [dict(zip(("what", "value", "unit"), line)) for line in lines]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bulkhead", required=True)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and what was started is ended
    soak = Soak(options)
    try:
        found = soak.soak()
    except NoCluster as why:
        print(f"skipped: {why}")
        return SKIPPED
    text = json.dumps(found, indent=2)
    print(text)
    if options.json:
        with open(options.json, "w") as file:
            file.write(text + "\n")
    return 1 if soak.problems else 0


if __name__ == "__main__":
    sys.exit(main())
