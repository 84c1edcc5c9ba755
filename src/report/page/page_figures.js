// Makes figures of heading, controls, chart and caption, and the two figures over the course of a run.

// draw(box) draws the chart and returns {caption, notes, table, legend}. table(), for CSV, returns {heads, rows};
// legend: [[picture, text]] for a saved picture. The page calls it again whenever something changes. The figure's own
// controls change `state` and call state.redraw, which draws this figure only.
function makeFigure(view, title, state, controls, draw) {
  const box = element("div", {class: "chart"});
  const caption = element("figcaption", {});
  const number = view.figures.length + 1;
  let latest = {};
  const downloads = makeDownloads(view, title, box, () => latest);
  function redraw() {
    latest = draw(box);
    downloads.update();
    const {caption: text, notes} = latest;
    caption.replaceChildren(element("b", {}, `Figure ${number}. `), text, ...(notes || []).map((note) => ` ${note}`));
  }
  state.redraw = () => {
    redraw();
    updateAddress(view);
  };
  view.figures.push({box, redraw});
  return element(
      "figure", {},
      element(
          "div", {class: "figure-head"}, element("h2", {}, title),
          element("div", {class: "controls"}, controls, downloads)),
      box, caption);
}

// Buttons that set a part of `state` and redraw its figure. key: "figure.name", as the address calls state[name].
function stateButtons(view, state, key, label, options) {
  const name = key.split(".").pop();
  keepChoice(view, key, state, name, options.map(([value]) => value));
  return buttonGroup(label, options, state[name], (value) => {
    state[name] = value;
    state.redraw();
  });
}

const kProgress = [["seconds", "wall time"], ["step", "steps"], ["epoch", "epochs"], ["bytes", "bytes sent"]];

function makeCurveFigure(view) {
  const state = {x: "seconds", model: "center", close: true, singles: false, logX: false, logY: false};
  keepChoice(view, "course.model", state, "model", kModels.map(([model]) => model));
  const controls = [
    stateButtons(view, state, "course.x", "against", kProgress),
    selection(
        "of", kModels, state.model,
        (value) => {
          state.model = value;
          state.redraw();
        }),
    stateCheckBox(view, state, "course.close", "close-up"),
    stateCheckBox(view, state, "course.singles", "single runs"),
    stateCheckBox(view, state, "course.logX", "log x"),
    stateCheckBox(view, state, "course.logY", "log y"),
  ];
  return makeFigure(
      view, "Course of training", state, controls, (box) => drawCurves(view, {...state, y: view.measure}, box));
}

function stateCheckBox(view, state, key, label) {
  const name = key.split(".").pop();
  keepChoice(view, key, state, name, [true, false]);
  return checkBox(label, state[name], (value) => {
    state[name] = value;
    state.redraw();
  });
}

// One series per visible variant: the mean over the seeds of its finished runs, and the runs to draw as single lines.
function curveSeries(view, curve, singles, quantity) {
  const shown = shownVariants(view);
  const manyRanks = distinct(shown.map((variant) => variant.ranks)).length > 1;
  return visibleVariants(view).map((variant) => {
    const runs = runsOf(view, variant);
    const finished = runs.filter((run) => run.state === "finished");
    const curves = curvesOfSeeds(finished, curve);
    const drawn =
        runs.filter((run) => run.state !== "finished" || curves.length === 2 || (singles && finished.length > 1));
    const points = meanCurve(curves).map((point) => withinRange(quantity, point));
    return {
      name: variantName(view, variant),
      look: familyOf(view, variant).look,
      chosen: isBroughtOut(view, familyOf(view, variant)),
      width: manyRanks ? 1.2 + 0.45 * Math.log2(variant.ranks) : 2,
      points: curves.length > 2 ? points : points.map(({x, y}) => ({x, y})),
      count: curves.length,
      singles: drawn.map((run) => ({
                           name: run.name,
                           points: curve(run),
                           failed: run.state === "finished" ? null : `${run.name}: ${run.state}. ${run.why || ""}`
                         })),
    };
  });
}

