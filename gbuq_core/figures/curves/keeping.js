// What the pin (../canvas/pin.js) keeps of curves: a clone of the drawing with its legend.

const LEAST_BESIDE = 420; // pixels of a figure of one panel

Object.assign(CurvesView.prototype, {
  makePin() {
    this.pin = new Pin(this);
    return this.pin.button;
  },

  leastBeside() {
    const { facets = 1, panels = [] } = this.spec;
    return Math.min(facets, panels.length) > 1 ? NARROW : LEAST_BESIDE;
  },

  shownNow() {
    const { knobs = [], played, alt } = this.served ?? this.spec;
    const values = { ...this.knobBar?.values };
    if (played) values[played.key] = this.place;
    const said = Object.values(this.sliders ?? {}).map(({ text, number }) => `${text.textContent} ${number.textContent}`);
    if (this.factor?.checked) said.push(this.factorText.textContent);
    return { said, knobs, values, alt };
  },

  // Names within a drawing hold for the whole page: those of the copy are its own.
  copyOf() {
    const copy = this.asFile();
    copy.querySelector('title').remove(); // it would be shown at the pointer
    for (const node of copy.querySelectorAll('[id]')) node.id = `kept-${node.id}`;
    for (const name of ['clip-path', 'fill']) {
      for (const node of copy.querySelectorAll(`[${name}^="url(#"]`)) {
        node.setAttribute(name, node.getAttribute(name).replace('#', '#kept-'));
      }
    }
    copy.style.width = `${this.width * this.theme.type}px`;
    return copy;
  },
});
