// Curves and dots of neighbours that follow the bar's knobs and the pointer. `live.follow` is
// what near.js finds neighbours with; `live.points` says that a place under the pointer is looked at, `live.place` is
// the chosen one among the places, null if it is none of them.

// On the page's root while the figure is of another place than the page's answer.
const POINTED = 'data-gbuq-pointed';
// True in a downloaded page, too, which has no app to ask.
const WAITS = 'The app works out the curve and the band when you let go.';

Object.assign(CurvesView.prototype, {
  // Hears of the tables, the pointer and the knobs of the figures that belong to this one.
  attend() {
    const follow = this.served.live?.follow;
    if (!follow) return;
    if (!this.nearMoved) {
      this.nearMoved = ({ type, detail }) => {
        const own = this.served.live?.follow;
        if (!own || this.telling) return;
        if (type === 'gbuq-near' ? [own.leaves, own.scales, own.trees].includes(detail) : detail === nearFor(own)) {
          this.nearFrame ??= requestAnimationFrame(() => {
            this.nearFrame = null;
            this.rework();
          });
        }
      };
      for (const name of ['gbuq-near', 'gbuq-near-moved']) globalThis.addEventListener(name, this.nearMoved);
    }
    this.tellNear();
  },

  // Only the figure with the bar says where the knobs stand.
  tellNear(change = {}) {
    const near = this.served?.live?.follow && nearFor(this.served.live.follow);
    if (!near) return;
    const values = this.knobBar ? { values: { ...this.knobBar.values } } : {};
    this.telling = !('place' in change);
    near.tell({ ...values, ...change });
    this.telling = false;
  },

  unattend() {
    cancelAnimationFrame(this.nearFrame);
    if (!this.nearMoved) return;
    for (const name of ['gbuq-near', 'gbuq-near-moved']) globalThis.removeEventListener(name, this.nearMoved);
    this.nearMoved = null;
    if (!this.served?.live?.points) return;
    this.tellNear({ place: null });
    document.documentElement.removeAttribute(POINTED);
  },

  // The place under the pointer or the arrow keys; null without one. A frame that is being drawn
  // with the mouse would not outlive another picture.
  pointNear() {
    if (this.pressed && !this.carried) return;
    if (!this.served?.live?.points) return;
    this.tellNear({ place: this.at });
    const pointed = this.svg.matches(':hover:not(:focus-visible)');
    document.documentElement.toggleAttribute(POINTED, pointed && this.looksElsewhere());
  },

  // Where the knobs stand, here or in the figure that has them.
  standing() {
    if (this.knobBar) return this.knobBar.values;
    const follow = this.served.live?.follow;
    return (follow && nearFor(follow)?.values) || {};
  },

  looksElsewhere() {
    const { live } = this.served;
    const near = live?.follow && nearFor(live.follow);
    if (!near) return false;
    if (near.place !== null && near.place !== live.place) return true;
    return !this.knobBar && Object.entries(near.values ?? {}).some(([key, value]) => (
      key in live.follow.at && live.follow.at[key] !== value
    ));
  },
});

// A panel's layers, each by its `role`: `made[role]` is what stands in its place, and several of a
// role give way to the first one's.
function relayered(layers, made) {
  const done = new Set();
  return layers.flatMap((layer) => {
    if (!(layer.role in made)) return [layer];
    if (done.has(layer.role)) return [];
    done.add(layer.role);
    return made[layer.role](layer);
  });
}

function withDensity(panel, { follow, near, values, look, x, colour }) {
  const still = near.place === null && (values.family ?? follow.at.family) === follow.at.family;
  if (still && !scaleMoved(follow, values)) return panel.aside;
  const found = near.density(follow, values, look);
  return found && { x, colour, y: found.y, density: found.density, name: found.name };
}

function nearLegend(legend, { k, follow, values, aside }) {
  const [, family] = follow.families[values.family ?? follow.at.family];
  const name = aside ? aside.name : `density (${family}): the app, when you let go`;
  const names = { near: (one) => one.name.replace(/\d[\d,]*/, k), aside: () => name };
  return legend.map((one) => (names[one.role] ? { ...one, name: names[one.role](one) } : one));
}

