// What every part makes nodes with, and keeps numbers within.

const SVG_NS = 'http://www.w3.org/2000/svg';

function element(name, className, attributes = {}, text = '') {
  const node = document.createElement(name);
  if (className) node.className = className;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  return node;
}

// A path of 16 x 16 pixels as the face of a button, which says in words what it does.
function drawIcon(button, path, label) {
  const svg = document.createElementNS(SVG_NS, 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  const shape = document.createElementNS(SVG_NS, 'path');
  shape.setAttribute('d', path);
  shape.setAttribute('fill-rule', 'evenodd');
  svg.append(shape);
  button.replaceChildren(svg);
  button.setAttribute('aria-label', label);
  button.title = label;
}

function clamp(value, low, high) {
  return value < low ? low : value > high ? high : value;
}
