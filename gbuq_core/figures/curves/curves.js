// Curves over one shared x axis as SVG: bands, lines, dots and hatched stretches, in panels.
// Dots may also be the picture itself: then the nearest is read, opened by a click (picking.js).
// Drawn anew in a few milliseconds, so a slider of the page can drive it. Every text comes from
// the specification and is set with textContent.

const SVG = 'http://www.w3.org/2000/svg';
const MARGIN = { left: 52, right: 10, top: 6, bottom: 38 };
const GAP = 26; // between panels, in pixels

let made = 0; // views, of which a page may have several: names within their drawings differ

function svgNode(name, attributes = {}, parent = null, text = '') {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(key, String(value));
  }
  if (text) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

function htmlNode(name, className, parent, text = '') {
  const node = document.createElement(name);
  node.className = className;
  node.textContent = text;
  parent.append(node);
  return node;
}

const tenth = (value) => Math.round(value * 10) / 10;

function pathOf(x, y) {
  let path = '';
  for (let i = 0; i < x.length; i++) path += `${i ? 'L' : 'M'}${tenth(x[i])},${tenth(y[i])}`;
  return path;
}

// A method's colour as it is drawn: a third lighter on a dark page, where blues drown.
function inkOf(colour, theme, dark) {
  if (colour === 'text') return theme.text;
  return dark ? rgba(mix(parseColour(colour), [255, 255, 255], 1 / 3), 1) : colour;
}

