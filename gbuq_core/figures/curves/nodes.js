// The nodes of a drawing, made or taken from the drawing before, and paths.

const SVG = 'http://www.w3.org/2000/svg';

// While a view draws itself again: how many children each of its nodes has so far.
let redrawn = null;

// A node of a drawing. In one that is drawn again the like node that was there is taken, and only
// what differs is written: most of a picture stays while a knob moves.
function svgNode(name, attributes = {}, parent = null, text = '') {
  const given = Object.entries(attributes).filter(([, value]) => value !== null && value !== undefined);
  const at = redrawn?.get(parent);
  const old = at === undefined ? null : parent.childNodes[at];
  const taken = old?.localName === name && String(old.getAttributeNames()) === String(given.map(([key]) => key));
  const node = taken ? old : document.createElementNS(SVG, name);
  for (const [key, value] of given) {
    const written = String(value);
    if (!taken || node.getAttribute(key) !== written) node.setAttribute(key, written);
  }
  if (taken ? WORDS.has(name) && node.textContent !== text : text) node.textContent = text;
  if (!parent) return node;
  if (at === undefined) parent.append(node);
  else {
    if (!taken) parent.insertBefore(node, old ?? null);
    redrawn.set(parent, at + 1);
    if (!WORDS.has(name)) redrawn.set(node, 0);
  }
  return node;
}

const WORDS = new Set(['text', 'title']);

function htmlNode(name, className, parent, text = '') {
  const node = document.createElement(name);
  node.className = className;
  node.textContent = text;
  parent.append(node);
  return node;
}

// The same words again need no new layout.
function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const tenth = (value) => Math.round(value * 10) / 10;

function pathOf(x, y) {
  let path = '';
  for (let i = 0; i < x.length; i++) path += `${i ? 'L' : 'M'}${tenth(x[i])},${tenth(y[i])}`;
  return path;
}
