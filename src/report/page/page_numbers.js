// Writes numbers as text, and makes scales with their ticks.

// units: [size, name], ascending. digits: the decimals of a value that stands alone; without it, four significant
// figures.
const kQuantities = {
  seconds: {name: "wall time", units: [[1, " s"], [60, " min"], [3600, " h"]]},
  step: {name: "steps", units: [[1, ""], [1e3, "k"], [1e6, "M"]]},
  epoch: {name: "epochs", units: [[1, ""]]},
  bytes: {name: "bytes sent by a rank", units: [[1, " B"], [1e3, " kB"], [1e6, " MB"], [1e9, " GB"], [1e12, " TB"]]},
  samples: {name: "samples", units: [[1, ""], [1e3, "k"], [1e6, "M"], [1e9, "G"]]},
  rate: {name: "samples/s", units: [[1, " /s"], [1e3, "k/s"], [1e6, "M/s"]]},
  accuracy: {name: "accuracy", units: [[0.01, " %"]], digits: 2},
  share: {name: "share of time", units: [[0.01, " %"]], digits: 1},
  efficiency: {name: "efficiency", units: [[0.01, " %"]], digits: 0},
  speedup: {name: "speed-up", units: [[1, "×"]], digits: 2},
  loss: {name: "loss", units: [[1, ""]], lower: true},
  cores: {name: "core-seconds", units: [[1, " core-s"], [3600, " core-h"]]},
  distance: {name: "consensus distance", units: [[1, ""]]},
  ranks: {name: "ranks", units: [[1, ""]]},
};

// If the runs have another metric than accuracy, `accuracy` becomes that quantity. Called once, before anything is
// drawn.
function useMetric(metric) {
  if (!metric || (metric.name === "accuracy" && metric.better === "higher")) return;
  kQuantities.accuracy = {
    name: metric.name,
    units: [[1, ""], [1e6, "M"], [1e9, "G"], [1e12, "T"]],
    lower: metric.better === "lower",
    other: true
  };
}

// If samples are text of so many tokens each, numbers of samples are shown as tokens. Called once, like useMetric.
function useTokens(tokens) {
  if (!isNumber(tokens) || tokens < 1) return;
  for (const [quantity, name] of [["samples", "tokens"], ["rate", "tokens/s"]]) {
    const units = kQuantities[quantity].units.map(([size, unit]) => [size / tokens, unit]);
    kQuantities[quantity] = {name, units};
  }
}

function metricName() {
  return kQuantities.accuracy.name;
}

