// Line charts.

// Ends the sentence of a caption that says what whiskers are.
const kCutWhiskers = "cut at the edge of the chart";

// plot: {label, x: axis, y: axis, xTitle, yTitle, series, lines, height, noLabels}
//   axis: {quantity, low, high, log, ticks}
//   series: [{name, look, width, points: [{x, y, low, high}], bars, singles: [{points, failed}]}]
//     bars: draws intervals as whiskers instead of a band
//   lines: [{y, text}], text beside the line where no curve is, or [{points, text}], text at the right end: drawn for
//     reference
function drawLineChart(box, plot) {
  const wide = box.measured;
  const labelled = plot.noLabels ? [] : plot.series.filter((one) => one.points.length > 0);
  const fit = labelled.length <= mostEndLabels(plot.height - 66);
  const room = fit ? labelRoom(labelled.map((one) => one.name), wide) : 0;
  const chart = startChart(box, plot.label, {height: plot.height, left: 58, right: room || 16});
  const {area} = chart;
  const x = makeScale(plot.x, area.left, area.right, Math.max(4, Math.round((area.right - area.left) / 80)));
  const y = makeScale(plot.y, area.bottom, area.top, Math.max(3, Math.round((area.bottom - area.top) / 48)));
  drawYAxis(chart, y, plot.yTitle);
  drawXAxis(chart, x, plot.xTitle);
  const group = clippedGroup(chart);
  for (const one of plot.series) fillElement(group, {}, drawBand(one, x, y));
  for (const line of plot.lines || []) drawReference(chart, group, line, plot, x, y);
  for (const one of plot.series) fillElement(group, {}, drawSingles(one, x, y));
  plot.series.forEach((one, i) => fillElement(group, {}, drawSeries(one, x, y, i)));
  if (room > 0) drawEndLabels(chart, labelled.map((one) => endOf(one, x, y, area)).filter((end) => end));
  addReadings(chart, plot, x, y);
}

function pathOf(points, x, y) {
  return points.map((point, i) => `${i ? "L" : "M"}${x.at(point.x).toFixed(1)} ${y.at(point.y).toFixed(1)}`).join("");
}

// On a logarithmic axis values at or below zero have no place.
function hasPlace(point, x, y) {
  return isNumber(x.at(point.x)) && isNumber(y.at(point.y));
}

function drawable(points, x, y) {
  return points.filter((point) => hasPlace(point, x, y));
}

// The points for which has(point) holds, in a new list after each gap.
function stretches(points, has) {
  const found = [[]];
  for (const point of points) {
    if (has(point))
      found[found.length - 1].push(point);
    else
      found.push([]);
  }
  return found.filter((stretch) => stretch.length > 0);
}

// Returns the path of a curve. Does not join points across one that has no place.
function curvePath(points, x, y) {
  return stretches(points, (point) => hasPlace(point, x, y)).map((stretch) => pathOf(stretch, x, y)).join("");
}

function drawBand(one, x, y) {
  const has = ({x: place, low, high}) => isNumber(low) && isNumber(high) && hasPlace({x: place, y: high}, x, y);
  return stretches(one.points, has).map((points) => {
    if (one.bars || points.length === 1) return points.map((point) => drawWhisker(one, point, x, y));
    return drawArea(one, points, x, y);
  });
}

function lowEnd(point, y) {
  return isNumber(y.at(point.low)) ? point.low : y.low;
}

function drawArea({look, chosen}, points, x, y) {
  const upper = pathOf(points.map((point) => ({x: point.x, y: point.high})), x, y);
  const lower = pathOf(points.map((point) => ({x: point.x, y: lowEnd(point, y)})).reverse(), x, y);
  return shape("path", {class: chosen ? "band chosen" : "band", d: `${upper}L${lower.slice(1)}z`, fill: look.color});
}

function drawWhisker({look, chosen}, point, x, y) {
  const [left, bottom, top] = [x.at(point.x) - 4, y.at(lowEnd(point, y)), y.at(point.high)];
  return shape("path", {
    class: chosen ? "whisker" : "whisker faded",
    stroke: look.color,
    d: `M${left + 4} ${bottom}V${top}M${left} ${bottom}h8M${left} ${top}h8`
  });
}

function drawSingles(one, x, y) {
  return (one.singles || []).map(({points, failed}) => {
    const seen = drawable(points, x, y);
    if (seen.length === 0) return [];
    const last = seen[seen.length - 1];
    return [
      shape("path", {
        class: "single",
        d: curvePath(points, x, y),
        stroke: one.look.color,
        "stroke-dasharray": one.look.dash || null
      }),
      failed ?
          drawCross(
              x.at(last.x), Math.max(y.at(y.high) + 5, Math.min(y.at(y.low) - 5, y.at(last.y))), one.look, failed) :
          null
    ];
  });
}

