// Panels of one size side by side on shared axes, each with a title: methods compared. On a
// narrow page they are swiped (swipe.js). A panel may have a lower one, which shares its x. Where
// the reader places points, a click adds one, and a click on a point takes it away.

const NARROW = 640; // pixels of the figure
const NARROW_HEIGHT = 190; // of a panel's plot there
const HEADING = 22;
const TICKS = 24; // below a panel there
const LEAST_PLOT = 110; // in present mode
const BETWEEN = 14;
const BELOW_GAP = 8; // between a panel and its lower one
const MOST_SHEAVES = 24; // whose paths are remembered
const GRAB = 11; // pixels between a pointer and the point it means
const PATIENCE = 3000; // milliseconds in which the page takes over the points that were clicked

function samePoints(one, other) {
  const { x, y } = one;
  return x.length === other.x.length && x.every((at, i) => at === other.x[i] && y[i] === other.y[i]);
}

class FacetsView extends CurvesView {
  constructor(parent) {
    super(parent);
    this.makeTrack();
  }

  update(spec) {
    super.update(spec);
    this.points();
  }

  // The reader's points: those of the last click until the page has them, so that the next click
  // does not undo it.
  points() {
    const { place } = this.spec;
    const { placed } = this;
    const late = placed && Date.now() - placed.since > PATIENCE;
    if (!place || late || (placed && samePoints(placed, place))) this.placed = null;
    return this.placed ?? place;
  }

  draw() {
    const { spec, svg } = this;
    this.measureRoom();
    if (!this.width) return;
    this.drawLegend();
    const narrow = this.width < NARROW;
    const count = spec.panels.length;
    const swipes = this.placeTrack(narrow);
    const columns = swipes ? count : narrow ? 1 : Math.min(spec.facets, count);
    const rows = Math.ceil(count / columns);
    const lower = spec.below ? BELOW_GAP + spec.below : 0;
    const plot = this.plotOf(narrow, swipes, rows, lower);
    const stacked = narrow && !swipes;
    const cell = HEADING + plot + lower + (stacked ? TICKS : MARGIN.bottom);
    const title = stacked ? MARGIN.bottom - TICKS : 0; // of x, below the last panel alone
    this.start(MARGIN.top + rows * cell + title, swipes ? count * this.width : this.width);
    this.boxes = swipes ? this.pagesOf(plot + lower) : this.boxesOf(columns, cell, plot, lower);
    this.whole.hidden = !this.window;
    const [lo, hi] = this.stretch();
    spec.panels.forEach((panel, i) => {
      const box = this.boxes[i];
      Object.assign(this, { left: box.x, right: box.x + box.width, bottom: box.y + box.height });
      this.origin = swipes ? i * this.width : 0;
      this.shownX = [lo, hi];
      this.px = (x) => box.x + ((x - lo) / (hi - lo)) * box.width;
      this.tickLabels = box.first;
      this.panel(panel, box.y, plot, i);
      this.belowOf(panel, box, i);
      this.xTitle = i + columns >= spec.panels.length;
      this.xAxis();
      this.heading(panel, box);
    });
    const rule = { stroke: this.theme.soft, 'stroke-width': 1, visibility: 'hidden' };
    this.rules = this.boxes.map(({ y, height }) => (
      svgNode('line', { ...rule, y1: y, y2: y + height, class: 'rule' }, svg)));
    const spot = { r: 7, fill: 'none', stroke: this.theme.text, 'stroke-width': 1.5 };
    this.spot = svgNode('circle', { ...spot, visibility: 'hidden', class: 'rule' }, svg);
    this.finish();
    this.drawGrip();
    this.finishTrack();
    this.read(this.at);
  }

  // How high the plot of a panel is; in present mode the window holds all rows, if it can.
  plotOf(narrow, swipes, rows, lower) {
    const { height, quiet } = this.spec;
    if (swipes) return Math.min(quiet ? SWIPED_BOTH : SWIPED_HEIGHT, SWIPED_BOTH - lower, height);
    if (narrow && !quiet) return Math.min(NARROW_HEIGHT, height);
    const whole = this.heightOf(height);
    if (whole === height && !quiet) return height;
    return Math.max(LEAST_PLOT, (whole - MARGIN.top) / rows - HEADING - lower - MARGIN.bottom);
  }

