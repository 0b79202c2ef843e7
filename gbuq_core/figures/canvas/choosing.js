// Cells under the pointer or the keyboard's cursor, and cells sent back to the caller.

const SHAPES = ['rectangle', 'ray', 'closer'];
const SHAPE_LABELS = ['Select a rectangle', 'Draw a line', 'Look closer'];

function maskOf(sheet, cells) {
  const mask = new Uint8Array(sheet.nx * sheet.ny);
  for (const cell of cells) mask[cell.row * sheet.nx + cell.column] = 1;
  return mask;
}

const Choosing = {
  setCell(cell, view = null, point = null) {
    const { state } = this;
    if (!cell && !state.cell) return;
    Object.assign(state, { cell, view, point, reading: null });
    const { row, column } = this.window ?? { row: 0, column: 0 };
    if (this.live?.look?.(cell && { row: cell.row + row, column: cell.column + column })) this.looked = true;
    this.later();
  },

  setDrag(drag) {
    if (!drag && !this.state.drag) return;
    this.state.drag = drag;
    this.later();
  },

  setShape(shape) {
    this.shape = shape;
    this.dropRay();
    this.modeButtons.forEach((button, i) => {
      button.setAttribute('aria-pressed', String(SHAPES[i] === shape));
    });
    const touch = matchMedia('(pointer: coarse)').matches;
    const line = touch ? 'Hold, then drag a line' : 'Drag to draw a line';
    const cells = touch ? 'Tap, or hold and drag, to select' : 'Click or drag to select';
    const frame = touch ? 'Hold, then drag a frame' : 'Drag a frame to look closer';
    this.hint.textContent = { ray: line, closer: frame }[shape] ?? cells;
  },

  // Which ways of selecting a sheet offers; buttons only where there is a choice.
  setKinds(sheet) {
    // Above the maps beside the player; in the footer where there is no player.
    const [home, before] = sheet.frames > 1 ? [this.player.bar, null] : [this.tools, this.tools.firstChild];
    if (this.modes.parentNode !== home) home.insertBefore(this.modes, before);
    this.picks = sheet.select;
    this.selects = sheet.select || sheet.ray;
    this.brushes = sheet.nx * sheet.ny > LEAST_CELLS ** 2;
    this.drags = this.selects || this.brushes;
    this.modes.hidden = !this.selects;
    this.root.classList.toggle('gbuq-selects', this.selects);
    this.modeButtons.forEach((button, i) => {
      const offered = { ray: sheet.select && sheet.ray, closer: this.brushes }[SHAPES[i]] ?? sheet.select;
      button.hidden = !offered;
    });
    if (!this.selects) this.setShape('closer');
    else if (!sheet.select && sheet.ray) this.setShape(this.shape === 'closer' ? 'closer' : 'ray');
    else this.setShape(this.shape === 'ray' && !sheet.ray ? 'rectangle' : this.shape);
  },

  // Marks cells and sends them: one cell as a click, or those of a drag.
  choose(view, cells, click) {
    if (!this.picks) return;
    this.painting = true;
    this.state.ray = null;
    this.state.chosen = maskOf(this.sheet, cells);
    this.later();
    const event = { panel: view.index, frame: this.player.frame };
    const sent = cells.map((cell) => this.asSent(cell));
    if (click) Object.assign(event, sent[0]);
    else event.runs = asRuns(sent, this.whole.nx);
    this.root.dataset.sent = JSON.stringify(event);
    if (this.send) this.send(event);
  },

  focusView(view) {
    for (const other of this.views) other.box.tabIndex = other === view ? 0 : -1;
    // A click focuses too, but then the pointer says which cell is meant.
    if (!view.box.matches(':focus-visible')) return;
    const middle = { row: this.sheet.ny >> 1, column: this.sheet.nx >> 1 };
    this.putCursor(view, this.state.cell || middle);
  },

  leaveView() {
    this.state.anchor = null;
    this.dropRay();
    this.setCell(null);
  },

  focusNeighbour(view, by) {
    const seen = this.views.filter((one) => one.box.style.visibility !== 'hidden');
    const next = seen[clamp(seen.indexOf(view) + by, 0, seen.length - 1)];
    const { cell } = this.state;
    next.box.tabIndex = 0;
    next.box.focus({ focusVisible: true });
    // Leaving the old panel took its cursor away; it goes on at the same cell.
    if (cell) this.putCursor(next, cell);
  },

  putCursor(view, cell) {
    this.setCell(cell, view, null);
    this.readout.say(cellSentence(this.sheet, this.player.frame, cell, view.panel));
  },

  // `down` and `right` are as seen; with Shift the range from where Shift began is marked.
  moveCell(view, down, right, extend = false) {
    const { sheet, state } = this;
    const from = state.cell || { row: sheet.ny >> 1, column: sheet.nx >> 1 };
    const row = clamp(from.row + (sheet.lower ? -down : down), 0, sheet.ny - 1);
    const column = clamp(from.column + right, 0, sheet.nx - 1);
    state.anchor = extend ? state.anchor || from : null;
    state.chosen = extend && this.picks ? this.rangeMask(state.anchor, { row, column }) : null;
    this.putCursor(view, { row, column });
    this.previewRay(view);
  },

  rangeMask(a, b) {
    const { nx, ny } = this.sheet;
    const mask = new Uint8Array(nx * ny);
    for (let row = Math.min(a.row, b.row); row <= Math.max(a.row, b.row); row++) {
      const first = row * nx + Math.min(a.column, b.column);
      mask.fill(1, first, row * nx + Math.max(a.column, b.column) + 1);
    }
    return mask;
  },

  chooseCursor(view) {
    const { state } = this;
    if (!state.cell) return;
    if (this.shape === 'ray') {
      this.setRayEnd(view);
      return;
    }
    if (!state.anchor || !state.chosen) {
      this.choose(view, [state.cell], true);
      return;
    }
    const cells = [];
    state.chosen.forEach((inside, at) => {
      if (inside) cells.push({ row: Math.floor(at / this.sheet.nx), column: at % this.sheet.nx });
    });
    this.choose(view, cells, false);
  },

  clear() {
    this.state.chosen = null;
    this.state.anchor = null;
    this.state.drag = null;
    this.state.ray = null;
    this.state.rayStart = null;
    this.setCell(null);
    this.later();
  },
};

Object.assign(SheetView.prototype, Choosing);
