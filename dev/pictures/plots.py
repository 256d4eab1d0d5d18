"""Plots: lines over an axis, and pods of each revision over time."""

from svg import MONO, document, line, number, text

WIDTH = 840
LEFT = 64


class Axes:
    """An area with two linear scales, which both begin at 0 or where told."""

    def __init__(self, x, y, width, height, right, top, begin=0.0):
        self.x, self.y, self.width, self.height = x, y, width, height
        self.right, self.top, self.begin = right, top, begin

    def at(self, value: float, over: float) -> tuple[float, float]:
        return (self.x + (value - self.begin) / (self.right - self.begin) * self.width,
                self.y + self.height - over / self.top * self.height)

    def draw(self, columns, rows, across: str) -> list[str]:
        """The grid with its numbers, and what the horizontal axis counts."""
        parts = []
        for row in rows:
            _, y = self.at(self.begin, row)
            parts.append(line(self.x, y, self.x + self.width, y, "mute" if row == 0 else "grid"))
            parts.append(text(self.x - 10, y + 4.5, f"{row:,}", "mute", 13, 'text-anchor="end"'))
        for column in columns:
            x, bottom = self.at(column, 0)
            parts.append(line(x, bottom, x, bottom + 5, "mute"))
            parts.append(text(x, bottom + 21, f"{column:,}", "mute", 13, 'text-anchor="middle"'))
        middle, bottom = self.x + self.width / 2, self.y + self.height
        parts.append(text(middle, bottom + 43, across, "mute", 13, 'text-anchor="middle"'))
        return parts


def heading(title: str, subtitle: str) -> list[str]:
    return [text(24, 36, title, "ink", 18, 'font-weight="600"'), text(24, 59, subtitle, "mute", 14)]


def mark(shape: str, x: float, y: float, kind: str) -> str:
    """A point of a line: a circle, a square or a triangle."""
    if shape == "circle":
        return f'<circle cx="{number(x)}" cy="{number(y)}" r="4.5" class="{kind}"/>'
    if shape == "square":
        return f'<rect x="{number(x - 4)}" y="{number(y - 4)}" width="8" height="8" class="{kind}"/>'
    points = " ".join(f"{number(x + dx)},{number(y + dy)}" for dx, dy in ((0, -6.5), (6, 5), (-6, 5)))
    return f'<polygon points="{points}" class="{kind}"/>'


# Everywhere the same color and mark for the same controller.
SIDES = {
    "Kubernetes": ("vermilion", "circle"),
    "Rollwright": ("blue", "square"),
    "on apps/v1": ("green", "triangle"),
}


def curve(axes: Axes, side: str, points: list[tuple[float, float]]) -> list[str]:
    kind, shape = SIDES[side]
    placed = [axes.at(*point) for point in points]
    path = " ".join(f"{number(x)},{number(y)}" for x, y in placed)
    return [f'<polyline points="{path}" class="{kind}-line" stroke-width="2.5"/>',
            *(mark(shape, x, y, kind) for x, y in placed)]


def legend(x: float, y: float, names: dict[str, str]) -> list[str]:
    """The controllers in a row, by the names that the picture gives them."""
    parts = []
    for side, name in names.items():
        kind, shape = SIDES[side]
        parts += [line(x, y - 4.5, x + 26, y - 4.5, kind, 'stroke-width="2.5"'), mark(shape, x + 13, y - 4.5, kind),
                  text(x + 34, y, name, "ink", 14)]
        x += 34 + 7.6 * len(name) + 24
    return parts


def memory(figures: dict[str, list[tuple[float, float]]]) -> str:
    """Memory of each controller by the number of Deployments."""
    axes = Axes(LEFT, 86, 560, 270, 10000, 2500)
    parts = heading("Memory by number of Deployments",
                    "Peak while the controller starts, in MiB; every Deployment has 5 old revisions")
    parts += axes.draw([1000, 5000, 10000], range(0, 2501, 500), "Deployments")
    for side in reversed(SIDES):
        parts += curve(axes, side, figures[side])
    # At the ends of the lines; two lines run so close that one name goes above the other.
    for side, name, down in (("Kubernetes", "Kubernetes’ controller", -3), ("Rollwright", "Rollwright", -19),
                             ("on apps/v1", "on apps/v1", 1)):
        (x, y), value = axes.at(*figures[side][-1]), f"{figures[side][-1][1]:,g} MiB"
        parts.append(text(x + 16, y + down, name, SIDES[side][0], 14, 'font-weight="600"'))
        where = (x + 16, y + 17) if side == "Kubernetes" else (x + 110, y + down)
        parts.append(text(*where, value))
    return document(WIDTH, 424, "Memory by number of Deployments", describe("MiB", figures), parts)


