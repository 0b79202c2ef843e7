// One panel on the screen: two canvases (picture, and what follows the pointer) in a focusable box.

const COVER_ROOM = 14; // pixels around the map for its edge and for markers on it

class PanelView {
  constructor(index) {
    this.index = index;
    this.box = element('div', 'gbuq-panel', { role: 'group', tabindex: index ? '-1' : '0' });
    this.base = element('canvas', 'gbuq-base', { role: 'img' });
    this.over = element('canvas', 'gbuq-over', { 'aria-hidden': 'true' });
    this.box.append(this.base, this.over);
    this.overDrawn = false;
  }

  setData(sheet, panel) {
    this.sheet = sheet;
    this.panel = panel;
    this.picture = new Picture(sheet, panel);
    this.dots = null;
    this.cover = null;
    this.look = {};
    this.scale = null;
    this.base.setAttribute('aria-label', panel.alt);
    let ray = sheet.ray ? ' Enter sets the start and then the end of a line.' : '';
    if (ray && sheet.select) ray = ` L turns line drawing on and off; while on,${ray}`;
    this.box.setAttribute('aria-label', `${panel.title}. Arrow keys read cells.${ray}`);
  }

  setPlace(place, ratio, theme) {
    this.place = place;
    this.theme = theme;
    this.dots = null;
    this.cover = null;
    setBox(this.box, place, theme.type);
    for (const canvas of [this.base, this.over]) {
      sizeCanvas(canvas, place.w, place.h, ratio, theme.type);
    }
    this.ratio = ratio;
    this.overDrawn = false;
  }

  moves() {
    const { frames, points } = this.panel;
    return frames > 1 || Boolean(points && (points.appear || points.vanish));
  }

  // After a knob moved: everything if the scale is another one, else only the map.
  drawLive(frame) {
    const { log, unit, markers, points, shownKey, flagged } = this.panel;
    const { look } = this;
    if (markers !== look.markers) this.cover = null;
    if (points !== look.points) this.dots = null;
    const [lo, hi] = limitsAt(this.panel, frame);
    const scale = lo === look.lo && hi === look.hi && log === look.log && unit === look.unit;
    const same = scale && markers === look.markers;
    // A key names the members or the frame; flags follow the finished maps as well.
    if (same && shownKey && shownKey === look.shownKey && !flagged && !look.flagged) return;
    this.picture.frame = -1;
    if (same) this.drawNext(frame);
    else this.draw(frame);
    Object.assign(look, { lo, hi, log, unit, markers, points, shownKey, flagged });
  }

  // Everything of a frame.
  draw(frame) {
    const context = this.base.getContext('2d');
    context.clearRect(0, 0, this.place.w, this.place.h);
    const pen = new CanvasPen(context, this.theme);
    drawFrame(pen, this.sheet, this.panel, this.place, frame, this.theme);
    this.scale = this.panel.scale;
    this.drawPicture(pen, frame);
  }

  // Only what changes from frame to frame.
  drawNext(frame) {
    const { limits, subtitle, scale } = this.panel;
    if (Array.isArray(limits[0]) || Array.isArray(subtitle) || scale !== this.scale) {
      this.draw(frame);
      return;
    }
    const context = this.base.getContext('2d');
    const { map } = this.place;
    context.clearRect(map.x - 1, map.y - 1, map.w + 2, map.h + 2);
    context.save();
    context.beginPath();
    context.rect(map.x - 1, map.y - 1, map.w + 2, map.h + 2);
    context.clip();
    this.drawPicture(new CanvasPen(context, this.theme), frame);
    context.restore();
  }

  drawPicture(pen, frame) {
    this.picture.show(frame);
    const dots = this.panel.points ? () => this.copyDots(pen.context, frame) : null;
    const cover = () => this.copyCover(pen.context);
    drawMap(pen, this.sheet, this.panel, this.place, this.picture, this.theme, dots, cover);
  }

  // Lines, outlines and markers cost more than the map itself and never move: drawn once.
  copyCover(context) {
    const { map } = this.place;
    const [w, h] = [map.w + 2 * COVER_ROOM, map.h + 2 * COVER_ROOM];
    const [x, y] = [map.x - COVER_ROOM, map.y - COVER_ROOM];
    if (!this.cover) {
      this.cover = document.createElement('canvas');
      sizeCanvas(this.cover, w, h, this.ratio);
      const layer = this.cover.getContext('2d');
      layer.translate(-x, -y);
      drawCover(new CanvasPen(layer, this.theme), this.sheet, this.panel, map, this.theme);
    }
    context.drawImage(this.cover, x, y, w, h);
  }