function upperFirst(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// The largest unit, as [size, name], of which `largest` is at least two.
function unitOf(quantity, largest) {
  const units = kQuantities[quantity].units;
  return units.filter(([size]) => Math.abs(largest) >= 2 * size).pop() || units[0];
}

// No number has more decimals, as in the printed report.
const kMostDecimals = 9;

// The power of ten of a value's first figure; 0 for 0.
function magnitudeOf(value) {
  return value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
}

// The decimals that show four figures of a value.
function digitsOf(value) {
  return Math.min(kMostDecimals, Math.max(0, 3 - magnitudeOf(value)));
}

// As many digits as given, or more if these would round one of `sizes` to 0: then two figures of it. Sizes below a
// millionth of the unit, or of the largest value if it is smaller, may come from rounding.
function digitsShowing(sizes, digits, largest) {
  const least = 1e-6 * Math.min(1, largest);
  const hidden = sizes.filter((size) => size >= least && isHidden(size, digits));
  return Math.max(digits, ...hidden.map((size) => Math.min(kMostDecimals, 1 - magnitudeOf(size))));
}

// Whether so many decimals write a value other than 0 as 0.
function isHidden(value, digits) {
  return value !== 0 && Math.abs(value) < 10 ** -digits / 2;
}

// Below a thousandth without zeros at the end, and below a millionth with an exponent: "0.00042", "3e-7".
function fourFigures(value) {
  if (value === 0 || Math.abs(value) >= 1e-3) return numberText(value, digitsOf(value));
  return String(Number(value.toPrecision(4))).replace(/^-/, "−");
}

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

function numberText(value, digits) {
  const text = value.toFixed(digits);
  const [whole, decimals] = text.split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
  return (decimals ? `${grouped}.${decimals}` : grouped).replace("-", "−");
}

// One value with its unit: "12.3 s", "88.14 %".
function quantityText(quantity, value) {
  if (!isNumber(value)) return "—";
  const [size, unit] = unitOf(quantity, value);
  const digits = kQuantities[quantity].digits;
  const scaled = value / size;
  if (digits !== undefined) return numberText(scaled, digits) + unit;
  return (size === 1 && Number.isInteger(value) ? numberText(scaled, 0) : fourFigures(scaled)) + unit;
}

function halfWidth(interval) {
  return isNumber(interval.low) && isNumber(interval.high) ? (interval.high - interval.low) / 2 : null;
}

// The decimals, at most so many, that show two figures of a value; 0 if so many do not show it.
function digitsOfTwoFigures(value, most = kMostDecimals) {
  return isHidden(value, most) ? 0 : Math.min(most, Math.max(0, 1 - magnitudeOf(value)));
}

// Whether the mean is not in the middle of the interval.
function isLopsided({mean, low, high}) {
  return Math.abs((high + low) / 2 - mean) > (high - low) / 2 / 5;
}

// A bound of a lopsided interval, with two figures at least, and those of its distance from the mean if `digits` allows
// them. It has at most six decimals, or as many as two figures of the mean need. From a thousand millions on it has an
// exponent.
function boundText(bound, mean, digits) {
  const most = Math.max(6, digitsOfTwoFigures(mean));
  if (bound === 0 || isHidden(bound, most)) return "0";
  if (Math.abs(bound) >= 1e9) return bound.toExponential(1).replace("+", "").replace(/^-/, "−");
  const ofDistance = Math.min(digits, digitsOfTwoFigures(bound - mean));
  return numberText(bound, Math.max(digitsOfTwoFigures(bound, most), ofDistance));
}

// " ± 0.21", or " (0.0012 to 443)" if the interval is lopsided.
function spreadText(interval, size, digits) {
  if (!isLopsided(interval)) return ` ± ${numberText(halfWidth(interval) / size, digits)}`;
  const text = (bound) => boundText(bound / size, interval.mean / size, digits);
  return ` (${text(interval.low)} to ${text(interval.high)})`;
}

// The decimals of a mean with an interval: two figures of its half width. Much of a lopsided one may lie on one side,
// so they show two figures of the mean too.
function meanDigits(quantity, interval, size) {
  const fixed = kQuantities[quantity].digits;
  const mean = interval.mean / size, half = halfWidth(interval) / size;
  const digits =
      fixed === undefined ? Math.min(digitsOf(Math.max(Math.abs(mean), half)), digitsOfTwoFigures(half)) : fixed;
  return isLopsided(interval) ? Math.max(digits, digitsOfTwoFigures(mean)) : digits;
}

// A mean with the half width of its interval in two figures: "86.12 ± 0.21 %". Without ± if there is no interval, as
// for one run, or if it is below 0.01 % of the mean or too small for these decimals.
function intervalText(quantity, interval) {
  if (!interval || !isNumber(interval.mean)) return "—";
  const half = halfWidth(interval);
  if (half === null || half <= Math.abs(interval.mean) * 1e-4) return quantityText(quantity, interval.mean);
  const [size, unit] = unitOf(quantity, interval.mean);
  const digits = meanDigits(quantity, interval, size);
  if (!isLopsided(interval) && isHidden(half / size, digits)) return quantityText(quantity, interval.mean);
  return numberText(interval.mean / size, digits) + spreadText(interval, size, digits) + unit;
}

function niceStep(span, count) {
  const raw = span / count;
  const decade = 10 ** Math.floor(Math.log10(raw));
  return decade * [1, 2, 5, 10].find((factor) => factor * decade >= raw * 0.999);
}

// Ticks at the multiples, between low and high, of a step that is round in the axis' unit.
function linearTicks(low, high, count, unit) {
  const step = niceStep((high - low) / unit, count) * unit;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) ticks.push(i * step);
  return {values: ticks, digits: Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9))};
}

function logTicks(low, high, count) {
  if (!(low > 0)) return [];
  const factors = Math.log10(high / low) > count / 2 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
    }
  }
  const every = Math.ceil(ticks.length / (count * 1.5));
  return ticks.filter((value, i) => i % every === 0);
}

// axis: {quantity, low, high, log, ticks}; from, to: pixels. Returns {low, high, at(value), back(pixel),
// ticks: [{value, text}]}.
function makeScale(axis, from, to, count) {
  let {low, high} = axis;
  if (!(high > low))
    [low, high] = axis.log ? [low / 2, low * 2] : [low - Math.abs(low) * 0.1 - 1e-9, low + Math.abs(low) * 0.1 + 1e-9];
  const forth = axis.log ? Math.log : (value) => value;
  const scale = {low, high};
  scale.at = (value) => from + (to - from) * (forth(value) - forth(low)) / (forth(high) - forth(low));
  scale.back = (pixel) => {
    const part = (pixel - from) / (to - from);
    return axis.log ? low * (high / low) ** part : low + (high - low) * part;
  };
  const [unit, name] = unitOf(axis.quantity, high);
  if (axis.ticks) {
    scale.ticks = axis.ticks.map((value) => ({value, text: (value < 1 ? `1/${1 / value}` : String(value)) + name}));
  } else if (axis.log && high >= 8 * low) {
    scale.ticks = logTicks(low, high, count).map((value) => {
      const [size, own] = axis.quantity === "seconds" ? [1, " s"] : unitOf(axis.quantity, value * 2);
      return {value, text: String(Number((value / size).toPrecision(3))) + own};
    });
  } else {
    const {values, digits} = linearTicks(low, high, count, unit);
    scale.ticks = values.map(
        (value) => ({value, text: numberText(value / unit, digits) + (value === 0 && unit !== 0.01 ? "" : name)}));
  }
  return scale;
}
