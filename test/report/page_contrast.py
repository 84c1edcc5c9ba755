"""Computes the contrast of a page in a browser, by the formula of WCAG 2: texts need 4.5 (large ones 3), marks 3."""

# Returns {texts, marks: those that are too faint, as [text or shape, its colour, what is behind it, contrast], seen}.
SCRIPT = """
const parse = (text) => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
const luminance = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map((value) => value / 255).map(
      (value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const contrast = (a, b) => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};
const behind = (one) => {
  for (let node = one; node; node = node.parentElement) {
    const color = parse(getComputedStyle(node).backgroundColor);
    if (color.length < 4 || color[3] > 0) return color;
  }
  return [255, 255, 255];
};
const found = {texts: [], marks: [], seen: 0};
const judge = (list, what, color, back, least) => {
  ++found.seen;
  const reached = contrast(parse(color), back);
  if (reached < least) list.push([what.slice(0, 60), color, back.join(), Math.round(reached * 100) / 100]);
};
const words = document.createTreeWalker(document.getElementById('page'), NodeFilter.SHOW_TEXT);
while (words.nextNode()) {
  const text = words.currentNode.textContent.trim(), one = words.currentNode.parentElement;
  if (!text || !one.checkVisibility() || one.closest('title, option, :disabled, pattern')) continue;
  const style = getComputedStyle(one);
  const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  const isDrawn = one instanceof SVGElement;
  const back = one.matches('.on-dark') ? parse('rgb(47, 93, 138)') :
      behind(isDrawn ? one.closest('svg').parentElement : one);
  judge(found.texts, text, isDrawn ? style.fill : style.color, back, isLarge ? 3 : 4.5);
}
for (const one of document.querySelectorAll('.legend line, .reference, .axis, .figure-head button, select')) {
  if (!one.checkVisibility()) continue;
  const style = getComputedStyle(one), isDrawn = one instanceof SVGElement;
  if (one.disabled) continue;
  const back = behind(isDrawn ? one.closest('svg').parentElement : one.parentElement);
  judge(found.marks, one.outerHTML, isDrawn ? style.stroke : style.borderTopColor, back, 3);
}
return found;
"""
