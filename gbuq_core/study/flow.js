// A soft tree with a point that flows through its gates: at each gate a share of it goes right, the
// rest left, and every leaf answers with the share that reaches it. Gates and leaves are lines in x,
// sent once for the mean of the posterior and its draws.

const DROP = 420; // milliseconds of a fall from one level to the next
const LEVEL = 58; // pixels between two levels
const LEAF = 44; // of a leaf's box
const CURVE_STEPS = 160; // places of x at which the tree's own curve is drawn
const SEEN = 0.005; // shares below it are not told

// All that a tree says at x: P(right) of every gate, P(reached) of every node, the leaves' values
// and their sum weighted by the leaves' shares.
function flowAt({ slopes, offsets, leafSlopes, leafOffsets }, x) {
  const n = slopes.length;
  const gates = slopes.map((slope, i) => 1 / (1 + Math.exp(-(slope * x + offsets[i]))));
  const reach = new Array(2 * n + 1).fill(1);
  for (let i = 0; i < n; i++) {
    reach[2 * i + 1] = reach[i] * (1 - gates[i]);
    reach[2 * i + 2] = reach[i] * gates[i];
  }
  const leaves = leafSlopes.map((slope, i) => slope * x + leafOffsets[i]);
  const shares = reach.slice(n);
  return { gates, reach, leaves, shares, output: leaves.reduce((sum, v, i) => sum + v * shares[i], 0) };
}

