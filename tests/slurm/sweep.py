"""Sweeps by bulkhead on a test's cluster: what is asked for, and what the store then holds."""
import json
import os
import re
import subprocess

# Quick at this size, and each of them another run under each of these schedulers.
WORKLOADS = ("NN", "VA", "2DCONV", "Backprop", "Lud", "Hotspot", "SYRK", "FWT")
SCHEDULERS = ["gto", "lrr", "ccws", "ciao-t", "ciao-p", "ciao-c"] + [f"best-swl:{n}" for n in range(2, 40, 2)]


def comparison(runs):
    """Words that compare so many runs; a multiple of the workloads."""
    count = runs // len(WORKLOADS)
    assert count * len(WORKLOADS) == runs and count <= len(SCHEDULERS), runs
    return ["compare", "--size", "test", "--workloads", ",".join(WORKLOADS), "--schedulers", ",".join(SCHEDULERS[:count])]


def slow(path, bulkhead, seconds):
    """A program that takes its time before it becomes bulkhead, so that who is killed on a node was at work.

    While there is a file PATH.hold, it goes no further on the node named there, and says so by a file PATH.held.
    """
    with open(path, "w") as file:
        file.write(f"""#!/bin/sh
sleep {seconds}
if [ "$(cat '{path}.hold' 2>/dev/null)" = "$SLURMD_NODENAME" ]; then : >'{path}.held'; sleep 60; fi
exec '{bulkhead}' "$@"
""")
    os.chmod(path, 0o755)
    return ["--slurm-program", f"'{path}'"]


def results(store):
    """File by file, what a store holds, without what differs each time."""
    found = {}
    for name in sorted(os.listdir(store)):
        if not name.endswith(".json"):
            continue
        with open(os.path.join(store, name)) as file:
            content = json.load(file)
        content.pop("checksum")
        content["measurement"].pop("wall_seconds", None)
        found[name] = content
    return found


def table(path):
    """A file of results without what differs each time: where they came from, and how long it took."""
    with open(path) as file:
        results = json.load(file)["results"]
    for result in results:
        result.pop("provenance")
        for row in result["rows"]:
            row.pop("simulated in", None)
    return results


def submissions(store):
    folder = os.path.join(store, "slurm")
    if not os.path.isdir(folder):
        return []
    return sorted(os.path.join(folder, name) for name in os.listdir(folder)
                  if os.path.exists(os.path.join(folder, name, "runs.json")))


def lines_of_logs(store, pattern):
    """How often each run's file is followed by these words in the logs of tasks."""
    counts = {}
    for submission in submissions(store):
        for name in os.listdir(submission):
            if not name.endswith(".log"):
                continue
            with open(os.path.join(submission, name), errors="replace") as file:
                for line in file:
                    if match := re.match(rf"(\S+\.json): {pattern}$", line.rstrip("\n")):
                        counts[match[1]] = counts.get(match[1], 0) + 1
    return counts


class Front:
    """A front end that runs beside the test."""

    def __init__(self, cluster, bulkhead, words, **environment):
        self.process = subprocess.Popen([bulkhead] + words, env=dict(cluster.environment, **environment), text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait(self, seconds=300):
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, err

    def kill(self):
        self.process.kill()
        return self.wait()
