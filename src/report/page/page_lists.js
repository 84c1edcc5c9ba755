// The end of the page: settings, runs, runs that were left out, notes.

function simpleTable(heads, rows) {
  return element(
      "div", {class: "wide", tabindex: 0, role: "region", "aria-label": heads.join(", ")},
      element(
          "table", {},
          element("thead", {}, element("tr", {}, heads.map((head) => element("th", {scope: "col"}, head)))),
          element(
              "tbody", {},
              rows.map(
                  (row) => element(
                      "tr", {},
                      row.map(
                          (cell, i) => i === 0 ?
                              element("th", {scope: "row"}, cell) :
                              element("td", {class: String(cell).length > 40 ? "prose" : null}, cell)))))));
}

function settingText(variant, name) {
  const value = (variant.settings || {})[name];
  return value === undefined || value === null ? "—" : String(value);
}

// The variants to which a setting applies.
function havingSetting(variants, name) {
  return variants.filter((variant) => settingText(variant, name) !== "—");
}

// A setting differs if the variants to which it applies have several values. One that applies to some methods only, and
// has one value there, is a property of these methods.
function makeSettings(view) {
  const {variants} = view;
  const names = distinct(variants.flatMap((variant) => Object.keys(variant.settings || {}))).sort();
  const valuesOf = (name) => distinct(havingSetting(variants, name).map((variant) => settingText(variant, name)));
  const differing = (view.data.differing || []).filter((name) => valuesOf(name).length !== 1);
  const partial =
      names.filter((name) => !differing.includes(name) && havingSetting(variants, name).length < variants.length);
  const common = names.filter((name) => !differing.includes(name) && !partial.includes(name));
  const rows = variants.map((variant) => [variant.label, ...differing.map((name) => settingText(variant, name))]);
  return element(
      "section", {}, element("h2", {}, "Settings that differ"),
      differing.length > 0 ?
          simpleTable(["Variant", ...differing], rows) :
          element("p", {class: "nothing"}, "None: all runs have the same settings but for seed and number of ranks."),
      partial.length > 0 ? makePartialSettings(variants, partial) : null,
      element(
          "details", {}, element("summary", {}, `Settings that all runs share (${common.length})`),
          element(
              "dl", {class: "settings"},
              common.map(
                  (name) =>
                      element("div", {}, element("dt", {}, name), element("dd", {}, commonText(variants, name)))))));
}

function makePartialSettings(variants, names) {
  const whose = (name) => distinct(havingSetting(variants, name).map((variant) => variant.method)).join(", ");
  return element(
      "details", {}, element("summary", {}, `Settings that only some methods have (${names.length})`),
      simpleTable(
          ["Setting", "Value", "Methods"],
          names.map((name) => [name, commonText(havingSetting(variants, name), name), whose(name)])));
}

function commonText(variants, name) {
  return distinct(variants.map((variant) => settingText(variant, name))).join(" | ");
}

function makeRuns(view) {
  const runs = view.data.runs || [];
  const rows = runs.map(
      (run) =>
          [run.name, String(run.seed), run.state, lastOf((run.steps || {}).step, (value) => numberText(value, 0)),
           lastOf((run.steps || {}).seconds, (value) => quantityText("seconds", value)),
           lastOf(((run.evaluations || {}).center || {}).accuracy, (value) => quantityText("accuracy", value)),
           run.why || ""]);
  return element(
      "section", {},
      element(
          "details", {}, element("summary", {}, `Every run (${runs.length})`),
          simpleTable(["Run", "seed", "state", "last step", "time", `test ${metricName()}`, "remark"], rows)));
}

function lastOf(values, text) {
  const last = (values || []).filter(isNumber).pop();
  return last === undefined ? "—" : text(last);
}

function makeLeftOut(view) {
  const unfinished = (view.data.runs || [])
                         .filter((run) => run.state !== "finished")
                         .map((run) => [run.name, [run.state, run.why].filter(Boolean).join(": ")]);
  const rows = [...(view.data.left_out || []).map(({name, why}) => [name, why]), ...unfinished];
  if (rows.length === 0) return null;
  return element(
      "section", {}, element("h2", {}, "Left out, or not finished"), simpleTable(["Run", "Why"], rows),
      unfinished.length > 0 ?
          element(
              "p", {class: "small"}, "Runs that did not finish are drawn as far as they came, and count in no mean.") :
          null);
}

function makeNotes(view) {
  const notes = view.data.notes || [];
  return notes.length === 0 ?
      null :
      element(
          "section", {}, element("h2", {}, "Notes"), element("ul", {}, notes.map((note) => element("li", {}, note))));
}

// Tables with a row for each number of ranks and columns for each batch, as in a lab notebook. Data of older versions
// have none.
function makeNotebook(view) {
  const tables = (view.data.notebook || []).filter((one) => one.rows.length > 0 && one.batches.length > 0);
  if (tables.length === 0) return null;
  return element(
      "section", {},
      element(
          "details", {}, element("summary", {}, `Ranks by batch (${countText(tables.length, "table")})`),
          element("div", {class: "notebooks"}, tables.map(notebookTable))));
}

function notebookTable(one) {
  const title = `${[one.method, one.place].filter(Boolean).join(", ")}: ${one.kept} kept`;
  const cells = (cell) => cell ?
      [
        quantityText("seconds", cell.seconds), quantityText("speedup", cell.speedup),
        quantityText("accuracy", cell.accuracy)
      ] :
      ["—", "—", "—"];
  const groups = element(
      "tr", {class: "groups"}, element("td", {}),
      one.batches.map((batch) => element("th", {scope: "colgroup", colspan: 3}, `batch ${batch}`)));
  const heads = element("tr", {}, [
    "Ranks", ...one.batches.flatMap(() => ["time", "speed-up", metricName()])
  ].map((head) => element("th", {scope: "col", class: "number"}, head)));
  const rows = one.rows.map(
      (row) => element(
          "tr", {}, element("th", {scope: "row", class: "number"}, String(row.ranks)),
          row.cells.flatMap(cells).map((text) => element("td", {class: "number"}, text))));
  return element(
      "div", {class: "notebook"}, element("h3", {}, title),
      element(
          "div", {class: "wide", tabindex: 0, role: "region", "aria-label": title},
          element("table", {}, element("thead", {}, groups, heads), element("tbody", {}, rows))));
}

// The words of the guide's glossary, which the build puts into kGlossary.
function makeGlossary() {
  return element(
      "section", {},
      element(
          "details", {}, element("summary", {}, `Words that this page uses (${kGlossary.length})`),
          element(
              "dl", {class: "words"},
              kGlossary.map(
                  ([word, meaning]) => element("div", {}, element("dt", {}, word), element("dd", {}, meaning))))));
}
