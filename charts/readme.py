#!/usr/bin/env python3
"""Writes the table of values in charts/rollwright/README.md from the comments of values.yaml.

A key's comment begins with `# -- ` and may go on in lines that begin with `# `. A map with such a
comment is one row; one without is a row for each of its keys. Prints the README; with --write puts
it where it belongs. Ends with 1 if a key has no comment.
"""

import pathlib
import re
import sys

CHART = pathlib.Path(__file__).resolve().parent / "rollwright"
BEGIN, END = "<!-- values: from values.yaml, by charts/readme.py -->\n", "<!-- end of values -->\n"
KEY = re.compile(r"^( *)([A-Za-z][A-Za-z0-9_]*):(?: +(.*))?$")


def keys(text):
    """(path, default, comment or None, depth) of every key, in order."""
    path, comment = [], None
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("# -- "):
            comment = stripped[5:]
        elif stripped.startswith("# ") and comment is not None:
            comment += " " + stripped[2:]
        elif match := KEY.match(line):
            depth = len(match[1]) // 2
            path = path[:depth] + [match[2]]
            yield ".".join(path), match[3], comment, depth
            comment = None
        else:
            comment = None


def rows(text):
    """A row of the table for each key that has a comment; an error for each that should have."""
    entries = list(keys(text))
    covered, rows, missing = None, [], []
    for index, (path, default, comment, depth) in enumerate(entries):
        if covered is not None and path.startswith(covered + "."):
            continue
        has_children = index + 1 < len(entries) and entries[index + 1][3] > depth
        if comment is not None:
            covered = path
            shown = f"`{default}`" if default is not None else "see values.yaml"
            rows.append(f"| `{path}` | {shown} | {comment.replace('|', chr(92) + '|')} |")
        elif not has_children:
            missing.append(path)
    return rows, missing


def main():
    found, missing = rows((CHART / "values.yaml").read_text())
    if missing:
        sys.exit("values.yaml: no comment (# -- ...) for " + ", ".join(missing))
    readme = (CHART / "README.md").read_text()
    before, rest = readme.split(BEGIN)
    after = rest.split(END)[1]
    table = "\n".join(["| key | default | |", "|---|---|---|", *found]) + "\n"
    text = before + BEGIN + table + END + after
    if "--write" in sys.argv[1:]:
        (CHART / "README.md").write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
