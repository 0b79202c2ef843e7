// How a sheet is looked at: which of its cells fill the maps, and what its colours span. The numbers
// stay as they are.
//
// A closer look is a sheet of fewer cells (`closer`), drawn like any other; what is sent to the
// caller counts the cells of the whole one. A frame that is brushed fills the maps, and a double
// click shows everything again; the knob `focus` looks at the rows alone.

const LEAST_CELLS = 3; // along an axis of a closer look
const SCALES_OF = ['title', 'unit', 'log']; // a panel that has these in common keeps its scale

// A window { column, row, nx, ny } of a sheet's cells that holds these and is shaped like its maps.
function windowAround(sheet, cells) {
  const rows = cells.map((cell) => cell.row);
  const columns = cells.map((cell) => cell.column);
  const ends = (values) => [Math.min(...values), Math.max(...values) + 1];
  const spans = [ends(columns), ends(rows)];
  const counts = [sheet.nx, sheet.ny];
  const share = Math.max(...spans.map(([from, to], i) => Math.max(to - from, LEAST_CELLS) / counts[i]));
  const [across, along] = spans.map(([from, to], i) => {
    const n = Math.min(counts[i], Math.max(to - from, Math.round(share * counts[i])));
    return { n, from: clamp(Math.floor((from + to - n) / 2), 0, counts[i] - n) };
  });
  if (across.n === sheet.nx && along.n === sheet.ny) return null;
  return { column: across.from, row: along.from, nx: across.n, ny: along.n };
}

// The cells that a stretch of both axes touches.
function cellsOfStretch(sheet, [x, y]) {
  const place = (axis, at, n) => clamp(Math.floor(axisShare(axis, at, n) * n), 0, n - 1);
  return [0, 1].map((end) => ({
    column: place(sheet.x, x[end], sheet.nx),
    row: place(sheet.y, y[end], sheet.ny),
  }));
}

function closer(sheet, win) {
  const { column, row, nx, ny } = win;
  const x = axisOfWindow(sheet.x, column, nx, sheet.nx);
  const y = axisOfWindow(sheet.y, row, ny, sheet.ny);
  // Places on an axis without numbers are counted in cells.
  const move = { x: sheet.x.extent ? 0 : column, y: sheet.y.extent ? 0 : row };
  const lines = sheet.lines.map((line) => movedLine(line, move));
  const markers = sheet.markers.map((marker) => ({ ...marker, x: marker.x - move.x, y: marker.y - move.y }));
  const aspect = (sheet.aspect * (nx / sheet.nx)) / (ny / sheet.ny);
  const inside = { ...sheet, nx, ny, x, y, lines, markers, aspect };
  inside.panels = sheet.panels.map((panel) => panelOfWindow(sheet, panel, win, inside, move));
  return inside;
}

function axisOfWindow(axis, first, n, all) {
  if (axis.extent) {
    const [lo, hi] = axis.extent;
    const at = (cells) => lo + ((hi - lo) * cells) / all;
    return { ...axis, extent: [at(first), at(first + n)] };
  }
  const labels = axis.labels ?? Array.from({ length: all }, (_, i) => String(i));
  return { ...axis, labels: labels.slice(first, first + n) };
}

function movedLine(line, move) {
  const by = (values, offset) => values.map((value) => (value === null ? null : value - offset));
  return { ...line, x: by(line.x, move.x), y: by(line.y, move.y) };
}

// A panel's cells inside the window; of all frames where it has some.
function cut(values, sheet, { column, row, nx, ny }) {
  const cells = sheet.nx * sheet.ny;
  const frames = values.length / cells;
  const out = new values.constructor(frames * nx * ny);
  for (let frame = 0, to = 0; frame < frames; frame++) {
    for (let down = row; down < row + ny; down++, to += nx) {
      const from = frame * cells + down * sheet.nx + column;
      out.set(values.subarray(from, from + nx), to);
    }
  }
  return out;
}

function panelOfWindow(sheet, panel, win, inside, move) {
  const own = { ...panel, cells: win.nx * win.ny, values: cut(panel.values, sheet, win) };
  own.lines = panel.lines.map((line) => movedLine(line, move));
  followPanel(sheet, panel, win, inside, own, move);
  return own;
}

