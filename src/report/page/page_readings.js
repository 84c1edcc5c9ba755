// Shows the values at the pointer, or at a place chosen with the arrow keys if the chart has the focus.

function addReadings(chart, plot, x, y) {
  const {svg, area, box} = chart;
  const hair = shape("line", {class: "hair", y1: area.top, y2: area.bottom, visibility: "hidden"});
  const panel = element("div", {class: "reading", role: "status", hidden: true});
  const places = distinct(plot.series.flatMap((one) => drawable(one.points, x, y).map((point) => point.x)))
                     .filter((place) => place >= x.low && place <= x.high)
                     .sort((a, b) => a - b);
  let current = -1;
  function show(index) {
    if (places.length === 0) return;
    current = Math.max(0, Math.min(places.length - 1, index));
    showReading({chart, plot, x, y, hair, panel}, places[current]);
  }
  function hide() {
    panel.hidden = true;
    hair.setAttribute("visibility", "hidden");
  }
  function follow(event) {
    const bounds = svg.getBoundingClientRect();
    const value = x.back((event.clientX - bounds.left) * chart.width / bounds.width);
    show(nearestIndex(places, value));
  }
  svg.append(hair);
  box.append(panel);
  fillElement(
      svg, {
        tabindex: 0,
        pointermove: follow,
        pointerdown: follow,
        pointerleave: hide,
        blur: hide,
        keydown: (event) => {
          const steps =
              {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -places.length, End: places.length};
          if (event.key === "Escape") hide();
          if (!(event.key in steps)) return;
          event.preventDefault();
          show(current + steps[event.key]);
        },
      },
      []);
}

function nearestIndex(places, value) {
  let best = 0;
  places.forEach((place, i) => {
    if (Math.abs(place - value) < Math.abs(places[best] - value)) best = i;
  });
  return best;
}

// The point of each series nearest to `place`, the largest y first. Leaves out series that end before `place` or begin
// after it, unless a point lies within 14 pixels.
function readingsAt(plot, x, place) {
  const reach = 14;  // pixels
  const readings = [];
  for (const one of plot.series) {
    const points = one.points.filter((point) => isNumber(x.at(point.x)));
    if (points.length === 0) continue;
    const point = points[nearestIndex(points.map((other) => other.x), place)];
    const within = points[0].x <= place && place <= points[points.length - 1].x;
    if (within || Math.abs(x.at(point.x) - x.at(place)) <= reach) readings.push({one, point});
  }
  return readings.sort((a, b) => b.point.y - a.point.y);
}

function readingTitle(plot, x, place) {
  if (plot.x.quantity === "ranks")
    return ranksText(x.ticks[nearestIndex(x.ticks.map((tick) => tick.value), place)].value);
  return `${plot.xTitle}: ${quantityText(plot.x.quantity, place)}`;
}

function showReading(view, place) {
  const {chart, plot, x, hair, panel} = view;
  const pixel = x.at(place);
  fillElement(hair, {x1: pixel, x2: pixel, visibility: "visible"}, []);
  const rows = readingsAt(plot, x, place)
                   .map(
                       ({one, point}) => element(
                           "tr", {}, element("td", {}, swatch(one.look)), element("td", {}, shortText(one.name, 260)),
                           element(
                               "td", {class: "number"},
                               intervalText(plot.y.quantity, {mean: point.y, low: point.low, high: point.high}))));
  panel.replaceChildren(element("div", {}, readingTitle(plot, x, place)), element("table", {}, rows));
  panel.hidden = false;
  const shown = chart.svg.getBoundingClientRect();
  const left = pixel * shown.width / chart.width;
  const room = shown.width - left - 16;
  panel.style.left = `${Math.max(0, room > panel.offsetWidth ? left + 12 : left - 12 - panel.offsetWidth)}px`;
  panel.style.top = `${chart.area.top}px`;
}
