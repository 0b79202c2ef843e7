// The place and the line that are marked on the maps, dragged: with `grips` a sheet's one marker is
// the cell that was chosen, and its one line a ray. While one is dragged it is drawn over the maps,
// the read-out follows, and figures that follow the line (following.js) are told; the page hears of
// it once, when it is let go, as of a click or of a drawn line.

const GRIP = { mouse: 9, touch: 22 }; // pixels around what can be taken hold of

const Grabbing = {
  // What lies under a pointer: { kind: "point" } or { kind: "ray", end }; or null.
  gripAt(view, { x, y }, touch = false) {
    const { sheet } = this;
    const draws = ['ray', 'closer'].includes(this.shape); // wherever a drag begins
    if (!sheet.grips || !this.send || draws) return null;
    let [found, least] = [null, touch ? GRIP.touch : GRIP.mouse];
    const offer = (grip, at) => {
      const distance = Math.hypot(at.x - x, at.y - y);
      if (distance <= least) [found, least] = [grip, distance];
    };
    const { map } = view.place;
    if (sheet.ray && sheet.lines.length === 1) {
      const [line] = sheet.lines;
      const ends = [0, 1].map((end) => placeOf(sheet, map, line.x[end], line.y[end]));
      [0, 1].forEach((end) => offer({ kind: 'ray', end }, lastSeen(map, ends[1 - end], ends[end])));
    }
    if (sheet.select && sheet.markers.length === 1) {
      const [marker] = sheet.markers;
      offer({ kind: 'point' }, placeOf(sheet, map, marker.x, marker.y));
    }
    return found;
  },

  // Takes it off the maps: it is drawn over them until it is let go.
  grab(grip) {
    const { sheet, state } = this;
    const among = grip.kind === 'point' ? 'markers' : 'lines';
    const [mark] = sheet[among];
    state.grip = { ...grip, among, mark, before: structuredClone({ x: mark.x, y: mark.y }) };
    state.ray = state.chosen = null;
    sheet[among] = [];
    this.root.dataset.held = grip.kind;
    this.recover();
  },

  moveGrip(view, point) {
    const { sheet, state: { grip } } = this;
    const { map } = view.place;
    const at = [clamp(point.x, map.x, map.x + map.w), clamp(point.y, map.y, map.y + map.h)];
    const cell = nearestCell(sheet, map, at);
    grip.cell = cell;
    if (grip.kind === 'point') {
      const box = cellBox(sheet, map, cell.row, cell.column);
      [grip.mark.x, grip.mark.y] = unplace(sheet, map, [box.x + box.w / 2, box.y + box.h / 2]);
    } else {
      [grip.mark.x[grip.end], grip.mark.y[grip.end]] = unplace(sheet, map, at);
      this.tellLine(grip.mark);
    }
    this.setCell(cell, view, { x: at[0], y: at[1] });
    this.later();
  },

  // Without a view what was dragged goes back.
  dropGrip(view) {
    const { sheet, state } = this;
    const { grip } = state;
    if (!grip) return;
    const { mark, among, kind } = grip;
    const [[x0, x1], [y0, y1]] = kind === 'ray' ? [mark.x, mark.y] : [[0, 1], [0, 1]];
    const back = !view || (x0 === x1 && y0 === y1);
    if (back) Object.assign(mark, grip.before);
    if (back && kind === 'ray') this.tellLine(mark);
    state.grip = null;
    sheet[among] = [mark];
    delete this.root.dataset.held;
    this.recover();
    if (back) return;
    this.dropped = { mark, before: grip.before };
    if (kind === 'point') {
      this.choose(view, [grip.cell], true);
    } else {
      state.ray = [x0, y0, x1, y1];
      this.sendRay(view);
    }
  },

  // The maps again, with what lies over them now.
  recover() {
    for (const view of this.views) {
      view.cover = null;
      if (view.seen) this.drawView(view);
      else view.stale = true;
    }
    this.drawOver();
  },

  // Lets other figures of the page read the methods' maps along a line.
  tellLine({ x: [x0, x1], y: [y0, y1] }) {
    const sheet = this.whole; // whatever stretch of it is looked at
    const { frame } = this.player;
    if (!sheet.live) return;
    const { panels, nx, ny } = sheet;
    const read = (part, colour, n) => {
      const owned = sheet.live.ensembles.find((one) => panels[one.panels[part]].accent === colour);
      const values = new Float64Array(n).fill(NaN);
      if (!owned) return values;
      const panel = panels[owned.panels[part]];
      const at = (row, column) => valueAt(panel, frame, clamp(row, 0, ny - 1) * nx + clamp(column, 0, nx - 1));
      for (let i = 0; i < n; i++) {
        const share = i / (n - 1);
        const across = axisShare(sheet.x, x0 + share * (x1 - x0), nx) * nx - 0.5;
        const along = axisShare(sheet.y, y0 + share * (y1 - y0), ny) * ny - 0.5;
        const [column, row] = [Math.floor(across), Math.floor(along)];
        const [u, v] = [across - column, along - row];
        const low = at(row, column) * (1 - u) + at(row, column + 1) * u;
        values[i] = low * (1 - v) + (at(row + 1, column) * (1 - u) + at(row + 1, column + 1) * u) * v;
      }
      return values;
    };
    const detail = { name: sheet.name, length: Math.hypot(x1 - x0, y1 - y0), read };
    globalThis.dispatchEvent(new CustomEvent('gbuq-line', { detail }));
  },
};

Object.assign(SheetView.prototype, Grabbing);

// Where a line that leaves the map is taken hold of: the last spot of it that is seen.
function lastSeen(map, from, to) {
  let share = 1;
  for (const [axis, size] of [['x', 'w'], ['y', 'h']]) {
    const [low, high, way] = [map[axis], map[axis] + map[size], to[axis] - from[axis]];
    if (to[axis] > high && way > 0) share = Math.min(share, (high - from[axis]) / way);
    if (to[axis] < low && way < 0) share = Math.min(share, (low - from[axis]) / way);
  }
  const at = Math.max(0, share);
  return { x: from.x + at * (to.x - from.x), y: from.y + at * (to.y - from.y) };
}

function drawGrip(pen, sheet, map, { kind, mark }, theme) {
  if (kind === 'ray') drawMapLine(pen, sheet, map, mark, theme);
  else drawMarker(pen, placeOf(sheet, map, mark.x, mark.y), mark, map, theme);
}