DRAWINGS.flow = class FlowView extends PlayedView {
  constructor(parent) {
    super(parent);
    this.drop = htmlNode('button', 'gbuq-button gbuq-drop', this.player.bar, 'Drop the point');
    this.drop.type = 'button';
    this.drop.addEventListener('click', () => this.fall());
    this.drop.hidden = still();
  }

  destroy() {
    cancelAnimationFrame(this.falling);
    super.destroy();
  }

  get x() {
    const [lo, hi] = this.spec.x;
    return lo + ((hi - lo) * this.place) / (this.spec.played.texts.length - 1);
  }

  // The parameters of the chosen tree and draw; those shown before while the server makes a draw.
  chosen() {
    const { methods } = this.spec;
    const { whose = 0, tree: number = 0, draw = 0 } = this.values;
    const method = methods[Math.min(whose, methods.length - 1)];
    const tree = method.trees[Math.min(number, method.trees.length - 1)];
    const found = method.sets.indexOf(draw);
    const set = found >= 0 ? found : Math.min(this.set ?? 0, method.sets.length - 1);
    this.set = set;
    const [gates, leaves] = [2 ** method.depth - 1, 2 ** method.depth];
    const part = (all, count) => all.slice(set * count, (set + 1) * count);
    return {
      method, tree,
      slopes: part(tree.slopes, gates), offsets: part(tree.offsets, gates),
      leafSlopes: part(tree.leafSlopes, leaves), leafOffsets: part(tree.leafOffsets, leaves),
    };
  }

  paint() {
    const one = this.chosen();
    const { depth } = one.method;
    const now = flowAt(one, this.x);
    const top = this.narrow ? 150 : 190;
    const roots = MARGIN.top + top + 58;
    this.start(roots + depth * LEVEL + LEAF + 16);
    this.curve(one, now, top);
    this.tree(one, now, roots);
    this.readout.textContent = this.sentence(now);
    this.svg.setAttribute('aria-label', `${this.spec.alt} ${this.readout.textContent}`);
    this.root.dataset.flow = JSON.stringify([this.x, now.output]);
  }

  curve({ slopes, offsets, leafSlopes, leafOffsets, tree }, now, height) {
    const { spec, svg, theme } = this;
    const [lo, hi] = spec.x;
    const across = Array.from({ length: CURVE_STEPS + 1 }, (_, i) => lo + ((hi - lo) * i) / CURVE_STEPS);
    const outputs = across.map((x) => flowAt({ slopes, offsets, leafSlopes, leafOffsets }, x).output);
    // Leaves that the point reaches at all, the heavier the thicker.
    const lines = leafSlopes.flatMap((slope, i) => (now.shares[i] < SEEN ? [] : [
      { kind: 'line', x: [lo, hi], y: [slope * lo + leafOffsets[i], slope * hi + leafOffsets[i]], colour: this.leafColour(i), width: 0.6 + now.shares[i] }]));
    const left = this.leftOf(height);
    const box = { x: left, y: MARGIN.top, width: this.width - left - MARGIN.right, height };
    const layers = [
      ...(tree.rows ? [spec.rows] : []), ...lines,
      { kind: 'line', x: across, y: outputs, colour: 'text', width: 2.4 },
    ];
    const py = this.plot(box, { x: spec.x, y: tree.range, label: 'y', xLabel: 'x', layers, name: 'flow' });
    this.box = box;
    const at = tenth(this.px(this.x));
    svgNode('line', { x1: at, x2: at, y1: box.y, y2: box.y + height, stroke: theme.accent, 'stroke-width': 1.5 }, svg);
    const inside = (y) => clamp(py(y), box.y, box.y + height);
    // Leaves pull at the point in proportion to their shares: the areas of their dots.
    now.leaves.forEach((value, i) => {
      const r = 11 * Math.sqrt(now.shares[i]);
      if (r < 0.5) return;
      const pen = { fill: inkOf(this.leafColour(i), theme, this.dark), opacity: 0.8, stroke: theme.background };
      svgNode('circle', { cx: at, cy: tenth(inside(value)), r: tenth(r), ...pen }, svg);
    });
    const ring = { fill: theme.background, stroke: theme.text, 'stroke-width': 2.5 };
    svgNode('circle', { cx: at, cy: tenth(inside(now.output)), r: 5.5, ...ring, class: 'point' }, svg);
    const grip = { x: at - 9, y: box.y - 5, width: 18, height: 10, rx: 5, fill: theme.accent, class: 'rule' };
    svgNode('rect', grip, svg);
  }

  leftOf(height) {
    const { tree } = this.chosen();
    const { labels } = this.ticksOf({ range: tree.range }, height);
    return Math.max(MARGIN.left, 30 + Math.max(...labels.map((label) => textWidth(label, this.theme, 12))));
  }

  leafColour(i) {
    return this.spec.colours[i % this.spec.colours.length];
  }

  // Where node i of the tree stands.
  nodeAt(i, depth, roots) {
    const level = Math.floor(Math.log2(i + 1));
    const [left, right] = [this.narrow ? 0 : 8, this.width - (this.narrow ? 0 : 8)];
    const share = (i + 1 - 2 ** level + 0.5) / 2 ** level;
    return { x: left + share * (right - left), y: roots + level * LEVEL, level };
  }

  tree({ method, slopes, offsets }, now, roots) {
    const { svg, theme } = this;
    const { depth } = method;
    const n = slopes.length;
    const space = this.width / 2 ** depth;
    const places = now.reach.map((_, i) => this.nodeAt(i, depth, roots));
    this.places = places;
    for (let i = 1; i < now.reach.length; i++) this.edge(places[(i - 1) >> 1], places[i], now.reach[i], method.colour);
    for (let i = 0; i < n; i++) {
      const wide = this.width / 2 ** places[i].level;
      this.gate(places[i], slopes[i], offsets[i], now.reach[i], wide);
      const share = Math.round(100 * now.gates[i]);
      if (wide >= 120) {
        this.odds(places[i], places[2 * i + 1], `${100 - share} %`, now.reach[2 * i + 1]);
        this.odds(places[i], places[2 * i + 2], `${share} %`, now.reach[2 * i + 2]);
      }
    }
    now.leaves.forEach((value, i) => this.leaf(places[n + i], value, now.shares[i], i, space));
    this.drops = svgNode('g', { class: 'rule' }, svg);
    if (this.fallen !== undefined) this.drawDrops(this.fallen);
  }

  edge(from, to, reach, colour) {
    const middle = (from.y + to.y) / 2;
    const d = `M${tenth(from.x)},${tenth(from.y)}C${tenth(from.x)},${middle} ${tenth(to.x)},${middle} ${tenth(to.x)},${tenth(to.y)}`;
    svgNode('path', { d, fill: 'none', stroke: this.theme.faint, 'stroke-width': 1 }, this.svg);
    if (reach < SEEN) return;
    const ink = inkOf(colour, this.theme, this.dark);
    svgNode('path', { d, fill: 'none', stroke: ink, 'stroke-width': tenth(1 + 15 * reach), opacity: 0.75, 'stroke-linecap': 'round' }, this.svg);
  }

  // How sure a gate is, beside its edge.
  odds(from, to, text, reach) {
    const x = from.x + 0.62 * (to.x - from.x);
    const side = to.x < from.x ? 'end' : 'start';
    const pen = { fill: reach < 0.05 ? this.theme.soft : this.theme.text, 'text-anchor': side, 'font-size': 11 };
    svgNode('text', { x: tenth(x + (side === 'end' ? -9 : 9)), y: from.y + 18, ...pen }, this.svg, text);
  }

  // As many decimals as tell places of an axis apart.
  decimals([lo, hi], value) {
    const text = value.toFixed(clamp(2 - Math.floor(Math.log10((hi - lo) / 2)), 0, 6));
    return minus(Number(text) ? text : text.replace('-', ''));
  }

  // A gate's question: on which side of its place x lies. Right is yes. A gate whose place is far
  // off the axis asks nothing here.
  gate({ x, y }, slope, offset, reach, wide) {
    const { theme, svg } = this;
    const even = -offset / slope;
    const [lo, hi] = this.spec.x;
    const asks = even > 1.1 * lo - 0.1 * hi && even < 1.1 * hi - 0.1 * lo;
    const shown = `x ${slope > 0 ? '>' : '<'} ${this.decimals(this.spec.x, even)}`;
    const width = textWidth(shown, theme, 11) + 14;
    const alive = reach >= SEEN;
    if (!asks || wide < width + 6) {
      svgNode('circle', { cx: tenth(x), cy: y, r: clamp(wide / 6, 2, 6), fill: theme.background, stroke: alive ? theme.text : theme.line }, svg);
      return;
    }
    const pen = { fill: theme.background, stroke: alive ? theme.text : theme.line, 'stroke-width': 1 };
    svgNode('rect', { x: tenth(x - width / 2), y: y - 10, width: tenth(width), height: 20, rx: 10, ...pen }, svg);
    const words = { x: tenth(x), y: y + 4, 'text-anchor': 'middle', 'font-size': 11, fill: alive ? theme.text : theme.soft };
    svgNode('text', words, svg, shown);
  }

  leaf({ x, y }, value, share, i, space) {
    const { theme, svg } = this;
    const width = Math.min(64, space - Math.min(6, 0.2 * space));
    const ink = inkOf(this.leafColour(i), theme, this.dark);
    const box = { x: tenth(x - width / 2), width: tenth(width), rx: Math.min(4, width / 4) };
    svgNode('rect', { ...box, y, height: LEAF, fill: theme.background, stroke: ink, 'stroke-width': 1.2 }, svg);
    const full = Math.max(0, share * LEAF);
    svgNode('rect', { ...box, y: tenth(y + LEAF - full), height: tenth(full), fill: ink, opacity: 0.4 }, svg);
    const pen = { x: tenth(x), 'text-anchor': 'middle', fill: theme.text };
    const size = width >= 44 ? 12 : 10;
    const number = this.decimals(this.chosen().tree.range, value);
    if (textWidth(number, theme, size) > width - 2) return;
    svgNode('text', { ...pen, y: y + 17, 'font-size': size, 'font-weight': 600 }, svg, number);
    svgNode('text', { ...pen, y: y + 34, 'font-size': size }, svg, `${Math.round(100 * share)} %`);
  }

  // "0.41 × 0.82 + 0.33 × 0.51 + 6 more = 0.664"
  sentence({ leaves, shares, output }) {
    const short = (value) => formatValue(Number(value.toPrecision(3)));
    const order = shares.map((_, i) => i).sort((a, b) => shares[b] - shares[a]);
    const told = order.slice(0, this.narrow ? 2 : 4).filter((i) => shares[i] >= SEEN);
    const terms = told.map((i) => `${Math.round(100 * shares[i])} % × ${short(leaves[i])}`);
    const left = shares.length - told.length;
    if (left) terms.push(`${left} more`);
    return `x ${short(this.x)}   prediction ${terms.join(' + ')} = ${short(output)}`;
  }

  // The point falls from the root and is divided at every gate.
  fall() {
    cancelAnimationFrame(this.falling);
    const began = performance.now();
    const { depth } = this.chosen().method;
    const step = (now) => {
      const gone = Math.max(0, ((now - began) / DROP) * this.player.speed); // a frame may have begun before
      this.fallen = Math.min(gone, depth);
      this.drawDrops(this.fallen);
      if (gone < depth + 1) this.falling = requestAnimationFrame(step);
      else {
        this.fallen = undefined;
        this.drops.replaceChildren();
      }
    };
    this.falling = requestAnimationFrame(step);
  }

  drawDrops(fallen) {
    const { theme, places } = this;
    this.drops.replaceChildren();
    const { reach } = flowAt(this.chosen(), this.x);
    const level = Math.min(Math.floor(fallen), Math.max(0, Math.log2(reach.length + 1) - 1));
    const part = fallen - level;
    for (let i = 2 ** level - 1; i < 2 ** (level + 1) - 1; i++) {
      const below = part > 0 && 2 * i + 2 < reach.length ? [2 * i + 1, 2 * i + 2] : [i];
      for (const k of below) {
        const [from, to] = [places[i], places[k]];
        const [turn, fall] = [part * part * (3 - 2 * part), 1.5 * part * (1 - part) + part ** 3]; // along the edge
        const at = { cx: tenth(from.x + (to.x - from.x) * turn), cy: tenth(from.y + (to.y - from.y) * fall) };
        const r = 13 * Math.sqrt(reach[k]);
        if (r > 0.7) svgNode('circle', { ...at, r: tenth(r), fill: theme.accent, stroke: theme.background, 'stroke-width': 1.5 }, this.drops);
      }
    }
  }

  // A pointer in the plot carries the point along x.
  press(event) {
    const { box, svg, player } = this;
    if (event.button !== 0 || event.offsetY > box.y + box.height + 24) return;
    event.preventDefault();
    svg.focus({ preventScroll: true });
    player.pause();
    const last = this.spec.played.texts.length - 1;
    this.follow(event, (now) => (
      player.go(((now.clientX - svg.getBoundingClientRect().left - box.x) / box.width) * last)));
  }
};
