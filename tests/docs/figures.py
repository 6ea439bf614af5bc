#!/usr/bin/env python3
"""Holds figures that documents quote against what they come from, and answers of stored results against their rows.

usage: figures.py SOURCE_FOLDER

A comment before a paragraph, a list or a table names the source of its figures:

    <!-- figures: results/h200/isolate.json -->           each of them is in this stored file (or these, with commas)
    <!-- figures: results/h200/isolate.json "worst" -->   in those of its results whose titles begin so
    <!-- figures: each row -->                            in those that the row of the table names
    <!-- figures: $ ./bulkhead isolate evaluate ... -->   in what this command of the page prints (tests/docs/commands.py)
    <!-- figures: $ ./bulkhead ...; with results/... -->  in either
    <!-- figures: ...; but 2, 400 -->                     but for these, which are no measurements

A figure is in a source if a number there, rounded as the figure is, is the same. Answers of stored results may also tell
the count, sum, mean or median of a column, and thousandths or thousands of its unit. Numbers in `code`, in links and in
names (H200, GTX 1080) are no figures.
"""
import collections
import json
import pathlib
import re
import statistics
import sys

COMMENT = re.compile(r"^<!-- figures: (?P<source>.*?)(?:; with (?P<more>results/[^;]*))?(?:; but (?P<but>[-\d., ]+))? -->$")
LIMIT = re.compile(r"\(95 %:[^)]*\)")  # of confidence: in no column as such
NAMES = re.compile(r"`[^`]*`|\]\([^)]*\)|https?://\S+|(?:GTX|Figure|Table|CUDA|Debian|PyTorch|Triton|clang) [\d.]+")
NUMBER = re.compile(r"(?<![\w.^-])(-?(?:\d{1,3}(?: \d{3})+|\d[\d,]*)(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w]|\.\d)")


def figures(text):
    """Every number of a text, as it is written."""
    return [n.rstrip(",") for n in NUMBER.findall(NAMES.sub("", text))]


def same(figure, values):
    """Whether one of the values, rounded to the figure's digits, is the figure."""
    number = figure.replace(",", "").replace(" ", "")
    wanted = float(number)
    digits = len(number.partition(".")[2]) if "e" not in number else 0
    # Half of the last digit; of whole numbers with zeros at the end, half of the last that counts.
    mantissa = number.lstrip("-").partition(".")[0]
    zeros = len(mantissa) - len(mantissa.rstrip("0")) if not digits and len(mantissa) > 3 else 0
    half = 0.5001 * 10 ** (zeros - digits)
    return any(abs(value - wanted) <= half for value in values)


def numbers_in(value):
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, (int, float)):
        return [float(value)]
    return [float(re.sub("[, ]", "", n)) for n in figures(value)] if isinstance(value, str) else []


def cells_of(result):
    """All numbers of a result, column by column."""
    for column in result["columns"]:
        yield [n for row in result["rows"] for n in numbers_in(row.get(column["name"]))]


def told_of(result):
    """What a sentence says of a result: its numbers, those of its title, and what follows from a column."""
    values = [float(len(result["rows"]))] + numbers_in(result["title"])
    for column, cells in zip(result["columns"], cells_of(result)):
        values += numbers_in(column["name"])
        for unit in (1, 1000, 1e-6):
            values += [cell * unit for cell in cells]
        if cells:
            values += [sum(cells), statistics.mean(cells), statistics.median(cells)]
        counts = collections.Counter(str(row.get(column["name"])) for row in result["rows"])
        values += [float(len(counts)), *map(float, counts.values())]
    return values


def results_in(document):
    return document.get("results") or document.get("figures") or [document]


def stored_values(source, folder):
    """The numbers of stored results, what is said of them, and what determined them."""
    values = []
    for name, title in re.findall(r'(results/[^\s,"]+)(?: "([^"]*)")?', source):
        document = json.loads((folder / name).read_text())
        chosen = [r for r in results_in(document) if r["title"].startswith(title)]
        if not chosen:
            raise SystemExit(f"{name} has no result whose title begins with \"{title}\"")
        for result in chosen:
            values += [n for cells in cells_of(result) for n in cells]
            values += numbers_in(result.get("answer"))
        for finding in document.get("findings", []):
            values += numbers_in(finding.get("value"))
        values += numbers_in(document.get("gpu_seconds"))
    return values


