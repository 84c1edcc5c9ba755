// Figures over the number of ranks.

// One series per visible family, over the number of ranks. `property` names the interval of a variant to draw.
function rankSeries(view, property) {
  const families =
      view.families
          .map((family) => ({
                 family,
                 variants: family.variants.filter((variant) => passesButRanks(view, variant) && variant[property])
               }))
          .filter(({family, variants}) => variants.length > 0 && !view.hidden.has(family.key));
  const apart = Math.min(0.035, 0.4 / families.length);  // octaves between points that would hide each other
  return families.map(({family, variants}, i) => ({
                        name: familyName(view, family),
                        look: family.look,
                        chosen: isBroughtOut(view, family),
                        bars: true,
                        points: variants.map((variant) => ({
                                               x: variant.ranks * 2 ** (apart * (i - (families.length - 1) / 2)),
                                               ranks: variant.ranks,
                                               y: variant[property].mean,
                                               low: variant[property].low,
                                               high: variant[property].high
                                             })),
                      }));
}

function rankCounts(view) {
  return distinct(view.variants.filter((variant) => passesButRanks(view, variant)).map((variant) => variant.ranks))
      .sort(byNumber);
}

function ranksAxis(counts) {
  return {quantity: "ranks", low: counts[0] / 1.25, high: counts[counts.length - 1] * 1.25, log: true, ticks: counts};
}

// A text that says why nothing can be drawn over the number of ranks, or null. `what`: the text if no series has data.
function lackOfRanks(view, series, what) {
  const counts = rankCounts(view);
  if (counts.length < 2)
    return `All runs have ${ranksText(counts[0] || 0)}: this figure needs runs with several numbers of ranks.`;
  if (series.length > 0) return null;
  const variants = view.variants.filter((variant) => passesButRanks(view, variant));
  return lackOfFinished(view, variants.filter((variant) => !view.hidden.has(familyOf(view, variant).key))) || what;
}

function makeRanksFigure(view) {
  const state = {property: "accuracy"};
  const hasValidation = view.variants.some((variant) => variant.validation);
  const controls = hasValidation ? [stateButtons(
                                       view, state, "ranks.property", `${upperFirst(metricName())} on`,
                                       [["accuracy", "test set"], ["validation", "validation split"]])] :
                                   [];
  return makeFigure(
      view, "Result and number of ranks", state, controls, (box) => drawAccuracyOverRanks(view, state, box));
}

function drawAccuracyOverRanks(view, state, box) {
  const quantity = view.measure, {name} = kQuantities[quantity];
  const property = quantity === "accuracy" ? state.property : quantity;
  const series = rankSeries(view, property);
  const subject = `${property === "validation" ? "Validation" : "Test"} ${name} against the number of ranks`;
  const lack = lackOfRanks(view, series, `No visible variant has this ${name}.`);
  if (lack) {
    sayWhyEmpty(box, lack);
    return {caption: `${subject}.`};
  }
  const y = {quantity, ...padded(intervalExtent(series), 0.08)};
  if (quantity === "accuracy" && !kQuantities.accuracy.other) {
    y.low = Math.max(0, y.low);
    y.high = Math.min(y.high, 1);
  }
  const lines = series.filter((one) => one.points.length === 1 && one.points[0].x < 1.5)
                    .map((one) => ({y: one.points[0].y, text: ""}));
  drawLineChart(box, {
    label: `${subject}. ${endsText(series, quantity)}`,
    x: ranksAxis(rankCounts(view)),
    y,
    xTitle: "ranks",
    yTitle: subject.split(" against")[0].toLowerCase(),
    series,
    lines,
    height: 300
  });
  return {
    caption: `${subject}${batchText(view)}; whiskers: 95 % interval over seeds, ${kCutWhiskers}.`,
    table: () => seriesTable(series, "ranks", name),
    legend: legendOf(series)
  };
}

function makeSpeedFigure(view) {
  return makeFigure(view, "Speed-up and efficiency", {}, [], (box) => drawSpeed(view, box));
}