function drawCross(x, y, look, why) {
  return shape(
      "path", {class: "cross", stroke: look.color, d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`}, shape("title", {}, why));
}

// The line and its markers. If there are more than 12 points, markers stand about 60 pixels apart, with a different
// start in each series. A point that no line reaches always has one.
function drawSeries(one, x, y, index) {
  const points = drawable(one.points, x, y);
  const parts = [];
  if (points.length > 1) {
    parts.push(shape("path", {
      class: "line",
      d: curvePath(one.points, x, y),
      stroke: one.look.color,
      "stroke-width": (one.width || 2) + (one.chosen ? 0.8 : 0),
      "stroke-dasharray": one.look.dash || null
    }));
  }
  const alone =
      stretches(one.points, (point) => hasPlace(point, x, y)).filter((stretch) => stretch.length === 1).flat();
  let next = points.length <= 12 ? -Infinity : x.at(points[0].x) + (index % 5) * 12;
  points.forEach((point, i) => {
    const place = x.at(point.x);
    if (place < next && i < points.length - 1 && !alone.includes(point)) return;
    parts.push(drawMarker(one.look, place, y.at(point.y), 3.6));
    if (points.length > 12) next = place + 60;
  });
  return parts;
}

function drawReference(chart, group, line, plot, x, y) {
  const points = line.points || [{x: x.low, y: line.y}, {x: x.high, y: line.y}];
  group.append(shape("path", {class: "reference", d: pathOf(points, x, y)}));
  const end = points[points.length - 1];
  if (y.at(end.y) > chart.area.bottom + 1) return;
  const place = line.points ?
      {x: Math.min(x.at(end.x), chart.area.right) - 6, y: Math.max(chart.area.top + 10, y.at(end.y) - 5)} :
      placeBeside(chart, line, plot, x, y);
  chart.svg.append(
      shape("text", {class: "reference-label", ...place, "text-anchor": line.points ? "end" : "start"}, line.text));
}

// The first place for the text of a level line, from the left, above the line or below it, that no curve touches. If
// there is none, the left end.
function placeBeside({area}, line, plot, x, y) {
  const curves = plot.series.flatMap((one) => [one, ...(one.singles || [])]);
  const wide = textWidth(line.text), level = y.at(line.y);
  for (let left = area.left + 6; left + wide < area.right; left += 16) {
    for (const base of [level - 5, level + 14]) {
      const box = {left: left - 4, right: left + wide + 4, top: base - 12, bottom: base + 5};
      if (box.top < area.top - 4 || box.bottom > area.bottom) continue;
      if (!curves.some((one) => touchesBox(one.points, box, x, y))) return {x: left, y: base};
    }
  }
  return {x: area.left + 6, y: Math.max(area.top + 10, level - 5)};
}

// Whether a curve touches a box. Its points go from left to right.
function touchesBox(points, box, x, y) {
  const places = drawable(points, x, y).map((point) => [x.at(point.x), y.at(point.y)]);
  return places.some(([left, from], i) => {
    const [right, to] = places[i + 1] || [left, from];
    if (right < box.left || left > box.right) return false;
    const at = (place) => right > left ? from + (to - from) * (place - left) / (right - left) : from;
    const ends = [at(Math.max(left, box.left)), right > left ? at(Math.min(right, box.right)) : to];
    return Math.min(...ends) < box.bottom && Math.max(...ends) > box.top;
  });
}

function endOf(one, x, y, area) {
  const points = drawable(one.points, x, y);
  if (points.length === 0) return null;
  const last = points[points.length - 1];
  const height = Math.max(area.top, Math.min(area.bottom, y.at(last.y)));
  return {x: Math.min(x.at(last.x), area.right), y: height, name: one.name, look: one.look};
}

// {low, high} of `property` over all points; null if no point has it.
function extent(series, property) {
  let low = Infinity, high = -Infinity;
  for (const one of series) {
    for (const point of one.points) {
      if (!isNumber(point[property])) continue;
      low = Math.min(low, point[property]);
      high = Math.max(high, point[property]);
    }
  }
  return low <= high ? {low, high} : null;
}

// The range of the means, widened on each side to show their intervals, but by no more than the range itself (or 1 % of
// the highest mean). With two seeds an interval may be 50 times as wide as that range, and would hide how the means
// differ.
function intervalExtent(series) {
  const means = extent(series, "y");
  if (!means) return null;
  const room = Math.max(means.high - means.low, Math.abs(means.high) * 0.01);
  const lows = extent(series, "low") || means, highs = extent(series, "high") || means;
  return {
    low: Math.max(means.low - room, Math.min(means.low, lows.low)),
    high: Math.min(means.high + room, Math.max(means.high, highs.high))
  };
}

function padded(range, part) {
  const pad = (range.high - range.low) * part || Math.abs(range.high) * part || part;
  return {low: range.low - pad, high: range.high + pad};
}