  boxesOf(columns, cell, plot, lower) {
    const left = this.leftOf(plot);
    const between = this.spec.between ?? BETWEEN;
    const width = (this.width - left - MARGIN.right - between * (columns - 1)) / columns;
    const height = plot + lower;
    return this.spec.panels.map((_, i) => {
      const [row, column] = [Math.floor(i / columns), i % columns];
      const x = left + column * (width + between);
      return { x, y: MARGIN.top + HEADING + row * cell, width, height, first: !column };
    });
  }

  // One a screen, each with the numbers of its axes.
  pagesOf(height) {
    const left = this.leftOf(height);
    const width = this.width - left - MARGIN.right;
    return this.spec.panels.map((_, i) => (
      { x: i * this.width + left, y: MARGIN.top + HEADING, width, height, first: true }));
  }

  // The lower panel has numbers of its own beside it where its scale is not its row's.
  belowOf({ below }, box, i) {
    if (!below) return;
    const { below: height } = this.spec;
    this.tickLabels = !below.empty && (box.first || below.own);
    this.axisLabel = box.first;
    this.panel(below, box.y + box.height - height, height, `${i}-below`);
    this.axisLabel = true;
    this.tickLabels = box.first;
  }

  leftOf(plot) {
    const below = this.spec.panels.flatMap((panel) => (panel.below ? [panel.below] : []));
    const longest = below.flatMap((panel) => (
      this.ticksOf(panel, this.spec.below).labels.map((label) => textWidth(label, this.theme, 12))
    ));
    return Math.max(super.leftOf(plot), 30 + Math.max(0, ...longest));
  }

  heading(panel, { x, y, width }) {
    const colour = inkOf(panel.colour, this.theme, this.dark);
    svgNode('rect', { x, y: y - 17, width: 10, height: 10, fill: colour }, this.svg);
    const bold = { x: x + 16, y: y - 8, fill: this.theme.text, 'font-weight': 600 };
    const title = fitText(panel.title, width - 16, this.theme, 13, 600);
    svgNode('text', { ...bold, 'font-size': 13 }, this.svg, title);
    const room = width - 28 - textWidth(title, this.theme, 13, 600);
    const note = fitText(panel.note ?? '', room, this.theme, 12);
    const place = { x: x + width, y: y - 8, fill: this.theme.soft, 'text-anchor': 'end' };
    if (note.length > 4) svgNode('text', place, this.svg, note);
  }

  layer(layer, group, py, box) {
    if (layer.kind === 'sheaf') this.sheaf(layer, group, py, box);
    else if (layer.kind === 'words') this.words(layer, group, box);
    else super.layer(layer, group, py, box);
  }

  // A line of text at the panel's upper left, legible over what is drawn there.
  words({ text }, group, box) {
    const { background, soft } = this.theme;
    const halo = { stroke: background, 'stroke-width': 4, 'paint-order': 'stroke' };
    const fitted = fitText(text, box.width - 12, this.theme, 12);
    svgNode('text', { x: box.x + 6, y: box.y + 14, fill: soft, ...halo }, group, fitted);
  }

  // Many thin lines over evenly spaced x, as 16-bit steps of a range: a path each, so that they
  // darken where they agree.
  sheaf({ from, to, count, range: [low, high], data, lines, colour, opacity, width }, group, py) {
    const [first, last] = [this.px(from), this.px(to)];
    const stride = Math.max(1, Math.floor((1.5 * count) / (last - first)));
    const [origin, scale] = [py(low), (py(high) - py(low)) / 65535];
    const stroke = inkOf(colour, this.theme, this.dark);
    const pen = { fill: 'none', stroke, 'stroke-width': width, 'stroke-opacity': opacity };
    const sheaf = svgNode('g', pen, group);
    const across = (last - first) / (count - 1);
    const known = this.sheafOf(data, [first, last, origin, scale].join());
    const { codes, paths } = known;
    const shown = Math.min(lines ?? Infinity, codes.length / count);
    for (let line = 0; line < shown; line++) {
      if (!paths[line]) {
        let path = '';
        for (let i = 0; i < count; i += stride) {
          const x = tenth(first + i * across);
          path += `${i ? 'L' : 'M'}${x},${tenth(origin + scale * codes[line * count + i])}`;
        }
        paths[line] = path;
      }
      svgNode('path', { d: paths[line] }, sheaf);
    }
  }

  // A sheaf's values, and its paths in one place of the drawing: a knob that moves draws them again.
  sheafOf(data, place) {
    this.sheaves ??= new Map();
    let known = this.sheaves.get(data);
    if (!known) {
      if (this.sheaves.size >= MOST_SHEAVES) this.sheaves.clear();
      const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
      known = { codes: new Uint16Array(bytes.buffer) };
      this.sheaves.set(data, known);
    }
    if (known.place !== place) Object.assign(known, { place, paths: [] });
    return known;
  }