def tied(page):
    """A source, the stored results beside it, the lines whose figures come from it, and figures that do not."""
    source, more, but, block = None, None, [], []
    for line in page.read_text().splitlines() + [""]:
        comment = COMMENT.match(line)
        if comment:
            source, more, block = comment["source"], comment["more"], []
            but = [n.strip() for n in (comment["but"] or "").split(", ") if n.strip()]
        elif source and line.strip():
            block.append(line)
        elif source and block:
            yield source, more, block, but
            source = None
    if source:
        yield source, more, [], but


def wrong(block, but, values):
    return [n for line in block for n in figures(line) if n not in but and not same(n, values)]


def check_page(page, folder):
    """What a page quotes of stored results and is not in them."""
    for source, _, block, but in tied(page):
        if not block:
            yield f"nothing stands below the source {source}"
        elif source == "each row":
            for row in block:
                names = re.findall(r"`(results/[^`{]+\.json)`", row)
                if names:
                    values = stored_values(",".join(names), folder)
                    yield from (f"{n} is not in {', '.join(names)}: {row[:80]}" for n in wrong([row], but, values))
        elif not source.startswith("$ "):
            yield from (f"{n} is not in {source}" for n in wrong(block, but, stored_values(source, folder)))


def beginning(source):
    """Of a command; none of other sources."""
    return source[2:].removesuffix("...").strip() if source.startswith("$ ") else None


def quoted(page, command):
    """Whether the page quotes figures of a command, which it then must show."""
    return any((begins := beginning(source)) and command.startswith(begins) for source, *_ in tied(page))


def check_output(page, command, output, folder):
    """What a page quotes of a command that it shows, and is not in what the command printed."""
    for source, more, block, but in tied(page):
        begins = beginning(source)
        if begins and command.startswith(begins):
            values = numbers_in(output) + (stored_values(more, folder) if more else [])
            yield from (f"{n} is not printed by {command}" for n in wrong(block, but, values))


def check_commands(page, commands):
    """A page shows the commands that it quotes."""
    for source, *_ in tied(page):
        begins = beginning(source)
        if begins and not any(command.startswith(begins) for command in commands):
            yield f"no command of the page begins with {begins}"


# What bulkhead report judges anew whenever it reads them.
OF_PAPERS = ("Agreement with the papers", "Measured and published values")
PAPERS = ("ciao.json", "fgpu.json", "interference.json")
# Their answers tell ratios and differences of columns, which are in no row as one number.
DERIVED = ("Six kernels", "translated", "bandwidth", "Memory-bound", "Workloads inside", "Run times with", "Samples of", "Figure 3 by sides",
           "L2 hit rate", "What stays in the L2 cache of an H200, by footprint", "Inputs that fuzzers", "Code that an SM",
           "NVIDIA H200 by microbenchmarks", "Latency by footprint")


def check_answer(file, result):
    """A stored result says what was asked and what was found, in figures of its rows."""
    name = f"{file.name}: \"{result['title']}\""
    if result["title"] in OF_PAPERS or file.name in PAPERS:
        return
    for part in ("question", "answer"):
        if not result.get(part):
            yield f"{name} has no {part}"
    if not result["title"].startswith(DERIVED):
        told = figures(LIMIT.sub("", result.get("answer", "")))
        found = told_of(result)
        yield from (f"{name}: {n} is not in its rows" for n in told if not same(n, found))


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    faults = []
    pages = [folder / "README.md", *sorted((folder / "docs").rglob("*.md"))]
    quoted = 0
    for page in pages:
        quoted += sum(1 for _ in tied(page))
        faults += [f"{page.relative_to(folder)}: {fault}" for fault in check_page(page, folder)]
    answers = 0
    for file in sorted((folder / "results").rglob("*.json")):
        document = json.loads(file.read_text())
        for result in results_in(document) if "schema" in document else []:
            answers += 1
            faults += check_answer(file, result)
    if not quoted or not answers:
        faults.append("no figures were found: is this the source tree?")
    print(f"{quoted} sources of quoted figures, {answers} stored results, {len(faults)} faults")
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
