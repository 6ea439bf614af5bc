"""Builds the examples of docs/extending.md out of the source tree, and runs tests and the program with them.

usage: extending.py SOURCE_FOLDER BUILD_FOLDER COMPILER

A fenced block whose first line names a file is that file ("cpp"), or a change to it ("diff"). Files that are new or
changed are compiled in a folder that is thrown away, and linked in front of the libraries of the build, with what they
change: the sources of the tables, and the library that reads the tables' names, whose sources the build compiles as one.
Other objects of the build stay as they are, since a new enumerator changes nothing in them.
"""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
COMPILER = sys.argv[3]
PAGE = SOURCE / "docs" / "extending.md"
BLOCK = re.compile(r"^```(cpp|diff) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SIZE = re.compile(r"\((\d+) lines, and (\d+) elsewhere\)")
WHOLE_LIBRARY = "arch"
OWN_TESTS = ["tests/docs/extended_policies.cpp", "tests/docs/extended_corun.cpp"]
TESTS = ["sim/replacement_policy_test", "sim/prefetch_policy_test", "sim/dram_test", "corun/corun_test"]
LINKED = re.search(r"^set\(BULKHEAD_LIBRARIES (.*)\)$", (SOURCE / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
LIBRARIES = [name for name in LINKED.replace("bulkhead_", "").split() if name != WHOLE_LIBRARY]


def patched(text, change, where):
    """The text with a change: lines with ' ' or '-' in front are looked for, those with ' ' or '+' stand there then."""
    lines = change.splitlines()
    before = "".join(line[1:] + "\n" for line in lines if line[:1] in " -")
    after = "".join(line[1:] + "\n" for line in lines if line[:1] in " +")
    if text.count(before) != 1:
        raise AssertionError(f"{PAGE.name}: what is to be changed is not in {where} once:\n{before}")
    return text.replace(before, after)


def examples():
    """For each example: the two sizes that the page gives, and its blocks."""
    page = PAGE.read_text()
    sizes = list(SIZE.finditer(page))
    for i, size in enumerate(sizes):
        end = sizes[i + 1].start() if i + 1 < len(sizes) else len(page)
        yield int(size[1]), int(size[2]), [block.groups() for block in BLOCK.finditer(page, size.end(), end)]


class Extending(unittest.TestCase):
    def test_the_page_counts_the_lines_of_its_examples(self):
        found = 0
        for lines, elsewhere, blocks in examples():
            files = [text for kind, _, text in blocks if kind == "cpp"]
            added = [line for kind, _, text in blocks if kind == "diff" for line in text.splitlines() if line[0] == "+"]
            self.assertEqual([lines], [len(text.splitlines()) for text in files])
            self.assertEqual(elsewhere, len(added))
            found += 1
        self.assertEqual(found, 5)

    def test_the_examples_build_and_do_what_they_say(self):
        with tempfile.TemporaryDirectory() as name:
            overlay = pathlib.Path(name)
            objects = self.compile(self.put(overlay), overlay)
            tests, program = overlay / "tests", overlay / "bulkhead"
            own = self.compile([SOURCE / path for path in OWN_TESTS], overlay)
            self.link([*objects, *own, *self.built_tests(), "-lgtest", "-lgtest_main"], tests)
            self.run_tests(tests, "Extended*", least=6)
            self.assertIn("/mru", self.run_tests(tests, "*EveryPolicy*", least=6))
            self.run_tests(tests, "*EveryDram*", least=5 * 3)
            self.run_tests(tests, "Prefetch.EveryLine*", least=1)
            self.run_tests(tests, "*EveryAggressor*/rowconflicts:*EveryWayOfSharing*/uneven", least=2)
            self.link([*objects, *self.built_program()], program)
            listing = self.execute([program, "stress", "--list"])
            for name in ("row-conflicts", "uneven"):
                self.assertRegex(listing, rf"(?m)^  {name} ")

    def put(self, overlay):
        """The page's files, new and changed; those to be compiled."""
        whole = overlay / f"{WHOLE_LIBRARY}.cpp"
        parts = [*(SOURCE / "src" / WHOLE_LIBRARY).glob("*.cpp"), BUILD / "embedded_profiles.cpp"]
        whole.write_text("".join(f'#include "{part}"\n' for part in parts))
        sources = [whole]
        for _, _, blocks in examples():
            for kind, path, text in blocks:
                target = overlay / path
                target.parent.mkdir(parents=True, exist_ok=True)
                if kind == "diff":
                    text = patched((target if target.exists() else SOURCE / path).read_text(), text, path)
                target.write_text(text)
                if path.endswith(".cpp"):
                    sources.append(target)
        return sources

    def compile(self, sources, overlay):
        flags = ["-std=c++20", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{overlay}/src", f"-I{SOURCE}/src",
                 f"-I{SOURCE}/tests"]
        objects = {source: overlay / f"{source.stem}.o" for source in sources}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda one: self.execute([COMPILER, *flags, "-c", one[0], "-o", one[1]]), objects.items()))
        return objects.values()

    def built_tests(self):
        for test in TESTS:
            folder, file = test.split("/")
            yield BUILD / f"tests/CMakeFiles/test_{folder}.dir/{folder}/{file}.cpp.o"

    def built_program(self):
        """Its objects; some are of several sources."""
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            object_file = entry["command"].split(" -o ")[1].split()[0]
            if object_file.startswith("CMakeFiles/bulkhead.dir/") and object_file.endswith(".o"):
                yield BUILD / object_file

    def link(self, objects, program):
        libraries = [BUILD / f"libbulkhead_{library}.a" for library in LIBRARIES]
        self.execute([COMPILER, *objects, *libraries, "-lfmt", "-llz4", "-lzstd", "-lpthread", "-ldl", "-o", program])

    def run_tests(self, program, which, least):
        done = self.execute([program, f"--gtest_filter={which}"])
        ran = re.search(r"\[  PASSED  \] (\d+) test", done)
        self.assertIsNotNone(ran, done)
        self.assertGreaterEqual(int(ran[1]), least, done)
        return done

    def execute(self, command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
