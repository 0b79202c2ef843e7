// Knobs of the view, which the figure works out by itself while they move.
//
// A specification with `knobs` (handles/knobs.js) is what its server drew for their `value`s; `live`
// holds what every other setting needs. `live.kind` names what works it out: LIVE[kind] takes the
// specification and where the knobs stand, and returns the specification of that setting. With
// `focus` ([{ x, y }, { x, y }]: everything, rows) a switch of that name chooses the axes.

const LIVE = {};
// Of the window's height is a figure that opens its page: on a desktop, in a small window.
const QUIET_CURVES = { large: 0.6, small: 0.53 };
const SMALL = 700; // pixels of a window's height

Object.assign(CurvesView.prototype, {
  // The specification as the knobs of its bar stand.
  worked(given) {
    this.served = given;
    if (given.knobs) {
      this.knobBar ??= this.barAbove();
      this.knobBar.update(given.knobs);
    } else {
      this.knobBar?.destroy();
      this.knobBar = null;
    }
    this.attend();
    return this.reworked();
  },

  barAbove() {
    const bar = new KnobBar(this.root, {
      move: () => {
        this.tellNear();
        this.rework();
      },
      set: (values) => { if (this.send) this.send({ knobs: values }); },
    });
    this.aboveDrawing().before(bar.root);
    return bar;
  },

  // With `quiet` the figure is large and has one knob, until the button View is pressed.
  quieten({ quiet }) {
    this.opener.className = 'gbuq-curves-opener';
    this.whole.className = 'gbuq-curves-whole';
    this.opener.hidden = !quiet;
    this.root.classList.toggle('gbuq-quiet', Boolean(quiet));
  },

  open() {
    this.opener.setAttribute('aria-expanded', String(this.root.classList.toggle('gbuq-viewing')));
  },

  quietHeight(height) {
    if (!this.spec.quiet) return height;
    const bar = this.bar?.offsetHeight ?? 0;
    const small = this.root.clientWidth < NARROW || window.innerHeight < SMALL;
    if (small) return QUIET_CURVES.small * window.innerHeight;
    return Math.max(height, QUIET_CURVES.large * window.innerHeight - bar / 3);
  },

  // The first node of the picture itself.
  aboveDrawing() {
    return this.pager ?? this.svg;
  },

  reworked() {
    const { served: given } = this;
    const values = this.standing();
    const moved = given.knobs?.some(({ key, value }) => values[key] !== value);
    if (!moved && !this.looksElsewhere()) return given;
    const spec = given.live ? LIVE[given.live.kind](given, values) : given;
    return given.focus && 'focus' in values ? focusedOn(spec, given.focus[Number(values.focus)]) : spec;
  },

  rework() {
    const spec = this.reworked();
    this.keepStretch(this.spec, spec);
    this.spec = spec;
    this.draw();
  },
});

function focusedOn(spec, { x, y }) {
  const panels = spec.panels.map((panel) => ({ ...panel, range: y }));
  return { ...spec, x: { ...spec.x, range: x }, panels };
}

// The layers of a panel with those that its knobs change put in the place of what the server drew.
function withLayers(panel, layers) {
  const { first, count } = panel.live;
  return { ...panel, layers: panel.layers.toSpliced(first, count, ...layers) };
}
