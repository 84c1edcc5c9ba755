// Saves figures as SVG, PNG and CSV. Nothing leaves the browser.

// The properties that a picture needs outside the page, where the page's style does not reach it.
const kDrawn = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-family",
  "font-size", "paint-order", "font-style", "font-weight", "text-anchor"
];

// latest(): what the figure's drawing returned last.
function makeDownloads(view, title, box, latest) {
  const name = () => `${fileName(view.data.title)}-${fileName(title)}`;
  const table = () => (latest().table || (() => null))();
  const kinds = [
    ["SVG", () => saveFile(`${name()}.svg`, new Blob([pictureText(box, latest())], {type: "image/svg+xml"}))],
    ["PNG", () => savePng(`${name()}.png`, pictureText(box, latest()))],
    ["CSV", () => saveFile(`${name()}.csv`, new Blob([csvText(table())], {type: "text/csv"}))],
  ];
  const buttons = kinds.map(([kind, save]) => element("button", {type: "button", class: "tool", click: save}, kind));
  const group = element("span", {class: "control save", role: "group", "aria-label": `Save figure: ${title}`}, buttons);
  group.update = () => {
    const drawn = box.querySelector("svg[role=img]") !== null;
    buttons.forEach((button, i) => {
      button.disabled = i < 2 ? !drawn : !latest().table;
    });
  };
  return group;
}

function fileName(text) {
  return String(text).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60) || "figure";
}

function saveFile(name, blob) {
  const address = URL.createObjectURL(blob);
  element("a", {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// The charts of a figure as they stand in it, with their legend below, as one SVG file.
function pictureText(box, {legend}) {
  const frame = box.getBoundingClientRect();
  const charts = [...box.querySelectorAll("svg[role=img]")];
  const style = getComputedStyle(document.body);
  const picture = shape("svg", {"font-family": style.fontFamily});
  let bottom = 0, width = 0;
  for (const chart of charts) {
    const place = chart.getBoundingClientRect();
    const copy = styledCopy(chart);
    fillElement(copy, {x: place.left - frame.left, y: place.top - frame.top}, []);
    picture.append(copy);
    bottom = Math.max(bottom, place.bottom - frame.top);
    width = Math.max(width, place.right - frame.left);
  }
  bottom = drawSavedLegend(picture, legend || [], width, bottom + 8, style.color);
  const height = Math.ceil(bottom + 8);
  fillElement(picture, {width, height, viewBox: `0 0 ${width} ${height}`}, []);
  picture.prepend(shape("rect", {width, height, fill: style.backgroundColor}));
  return new XMLSerializer().serializeToString(picture);
}

// A copy of a drawing that has as attributes what the page's style gives the original.
function styledCopy(original) {
  const copy = original.cloneNode(true);
  const copies = [copy, ...copy.querySelectorAll("*")];
  [original, ...original.querySelectorAll("*")].forEach((one, i) => {
    if (one.tagName === "title") return;
    const style = getComputedStyle(one);
    for (const property of kDrawn) copies[i].setAttribute(property, style.getPropertyValue(property));
    copies[i].removeAttribute("class");
  });
  copy.querySelectorAll("[visibility=hidden]").forEach((hair) => hair.remove());
  return copy;
}

// legend: [[picture, text]]. Returns where it ends.
function drawSavedLegend(picture, legend, width, top, color) {
  let [x, y] = [4, top];
  for (const [drawing, text] of legend) {
    const wide = Number(drawing.getAttribute("width")) + 8 + textWidth(text) + 18;
    if (x > 4 && x + wide > width) [x, y] = [4, y + 18];
    document.body.append(drawing);  // only what is in the page has a style
    const copy = styledCopy(drawing);
    drawing.remove();
    fillElement(copy, {x, y}, []);
    picture.append(
        copy, shape("text", {x: x + wide - textWidth(text) - 18, y: y + 11, "font-size": 12, fill: color}, text));
    x += wide;
  }
  return legend.length > 0 ? y + 16 : top;
}

// Two pixels for each of the page's, so that print is sharp.
function savePng(name, text) {
  const image = new Image();
  image.onload = () => {
    const canvas = element("canvas", {width: image.width * 2, height: image.height * 2});
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && saveFile(name, blob), "image/png");
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

// {heads, rows} as CSV. A spreadsheet takes a text that begins with =, +, - or @ for a formula: it gets an apostrophe.
function csvText({heads, rows}) {
  const cell = (value) => {
    if (value === null || value === undefined || (typeof value === "number" && !isNumber(value))) return "";
    const text = typeof value === "number" ? String(value) : String(value).replace(/^[=+\-@\t\r]/, "'$&");
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, "\"\"")}"` : text;
  };
  return [heads, ...rows].map((row) => `${row.map(cell).join(",")}\n`).join("");
}

// The unit of the numbers that a table holds: " (s)".
function csvUnit(quantity) {
  return {seconds: " (s)", bytes: " (B)", cores: " (core-s)"}[quantity] || "";
}

// The rows of a chart's series, with the runs that are drawn as single lines.
function seriesTable(series, xName, yName) {
  const rowsOf = (name, run, points) =>
      points.map((point) => [name, run, point.ranks || point.x, point.y, point.low, point.high]);
  return {
    heads: ["method", "run", xName, yName, `${yName} low`, `${yName} high`],
    rows: series.flatMap(
        (one) =>
            [...rowsOf(one.name, "", one.points),
             ...(one.singles || []).flatMap((single) => rowsOf(one.name, single.name, single.points))])
  };
}

function legendOf(series) {
  return series.map((one) => [swatch(one.look), one.name]);
}
