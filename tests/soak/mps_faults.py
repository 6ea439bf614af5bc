#!/usr/bin/env python3
"""Measures what the end or the fault of one program does to others on a real GPU, under MPS and without.

mps_faults.py [--json FILE] [SCENARIO...]

Each scenario has a victim, a bystander that launches short kernels all the time, and newcomers that open the GPU one
after the other. Uses the driver alone, and an MPS daemon of its own; changes no setting of the GPU.
"""

import argparse
import ctypes
import datetime
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PTX = b"""
.version 6.3
.target sm_60
.address_size 64
.visible .entry spin(.param .u64 cycles)
{
    .reg .pred %p; .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [cycles];
    mov.u64 %rd2, %clock64;
L:  mov.u64 %rd3, %clock64;
    sub.u64 %rd4, %rd3, %rd2;
    setp.lt.u64 %p, %rd4, %rd1;
    @%p bra L;
    ret;
}
.visible .entry fault()
{
    .reg .b64 %rd; .reg .b32 %r;
    mov.u64 %rd, 64; mov.u32 %r, 1;
    st.global.u32 [%rd], %r;
    ret;
}
.visible .entry traps() { trap; ret; }
\0"""

SHORT, LONG = 200_000, 50_000_000_000  # cycles
NO_ANSWER_SECONDS = 8


class Refused(Exception):
    pass


class Cuda:
    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.device, self.context, self.module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()

    def call(self, name, *arguments):
        status = getattr(self.driver, name)(*arguments)
        if status:
            raise Refused(f"{name} {status}")

    def open(self):
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
        self.call("cuCtxSetCurrent", self.context)
        self.call("cuModuleLoadData", ctypes.byref(self.module), PTX)

    def launch(self, name, cycles=0):
        function, value = ctypes.c_void_p(), ctypes.c_uint64(cycles)
        self.call("cuModuleGetFunction", ctypes.byref(function), self.module, name.encode())
        parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(value), ctypes.c_void_p))
        self.call("cuLaunchKernel", function, 132, 1, 1, 32, 1, 1, 0, None, parameters if cycles else None, None)

    def work(self):
        self.launch("spin", SHORT)
        self.call("cuCtxSynchronize")


def say(text):
    print(text, flush=True)


def client(role):
    """What a process of a scenario does. It says what happens, a line each."""
    cuda = Cuda()
    try:
        cuda.open()
        say("open")
        if role == "newcomer":
            cuda.work()
        elif role == "bystander":
            stand_by(cuda)
        elif role == "idle":
            time.sleep(60)
        elif role == "busy":
            cuda.launch("spin", LONG)
            say("busy")
            cuda.call("cuCtxSynchronize")
        else:  # a kernel that fails; the process stays until it is told to end
            sys.stdin.readline()
            cuda.launch(role)
            cuda.call("cuCtxSynchronize")
        say("fine")
    except Refused as why:
        say(why)
    if role in ("fault", "traps"):
        sys.stdin.readline()
    os._exit(0)


def stand_by(cuda):
    try:
        while True:
            cuda.work()
    except Refused as why:
        say(why)
    cuda.driver.cuDevicePrimaryCtxReset_v2(cuda.device)
    for _ in range(4):
        try:
            anew = Cuda()
            anew.open()
            anew.work()
            return say("goes on in the same process")
        except Refused:
            time.sleep(0.5)
    say("cannot go on in the same process")


class Process:
    def __init__(self, role, environment):
        self.process = subprocess.Popen([sys.executable, __file__, "client", role], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.pid = self.process.pid

    def line(self, seconds=20):
        """The next one; empty if none comes in time."""
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        return self.process.stdout.readline().strip() if ready else ""

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self, how=signal.SIGKILL):
        self.process.send_signal(how)

    def gone(self):
        self.process.kill()
        self.process.wait()


