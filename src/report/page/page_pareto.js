// The figure of what a measure costs: a point for each method, and the front of those that no other one beats in both.

const kParetoCosts =
    [["seconds", "time", "seconds"], ["bytes_per_rank", "bytes sent", "bytes"], ["cores", "core-seconds", "cores"]];

// The cores that a rank computes on: its threads, or 1 if the run does not record them.
function coresOf(variant) {
  const threads = Number((variant.settings || {}).threads);
  return Number.isInteger(threads) && threads > 0 ? threads : 1;
}

function costOf(variant, cost) {
  if (cost !== "cores") return variant[cost];
  const factor = variant.ranks * coresOf(variant), time = variant.seconds;
  const times = (value) => isNumber(value) ? value * factor : null;
  return time ? {mean: times(time.mean), low: times(time.low), high: times(time.high)} : null;
}

function isBetter(quantity, a, b) {
  return kQuantities[quantity].lower ? a < b : a > b;
}

function paretoPoints(view, cost) {
  const known = (interval) => interval && isNumber(interval.mean);
  return visibleVariants(view)
      .map((variant) => ({
             name: variantName(view, variant),
             look: familyOf(view, variant).look,
             chosen: isBroughtOut(view, familyOf(view, variant)),
             x: costOf(variant, cost),
             y: variant[view.measure]
           }))
      .filter((point) => known(point.x) && known(point.y));
}

// The points for which no other point costs at most as much and is better, or costs less and is as good; cheapest
// first.
function paretoFront(points, quantity) {
  const sorted = [...points].sort(
      (a, b) => a.x.mean - b.x.mean || (isBetter(quantity, a.y.mean, b.y.mean) ? -1 : Number(a.y.mean !== b.y.mean)));
  const front = [];
  for (const point of sorted) {
    const last = front[front.length - 1];
    const same = last && last.x.mean === point.x.mean && last.y.mean === point.y.mean;
    if (!last || same || isBetter(quantity, point.y.mean, last.y.mean)) front.push(point);
  }
  return front;
}

function makeParetoFigure(view) {
  const state = {x: "seconds", logX: false};
  const controls = [
    stateButtons(view, state, "pareto.x", "against", kParetoCosts.map(([cost, name]) => [cost, name])),
    stateCheckBox(view, state, "pareto.logX", "log x")
  ];
  return makeFigure(view, "What it costs", state, controls, (box) => drawPareto(view, state, box));
}

function drawPareto(view, state, box) {
  const [, costName, quantity] = kParetoCosts.find(([cost]) => cost === state.x);
  const what = `Test ${kQuantities[view.measure].name}`;
  const all = paretoPoints(view, state.x);
  const points = state.logX ? all.filter((point) => point.x.mean > 0) : all;
  const subject = `${what} at the end of a run against ${costName}${state.x === "bytes_per_rank" ? " by a rank" : ""}`;
  if (points.length === 0) {
    sayWhyEmpty(
        box,
        all.length > 0 ? "Nothing here is above zero, so nothing has a place on a logarithmic axis." :
                         `No visible variant has finished with a known ${kQuantities[view.measure].name}.`);
    return {caption: `${subject}.`};
  }
  const front = paretoFront(points, view.measure);
  const axes = paretoAxes(points, quantity, view.measure, state.logX);
  drawScatter(box, {
    label: `${subject}. ${points.map((point) => pointText(point, quantity, view.measure)).join("; ")}`,
    ...axes,
    xTitle: costName,
    yTitle: what.toLowerCase(),
    points,
    front,
    lower: kQuantities[view.measure].lower,
    height: Math.max(280, Math.min(380, Math.round(box.measured * 0.36)))
  });
  const names = visibleVariants(view).map((variant) => variantName(view, variant));
  const without = names.filter((name) => points.every((point) => point.name !== name));
  return {
    notes: without.length > 0 ? [`Not known: ${without.join("; ")}.`] : [],
    caption: paretoCaption(view, subject, state, points),
    table: () => paretoTable(points, front, costName, quantity, view)
  };
}

function pointText(point, quantity, measure) {
  return `${point.name}: ${intervalText(measure, point.y)}, ${intervalText(quantity, point.x)}`;
}

function paretoCaption(view, subject, state, points) {
  const better = kQuantities[view.measure].lower ? "lower left" : "upper left";
  const cores =
      state.x === "cores" ? " Core-seconds: time × ranks × threads of a rank (1 where a run does not say)." : "";
  const chance = points.some((point) => isNumber(point.y.low)) ?
      `Whiskers: 95 % intervals over seeds, ${kCutWhiskers}; where they overlap, the front may be chance.` :
      "Each method has one run: the front may be chance.";
  return `${subject}, ${filterText(view)}. Better is to the ${
             better}. Filled and joined by the line: no other method ` +
      `shown is better and costs no more, by the means. ${chance}${cores}`;
}

function paretoAxes(points, quantity, measure, log) {
  const xs = points.map((point) => ({x: point.x.mean, y: point.x.mean, low: point.x.low, high: point.x.high}));
  const ys = points.map((point) => ({y: point.y.mean, low: point.y.low, high: point.y.high}));
  const across = intervalExtent([{points: xs}]);
  const y = {quantity: measure, ...padded(intervalExtent([{points: ys}]), 0.1)};
  if (measure === "accuracy" && !kQuantities.accuracy.other) {
    y.low = Math.max(0, y.low);
    y.high = Math.min(1, y.high);
  }
  if (measure === "loss" && ys.every((point) => point.y >= 0)) y.low = Math.max(0, y.low);
  const least = extent([{points: xs}], "x").low;
  const x = log ? {quantity, low: Math.max(across.low, least / 2) / 1.15, high: across.high * 1.15, log} :
                  {quantity, low: 0, high: across.high * 1.06 || 1};
  return {x, y};
}

function paretoTable(points, front, costName, quantity, view) {
  const cells = ({mean, low, high}) => [mean, low, high];
  const of = (name) => [name, `${name} low`, `${name} high`];
  return {
    heads: [
      "method", ...of(`test ${kQuantities[view.measure].name}`), ...of(`${costName}${csvUnit(quantity)}`),
      "on the front"
    ],
    rows:
        points.map((point) => [point.name, ...cells(point.y), ...cells(point.x), front.includes(point) ? "yes" : "no"])
  };
}
