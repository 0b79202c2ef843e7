// A closer look along x: a stretch that is brushed with the mouse fills the picture, and a double
// click shows everything again. Where dots are the picture a frame is drawn instead (picking.js),
// and where the reader places points a press belongs to them.

Object.assign(CurvesView.prototype, {
  // The stretch of x that is looked at.
  stretch() {
    return this.window?.x ?? this.spec.x.range;
  },

  // `box` is the plot that was pressed.
  brush(event, { x: left, y: top, width, height }) {
    if (event.pointerType === 'touch' || event.button !== 0) return;
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
      this.dragged = last.type === 'pointerup' && ends[1] - ends[0] >= SHORTEST_DRAG;
      if (!this.dragged) return;
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
