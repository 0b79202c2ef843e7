// The place on a strip that is being read, with the pointer or the keyboard.

const Reading = {
  read(reading) {
    const { state } = this;
    if (!reading && !state.reading) return;
    state.reading = reading;
    if (reading) Object.assign(state, { cell: null, view: null, point: null });
    this.later();
  },

  drawReading() {
    const { frame } = this.player;
    for (const view of this.strips) view.drawOver(frame);
    const { reading } = this.state;
    if (!reading) {
      delete this.root.dataset.reading;
      return false;
    }
    const { view, index } = reading;
    const { strip, place } = view;
    this.root.dataset.reading = `${view.index},${index}`;
    this.readout.fillRows(readingPlace(strip, index), readingRows(strip, index, frame, this.theme));
    const spot = this.spotOf(view);
    const at = spot.x + stripX(strip, place.plot, strip.x[index]);
    const y = spot.y + place.plot.y + place.plot.h / 2;
    this.readout.moveTo({ left: at, right: at, y }, { w: this.width, h: this.layout.height }, this.theme.type);
    return true;
  },

  focusStrip(view) {
    for (const other of this.strips) other.box.tabIndex = other === view ? 0 : -1;
    if (!view.box.matches(':focus-visible')) return;
    const x = cursorX(view.strip, this.player.frame);
    const start = x === null ? view.strip.x.length >> 1 : nearestIndex(view.strip.x, x);
    this.putReading(view, start);
  },

  focusNextStrip(view, by) {
    const next = this.strips[clamp(view.index + by, 0, this.strips.length - 1)];
    next.box.tabIndex = 0;
    next.box.focus({ focusVisible: true });
  },

  moveReading(view, by) {
    const { reading } = this.state;
    this.putReading(view, reading && reading.view === view ? reading.index + by : view.lastShown());
  },

  putReading(view, index) {
    const { strip } = view;
    const last = Math.max(0, view.lastShown());
    const at = clamp(index, 0, last);
    this.read({ view, index: at });
    const rows = readingRows(strip, at, this.player.frame, this.theme);
    const values = rows.map((row) => `${row.title} ${row.value}`).join('; ');
    this.readout.say(`${strip.title}, ${readingPlace(strip, at)}: ${values}`);
  },

  // The frame whose cursor is nearest to the place being read.
  goToReading(view) {
    const { reading } = this.state;
    if (!view.scrubs || !reading) return;
    this.player.pause();
    this.player.go(frameNear(view.strip, view.strip.x[reading.index]), false);
  },
};

Object.assign(SheetView.prototype, Reading);

function readingPlace(strip, index) {
  return `${strip.xLabel || 'x'}: ${formatValue(strip.x[index])}`;
}

function readingRows(strip, index, frame, theme) {
  return strip.lines.map((line) => ({
    title: line.name,
    value: formatValue(lineValue(strip, line, frame, index)),
    colour: strokeOf(line, theme),
  }));
}
