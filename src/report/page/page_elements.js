// Makes the elements of the page. Text from the data enters as text or as the value of a harmless attribute, never as
// HTML.

function element(name, attributes, ...children) {
  return fillElement(document.createElement(name), attributes, children);
}

function shape(name, attributes, ...children) {
  return fillElement(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

// Sets attributes and appends children. An attribute whose value is a function becomes a listener for that event.
function fillElement(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") {
      node.addEventListener(name, value);
    } else if (value !== undefined && value !== null && value !== false) {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

// A group of buttons of which exactly one is pressed. options: [[value, text], …]. Calls choose(value).
function buttonGroup(label, options, current, choose) {
  const buttons = options.map(
      ([value, text]) => element(
          "button", {type: "button", "aria-pressed": String(value === current), click: () => press(value)}, text));
  function press(value) {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(options[i][0] === value)));
    choose(value);
  }
  return element(
      "span", {class: "control", role: "group", "aria-label": label || options.map((option) => option[1]).join(" or ")},
      label ? element("span", {class: "control-label", "aria-hidden": "true"}, label) : null,
      element("span", {class: "buttons"}, buttons));
}

function selection(label, options, current, choose) {
  const list = element(
      "select", {change: () => choose(options[list.selectedIndex][0])},
      options.map(([value, text]) => element("option", {selected: value === current}, text)));
  return element("label", {class: "control"}, element("span", {class: "control-label"}, label), list);
}

function checkBox(label, current, choose) {
  const box = element("input", {type: "checkbox", checked: current, change: () => choose(box.checked)});
  return element("label", {class: "control"}, box, label);
}

// page.css has their values, for light and for dark.
const kColors = [0, 1, 2, 3, 4, 5, 6].map((i) => `var(--series-${i})`);
const kDashes = ["", "8 3", "2 2.5", "9 3 2 3", "5 2.5", "12 3 2 3 2 3", "1.5 4", "14 4"];
const kMarkers = ["circle", "square", "triangle", "diamond", "reversed", "star", "pentagon", "bow"];

// The index-th of 56 looks. The first seven differ from each other in colour, dashes and marker. Of the 56 no two are
// equal.
function lookOf(index) {
  const round = Math.floor(index / kColors.length);
  return {
    color: kColors[index % kColors.length],
    dash: kDashes[index % kDashes.length],
    marker: kMarkers[(index + 2 * round) % kMarkers.length]
  };
}

// Corners of markers as [angle in eighths of a turn from the top, distance from the middle in radii].
const kCorners = {
  square: [[1, 1.2], [3, 1.2], [5, 1.2], [7, 1.2]],
  diamond: [[0, 1.35], [2, 1.1], [4, 1.35], [6, 1.1]],
  triangle: [[0, 1.4], [2.8, 1.3], [5.2, 1.3]],
  reversed: [[4, 1.4], [6.8, 1.3], [1.2, 1.3]],
  star: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => [i * 0.8, i % 2 ? 0.6 : 1.5]),
  pentagon: [0, 1, 2, 3, 4].map((i) => [i * 1.6, 1.25]),
  bow: [[1, 1.4], [3, 1.4], [7, 1.4], [5, 1.4]],
};

function markerPath(marker, x, y, radius) {
  if (marker === "circle") {
    return `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${- 2 * radius} 0z`;
  }
  const points = kCorners[marker].map(([eighths, distance]) => {
    const angle = eighths * Math.PI / 4;
    return `${(x + Math.sin(angle) * distance * radius).toFixed(1)} ${
        (y - Math.cos(angle) * distance * radius).toFixed(1)}`;
  });
  return `M${points.join("L")}z`;
}

function drawMarker(look, x, y, radius) {
  return shape("path", {class: "marker", d: markerPath(look.marker, x, y, radius), fill: look.color});
}

// A small picture of line and marker as the charts draw them.
function swatch(look) {
  return shape(
      "svg", {class: "swatch", width: 30, height: 12, "aria-hidden": "true"},
      shape(
          "line",
          {x1: 0, y1: 6, x2: 30, y2: 6, stroke: look.color, "stroke-width": 2, "stroke-dasharray": look.dash || null}),
      drawMarker(look, 15, 6, 3.6));
}

// The width in pixels of text in the charts' font.
function textWidth(text) {
  if (!textWidth.canvas) {
    textWidth.canvas = document.createElement("canvas").getContext("2d");
    textWidth.canvas.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  }
  return textWidth.canvas.measureText(text).width;
}

function widest(texts) {
  return Math.max(0, ...texts.map(textWidth));
}

// The text, cut and ended with "…" if it does not fit in `width` pixels.
function shortText(text, width) {
  if (textWidth(text) <= width) return text;
  let most = Math.min(text.length, Math.ceil(width / 3));
  while (most > 3 && textWidth(`${text.slice(0, most)}…`) > width) --most;
  return `${text.slice(0, most)}…`;
}
