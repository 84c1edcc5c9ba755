// Horizontal bars. The name stands left of the bar, or above it on a narrow page; the value follows the bar.

const kBarHeight = 15;

// rows: [{name}]. Returns {narrow, left, rowHeight}: whether names stand above their bars, and the pixels for a name
// and for a row.
function layOutRows(box, rows) {
  const narrow = box.measured < 480;
  return {
    narrow,
    left: narrow ? 12 : Math.min(16 + widest(rows.map((row) => row.name)), box.measured * 0.4),
    rowHeight: narrow ? 36 : 23
  };
}

function drawRowName(chart, layout, row, top) {
  const x = layout.narrow ? chart.area.left : chart.area.left - 8;
  const y = layout.narrow ? top - 4 : top + kBarHeight - 3.5;
  chart.svg.append(shape(
      "text", {class: "row-name", x, y, "text-anchor": layout.narrow ? "start" : "end"}, shape("title", {}, row.name),
      shortText(row.name, layout.narrow ? chart.width - 20 : layout.left - 8)));
}

function startBars(box, rows, label, right, below) {
  const layout = layOutRows(box, rows);
  layout.rowHeight += below || 0;
  const height = rows.length * layout.rowHeight + 10 + 44;
  const chart = startChart(box, label, {height, left: layout.left, right, top: 10});
  const tops = rows.map((row, i) => chart.area.top + i * layout.rowHeight + (layout.narrow ? 18 : 4));
  return {chart, layout, tops};
}

// The interval's text; "≤" stands before an upper bound.
function barText(quantity, row) {
  return (row.isBound ? "≤ " : "") + intervalText(quantity, row.interval);
}

// plot: {label, quantity, xTitle, rows: [{name, look, interval | null, missing, isBound}]}. If `interval` is null, the
// row shows the text `missing`. isBound: the value is an upper bound.
function drawBars(box, plot) {
  const {chart, layout, tops} =
      startBars(box, plot.rows, plot.label, 16 + widest(plot.rows.map((row) => barText(plot.quantity, row))));
  const {svg, area} = chart;
  const means = plot.rows.filter((row) => row.interval).map((row) => row.interval.mean);
  const highs = plot.rows.filter((row) => row.interval).map((row) => row.interval.high || 0);
  const largest = Math.max(0, ...means, Math.min(Math.max(0, ...means) * 1.3, Math.max(0, ...highs)));
  const axis = {quantity: plot.quantity, low: 0, high: largest || 1};
  const x = makeScale(axis, area.left, area.right, Math.max(2, Math.round((area.right - area.left) / 90)));
  drawXAxis(chart, x, plot.xTitle);
  plot.rows.forEach((row, i) => {
    drawRowName(chart, layout, row, tops[i]);
    if (!row.interval) {
      svg.append(shape("text", {class: "value", x: area.left + 5, y: tops[i] + kBarHeight - 3.5}, row.missing));
      return;
    }
    drawBar(svg, row, x, tops[i], plot.quantity);
  });
  svg.append(shape("line", {class: "axis", x1: area.left, x2: area.left, y1: area.top, y2: area.bottom}));
}

function drawBar(svg, row, x, top, quantity) {
  const {mean, low, high} = row.interval;
  const middle = top + kBarHeight / 2;
  const start = x.at(0), end = x.at(mean);
  svg.append(shape(
      "rect", {
        class: "bar",
        x: start,
        y: top,
        width: Math.max(0.5, end - start),
        height: kBarHeight,
        fill: row.look.color,
        stroke: row.look.color
      },
      shape("title", {}, `${row.name}: ${barText(quantity, row)}`)));
  let reach = end;
  if (isNumber(low) && isNumber(high) && high > low) {
    reach = Math.max(end, Math.min(x.at(high), x.at(x.high)));
    const cap = high <= x.high ? `M${reach} ${middle - 4}v8` : "";
    const foot = low >= 0 ? `M${x.at(low)} ${middle - 4}v8` : "";
    svg.append(shape(
        "path",
        {class: "whisker", stroke: "var(--ink)", d: `M${x.at(Math.max(0, low))} ${middle}H${reach}${cap}${foot}`}));
  }
  svg.append(shape("text", {class: "value", x: reach + 6, y: top + kBarHeight - 3.5}, barText(quantity, row)));
}

