// Strips along a line of another figure (`follows`: its name, and which uncertainty). While that
// line is dragged the first strip has what that figure's maps say along it, on axes that stand
// still; what only the page knows of the new line is left out until it is let go.

Object.assign(SheetView.prototype, {
  hearLines() {
    const { signal } = this.unlisten;
    globalThis.addEventListener('gbuq-line', ({ detail }) => this.followLine(detail), { signal });
  },

  followLine({ name, length, read }) {
    const { follows, strips } = this.sheet ?? {};
    if (follows?.name !== name || !this.layout) return;
    this.strayed ??= strips.map(({ x, shaded, lines }) => (
      { x, shaded, lines: lines.map(({ y, frames }) => ({ y, frames })) }));
    strips.forEach((strip, i) => {
      const n = strip.x.length;
      strip.x = Float64Array.from({ length: n }, (_, k) => (length * k) / (n - 1));
      strip.shaded = [];
      for (const line of strip.lines) {
        line.y = i ? new Float64Array(n).fill(NaN) : read(follows.part, line.colour, n);
        line.frames = 1;
      }
    });
    this.followed ??= requestAnimationFrame(() => {
      this.followed = null;
      this.drawStrips();
    });
  },

  // The page says that nothing is another than it was: what was dragged goes back, too.
  comeBack() {
    if (this.dropped) {
      Object.assign(this.dropped.mark, this.dropped.before);
      this.dropped = null;
      this.recover();
    }
    if (!this.strayed) return;
    this.sheet.strips.forEach((strip, i) => {
      const { x, shaded, lines } = this.strayed[i];
      Object.assign(strip, { x, shaded });
      strip.lines.forEach((line, k) => Object.assign(line, lines[k]));
    });
    this.strayed = null;
    this.drawStrips();
  },

  drawStrips() {
    if (!this.layout) return;
    for (const view of this.strips) this.drawView(view);
    this.countDraw();
  },
});
