"""Executes every command that a page of the documentation shows, and compares what it prints with what the page says.

usage: commands.py PAGE.md SOURCE_FOLDER PROGRAM

Commands are the lines that begin with "$ " in fenced blocks; a backslash at the end continues one. They run one after
the other, in a folder that looks like the source tree and is thrown away. Lines below a command are its output: each
must be printed, but for numbers that depend on the machine. A command for a real GPU is left out where there is none,
one for Slurm where that cannot run.
One that would take long is ended after some seconds of work, and must not have failed until then; one whose figures the
text quotes (tests/docs/figures.py) is waited for.
"""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "slurm"))
from cluster import Cluster, NoCluster  # noqa: E402
import figures  # noqa: E402

PATIENCE_S = 10
PATIENCE_FOR_FIGURES_S = 300
AT_WORK = 0.1  # of the time: less is to wait for somebody, more is to share the machine
OF_THE_MACHINE = re.compile(r"speed|GPU time|seconds|took|version")


def commands(page):
    """Pairs of a command and the lines that the page shows below it."""
    found, fenced, below, continued = [], False, False, False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            fenced, below, continued = not fenced, False, False
        elif fenced and line.startswith("$ "):
            found.append((line[2:], []))
            below, continued = True, line.endswith("\\")
        elif fenced and continued:
            found[-1] = (found[-1][0][:-1] + " " + line.strip(), [])
            continued = line.endswith("\\")
        elif fenced and re.match(r"(\./)?bulkhead [a-z]", line):
            sys.exit(f"{page.name}: '{line}' must begin with '$ ' to be tested")
        elif below and line.strip():
            found[-1][1].append(line)
    return found


def has_gpu(program):
    listing = subprocess.run([program, "gpus"], capture_output=True, text=True, check=True).stdout
    return "cuda:0" in listing


@contextlib.contextmanager
def slurm_for(found):
    """Whether there is a Slurm for the commands that need one; nobody starts it where none does."""
    cluster = None
    if any("--on slurm" in command for command, _ in found):
        try:
            cluster = Cluster()
            os.environ.update({name: cluster.environment[name] for name in ("SLURM_CONF", "PATH")})
        except NoCluster as why:
            print(f"no Slurm: {why}")
    try:
        yield cluster is not None
    finally:
        if cluster:
            cluster.end()


@contextlib.contextmanager
def scratch(source, program):
    """A folder that looks like the source tree, with the program in the place of the script that builds it."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for entry in source.iterdir():
            if entry.name not in (".git", "build", "bulkhead"):
                (folder / entry.name).symlink_to(entry)
        (folder / "bulkhead").symlink_to(program)
        (folder / "python3").symlink_to(sys.executable)  # Debian's, which has the packages of scripts/test-packages
        yield folder


def work_s(session):
    """Processor time of the processes of a session, and of those that they have waited for."""
    ticks = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(fields[3]) == session:
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def wait_for(process, patience_s):
    """What it prints until it ends. TimeoutExpired once it has had that time: of the processor's, unless it only waits."""
    patience = patience_s
    while True:
        try:
            return process.communicate(timeout=patience)[0]
        except subprocess.TimeoutExpired:
            work = work_s(process.pid)
            if work >= patience_s or work < AT_WORK * patience_s:
                raise
            patience = max(1, patience_s - work)


def run(command, folder, patience_s=PATIENCE_S):
    """What it printed and its exit code; none if it was still at work when patience ended."""
    environment = dict(os.environ, XDG_CACHE_HOME=str(folder / ".cache"), NO_COLOR="1",
                       PATH=f"{folder}:{os.environ['PATH']}")
    process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        return wait_for(process, patience_s), process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return output, None


def words(line):
    return " ".join(line.split())


def missing(shown, output):
    printed = {words(line) for line in output.splitlines()}
    return [line for line in shown if not OF_THE_MACHINE.search(line) and line.strip() != "..." and words(line) not in printed]


def main():
    page, source, program = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    real = has_gpu(program)
    found = commands(page)
    unknown = list(figures.check_commands(page, [command for command, _ in found]))
    for problem in unknown:
        print(problem)
    failures = len(unknown)
    with scratch(source, program) as folder, slurm_for(found) as slurm:
        for command, shown in found:
            if "--on slurm" in command and not slurm:
                print(f"left out, there is no Slurm: {command}")
                continue
            if "cuda:" in command and not real:
                print(f"left out, there is no GPU: {command}")
                continue
            quoted = figures.quoted(page, command)
            output, code = run(command, folder, PATIENCE_FOR_FIGURES_S if quoted else PATIENCE_S)
            problems = [] if code is None else [f"not printed: {line}" for line in missing(shown, output)]
            problems += figures.check_output(page, command, output, source) if code is not None else []
            if code not in (0, None):
                problems.append(f"exit code {code}")
            print(f"{'FAILED' if problems else 'ended after a while' if code is None else 'ok'}: {command}")
            for problem in problems:
                print(f"    {problem}")
            if problems:
                failures += 1
                print(output)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
