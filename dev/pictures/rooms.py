"""The rooms of a crate, from the top floor down, and which room needs which: arrows that point up would be red."""

from svg import document, number, text

WIDTH, STEP, BOX = 840, 52, 240


def tower(x: float, top: float, title: str, rooms: list[str], arrows: list[list[int]]) -> list[str]:
    """One crate: its boxes, and an arc for each pair of rooms, the longer the further out."""
    last = len(rooms) - 1
    middle = lambda floor: top + (last - floor) * STEP + 16
    parts = [text(x, top - 18, f"{title}: {len(arrows)} arrows, {sum(to > at for at, to in arrows)} up", "ink", 15)]
    for floor, name in enumerate(rooms):
        y = middle(floor) - 16
        parts.append(f'<rect x="{number(x)}" y="{number(y)}" width="{BOX}" height="32" rx="6" class="edge-line"/>')
        parts.append(text(x + 10, y + 21, name, "ink", 12))
    for at, to in arrows:
        begin, end = middle(at) + 4, middle(to) - 4
        out = x + BOX + 14 + 13 * abs(at - to)
        kind = "vermilion-line" if to > at else "mute-line"
        parts.append(f'<path d="M{number(x + BOX)} {number(begin)} C{number(out)} {number(begin)} {number(out)} '
                     f'{number(end)} {number(x + BOX)} {number(end)}" class="{kind}" marker-end="url(#head)"/>')
    return parts


def rooms(plan: dict) -> str:
    height = 70 + STEP * max(len(crate["rooms"]) for crate in plan.values())
    head = ('<defs><marker id="head" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" orient="auto">'
            '<path d="M0 0 L6 3 L0 6 z" class="mute"/></marker></defs>')
    parts = [head]
    for index, (name, crate) in enumerate(sorted(plan.items())):
        parts += tower(24 + index * 410, 54, name, crate["rooms"], crate["arrows"])
    description = "; ".join(f"{name}: {', '.join(crate['rooms'])}" for name, crate in sorted(plan.items()))
    return document(WIDTH, height, "Rooms and their arrows", description, parts)
