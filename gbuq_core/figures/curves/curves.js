// Curves over one shared x axis as SVG: bands, lines, dots and hatched stretches, in panels.
// Dots may also be the picture itself: then the nearest is read, opened by a click (picking.js).
// Drawn anew in a few milliseconds, so a slider of the page can drive it. Every text comes from
// the specification and is set with textContent.

const MARGIN = { left: 52, right: 10, top: 6, bottom: 38 };
const GAP = 26; // between panels, in pixels
const ASIDE = { most: 110, share: 0.2 }; // pixels that a sideways density is wide, and of its panel
const LEAST_HEIGHT = 170; // of a picture in present mode

// Drawings of their own, by the name in a specification: each a view of its own script.
const DRAWINGS = {};

let made = 0; // views, of which a page may have several: names within their drawings differ

// A method's colour as it is drawn: a third lighter on a dark page, where blues drown.
function inkOf(colour, theme, dark) {
  if (colour === 'text') return theme.text;
  return dark ? rgba(mix(parseColour(colour), [255, 255, 255], 1 / 3), 1) : colour;
}

// The contrast of two colours, from 1 to 21 (WCAG 2.2, relative luminance).
function contrastOf(one, other) {
  const [a, b] = [one, other].map((rgb) => {
    const [r, g, b] = rgb.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  });
  return Math.max(a, b) / Math.min(a, b);
}

// The colour of a band's edge: the band's own, with as much of the text's as it takes to stand out
// from the page.
function edgeOf(colour, theme, dark) {
  const key = [colour, theme.text, theme.background].join();
  let found = EDGES.get(key);
  if (found) return found;
  const [text, ground] = [parseColour(theme.text), parseColour(theme.background)];
  const own = parseColour(inkOf(colour, theme, dark));
  let rgb = own;
  for (let share = 0; share < 1 && contrastOf(rgb, ground) < EDGE_CONTRAST; share += 0.05) {
    rgb = mix(own, text, share);
  }
  found = rgba(rgb, 1);
  EDGES.set(key, found);
  return found;
}

// Of named ticks those that lie in the stretch that is looked at.
function ticksWithin({ ticks, labels }, lo, hi) {
  const shown = ticks.map((tick) => tick >= lo && tick <= hi);
  return { ticks: ticks.filter((_, k) => shown[k]), labels: labels.filter((_, k) => shown[k]) };
}

