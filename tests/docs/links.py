"""Fails where a link of the documentation leads nowhere, or a document does not say its kind or is not in the index.

usage: links.py SOURCE_FOLDER

Links to other sites are not followed. A document's kind is in *italics* in the paragraph below its title; the README and
the index, docs/README.md, have none.
"""
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"#+ (.*)")
KIND = re.compile(r"# .*\n\n\*(Tutorial|How-to|Reference|Explanation)\b")


def anchor(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def outside_fences(page):
    fenced = False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield line


def anchors(page):
    return {anchor(found[1]) for line in outside_fences(page) if (found := HEADING.match(line))}


def targets(page):
    """Each link with the page and the anchor that it means."""
    for line in outside_fences(page):
        for link in LINK.findall(line):
            if "://" not in link:
                path, _, name = link.partition("#")
                yield link, (page.parent / path).resolve() if path else page, name


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    index = root / "docs" / "README.md"
    documents = sorted(set((root / "docs").rglob("*.md")) - {index}) + [root / "examples" / "README.md"]
    pages = [root / "README.md", root / "CONTRIBUTING.md", index, *documents]
    wrong, followed = [], 0
    for page in pages:
        for link, target, name in targets(page):
            followed += 1
            if not target.exists() or (name and target.suffix == ".md" and name not in anchors(target)):
                wrong.append(f"{page.relative_to(root)}: {link} leads nowhere")
    indexed = {target for _, target, _ in targets(index)}
    for page in documents:
        if not KIND.match(page.read_text()):
            wrong.append(f"{page.relative_to(root)}: does not say below its title which kind of document it is")
        if page not in indexed:
            wrong.append(f"{page.relative_to(root)}: not in docs/README.md")
    print("\n".join(wrong) or f"{len(pages)} pages, {followed} links, all right")
    sys.exit(1 if wrong or not followed else 0)


main()
