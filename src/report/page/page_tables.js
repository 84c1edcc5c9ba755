// The table of variants, which the reader can sort.

const inParallel = (variant) => variant.ranks > 1;

// value(variant): an estimate {mean, low, high} or a plain value. name: the estimate's, by which Variant.standing says
// where the variant stands. of: says which variants may be the best.
const kColumns = [
  {title: "Variant", value: (variant) => variant.name, text: true},
  {title: "Ranks", value: (variant) => variant.ranks},
  {title: "Batch", under: "per rank", value: (variant) => variant.batch_per_rank, shown: batchOfRank},
  {title: "Learning", under: "rate", value: (variant) => variant.lr, shown: rateText, why: rateWhy},
  {title: "Runs", value: (variant) => (variant.runs || []).length, shown: runsText},
  estimateColumn("Test accuracy", "accuracy", "accuracy"),
  estimateColumn("Time", "seconds", "seconds"),
  estimateColumn("Samples/s", "rate", "samples_per_second"),
  estimateColumn("Sent", "bytes", "bytes_per_rank", {under: "per rank", of: inParallel}),
  {title: "Waiting", quantity: "share", value: waitingOf},
  estimateColumn("Time", "seconds", "seconds_to_target", {group: "target"}),
  estimateColumn("Samples", "samples", "samples_to_target", {group: "target"}),
  estimateColumn("Sent", "bytes", "bytes_to_target", {group: "target", under: "per rank", of: inParallel}),
];

function estimateColumn(title, quantity, name, more) {
  return {title, quantity, name, value: (variant) => variant[name], ...more};
}

// The column of accuracy shows the measure by which the reader judges. Columns of samples show tokens if the data is
// text.
function withMeasure(column, measure) {
  if (["samples", "rate"].includes(column.quantity))
    return {...column, title: upperFirst(kQuantities[column.quantity].name)};
  if (column.quantity !== "accuracy") return column;
  const {name} = kQuantities[measure];
  return {...column, quantity: measure, title: `Test ${name}`, value: (variant) => variant[measure]};
}

function waitingOf(variant) {
  return hasShares(variant) ? {mean: variant.shares.waiting} : null;
}

function runsText(variant) {
  const count = (variant.runs || []).length, finished = variant.finished;
  const few = finished > 0 && variant.evaluations < 10 ? `, evaluated ${variant.evaluations}×` : "";
  return (finished === count ? String(count) : `${finished} of ${count}`) + few;
}

// A run of a program whose batch was not told has 0.
function batchOfRank(variant) {
  return variant.batch_per_rank > 0 ? String(variant.batch_per_rank) : "-";
}

// "0.1", "0.1 (edge)", "0.1 (edge of tau)": each edge begins with its option, as in "tau 16 is the largest of 3 tried".
function rateText(variant) {
  const options = (variant.edges || []).map((edge) => edge.split(" ")[0]);
  const others = options.filter((option) => option !== "lr");
  const edge = others.length > 0 ? ` (edge of ${options.join(", ")})` : options.length > 0 ? " (edge)" : "";
  return (variant.lr > 0 ? String(variant.lr) : "-") + edge;
}

// Why this learning rate stands for the method, whether a best value lies at the edge of what was tried, and what
// tuning took.
function rateWhy(variant) {
  const tuning = variant.tuning;
  const cost = tuning && tuning.runs > 0 ?
      [`tuning took ${quantityText("seconds", tuning.seconds)} in ${tuning.runs} more runs`] :
      [];
  const ofOptions = (variant.option_tuning || []).map((each) => `values besides the best took, of ${each}`);
  return [variant.why_chosen, ...(variant.edges || []), ...cost, ...ofOptions].join("; ");
}

function meanOf(value) {
  return value !== null && typeof value === "object" ? value.mean : value;
}

function makeVariantTable(view) {
  const state = {column: -1, down: false};
  const target = targetText(view);
  const columns = kColumns.filter((column) => target || !column.group);
  keepChoice(view, "table.column", state, "column", columns.map((column, i) => i));
  keepChoice(view, "table.down", state, "down", [true, false]);
  const table = element("table", {class: "figures"});
  const draw = () => drawVariantTable(view, columns.map((one) => withMeasure(one, view.measure)), state, table);
  view.tables.push(draw);
  return element(
      "section", {}, element("h2", {}, "Variants"),
      element("div", {class: "wide", tabindex: 0, role: "region", "aria-label": "Table of variants"}, table),
      element(
          "p", {class: "small"},
          "★ first among the methods with these ranks and this batch: told apart from all others by the rule of the " +
              "sentences above; ☆ not told apart from the best. ± is the half of a 95 % interval over seeds " +
              "(Student's t); an interval that is not symmetric is written out. Means of times, rates and bytes are geometric, of scores arithmetic. ≤ marks an upper bound: a run had the target at its first evaluation. Waiting: the share of the training time in which a rank is blocked on other ranks, mean over " +
              "workers. A click on a heading sorts."));
}

function tableRow(view, variant) {
  const finished = runsOf(view, variant).filter((run) => run.state === "finished").length;
  return {...variant, name: placedMethod(variant), look: familyOf(view, variant).look, finished};
}

