#!/usr/bin/env python3
"""Kills tenants, the tool itself and its workers at random moments, and looks for what is left behind.

kill_soak.py --bulkhead PROGRAM --tenant PROGRAM [--gpu sim:gtx1080] [--kills 1000] [--jobs 2] [--seed 1]
             [--seconds N] [--json FILE]

Every process that is started carries a mark in its environment, and all have one folder for what is temporary: what
still carries the mark, or lies in the folder, once they have been given time to end was left behind. Ends with 1 if
anything was, if a partition could not be joined again, or if a tenant saw a wrong result.
"""

import argparse
import collections
import datetime
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

MARK = "BULKHEAD_SOAK"
PARTITIONS = {"A": "50%", "B": "50%"}
ENDS_SECONDS = 300  # two set-ups may take 120 each, where others keep the driver of a real GPU busy


class Soak:
    def __init__(self, options):
        self.options = options
        self.real = options.gpu.startswith("cuda:")
        self.folder = tempfile.mkdtemp(prefix="bulkhead-soak-")
        self.lock = threading.Lock()
        self.kills = collections.Counter()
        self.workers = collections.Counter()  # killed, by name
        self.ends = collections.Counter()  # of those that ended before they could be killed
        self.problems = []
        self.slowest = 0.0
        self.ended_after = 0.0  # the longest that a tool went on without one of its workers
        self.left = options.kills
        self.deadline = time.monotonic() + options.seconds
        self.mark = f"{os.getpid()}-{options.seed}"
        self.temporary = os.path.join(self.folder, "tmp")
        self.leases = os.path.join(self.folder, "leases")
        self.place = ["--gpu", options.gpu, "--leases", self.leases]
        self.strangers = {name for name in os.listdir("/proc") if name.isdigit()}  # and this process
        os.mkdir(self.temporary)

    def environment(self, worker, kind="tenant"):
        environment = dict(os.environ, TMPDIR=self.temporary)
        environment["XDG_CACHE_HOME"] = os.path.join(self.folder, "cache")  # one for all, who are killed as they write
        environment[MARK] = f"{self.mark}-{worker}"
        if kind == "tool":  # which then has a daemon of its own
            environment.pop("CUDA_MPS_PIPE_DIRECTORY", None)
        return environment

    def problem(self, text):
        with self.lock:
            self.problems.append(text)
        print("kill_soak: " + text, file=sys.stderr, flush=True)

    def take(self):
        with self.lock:
            if self.left <= 0 or time.monotonic() >= self.deadline:
                return False
            self.left -= 1
            return True

    # What is started, and how long it may live: some of it ends by itself before.

    def tenant(self, draw, worker):
        partition = draw.choice(sorted(PARTITIONS))
        work = draw.choice([["1000", "16"], ["1000", "400"], ["1000", "16", "200000000" if self.real else "2000"]])
        words = [self.options.bulkhead, "isolate", "run", *self.place, "--partition", partition, "--",
                 self.options.tenant, *work]
        return "tenant", words, 1.2 if self.real else 0.25

    def tool(self, draw, worker):
        gpu = self.options.gpu
        choices = [
            ["isolate", "evaluate", "--gpu", gpu, "--size", "test", "--applications", "VA" if self.real else "VA,MM",
             "--neighbours", "VA", "--jobs", "2", "--samples", "1"]
            + (["--processes", "--methods", "cmp"] if self.real else []),
            ["stress", "--gpu", gpu, "--json", os.path.join(self.folder, f"stress-{worker}.json")]
            + (["--victim", "random", "--aggressors", "compute,evict-random", "--samples", "2", "--accesses", "2048",
                "--sharing", "mps"] if self.real else
               ["--victim", "latency", "--aggressors", "compute,stream-read", "--samples", "1", "--accesses", "64"]),
            ["isolate", "list", *self.place],
        ]
        if not self.real:
            choices.append(["compare", "--workloads", "ATAX,MVT", "--size", "test", "--jobs", "2"])
        words = draw.choice(choices)
        if words[:2] != ["isolate", "list"]:  # another each time, or what was kept of the last one is all there is to do
            words += ["--seed", str(draw.randrange(1, 10**6))]
        return "tool", [self.options.bulkhead] + words, 2.5 if self.real else 1.5

    # The kernel's own view of what lives.

    def marked(self, worker=None):
        wanted = f"{MARK}={self.mark}-{'' if worker is None else worker}".encode()
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit() or name in self.strangers:
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    entries = file.read().split(b"\0")
                with open(f"/proc/{name}/stat", "rb") as file:
                    state = file.read().rsplit(b")", 1)[1].split()[0]
            except OSError:
                continue
            if state != b"Z" and any(e == wanted if worker is not None else e.startswith(wanted) for e in entries):
                found.append(int(name))
        return found

    @staticmethod
    def name(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            return "one that has ended"

    def kill(self, process, kind, worker, draw):
        """Kills the process itself or, now and then, one of those that it started. The name of whom it killed."""
        victim = process.pid
        children = [pid for pid in self.marked(worker) if pid != process.pid] if kind == "tool" else []
        if children and draw.random() < 0.8:
            kind, victim = "worker", draw.choice(children)
        name = self.name(victim)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            return ""
        with self.lock:
            self.kills[kind] += 1
            if kind == "worker":
                self.workers[os.path.basename(name.split()[0]) if name else "another"] += 1
        if kind == "worker":
            self.expectEnd(process, worker, name, draw)
        return name

    @staticmethod
    def state(pid):
        """What a process is about: its age, and where in the kernel each of its threads waits."""
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                began = int(file.read().rsplit(b")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
            with open("/proc/uptime", "rb") as file:
                age = float(file.read().split()[0]) - began
            waits = []
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/wchan", "rb") as file:
                    waits.append(file.read().decode() or "runs")
            return f"{age:.0f} s old, {' '.join(sorted(waits))}"
        except OSError:
            return "ended"

    def expectEnd(self, process, worker, name, draw):
        """The tool notices that its worker is gone, says so when the others are done, and ends, unless it is killed."""
        # A daemon of MPS stays if both its guard and the tool are killed, until the next one is started.
        patient = draw.random() < 0.3 or name.startswith("/bin/sh")
        start = time.monotonic()
        try:
            process.wait(ENDS_SECONDS if patient else draw.uniform(0, 5))
            with self.lock:
                self.ended_after = max(self.ended_after, time.monotonic() - start)
            return
        except subprocess.TimeoutExpired:
            pass
        if patient:
            there = [f"{pid} {self.name(pid)[:200]} ({self.state(pid)})" for pid in sorted(self.marked(worker))]
            self.problem(f"the tool did not end when {name} was killed: {' '.join(process.args[1:])}; "
                         f"still there: {'; '.join(there)}")
            process.kill()
            return
        process.kill()
        with self.lock:
            self.kills["tool"] += 1
            self.left -= 1

    def expectGone(self, worker, what):
        start = time.monotonic()
        while self.marked(worker):
            if time.monotonic() - start > 30:
                left = {pid: self.name(pid) for pid in self.marked(worker)}
                self.problem(f"processes left behind by {what}: {left}")
                for pid in left:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                return
            time.sleep(0.03)
        with self.lock:
            self.slowest = max(self.slowest, time.monotonic() - start)

    def work(self, worker):
        draw = random.Random(self.options.seed * 1000 + worker)
        while self.take():
            kind, words, life = (self.tenant if draw.random() < 0.6 else self.tool)(draw, worker)
            process = subprocess.Popen(words, env=self.environment(worker, kind), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            output = []
            reader = threading.Thread(target=lambda: output.append(process.stdout.read()))
            reader.start()
            if kind == "tool" and draw.random() < 0.5:  # many end before they would be met with workers
                while process.poll() is None and self.marked(worker) == [process.pid]:
                    time.sleep(0.005)
                life /= 10
            try:
                process.wait(draw.uniform(0, life))
            except subprocess.TimeoutExpired:
                pass
            killed = self.kill(process, kind, worker, draw) if process.poll() is None else ""
            process.wait()
            if not killed:
                with self.lock:
                    self.left += 1
                    self.ends[f"{kind} {process.returncode}"] += 1
                if kind == "tenant" and process.returncode == 1:
                    reader.join(5)
                    self.problem(f"a tenant saw a wrong result: {b''.join(output)[-500:]}")
            self.expectGone(worker, f"{' '.join(words[1:4])}, where {killed or 'nobody'} was killed")
            reader.join(5)

    def expectNothingLeft(self):
        left = sorted(os.listdir(self.temporary))
        for _ in range(100):  # guards of daemons tidy up after those who started them
            if not left:
                break
            time.sleep(0.1)
            left = sorted(os.listdir(self.temporary))
        if left:
            self.problem(f"left in the folder for temporary files: {left}")
        listed = json.loads(self.run(["isolate", "list", *self.place, "--json", "-"]))
        if listed["rows"]:
            self.problem(f"still listed as inside: {listed['rows']}")
        for partition in PARTITIONS:  # all of its SMs and pages
            self.run(["isolate", "run", *self.place, "--partition", partition, "--", self.options.tenant, "2"])
        # Files of leases whose holders have ended mean nothing, and go when partitions are set.
        self.setPartitions()
        files = [file for _, _, files in os.walk(self.leases) for file in files]
        if any(file.endswith(".lease") or file.startswith(".") for file in files):
            self.problem(f"left in the folder of leases: {files}")

    def run(self, words):
        for attempt in range(1, 4):
            done = subprocess.run([self.options.bulkhead] + words, env=self.environment("check"), text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
            if done.returncode == 0:
                return done.stdout
            print(f"kill_soak: attempt {attempt}: {words[:2]}: {done.stdout}{done.stderr}", file=sys.stderr, flush=True)
        self.problem(f"{' '.join(words)} failed three times: {(done.stdout + done.stderr)[-500:]}")
        return '{"rows": []}'

    def setPartitions(self):
        shares = ",".join(f"{name}={share}" for name, share in PARTITIONS.items())
        self.run(["isolate", "set", *self.place, "--partitions", shares])

    def soak(self):
        self.setPartitions()
        start = time.monotonic()
        workers = [threading.Thread(target=self.work, args=(i,)) for i in range(self.options.jobs)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        seconds = time.monotonic() - start
        if sum(self.kills.values()) < self.options.kills and time.monotonic() < self.deadline:
            self.problem("not all kills were made")
        self.expectNothingLeft()
        shutil.rmtree(self.folder, ignore_errors=True)
        return self.result(seconds)

    def result(self, seconds):
        lines = [(f"{kind}s killed", self.kills[kind], "") for kind in ("tenant", "tool", "worker")]
        lines += [(f"of the workers: {name}", count, "") for name, count in sorted(self.workers.items())]
        lines += [(f"ended before, status {how}", count, "") for how, count in sorted(self.ends.items())]
        lines += [("longest until a killed one and its children were gone", round(self.slowest, 3), "s"),
                  ("longest until a tool ended whose worker was killed", round(self.ended_after, 3), "s"),
                  ("in all", round(seconds), "s"),
                  ("processes, daemons, folders or leases left, wrong results, partitions not to be had again",
                   len(self.problems), "")]
        options = self.options
        device = "simulated"
        if self.real:
            query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
            device = subprocess.run(query, text=True, capture_output=True).stdout.split("\n")[0]
            device = device.replace(", ", ", driver ")
        version = subprocess.run([options.bulkhead, "--version"], text=True, capture_output=True).stdout.split()[-1]
        return {"schema": "bulkhead.result/1",
                "title": "SIGKILL at random moments, and what is left",
                "provenance": {"command": f"tests/soak/kill_soak.py --gpu {options.gpu} --kills {options.kills} "
                                          f"--jobs {options.jobs} --seed {options.seed}",
                               "gpu": options.gpu, "seed": options.seed, "version": version, "device": device,
                               "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")},
                "columns": [{"name": name, "unit": ""} for name in ("what", "value", "unit")],
                "rows": [dict(zip(("what", "value", "unit"), line)) for line in lines]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bulkhead", required=True)
    parser.add_argument("--tenant", required=True)
    parser.add_argument("--gpu", default="sim:gtx1080")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most, without the last checks")
    parser.add_argument("--json")
    options = parser.parse_args()
    soak = Soak(options)
    found = soak.soak()
    text = json.dumps(found, indent=2)
    print(text)
    if options.json:
        with open(options.json, "w") as file:
            file.write(text + "\n")
    return 1 if soak.problems else 0


if __name__ == "__main__":
    sys.exit(main())
