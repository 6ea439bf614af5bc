"""Fails where a policy, an aggressor or a way of sharing is in no table, where its file bears another name, and where ways
of sharing are listed a second time.

usage: tables.py SOURCE_FOLDER

A row of a table has a name, and a function that makes what it names. That function stands in a file of the table's folder,
which is called like the row, the function or, of aggressors, the kernel. Several rows may share a file: it is called
like one of them, or as all of their names begin. A folder that is only there for a table has no other sources.
"""
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
MEMORY = "src/sim/mem"


class Table:
    """Where the rows are, how the function of a row is defined, and in which folder."""

    def __init__(self, file, folder, maker, own_folder=True):
        self.file, self.folder, self.own_folder = file, folder, own_folder
        self.maker = re.compile(rf"^{maker} \{{", re.MULTILINE | re.DOTALL)


def makes(what):
    return rf"std::unique_ptr<{what}> (\w+)\([^)]*\)"


TABLES = [
    Table(f"{MEMORY}/replacement_policy.cpp", f"{MEMORY}/replacement", makes("ReplacementPolicy")),
    Table(f"{MEMORY}/dram_channel.cpp", f"{MEMORY}/dram", makes("DramChannel")),
    Table(f"{MEMORY}/row_policy.cpp", f"{MEMORY}/dram", makes("RowPolicy")),
    Table(f"{MEMORY}/prefetch_policy.cpp", f"{MEMORY}/prefetch", makes("PrefetchPolicy")),
    Table(f"{MEMORY}/l2_slice.cpp", f"{MEMORY}/write", r"L2Slice::Served L2Slice::(\w+)\([^)]*\)"),
    Table("src/sim/sm/warp_scheduler.cpp", "src/sim/sm", makes("WarpScheduler"), own_folder=False),
    Table("src/corun/aggressor_table.cpp", "src/corun/aggressors",
          r"(?:Pattern|std::unique_ptr<Actor>) (\w+)\(const (?:PatternSite&[^,)]*|Stage&[^)]*)\)"),
    Table("src/corun/sharing.cpp", "src/corun/sharing", makes("Sharing")),
]
BEGINNING = re.compile(r"\b(?:k\w*(?:Policies|Schedulers)|all)\b(?:\[\])? = \{")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
POLICY_OF_SMS = re.compile(r"^class \w+ (?:final )?: public (?:WarpScheduler|Gto)\b", re.MULTILINE)


def enclosed(text, start):
    """What is between the bracket at `start` and the one that closes it. Brackets within strings come in pairs."""
    depth = 0
    for end in range(start, len(text)):
        depth += (text[end] in "({[") - (text[end] in ")}]")
        if depth == 0:
            return text[start + 1:end]
    raise ValueError("no closing bracket")


def rows(text):
    """Of each row of the table in a source: its strings, with those of the function that it calls; and its other words."""
    beginning = BEGINNING.search(text)
    body, at = enclosed(text, beginning.end() - 1), 0
    while (opening := re.compile(r"(\w*)[({]").search(body, at)) is not None:
        row = enclosed(body, opening.end() - 1)
        helper = opening[1] and re.search(rf"^\w+ {opening[1]}\(.*?^\}}", text, re.MULTILINE | re.DOTALL)
        more = STRING.findall(helper[0]) if helper else []
        yield STRING.findall(row) + more, set(re.findall(r"\w+", STRING.sub("", row)))
        at = opening.end() + len(row) + 1


def plain(name):
    return re.sub(r"[-_]", "", name).lower()


def bears_the_name(file, held):
    """Whether a file is called like one of the rows that it holds, each a name, a function and the row's strings."""
    called = plain(file.stem)
    for name, maker, strings in held:
        function = re.sub("^(make|shareBy)", "", maker)
        kernels = [text for text in strings[1:] if re.fullmatch(r"\w+", text)]
        if called in {plain(name), plain(function), *map(plain, kernels)}:
            return True
    return all(name.startswith(file.stem.replace("_", "-") + "-") for name, _, _ in held)


