// Pointer and keyboard of one panel: hover, click, drag a rectangle, arrow keys.

const CLICK_SLACK = 5; // pixels a press may move and still be a click
const HOLD_TIME = 280; // ms a finger rests before its drag selects instead of scrolling
const PLACE_REACH = 14; // pixels between a press and the place that it takes hold of

class PanelInput {
  constructor(view, owner) {
    this.view = view;
    this.owner = owner;
    this.press = null;
    const { box } = view;
    const on = (name, handler, options) => box.addEventListener(name, handler, options);
    on('pointerdown', (event) => this.down(event));
    on('pointermove', (event) => this.move(event));
    on('pointerup', (event) => this.up(event));
    on('pointercancel', () => this.cancel());
    on('pointerleave', (event) => {
      if (event.pointerType === 'mouse' && !this.press) owner.setCell(null);
    });
    // A drag that selects must not scroll the page; this can only be said here.
    const hold = (event) => {
      const held = owner.state.drag || this.press?.grip || this.press?.carries;
      if (held && event.cancelable) event.preventDefault();
    };
    on('touchmove', hold, { passive: false });
    on('contextmenu', (event) => {
      if (this.press && this.press.touch) event.preventDefault();
    });
    on('dblclick', () => { if (owner.brushed) owner.lookAt(null); });
    on('keydown', (event) => this.key(event));
    on('focus', () => owner.focusView(view));
    on('blur', () => owner.leaveView());
  }

  at(event) {
    const area = this.view.over.getBoundingClientRect();
    const { type } = this.view.theme;
    return { x: (event.clientX - area.left) / type, y: (event.clientY - area.top) / type };
  }

  cellAt(point) {
    return cellUnder(this.owner.sheet, this.view.place.map, point.x, point.y);
  }

  down(event) {
    if (event.button !== 0 || !event.isPrimary) return;
    const point = this.at(event);
    const touch = event.pointerType === 'touch';
    const grip = this.owner.gripAt(this.view, point, touch); // which may lie outside the map
    const cell = this.cellAt(point);
    if (!cell && !grip) return;
    this.press = { id: event.pointerId, point, cell, touch, grip, held: !touch };
    if (grip) {
      this.view.box.setPointerCapture(event.pointerId);
      return;
    }
    if (touch && this.owner.drags) {
      const { press } = this;
      press.timer = setTimeout(() => {
        if (this.press !== press) return;
        press.held = true;
        this.startDrag(point);
      }, HOLD_TIME);
    }
    if (!touch && this.owner.drags) this.view.box.setPointerCapture(event.pointerId);
  }

  move(event) {
    const point = this.at(event);
    const { press, owner } = this;
    if (press?.grip && press.id === event.pointerId) {
      const far = Math.hypot(point.x - press.point.x, point.y - press.point.y) > CLICK_SLACK;
      if (far && !press.moved) owner.grab(press.grip);
      press.moved ||= far;
      if (owner.state.grip) owner.moveGrip(this.view, point);
      return;
    }
    if (!press && event.pointerType === 'mouse') {
      this.view.box.style.cursor = owner.gripAt(this.view, point) ? 'grab' : '';
    }
    if (press && press.id === event.pointerId && owner.drags) {
      const far = Math.hypot(point.x - press.point.x, point.y - press.point.y) > CLICK_SLACK;
      if (far) press.moved = true;
      if (far && !press.held) clearTimeout(press.timer);
      if (far && press.held && !owner.state.drag && !press.carries) this.startDrag(press.point);
      if (press.carries) {
        this.carry(point);
        return;
      }
      if (owner.state.drag) {
        this.extendDrag(point);
        return;
      }
    }
    if (event.pointerType === 'mouse' || (press && press.held)) {
      owner.setCell(this.cellAt(point), this.view, point);
    }
  }

  up(event) {
    const { press, owner } = this;
    if (!press || press.id !== event.pointerId) return;
    this.press = null;
    clearTimeout(press.timer);
    if (owner.state.grip) {
      owner.dropGrip(this.view);
      return;
    }
    if (owner.state.drag) {
      this.finishDrag();
      return;
    }
    if (press.carries && press.moved) {
      owner.choose(this.view, [press.cell], true);
      return;
    }
    if (press.moved || !press.cell) return;
    owner.setCell(press.cell, this.view, press.point);
    if (owner.shape !== 'closer') owner.choose(this.view, [press.cell], true);
  }

  cancel() {
    if (this.press) clearTimeout(this.press.timer);
    this.press = null;
    this.owner.dropGrip(null);
    this.owner.setDrag(null);
  }

  // Whether a press takes hold of the place that is looked at, in maps that follow the pointer.
  takesPlace({ x, y }) {
    const { sheet, whole, shape } = this.owner;
    const place = sheet.near?.place;
    if (place === undefined || place === null || shape === 'closer') return false;
    if (sheet.nx !== whole.nx || sheet.ny !== whole.ny) return false; // a closer look
    const { map } = this.view.place;
    const here = this.cellAt({ x, y });
    if (!here) return false;
    const right = ((here.column - (place % sheet.nx)) * map.w) / sheet.nx;
    const up = ((here.row - Math.floor(place / sheet.nx)) * map.h) / sheet.ny;
    return Math.hypot(right, up) <= PLACE_REACH;
  }

