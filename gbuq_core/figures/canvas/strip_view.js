// One strip on the screen. Three canvases in a focusable box: what stands still, the lines, and
// what moves (the cursor, the place being read); a frame touches only what changes.

const STRIP_ROOM = 8; // pixels around the plot for the cursor's grip and dots on its edge

class StripView {
  constructor(owner, index) {
    this.owner = owner;
    this.index = index;
    this.box = element('div', 'gbuq-strip', { role: 'group', tabindex: index ? '-1' : '0' });
    this.base = element('canvas', 'gbuq-strip-base', { role: 'img' });
    this.ink = element('canvas', 'gbuq-strip-ink', { 'aria-hidden': 'true' });
    this.over = element('canvas', 'gbuq-strip-over', { 'aria-hidden': 'true' });
    this.box.append(this.base, this.ink, this.over);
    this.whole = document.createElement('canvas');
    this.press = null;
    this.listen();
  }

  setData(sheet, strip) {
    this.sheet = sheet;
    this.strip = strip;
    this.scrubs = Boolean(strip.frameX) && sheet.frames > 1;
    this.base.setAttribute('aria-label', strip.alt);
    const go = this.scrubs ? ' Enter goes to the frame there.' : '';
    this.box.setAttribute('aria-label', `${strip.title}. Arrow keys read values.${go}`);
    this.over.classList.toggle('gbuq-scrubs', this.scrubs);
  }

  setPlace(place, ratio, theme) {
    this.place = place;
    this.ratio = ratio;
    this.theme = theme;
    const { w, h, plot } = place;
    const { type } = theme;
    setBox(this.box, place, type);
    sizeCanvas(this.base, w, h, ratio, type);
    this.inner = {
      x: plot.x - STRIP_ROOM,
      y: plot.y - STRIP_ROOM,
      w: plot.w + 2 * STRIP_ROOM,
      h: plot.h + 2 * STRIP_ROOM,
    };
    const layers = [this.ink, this.over];
    if (this.strip.mode === 'grow') layers.push(this.whole);
    for (const canvas of layers) {
      sizeCanvas(canvas, this.inner.w, this.inner.h, ratio, type);
      canvas.getContext('2d').translate(-this.inner.x, -this.inner.y);
      canvas.style.left = `${this.inner.x * type}px`;
      canvas.style.top = `${this.inner.y * type}px`;
    }
  }

  moves() {
    return this.scrubs || this.strip.lines.some((line) => line.frames > 1);
  }

  // A pen on one of the inner canvases, in the coordinates of the box.
  pen(canvas, clear = true) {
    const context = canvas.getContext('2d');
    if (clear) context.clearRect(this.inner.x, this.inner.y, this.inner.w, this.inner.h);
    return new CanvasPen(context, this.theme);
  }

  draw(frame) {
    const context = this.base.getContext('2d');
    context.clearRect(0, 0, this.place.w, this.place.h);
    drawStripFrame(new CanvasPen(context, this.theme), this.strip, this.place, this.theme);
    if (this.strip.mode === 'grow') this.drawLines(this.pen(this.whole), frame);
    else this.drawLines(this.pen(this.ink), frame);
    this.shown = -1;
    this.drawNext(frame);
  }

  drawLines(pen, frame) {
    const { strip, theme } = this;
    const { plot } = this.place;
    const box = lineBox({ ...strip, mode: 'cursor' }, plot, frame);
    pen.clipped(box, () => drawStripLines(pen, strip, plot, frame, theme));
  }

  // Only what changes from frame to frame.
  drawNext(frame) {
    const { strip } = this;
    if (strip.mode === 'grow') this.reveal(frame);
    else if (strip.mode === 'frame' && this.shown !== -1) this.drawLines(this.pen(this.ink), frame);
    this.shown = frame;
    this.drawOver(frame);
  }

