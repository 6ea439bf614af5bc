"""Sweeps on a real Slurm: what they find, what they survive, and what is refused.

usage: slurm_test.py BULKHEAD [CLASS[.TEST]...]

Ends with 77 where no Slurm can run, and says why.
"""
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

from cluster import BLIND, SKIPPED, Cluster, NoCluster
from sweep import Front, comparison, lines_of_logs, results, slow, submissions, table

BULKHEAD = ""
RUNS = 200
MOST_TASKS = 101  # fewer than runs: some share a task


class Watch:
    """Sees each result of a store come, and whether one is written again: then it is another file of that name."""

    def __init__(self, store):
        self.store, self.files, self.ended = store, {}, threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while not self.ended.wait(0.02):
            self.see()

    def see(self):
        try:
            entries = list(os.scandir(self.store))
        except FileNotFoundError:
            return
        for entry in entries:
            if entry.name.endswith(".json"):
                self.files.setdefault(entry.name, set()).add(entry.inode())

    def wait_for(self, count, front):
        while len(self.files) < count and front.process.poll() is None:
            time.sleep(0.02)

    def end(self):
        self.ended.set()
        self.thread.join()
        self.see()
        return self.files


class OnCluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(cpus=4, array=MOST_TASKS)
        cls.made = 0

    @classmethod
    def tearDownClass(cls):
        cls.cluster.end()

    def setUp(self):
        type(self).made += 1
        self.folder = self.cluster.file(f"test {self.made} %j")  # a name that shells and sbatch could take for more
        os.mkdir(self.folder)
        self.store = os.path.join(self.folder, "store")

    def file(self, name):
        return os.path.join(self.folder, name)

    def front(self, words, *more, **environment):
        return Front(self.cluster, BULKHEAD, words + ["--on", "slurm", "--store", self.store, *more], **environment)

    def here(self, words, *more):
        return Front(self.cluster, BULKHEAD, words + list(more)).wait()

    def script(self, name, text):
        path = self.file(name)
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path

    def expect_all_once(self, files, words, count):
        """Of a sweep with JSON in a.json: as many results as runs, each written once, the same as here."""
        self.assertEqual(len(files), count)
        self.assertEqual({len(inodes) for inodes in files.values()}, {1})
        status, _, err = self.here(words, "--store", self.file("here"), "--json", self.file("b.json"))
        self.assertEqual(status, 0, err)
        self.assertEqual(results(self.store), results(self.file("here")))
        self.assertEqual(table(self.file("a.json")), table(self.file("b.json")))

    def expect_refused(self, part, *more, jobs=0, **environment):
        """One line, and no more arrays than so many."""
        before = self.cluster.jobs()
        status, out, err = self.front(comparison(8), *more, **environment).wait()
        self.assertEqual((status, out, len(err.splitlines())), (2, "", 1), err)
        self.assertIn(part, err)
        self.assertEqual(len(self.cluster.jobs()) - len(before), jobs)
        self.assertEqual(submissions(self.store), [])