function drawCurves(view, state, box) {
  const model = kModels.find(([value]) => value === state.model)[1];
  const series = curveSeries(view, (run) => runCurve(run, state.model, state.x, state.y), state.singles, state.y);
  const drawn = series.filter((one) => one.points.length > 0 || one.singles.some((single) => single.points.length > 0));
  const what = kQuantities[state.y].name;
  const subject = state.model === "training" ? "Training loss of rank 0's batches" :
      state.model === "validation"           ? `Validation ${what} of the center` :
                                               `Test ${what} of the ${model}`;
  const progress = kQuantities[state.x].name;
  const caption = `${subject} against ${progress}, ${filterText(view)}. ${describeSpread(drawn, state.singles)}`;
  if (drawn.length === 0) {
    const why = state.model === "training" && state.y === "accuracy" ?
        "Steps record the loss only: choose to judge by loss, above." :
        `No visible run recorded the ${what} of this model (${model}).`;
    sayWhyEmpty(box, why);
    return {caption: `${subject} against ${progress}.`};
  }
  const plot = curvePlot(view, state, drawn, box, `${subject} against ${progress}`);
  if (plot) drawLineChart(box, plot);
  return {
    caption,
    notes: curveNotes(state, series, drawn),
    table: () => seriesTable(drawn, progress + csvUnit(state.x), what),
    legend: legendOf(drawn)
  };
}

function describeSpread(series, singles) {
  const most = Math.max(...series.map((one) => one.count));
  const texts = [];
  if (most > 1 && series.every((one) => one.points.length < 2))
    texts.push(
        `Each run has one evaluation: points, mean over seeds${most > 2 ? "; whiskers: its 95 % interval" : ""}.`);
  else if (most > 1)
    texts.push(`Lines: mean over seeds${most > 2 ? "; bands, faint unless ± is chosen above: its 95 % interval" : ""}${
        singles ? "; thin lines: single runs" : ""}.`);
  if (!singles && series.some((one) => one.count === 2))
    texts.push(
        "Two seeds: their runs, thin, in place of an interval that would reach 6.4 times their distance to each side.");
  if (series.some((one) => one.singles.some((single) => single.failed)))
    texts.push("✕ ends a run that did not finish; it is in no mean.");
  return texts.join(" ");
}

function curveNotes(state, series, drawn) {
  const notes = [];
  const without = series.filter((one) => !drawn.includes(one));
  if (without.length > 0) notes.push(`Not recorded: ${without.map((one) => one.name).join("; ")}.`);
  if (state.x === "bytes") {
    const silent = drawn.filter((one) => one.points.length > 0 && one.points.every((point) => point.x === 0));
    if (silent.length > 0)
      notes.push(`Sends nothing${state.logX ? " (and so has no place on a logarithmic axis)" : ""}: ${
          silent.map((one) => one.name).join("; ")}.`);
  }
  return notes;
}

function curvePlot(view, state, series, box, label) {
  const everything = series.flatMap((one) => [one, ...one.singles]);
  const x = progressAxis(state.x, everything, state.logX);
  const y = x && valueAxis(state, series, everything, view.data.target);
  if (!x || !y) {
    sayWhyEmpty(box, "Nothing here is above zero, so nothing has a place on a logarithmic axis.");
    return null;
  }
  const target = view.data.target;
  const lines = state.y === "accuracy" && hasPlaceOnAxis(target, state.logY) ?
      [{y: target.accuracy, text: `target ${quantityText("accuracy", target.accuracy)}`}] :
      [];
  return {
    label: `${label}. ${endsText(series, state.y)}`,
    x,
    y,
    xTitle: kQuantities[state.x].name,
    series,
    lines,
    yTitle: `${label.split(" ")[0].toLowerCase()} ${kQuantities[state.y].name}`,
    height: Math.max(280, Math.min(430, Math.round(box.measured * 0.42)))
  };
}

// The text about the curves' ends for screen readers.
function endsText(series, quantity) {
  return series.filter((one) => one.points.length > 0)
      .map((one) => `${one.name}: ends at ${quantityText(quantity, one.points[one.points.length - 1].y)}`)
      .join("; ");
}

function progressAxis(quantity, series, log) {
  const above = log ? series.map((one) => ({points: one.points.filter((point) => point.x > 0)})) : series;
  const range = extent(above, "x");
  if (!range) return log ? null : {quantity, low: 0, high: 1};
  return log ? {quantity, low: range.low, high: range.high * 1.02, log} :
               {quantity, low: 0, high: range.high * 1.01 || 1};
}

function hasPlaceOnAxis(target, log) {
  return Boolean(target) && isNumber(target.accuracy) && (!log || target.accuracy > 0);
}

