"""Draws the pictures of the questions as SVG."""
import math

from svg import text

COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#805ad5", "#b83280", "#444444")
LEFT, WIDTH, ROW, HEAD = 370, 400, 24, 50


class Scale:
    """The x axis from `first` to `last`, linear or logarithmic. Values outside are drawn at the nearer end."""

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
            first, last = math.ceil(math.log10(self.first)), math.floor(math.log10(self.last))
            if last - first < 2:  # too few powers of ten
                values = [part * 10.0 ** power for power in range(first - 1, last + 1) for part in (1, 2, 5)]
                return [(value, f"{value:g}") for value in values if self.first <= value <= self.last]
            return [(10.0 ** power, f"{10.0 ** power:g}") for power in range(first, last + 1, 1 if last - first < 5 else 2)]
        return [(self.first + part * (self.last - self.first) / 4, f"{self.first + part * (self.last - self.first) / 4:g}")
                for part in range(5)]


def dots(title, scale, series, rows, nothing="diverged"):
    """A row for each (name, values), with a dot in the series' colour for each value. For None the row says `nothing`; NaN
    leaves the place of a dot empty."""
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
                parts.append(text(LEFT + WIDTH + 12, y + 4, nothing, 11, colour="#c00"))
            elif not math.isnan(value):
                parts.append(f'<circle cx="{scale.place(value):.1f}" cy="{y + 2.5 * (number - (len(values) - 1) / 2):.1f}" r="5" '
                             f'fill="{COLOURS[number]}" fill-opacity="0.8"/>')
    size = f'width="{LEFT + WIDTH + 90}" height="{bottom + 26}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><rect {size} fill="white"/>' + "\n".join(parts) + "</svg>\n"


def curves(title, names, panels):
    """Panels side by side. A panel is (title of its x axis, list of curves), with one curve of (x, y) for each of
    `names`. All share one logarithmic y axis."""
    points = [point for _, lines in panels for line in lines for point in line]
    low, high = min(y for _, y in points), max(y for _, y in points)
    side, top, gap = 280, 70, 40
    parts = [text(12, 20, title, 14)]
    for number, name in enumerate(names):
        parts.append(f'<circle cx="{60 + 82 * number}" cy="42" r="5" fill="{COLOURS[number]}"/>')
        parts.append(text(69 + 82 * number, 46, name, 11))
    for panel, (along, lines) in enumerate(panels):
        left, last = 60 + panel * (side + gap), max(x for line in lines for x, _ in line)

        def place(x, y):
            return left + side * x / last, top + side * math.log(high / y) / math.log(high / low)

        for y in (each for each in (0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1, 1.5, 2, 3) if low <= each <= high):
            level = place(0, y)[1]
            parts.append(f'<line x1="{left}" y1="{level:.1f}" x2="{left + side}" y2="{level:.1f}" stroke="#ddd"/>')
            parts.append(text(left - 6, level + 4, f"{y:g}", 10, "end", "#777"))
        unit = 10.0 ** math.floor(math.log10(last))
        tick = next(unit * share for share in (0.2, 0.5, 1, 2, 5) if last <= 4.5 * unit * share)
        for part in range(int(last / tick) + 1):
            parts.append(text(left + side * part * tick / last, top + side + 14, f"{part * tick:g}", 10, "middle", "#777"))
        parts.append(text(left + side / 2, top + side + 30, along, 12, "middle"))
        for number, line in enumerate(lines):
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line))
            parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[number]}" stroke-width="1.8"/>')
    size = f'width="{60 + len(panels) * (side + gap)}" height="{top + side + 42}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><rect {size} fill="white"/>' + "\n".join(parts) + "</svg>\n"