function drawVariantTable(view, columns, state, table) {
  const shown = shownVariants(view);
  const rows = shown.map((variant) => tableRow(view, variant));
  if (state.column >= 0) sortRows(rows, columns[state.column], state.down);
  const units = columns.map((column) => columnUnit(column, rows));
  const sort = (i) => {
    state.down = state.column === i ? !state.down : false;
    state.column = i;
    drawVariantTable(view, columns, state, table);
    updateAddress(view);
    table.querySelectorAll("button")[i].focus();
  };
  const heads =
      columns.map((column, i) => headCell(column, units[i], state.column === i ? state : null, () => sort(i)));
  const body = rows.map((row) => element("tr", {}, columns.map((column, i) => variantCell(column, row, units[i]))));
  table.replaceChildren(
      element("thead", {}, groupHeads(view, columns), element("tr", {}, heads)), element("tbody", {}, body));
}

// sorted: the table's order if it is sorted by this column, otherwise null.
function headCell(column, unit, sorted, sort) {
  const order = sorted ? (sorted.down ? "descending" : "ascending") : "none";
  const name = column.title.endsWith("/s") ? unit.name.replace("/s", "") : unit.name;
  const under = [name.trim(), column.under].filter(Boolean).join(" ");
  const button =
      element("button", {type: "button", click: sort}, column.title, element("span", {class: "unit"}, under));
  return element("th", {scope: "col", class: column.text ? null : "number", "aria-sort": order}, button);
}

function groupHeads(view, columns) {
  const grouped = columns.filter((column) => column.group).length;
  if (grouped === 0) return null;
  return element(
      "tr", {class: "groups"}, element("td", {colspan: columns.length - grouped}),
      element("th", {colspan: grouped, scope: "colgroup"}, `to ${targetText(view)}`));
}

function sortRows(rows, column, down) {
  const order = (a, b) => {
    const [x, y] = [meanOf(column.value(a)), meanOf(column.value(b))];
    if (x === null || x === undefined) return y === null || y === undefined ? 0 : 1;
    if (y === null || y === undefined) return -1;
    const ascending = column.text ? String(x).localeCompare(String(y), undefined, {numeric: true}) : x - y;
    return down ? -ascending : ascending;
  };
  rows.sort(order);
}

// The unit of a column, and its decimals: at most 3, or 9 of scores and losses, which show its least value with three
// figures, or as many as differences and intervals need.
function columnUnit(column, rows) {
  if (!column.quantity) return {name: "", size: 1, digits: 0};
  const values =
      rows.map((row) => meanOf(column.value(row))).filter((value) => isNumber(value) && value !== 0).map(Math.abs);
  const largest = values.length > 0 ? Math.max(...values) : 0;
  const [size, name] = unitOf(column.quantity, largest);
  const fixed = kQuantities[column.quantity].digits;
  const least = values.length > 0 ? Math.min(...values) / size : 1;
  const most = ["accuracy", "loss"].includes(column.quantity) ? kMostDecimals : 3;
  const digits = fixed === undefined ? Math.min(most, Math.max(0, 2 - magnitudeOf(least))) : fixed;
  const sizes = sizesIn(column, rows).map((one) => one / size);
  return {size, name, digits: digitsShowing(sizes, digits, largest / size)};
}

// The numbers that the decimals of a column must not hide: the widest interval, and the lead of the first. If there are
// no intervals, all differences.
function sizesIn(column, rows) {
  if (!column.name) return [];
  const estimates = rows.map((row) => column.value(row)).filter((value) => value && isNumber(value.mean));
  const means = estimates.map((value) => value.mean);
  const halves = estimates.map(halfWidth).filter((half) => half !== null);
  if (halves.length === 0) return means.length > 1 ? [Math.max(...means) - Math.min(...means)] : [];
  const first = rows.find((row) => bestMark(column, row) === "★");
  const isBeside = (row) => ["ranks", "batch_per_rank", "place"].every((each) => row[each] === first[each]);
  const meansBeside = first ? rows.filter(isBeside).map((row) => meanOf(column.value(row))).filter(isNumber) : [];
  const leads = meansBeside.map((mean) => Math.abs(mean - column.value(first).mean)).filter((lead) => lead > 0);
  return [Math.max(...halves), ...(leads.length > 0 ? [Math.min(...leads)] : [])];
}

function variantCell(column, row, unit) {
  const value = column.value(row);
  if (column.text) return element("th", {scope: "row", title: row.label}, swatch(row.look), " ", shortText(value, 230));
  if (!column.quantity) {
    const text = column.shown ? column.shown(row) : String(value);
    return element("td", {class: "number", title: column.why && column.why(row)}, text);
  }
  if (!value || !isNumber(value.mean)) {
    return element(
        "td", {class: "number missing", title: column.group ? "not reached by every run" : "not known"}, "—");
  }
  const mark = !column.of || column.of(row) ? bestMark(column, row) : "";
  const why = {"★": "first: told apart from all others", "☆": "not told apart from the best"}[mark];
  const half = halfWidth(value);
  const tiny = half === null || half < 10 ** -unit.digits / 2 * unit.size;
  const mean = value.mean / unit.size, isFree = kQuantities[column.quantity].digits === undefined;
  return element(
      "td", {class: mark === "★" ? "number best" : "number"}, element("span", {class: "mark", title: why}, mark),
      column.group && row.within ? "≤ " : "",
      isFree && isHidden(mean, unit.digits) ? fourFigures(mean) : numberText(mean, unit.digits),
      tiny ? null : element("span", {class: "spread"}, spreadText(value, unit.size, unit.digits)));
}

// The standing of the accuracy does not hold for another measure in its column.
function bestMark(column, row) {
  const isOther = column.name === "accuracy" && column.quantity !== "accuracy";
  return isOther ? "" : {first: "★", tied: "☆"}[(row.standing || {})[column.name]] || "";
}