// Takes over what a moved knob changed in the whole panel.
function followPanel(sheet, panel, win, inside, own, move) {
  const { log, limits, unit, blankHatched, drawn, shownKey, flagged } = panel;
  Object.assign(own, { log, limits, unit, blankHatched, drawn, shownKey, flagged });
  own.shown = panel.shown && cut(panel.shown, sheet, win);
  own.hatched = panel.hatched && cut(panel.hatched, sheet, win);
  if (own.dotted !== panel.points) {
    own.dotted = panel.points;
    own.points = panel.points && { ...panel.points, x: panel.points.x.map((v) => v - move.x), y: panel.points.y.map((v) => v - move.y) };
  }
  if (own.bordered !== panel.outlined) {
    own.bordered = panel.outlined;
    own.outlined = panel.outlined && cut(panel.outlined, sheet, win);
  }
  if (own.marked === panel.markers) return;
  own.marked = panel.markers;
  // What is said of a map as a whole stays on it.
  const within = (at, axis, n) => {
    const [lo, hi] = axis.extent ?? [-0.5, n - 0.5];
    return clamp(at, Math.min(lo, hi), Math.max(lo, hi));
  };
  own.markers = panel.markers.length === 0 ? panel.markers : panel.markers.map((marker) => ({
    ...marker,
    x: within(marker.x - move.x, inside.x, inside.nx),
    y: within(marker.y - move.y, inside.y, inside.ny),
  }));
}

// The scale of every panel in one frame. Panels that share a scale over all frames share it here.
function frameScales(panels, frame) {
  const groups = new Map();
  panels.forEach((panel) => {
    const key = JSON.stringify([panel.limits, panel.log, panel.map]);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(panel);
  });
  const found = new Map();
  for (const group of groups.values()) {
    const { limits, log } = group[0];
    let [lo, hi] = [Infinity, -Infinity];
    for (const panel of group) {
      const [low, high] = spanOfFrame(panel, frame);
      lo = Math.min(lo, low);
      hi = Math.max(hi, high);
    }
    // As many decades at most as over all frames.
    if (log && lo <= hi) lo = Math.max(lo, (hi * limits[0]) / limits[1]);
    for (const panel of group) found.set(panel, lo < hi ? [lo, hi] : limits);
  }
  return panels.map((panel) => found.get(panel));
}

// The least and the largest value of a frame; of a logarithmic map those above zero.
function spanOfFrame(panel, frame) {
  const f = panelFrame(panel, frame);
  const kept = panel.shown ? null : ((panel.spans ??= []), panel.spans[f]);
  if (kept) return kept;
  let [lo, hi] = [Infinity, -Infinity];
  for (let cell = 0; cell < panel.cells; cell++) {
    const value = valueAt(panel, f, cell);
    if (value !== value || (panel.log && value <= 0)) continue;
    if (value < lo) lo = value;
    if (value > hi) hi = value;
  }
  if (!panel.shown) panel.spans[f] = [lo, hi];
  return [lo, hi];
}