  // The maps follow the place that is carried, as they follow a pointer.
  carry(point) {
    const [x, y] = this.inside(point);
    const { map } = this.view.place;
    const at = { x: Math.min(x, map.x + map.w - 0.5), y: Math.min(y, map.y + map.h - 0.5) };
    const cell = this.cellAt(at);
    if (!cell) return;
    this.press.cell = cell;
    this.owner.setCell(cell, this.view, at);
  }

  startDrag(point) {
    if (this.takesPlace(this.press.point)) {
      this.press.carries = true;
      return;
    }
    const { shape } = this.owner;
    const inside = this.inside(point);
    this.owner.setCell(null);
    this.owner.setDrag({ view: this.view, shape, start: inside, path: [inside] });
  }

  extendDrag(point) {
    const drag = this.owner.state.drag;
    const [x, y] = this.inside(point);
    const [x0, y0] = drag.start;
    if (drag.shape === 'ray') {
      drag.path = [[x0, y0], [x, y]];
      this.owner.showRay(this.view, ...drag.path);
    } else drag.path = [[x0, y0], [x, y0], [x, y], [x0, y]];
    this.owner.setDrag(drag);
  }

  finishDrag() {
    const { drag } = this.owner.state;
    if (drag.shape === 'ray') {
      this.owner.setDrag(null);
      this.owner.finishRay(this.view, drag.path);
      return;
    }
    const cells = cellsOfDrag(this.owner.sheet, this.owner.state.drag);
    this.owner.setDrag(null);
    if (drag.shape === 'closer') {
      this.owner.state.chosen = null;
      this.owner.lookCloser(cells);
      return;
    }
    if (cells.length) this.owner.choose(this.view, cells, false);
  }

  // The nearest point of the map, so that a drag may run over its edge.
  inside(point) {
    const { map } = this.view.place;
    return [clamp(point.x, map.x, map.x + map.w), clamp(point.y, map.y, map.y + map.h)];
  }

  key(event) {
    const { owner, view } = this;
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) owner.moveCell(view, ...moves[event.key], event.shiftKey);
    else if (event.key === 'Home') owner.moveCell(view, 0, -owner.sheet.nx);
    else if (event.key === 'End') owner.moveCell(view, 0, owner.sheet.nx);
    else if (event.key === 'PageDown') owner.focusNeighbour(view, 1);
    else if (event.key === 'PageUp') owner.focusNeighbour(view, -1);
    else if (event.key === 'Enter') owner.chooseCursor(view);
    else if (event.key === 'l' && owner.picks && owner.sheet.ray) owner.toggleRay();
    else if (event.key === ' ') owner.player.toggle();
    else if (event.key === ',') owner.player.step(-1);
    else if (event.key === '.') owner.player.step(1);
    else if (event.key === '+' && owner.state.cell) owner.lookCloser(aroundCell(owner.sheet, owner.state.cell));
    else if (event.key === '-' && owner.brushed) owner.lookAt(null);
    else if (event.key === 'Escape') owner.clear();
    else return;
    event.preventDefault();
    // Streamlit has shortcuts of its own on some of these keys.
    event.stopPropagation();
  }
}

// A quarter of the cells, around this one.
function aroundCell({ nx, ny }, { row, column }) {
  return [-1, 1].map((side) => ({
    row: clamp(row + Math.round((side * ny) / 4), 0, ny - 1),
    column: clamp(column + Math.round((side * nx) / 4), 0, nx - 1),
  }));
}

// Every cell that the rectangle of a drag touches.
function cellsOfDrag(sheet, { view, path }) {
  const { map } = view.place;
  const [a, b] = [path[0], path[2] || path[0]].map((at) => nearestCell(sheet, map, at));
  const cells = [];
  for (let row = Math.min(a.row, b.row); row <= Math.max(a.row, b.row); row++) {
    for (let column = Math.min(a.column, b.column); column <= Math.max(a.column, b.column); column++) {
      cells.push({ row, column });
    }
  }
  return cells;
}

// The cell at a point of the map; its far edges belong to the last cells.
function nearestCell(sheet, map, [x, y]) {
  const inside = (value, from, size) => clamp(value, from, from + size - 1e-3);
  return cellUnder(sheet, map, inside(x, map.x, map.w), inside(y, map.y, map.h));
}

// Flat cell numbers as [first, length] runs: a rectangle over a fine grid stays a short message.
function asRuns(cells, nx) {
  const flat = cells.map((cell) => cell.row * nx + cell.column).sort((a, b) => a - b);
  const runs = [];
  for (const at of flat) {
    const last = runs[runs.length - 1];
    if (last && at === last[0] + last[1]) last[1] += 1;
    else if (!last || at >= last[0] + last[1]) runs.push([at, 1]);
  }
  return runs;
}
