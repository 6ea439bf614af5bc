"""Fails where code above src/gpu asks what kind a GPU is, or goes to the simulator past src/gpu.

usage: capabilities.py SOURCE_FOLDER

What such code depends on is a field of gpu::Capabilities, and what a GPU tells is a call of src/gpu.
"""
import pathlib
import re
import sys

BELOW = {"base", "arch", "ptx", "sim", "driver", "far_driver", "gpu"}
# Runs PTX files on the simulator itself, without a driver.
WITHOUT_A_DRIVER = "cli/run_kernel.cpp"
ADVICE = "ask gpu::Capabilities for what it depends on, or src/gpu for what it needs"
FORBIDDEN = {
    r"\bmachine\(\)": "takes the machine from a GPU",
    r"\bsimulatorApi\b|\bSimulatorApi\b|driver/simulator_api\.h": "goes to the simulator past src/gpu",
    # A name may be put together; it may not be looked at.
    r'"(?:sim|cuda):"(?!\s*\+)': "tests the prefix of a GPU's name",
    r"\bsim::Machine\b|sim/machine\.h": "knows the simulator's machine",
}


def faults_of(path, text):
    for pattern, what in FORBIDDEN.items():
        if path == WITHOUT_A_DRIVER and "Machine" in pattern:
            continue
        for match in re.finditer(pattern, text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"src/{path}:{line} {what} ({match.group()}): {ADVICE}"


def main():
    source = pathlib.Path(sys.argv[1]).resolve() / "src"
    files = sorted(p for p in source.rglob("*") if p.suffix in {".cpp", ".h"})
    above = [p.relative_to(source) for p in files if p.relative_to(source).parts[0] not in BELOW]
    if len(above) == len(files) or not above:
        sys.exit(f"capabilities: {source} has no code below, or none above src/gpu")
    faults = [fault for p in above for fault in faults_of(p.as_posix(), (source / p).read_text())]
    print("\n".join(faults) or f"{len(above)} files above src/gpu, none of which asks for a kind of GPU")
    sys.exit(1 if faults else 0)


main()
