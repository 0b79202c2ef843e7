// A band whose centre and width come from two stages that the reader chooses with sliders in the
// figure. What every stage says is sent once; a moved slider is worked out here and asks nobody.

const WAIT = 16; // milliseconds: a picture a frame

class DialsView extends CurvesView {
  constructor(parent) {
    super(parent);
    this.bar = htmlNode('div', 'gbuq-curves-dials', this.root);
    this.svg.before(this.bar);
    this.sliders = {};
    this.rows = [];
    for (const name of ['mean', 'scale']) {
      const label = htmlNode('label', 'gbuq-curves-dial', this.bar);
      const text = htmlNode('span', '', label);
      const input = document.createElement('input');
      Object.assign(input, { type: 'range', min: 0, step: 1 });
      const number = htmlNode('output', '', label);
      label.insertBefore(input, number);
      this.rows.push(label);
      input.addEventListener('input', () => this.turn());
      input.addEventListener('change', () => this.tell());
      this.sliders[name] = { text, input, number };
    }
    const label = htmlNode('label', 'gbuq-curves-switch', this.bar);
    this.factor = document.createElement('input');
    this.factor.type = 'checkbox';
    label.append(this.factor);
    this.factorText = htmlNode('span', '', label);
    this.factor.addEventListener('change', () => { this.turn(); this.tell(); });
    this.stops = htmlNode('div', 'gbuq-curves-stops', this.bar);
    this.said = htmlNode('div', 'gbuq-curves-said', this.root);
    this.said.setAttribute('aria-live', 'polite');
    this.bar.after(this.said);
    this.held = htmlNode('span', '', this.said);
    this.scores = htmlNode('span', 'gbuq-curves-scores', this.said);
  }

  update(spec) {
    const { dials } = spec;
    const asked = [dials.mean, dials.scale, dials.factor].join();
    const another = this.given?.dials.key !== dials.key;
    // What the reader has just told the page comes back; by then the finger may be elsewhere.
    const moved = asked !== this.asked && asked !== this.told;
    this.given = spec;
    this.asked = asked;
    if (another) this.told = null;
    // A quiet figure begins with the picture; what is moved stands below it. A slider that is put in
    // its place again would lose the finger and the keyboard.
    if (spec.quiet && this.svg.nextSibling !== this.said) this.svg.after(this.said, this.bar);
    const last = dials.trees.length - 1;
    for (const row of this.rows) row.hidden = last === 0; // nothing to choose from
    for (const name of ['mean', 'scale']) {
      const { text, input } = this.sliders[name];
      text.textContent = dials.labels[name];
      input.max = last;
      input.setAttribute('aria-label', dials.labels[name]);
      if (another || moved) input.value = dials[name];
    }
    if (another || moved) this.factor.checked = dials.factor;
    this.drawStops();
    super.update(this.turned());
  }

  drawStops() {
    this.stops.replaceChildren();
    for (const stop of this.given.dials.stops) {
      const button = htmlNode('button', '', this.stops, stop.name);
      button.type = 'button';
      button.addEventListener('click', () => {
        this.sliders.mean.input.value = stop.mean;
        this.sliders.scale.input.value = stop.scale;
        this.factor.checked = stop.factor;
        this.turn();
        this.tell();
      });
    }
  }

  now() {
    const [mean, scale] = ['mean', 'scale'].map((name) => Number(this.sliders[name].input.value));
    return { mean, scale, factor: this.factor.checked };
  }

  turn() {
    if (this.waiting) return;
    this.waiting = setTimeout(() => {
      this.waiting = null;
      this.spec = this.turned();
      this.draw();
    }, WAIT);
  }

  tell() {
    const { mean, scale, factor } = this.now();
    const { trees } = this.given.dials;
    this.told = [mean, scale, factor].join();
    if (this.send) this.send({ mean: trees[mean], scale: trees[scale], factor });
  }

  // The specification with the band of the sliders' stages.
  turned() {
    const { given } = this;
    const { dials } = given;
    const { mean: a, scale: b, factor } = this.now();
    const [n, count] = [dials.trees.length, dials.x.length];
    const scaled = factor ? 'scaled' : 'plain';
    const times = factor ? dials.factors[b * n + a] : 1;
    const width = dials.width[scaled];
    const loc = dials.loc.slice(a * count, (a + 1) * count);
    const data = dials.data.slice(b * count, (b + 1) * count).map((v) => times * times * v);
    const knowledge = dials.knowledge.slice(a * count, (a + 1) * count);
    const inner = data.map((v) => width * Math.sqrt(v));
    const outer = data.map((v, i) => width * Math.sqrt(v + knowledge[i]));
    const edge = (half, sign) => loc.map((v, i) => v + sign * half[i]);
    const band = (low, high, opacity) => (
      { kind: 'band', x: dials.x, low, high, colour: dials.colour, opacity });
    const [panel] = given.panels;
    const layers = [
      ...dials.under,
      band(edge(outer, -1), edge(inner, -1), dials.rim),
      band(edge(inner, -1), edge(inner, 1), dials.fill),
      band(edge(inner, 1), edge(outer, 1), dials.rim),
      { kind: 'line', x: dials.x, y: loc, colour: dials.colour, width: 2 },
      ...dials.over,
    ];
    this.say({ a, b, times, at: b * n + a, scaled });
    const values = [
      { name: 'prediction', at: loc },
      { name: 'lower', at: edge(outer, -1) },
      { name: 'upper', at: edge(outer, 1) },
      ...given.read.values,
    ];
    // The names of what moves go with it.
    const middles = { loc: [loc, loc], data: [loc, edge(inner, 1)], knowledge: [edge(inner, 1), edge(outer, 1)] };
    const legend = given.legend.map((entry) => {
      if (!entry.at || !entry.role) return entry;
      const i = dials.x.findIndex((x) => x >= entry.at[0]);
      const [one, other] = middles[entry.role];
      return { ...entry, at: [entry.at[0], (one[i] + other[i]) / 2] };
    });
    return { ...given, panels: [{ ...panel, layers }], legend, read: { ...given.read, values } };
  }

  say({ a, b, times, at, scaled }) {
    const { dials } = this.given;
    const said = (value) => formatValue(Number(value.toPrecision(3)));
    this.sliders.mean.number.textContent = dials.trees[a].toLocaleString('en-US');
    this.sliders.scale.number.textContent = dials.trees[b].toLocaleString('en-US');
    for (const [name, k] of [['mean', a], ['scale', b]]) {
      this.sliders[name].input.setAttribute('aria-valuetext', `${dials.trees[k]} trees`);
    }
    this.factorText.textContent = `Factor ${said(dials.factors[at])}`;
    const share = Math.round(100 * dials.coverage[scaled][at]);
    this.held.textContent = `On new rows, the 90 % intervals hold ${share} %.`;
    this.scores.textContent = ` NLL ${said(dials.nll[scaled][at])}, RMSE ${said(dials.rmse[a])}.`;
    this.root.dataset.dials = JSON.stringify([dials.trees[a], dials.trees[b], times]);
  }
}
