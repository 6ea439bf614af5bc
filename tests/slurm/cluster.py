"""A real Slurm on this machine alone: munged, slurmctld and several slurmd as nodes, on loopback, in a folder that goes
with it. Nothing of the machine's own Slurm is touched."""
import ctypes
import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

SKIPPED = 77
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")
NODES = ("n1", "n2", "n3")
BLIND = "n4"  # does not see the folder "hidden"; in a partition of its own

CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdLogFile={folder}/slurmd-%n.log
SlurmctldLogFile={folder}/slurmctld.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_interval=1
ReturnToService=2
SlurmdTimeout=8
InactiveLimit=0
KillWait=2
MaxArraySize={array}
JobRequeue={requeue}
{nodes}
PartitionName=cpu Nodes={seeing} Default=YES MaxTime=INFINITE State=UP
PartitionName=blind Nodes={blind} MaxTime=INFINITE State=UP
"""


def free_ports(count):
    """Ports that nobody listens to at the moment."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def ends_soon(process, seconds=10):
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def die_with_us():
    """In a child, before it becomes a daemon: a test that is killed leaves none."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def environment_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rsplit(b")", 1)[1].split()[1])
    except OSError:
        return 0


def name_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


class NoCluster(Exception):
    """Why there can be none here."""


class Cluster:
    def __init__(self, cpus=2, array=1001, requeue=0):
        for program in PROGRAMS:
            if not shutil.which(program, path=self.path()):
                raise NoCluster(f"{program} is not installed")
        self.folder = tempfile.mkdtemp(prefix="bulkhead-slurm-")
        self.processes = {}
        self.hides = os.geteuid() == 0 and subprocess.run(
            ["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode == 0
        os.chmod(self.folder, 0o755)
        for name in ("state", "hidden", "empty"):
            os.mkdir(self.file(name))
        self.environment = dict(os.environ, SLURM_CONF=self.file("slurm.conf"), PATH=self.path())
        try:
            self.start(cpus, array, requeue)
        except BaseException:
            self.end()
            raise

    @staticmethod
    def path():
        return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"

    def file(self, name):
        return os.path.join(self.folder, name)

    def start(self, cpus, array, requeue):
        names = NODES + (BLIND,)
        ports = free_ports(1 + len(names))
        lines = [f"NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=4096"
                 for name, port in zip(names, ports[1:])]
        with open(self.file("slurm.conf"), "w") as file:
            file.write(CONFIGURATION.format(folder=self.folder, ports=ports, user=getpass.getuser(), array=array, requeue=requeue,
                                            nodes="\n".join(lines), seeing=",".join(NODES), blind=BLIND))
        with open(os.open(self.file("munge.key"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(os.urandom(128))
        self.run("munged", ["munged", "--foreground", "--force", f"--socket={self.file('munge.socket')}",
                            f"--key-file={self.file('munge.key')}", f"--pid-file={self.file('munged.pid')}",
                            f"--log-file={self.file('munged.log')}", f"--seed-file={self.file('munge.seed')}",
                            "--num-threads=2"])
        self.wait_until(lambda: os.path.exists(self.file("munge.socket")), "munged")
        self.run("slurmctld", ["slurmctld", "-D", "-f", self.file("slurm.conf")])
        for name in names:
            self.start_node(name)
        self.wait_until(lambda: self.idle() >= len(names), "slurmd")

    def start_node(self, name):
        words = ["slurmd", "-D", "-N", name, "-f", self.file("slurm.conf")]
        if name == BLIND and self.hides:
            words = ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh",
                     self.file("empty"), self.file("hidden")] + words
        self.run(name, words)

    def run(self, name, words):
        with open(self.file(name + ".out"), "ab") as out:
            self.processes[name] = subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=out,
                                                    stderr=out, start_new_session=True, preexec_fn=die_with_us)

    def wait_until(self, true, who, seconds=30):
        for _ in range(seconds * 10):
            if true():
                return
            time.sleep(0.1)
        said = []
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".out", ".log")):
                with open(self.file(name), errors="replace") as file:
                    said += [f"{name}: {line.strip()}" for line in file.readlines()[-3:]]
        raise NoCluster(f"{who} does not run here: {'; '.join(said)}")

    def command(self, *words):
        return subprocess.run(words, env=self.environment, stdin=subprocess.DEVNULL, text=True, capture_output=True)

    def idle(self):
        return self.command("sinfo", "--noheader", "--Node", "--format=%N %t").stdout.count("idle")

    def jobs(self):
        """Names of the arrays that Slurm knows, ended or not."""
        lines = self.command("squeue", "--noheader", "--array", "--states=all", "--format=%j").stdout.split()
        return sorted(set(lines))

    def tasks(self, node):
        """How many run there."""
        return len(self.command("squeue", "--noheader", "--array", "--states=RUNNING", "--nodelist", node).stdout.splitlines())

    def steps(self, node=None):
        """Processes of jobs, and those that watch them; of one node or of all."""
        wanted = {b"SLURM_CONF=" + self.file("slurm.conf").encode()}  # other clusters have nodes of the same names
        if node:
            wanted.add(f"SLURMD_NODENAME={node}".encode())
        spool = f"{self.folder}/spool-{node or ''}"
        known = {process.pid for process in self.processes.values()}
        found = set()
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) in known | {os.getpid()}:
                continue
            pid, environment = int(entry), environment_of(entry)
            ours = any(e.startswith(b"SLURM_JOB_ID=") for e in environment) and wanted <= set(environment)
            if not ours and spool not in name_of(pid):
                continue
            found.add(pid)
            if name_of(parent_of(pid)).startswith("slurmstepd"):
                found.add(parent_of(pid))
        return found

    def kill(self, pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def kill_node(self, name):
        """As if its machine were gone: first the daemon, which could still tell."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()
        for _ in range(3):  # a step may be starting another process
            self.kill(self.steps(name))

    def end(self):
        for name in [n for n in self.processes if n not in ("munged", "slurmctld")] + ["slurmctld"]:
            if name in self.processes:
                self.processes[name].terminate()
        for name in list(self.processes):
            if name != "munged":
                ends_soon(self.processes.pop(name))
        self.kill(self.steps())
        if "munged" in self.processes:
            self.processes["munged"].terminate()
            ends_soon(self.processes.pop("munged"))
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
