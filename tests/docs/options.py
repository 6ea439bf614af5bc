"""scripts/options, by which ./bulkhead refuses what the program does not know before it is built, against the program.

usage: options.py SOURCE_FOLDER PROGRAM
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PLACE = re.compile(r"^        '(.*)'\) words='(.*)' ;;$", re.MULTILINE)


def refused(tree, words):
    """What ./bulkhead says to words that it must refuse, in a tree where nothing is built."""
    done = subprocess.run(["./bulkhead", *words], cwd=tree, capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 2 or "building" in done.stderr or (tree / "build").exists():
        sys.exit(f"bulkhead {' '.join(words)}: not refused before the build: {done.returncode} {done.stderr}")
    return done.stderr


def main():
    root, program = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    script = subprocess.run([program, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    wanted = "".join(f"{place}|{words}\n" for place, words in PLACE.findall(script))
    if (root / "scripts/options").read_text() != wanted:
        sys.exit("scripts/options is not what the program has: bulkhead completion bash |\n"
                 "  sed -n \"s/^        '\\(.*\\)') words='\\(.*\\)' ;;$/\\1|\\2/p\" > scripts/options")
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name) / "tree"
        tree.mkdir()
        shutil.copy(root / "bulkhead", tree)
        shutil.copytree(root / "scripts", tree / "scripts")
        for words, said in [(["demo", "--htlm", "x"], "--htlm"), (["nosuch"], "nosuch"),
                            (["isolate", "plan", "--gpu", "sim:tx2", "--nosuch=1"], "--nosuch"), (["--nosuch"], "--nosuch")]:
            if said not in refused(tree, words):
                sys.exit(f"bulkhead {' '.join(words)}: does not say {said}")
    print(f"{len(wanted.splitlines())} places")


main()
