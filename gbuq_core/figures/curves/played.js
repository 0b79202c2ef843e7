// A drawing of its own over one value that can be played: the place of a point, a step of a run.
//
// `played` ({ key, label, texts, fps }) is a knob of the bar that the player moves instead of a
// slider among the others. A drawing is a class in DRAWINGS under the specification's `drawing`: its
// paint() draws the setting that `place` (the played value's place) and `values` (of the other knobs)
// say. While something moves nobody is asked; the server hears of all knobs when it stands still.

class PlayedView extends CurvesView {
  constructor(parent) {
    super(parent);
    this.root.classList.add('gbuq-played');
    this.closer.hidden = true;
    this.player = new Player((frame, quiet) => {
      this.show();
      if (!quiet) this.tell();
    });
    this.player.onState = (playing) => { if (!playing) this.tell(); };
    this.player.slider.addEventListener('change', () => this.tell());
    // Streamlit has shortcuts of single letters, and sees the page, not a control, as their target.
    this.player.bar.addEventListener('keydown', (event) => event.stopPropagation());
    this.svg.before(this.player.bar);
    this.knobBar = new KnobBar(this.root, { move: () => this.show(), set: () => this.tell() });
    this.player.bar.before(this.knobBar.root);
    this.said = null; // the played value that the server said last
    this.told = null; // and the one that it was told
  }

  destroy() {
    this.player.pause();
    super.destroy();
  }

  get place() {
    return this.player.frame;
  }

  get values() {
    return this.knobBar.values;
  }

  update(given) {
    const { played, knobs } = given;
    const asked = knobs.find(({ key }) => key === played.key).value;
    const others = knobs.filter(({ key }) => key !== played.key);
    this.spec = given;
    this.knobBar.update(others);
    this.knobBar.root.hidden = !others.length;
    const { label, texts, fps } = played;
    this.player.setSheet({ frames: texts.length, frameLabel: label, frameValues: texts, fps, start: asked });
    const { player } = this;
    // What the reader has just told comes back; by then the finger may be elsewhere.
    const news = asked !== this.said && asked !== this.told;
    if (this.said !== null && news && !player.playing()) Object.assign(player, { frame: asked });
    player.refresh();
    this.said = asked;
    this.draw();
  }

  show() {
    if (this.spec) this.draw();
  }

  // A notebook has put the knobs of the bar where its model has them, the played one with them.
  rework() {
    const { key } = this.spec.played;
    const { values, player } = this;
    if (key in values) Object.assign(player, { frame: values[key] });
    delete values[key];
    player.refresh();
    this.show();
  }

  tell() {
    this.told = this.place;
    this.send?.({ knobs: { ...this.values, [this.spec.played.key]: this.place } });
  }

  draw() {
    this.width = this.root.clientWidth;
    if (!this.width) return;
    this.setTheme();
    this.whole.hidden = true;
    this.narrow = this.width < NARROW;
    this.paint();
    this.finish();
    this.drawLegend();
    this.root.dataset.at = String(this.place);
  }

  // Axes and layers in a box ({ x, y, width, height }) of the drawing; returns where a y lies.
  plot(box, { x, y, label, xLabel, layers, name }) {
    const [lo, hi] = x;
    Object.assign(this, { left: box.x, right: box.x + box.width, bottom: box.y + box.height });
    this.px = (value) => box.x + ((value - lo) / (hi - lo)) * box.width;
    this.panel({ range: y, label, layers }, box.y, box.height, name);
    const { ticks, labels } = linearTicks(lo, hi, clamp(box.width / 80, 3, 9));
    const style = { fill: this.theme.soft, 'text-anchor': 'middle' };
    ticks.forEach((tick, k) => {
      const place = Math.min(this.px(tick), this.width - textWidth(labels[k], this.theme, 12) / 2);
      svgNode('text', { ...style, x: tenth(place), y: this.bottom + 16 }, this.svg, labels[k]);
    });
    if (xLabel) svgNode('text', { ...style, x: box.x + box.width / 2, y: this.bottom + 31 }, this.svg, xLabel);
    return (value) => box.y + box.height - ((value - y[0]) / (y[1] - y[0])) * box.height;
  }

  // A pointer that was put down goes on to choose until it is let go.
  follow(event, choose) {
    const { svg } = this;
    const { pointerId } = event;
    const move = (now) => { if (now.pointerId === pointerId) choose(now); };
    const end = (now) => {
      if (now.pointerId !== pointerId) return;
      svg.removeEventListener('pointermove', move);
      for (const name of ['pointerup', 'pointercancel']) svg.removeEventListener(name, end);
      this.tell();
    };
    svg.setPointerCapture(pointerId);
    svg.addEventListener('pointermove', move);
    for (const name of ['pointerup', 'pointercancel']) svg.addEventListener(name, end);
    choose(event);
  }

  // Nothing is zoomed or picked; what a drawing reads it says itself.
  readNear() {}

  read() {}

  press() {}

  click() {}

  key(event) {
    const steps = { ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };
    const { player } = this;
    if (event.key === ' ') player.toggle();
    else if (event.key in steps) player.step(steps[event.key]);
    else if (event.key === 'Home' || event.key === 'End') player.step(event.key === 'End' ? player.frames : -player.frames);
    else return;
    event.preventDefault();
  }
}

const still = () => matchMedia('(prefers-reduced-motion: reduce)').matches;