def revisions(seconds: dict[str, list[tuple[float, float]]], cpu: dict[str, list[tuple[float, float]]]) -> str:
    """How long a new template for all takes, by the number of old revisions: two panels."""
    parts = heading("5,000 Deployments get a new template at once",
                    "By the number of old revisions that each Deployment has")
    parts += legend(24, 92, {"Kubernetes": "Kubernetes’ controller", "Rollwright": "Rollwright",
                             "on apps/v1": "Rollwright on apps/v1"})
    for x, name, figures in ((LEFT, "Seconds until the last write", seconds), (484, "Seconds of CPU, controller only", cpu)):
        axes = Axes(x, 144, 320, 220, 5.2, 250, 0.8)
        parts.append(text(x, 128, name, "ink", 14, 'font-weight="600"'))
        parts += axes.draw(range(1, 6), range(0, 251, 50), "old revisions")
        for side in SIDES:
            parts += curve(axes, side, figures[side])
    description = f"Until the last write: {describe('s', seconds)} CPU: {describe('s', cpu)}"
    return document(WIDTH, 432, "Time by number of old revisions", description, parts)


def describe(unit: str, figures: dict[str, list[tuple[float, float]]]) -> str:
    return " ".join(f"{side}: " + ", ".join(f"{y:,g} {unit} at {x:,g}" for x, y in points) + "."
                    for side, points in figures.items())


def area(axes: Axes, samples: list[tuple[float, float, float]], fill: str) -> str:
    """What lies between two heights, which change in steps: (from when, low, high)."""
    upper, lower = [], []
    for (begin, low, high), (end, _, _) in zip(samples, samples[1:]):
        upper += [axes.at(begin, high), axes.at(end, high)]
        lower += [axes.at(begin, low), axes.at(end, low)]
    points = " ".join(f"{number(x)},{number(y)}" for x, y in upper + lower[::-1])
    return f'<polygon points="{points}" {fill}/>'


def pods(record: dict, title: str, subtitle: str, kinds: list[str]) -> str:
    """Pods of each revision: those that are available, below those that start, between the two limits."""
    end, floor, ceiling = record["end"], record["floor"], record["ceiling"]
    axes = Axes(LEFT, 150, 626, 238, end, ceiling + 1)
    parts, samples = heading(title, subtitle), record["samples"]
    parts += axes.draw(range(0, int(end) + 1), range(0, ceiling + 1, 5), "seconds")
    count = len(record["images"])
    swatch = 24.0
    for what, index in [("available", i) for i in range(count)] + [("starting", i) for i in range(count)]:
        layers = []
        for sample in samples:
            values = sample["available"] + sample["starting"]
            place = index if what == "available" else count + index
            layers.append((sample["at"], sum(values[:place]), sum(values[:place + 1])))
        if all(low == high for _, low, high in layers):
            continue
        kind = kinds[index]
        fill = f'class="{kind}"' if what == "available" else f'fill="url(#{kind}-hatch)"'
        parts.append(area(axes, [(0.0, *layers[0][1:]), *layers[1:], (end, 0, 0)], fill))
        parts.append(f'<rect x="{number(swatch)}" y="81" width="16" height="14" {fill}/>')
        name = f"{record['images'][index]}, {'available' if what == 'available' else 'not available'}"
        parts.append(text(swatch + 23, 93, name, "ink", 13.5))
        swatch += 23 + 7.1 * len(name) + 22
    for limit, words in ((ceiling, ("at most", f"{ceiling} pods")), (floor, ("at least", f"{floor} available"))):
        x, y = axes.at(end, limit)
        parts.append(line(axes.x, y, x, y, "ink", 'stroke-width="2" stroke-dasharray="7 4"'))
        parts += [text(x + 12, y - 3, words[0], "ink", 14, 'font-weight="600"'),
                  text(x + 12, y + 15, words[1], "ink", 14, 'font-weight="600"')]
    for place in record["marks"]:
        x, bottom = axes.at(place["at"], 0)
        parts.append(line(x, 130, x, bottom, "mute", 'stroke-dasharray="2 3"'))
        parts.append(text(x + 6, 137, place["command"], "mute", 12.5, f'font-family="{MONO}"'))
    hatches = "".join(
        f'<pattern id="{kind}-hatch" width="8" height="8" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><rect width="8" height="8" class="{kind}" opacity="0.22"/>'
        f'<rect width="3" height="8" class="{kind}"/></pattern>' for kind in dict.fromkeys(kinds))
    last = samples[-1]
    description = (f"{title}. Never more than {ceiling} pods, never fewer than {floor} available; at the end "
                   + ", ".join(f"{n} of {image}" for n, image in zip(last["available"], record["images"])) + ".")
    return document(WIDTH, 456, title, description, [f"<defs>{hatches}</defs>", *parts])
