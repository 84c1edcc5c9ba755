// Computes what the charts draw: families of variants over the number of ranks, curves, and means over seeds.

function distinct(values) {
  return [...new Set(values)];
}

function byNumber(a, b) {
  return Number(a) - Number(b) || String(a).localeCompare(String(b));
}

function ranksText(ranks) {
  return ranks === 1 ? "1 rank" : `${ranks} ranks`;
}

function placedMethod(variant) {
  return [variant.method, variant.place].filter(Boolean).join(", ");
}

// Returns [{key, method, batch, lr, look, variants}]. Variants of one family differ in the number of ranks, and in the
// learning rate if it was tuned. Variants with a rate that was not chosen form families of their own (lr is not null).
// batchKind: the batch that all variants of a family share, "batch_per_rank" | "total_batch". The methods at
// `firstBatch` get the first looks.
function findFamilies(variants, batchKind, firstBatch) {
  const methods = distinct(variants.map(placedMethod));
  const batches = distinct([firstBatch, ...variants.map((variant) => variant[batchKind])]);
  const families = new Map();
  for (const variant of variants) {
    const name = placedMethod(variant), batch = variant[batchKind];
    const key = JSON.stringify([name, batch, variant.chosen === false ? variant.lr : ""]);
    if (!families.has(key))
      families.set(key, {key, method: name, batch, lr: variant.chosen === false ? variant.lr : null, variants: []});
    families.get(key).variants.push(variant);
  }
  let spare = methods.length * batches.length;
  for (const family of families.values()) {
    family.variants.sort((a, b) => a.ranks - b.ranks);
    family.look = lookOf(
        family.lr === null ? methods.indexOf(family.method) + methods.length * batches.indexOf(family.batch) : spare++);
  }
  return [...families.values()];
}

// 97.5 % quantiles of Student's t for 1, 2, … degrees of freedom.
const kStudent = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
  2.120,  2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042
];

// {y: mean, low, high} with the 95 % interval of the mean; only {y} for one value.
function intervalOf(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length === 1) return {y: mean};
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  const half = (kStudent[values.length - 2] || 1.96 + 2.4 / (values.length - 1)) * Math.sqrt(variance / values.length);
  return {y: mean, low: mean - half, high: mean + half};
}

// The point with its interval cut where no value can be: an accuracy is from 0 to 1, and a quantity whose mean is at
// least 0 is taken to be so everywhere.
function withinRange(quantity, point) {
  if (!isNumber(point.low) || !isNumber(point.high)) return point;
  const most = quantity === "accuracy" && !kQuantities.accuracy.other ? 1 : Infinity;
  return {...point, low: point.y >= 0 ? Math.max(0, point.low) : point.low, high: Math.min(most, point.high)};
}

// The points of two columns of a table, each with its step and epoch. Leaves out points of which either value is
// missing.
function curveOf(table, xs, ys) {
  const points = [], steps = table.step || [], epochs = table.epoch || [];
  if (!xs || !ys) return points;
  for (let i = 0; i < Math.min(xs.length, ys.length); ++i) {
    if (isNumber(xs[i]) && isNumber(ys[i])) points.push({x: xs[i], y: ys[i], step: steps[i], epoch: epochs[i]});
  }
  return points;
}

function valueAt(curve, x) {
  let before = 0, after = curve.length - 1;
  while (after - before > 1) {
    const middle = (before + after) >> 1;
    if (curve[middle].x <= x)
      before = middle;
    else
      after = middle;
  }
  const a = curve[before], b = curve[after];
  return b.x === a.x ? b.y : a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x);
}

// Geometric, as the means of times and bytes in the table are.
function meanPlace(places) {
  if (places.some((x) => x <= 0)) return places.reduce((sum, x) => sum + x, 0) / places.length;
  if (places.every((x) => x === places[0])) return places[0];
  return Math.exp(places.reduce((sum, x) => sum + Math.log(x), 0) / places.length);
}

// Whether the k-th points of all curves have the same count: "step" | "epoch".
function haveSame(curves, count) {
  const isSame = (point, k) => isNumber(point[count]) && point[count] === curves[0][k][count];
  return curves.every((curve) => curve.length === curves[0].length && curve.every(isSame));
}

// Epochs are all 0 if a program has not told the size of its training set.
function haveSameEpochs(curves) {
  const grows = (point, k) => k === 0 || point.epoch > curves[0][k - 1].epoch;
  return haveSame(curves, "epoch") && curves[0].every(grows);
}

function meanPoint(points) {
  const x = meanPlace(points.map((point) => point.x));
  return {x, step: points[0].step, epoch: points[0].epoch, ...intervalOf(points.map((point) => point.y))};
}

// The mean of several curves. If their k-th points have the same step, averages the k-th points. If ranks end when
// their data does, the runs of different seeds have different steps, but the same epochs: these serve as well.
// Otherwise averages at the first curve's x values that all curves reach, with linear interpolation of the other
// curves. If they share no x, the mean of their last points is the only point.
function meanCurve(curves) {
  const full = curves.filter((curve) => curve.length > 0);
  if (full.length === 0) return [];
  const isAligned = haveSame(full, "step") || haveSameEpochs(full);
  if (isAligned) return full[0].map((point, k) => meanPoint(full.map((curve) => curve[k])));
  const from = Math.max(...full.map((curve) => curve[0].x));
  const to = Math.min(...full.map((curve) => curve[curve.length - 1].x));
  if (from > to) return [meanPoint(full.map((curve) => curve[curve.length - 1]))];
  const places = distinct([from, ...full[0].map((point) => point.x).filter((x) => x > from && x < to), to]);
  return places.map((x) => ({x, ...intervalOf(full.map((curve) => valueAt(curve, x)))}));
}

// One curve for each seed, the mean of its runs: runs of one seed are not independent. A run whose seed is not known
// counts by itself.
function curvesOfSeeds(runs, curve) {
  const bySeed = new Map();
  for (const run of runs) {
    const key = run.seed === null || run.seed === undefined || run.seed === "" ? run : run.seed;
    bySeed.set(key, [...(bySeed.get(key) || []), curve(run)]);
  }
  return [...bySeed.values()].map(meanCurve);
}

const kModels = [
  ["center", "center"], ["mean_of_workers", "mean of the workers' parameters"], ["best_worker", "best worker"],
  ["first_worker", "first worker"], ["validation", "center, validation"], ["training", "rank 0, training"]
];

// One run's curve. x: "seconds" | "step" | "epoch" | "bytes"; y: "accuracy" | "loss".
function runCurve(run, model, x, y) {
  if (model === "training") return y === "loss" && run.steps ? curveOf(run.steps, run.steps[x], run.steps.loss) : [];
  const evaluations = run.evaluations || {};
  return evaluations[model] ? curveOf(evaluations, evaluations[x], evaluations[model][y]) : [];
}

// One run's consensus distance. which: "mean" | "min" | "max" over the workers.
function distanceCurve(run, x, which) {
  const evaluations = run.evaluations || {};
  return curveOf(evaluations, evaluations[x], evaluations[`distance_${which}`]);
}
