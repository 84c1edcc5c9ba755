// Draws the frame of a chart: its axes, its grid, and the labels at the ends of lines.

let chartCount = 0;
const kLabelGap = 15;  // pixels from one name to the next

// Keeps the width of a chart's box for its drawing. To read it between two charts would lay out the page for each.
function measureBox(box) {
  box.measured = box.clientWidth || 720;
}

// Replaces the content of the measured `box` by an empty chart. size: {width, height, left, right, top, bottom} in
// pixels; `right` is kept free for labels. Returns {box, svg, area: {left, right, top, bottom}, width, height, id}.
function startChart(box, label, size) {
  box.replaceChildren();
  const width = Math.max(280, Math.round(size.width || box.measured));
  const height = size.height;
  const svg = shape("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label});
  box.append(svg);
  const area = {left: size.left, right: width - size.right, top: size.top || 26, bottom: height - (size.bottom || 40)};
  return {box, svg, area, width, height, id: `chart${++chartCount}`};
}

function sayWhyEmpty(box, why) {
  box.replaceChildren(element("p", {class: "nothing"}, why));
}

// Centers a text of an axis at x. One that would be cut at an edge of the chart ends there.
function placedText(chart, x, text) {
  const half = textWidth(text) / 2;
  if (x + half > chart.width) return {x: chart.width, "text-anchor": "end"};
  return x < half ? {x: 0, "text-anchor": "start"} : {x, "text-anchor": "middle"};
}

function drawXAxis(chart, scale, title) {
  const {svg, area} = chart;
  for (const tick of scale.ticks) {
    const x = scale.at(tick.value);
    svg.append(
        shape("line", {class: "grid", x1: x, x2: x, y1: area.top, y2: area.bottom}),
        shape("text", {class: "tick", y: area.bottom + 15, ...placedText(chart, x, tick.text)}, tick.text));
  }
  svg.append(
      shape("line", {class: "axis", x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom}),
      shape(
          "text", {class: "axis-title", x: (area.left + area.right) / 2, y: area.bottom + 33, "text-anchor": "middle"},
          title));
}

function drawYAxis(chart, scale, title) {
  const {svg, area} = chart;
  svg.append(shape("text", {class: "axis-title", x: 2, y: 12}, title));
  for (const tick of scale.ticks) {
    const y = scale.at(tick.value);
    svg.append(
        shape("line", {class: "grid", x1: area.left, x2: area.right, y1: y, y2: y}),
        shape("text", {class: "tick", x: area.left - 6, y: y + 4, "text-anchor": "end"}, tick.text));
  }
}

// Appends a group whose shapes are clipped to the area between the axes.
function clippedGroup(chart) {
  const {svg, area, id} = chart;
  svg.append(shape(
      "clipPath", {id: `${id}-area`},
      shape("rect", {x: area.left, y: area.top, width: area.right - area.left, height: area.bottom - area.top})));
  const group = shape("g", {"clip-path": `url(#${id}-area)`});
  svg.append(group);
  return group;
}

// Sets `place` of each label so that labels keep the order of their y, stand at least `gap` apart, and lie between top
// and bottom.
function spreadLabels(labels, gap, top, bottom) {
  labels.sort((a, b) => a.y - b.y);
  let free = top;
  for (const label of labels) {
    label.place = Math.max(label.y, free);
    free = label.place + gap;
  }
  free = bottom;
  for (const label of [...labels].reverse()) {
    label.place = Math.min(label.place, free);
    free = label.place - gap;
  }
}

// Draws names beside the right edge, each with a thin line to the end of its curve. ends: [{x, y, name, look}].
// If there is no room for all, draws none; the legend has the same names.
function drawEndLabels(chart, ends) {
  const {svg, area, width} = chart;
  const gap = kLabelGap;
  if (ends.length === 0 || ends.length > mostEndLabels(area.bottom - area.top)) return;
  spreadLabels(ends, gap, area.top, area.bottom);
  const from = area.right + 14;
  for (const end of ends) {
    const line = `M${end.x + 4} ${end.y}L${Math.max(area.right, end.x + 4)} ${end.y}L${from - 3} ${end.place}`;
    svg.append(
        shape("path", {class: "leader", d: line}), drawMarker(end.look, from + 3, end.place, 3.4),
        shape(
            "text", {class: "end-label", x: from + 11, y: end.place + 4}, shortText(end.name, width - from - 11),
            shape("title", {}, end.name)));
  }
}

// The number of names that a chart of this height has room for.
function mostEndLabels(height) {
  return Math.floor(height / kLabelGap) + 1;
}

// Pixels to keep free for those names; 0 if they would take more than 31 % of the chart.
function labelRoom(names, width) {
  const room = Math.min(30 + widest(names), 260);
  return room <= width * 0.31 ? room : 0;
}
