// The address' part after "#": what the reader chose, so far as it differs from what the page shows at first.

// The choices in a fragment, as a Map from key to text. Each is checked against what can be chosen when it is used.
function readFragment(fragment) {
  const wanted = new Map();
  for (const part of fragment.slice(1, 4000).split("&")) {
    const [key, value] = part.split("=");
    try {
      if (value !== undefined) wanted.set(key, decodeURIComponent(value));
    } catch (error) {
      continue;  // it is no text that this page wrote
    }
  }
  return wanted;
}

// Makes state[name] part of the address as `key`, and restores it if the address has one of `values` there.
function keepChoice(view, key, state, name, values) {
  const first = String(state[name]);
  view.choices.push({key, first: () => first, now: () => String(state[name])});
  restoreChoice(view, key, values, (value) => {
    state[name] = value;
  });
}

function restoreChoice(view, key, values, restore) {
  const found = values.find((value) => String(value) === view.wanted.get(key));
  if (found !== undefined) restore(found);
}

// A set of families in the address: their hashes, with "." between them.
function keepFamilies(view, key, set) {
  const text = () => view.families.filter((family) => set.has(family.key)).map(({key: one}) => hashOf(one)).join(".");
  view.choices.push({key, first: () => "", now: text});
  const hashes = (view.wanted.get(key) || "").split(".");
  for (const family of view.families)
    if (hashes.includes(hashOf(family.key))) set.add(family.key);
}

// FNV-1a in base 36.
function hashOf(text) {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0), 0x01000193) >>> 0;
  return hash.toString(36);
}

function fragmentOf(view) {
  return view.choices.filter((choice) => choice.now() !== choice.first())
      .map((choice) => `${choice.key}=${encodeURIComponent(choice.now())}`)
      .join("&");
}

// Writes the choices into the address. A browser may forbid that to a page inside another one.
function updateAddress(view) {
  const fragment = fragmentOf(view);
  if (fragment === location.hash.slice(1)) return;
  try {
    history.replaceState(null, "", fragment ? `#${fragment}` : location.href.replace(/#.*/, ""));
  } catch (error) {
    view.addressIsFixed = true;
  }
}

// A button that copies the address. Where the clipboard is not to be had, it shows the address to copy by hand.
function makeCopyButton(view) {
  const address = () => `${location.href.replace(/#.*/, "")}#${fragmentOf(view)}`.replace(/#$/, "");
  const said = element("span", {class: "small", role: "status"});
  const byHand = () => {
    const box =
        element("input", {class: "address", readonly: true, "aria-label": "Link to this view", value: address()});
    said.replaceChildren(box);
    box.focus();
    box.select();
  };
  const copy = () => navigator.clipboard ?
      navigator.clipboard.writeText(address()).then(() => said.replaceChildren("copied"), byHand) :
      byHand();
  return element(
      "span", {class: "control"},
      element("button", {type: "button", class: "tool", click: copy}, "Copy link to this view"), said);
}