function drawSpeed(view, box) {
  const speedup = rankSeries(view, "speedup"), efficiency = rankSeries(view, "efficiency");
  const what = upperFirst(kQuantities.samples.name);
  const caption = `${what} per second against those of one rank with the same batch per rank: how many times ` +
      "as many, and that divided by the number of ranks";
  const lack =
      lackOfRanks(view, speedup, "Speed-up needs a run of one rank with the same batch per rank: there is none.");
  if (lack) {
    sayWhyEmpty(box, lack);
    return {caption: `${caption}.`};
  }
  const left = element("div", {class: "chart half"}), right = element("div", {class: "chart half"});
  box.replaceChildren(element("div", {class: "halves"}, left, right));
  [left, right].forEach(measureBox);
  drawSpeedup(left, speedup, ranksAxis(rankCounts(view)));
  drawEfficiency(right, efficiency, ranksAxis(rankCounts(view)));
  return {
    caption:
        `${caption}${batchText(view)}. Whiskers: 95 % interval over seeds, with the scatter of the one rank's runs, ${
            kCutWhiskers}. Grey: ideal.`,
    table: () => speedTable(speedup, efficiency),
    legend: legendOf(speedup)
  };
}

// The columns of both halves side by side.
function speedTable(speedup, efficiency) {
  const left = seriesTable(speedup, "ranks", "speed-up"), right = seriesTable(efficiency, "ranks", "efficiency");
  return {
    heads: [...left.heads, ...right.heads.slice(3)],
    rows: left.rows.map((row) => {
      const same = right.rows.find((other) => other[0] === row[0] && other[2] === row[2]) || [];
      return [...row, ...same.slice(3)];
    })
  };
}

// intervalExtent of the logarithms, for a logarithmic axis.
function logarithmicExtent(series) {
  const log = (value) => value > 0 ? Math.log2(value) : null;
  const points = series.flatMap((one) => one.points);
  const {low, high} =
      intervalExtent([{points: points.map(({y, low, high}) => ({y: log(y), low: log(low), high: log(high)}))}]);
  return {low: 2 ** low, high: 2 ** high};
}

// The powers of two from low to high, or every n-th of them: at most `most`, and 1 is one of them.
function doublingTicks(low, high, most) {
  const [first, last] = [Math.ceil(Math.log2(low)), Math.floor(Math.log2(high))];
  const every = Math.ceil((last - first + 1) / most);
  const powers = Array.from({length: last - first + 1}, (_, i) => first + i);
  return powers.filter((power) => power % every === 0).map((power) => 2 ** power);
}

function drawSpeedup(box, series, x) {
  const range = logarithmicExtent(series), height = 290;
  const most = x.ticks[x.ticks.length - 1];
  const y =
      {quantity: "speedup", low: Math.min(1, range.low) / 1.25, high: Math.max(most, range.high) * 1.25, log: true};
  y.ticks = doublingTicks(y.low, y.high, Math.floor(height / 36));
  const ideal = {points: [{x: x.low, y: x.low}, {x: most, y: most}], text: "ideal"};
  drawLineChart(box, {
    label: `Speed-up against ranks. ${endsText(series, "speedup")}`,
    x,
    y,
    xTitle: "ranks",
    yTitle: "speed-up",
    series,
    lines: [ideal],
    height,
    noLabels: true
  });
}

function drawEfficiency(box, series, x) {
  const range = intervalExtent(series);
  if (!range) return sayWhyEmpty(box, "No efficiency is known.");
  const y = {quantity: "efficiency", low: 0, high: Math.max(1.1, range.high * 1.05)};
  return drawLineChart(box, {
    label: `Efficiency against ranks. ${endsText(series, "efficiency")}`,
    x,
    y,
    xTitle: "ranks",
    yTitle: "efficiency",
    series,
    lines: [{y: 1, text: "ideal"}],
    height: 290
  });
}