// The kinds of time, each with its own pattern. Exchanging overlaps the others, so it has a strip below them.
const kShares =
    [["computing", "#2f5d8a"], ["loading", "var(--loading)"], ["waiting", "var(--paper)"], ["exchanging", "#e69f00"]];

function sharePattern(name, color, id) {
  const marks = {
    computing: [],
    loading: [shape("path", {d: "M0 4H8", stroke: "var(--loading-mark)", "stroke-width": 1.2})],
    waiting: [[2, 2], [6, 6]].map(([cx, cy]) => shape("circle", {cx, cy, r: 1.1, fill: "var(--ink)"})),
    exchanging: [shape("path", {d: "M-2 2l4 -4M0 8l8 -8M6 10l4 -4", stroke: "#4a3200", "stroke-width": 1.2})],
  };
  return shape(
      "pattern", {id, width: 8, height: 8, patternUnits: "userSpaceOnUse"},
      shape("rect", {width: 8, height: 8, fill: color}), marks[name]);
}

function shareLegend() {
  return element(
      "p", {class: "share-legend"},
      kShares.map(([name]) => element("span", {}, shareSwatch(name, `swatch-${name}`), ` ${name}`)));
}

function shareSwatch(name, id) {
  const [, color] = kShares.find(([one]) => one === name);
  return shape(
      "svg", {width: 26, height: 13, "aria-hidden": "true"}, shape("defs", {}, sharePattern(name, color, id)),
      shape("rect", {class: "share", x: 0.5, y: 0.5, width: 25, height: 12, fill: `url(#${id})`}));
}

// plot: {label, rows: [{name, shares: {computing, …}}]}
function drawShares(box, plot) {
  const {chart, layout, tops} = startBars(box, plot.rows, plot.label, 40, 11);
  const {svg, area, id} = chart;
  const most = Math.max(
      1, ...plot.rows.map(({shares}) => (shares.computing || 0) + (shares.loading || 0) + (shares.waiting || 0)));
  const x = makeScale({quantity: "share", low: 0, high: most}, area.left, area.right, 5);
  drawXAxis(chart, x, "share of the time of a run");
  svg.append(shape("defs", {}, kShares.map(([name, color]) => sharePattern(name, color, `${id}-${name}`))));
  plot.rows.forEach((row, i) => {
    drawRowName(chart, layout, row, tops[i]);
    let from = 0;
    for (const [name] of kShares) {
      const share = row.shares[name];
      if (!isNumber(share) || share <= 0) continue;
      const behind = name === "exchanging";
      const start = behind ? 0 : from;
      const text = `${row.name}, ${name}: ${quantityText("share", share)}`;
      svg.append(shape(
          "rect", {
            class: "share",
            x: x.at(start),
            y: tops[i] + (behind ? kBarHeight : 0),
            width: x.at(start + share) - x.at(start),
            height: behind ? 6 : kBarHeight,
            fill: `url(#${id}-${name})`
          },
          shape("title", {}, text)));
      if (behind) {
        svg.append(shape(
            "text", {class: "share-text aside", x: x.at(share) + 4, y: tops[i] + kBarHeight + 8}, shareText(share)));
      } else {
        drawShareText(svg, name, share, x.at(from), x.at(from + share), tops[i]);
        from += share;
      }
    }
  });
}

function shareText(share) {
  return share < 0.005 ? "" : `${Math.round(share * 100)} %`;
}

// If the segment is wide enough, writes the percentage into it, on a light plate unless the segment is dark.
function drawShareText(svg, name, share, from, to, top) {
  const text = shareText(share);
  const width = textWidth(text) + 4;
  if (to - from < width + 6) return;
  const middle = (from + to) / 2;
  if (name !== "computing")
    svg.append(shape("rect", {class: "plate", x: middle - width / 2, y: top + 1.5, width, height: kBarHeight - 3}));
  svg.append(shape(
      "text", {
        class: name === "computing" ? "share-text on-dark" : "share-text",
        x: middle,
        y: top + kBarHeight - 3.5,
        "text-anchor": "middle"
      },
      text));
}