const EDGE_CONTRAST = 3.1; // at least 3 : 1 after rounding
const EDGES = new Map();

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
    this.whole.after(this.makePin());
    this.opener = button('View', 'View: knobs and ways to save', () => this.open());
    this.closer = button('Zoom', 'Look closer with a finger', () => this.lookCloser(!this.closing));
    this.whole.after(this.closer);
    this.svg = svgNode('svg', { tabindex: 0, role: 'img' }, this.root);
    this.readout = htmlNode('div', 'gbuq-curves-readout', this.root);
    this.readout.setAttribute('aria-live', 'polite');
    this.paths = new WeakMap(); // of layers
    this.lookCloser(false);
    this.at = null; // index of the x or of the dot that is read
    this.window = null; // the stretch of both axes that is looked at, if not the whole
    this.send = null; // who is told that a dot was chosen
    this.origin = 0; // of the page that a panel stands in, where panels are swiped
    this.tickLabels = true; // beside the panel that is drawn
    this.axisLabel = true; // what they measure
    this.xTitle = true; // and below it
    const pointers = ['pointerdown', 'pointermove', 'pointerup', 'click', 'dblclick'];
    for (const name of pointers) this.svg.addEventListener(name, (event) => this.measure(event), true);
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
    this.pin.kept?.remove();
    this.unattend();
    this.scheme.removeEventListener('change', this.retheme);
    this.root.remove();
  }

  update(given) {
    const spec = this.worked(given);
    this.keepPlace(this.spec, spec);
    this.keepStretch(this.spec, spec);
    this.spec = spec;
    this.quieten(spec);
    this.closer.hidden = Boolean(spec.place) || !matchMedia('(any-pointer: coarse)').matches;
    this.draw();
    this.heard();
  }

  resize() {
    if (!this.spec) return;
    this.pin.place();
    const other = this.drawnFor !== this.room() && this.root.clientWidth;
    if (other || !sameTheme(this.theme, readTheme(this.root))) this.draw();
  }

  // What the layout depends on besides the specification and the theme.
  room() {
    return [this.root.clientWidth, this.theme?.above || this.spec?.quiet ? window.innerHeight : ''].join();
  }

  // Width and height of the picture in its own pixels, which are `type` CSS pixels each.
  measureRoom() {
    this.setTheme();
    this.drawnFor = this.room();
    this.width = this.root.clientWidth / this.theme.type;
  }

  heightOf(height) {
    const around = [...this.root.children].filter((node) => !node.contains(this.svg));
    const taken = around.reduce((sum, node) => sum + node.offsetHeight, 0) / (this.theme?.type || 1);
    const room = roomIn(this.theme, taken + 8);
    return room === null ? this.quietHeight(height) : Math.max(LEAST_HEIGHT, room);
  }

  // A pointer's place in the picture's own pixels: for all that hears of it later.
  measure(event) {
    const { type } = this.theme;
    if (type === 1) return;
    const { offsetX, offsetY } = event;
    Object.defineProperty(event, 'offsetX', { value: offsetX / type });
    Object.defineProperty(event, 'offsetY', { value: offsetY / type });
  }

  restyle() {
    if (this.spec && !sameTheme(this.theme, readTheme(this.root))) this.draw();
  }

  draw() {
    const { spec, svg } = this;
    this.measureRoom();
    if (!this.width) return;
    this.drawLegend();
    const whole = this.heightOf(spec.height);
    this.start(whole);
    const inner = whole - MARGIN.top - MARGIN.bottom - GAP * (spec.panels.length - 1);
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
    this.finish();
    this.drawGrip();
    this.read(this.at);
  }

  setTheme() {
    this.theme = readTheme(this.root);
    const [r, g, b] = parseColour(this.theme.background);
    this.dark = 0.299 * r + 0.587 * g + 0.114 * b < 128;
  }

  // A drawing of this size, which `finish` ends.
  start(height, width = this.width) {
    const { spec, svg } = this;
    this.height = height;
    for (const frame of svg.querySelectorAll(':scope > rect.rule')) frame.remove(); // of a brush
    redrawn = new Map([[svg, 0]]);
    for (const [key, value] of Object.entries({
      width: width * this.theme.type, height: height * this.theme.type,
      viewBox: `0 0 ${width} ${height}`,
      'font-family': this.theme.font, 'font-size': 12, 'aria-label': spec.alt,
    })) if (svg.getAttribute(key) !== String(value)) svg.setAttribute(key, value);
    const defs = svgNode('defs', {}, svg);
    const hatch = svgNode('pattern', {
      id: `hatch-${this.number}`, width: 7, height: 7, patternUnits: 'userSpaceOnUse',
      patternTransform: 'rotate(45)',
    }, defs);
    svgNode('line', { x1: 0, y1: 0, x2: 0, y2: 7, stroke: this.theme.line }, hatch);
  }

  // What was drawn before and is not drawn any more goes.
  finish() {
    for (const [node, count] of redrawn) {
      while (node.childNodes.length > count) node.lastChild.remove();
    }
    redrawn = null;
  }

  ticksOf(panel, height) {
    const [lo, hi] = this.window?.y ?? panel.range;
    if (panel.ticks) return { lo, hi, ...ticksWithin(panel.ticks, lo, hi) };
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
    const turned = { transform: `translate(${this.origin + 13},${top + height / 2}) rotate(-90)`, 'text-anchor': 'middle' };
    if (this.tickLabels && this.axisLabel) svgNode('text', { ...turned, fill: theme.soft }, svg, panel.label);
    const clip = svgNode('clipPath', { id: `panel-${this.number}-${i}` }, svg.firstChild);
    const box = { x: this.left, y: top, width: this.right - this.left, height };
    svgNode('rect', box, clip);
    const group = svgNode('g', { 'clip-path': `url(#panel-${this.number}-${i})`, class: 'panel' }, svg);
    for (const layer of panel.layers) this.layer(layer, group, py, box);
    if (panel.aside) this.aside(panel.aside, group, py, box);
    if (panel.ring) this.ring(panel.ring, py, box);
    if (i === 0) this.labels(py, box);
  }

  // A density beside a place, sideways: as wide as it is likely, on the side that has room.
  aside({ x, y, density, colour }, group, py, box) {
    const most = Math.max(...density);
    if (!(most > 0)) return;
    const at = this.px(x);
    const wide = Math.min(ASIDE.most, ASIDE.share * box.width);
    const side = at + wide > box.x + box.width ? -1 : 1;
    const out = density.map((v) => at + (side * wide * v) / most);
    const up = y.map(py);
    const fill = inkOf(colour, this.theme, this.dark);
    const area = `M${tenth(at)},${tenth(up[0])}${pathOf(out, up).replace('M', 'L')}L${tenth(at)},${tenth(up.at(-1))}Z`;
    const look = { fill, 'fill-opacity': 0.18, stroke: fill, 'stroke-width': 1.4, class: 'aside' };
    svgNode('path', { d: area, ...look }, group);
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
    const x = () => (layer.at ? layer.at.map((i) => read.x[i]) : layer.x).map(this.px);
    const along = (work) => this.pathOnce(layer, py, work);
    if (layer.kind === 'dots') {
      // One path of round strokes without length: a thousand dots for the price of one.
      const y = layer.at ? layer.at.map((i) => read.y[i]) : layer.y;
      const path = along(() => x().map((at, i) => `M${tenth(at)},${tenth(py(y[i]))}h0`).join(''));
      const size = layer.size ?? 4;
      const round = { 'stroke-linecap': 'round', 'stroke-width': size, fill: 'none' };
      svgNode('path', { d: path, stroke: colour, opacity: layer.opacity, ...round }, group);
    } else if (layer.kind === 'band') {
      const path = along(() => {
        const places = x();
        const back = pathOf(places.slice().reverse(), layer.low.map(py).reverse()).replace('M', 'L');
        return `${pathOf(places, layer.high.map(py))}${back}Z`;
      });
      const edge = { stroke: edgeOf(layer.colour, this.theme, this.dark), 'stroke-width': 1 };
      svgNode('path', { d: path, fill: colour, 'fill-opacity': layer.opacity, ...edge }, group);
    } else {
      const dash = layer.dash ? { 'stroke-dasharray': layer.dash } : {};
      const { opacity } = layer;
      const line = { fill: 'none', stroke: colour, 'stroke-width': layer.width, opacity, ...dash };
      const path = along(() => pathOf(x(), layer.y.map(py)));
      svgNode('path', { d: path, 'stroke-linejoin': 'round', ...line }, group);
    }
  }

  // A layer that stays has the path that it had in the same place.
  pathOnce(layer, py, work) {
    const place = [this.px(0), this.px(1), py(0), py(1)].join();
    const { x, y } = layer.at ? this.spec.read : layer; // which a knob may replace below the layer
    let known = this.paths.get(layer);
    if (known?.place !== place || known.x !== x || known.y !== y) {
      known = { place, x, y, path: work() };
      this.paths.set(layer, known);
    }
    return known.path;
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
    const [lo, hi] = this.shownX;
    const given = spec.x.ticks && ticksWithin(spec.x.ticks, lo, hi);
    const { ticks, labels } = given ?? linearTicks(lo, hi, count);
    ticks.forEach((tick, k) => {
      // Below its tick, but whole: a number at the picture's edge moves inwards.
      const last = this.origin + this.width - textWidth(labels[k], theme, 12) / 2;
      const x = tenth(Math.min(this.px(tick), last));
      const place = { x, y: this.bottom + 17, 'text-anchor': 'middle' };
      svgNode('text', { ...place, fill: theme.soft }, svg, labels[k]);
    });
    if (!this.xTitle) return;
    const place = { x: (this.left + this.right) / 2, y: this.bottom + 34, 'text-anchor': 'middle' };
    svgNode('text', { ...place, fill: theme.soft }, svg, spec.x.label);
  }

  drawLegend() {
    const { theme, dark } = this;
    const wanted = JSON.stringify([this.spec.legend, theme.text, theme.line, theme.background, dark]);
    if (wanted === this.legendDrawn) return;
    this.legendDrawn = wanted;
    this.legend.replaceChildren();
    for (const entry of this.spec.legend.filter(({ at }) => !at)) { // others are labels
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
        const box = { x: 0.5, y: 2.5, width: 25, height: 8, fill: colour };
        const edge = { stroke: edgeOf(entry.colour, this.theme, this.dark), 'stroke-width': 1 };
        svgNode('rect', { ...box, 'fill-opacity': entry.opacity, ...edge }, swatch);
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
