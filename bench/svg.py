"""Text elements for the SVG pictures of results."""
from xml.sax.saxutils import escape

FONT = 'font-family="Helvetica, Arial, sans-serif"'


def text(x, y, what, size=12, anchor="start", colour="#222", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" {FONT} font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
            f'font-weight="{weight}">{escape(what)}</text>')
