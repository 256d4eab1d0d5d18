"""A screen of the live view as an SVG, from a golden file of its test: letters, and below them how each looks."""

from itertools import groupby

from svg import MONO, document, line, number, text
from terminal import ADVANCE, BOTTOM, LEADING, SIDE, TOP, draw

KINDS = {"b": "blue", "y": "orange", "m": "vermilion", "r": "vermilion", "g": "green", "c": "blue", "-": "mute"}
# Block elements are drawn, since those of fonts leave gaps: height, from the top, and opacity.
BLOCKS = {"█": (1, 0, 1), "▓": (1, 0, 1), "▒": (1, 0, 1), "░": (1, 0, 0.3), "▄": (0.5, 0.5, 1)}


# What is light in a terminal, as pods that start.
LIGHT = 0.45


def block(row: int, column: int, length: int, letter: str, look: str) -> str:
    height, top, opacity = BLOCKS[letter]
    kind = KINDS.get(look.lower(), "ink")
    if look.isupper():
        opacity = LIGHT
    x, y = SIDE + column * ADVANCE, TOP + (row + top) * LEADING
    return (f'<rect x="{number(x)}" y="{number(y)}" width="{number(length * ADVANCE)}" '
            f'height="{number(height * LEADING)}" class="{kind}" opacity="{opacity}"/>')


def cells(letters: list[str], *looks: list[str]):
    """Runs of cells that look the same: row, column, letters, and looks."""
    for row, words in enumerate(letters):
        column = 0
        cells = zip(words, *(kinds[row].ljust(len(words)) for kinds in looks))
        for _, run in groupby(cells, lambda cell: (cell[0] if cell[0] in BLOCKS else "", *cell[1:])):
            run = list(run)
            yield row, column, "".join(letter for letter, *_ in run), *run[0][1:]
            column += len(run)


def picture(golden: str, title: str) -> str:
    rows = golden.splitlines()
    lines = [index for index, row in enumerate(rows) if row and set(row) == {"="}]
    letters, looks, behind = (rows[begin:end] for begin, end in
                              zip([0, lines[0] + 1, lines[1] + 1], [*lines, len(rows)]))
    columns, parts = len(rows[lines[0]]), []
    for row, column, run, look, back in cells(letters, looks, behind):
        if back != " ":
            parts.append(block(row, column, len(run), "█", back))
        if run[0] in BLOCKS:
            parts.append(block(row, column, len(run), run[0], look))
        elif run.strip():
            begin = len(run) - len(run.lstrip())
            parts.append(draw(column + begin, row, run.strip(), KINDS.get(look, "ink")))
    width = round(2 * SIDE + columns * ADVANCE)
    bar = [line(1, 44, width - 1, 44, "edge"),
           text(width / 2, 27, title, "mute", 14, 'text-anchor="middle"')]
    rules = f"text{{font-family:{MONO};font-size:14.5px;white-space:pre}}"
    return document(width, TOP + len(letters) * LEADING + BOTTOM, title, "\n".join(letters), bar + parts, rules, MONO)
