// A chart that asks first: the reader brushes a range of x or draws a curve, with the pointer or
// the arrow keys, and presses Compare. The truth is drawn once the guess is made.

const SVG = 'http://www.w3.org/2000/svg';
const GUESS = '#d55e00';
const TRUTH = '#0072b2';
const EDGE = { left: 46, right: 14, top: 10, bottom: 40 };
const HEIGHT = 300;

function svgNode(tag, attributes, parent, text = '') {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  parent.appendChild(node);
  return node;
}

function clamped(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

// The letters of levels in [0, 1], and back; a brushed range is two whole percents.
function drawnCode(levels, letters) {
  return levels.map((level) => letters[Math.round(level * (letters.length - 1))]).join('');
}
function drawnLevels(code, letters) {
  return [...code].map((letter) => letters.indexOf(letter) / (letters.length - 1));
}

// Levels at all places from those that were drawn, straight between them.
function filledLevels(levels) {
  const known = levels.map((level, i) => [i, level]).filter(([, level]) => level !== null);
  if (!known.length) return null;
  return levels.map((level, i) => {
    if (level !== null) return level;
    const before = known.filter(([j]) => j < i).at(-1);
    const after = known.find(([j]) => j > i);
    if (!before || !after) return (before ?? after)[1];
    const part = (i - before[0]) / (after[0] - before[0]);
    return before[1] + part * (after[1] - before[1]);
  });
}

class GuessView {
  constructor(parent) {
    this.root = document.createElement('div');
    this.root.className = 'gbuq-guess';
    parent.appendChild(this.root);
    this.svg = svgNode('svg', { tabindex: 0, role: 'application' }, this.root);
    this.foot = document.createElement('div');
    this.foot.className = 'gbuq-guess-foot';
    this.root.appendChild(this.foot);
    this.button = document.createElement('button');
    this.button.type = 'button';
    this.button.textContent = 'Compare';
    this.button.addEventListener('click', () => this.compare());
    this.said = document.createElement('span');
    this.said.setAttribute('aria-live', 'polite');
    this.svg.addEventListener('pointerdown', (event) => this.down(event));
    this.svg.addEventListener('pointermove', (event) => this.move(event));
    for (const end of ['pointerup', 'pointercancel']) {
      this.svg.addEventListener(end, () => { this.held = null; });
    }
    this.svg.addEventListener('keydown', (event) => this.key(event));
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.root);
    this.place = 0;
  }

  destroy() {
    this.watch.disconnect();
    this.root.remove();
  }

  update(spec, send = null) {
    const fresh = JSON.stringify(spec);
    this.send = send;
    if (fresh === this.fresh) return;
    this.fresh = fresh;
    this.spec = spec;
    this.compared = Boolean(spec.guess);
    this.range = null;
    this.levels = new Array(spec.places).fill(null);
    if (spec.guess && spec.kind === 'brush') this.range = spec.guess.split('-').map((p) => p / 100);
    if (spec.guess && spec.kind === 'draw') this.levels = drawnLevels(spec.guess, spec.letters);
    this.root.classList.toggle('gbuq-guess-brush', spec.kind === 'brush');
    this.root.classList.toggle('gbuq-guess-draw', spec.kind === 'draw');
    this.draw();
  }

  restyle() {
    this.draw();
  }

  get code() {
    if (this.spec.kind === 'draw') {
      const levels = filledLevels(this.levels);
      return levels ? drawnCode(levels, this.spec.letters) : '';
    }
    if (!this.range) return '';
    const [low, high] = this.range.map((part) => Math.round(100 * part)).sort((a, b) => a - b);
    return low < high ? `${low}-${high}` : '';
  }

  // Where the pointer is, as parts of the two axes.
  at(event) {
    const box = this.svg.getBoundingClientRect();
    const width = box.width - EDGE.left - EDGE.right;
    const height = HEIGHT - EDGE.top - EDGE.bottom;
    return [
      clamped((event.clientX - box.left - EDGE.left) / width, 0, 1),
      clamped(1 - (event.clientY - box.top - EDGE.top) / height, 0, 1),
    ];
  }

  down(event) {
    if (this.compared || event.button) return;
    this.svg.setPointerCapture(event.pointerId);
    const at = this.at(event);
    this.held = at;
    if (this.spec.kind === 'brush') this.range = [at[0], at[0]];
    else this.stroke(at, at);
    this.draw();
  }

  move(event) {
    if (!this.held) return;
    const at = this.at(event);
    if (this.spec.kind === 'brush') this.range = [this.range[0], at[0]];
    else this.stroke(this.held, at);
    if (this.spec.kind === 'draw') this.held = at;
    this.draw();
  }

  // Every place that the pointer passed takes the level that it had there.
  stroke(from, to) {
    const last = this.spec.places - 1;
    const [a, b] = from[0] <= to[0] ? [from, to] : [to, from];
    this.levels[Math.round(to[0] * last)] = to[1];
    for (let i = Math.ceil(a[0] * last); i <= Math.floor(b[0] * last); i += 1) {
      const part = b[0] > a[0] ? (i / last - a[0]) / (b[0] - a[0]) : 1;
      this.levels[i] = a[1] + part * (b[1] - a[1]);
    }
  }

  key(event) {
    if (this.compared) return;
    const along = { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0;
    const up = { ArrowUp: 1, ArrowDown: -1 }[event.key] ?? 0;
    if (!along && !up) return;
    event.preventDefault();
    if (this.spec.kind === 'brush') {
      const [low, high] = this.range ?? [0.45, 0.55];
      // Left and right move the range; with Shift, or up and down, its right end alone.
      const end = event.shiftKey || up;
      const step = 0.01 * (along || up);
      this.range = [end ? low : clamped(low + step, 0, 1), clamped(high + step, 0, 1)];
    } else if (along) {
      this.place = clamped(this.place + along, 0, this.spec.places - 1);
    } else {
      const now = filledLevels(this.levels)?.[this.place] ?? 0.5;
      this.levels[this.place] = clamped(now + 0.02 * up, 0, 1);
    }
    this.keyed = true;
    this.draw();
  }

  compare() {
    const { code } = this;
    if (!code) return;
    if (this.send) {
      this.button.disabled = true;
      this.send(code);
    } else {
      this.compared = true;
      this.draw();
    }
  }

  draw() {
    if (!this.spec) return;
    const { spec } = this;
    const open = this.compared && spec.truth !== null;
    const chart = open ? spec.after : spec.chart;
    const width = Math.max(this.root.clientWidth, 240);
    const inner = { w: width - EDGE.left - EDGE.right, h: HEIGHT - EDGE.top - EDGE.bottom };
    const px = (part) => EDGE.left + part * inner.w;
    const py = (part) => EDGE.top + (1 - part) * inner.h;
    const x = (value) => px((value - chart.x[0]) / (chart.x[1] - chart.x[0]));
    const y = (value) => py((value - chart.y[0]) / (chart.y[1] - chart.y[0]));
    this.svg.replaceChildren();
    this.svg.setAttribute('height', HEIGHT);
    this.svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    this.svg.setAttribute('aria-label', spec.kind === 'brush'
      ? 'Brush a range: drag, or use the left and right arrow keys, and up and down for its end.'
      : 'Draw a line: drag, or choose a place with left and right and a height with up and down.');
    this.root.classList.toggle('gbuq-guess-done', this.compared);
    this.root.dataset.code = this.code;
    const keys = [];
    const path = (points) => points.map(([a, b], i) => `${i ? 'L' : 'M'}${a.toFixed(1)} ${b.toFixed(1)}`)
      .join('');
    const bar = (low, high, colour, name) => {
      svgNode('rect', { x: px(low), y: EDGE.top, width: Math.max(px(high) - px(low), 1), height: inner.h,
        fill: colour, opacity: 0.22 }, this.svg);
      keys.push([colour, '', name]);
    };
    svgNode('path', { class: 'axis', d: path([[px(0), py(1)], [px(0), py(0)], [px(1), py(0)]]) }, this.svg);
    for (const [value, text] of chart.xTicks) {
      svgNode('text', { x: x(value), y: py(0) + 16, 'text-anchor': 'middle' }, this.svg, text);
    }
    for (const [value, text] of chart.yTicks) {
      svgNode('text', { x: px(0) - 6, y: y(value) + 4, 'text-anchor': 'end' }, this.svg, text);
    }
    svgNode('text', { x: px(0.5), y: HEIGHT - 6, 'text-anchor': 'middle' }, this.svg, chart.xLabel);
    svgNode('text', { x: px(0) + 6, y: EDGE.top + 10 }, this.svg, chart.yLabel);
    const ends = (spec.kind === 'brush' && this.range) ? [...this.range].sort((a, b) => a - b) : null;
    const part = (value) => clamped((value - chart.x[0]) / (chart.x[1] - chart.x[0]), 0, 1);
    if (open && spec.kind === 'brush') bar(part(spec.truth[0]), part(spec.truth[1]), TRUTH, spec.name);
    if (ends) bar(ends[0], ends[1], GUESS, 'your range');
    chart.dots[0].forEach((value, i) => {
      svgNode('circle', { cx: x(value), cy: clamped(y(chart.dots[1][i]), py(1), py(0)), r: 1.8,
        fill: 'var(--st-text-color)', opacity: 0.45 }, this.svg);
    });
    if (chart.dotsName) keys.push(['var(--st-text-color)', 'dot', chart.dotsName]);
    const line = (points, colour, dash, name) => {
      svgNode('path', { d: path(points), fill: 'none', stroke: colour, 'stroke-width': 2.2,
        'stroke-dasharray': dash ? '6 4' : 'none' }, this.svg);
      if (name) keys.push([colour, dash ? 'dash' : 'line', name]);
    };
    for (const known of chart.lines) {
      const colour = known.colour === 'text' ? 'var(--st-text-color)' : known.colour;
      const inside = (value) => clamped(value, chart.y[0], chart.y[1]);
      line(known.x.map((value, i) => [x(value), y(inside(known.y[i]))]), colour, known.dash, known.name);
    }
    const last = spec.places - 1;
    if (open && spec.kind === 'draw') {
      line(spec.truth.map((value, i) => [px(i / last), y(value)]), TRUTH, false, spec.name);
    }
    if (spec.kind === 'draw') {
      const drawn = this.levels.map((level, i) => [i, level]).filter(([, level]) => level !== null);
      if (drawn.length) line(drawn.map(([i, level]) => [px(i / last), py(level)]), GUESS, false, 'your line');
      for (const [i, level] of drawn) {
        svgNode('circle', { cx: px(i / last), cy: py(level), r: 3, fill: GUESS }, this.svg);
      }
      if (this.keyed && !this.compared) {
        svgNode('path', { class: 'axis', d: path([[px(this.place / last), py(0)], [px(this.place / last), py(1)]]) },
          this.svg);
      }
    }
    this.drawFoot(keys);
  }

  drawFoot(keys) {
    this.foot.replaceChildren(this.button, this.said);
    this.button.hidden = this.compared;
    this.button.disabled = !this.code;
    this.said.textContent = this.compared || this.code ? ''
      : (this.spec.kind === 'brush' ? 'Drag across the chart.' : 'Drag across the chart to draw.');
    for (const [colour, kind, name] of keys) {
      const key = document.createElement('span');
      key.className = 'gbuq-guess-key';
      const mark = svgNode('svg', { width: 22, height: 10, 'aria-hidden': 'true' }, key);
      mark.style.width = '22px';
      if (kind === 'dot') svgNode('circle', { cx: 11, cy: 5, r: 2, fill: colour }, mark);
      else if (kind) {
        svgNode('path', { d: 'M0 5L22 5', stroke: colour, 'stroke-width': 2.2,
          'stroke-dasharray': kind === 'dash' ? '6 4' : 'none' }, mark);
      } else svgNode('rect', { width: 22, height: 10, fill: colour, opacity: 0.3 }, mark);
      key.append(name);
      this.foot.appendChild(key);
    }
  }
}

export function mount(parent, spec, send = null) {
  parent.gbuqGuess ??= new GuessView(parent);
  parent.gbuqGuess.update(spec, send);
  return parent.gbuqGuess;
}

export default function ({ data, parentElement, setTriggerValue }) {
  if (!data) return undefined;
  const draw = () => mount(parentElement, data, (code) => setTriggerValue('guess', code));
  return drawForCall(parentElement, draw, () => {
    parentElement.gbuqGuess?.destroy();
    delete parentElement.gbuqGuess;
  });
}
