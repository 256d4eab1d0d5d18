"""A recorded terminal session (asciicast v2) as an SVG that moves by CSS alone, so that GitHub shows it.

Well-known renderers draw every frame anew; here a piece of a row is drawn once and is visible from when it was
printed until it is overwritten. Where nothing moves, as where people asked for less motion, the last frame shows.
It knows the few control sequences that the recorded programs send, and fails on any other.
"""

import json
import re
from html import escape

from svg import MONO, document, line, number, text

SIZE, ADVANCE, LEADING = 14.5, 8.7, 20
SIDE, TOP, BOTTOM = 20, 62, 16
TOKEN = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|(\r)|(\n)|([^\x00-\x1f])", re.DOTALL)
KINDS = {"0": "ink", "31": "vermilion", "32": "green", "33": "orange", "34": "blue"}


class Screen:
    """Rows of cells: a character and its kind."""

    def __init__(self, columns: int, rows: int):
        self.columns, self.rows = columns, [[] for _ in range(rows)]
        self.row = self.column = 0
        self.kind, self.wraps = "ink", True

    def feed(self, output: str) -> None:
        position = 0
        while position < len(output):
            token = TOKEN.match(output, position)
            if not token:
                raise ValueError(f"unknown control sequence: {output[position:position + 10]!r}")
            position = token.end()
            parameters, command, returned, newline, character = token.groups()
            if character:
                self.put(character)
            elif returned:
                self.column = 0
            elif newline:
                self.row += 1
            elif command == "A" and not parameters:
                self.row -= 1
            elif command == "K" and parameters == "2":
                self.rows[self.row] = []
            elif command == "m" and (parameters or "0") in KINDS:
                self.kind = KINDS[parameters or "0"]
            elif parameters == "?7" and command in "lh":
                self.wraps = command == "h"
            else:
                raise ValueError(f"unknown control sequence: {token[0]!r}")

    def put(self, character: str) -> None:
        if self.column == self.columns:
            self.row, self.column = (self.row + 1, 0) if self.wraps else (self.row, self.columns - 1)
        cells = self.rows[self.row]
        cells.extend([(" ", "ink")] * (self.column + 1 - len(cells)))
        cells[self.column] = (character, self.kind)
        self.column += 1


class Pieces:
    """What became visible when, and until when: (row, column, cells, from, to)."""

    def __init__(self, rows: int):
        self.done, self.open, self.before = [], [[] for _ in range(rows)], [[] for _ in range(rows)]

    def look(self, now: float, screen: Screen) -> None:
        for row, cells in enumerate(screen.rows):
            before = self.before[row]
            if cells == before:
                continue
            kept = len(before)
            if cells[:kept] != before:
                self.close(row, now)
                kept = 0
            self.open[row].append((row, kept, cells[kept:], now))
            self.before[row] = list(cells)

    def close(self, row: int, now: float) -> None:
        self.done += [(*piece, now) for piece in self.open[row]]
        self.open[row] = []


def runs(column: int, cells: list[tuple[str, str]]):
    """Words of one kind. What stands in columns is drawn column by column, since some viewers join spaces."""
    kinds = [kind for _, kind in cells]
    for word in re.finditer(r"\S+(?: \S+)*", "".join(character for character, _ in cells)):
        begin = word.start()
        for end in range(begin + 1, word.end() + 1):
            if end == word.end() or kinds[end] != kinds[begin]:
                yield column + begin, word[0][begin - word.start():end - word.start()].rstrip(), kinds[begin]
                begin = end


def place(row: int, column: float) -> tuple[float, float]:
    return SIDE + column * ADVANCE, TOP + row * LEADING


def draw(column: int, row: int, words: str, kind: str) -> str:
    # The width is given, since fonts differ.
    x, y = place(row, column)
    length = f' textLength="{number(len(words) * ADVANCE)}"' if len(words) > 1 else ""
    return f'<text x="{number(x)}" y="{number(y + 14.5)}" class="{kind}"{length}>{escape(words, quote=False)}</text>'


def picture(cast: str) -> str:
    head, *events = map(json.loads, cast.splitlines())
    screen, pieces = Screen(head["width"], head["height"]), Pieces(head["height"])
    cursor = []
    for at, _, output in events:
        screen.feed(output)
        pieces.look(at, screen)
        cursor.append((at, *place(screen.row, screen.column)))
    end, used = events[-1][0], screen.row + 1
    for row in range(head["height"]):
        pieces.close(row, end)

    def share(at: float) -> str:
        return number(at / end * 100) + "%"

    frames, parts = {}, []
    for row, column, cells, since, until in sorted(pieces.done, key=lambda piece: piece[3]):
        drawn = "".join(draw(at, row, words, kind) for at, words, kind in runs(column, cells))
        if drawn:
            name = frames.setdefault((since, until), f"f{len(frames)}")
            parts.append(f'<g class="{name}{"" if until == end else " gone"}">{drawn}</g>')
    rules = [f"text{{font-family:{MONO};font-size:{SIZE}px}}g,.cursor{{animation:{number(end)}s step-end infinite}}"
             ".gone{visibility:hidden}"]
    for (since, until), name in frames.items():
        ending = "" if until == end else f"{share(until)}{{visibility:hidden}}"
        rules.append(f".{name}{{animation-name:{name}}}@keyframes {name}{{0%{{visibility:hidden}}"
                     f"{share(since)}{{visibility:visible}}{ending}}}")
    moves = "".join(f"{share(at)}{{transform:translate({number(x)}px,{number(y)}px)}}" for at, x, y in cursor[:-1])
    rules.append(f".cursor{{animation-name:cursor;transform:translate({number(x_of(cursor))}px,"
                 f"{number(cursor[-1][2])}px)}}@keyframes cursor{{{moves}}}"
                 "@media (prefers-reduced-motion:reduce){g,.cursor{animation:none}}")
    parts.append(f'<rect class="cursor mute" y="1" width="{number(ADVANCE)}" height="18" opacity="0.6"/>')
    width = round(2 * SIDE + head["width"] * ADVANCE)
    height = TOP + used * LEADING + BOTTOM
    bar = [f'<circle cx="{22 + 20 * index}" cy="22" r="6" class="edge"/>' for index in range(3)]
    bar += [line(1, 44, width - 1, 44, "edge"),
            text(width / 2, 27, head["title"], "mute", 14, 'text-anchor="middle"')]
    words = "\n".join("".join(character for character, _ in row) for row in screen.rows).strip()
    return document(width, height, head["title"], words, bar + parts, "".join(rules), MONO)


def x_of(cursor: list[tuple[float, float, float]]) -> float:
    return cursor[-1][1]