// The y axis. A close-up covers each curve without its worst third.
function valueAxis(state, series, everything, target) {
  const accuracy = state.y === "accuracy";
  const {other, lower} = kQuantities.accuracy;
  const rising = accuracy && !lower;
  const late = series.map((one) => {
    const sorted = one.points.map((point) => point.y).sort((a, b) => rising ? a - b : b - a);
    return {
      points: one.points.filter(
          (point) => rising ? point.y >= sorted[Math.floor(sorted.length / 3)] :
                              point.y <= sorted[Math.floor(sorted.length / 3)])
    };
  });
  const close = state.close && late.some((one) => one.points.length > 0);
  const chosen = (close ? late : everything)
                     .map((one) => ({points: state.logY ? one.points.filter((point) => point.y > 0) : one.points}));
  const range = extent(chosen, "y");
  if (!range) return null;
  if (accuracy && hasPlaceOnAxis(target, state.logY)) {
    range.high = Math.max(range.high, target.accuracy);
    range.low = lower ? Math.min(range.low, target.accuracy) : range.low;
  }
  if (state.logY) return {quantity: state.y, low: range.low / 1.05, high: range.high * 1.05, log: true};
  const axis = {quantity: state.y, ...padded(range, 0.06)};
  if (accuracy && !other) axis.high = Math.min(axis.high, Math.max(1, range.high));
  if (range.low >= 0 && (!accuracy || !other)) axis.low = Math.max(0, axis.low);
  return axis;
}

function makeDistanceFigure(view) {
  const state = {x: "seconds", logY: true};
  const controls = [
    stateButtons(view, state, "distance.x", "Against", kProgress), stateCheckBox(view, state, "distance.logY", "log y")
  ];
  return makeFigure(view, "Consensus distance", state, controls, (box) => drawDistance(view, state, box));
}

// One series per variant: the mean distance over workers, and a band from the nearest worker to the farthest.
function distanceSeries(view, x) {
  const [mean, nearest, farthest] = ["mean", "min", "max"].map(
      (which) => curveSeries(view, (run) => distanceCurve(run, x, which), false, "distance"));
  mean.forEach((one, i) => {
    one.points = one.points.map(
        ({x: place, y}, k) =>
            ({x: place, y, low: (nearest[i].points[k] || {}).y, high: (farthest[i].points[k] || {}).y}));
  });
  return mean;
}

function isApart(one) {
  return one.points.some((point) => point.y > 0);
}

// The series and values that the chart leaves out: series that are always 0 and, on a logarithmic axis, single values
// of 0.
function distanceNotes(series, log) {
  const ended = series.filter((one) => one.points.length > 0);
  const never = ended.filter((one) => !isApart(one)).map((one) => one.name);
  const zeros = (one) => one.points.filter((point) => point.y === 0).length;
  const partly = ended.filter((one) => log && isApart(one) && zeros(one) > 0)
                     .map((one) => `${one.name} has it in ${zeros(one)} of ${one.points.length} evaluations`);
  return [
    never.length > 0 ? `Not drawn, 0 in every evaluation: ${never.join("; ")}.` : "",
    partly.length > 0 ? `0 has no place on a logarithmic axis: ${partly.join("; ")}.` : ""
  ].filter(Boolean);
}

function drawDistance(view, state, box) {
  const all = distanceSeries(view, state.x);
  const series = all.filter(isApart);
  const caption =
      "Distance of the workers from the center, as a part of the center's norm: line, the mean over workers and " +
      "seeds; band, from the nearest to the farthest worker";
  const x = progressAxis(state.x, series, false);
  const range = extent(series.map((one) => ({points: one.points.filter((point) => point.y > 0)})), "y");
  if (!range) {
    const why = "No visible run has workers apart from the center: where one rank trains alone, or all average in " +
        "every step, there is no distance.";
    sayWhyEmpty(box, lackOfFinished(view, visibleVariants(view)) || why);
    return {caption: `${caption}.`};
  }
  const y = state.logY ? {quantity: "distance", low: range.low / 1.2, high: range.high * 1.2, log: true} :
                         {quantity: "distance", low: 0, high: range.high * 1.05};
  const label = `Consensus distance against ${kQuantities[state.x].name}. ${endsText(series, "distance")}`;
  drawLineChart(
      box,
      {label, x, y, xTitle: kQuantities[state.x].name, yTitle: "distance ÷ norm of the center", series, height: 300});
  return {
    caption: `${caption}, against ${kQuantities[state.x].name}, ${filterText(view)}.`,
    notes: distanceNotes(all, state.logY),
    table: () => seriesTable(series, kQuantities[state.x].name + csvUnit(state.x), "distance"),
    legend: legendOf(series)
  };
}
