// The state of the page: which variants the filters and the legend show.

function makeView(data) {
  const variants = data.variants || [];
  const view = {data, variants, figures: [], tables: [], hidden: new Set(), broughtOut: new Set()};
  view.choices = [];
  view.wanted = readFragment(location.hash);
  view.rankChoices = distinct(variants.map((variant) => variant.ranks)).sort(byNumber);
  view.ranks = view.rankChoices.length > 1 ? view.rankChoices[view.rankChoices.length - 1] : "all";
  view.passedOver = passedOver(variants);
  view.unchosen = false;
  view.oneRank = view.rankChoices.length > 1;
  view.measure = "accuracy";
  const [perRank, total] = ["batch_per_rank", "total_batch"].map((kind) => fullestBatch(view, kind).length);
  chooseBatchKind(view, total > perRank ? "total_batch" : "batch_per_rank");
  keepFilters(view);
  keepFamilies(view, "hide", view.hidden);
  keepFamilies(view, "bring-out", view.broughtOut);
  view.redraw = () => {
    view.tables.forEach((redraw) => redraw());
    view.figures.forEach(({box}) => measureBox(box));
    view.figures.forEach(({redraw}) => redraw());
    updateAddress(view);
  };
  return view;
}

// The variants with a learning rate that was not chosen, if another one was. If none was, for no run of the method
// finished, its variants are shown like all others: a method must not vanish.
function passedOver(variants) {
  const group = (variant) =>
      JSON.stringify([variant.method, variant.place, variant.ranks, variant.batch_per_rank, variant.total_batch]);
  const chosen = new Set(variants.filter((variant) => variant.chosen !== false).map(group));
  return new Set(variants.filter((variant) => variant.chosen === false && chosen.has(group(variant))));
}

// The numbers by which methods can be judged: the metric of the runs, called "accuracy" here whatever its name is, and
// the loss.
function measuresOf(view) {
  const hasLoss = view.variants.some((variant) => variant.loss);
  return hasLoss && metricName() !== "loss" ? ["accuracy", "loss"] : ["accuracy"];
}

// The kind of batch comes first, because it says which batches there are.
function keepFilters(view) {
  keepChoice(view, "measure", view, "measure", measuresOf(view));
  keepChoice(view, "ranks", view, "ranks", [...view.rankChoices, "all"]);
  keepChoice(view, "one-rank", view, "oneRank", [true, false]);
  keepChoice(view, "unchosen", view, "unchosen", [true, false]);
  const [kind, batch] = [view.batchKind, view.batch];
  view.choices.push({key: "batch-kind", first: () => kind, now: () => view.batchKind});
  restoreChoice(view, "batch-kind", ["batch_per_rank", "total_batch"], (other) => chooseBatchKind(view, other));
  view.choices.push({key: "batch", first: () => String(batch), now: () => String(view.batch)});
  const choices = [...view.batchChoices, "all"];
  if (choices.includes(batch)) view.batch = batch;
  restoreChoice(view, "batch", choices, (other) => {
    view.batch = other;
  });
}

// Whether bands and whiskers of a family are drawn in full: it is chosen, or stands alone.
function isBroughtOut(view, family) {
  return view.broughtOut.has(family.key) || view.families.filter((one) => !view.hidden.has(one.key)).length === 1;
}

// The variants with the most common batch, without learning rates that were passed over.
function fullestBatch(view, kind) {
  const chosen = view.variants.filter((variant) => !view.passedOver.has(variant));
  const groups = distinct(chosen.map((variant) => variant[kind]))
                     .sort(byNumber)
                     .map((batch) => chosen.filter((variant) => variant[kind] === batch));
  return groups.reduce((most, group) => group.length > most.length ? group : most, []);
}

// Shows all batches if there are enough colours to tell their lines apart, otherwise the batch with the most variants.
function chooseBatchKind(view, kind) {
  const fullest = fullestBatch(view, kind);
  view.batchKind = kind;
  view.batchChoices = distinct(view.variants.map((variant) => variant[kind])).sort(byNumber);
  view.families = findFamilies(view.variants, kind, fullest.length > 0 ? fullest[0][kind] : null);
  view.hidden.clear();
  view.broughtOut.clear();
  view.batch = "all";
  if (view.batchChoices.length > 1 && shownVariants(view).length > kColors.length) view.batch = fullest[0][kind];
}

function passesButRanks(view, variant) {
  return (view.batch === "all" || variant[view.batchKind] === view.batch) &&
      (view.unchosen || !view.passedOver.has(variant));
}

function shownVariants(view) {
  return view.variants.filter(
      (variant) => passesButRanks(view, variant) &&
          (view.ranks === "all" || variant.ranks === view.ranks || (view.oneRank && variant.ranks === 1)));
}

function visibleVariants(view) {
  return shownVariants(view).filter((variant) => !view.hidden.has(familyOf(view, variant).key));
}

function familyOf(view, variant) {
  return view.families.find((family) => family.variants.includes(variant));
}

