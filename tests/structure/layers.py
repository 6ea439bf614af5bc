"""Fails where a library includes the header of one that it does not link, and so of one above it.

usage: layers.py SOURCE_FOLDER

What links what stands in CMakeLists.txt: bulkhead_library(NAME ... SOURCES ... LINK bulkhead_OTHER ...).
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#include "(([a-z0-9_]+)/[^"]+)"', re.MULTILINE)
LIBRARY = re.compile(r"bulkhead_library\((\w+)(?: [A-Z]+)*? SOURCES (.*?)\)\n", re.DOTALL)


def libraries(text):
    """Of each library: its folders, what it leaves out of them, and what it links itself."""
    found = {}
    for name, rest in LIBRARY.findall(text):
        part, parts = "SOURCES", {"SOURCES": [], "EXCEPT": [], "LINK": []}
        for word in rest.split():
            if word in parts:
                part = word
            else:
                parts[part].append(word)
        found[name] = parts
    return found


def below(name, found):
    """A library and everything that it links, however far down."""
    reached, ahead = set(), [name]
    while ahead:
        one = ahead.pop()
        if one in reached or one not in found:
            continue
        reached.add(one)
        ahead += [word.removeprefix("bulkhead_") for word in found[one]["LINK"]]
    return reached


def sources(parts, root):
    left_out = {root / path for path in parts["EXCEPT"]}
    return {path for pattern in parts["SOURCES"] for path in root.glob(pattern)} - left_out


def owner_of(root, found):
    """The library that each header belongs to: that of the source beside it, or else of its folder."""
    owners = {}
    for name, parts in found.items():
        for source in sources(parts, root):
            owners[source.with_suffix(".h")] = name
    for name, parts in found.items():
        for source in sources(parts, root):
            owners.setdefault(source.parent, name)
    return lambda header: owners.get(header) or owners.get(header.parent)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = libraries((root / "CMakeLists.txt").read_text())
    if "base" not in found:
        sys.exit("layers: no libraries in CMakeLists.txt")
    owner, seen, faults = owner_of(root, found), 0, []
    for name, parts in sorted(found.items()):
        allowed = below(name, found)
        files = sources(parts, root)
        files |= {header for header in (file.with_suffix(".h") for file in files) if header.exists()}
        for file in sorted(files):
            for path, _ in INCLUDE.findall(file.read_text()):
                other = owner(root / "src" / path)
                seen += 1
                if other and other not in allowed:
                    faults.append(f"{file.relative_to(root)} includes {path}: {name} does not link {other}")
    print("\n".join(faults) or f"{seen} includes of {len(found)} libraries, none upward")
    sys.exit(1 if faults or not seen else 0)


main()
