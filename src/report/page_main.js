// The page, from top to bottom.

function showComparison(data) {
  const page = document.getElementById("page");
  if (!data || !data.variants) {
    page.replaceChildren(element("h1", {}, "Comparison"), element("p", {class: "nothing"}, "This page holds no data: it is the form that eave report fills."));
    return;
  }
  document.title = `Comparison: ${data.title}`;
  const view = makeView(data);
  page.replaceChildren(makeHead(view));
  if (view.variants.length === 0) {
    page.append(element("p", {class: "nothing"}, "There is no run to compare."));
  } else {
    page.append(makeFilterBar(view), makeVariantTable(view), makeCurveFigure(view),
      element("div", {class: "pair"}, makeRanksFigure(view), makeTargetFigure(view)), makeSpeedFigure(view),
      element("div", {class: "pair"}, makeSharesFigure(view), makeDistanceFigure(view)), ...[makeNotebook(view)].filter((part) => part),
      makeSettings(view), makeRuns(view));
  }
  page.append(...[makeLeftOut(view), makeNotes(view)].filter((part) => part));
  view.redraw();
  redrawWithWidth(view, page);
}

function makeHead(view) {
  const {data} = view;
  const target = targetText(view);
  const facts = [`Made ${data.made} by ${data.version}`, `${(data.runs || []).length} runs, ${view.variants.length} variants`,
    target ? `target: ${target} (${data.target.chosen_by})` : "no target accuracy"];
  return element("header", {}, element("h1", {}, data.title), element("p", {class: "small"}, facts.join(" · ")),
    element("div", {class: "verdict"}, (data.verdict || []).map((sentence) => element("p", {}, sentence))));
}

// Charts are drawn for the width they have, on paper too.
function redrawWithWidth(view, page) {
  let width = page.clientWidth, timer = 0;
  window.addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (page.clientWidth === width) return;
      width = page.clientWidth;
      view.redraw();
    }, 60);
  });
  window.matchMedia("print").addEventListener("change", () => view.redraw());
}
