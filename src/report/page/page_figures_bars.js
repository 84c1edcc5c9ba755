// Figures of bars: the cost to reach the target, and the shares of time.

const kCosts = [
  ["seconds_to_target", "time", "seconds"], ["samples_to_target", "samples", "samples"],
  ["bytes_to_target", "bytes", "bytes"]
];

function targetText(view) {
  const target = view.data.target;
  if (!target || !isNumber(target.accuracy)) return null;
  const text = quantityText("accuracy", target.accuracy);
  return kQuantities.accuracy.other ? `test ${metricName()} ${text}` : `${text} test accuracy`;
}

function makeTargetFigure(view) {
  const state = {cost: "seconds_to_target"};
  const controls = [stateButtons(
      view, state, "target.cost", "Show",
      kCosts.map(([cost, name]) => [cost, name === "samples" ? kQuantities.samples.name : name]))];
  return makeFigure(view, `To the target ${metricName()}`, state, controls, (box) => drawCosts(view, state, box));
}

function drawCosts(view, state, box) {
  const [, name, quantity] = kCosts.find(([cost]) => cost === state.cost);
  const target = targetText(view);
  if (!target) {
    const why = lackOfFinished(view, visibleVariants(view));
    sayWhyEmpty(box, why || `There is no target: no ${metricName()} was reached by every variant, and none was given.`);
    return {caption: `Time, ${kQuantities.samples.name} and bytes to a target ${metricName()}.`};
  }
  const rows = visibleVariants(view).map((variant) => ({
                                           name: variantName(view, variant),
                                           look: familyOf(view, variant).look,
                                           interval: variant[state.cost],
                                           missing: "not reached by every run",
                                           isBound: Boolean(variant[state.cost] && variant.within)
                                         }));
  rows.sort((a, b) => (a.interval ? a.interval.mean : Infinity) - (b.interval ? b.interval.mean : Infinity) || 0);
  if (rows.length === 0) {
    sayWhyEmpty(box, "No variant is visible.");
  } else {
    const title = {
      time: "wall time",
      samples: `${kQuantities.samples.name}, all ranks together`,
      bytes: "bytes sent by a rank"
    }[name];
    drawBars(box, {
      label: `${title} to ${target}. ${rows.map((row) => `${row.name}: ${barText(quantity, row)}`).join("; ")}`,
      quantity,
      xTitle: title,
      rows
    });
  }
  return {
    caption: `${
        name === "time"        ? "Wall time" :
            name === "samples" ? upperFirst(kQuantities.samples.name) :
                                 "Bytes sent by a rank"} until ${
        target} was reached, interpolated between evaluations, ${filterText(view)}; ${
        rows.some((row) => row.isBound) ? "≤: a run had it at its first evaluation, so the value is an upper bound; " :
                                          ""}whiskers: 95 % interval over seeds, ${kCutWhiskers}.`,
    table: () => estimateTable(rows, `${name}${csvUnit(quantity)} to ${target}`)
  };
}

// Rows of bars for CSV.
function estimateTable(rows, name) {
  return {
    heads: ["method", name, `${name} low`, `${name} high`],
    rows:
        rows.map(({name: method, interval}) => [method, ...["mean", "low", "high"].map((one) => (interval || {})[one])])
  };
}

function makeSharesFigure(view) {
  return makeFigure(view, "Where the time goes", {}, [shareLegend()], (box) => drawShareFigure(view, box));
}

function hasShares(variant) {
  return variant.shares && kShares.some(([name]) => variant.shares[name] > 0);
}

function drawShareFigure(view, box) {
  const rows = visibleVariants(view).filter(hasShares).map(
      (variant) => ({name: variantName(view, variant), shares: variant.shares}));
  const caption = "Shares of the ranks' time; exchanging (lower strip) goes on at the same time, " +
      "behind computing as far as nobody has to wait for it";
  if (rows.length === 0) {
    sayWhyEmpty(box, lackOfFinished(view, visibleVariants(view)) || "No visible variant recorded where its time went.");
    return {caption: `${caption}.`};
  }
  const texts = rows.map(
      (row) =>
          `${row.name}: ${kShares.map(([name]) => `${name} ${quantityText("share", row.shares[name])}`).join(", ")}`);
  drawShares(box, {label: `Shares of time. ${texts.join("; ")}`, rows});
  const names = kShares.map(([name]) => name);
  return {
    caption: `${caption}, ${filterText(view)}.`,
    table: () =>
        ({heads: ["method", ...names], rows: rows.map((row) => [row.name, ...names.map((name) => row.shares[name])])}),
    legend: names.map((name) => [shareSwatch(name, `saved-${name}`), name])
  };
}
