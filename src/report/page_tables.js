// Tables: variants, settings, runs.

// value: of a variant, an interval or a plain value. best: which way is better, if any; of: which variants may be best.
const kColumns = [
  {title: "Variant", value: (variant) => variant.name, text: true},
  {title: "Ranks", value: (variant) => variant.ranks},
  {title: "Batch", under: "per rank", value: (variant) => variant.batch_per_rank},
  {title: "Learning", under: "rate", value: (variant) => variant.lr, why: (variant) => variant.why_chosen},
  {title: "Runs", value: (variant) => (variant.runs || []).length, shown: runsText},
  {title: "Test accuracy", quantity: "accuracy", value: (variant) => variant.accuracy, best: Math.max},
  {title: "Time", quantity: "seconds", value: (variant) => variant.seconds, best: Math.min},
  {title: "Samples/s", quantity: "rate", value: (variant) => variant.samples_per_second, best: Math.max},
  {title: "Sent", under: "per rank", quantity: "bytes", value: (variant) => variant.bytes_per_rank, best: Math.min, of: (variant) => variant.ranks > 1},
  {title: "Waiting", quantity: "share", value: (variant) => hasShares(variant) ? {mean: variant.shares.waiting} : null, best: Math.min, of: (variant) => variant.ranks > 1},
  {title: "Time", group: "target", quantity: "seconds", value: (variant) => variant.seconds_to_target, best: Math.min},
  {title: "Samples", group: "target", quantity: "samples", value: (variant) => variant.samples_to_target, best: Math.min},
  {title: "Sent", under: "per rank", group: "target", quantity: "bytes", value: (variant) => variant.bytes_to_target, best: Math.min, of: (variant) => variant.ranks > 1},
];

function runsText(variant) {
  const count = (variant.runs || []).length, finished = variant.finished;
  return finished === count ? String(count) : `${finished} of ${count}`;
}

function meanOf(value) { return value !== null && typeof value === "object" ? value.mean : value; }

function makeVariantTable(view) {
  const state = {column: -1, down: false};
  const target = targetText(view);
  const columns = kColumns.filter((column) => target || !column.group);
  const table = element("table", {class: "figures"});
  view.tables.push(() => drawVariantTable(view, columns, state, table));
  return element("section", {}, element("h2", {}, "Variants"), element("div", {class: "wide", tabindex: 0, role: "region", "aria-label": "Table of variants"}, table),
    element("p", {class: "small"}, "★ best of the rows shown; ☆ not told apart from it: the intervals overlap. ± is the half of a 95 % interval over seeds (Student's t). A click on a heading sorts."));
}

function drawVariantTable(view, columns, state, table) {
  const shown = shownVariants(view);
  const rows = shown.map((variant) => ({...variant, name: placedMethod(variant), look: familyOf(view, variant).look,
    finished: runsOf(view, variant).filter((run) => run.state === "finished").length}));
  if (state.column >= 0) sortRows(rows, columns[state.column], state.down);
  const units = columns.map((column) => columnUnit(column, rows));
  const bests = columns.map((column) => bestOf(column, rows));
  const sort = (i) => {
    state.down = state.column === i ? !state.down : false;
    state.column = i;
    drawVariantTable(view, columns, state, table);
    table.querySelectorAll("button")[i].focus();
  };
  const heads = columns.map((column, i) => element("th", {scope: "col", class: column.text ? "" : "number", "aria-sort": state.column !== i ? "none" : state.down ? "descending" : "ascending"},
    element("button", {type: "button", click: () => sort(i)}, column.title, element("span", {class: "unit"}, [units[i].name.trim(), column.under].filter(Boolean).join(" ")))));
  const body = rows.map((row) => element("tr", {}, columns.map((column, i) => variantCell(column, row, units[i], bests[i]))));
  table.replaceChildren(element("thead", {}, groupHeads(view, columns), element("tr", {}, heads)), element("tbody", {}, body));
}

function groupHeads(view, columns) {
  const grouped = columns.filter((column) => column.group).length;
  if (grouped === 0) return null;
  return element("tr", {class: "groups"}, element("td", {colspan: columns.length - grouped}), element("th", {colspan: grouped, scope: "colgroup"}, `to ${targetText(view)}`));
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

// The unit of a column, and the decimals that show its least value with three figures.
function columnUnit(column, rows) {
  if (!column.quantity) return {name: "", size: 1, digits: 0};
  const values = rows.map((row) => meanOf(column.value(row))).filter((value) => isNumber(value) && value !== 0).map(Math.abs);
  const [size, name] = unitOf(column.quantity, values.length > 0 ? Math.max(...values) : 0);
  const fixed = kQuantities[column.quantity].digits;
  const least = values.length > 0 ? Math.min(...values) / size : 1;
  return {size, name, digits: fixed === undefined ? Math.min(3, Math.max(0, 2 - Math.floor(Math.log10(least)))) : fixed};
}

// {mean, low, high} of the best variant of a column; null where nothing is better than anything.
function bestOf(column, rows) {
  if (!column.best) return null;
  const values = rows.filter(column.of || (() => true)).map(column.value).filter((value) => value && isNumber(value.mean));
  if (values.length < 2) return null;
  const mean = column.best(...values.map((value) => value.mean));
  return values.find((value) => value.mean === mean);
}

function variantCell(column, row, unit, best) {
  const value = column.value(row);
  if (column.text) return element("th", {scope: "row", title: row.label}, swatch(row.look), " ", shortText(value, 230));
  if (!column.quantity) return element("td", {class: "number", title: column.why && column.why(row)}, column.shown ? column.shown(row) : String(value));
  if (!value || !isNumber(value.mean)) return element("td", {class: "number missing", title: column.group ? "not reached by every run" : "not known"}, "—");
  const half = halfWidth(value);
  const mark = best && (!column.of || column.of(row)) ? bestMark(value, best) : "";
  const spread = half === null || half < 10 ** -unit.digits / 2 * unit.size ? null : element("span", {class: "spread"}, ` ± ${numberText(half / unit.size, unit.digits)}`);
  return element("td", {class: mark === "★" ? "number best" : "number"}, element("span", {class: "mark", title: mark && (mark === "★" ? "best" : "its interval overlaps that of the best")}, mark),
    numberText(value.mean / unit.size, unit.digits), spread);
}

function bestMark(value, best) {
  if (value.mean === best.mean) return "★";
  const known = [value.low, value.high, best.low, best.high].every(isNumber);
  return known && value.low <= best.high && best.low <= value.high ? "☆" : "";
}
