"""The pictures of questions, as SVG."""
import math

from svg import text

COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#805ad5", "#b83280", "#444444")
LEFT, WIDTH, ROW, HEAD = 370, 400, 24, 50


class Scale:
    """From first to last, linear or logarithmic; what lies below the first stands there."""

    def __init__(self, first, last, logarithmic=False):
        self.first, self.last, self.logarithmic = first, last, logarithmic

    def place(self, value):
        value = max(value, self.first)
        if self.logarithmic:
            share = math.log(value / self.first) / math.log(self.last / self.first)
        else:
            share = (value - self.first) / (self.last - self.first)
        return LEFT + WIDTH * min(share, 1)

    def ticks(self):
        if self.logarithmic:
            first, last = round(math.log10(self.first)), round(math.log10(self.last))
            return [(10.0 ** power, f"{10.0 ** power:g}") for power in range(first, last + 1, 2)]
        return [(self.first + part * (self.last - self.first) / 4, f"{self.first + part * (self.last - self.first) / 4:g}")
                for part in range(5)]


def dots(title, scale, series, rows):
    """A row for each (name, values), a dot for each value by its series' colour; None: said beside the axis."""
    bottom = HEAD + ROW * len(rows)
    parts = [text(12, 20, title, 14)]
    for number, name in enumerate(series):
        parts.append(f'<circle cx="{LEFT + 82 * number}" cy="34" r="5" fill="{COLOURS[number]}"/>')
        parts.append(text(LEFT + 82 * number + 9, 38, name, 11))
    for value, label in scale.ticks():
        x = scale.place(value)
        parts.append(f'<line x1="{x:.1f}" y1="{HEAD}" x2="{x:.1f}" y2="{bottom}" stroke="#ddd"/>')
        parts.append(text(x, bottom + 14, label, 10, "middle", "#777"))
    for row, (name, values) in enumerate(rows):
        y = HEAD + ROW * row + ROW / 2
        parts.append(text(LEFT - 14, y + 4, name, 12, "end"))
        for number, value in enumerate(values):
            if value is None:
                parts.append(text(LEFT + WIDTH + 12, y + 4, "diverged", 11, colour="#c00"))
            else:
                parts.append(f'<circle cx="{scale.place(value):.1f}" cy="{y + 2.5 * (number - (len(values) - 1) / 2):.1f}" r="5" '
                             f'fill="{COLOURS[number]}" fill-opacity="0.8"/>')
    size = f'width="{LEFT + WIDTH + 90}" height="{bottom + 26}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><rect {size} fill="white"/>' + "\n".join(parts) + "</svg>\n"
