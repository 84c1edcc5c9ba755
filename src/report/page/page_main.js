// Builds the page from top to bottom.

function showComparison(data) {
  const page = document.getElementById("page");
  if (!data || !data.variants) {
    page.replaceChildren(
        element("h1", {}, "Comparison"),
        element("p", {class: "nothing"}, "This page holds no data: it is the form that eave report fills."));
    return;
  }
  data = withoutControls(data);
  useMetric(data.metric);
  useTokens(data.tokens_per_sample);
  document.title = data.title;
  window.onhashchange = () => showComparison(data);
  const view = makeView(data);
  page.replaceChildren(makeHead(view));
  if (view.variants.length === 0) {
    page.append(element("p", {class: "nothing"}, "There is no run to compare."));
  } else {
    page.append(makeFilterBar(view), makeVariantTable(view), ...makeFigures(view));
    page.append(...[makeNotebook(view)].filter((part) => part), makeSettings(view), makeRuns(view));
  }
  page.append(...[makeLeftOut(view), makeNotes(view), makeGlossary()].filter((part) => part));
  view.redraw();
  redrawWithWidth(view, page);
}

// Leaves out figures that these runs can never fill: those over the number of ranks, if there is only one, and that of
// distances, if no run has any.
function makeFigures(view) {
  const severalRanks = view.rankChoices.length > 1;
  const areApart = (view.data.runs || []).some((run) => distanceCurve(run, "step", "max").some((point) => point.y > 0));
  return [
    makeCurveFigure(view), makeParetoFigure(view),
    sideBySide(view, [severalRanks ? makeRanksFigure(view) : null, makeTargetFigure(view)]),
    severalRanks ? makeSpeedFigure(view) : null,
    sideBySide(view, [makeSharesFigure(view), areApart ? makeDistanceFigure(view) : null])
  ].filter((part) => part);
}

// Two figures beside each other, unless one of them has so many rows that the other would stand beside empty paper.
function sideBySide(view, figures) {
  const drawn = figures.filter((figure) => figure);
  const pair = element("div", {}, drawn);
  const mostRows = 14;
  view.tables.push(() => {
    pair.className = drawn.length > 1 && visibleVariants(view).length <= mostRows ? "pair" : "";
  });
  return pair;
}

// Replaces characters in all texts of the data that could break lines or reverse the direction of writing.
function withoutControls(value) {
  if (typeof value === "string")
    return value.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
  if (Array.isArray(value)) return isNumber(value[0]) ? value : value.map(withoutControls);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [withoutControls(name), withoutControls(inner)]));
}

function countText(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

function makeHead(view) {
  const {data} = view;
  const target = targetText(view);
  const facts = [
    `Made ${data.made} by ${data.version}`,
    `${countText((data.runs || []).length, "run")}, ${countText(view.variants.length, "variant")}`,
    target ? `target: ${target} (${data.target.chosen_by})` : `no target ${metricName()}`
  ];
  return element(
      "header", {},
      element(
          "div", {class: "page-head"}, element("h1", {}, data.title),
          element("div", {class: "controls tools"}, makeThemeChoice(), makeCopyButton(view))),
      element("p", {class: "small"}, facts.join(" · ")), makeOwnNotes(data.own_notes || []),
      makeVerdict(data.verdict || []));
}

// The lines that its maker wrote for the page. An empty line begins a paragraph.
function makeOwnNotes(lines) {
  const paragraphs = [[]];
  for (const line of lines) {
    if (line.trim() !== "")
      paragraphs[paragraphs.length - 1].push(line);
    else
      paragraphs.push([]);
  }
  const full = paragraphs.filter((paragraph) => paragraph.length > 0);
  if (full.length === 0) return null;
  const broken = (paragraph) => paragraph.flatMap((line, i) => i === 0 ? [line] : [element("br"), line]);
  return element("div", {class: "own-notes"}, full.map((paragraph) => element("p", {}, broken(paragraph))));
}

// If there are more than four sentences, shows two and folds the rest. Print shows all.
function makeVerdict(sentences) {
  if (sentences.length === 0) return null;
  const paragraphs = sentences.map((sentence) => element("p", {}, sentence));
  const few = sentences.length <= 4 ? sentences.length : 2;
  const rest = few === sentences.length ?
      null :
      element(
          "details", {}, element("summary", {}, `${sentences.length - few} more sentences like these`),
          paragraphs.slice(few));
  if (rest)
    window.addEventListener("beforeprint", () => {
      rest.open = true;
    });
  return element("div", {class: "verdict"}, paragraphs.slice(0, few), rest);
}

// Redraws the charts when their width changes, also for printing.
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