// Rows and curves over one input.
LIVE.course = (given, values) => {
  const { live, read } = given;
  const { follow, strength } = live;
  const near = nearFor(follow);
  if (!near) return given;
  const look = near.look(follow, values, near.place);
  const scales = near.scales(follow, values);
  const at = near.place === null ? live.x : read.x[near.place];
  const [loc] = read.values.map((one) => one.at);
  const { X, y } = near.leaf;
  const across = (rows) => rows.map((row) => X[row]);
  const up = (rows) => rows.map((row) => y[row]);
  const strong = (layer) => byStrength(look.share, strength).map(({ at: places, size, opacity }) => {
    const rows = places.map((i) => look.rows[i]);
    return { ...layer, x: across(rows), y: up(rows), size, opacity };
  });
  const moved = scaleMoved(follow, values);
  const faded = (layer) => [{ ...layer, opacity: 0.4 * (layer.opacity ?? 1) }];
  const others = othersOf(near.rows, look.rows, strength.most);
  const made = {
    range: (layer) => (moved ? [] : [layer]),
    place: (layer) => [{ ...layer, x: [at, at] }],
    near: strong,
    others: (layer) => [{ ...layer, x: across(others), y: up(others) }],
    band: (layer) => (scales ? [{
      ...layer,
      low: loc.map((v, i) => v - 2 * scales[i]),
      high: loc.map((v, i) => v + 2 * scales[i]),
    }] : faded(layer)),
    scale: (layer) => (scales ? [{ ...layer, y: Array.from(scales) }] : faded(layer)),
  };
  // Ranges of scales may be several stretches, which all stay or all go.
  if (!moved) delete made.range;
  const [upper, lower] = given.panels;
  const { colour } = strength;
  const aside = withDensity(upper, { follow, near, values, look, x: at, colour });
  const top = scales ? roundUp(1.05 * Math.max(live.noise, ...scales)) : lower.range[1];
  const range = [0, near.place === null || !scales ? top : Math.max(top, lower.range[1])];
  const reach = lower.range;
  const rules = (layer) => [{ ...layer, x: [at, at], y: layer.y.map((v) => (v === reach[1] ? range[1] : v)) }];
  return {
    ...given,
    hint: scales ? given.hint : WAITS,
    panels: [
      { ...upper, layers: relayered(upper.layers, made), aside },
      { ...lower, range, layers: relayered(lower.layers, { ...made, place: rules }) },
    ],
    legend: nearLegend(given.legend, { k: look.k, follow, values, aside }),
    read: {
      ...read,
      values: read.values.map((one) => (one.role === 'scale' && scales ? { ...one, at: Array.from(scales) } : one)),
    },
  };
};

// A table's held-out rows by prediction and scale.
LIVE.held = (given, values) => {
  const { live, read } = given;
  const near = nearFor(live.follow);
  const scales = near?.scales(live.follow, values);
  if (!near) return given;
  if (!scales) return { ...given, hint: 'The app works out the scales when you let go.' };
  if (!scaleMoved(live.follow, values)) return given;
  const y = Array.from(scales);
  const top = roundUp(1.03 * Math.max(...y));
  const [panel] = given.panels;
  return {
    ...given,
    panels: [{ ...panel, range: [-0.02 * top, top], ring: { ...panel.ring, y: y[live.place] } }],
    read: { ...read, y, values: read.values.map((one) => (one.role === 'scale' ? { ...one, at: y } : one)) },
  };
};

// A table's training rows, with the neighbours of the held-out row that is looked at.
LIVE.training = (given, values) => {
  const { live, read } = given;
  const { follow, strength } = live;
  const near = nearFor(follow);
  if (!near) return given;
  const place = near.place ?? live.place;
  const look = near.look(follow, values, near.place);
  const value = live.across[place];
  const own = near.leaf.truth[place];
  live.places ??= new Map(read.names.map((name, i) => [name - 1, i]));
  const known = (rows) => rows.map((row) => live.places.get(row)).filter((i) => i !== undefined);
  const { loc, scale } = look;
  const moved = near.place !== null || scaleMoved(follow, values);
  const made = {
    others: (layer) => [{ ...layer, at: known(othersOf(near.rows, look.rows, strength.most)) }],
    near: (layer) => byStrength(look.share, strength).map(({ at, size, opacity }) => (
      { ...layer, at: known(at.map((i) => look.rows[i])), size, opacity }
    )),
    bar: (layer) => (scale === null ? [] : [{ ...layer, x: [value, value], y: [loc - 2 * scale, loc + 2 * scale] }]),
    own: (layer) => [{ ...layer, x: [value], y: [own] }],
    ...(moved ? { marked: () => [] } : {}),
  };
  const [panel] = given.panels;
  const aside = withDensity(panel, { follow, near, values, look, x: value, colour: strength.colour });
  const share = new Array(read.x.length).fill(null);
  look.rows.forEach((row, i) => { share[live.places.get(row)] = look.share[i]; });
  return {
    ...given,
    panels: [{
      ...panel,
      layers: relayered(panel.layers, made),
      ring: panel.ring && { ...panel.ring, x: value, y: loc },
      aside,
    }],
    legend: nearLegend(given.legend, { k: look.k, follow, values, aside }),
    read: { ...read, values: read.values.map((one) => (one.role === 'share' ? { ...one, at: share } : one)) },
  };
};