// The text for a figure of finished runs if none of these variants has one, or null.
function lackOfFinished(view, variants) {
  const finished = variants.some((variant) => runsOf(view, variant).some((run) => run.state === "finished"));
  return finished || variants.length === 0 ? null : "No visible run has finished.";
}

function runsOf(view, variant) {
  return (variant.runs || []).map((i) => view.data.runs[i]).filter((run) => run);
}

function familyName(view, family) {
  const batches = distinct(view.families.map((other) => other.batch));
  const parts = [family.method];
  if (view.batch === "all" && batches.length > 1) parts.push(`batch ${family.batch}`);
  if (family.lr !== null) parts.push(`lr ${family.lr}`);
  return parts.join(", ");
}

// The family's name, with the number of ranks if it differs from the filter's.
function variantName(view, variant) {
  const name = familyName(view, familyOf(view, variant));
  return variant.ranks === view.ranks || view.rankChoices.length === 1 ? name : `${name}, ${ranksText(variant.ranks)}`;
}

// The filters' text for captions: "4 ranks and one, batch 32 per rank".
function filterText(view) {
  if (view.ranks === "all")
    return (view.rankChoices.length > 1 ? "all numbers of ranks" : ranksText(view.rankChoices[0])) + batchText(view);
  const one = view.oneRank && view.ranks !== 1 && view.rankChoices.includes(1);
  return ranksText(view.ranks) + (one ? " and one" : "") + batchText(view);
}

function batchText(view) {
  const batch = view.batchChoices.length === 1 ? view.batchChoices[0] : view.batch;
  return batch === "all" || batch === 0 ?
      "" :
      `, batch ${batch} ${view.batchKind === "total_batch" ? "in total" : "per rank"}`;
}

// Filters and legend in one bar, which stays in sight on a wide page.
function makeFilterBar(view) {
  const filters = element("div", {class: "controls"}, makeFilters(view));
  const legend = element("div", {class: "legend", role: "group", "aria-label": "Series"});
  view.rebuildFilters = () => filters.replaceChildren(...makeFilters(view));
  view.tables.push(() => drawLegend(view, legend));
  return element("nav", {class: "filters", "aria-label": "What is shown"}, filters, legend);
}

function makeFilters(view) {
  const choose = (name) => (value) => {
    view[name] = value;
    view.redraw();
  };
  const controls = [];
  const measures = measuresOf(view).map((measure) => [measure, kQuantities[measure].name]);
  if (measures.length > 1) controls.push(buttonGroup("Judged by", measures, view.measure, choose("measure")));
  if (view.rankChoices.length > 1) {
    controls.push(buttonGroup(
        "Ranks", [...view.rankChoices.map((ranks) => [ranks, String(ranks)]), ["all", "all"]], view.ranks,
        choose("ranks")));
    if (view.rankChoices[0] === 1) controls.push(checkBox("and one rank", view.oneRank, choose("oneRank")));
  }
  if (view.batchChoices.length > 1) {
    controls.push(
        buttonGroup("Batch", [["batch_per_rank", "per rank"], ["total_batch", "in total"]], view.batchKind, (kind) => {
          chooseBatchKind(view, kind);
          view.rebuildFilters();
          view.redraw();
        }));
    controls.push(buttonGroup(
        "of", [...view.batchChoices.map((batch) => [batch, String(batch)]), ["all", "all"]], view.batch,
        choose("batch")));
  }
  if (view.passedOver.size > 0)
    controls.push(checkBox("also learning rates not chosen", view.unchosen, choose("unchosen")));
  return controls;
}

function drawLegend(view, legend) {
  const shown = shownVariants(view);
  const families = view.families.filter((family) => family.variants.some((variant) => shown.includes(variant)));
  const focused = [...legend.querySelectorAll("button")].indexOf(document.activeElement);
  legend.replaceChildren(...families.map((family) => legendItem(view, family)));
  const buttons = legend.querySelectorAll("button");
  if (focused >= 0 && buttons[focused]) buttons[focused].focus();
}

// Two buttons: one takes the family out of the charts, the other brings out its bands and whiskers.
function legendItem(view, family) {
  const name = familyName(view, family);
  const toggle = (set) => () => {
    if (!set.delete(family.key)) set.add(family.key);
    view.redraw();
  };
  return element(
      "span", {class: "legend-item"},
      element(
          "button", {
            type: "button",
            class: "legend-entry",
            title: name,
            "aria-pressed": String(!view.hidden.has(family.key)),
            click: toggle(view.hidden)
          },
          swatch(family.look), element("span", {}, shortText(name, 300))),
      element(
          "button", {
            type: "button",
            class: "bring-out",
            title: `Bring out the intervals of ${name}`,
            "aria-label": `Bring out the intervals of ${name}`,
            "aria-pressed": String(view.broughtOut.has(family.key)),
            click: toggle(view.broughtOut)
          },
          "±"));
}
