"""Fails where documentation names a file of the tree that is not there.

usage: paths.py SOURCE_FOLDER

Names are those in `backquotes` that begin with a folder of the tree. A name may have wildcards, braces as in a shell,
words in CAPITALS that stand for any, and be without its extension: `src/sim/mem/l2` is there if l2.cpp is.
"""
import pathlib
import re
import sys

NAME = re.compile(r"`((?:src|tests|bench|profiles|results|scripts|cmake|docs|examples)/[\w./*{},-]+)`")
CAPITALS = re.compile(r"\b[A-Z]{2,}\b(?!\.md)")
BRACES = re.compile(r"\{([^{}]*)\}")


def spelled_out(name):
    found = BRACES.search(name)
    if not found:
        return [name]
    return [one for word in found.group(1).split(",")
            for one in spelled_out(name[:found.start()] + word + name[found.end():])]


def is_there(root, name):
    name = CAPITALS.sub("*", name).rstrip("/")
    return any(True for pattern in (name, name + ".*") for _ in root.glob(pattern))


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = [root / name for name in ("README.md", "CONTRIBUTING.md")] + sorted((root / "docs").rglob("*.md"))
    named = {(page, one) for page in pages for name in NAME.findall(page.read_text()) for one in spelled_out(name)}
    missing = sorted(f"{page.relative_to(root)}: no {name}" for page, name in named if not is_there(root, name))
    print("\n".join(missing) or f"{len(named)} names, all there")
    sys.exit(1 if missing or not named else 0)


main()