  // Copies the lines as far as the cursor; only the new stretch while the cursor goes forward.
  reveal(frame) {
    const box = lineBox(this.strip, this.place.plot, frame);
    const end = Math.round((box.x + box.w - this.inner.x) * this.ratio);
    const forward = this.shown !== -1 && end >= this.revealed;
    const { context } = this.pen(this.ink, !forward);
    const from = forward ? this.revealed : 0;
    this.revealed = end;
    if (end <= from) return;
    const { height } = this.ink;
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.whole, from, 0, end - from, height, from, 0, end - from, height);
    context.restore();
  }

  drawOver(frame) {
    const { strip, theme } = this;
    const { plot } = this.place;
    const pen = this.pen(this.over);
    drawCursor(pen, strip, plot, frame, theme);
    const { reading } = this.owner.state;
    if (!reading || reading.view !== this) return;
    const x = stripX(strip, plot, strip.x[reading.index]);
    pen.segments([x, plot.y, x, plot.y + plot.h], theme.soft, 1);
    drawValueDots(pen, strip, plot, frame, theme, x, (line) =>
      lineValue(strip, line, frame, reading.index));
  }

  // Everything with one pen, for pictures to keep.
  drawAll(pen, frame) {
    const { strip, place, theme } = this;
    drawStripFrame(pen, strip, place, theme);
    pen.clipped(lineBox(strip, place.plot, frame), () => {
      drawStripLines(pen, strip, place.plot, frame, theme);
    });
    drawCursor(pen, strip, place.plot, frame, theme);
  }

  listen() {
    const { box, owner } = this;
    const on = (name, handler) => box.addEventListener(name, handler);
    on('pointerdown', (event) => this.down(event));
    on('pointermove', (event) => this.move(event));
    on('pointerup', () => { this.press = null; });
    on('pointercancel', () => { this.press = null; });
    on('pointerleave', (event) => {
      if (event.pointerType === 'mouse' && this.press === null) owner.read(null);
    });
    on('keydown', (event) => this.key(event));
    on('focus', () => owner.focusStrip(this));
    on('blur', () => owner.read(null));
  }

  at(event) {
    const area = this.base.getBoundingClientRect();
    const { type } = this.theme;
    return { x: (event.clientX - area.left) / type, y: (event.clientY - area.top) / type };
  }

  inPlot({ x, y }) {
    const { plot } = this.place;
    const room = STRIP_ROOM;
    return x >= plot.x - room && x <= plot.x + plot.w + room && y >= plot.y - room && y <= plot.y + plot.h + room;
  }

  down(event) {
    const point = this.at(event);
    if (event.button !== 0 || !event.isPrimary || !this.inPlot(point)) return;
    this.press = event.pointerId;
    if (event.pointerType === 'mouse') this.box.setPointerCapture(event.pointerId);
    this.follow(point);
  }

  move(event) {
    const point = this.at(event);
    if (this.press === event.pointerId) this.follow(point);
    else if (event.pointerType === 'mouse') this.readAt(point);
  }

  // While the button is down frames follow the pointer, beyond the plot's edge too.
  follow(point) {
    const { owner, strip, place } = this;
    if (this.scrubs) {
      owner.player.pause();
      owner.player.go(frameNear(strip, stripValueAt(strip, place.plot, point.x)));
    }
    this.readAt({ x: clamp(point.x, place.plot.x, place.plot.x + place.plot.w), y: place.plot.y });
  }

  readAt(point) {
    const { strip, place } = this;
    if (!this.inPlot(point)) {
      this.owner.read(null);
      return;
    }
    const value = stripValueAt(strip, place.plot, point.x);
    const held = strip.lines.every((line) => line.step);
    const index = held ? Math.max(0, lastBelow(strip.x, value)) : nearestIndex(strip.x, value);
    this.owner.read(index <= this.lastShown() ? { view: this, index } : null);
  }

  // Number of the last value that is drawn: lines that grow end at the cursor.
  lastShown() {
    const { strip } = this;
    const x = strip.mode === 'grow' ? cursorX(strip, this.owner.player.frame) : null;
    return x === null ? strip.x.length - 1 : lastBelow(strip.x, x);
  }

  key(event) {
    const { owner } = this;
    const stride = Math.max(1, Math.round(this.strip.x.length / 200)) * (event.shiftKey ? 10 : 1);
    const moves = { ArrowLeft: -stride, ArrowRight: stride, Home: -Infinity, End: Infinity };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) owner.moveReading(this, moves[event.key]);
    else if (event.key === 'PageDown') owner.focusNextStrip(this, 1);
    else if (event.key === 'PageUp') owner.focusNextStrip(this, -1);
    else if (event.key === 'Enter') owner.goToReading(this);
    else if (event.key === ' ') owner.player.toggle();
    else if (event.key === ',') owner.player.step(-1);
    else if (event.key === '.') owner.player.step(1);
    else if (event.key === 'Escape') owner.read(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