class Scenario:
    def __init__(self, name, daemon=None):
        self.name, self.daemon = name, daemon
        self.environment = daemon.environment if daemon else dict(os.environ)
        self.row = {"what one program does": NAMES[name], "MPS": "yes" if daemon else "no"}

    def start(self, role):
        return Process(role, self.environment)

    def newcomers(self):
        """Two that work one after the other end the search. What the first ones were told, and when one worked."""
        begun, refusals, worked = time.monotonic(), [], []
        while time.monotonic() - begun < 4 and len(worked) < 2:
            newcomer = self.start("newcomer")
            words = [newcomer.line(NO_ANSWER_SECONDS), newcomer.line(NO_ANSWER_SECONDS)]
            newcomer.gone()
            if words == ["open", "fine"]:
                worked.append(time.monotonic() - begun)
            else:
                refusals.append((words[0] if words[0] != "open" else words[1]) or f"no answer in {NO_ANSWER_SECONDS} s")
        self.row["newcomers refused"] = len(refusals)
        self.row["with"] = ", ".join(sorted(set(refusals)))
        if worked:
            self.row["first that worked"] = round(worked[0], 2)

    def run(self):
        bystander = self.start("bystander")
        bystander.line()
        time.sleep(0.3)
        getattr(self, self.name.replace("-", "_"))()
        said = bystander.line(1.5)
        self.row["a bystander"] = said or "works on"
        if said:
            self.row["and then"] = bystander.line(5)
        bystander.gone()
        time.sleep(0.3)
        return self.row

    def kill_idle(self):
        victim = self.start("idle")
        victim.line()
        victim.end()
        self.newcomers()
        victim.gone()

    def kill_opening(self):
        for tenths in range(1, 5):
            victim = self.start("idle")
            time.sleep(tenths / 10)
            victim.gone()
        self.newcomers()

    def kill_busy(self, how=signal.SIGKILL):
        victim = self.start("busy")
        victim.line(), victim.line()
        time.sleep(0.2)
        victim.end(how)
        self.newcomers()
        victim.gone()

    def terminate_busy(self):
        self.kill_busy(signal.SIGTERM)

    def stop_busy(self):
        victim = self.start("busy")
        victim.line(), victim.line()
        time.sleep(0.2)
        self.daemon.control(f"terminate_client {self.server()} {victim.pid}")
        victim.gone()
        self.newcomers()

    def fault(self):
        victim = self.start(self.name)
        victim.line()
        victim.go()
        victim.line()
        self.newcomers()
        self.row["while it lives"] = self.told()
        victim.gone()
        self.newcomers()

    traps = fault

    def told(self):
        count = self.row["newcomers refused"]
        return f"{count} refused with {self.row['with']}" if count else "none refused"

    def kill_server(self):
        os.kill(int(self.server()), signal.SIGKILL)
        self.newcomers()

    def kill_daemon(self):
        server = int(self.server())
        self.daemon.process.kill()
        self.newcomers()
        os.kill(server, signal.SIGKILL)

    def server(self):
        return self.daemon.control("get_server_list").split()[0]


NAMES = {
    "kill-idle": "is killed while it does nothing",
    "kill-opening": "is killed while it opens the GPU (4 times)",
    "kill-busy": "is killed in the middle of a kernel",
    "terminate-busy": "gets SIGTERM in the middle of a kernel",
    "stop-busy": "is taken from the server in the middle of a kernel (terminate_client), then killed",
    "fault": "writes to an illegal address",
    "traps": "executes a trap",
    "kill-server": "is the MPS server, and is killed",
    "kill-daemon": "is the MPS daemon, and is killed",  # the last: it is not started again
}
OF_MPS = {"stop-busy", "kill-server", "kill-daemon"}
COLUMNS = ["what one program does", "MPS", "a bystander", "and then", "while it lives", "newcomers refused", "with",
           "first that worked"]


class Daemon:
    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="mps-faults-")
        self.environment = dict(os.environ, CUDA_MPS_PIPE_DIRECTORY=self.folder, CUDA_MPS_LOG_DIRECTORY=self.folder)
        self.process = subprocess.Popen(["nvidia-cuda-mps-control", "-f"], env=self.environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.exists(os.path.join(self.folder, "control")):
            time.sleep(0.05)
        return self

    def control(self, line):
        return subprocess.run(["nvidia-cuda-mps-control"], input=line + "\n", text=True, capture_output=True,
                              env=self.environment, timeout=20).stdout.strip()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.control("quit")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def device():
    line = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], text=True,
                          capture_output=True, check=True).stdout.splitlines()[0]
    return line.replace(", ", ", driver ")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--json")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", choices=[[], *NAMES])
    options = parser.parse_args()
    chosen = options.scenarios or list(NAMES)
    rows = []
    with Daemon() as daemon:
        rows += [Scenario(name, daemon).run() for name in chosen]
    rows += [Scenario(name).run() for name in chosen if name not in OF_MPS]
    units = {"first that worked": "s"}
    result = {
        "schema": "bulkhead.result/1",
        "title": "What the end or the fault of one program does to others",
        "provenance": {"command": "tests/soak/mps_faults.py", "gpu": "cuda:0", "version": "0.1.0", "device": device(),
                       "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")},
        "columns": [{"name": name, "unit": units.get(name, "")} for name in COLUMNS],
        "rows": [{name: row.get(name) for name in COLUMNS} for row in rows],
    }
    text = json.dumps(result, indent=2)
    print(text)
    if options.json:
        with open(options.json, "w") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    client(sys.argv[2]) if sys.argv[1:2] == ["client"] else main()