class LostNode(OnCluster):
    def test_a_node_that_dies_half_way_costs_no_result(self):
        words = comparison(RUNS)
        watch = Watch(self.store)
        try:
            front = self.front(words, "--json", self.file("a.json"), *slow(self.file("slow"), BULKHEAD, 0.5))
            watch.wait_for(RUNS // 2, front)
            with open(self.file("slow.hold"), "w") as file:
                file.write("n2")
            self.cluster.wait_until(lambda: os.path.exists(self.file("slow.held")), "a task on n2")
            self.cluster.kill_node("n2")
            there = len(watch.files)
            status, _, err = front.wait()
        finally:
            files = watch.end()
            self.cluster.start_node("n2")
        self.assertEqual(status, 0, err)
        self.assertLess(there, RUNS)
        self.expect_all_once(files, words, RUNS)
        done, begun = lines_of_logs(self.store, "done"), lines_of_logs(self.store, "begins")
        self.assertEqual((len(done), set(done.values())), (RUNS, {1}))
        self.assertIn("lost (NODE_FAIL on n2), to be tried again", err)
        self.assertLessEqual(sum(begun.values()) - RUNS, 4)  # as many as the node has processors
        self.assertIn(f"{RUNS} of {RUNS} runs submitted in {MOST_TASKS} tasks", err)


class Jobs(OnCluster):
    def test_a_front_end_that_is_killed_after_sbatch_leaves_jobs_to_the_next(self):
        self.front(comparison(8)).wait()  # nodes have seen this store
        known = self.cluster.jobs()
        os.mkdir(self.file("bin"))
        self.script("bin/sbatch", f"""'{shutil.which('sbatch')}' "$@"; status=$?
case "$*" in *--array=*) kill -9 "$(cat '{self.file('pid')}')" ;; esac
exit $status
""")
        words = comparison(48) + ["--store", self.store, "--on", "slurm"]
        killed = subprocess.run(["sh", "-c", 'echo $$ >"$0"; exec "$@"', self.file("pid"), BULKHEAD] + words,
                                env=dict(self.cluster.environment,
                                         PATH=self.file("bin") + ":" + self.cluster.environment["PATH"]),
                                stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual((killed.returncode, killed.stderr), (-9, ""))
        array = set(self.cluster.jobs()) - set(known)
        self.assertEqual(len(array), 1)
        status, _, err = self.front(comparison(48), "--json", self.file("a.json")).wait()
        self.assertEqual(status, 0, err)
        self.assertNotIn("submitted", err)
        self.assertEqual(set(self.cluster.jobs()) - set(known), array)
        self.assertEqual(set(lines_of_logs(self.store, "begins").values()), {1})
        self.assertEqual(len(results(self.store)), 48)

    def test_two_front_ends_share_the_runs_that_both_want(self):
        first, second = self.front(comparison(24)), self.front(comparison(32))
        self.assertEqual([front.wait()[0] for front in (first, second)], [0, 0])
        begun = lines_of_logs(self.store, "begins")
        self.assertEqual((len(begun), set(begun.values())), (32, {1}))

    def test_each_verb_finds_what_it_finds_here(self):
        small = {
            "stress": (["stress", "--accesses", "256", "--victim-bytes", "16384", "--aggressors", "compute,evict-random",
                        "--samples", "2", "--sharing", "streams,mps", "--blocks", "1"], False),
            "isolate evaluate": (["isolate", "evaluate", "--size", "test", "--applications", "VA", "--neighbours", "VA"],
                                 True),
            "reproduce": (["reproduce", "interference", "--figures", "table1,coverage", "--samples", "1", "--accesses",
                           "256"], True),
        }
        fronts = {verb: self.front(words, "--json", self.file(verb)) for verb, (words, _) in small.items()}
        for verb, (words, keeps) in small.items():
            with self.subTest(verb):
                status, _, err = fronts[verb].wait()
                self.assertEqual(status, 0, err)
                self.here(words, "--json", self.file("here.json"), *(["--store", self.file("here")] if keeps else []))
                self.assertEqual(table(self.file(verb)), table(self.file("here.json")))

    def test_a_run_that_fails_is_told_with_its_log(self):
        words = ["isolate", "evaluate", "--size", "test", "--applications", "VA", "--neighbours", "VA", "--methods", "cp",
                 "--partitions", "2,64", "--csv", os.devnull]
        status, _, err = self.front(words).wait()
        here, _, plain = self.here(words, "--store", self.file("here"))
        self.assertEqual((status, here), (1, 1))
        lines = [line for line in err.splitlines() if "(log: " in line]
        self.assertEqual([line.split(" (log: ")[0] for line in lines], plain.splitlines())
        for line in lines:
            with open(line.split(" (log: ")[1].rstrip(")")) as log:
                self.assertIn("20 SMs cannot be divided into 64 partitions", log.read())

    def test_a_run_that_is_lost_each_time_is_given_up(self):
        # Says that it sees the store, as a first task does, and dies in every other.
        program = self.script("dies", f"""
grep -q '"runs":\\[\\]' "$2/runs.json" && exec '{BULKHEAD}' "$@"
echo in vain
kill -9 $$
""")
        words = ["compare", "--size", "test", "--workloads", "NN,VA", "--schedulers", "gto", "--csv", os.devnull]
        status, _, err = self.front(words, "--slurm-program", "'" + program + "'").wait()
        self.assertEqual(status, 1, err)
        lost = [line for line in err.splitlines() if "lost 4 times" in line]
        self.assertEqual(len(lost), 2, err)
        self.assertEqual(len(submissions(self.store)), 4)
        with open(lost[0].split(" (log: ")[1].rstrip(")")) as log:
            self.assertIn("in vain", log.read())
        self.assertEqual(results(self.store), {})

    def test_a_task_that_is_cancelled_is_not_tried_again(self):
        program = self.script("sleeps", f"""
grep -q '"runs":\\[\\]' "$2/runs.json" && exec '{BULKHEAD}' "$@"
exec sleep 1000
""")
        front = self.front(comparison(24) + ["--csv", os.devnull], "--slurm-program", "'" + program + "'")
        while not submissions(self.store) or "greeting" in submissions(self.store)[0]:
            time.sleep(0.05)
        name = "bulkhead-" + os.path.basename(submissions(self.store)[0])
        while "RUNNING" not in self.cluster.command("squeue", "--noheader", "--format=%T", "--name", name).stdout:
            time.sleep(0.05)  # and others wait: there are 12 processors
        self.cluster.command("scancel", "--name", name)
        status, _, err = front.wait()
        self.assertEqual((status, err.count("its task was cancelled")), (1, 24), err)
        self.assertEqual(len(submissions(self.store)), 1)

    def test_runs_wait_where_slurm_takes_fewer_tasks(self):
        os.mkdir(self.file("bin"))
        self.script("bin/sbatch", f"""
case "$*" in *--array=0-[0-7]' '* | --version) exec '{shutil.which('sbatch')}' "$@" ;; esac
echo 'sbatch: error: QOSMaxSubmitJobPerUserLimit' >&2
exit 1
""")
        status, _, err = self.front(comparison(16), "--json", self.file("a.json"),
                                    PATH=self.file("bin") + ":" + self.cluster.environment["PATH"]).wait()
        self.assertEqual(status, 0, err)
        self.assertIn("8 of 16 runs submitted in 8 tasks", err)
        self.assertEqual(set(lines_of_logs(self.store, "begins").values()), {1}, err)
        self.assertEqual(len(results(self.store)), 16)


class Refusals(OnCluster):
    def test_no_slurm_is_refused(self):
        os.mkdir(self.file("none"))
        self.expect_refused("there is no sbatch", PATH=self.file("none"))

    def test_a_slurm_that_does_not_answer_is_refused(self):
        with open(self.cluster.file("slurm.conf")) as file:
            text = file.read()
        port = text.split("SlurmctldPort=")[1].split("\n")[0]
        with open(self.file("slurm.conf"), "w") as file:
            file.write(text.replace("SlurmctldPort=" + port, "SlurmctldPort=1") + "MessageTimeout=1\n")
        self.expect_refused("Unable to contact slurm controller", SLURM_CONF=self.file("slurm.conf"))

    def test_options_that_slurm_refuses_are_refused_in_its_words(self):
        self.expect_refused("invalid partition specified: nowhere", "--slurm-options", "--partition=nowhere")
        self.expect_refused("unrecognized option '--nonsense'", "--slurm-options", "--nonsense")
        self.expect_refused("--array cannot be chosen", "--slurm-options", "--array=3")
        self.expect_refused("nowhere is no option", "--slurm-options", "nowhere")

    def test_a_store_that_nodes_do_not_see_is_refused(self):
        if not self.cluster.hides:
            self.skipTest("a node that does not see a folder needs the right to mount")
        self.store = os.path.join(self.cluster.file("hidden"), "store")
        self.expect_refused(f"{self.store}: {BLIND} cannot write to this store", "--slurm-options", "--partition=blind",
                            jobs=1)  # the task that looked for it

    def test_a_node_without_the_program_is_refused(self):
        self.expect_refused("cannot run /nowhere/bulkhead", "--slurm-program", "/nowhere/bulkhead", jobs=1)

    def test_another_build_on_the_nodes_is_refused(self):
        other = self.file("other")
        shutil.copy(BULKHEAD, other)
        with open(other, "ab") as file:
            file.write(b"\0")
        self.expect_refused("another build", "--slurm-program", f"'{other}'", jobs=1)

    def test_a_real_gpu_needs_one_for_itself(self):
        status, _, err = self.front(["isolate", "evaluate", "--gpu", "cuda:0"]).wait()
        self.assertEqual((status, len(err.splitlines())), (2, 1))
        self.assertIn("needs one for itself", err)
        for verb in (["stress", "--aggressors", "compute"], ["reproduce", "interference"]):
            status, _, err = self.front(verb + ["--gpu", "cuda:0"]).wait()
            self.assertEqual(status, 2)
            self.assertIn("is for simulated GPUs", err)


if __name__ == "__main__":
    BULKHEAD = os.path.abspath(sys.argv.pop(1))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and what was started is ended
    try:
        Cluster().end()
    except NoCluster as why:
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
