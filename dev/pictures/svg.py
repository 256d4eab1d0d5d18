"""What all pictures share: colors for light and dark, the frame, text, and numbers.

The colors are those of Okabe and Ito, which people with every kind of color blindness can tell apart. Lines
differ by their marks as well, and areas by their hatching.
"""

from html import escape

SANS = "-apple-system,'Segoe UI','Noto Sans',Helvetica,Arial,sans-serif"
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
# Name: light, dark.
COLORS = {
    "paper": ("#ffffff", "#0d1117"),
    "edge": ("#d0d7de", "#30363d"),
    "grid": ("#e3e7eb", "#262c34"),
    "ink": ("#1f2328", "#e6edf3"),
    "mute": ("#59636e", "#9198a1"),
    "blue": ("#0072b2", "#56b4e9"),
    "orange": ("#e69f00", "#e69f00"),
    "vermilion": ("#d55e00", "#e8702a"),
    "green": ("#009e73", "#1fbf92"),
}


def number(value: float) -> str:
    """A coordinate; the same text on every machine."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def style(more: str = "") -> str:
    """Classes that fill with a color (`blue`) or draw with it (`blue-line`)."""
    def rules(index):
        return "".join(f".{name}{{fill:{shades[index]}}}.{name}-line{{stroke:{shades[index]};fill:none}}"
                       for name, shades in COLORS.items())
    return f"<style>{rules(0)}@media (prefers-color-scheme:dark){{{rules(1)}}}{more}</style>"


def text(x: float, y: float, words: str, kind: str = "ink", size: float = 14, more: str = "") -> str:
    return (f'<text x="{number(x)}" y="{number(y)}" class="{kind}" font-size="{number(size)}"'
            f'{" " + more if more else ""}>{escape(words, quote=False)}</text>')


def line(x1: float, y1: float, x2: float, y2: float, kind: str, more: str = "") -> str:
    ends = " ".join(f'{name}="{number(value)}"' for name, value in
                    (("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2)))
    return f'<line {ends} class="{kind}-line"{" " + more if more else ""}/>'


def document(width: int, height: int, title: str, description: str, parts: list[str], rules: str = "",
             font: str = SANS) -> str:
    """A picture with a background of its own, since a page's may be of the other scheme."""
    frame = (f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" class="paper"/>'
             f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" class="edge-line"/>')
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-labelledby="title description" font-family="{font}" '
            f'xml:space="preserve">')
    names = (f'<title id="title">{escape(title)}</title>'
             f'<desc id="description">{escape(description)}</desc>')
    return "\n".join([head, names, style(rules), frame, *parts, "</svg>"]) + "\n"
