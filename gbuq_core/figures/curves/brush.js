// A closer look along x: a stretch that is brushed with the mouse fills the picture, and a double
// click shows everything again. A finger scrolls the page; it brushes once after "Zoom" is pressed.
// Where dots are the picture a frame is drawn instead (picking.js), and where the reader places
// points a press belongs to them.

Object.assign(CurvesView.prototype, {
  // The stretch of x that is looked at.
  stretch() {
    return this.window?.x ?? this.spec.x.range;
  },

  lookCloser(now) {
    this.closing = now;
    this.closer.setAttribute('aria-pressed', String(now));
    this.root.classList.toggle('gbuq-curves-closing', now);
  },

  // Whether a press begins a brush.
  brushes({ pointerType, button }) {
    return button === 0 && (pointerType !== 'touch' || this.closing);
  },

  // After a drag a mouse clicks, too, which means nothing; a finger does not.
  brushed({ pointerType }) {
    this.dragged = pointerType !== 'touch';
    this.lookCloser(false);
  },

  // `box` is the plot that was pressed.
  brush(event, { x: left, y: top, width, height }) {
    if (!this.brushes(event)) return;
    this.dragged = false;
    event.preventDefault();
    this.svg.focus({ preventScroll: true });
    this.svg.setPointerCapture(event.pointerId);
    const [lo, hi] = this.stretch();
    const inside = (at) => Math.min(Math.max(at, left), left + width);
    const start = inside(event.offsetX);
    const look = { fill: this.theme.soft, 'fill-opacity': 0.15, stroke: this.theme.soft };
    const frame = svgNode('rect', { ...look, y: top, height, width: 0, class: 'rule' }, this.svg);
    let ends = [start, start];
    const move = (now) => {
      ends = [start, inside(now.offsetX)].sort((a, b) => a - b);
      frame.setAttribute('x', ends[0]);
      frame.setAttribute('width', ends[1] - ends[0]);
    };
    const end = (last) => {
      for (const name of ['pointerup', 'pointercancel']) this.svg.removeEventListener(name, end);
      this.svg.removeEventListener('pointermove', move);
      frame.remove();
      if (last.type !== 'pointerup' || ends[1] - ends[0] < SHORTEST_DRAG) return;
      this.brushed(last);
      this.window = { x: ends.map((at) => lo + ((at - left) / width) * (hi - lo)) };
      this.at = null;
      this.draw();
    };
    this.svg.addEventListener('pointermove', move);
    for (const name of ['pointerup', 'pointercancel']) this.svg.addEventListener(name, end);
  },

  // Other numbers over the same stretch leave the eye where it is.
  keepStretch(before, spec) {
    if (!this.window || this.window.y || !before) return;
    if (before.x.range.join() !== spec.x.range.join()) this.window = null;
  },
});