  plots() {
    return this.boxes;
  }

  boxNear({ offsetX, offsetY }) {
    return this.boxes.findIndex(({ x, y, width, height }) => (
      offsetX >= x && offsetX <= x + width && offsetY >= y && offsetY <= y + height));
  }

  // Where a pointer is, in units of the axes; null outside the panels.
  placeOf(event) {
    const box = this.boxes[this.boxNear(event)];
    if (!box) return null;
    const [[left, right], [low, high]] = [this.stretch(), this.spec.panels[0].range];
    const x = left + ((event.offsetX - box.x) / box.width) * (right - left);
    const y = high - ((event.offsetY - box.y) / box.height) * (high - low);
    return { x, y, box, right: (right - left) / box.width, up: (high - low) / box.height };
  }

  // Number of the reader's point that a pointer means, or null.
  grabbed(place) {
    let [nearest, least] = [null, GRAB * GRAB];
    const { x, y } = this.points();
    for (let i = 0; i < x.length; i++) {
      const across = (x[i] - place.x) / place.right;
      const up = (y[i] - place.y) / place.up;
      const distance = across * across + up * up;
      if (distance <= least) [nearest, least] = [i, distance];
    }
    return nearest;
  }

  meant(event) {
    const place = this.placeOf(event);
    if (!place) return null;
    const { x } = this.spec.read;
    const share = (place.x - x[0]) / (x[x.length - 1] - x[0]);
    return Math.min(Math.max(Math.round(share * (x.length - 1)), 0), x.length - 1);
  }

  readNear(event) {
    if (this.carried && this.spec.carry.border) return; // what is below the picture stays in place
    this.read(this.meant(event));
    this.spot.setAttribute('visibility', 'hidden');
    const place = this.spec.place ? this.placeOf(event) : null;
    this.svg.style.cursor = place ? 'crosshair' : '';
    if (!place) return;
    const at = this.grabbed(place);
    if (at === null) return;
    this.svg.style.cursor = 'pointer';
    const { box } = place;
    const [left, high] = [this.stretch()[0], this.spec.panels[0].range[1]];
    this.spot.setAttribute('cx', box.x + (this.points().x[at] - left) / place.right);
    this.spot.setAttribute('cy', box.y + (high - this.points().y[at]) / place.up);
    this.spot.setAttribute('visibility', 'visible');
  }

  press(event) {
    const box = this.spec.place ? null : this.boxes[this.boxNear(event)];
    if (box) this.brush(event, box);
  }

  // What a file or a copy shows.
  asFile() {
    return this.stacked(() => super.asFile());
  }

  click(event) {
    this.dragged = false;
    const place = this.spec.place && this.send ? this.placeOf(event) : null;
    if (this.swipes && !place) this.readNear(event); // a tap: a finger that moves turns the page
    if (!place) return;
    const point = this.grabbed(place);
    const [x, y] = [this.points().x.slice(), this.points().y.slice()];
    for (const [all, value] of [[x, place.x], [y, place.y]]) {
      if (point === null) all.push(Math.round(value * 100) / 100);
      else all.splice(point, 1);
    }
    this.placed = { x, y, since: Date.now() };
    this.send({ x, y });
  }

  pick() {}

  read(index) {
    const { x, label, values } = this.spec.read;
    this.at = index !== null && index < x.length ? index : null;
    if (this.at === null) this.svg.style.cursor = '';
    const [lo, hi] = this.stretch();
    const seen = this.at !== null && x[this.at] >= lo && x[this.at] <= hi;
    this.rules.forEach((rule, i) => {
      const { x: left, width } = this.boxes[i];
      const at = seen ? left + ((x[this.at] - lo) / (hi - lo)) * width : 0;
      rule.setAttribute('x1', at);
      rule.setAttribute('x2', at);
      rule.setAttribute('visibility', seen ? 'visible' : 'hidden');
    });
    if (this.at === null) {
      this.spot.setAttribute('visibility', 'hidden');
      say(this.readout, this.spec.hint);
      return;
    }
    const said = (value) => formatValue(Number(value.toPrecision(3)));
    const parts = values.map(({ name, at: all, spread }) => {
      const more = spread ? ` \u00b1 ${said(spread[this.at])}` : '';
      return `${name} ${said(all[this.at])}${more}`;
    });
    this.readout.textContent = [`${label} ${formatValue(x[this.at])}`, ...parts].join('   ');
  }
}
