"""Executes every example that a help page shows.

usage: examples.py SOURCE_FOLDER PROGRAM

They run in the order of the verbs, in a folder that looks like the source tree and is thrown away, so that one may use
what another wrote; what they presuppose beyond that is made first. Each must succeed. One for a real GPU must fail for
the want of it and of nothing else, where there is none.
"""
import pathlib
import re
import shutil
import subprocess
import sys

from commands import has_gpu, run, scratch

PATIENCE_S = 200
# These take minutes, or end when they are told to: they must not have failed after some seconds of work.
LONG = ("bulkhead demo", "bulkhead reproduce all --quick --html papers.html", "bulkhead serve results",
        "bulkhead serve --port 8765")
LONG_S = 8

KERNEL = """
extern "C" __global__ void add(float* data) {
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}
"""


def verbs(program):
    page = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z]+) ", page[page.index("Verbs:"):], re.MULTILINE)


def examples(program, verb):
    page = subprocess.run([program, verb, "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (\S.*)$", page[page.index("Examples:"):], re.MULTILINE)


def presuppose(folder):
    """A kernel, a program and a map of the user's own."""
    (folder / "k.cu").write_text(KERNEL)
    for command in ("bulkhead cc -O2 --cuda-device-only -S k.cu -o k.ptx", "bulkhead cc -O2 examples/reduction.cu -o program"):
        output, code = run(command, folder, PATIENCE_S)
        if code != 0:
            sys.exit(f"{command}\n{output}")
    shutil.copy(folder / "results" / "h200" / "dissect.json", folder / "map.json")


def in_this_shell(command):
    """Of an example for another shell, what this program does in it; manual pages where nothing shows them."""
    other = re.search(r"bulkhead completion (zsh|fish)", command)
    if other:
        return other.group()
    return command if shutil.which("man") else command.replace("| man -l -", "| cat")


def problem(command, folder, real):
    """What is wrong with an example; nothing if it is right."""
    long = command in LONG
    output, code = run("set -o pipefail; " + in_this_shell(command), folder, LONG_S if long else PATIENCE_S)
    if "cuda:" in command and not real:
        return None if code == 2 and "NVIDIA driver" in output else f"failed for another reason than the missing GPU\n{output}"
    if code == 0 or (long and code is None):
        return None
    return f"took more than {PATIENCE_S} s" if code is None else f"exit code {code}\n{output}"


def main():
    source, program = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    real = has_gpu(program)
    tried = failures = 0
    with scratch(source, program) as folder:
        presuppose(folder)
        for verb in verbs(program):
            for command in examples(program, verb):
                if "cuda:" in command and real:
                    continue  # hours of it, perhaps
                tried += 1
                wrong = problem(command, folder, real)
                print(f"{'FAILED' if wrong else 'ok'}: {command}", flush=True)
                if wrong:
                    failures += 1
                    print(wrong)
    if tried < 20:
        sys.exit(f"only {tried} examples were found")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