  // Scatter points live in a layer that only grows while frames go forward and none vanish.
  copyDots(context, frame) {
    const { map } = this.place;
    if (!this.dots) {
      const canvas = document.createElement('canvas');
      sizeCanvas(canvas, map.w, map.h, this.ratio);
      this.dots = { canvas, frame: -1, drawn: 0 };
    }
    const { dots, panel } = this;
    const layer = dots.canvas.getContext('2d');
    const { appear, vanish } = panel.points;
    if ((frame < dots.frame && appear) || (frame !== dots.frame && vanish)) {
      layer.clearRect(0, 0, map.w, map.h);
      dots.drawn = 0;
    }
    const pen = new CanvasPen(layer, this.theme);
    const inner = { x: 0, y: 0, w: map.w, h: map.h };
    dots.drawn = drawPoints(pen, this.sheet, panel, inner, frame, this.theme, dots.drawn);
    dots.frame = frame;
    context.drawImage(dots.canvas, map.x, map.y, map.w, map.h);
  }

  // The cross-hair, the mark on the colour bar, the chosen cells and the drag in progress.
  drawOver(state, frame) {
    const context = this.over.getContext('2d');
    if (this.overDrawn) context.clearRect(0, 0, this.place.w, this.place.h);
    this.overDrawn = Boolean(state.cell || state.chosen || state.drag || state.ray || state.grip);
    if (!this.overDrawn) return;
    const pen = new CanvasPen(context, this.theme);
    const { map } = this.place;
    if (state.chosen) {
      const border = borderSegments(this.sheet, map, state.chosen);
      // The halo is white in both themes: maps have the same colours in both.
      pen.segments(border, 'rgba(255, 255, 255, 0.95)', 4.5, 'square');
      pen.segments(border, this.theme.accent, 2, 'square');
    }
    if (state.cell) this.drawCross(pen, state.cell, frame);
    if (state.ray) drawMapLine(pen, this.sheet, map, asLine(state.ray), this.theme);
    if (state.grip) drawGrip(pen, this.sheet, map, state.grip, this.theme);
    if (state.drag && state.drag.view === this && state.drag.shape !== 'ray') this.drawDrag(context, state.drag);
  }

  drawCross(pen, cell, frame) {
    const { map } = this.place;
    const { theme, sheet } = this;
    const box = cellBox(sheet, map, cell.row, cell.column);
    const [cx, cy] = [box.x + box.w / 2, box.y + box.h / 2];
    const across = [map.x, cy, box.x, cy, box.x + box.w, cy, map.x + map.w, cy];
    const along = [cx, map.y, cx, box.y, cx, box.y + box.h, cx, map.y + map.h];
    pen.segments(across.concat(along), 'rgba(255, 255, 255, 0.35)', 2);
    pen.segments(across.concat(along), 'rgba(0, 0, 0, 0.65)', 1);
    const grow = Math.max(0, 3.5 - box.w / 2);
    const [l, t, r, b] = [box.x - grow, box.y - grow, box.x + box.w + grow, box.y + box.h + grow];
    const frameOfCell = [l, t, r, t, r, t, r, b, r, b, l, b, l, b, l, t];
    pen.segments(frameOfCell, 'rgba(255, 255, 255, 0.95)', 4, 'square');
    pen.segments(frameOfCell, 'rgba(0, 0, 0, 0.95)', 1.8, 'square');
    const value = valueAt(this.panel, frame, cell.row * sheet.nx + cell.column);
    if (!Number.isFinite(value)) return;
    const bar = barBox(this.panel, this.place, theme);
    const share = shareOf(value, limitsAt(this.panel, frame), this.panel.log);
    const at = bar.x + share * bar.w;
    const c = pen.context;
    c.beginPath();
    c.moveTo(at, bar.y + 2);
    c.lineTo(at - 4.5, bar.y - 5);
    c.lineTo(at + 4.5, bar.y - 5);
    c.closePath();
    c.fillStyle = theme.text;
    c.fill();
  }

  drawDrag(context, drag) {
    context.beginPath();
    drag.path.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.globalAlpha = 0.18;
    context.fillStyle = this.theme.accent;
    context.fill();
    context.globalAlpha = 1;
  }
}

// Where a node stands, in the figure's pixels of `type` CSS pixels each.
function setBox(node, { x, y, w, h }, type) {
  const sides = { left: x, top: y, width: w, height: h };
  for (const [side, size] of Object.entries(sides)) node.style[side] = `${size * type}px`;
}

// Sets a canvas to a size in the figure's pixels, sharp at so many device pixels each.
function sizeCanvas(canvas, w, h, ratio, type = 1) {
  canvas.width = Math.round(w * ratio);
  canvas.height = Math.round(h * ratio);
  canvas.style.width = `${w * type}px`;
  canvas.style.height = `${h * type}px`;
  canvas.getContext('2d').setTransform(ratio, 0, 0, ratio, 0, 0);
}
