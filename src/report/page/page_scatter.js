// Scatter charts: points with whiskers both ways, their names beside them, and a front.

// plot: {label, x: axis, y: axis, xTitle, yTitle, points: [{name, look, chosen, x: interval, y: interval}], front,
// lower, height}. `lower`: whether lower y are better; steps of the front then go down.
function drawScatter(box, plot) {
  const chart = startChart(box, plot.label, {height: plot.height, left: 58, right: 18});
  const {area} = chart;
  const x = makeScale(plot.x, area.left, area.right, Math.max(4, Math.round((area.right - area.left) / 80)));
  const y = makeScale(plot.y, area.bottom, area.top, Math.max(3, Math.round((area.bottom - area.top) / 48)));
  drawYAxis(chart, y, plot.yTitle);
  drawXAxis(chart, x, plot.xTitle);
  const group = clippedGroup(chart);
  group.append(drawFront(plot, x, y));
  for (const point of plot.points) fillElement(group, {}, drawPointWhiskers(point, x, y));
  for (const point of plot.points) {
    const marker = drawMarker(point.look, x.at(point.x.mean), y.at(point.y.mean), point.chosen ? 6 : 4.6);
    if (!plot.front.includes(point)) fillElement(marker, {class: "marker hollow", stroke: point.look.color}, []);
    fillElement(marker, {}, [shape("title", {}, pointText(point, plot.x.quantity, plot.y.quantity))]);
    group.append(marker);
  }
  placeNames(chart, plot.points, x, y);
}

// Steps from point to point: the best that can be had at each cost.
function drawFront(plot, x, y) {
  let path = "";
  for (const point of plot.front) {
    const [across, up] = [x.at(point.x.mean).toFixed(1), y.at(point.y.mean).toFixed(1)];
    path += path ? `H${across}V${up}` : `M${across} ${up}`;
  }
  return shape("path", {class: "front", d: path});
}

function drawPointWhiskers(point, x, y) {
  const [across, up] = [x.at(point.x.mean), y.at(point.y.mean)];
  const at = (scale, value) => scale.at(Math.max(scale.low, Math.min(scale.high, value)));
  const has = ({low, high}) => isNumber(low) && isNumber(high) && high > low;
  const parts = [];
  if (has(point.x)) parts.push(`M${at(x, point.x.low).toFixed(1)} ${up}H${at(x, point.x.high).toFixed(1)}`);
  if (has(point.y)) parts.push(`M${across} ${at(y, point.y.low).toFixed(1)}V${at(y, point.y.high).toFixed(1)}`);
  return parts.map(
      (d) => shape("path", {class: point.chosen ? "whisker" : "whisker faded", stroke: point.look.color, d}));
}

// Writes each name at the first free place around its point that is nearer to it than to the others. A name that has
// none is left to the legend.
function placeNames(chart, points, x, y) {
  const taken = points.map((point) => boxAround(x.at(point.x.mean), y.at(point.y.mean), 7, 7));
  const distance = (other, box) => Math.hypot(
      Math.max(box.left - x.at(other.x.mean), x.at(other.x.mean) - box.right, 0),
      (box.top + box.bottom) / 2 - y.at(other.y.mean));
  const isNearestTo = (point, box) =>
      points.every((other) => other === point || distance(other, box) > distance(point, box));
  for (const point of points) {
    const text = shortText(point.name, 190), wide = textWidth(text);
    const [across, up] = [x.at(point.x.mean), y.at(point.y.mean)];
    const places = [
      [across + 10, up - 4], [across + 10, up + 13], [across - 10 - wide, up - 4], [across - 10 - wide, up + 13],
      [across - wide / 2, up - 12], [across - wide / 2, up + 21]
    ];
    const free =
        places.map(([left, base]) => ({left, base, box: boxAround(left + wide / 2, base - 4, wide / 2 + 2, 7)}))
            .find(
                ({box}) => isInside(box, chart.area) && !taken.some((other) => overlaps(box, other)) &&
                    isNearestTo(point, box));
    if (!free) continue;
    taken.push(free.box);
    chart.svg.append(
        shape("text", {class: "point-label", x: free.left, y: free.base}, text, shape("title", {}, point.name)));
  }
}

function boxAround(x, y, halfWidth, halfHeight) {
  return {left: x - halfWidth, right: x + halfWidth, top: y - halfHeight, bottom: y + halfHeight};
}

function overlaps(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

function isInside(box, area) {
  return box.left >= area.left && box.right <= area.right + 16 && box.top >= area.top - 8 && box.bottom <= area.bottom;
}