def faults(root):
    """What is wrong, a line each; and how many rows there are."""
    found, count = [], 0
    held = {}  # the rows of each file
    for table in TABLES:
        makers = {}
        for file in sorted((root / table.folder).glob("*.cpp")):
            for maker in table.maker.findall(file.read_text()):
                makers[maker] = file
        named = set()
        for strings, words in rows((root / table.file).read_text()):
            count += 1
            own = words & makers.keys()
            named |= own
            for maker in own:
                held.setdefault(makers[maker], []).append((strings[0], maker, strings))
            if not own and "nullptr" not in words:
                found.append(f"{table.file}: nothing in {table.folder} makes {strings[0]}")
        for maker in makers.keys() - named:
            found.append(f"{makers[maker].relative_to(root)}: {maker} is in no row of {table.file}")
    for table in TABLES:
        for file in sorted((root / table.folder).glob("*.cpp")):
            if file not in held and (table.own_folder or POLICY_OF_SMS.search(file.read_text())):
                found.append(f"{file.relative_to(root)}: nothing of it is in a table")
    for file, its_rows in held.items():
        if not bears_the_name(file, its_rows):
            found.append(f"{file.relative_to(root)}: is called like none of {', '.join(row[0] for row in its_rows)}")
    return sorted(set(found)), count


def lists_beside_the_table(root):
    """Sources that name three ways of sharing and more, where the table of them should be asked."""
    table = root / "src/corun/sharing.cpp"
    ways = {strings[0] for strings, _ in rows(table.read_text())}
    return [str(file.relative_to(root)) for file in sorted((root / "src").rglob("*.cpp"))
            if file != table and len(ways & set(STRING.findall(file.read_text()))) > 2]


class Tables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = pathlib.Path(folder.name)
        for path in {"src/sim", "src/corun"}:
            shutil.copytree(SOURCE / path, self.copy / path)

    def change(self, path, before, after):
        text = (self.copy / path).read_text()
        self.assertIn(before, text)
        (self.copy / path).write_text(text.replace(before, after))

    def test_every_policy_is_in_its_table(self):
        found, count = faults(SOURCE)
        self.assertEqual(found, [])
        self.assertGreater(count, 40)

    def test_ways_of_sharing_are_listed_once(self):
        self.assertEqual(lists_beside_the_table(SOURCE), [])
        other = self.copy / "src/corun/other.cpp"
        other.write_text('std::vector<std::string> methods = {"streams", "mps", "green"};\n')
        self.assertEqual(lists_beside_the_table(self.copy), ["src/corun/other.cpp"])

    def test_a_source_that_is_in_no_table_is_found(self):
        for table in TABLES:
            with self.subTest(table.file):
                forgotten = self.copy / table.folder / "forgotten.cpp"
                forgotten.write_text("class Forgotten final : public Gto {};\n")
                self.assertEqual(faults(self.copy)[0], [f"{table.folder}/forgotten.cpp: nothing of it is in a table"])
                forgotten.unlink()

    def test_a_row_that_is_missing_is_found(self):
        for table, maker in (("src/corun/sharing.cpp", "shareByMps"), ("src/sim/sm/warp_scheduler.cpp", "makeCiaoP"),
                             (f"{MEMORY}/dram_channel.cpp", "makeFcfs"), (f"{MEMORY}/row_policy.cpp", "makeClosedRows"),
                             ("src/corun/aggressor_table.cpp", "visitingABank")):
            with self.subTest(maker):
                text = (self.copy / table).read_text()
                self.change(table, maker, "nullptr")
                self.assertIn(f"{maker} is in no row of {table}", "\n".join(faults(self.copy)[0]))
                (self.copy / table).write_text(text)

    def test_a_file_that_is_called_otherwise_is_found(self):
        for path in ("src/sim/mem/replacement/srrip.cpp", "src/sim/mem/write/write_back.cpp", "src/sim/sm/ccws.cpp",
                     "src/corun/aggressors/sweep.cpp", "src/corun/sharing/green.cpp"):
            with self.subTest(path):
                file = self.copy / path
                file.rename(file.with_name("otherwise.cpp"))
                found = faults(self.copy)[0]
                self.assertEqual(len(found), 1)
                self.assertIn("otherwise.cpp: is called like none of", found[0])
                file.with_name("otherwise.cpp").rename(file)

    def test_a_row_that_nothing_makes_is_found(self):
        (self.copy / "src/corun/sharing/mps.cpp").unlink()
        self.assertEqual(faults(self.copy)[0], ["src/corun/sharing.cpp: nothing in src/corun/sharing makes mps"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
