"""SVG files in light and dark for README and the guides, 860 units wide, with text as text.

Monospaced text has a fixed advance, whatever the reader's font, so that what is drawn around it fits.
"""

from html import escape

WIDTH = 860
SANS = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
#: The width of a character of monospaced text, as a share of its size.
ADVANCE = 0.6
#: All text has a contrast of at least 4.5 with `page`, `card` and, in its own colour, with its `-back`.
COLOURS = {
    "light": {
        "page": "#ffffff", "card": "#f6f8fa", "line": "#d0d7de", "text": "#1f2328", "quiet": "#57606a",
        "good": "#0a6b32", "good-back": "#d2f4dd", "bad": "#b42318", "bad-back": "#ffe3e0",
    },
    "dark": {
        "page": "#0d1117", "card": "#171d26", "line": "#3a434e", "text": "#e6edf3", "quiet": "#9aa6b2",
        "good": "#5fd88a", "good-back": "#12371f", "bad": "#ff9a90", "bad-back": "#451b1a",
    },
}  # fmt: skip


class Drawing:
    """One picture in one scheme. Colours are names of `COLOURS`; `y` of text is its baseline."""

    def __init__(self, scheme, height, title, description):
        self.colours = COLOURS[scheme]
        self.elements = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'role="img" aria-labelledby="title description">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="description">{escape(description)}</desc>',
        ]
        self.box(0.5, 0.5, WIDTH - 1, height - 1, "page", radius=10)

    def box(self, x, y, width, height, fill, line="line", radius=8):
        stroke = f' stroke="{self.colours[line]}"' if line else ""
        place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}"'
        self.elements.append(f'<rect {place} fill="{self.colours[fill]}"{stroke}/>')

    def text(self, x, y, text, size=14, colour="text", anchor="start", weight=400):
        style = f'font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="{self.colours[colour]}"'
        self.elements.append(f'<text x="{x:g}" y="{y:g}" font-family="{SANS}" {style}>{escape(text)}</text>')

    def mono(self, x, y, text, size=14, colour="text", weight=400):
        """Monospaced text from its left end; the result is where its right end is."""
        right = x + len(text) * ADVANCE * size
        x += (len(text) - len(text.lstrip())) * ADVANCE * size
        if text := text.strip():
            width = f'textLength="{len(text) * ADVANCE * size:g}" lengthAdjust="spacingAndGlyphs" xml:space="preserve"'
            style = f'font-size="{size}" font-weight="{weight}" fill="{self.colours[colour]}"'
            self.elements.append(f'<text x="{x:g}" y="{y:g}" font-family="{MONO}" {width} {style}>{escape(text)}</text>')
        return right

    def path(self, points, colour="quiet", width=1.5, arrow=False, dashes=""):
        """A line through points; with an arrow, its last part goes right, up or down."""
        points = list(points)
        if arrow:
            (x1, y1), (x2, y2) = points[-2:]
            dx, dy = (x2 > x1) - (x2 < x1), (y2 > y1) - (y2 < y1)
            tip = [(x2, y2), (x2 - 8 * dx - 4 * dy, y2 - 8 * dy - 4 * dx), (x2 - 8 * dx + 4 * dy, y2 - 8 * dy + 4 * dx)]
            triangle = " ".join(f"{x:g},{y:g}" for x, y in tip)
            self.elements.append(f'<polygon points="{triangle}" fill="{self.colours[colour]}"/>')
            points[-1] = (x2 - 7 * dx, y2 - 7 * dy)
        line = " ".join(f"{x:g},{y:g}" for x, y in points)
        stroke = f'stroke="{self.colours[colour]}" stroke-width="{width:g}" stroke-linejoin="round"'
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.elements.append(f'<polyline points="{line}" fill="none" {stroke}{dashed}/>')

    def save(self, file):
        file.write_text("\n".join([*self.elements, "</svg>", ""]), encoding="utf-8")
