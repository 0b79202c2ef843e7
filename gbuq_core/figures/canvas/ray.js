// A straight line over the maps: dragged, or set with Enter at its start and at its end.

const RAY_LEAST = 4; // pixels below which a drag is no line

const Drawing = {
  // On and off again: lines, or what was selected with before.
  toggleRay() {
    if (this.shape !== 'ray') this.shapeBefore = this.shape;
    this.setShape(this.shape === 'ray' ? this.shapeBefore : 'ray');
  },

  // The line from one spot of a map to another, in axis units.
  showRay(view, from, to) {
    const { map } = view.place;
    this.state.ray = [from, to].flatMap((spot) => unplace(this.sheet, map, spot));
    this.later();
  },

  finishRay(view, [[x0, y0], [x, y] = [x0, y0]]) {
    if (Math.hypot(x - x0, y - y0) < RAY_LEAST) {
      this.state.ray = null;
      this.later();
      return;
    }
    this.showRay(view, [x0, y0], [x, y]);
    this.sendRay(view);
  },

  sendRay(view) {
    this.state.chosen = null;
    this.later();
    const event = { panel: view.index, frame: this.player.frame, ray: this.rayAsSent(this.state.ray) };
    this.root.dataset.sent = JSON.stringify(event);
    if (this.send) this.send(event);
  },

  // Enter: the first sets the start at the cursor, the second the end.
  setRayEnd(view) {
    const { state } = this;
    if (!state.cell) return;
    if (!state.rayStart) {
      state.rayStart = state.cell;
      this.readout.say(`Line from ${placeText(this.sheet, state.cell)}; Enter sets its end`);
      return;
    }
    const { rayStart, cell } = state;
    if (rayStart.row === cell.row && rayStart.column === cell.column) return;
    this.previewRay(view);
    state.rayStart = null;
    this.sendRay(view);
    this.readout.say(`Line to ${placeText(this.sheet, cell)}`);
  },

  previewRay(view) {
    const { rayStart, cell } = this.state;
    if (!rayStart) return;
    const [from, to] = [rayStart, cell].map(({ row, column }) => {
      const box = cellBox(this.sheet, view.place.map, row, column);
      return [box.x + box.w / 2, box.y + box.h / 2];
    });
    this.showRay(view, from, to);
  },

  dropRay() {
    if (this.state.rayStart) this.state.ray = null;
    this.state.rayStart = null;
  },
};

Object.assign(SheetView.prototype, Drawing);

function asLine([x0, y0, x, y]) {
  return { x: [x0, x], y: [y0, y], colour: '', label: '', arrow: true, dash: false };
}

// What lies at a spot of the map, in axis units.
function unplace(sheet, map, [px, py]) {
  const across = (px - map.x) / map.w;
  const along = (py - map.y) / map.h;
  return [
    axisPosition(sheet.x, across, sheet.nx),
    axisPosition(sheet.y, sheet.lower ? 1 - along : along, sheet.ny),
  ];
}

function axisPosition(axis, share, n) {
  if (!axis.extent) return share * n - 0.5;
  const [lo, hi] = axis.extent;
  return lo + share * (hi - lo);
}