const Looking = {
  // Ends of presses anywhere in the page: while a slider is held, colours keep their meaning.
  startLooking() {
    this.brushed = null; // a window of the whole sheet
    this.window = null; // the one that is shown
    this.scales = []; // what was drawn last, by panel
    this.held = false;
    this.painting = false;
    this.unlisten = new AbortController();
    const listen = (name, act) => {
      window.addEventListener(name, act, { capture: true, signal: this.unlisten.signal });
    };
    listen('pointerdown', (event) => this.pressed(event));
    listen('click', (event) => this.bring(event.composedPath()));
    listen('keydown', (event) => {
      this.elsewhere(event.composedPath());
      if (!['Tab', 'Shift'].includes(event.key)) this.bring(event.composedPath());
    });
    for (const name of ['pointerup', 'pointercancel']) listen(name, () => this.letGo());
    listen('pointermove', (event) => { if (this.held && !event.buttons) this.letGo(); });
  },

  pressed(event) {
    const path = event.composedPath();
    this.elsewhere(path);
    const [target] = path;
    const own = path.includes(this.root) && !path.includes(this.knobs.root);
    // A list that opens swallows the end of its press.
    this.held = !own && !target.matches?.('select, option, input[type=checkbox]');
    // A click would miss a switch that another map's legend pushes aside.
    const slider = path.includes(this.root) ? 'input[type=range]' : 'input[type=range], [role=group]';
    if (target.closest?.(slider)) this.bring(path);
  },

  // Painting ends when the reader turns to something else.
  elsewhere(path) {
    if (!path.includes(this.root) || path.includes(this.knobs.root)) this.painting = false;
  },

  letGo() {
    if (!this.held) return;
    this.held = false;
    this.rescale();
    if (this.mapWaits) this.tellLater();
  },

  // Draws anew if a scale was kept that is not kept any more.
  rescale() {
    if (!this.layout || !this.setScales(this.player.frame)) return;
    this.drawAll();
  },

  // What each panel's colours span in this frame; returns whether any is another than before.
  setScales(frame) {
    const { colours } = this.knobValues();
    if (colours && !this.player.playing()) this.knobs.offer('colours', this.hasScale(frame));
    const spans = colours === 'this frame' ? frameScales(this.whole.panels, frame) : null;
    const still = this.held || (this.painting && !spans);
    let changed = false;
    let kept = false;
    this.scales = this.sheet.panels.map((panel, i) => {
      const { limits } = panel;
      if (Array.isArray(limits[0])) {
        panel.scale = null; // a scale a frame, from the start
        return null;
      }
      const own = spans ? spans[i] : limits;
      const before = this.scales[i];
      const same = still && before && SCALES_OF.every((name) => before[name] === panel[name]);
      const [lo, hi] = same ? before.limits : own;
      kept ||= lo !== own[0] || hi !== own[1];
      const repeated = before && before.limits[0] === lo && before.limits[1] === hi;
      changed ||= !repeated;
      const drawn = repeated ? before.limits : [lo, hi]; // the same list: nothing to draw anew
      panel.scale = lo === limits[0] && hi === limits[1] ? null : drawn;
      return { title: panel.title, unit: panel.unit, log: panel.log, limits: drawn };
    });
    this.rescaler.hidden = !(kept && this.painting);
    return changed;
  },

  // Whether a frame's own scale is another one than that of all frames, as far as an eye can tell.
  hasScale(frame) {
    const { panels } = this.whole;
    return frameScales(panels, frame).some(([lo, hi], i) => {
      const [least, most] = panels[i].limits;
      return Array.isArray(least) || Math.abs(lo - least) + Math.abs(hi - most) > 0.01 * (most - least);
    });
  },

  // The cells that are looked at: brushed, or those with rows, or all (null).
  wantedWindow() {
    const { focus } = this.whole;
    const rows = focus && this.knobValues().focus ? windowAround(this.whole, cellsOfStretch(this.whole, focus)) : null;
    return this.brushed ?? rows;
  },

  // Puts `this.sheet` in the place of the whole one; returns whether it shows other cells.
  lookThrough() {
    const wanted = this.wantedWindow();
    const same = JSON.stringify(wanted) === JSON.stringify(this.window);
    this.window = wanted;
    this.sheet = wanted ? closer(this.whole, wanted) : this.whole;
    this.wholeButton.hidden = !this.brushed;
    this.root.dataset.window = wanted ? [wanted.column, wanted.row, wanted.nx, wanted.ny].join() : '';
    return !same;
  },

  // After a knob moved the whole sheet.
  follow() {
    const { whole, sheet, window: win } = this;
    if (!win) return;
    Object.assign(sheet, { hatchLabel: whole.hatchLabel, note: whole.note });
    const move = { x: whole.x.extent ? 0 : win.column, y: whole.y.extent ? 0 : win.row };
    sheet.markers = whole.markers.map((marker) => ({ ...marker, x: marker.x - move.x, y: marker.y - move.y }));
    sheet.panels.forEach((own, i) => followPanel(whole, whole.panels[i], win, sheet, own, move));
  },

  lookAt(brushed) {
    this.brushed = brushed;
    if (!this.lookThrough()) return;
    const { state } = this;
    Object.assign(state, { cell: null, view: null, point: null, chosen: null, anchor: null });
    this.setViews(this.sheet);
    this.arrange();
    this.readout.say(this.window ? 'A closer look at some cells.' : 'All cells are shown.');
  },

  // What was brushed, in cells of the sheet as it is shown.
  lookCloser(cells) {
    const { window: win, whole } = this;
    const own = cells.map(({ row, column }) => (
      { row: row + (win?.row ?? 0), column: column + (win?.column ?? 0) }));
    this.lookAt(windowAround(whole, own));
  },

  // A cell of the sheet as it is shown, as the caller counts it.
  asSent({ row, column }) {
    const { window: win } = this;
    return win ? { row: row + win.row, column: column + win.column } : { row, column };
  },

  // The ends of a line, on an axis that is counted in cells.
  rayAsSent([x0, y0, x, y]) {
    const { window: win, whole } = this;
    if (!win) return [x0, y0, x, y];
    const across = whole.x.extent ? 0 : win.column;
    const along = whole.y.extent ? 0 : win.row;
    return [x0 + across, y0 + along, x + across, y + along];
  },
};

Object.assign(SheetView.prototype, Looking);