class CurvesView {
  constructor(parent) {
    this.number = made++;
    this.root = htmlNode('div', 'gbuq-curves', parent);
    const head = htmlNode('div', 'gbuq-curves-head', this.root);
    this.legend = htmlNode('div', 'gbuq-curves-legend', head);
    const saves = htmlNode('div', 'gbuq-curves-saves', head);
    const button = (name, label, act) => {
      const made = htmlNode('button', '', saves, name);
      made.type = 'button';
      made.setAttribute('aria-label', label);
      made.addEventListener('click', act);
      return made;
    };
    this.whole = button('Whole', 'Show the whole picture again', () => this.zoomTo(null));
    for (const format of ['SVG', 'PNG']) {
      button(format, `Save the picture as ${format}`, () => this.save(format.toLowerCase()));
    }
    this.svg = svgNode('svg', { tabindex: 0, role: 'img' }, this.root);
    this.readout = htmlNode('div', 'gbuq-curves-readout', this.root);
    this.readout.setAttribute('aria-live', 'polite');
    this.at = null; // index of the x or of the dot that is read
    this.window = null; // the stretch of both axes that is looked at, if not the whole
    this.send = null; // who is told that a dot was chosen
    this.tickLabels = true; // beside the panel that is drawn
    this.axisLabel = true; // what they measure
    this.xTitle = true; // and below it
    this.svg.addEventListener('pointermove', (event) => this.readNear(event));
    this.svg.addEventListener('pointerleave', () => this.read(null));
    this.svg.addEventListener('pointerdown', (event) => this.take(event) || this.press(event));
    this.svg.addEventListener('click', (event) => this.click(event));
    this.svg.addEventListener('dblclick', () => { if (this.window) this.zoomTo(null); });
    this.svg.addEventListener('blur', () => this.read(null));
    this.svg.addEventListener('keydown', (event) => this.key(event));
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.root);
    this.scheme = matchMedia('(prefers-color-scheme: dark)');
    this.retheme = () => this.restyle();
    this.scheme.addEventListener('change', this.retheme);
  }

  destroy() {
    this.observer.disconnect();
    this.carrier?.stop();
    this.knobBar?.destroy();
    this.scheme.removeEventListener('change', this.retheme);
    this.root.remove();
  }

  update(given) {
    const spec = this.worked(given);
    this.keepPlace(this.spec, spec);
    this.keepStretch(this.spec, spec);
    this.spec = spec;
    this.draw();
    this.heard();
  }

  resize() {
    if (this.spec && Math.abs(this.root.clientWidth - this.width) > 0.5) this.draw();
  }

  restyle() {
    if (this.spec && !sameTheme(this.theme, readTheme(this.root))) this.draw();
  }

  draw() {
    const { spec, svg } = this;
    this.width = this.root.clientWidth;
    if (!this.width) return;
    this.setTheme();
    this.start(spec.height);
    const inner = spec.height - MARGIN.top - MARGIN.bottom - GAP * (spec.panels.length - 1);
    const [lo, hi] = this.stretch();
    this.left = this.leftOf(inner);
    this.right = this.width - MARGIN.right;
    this.px = (x) => this.left + ((x - lo) / (hi - lo)) * (this.right - this.left);
    this.shownX = [lo, hi];
    this.whole.hidden = !this.window;
    let top = MARGIN.top;
    spec.panels.forEach((panel, i) => {
      const height = inner * panel.share;
      this.panel(panel, top, height, i);
      top += height + GAP;
    });
    this.bottom = top - GAP;
    this.xAxis();
    const rule = { stroke: this.theme.soft, 'stroke-width': 1, visibility: 'hidden' };
    this.rule = svgNode('line', { ...rule, y1: MARGIN.top, y2: this.bottom, class: 'rule' }, svg);
    const spot = { r: 6, fill: 'none', stroke: this.theme.text, 'stroke-width': 1.5 };
    this.spot = svgNode('circle', { ...spot, visibility: 'hidden', class: 'rule' }, svg);
    this.drawLegend();
    this.read(this.at);
  }

  setTheme() {
    this.theme = readTheme(this.root);
    const [r, g, b] = parseColour(this.theme.background);
    this.dark = 0.299 * r + 0.587 * g + 0.114 * b < 128;
  }

  // An empty drawing of this height.
  start(height) {
    const { spec, svg } = this;
    this.height = height;
    svg.replaceChildren();
    for (const [key, value] of Object.entries({
      width: this.width, height, viewBox: `0 0 ${this.width} ${height}`,
      'font-family': this.theme.font, 'font-size': 12, 'aria-label': spec.alt,
    })) svg.setAttribute(key, value);
    const defs = svgNode('defs', {}, svg);
    const hatch = svgNode('pattern', {
      id: `hatch-${this.number}`, width: 7, height: 7, patternUnits: 'userSpaceOnUse',
      patternTransform: 'rotate(45)',
    }, defs);
    svgNode('line', { x1: 0, y1: 0, x2: 0, y2: 7, stroke: this.theme.line }, hatch);
  }

  ticksOf(panel, height) {
    const [lo, hi] = this.window?.y ?? panel.range;
    return { lo, hi, ...linearTicks(lo, hi, Math.max(4, height / 45)) };
  }

  // Room for the longest number beside the axis.
  leftOf(inner) {
    const longest = this.spec.panels.flatMap((panel) => {
      const { labels } = this.ticksOf(panel, inner * (panel.share ?? 1));
      return labels.map((label) => textWidth(label, this.theme, 12));
    });
    return Math.max(MARGIN.left, 30 + Math.max(...longest));
  }

  panel(panel, top, height, i) {
    const { svg, theme } = this;
    const { lo, hi, ticks, labels } = this.ticksOf(panel, height);
    const py = (y) => top + height - ((y - lo) / (hi - lo)) * height;
    if (i === 0) this.upper = { py, top, height, shown: [lo, hi] };
    ticks.forEach((tick, k) => {
      const y = tenth(py(tick));
      svgNode('line', { x1: this.left, x2: this.right, y1: y, y2: y, stroke: theme.faint }, svg);
      const place = { x: this.left - 8, y: y + 4, 'text-anchor': 'end', fill: theme.soft };
      if (this.tickLabels) svgNode('text', place, svg, labels[k]);
    });
    const middle = top + height / 2;
    const turned = { transform: `translate(13,${middle}) rotate(-90)`, 'text-anchor': 'middle' };
    if (this.tickLabels && this.axisLabel) svgNode('text', { ...turned, fill: theme.soft }, svg, panel.label);
    const clip = svgNode('clipPath', { id: `panel-${this.number}-${i}` }, svg.firstChild);
    const box = { x: this.left, y: top, width: this.right - this.left, height };
    svgNode('rect', box, clip);
    const group = svgNode('g', { 'clip-path': `url(#panel-${this.number}-${i})`, class: 'panel' }, svg);
    for (const layer of panel.layers) this.layer(layer, group, py, box);
    if (panel.ring) this.ring(panel.ring, py, box);
  }

  layer(layer, group, py, box) {
    const colour = inkOf(layer.colour, this.theme, this.dark);
    if (layer.kind === 'hatch') {
      const [from, to] = [this.px(layer.from), this.px(layer.to)];
      const place = { x: from, width: to - from, y: box.y, height: box.height };
      svgNode('rect', { ...place, fill: `url(#hatch-${this.number})` }, group);
      return;
    }
    // Dots that can be read are listed by their places among those.
    const { read } = this.spec;
    const x = (layer.at ? layer.at.map((i) => read.x[i]) : layer.x).map(this.px);
    if (layer.kind === 'dots') {
      // One path of round strokes without length: a thousand dots for the price of one.
      const y = layer.at ? layer.at.map((i) => read.y[i]) : layer.y;
      const path = x.map((at, i) => `M${tenth(at)},${tenth(py(y[i]))}h0`).join('');
      const size = layer.size ?? 4;
      const round = { 'stroke-linecap': 'round', 'stroke-width': size, fill: 'none' };
      svgNode('path', { d: path, stroke: colour, opacity: layer.opacity, ...round }, group);
    } else if (layer.kind === 'band') {
      const back = pathOf(x.slice().reverse(), layer.low.map(py).reverse()).replace('M', 'L');
      const path = `${pathOf(x, layer.high.map(py))}${back}Z`;
      svgNode('path', { d: path, fill: colour, opacity: layer.opacity }, group);
    } else {
      const dash = layer.dash ? { 'stroke-dasharray': layer.dash } : {};
      const line = { fill: 'none', stroke: colour, 'stroke-width': layer.width, ...dash };
      svgNode('path', { d: pathOf(x, layer.y.map(py)), 'stroke-linejoin': 'round', ...line }, group);
    }
  }

  // Around the one dot that is open; whole even where the dot lies on an edge.
  ring({ x, y, colour }, py, box) {
    const at = { cx: tenth(this.px(x)), cy: tenth(py(y)) };
    const inside = at.cx >= box.x - 1 && at.cx <= box.x + box.width + 1
      && at.cy >= box.y - 1 && at.cy <= box.y + box.height + 1;
    if (!inside) return;
    const pen = { fill: 'none', stroke: inkOf(colour, this.theme, this.dark), 'stroke-width': 3 };
    svgNode('circle', { ...at, r: 8, ...pen, class: 'ring' }, this.svg);
  }

  xAxis() {
    const { spec, svg, theme } = this;
    const count = Math.max(4, (this.right - this.left) / 110);
    const { ticks, labels } = spec.x.ticks ?? linearTicks(this.shownX[0], this.shownX[1], count);
    ticks.forEach((tick, k) => {
      // Below its tick, but whole: a number at the picture's edge moves inwards.
      const last = this.width - textWidth(labels[k], theme, 12) / 2;
      const x = tenth(Math.min(this.px(tick), last));
      const place = { x, y: this.bottom + 17, 'text-anchor': 'middle' };
      svgNode('text', { ...place, fill: theme.soft }, svg, labels[k]);
    });
    if (!this.xTitle) return;
    const place = { x: (this.left + this.right) / 2, y: this.bottom + 34, 'text-anchor': 'middle' };
    svgNode('text', { ...place, fill: theme.soft }, svg, spec.x.label);
  }

  drawLegend() {
    this.legend.replaceChildren();
    for (const entry of this.spec.legend) {
      const item = htmlNode('span', 'gbuq-curves-entry', this.legend);
      const width = entry.kind === 'scale' ? 6 * entry.colours.length : 26;
      const swatch = svgNode('svg', { width, height: 12 }, item);
      if (entry.kind === 'scale') {
        entry.colours.forEach((colour, i) => {
          const fill = inkOf(colour, this.theme, this.dark);
          svgNode('rect', { x: 6 * i, y: 1, width: 6.5, height: 10, fill }, swatch);
        });
        htmlNode('span', '', item, entry.name);
        continue;
      }
      const colour = inkOf(entry.colour, this.theme, this.dark);
      if (entry.kind === 'band') {
        const box = { x: 0, y: 2, width: 26, height: 8, fill: colour, opacity: entry.opacity };
        svgNode('rect', box, swatch);
      } else if (entry.kind === 'hatch') {
        for (let x = -6; x < 26; x += 6) {
          svgNode('line', { x1: x, y1: 12, x2: x + 9, y2: 0, stroke: this.theme.line }, swatch);
        }
      } else if (entry.kind === 'dots') {
        const r = (entry.size ?? 4) / 2;
        svgNode('circle', { cx: 13, cy: 6, r, fill: colour, opacity: entry.opacity }, swatch);
      } else {
        const line = { x1: 0, x2: 26, y1: 6, y2: 6, stroke: colour, 'stroke-width': entry.width };
        svgNode('line', { ...line, 'stroke-dasharray': entry.dash || null }, swatch);
      }
      htmlNode('span', '', item, entry.name);
    }
  }
}
