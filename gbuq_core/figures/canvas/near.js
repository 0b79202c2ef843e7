// Neighbours, their scale and their density at any place, from the leaves of rows and places: what
// gbuq_core/ibug computes, for pictures whose knobs and pointer move. Tables come from pack_table of
// figures/near.py, once for each fit.

const NEAR_TABLES = 9; // tables that a page holds
const NEAR_TYPES = { u1: Uint8Array, u2: Uint16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };
const DENSITY_POINTS = 201;
const DENSITY_REACH = 4.5; // stds to either side of a prediction

// Of all figures of the page, however often this module is loaded.
const nearTables = (globalThis.gbuqNear ??= new Map());
const nearMade = (globalThis.gbuqNearMade ??= new Map());

// Keeps a table, and tells the figures that wait for it.
function keepNear(data) {
  const bytes = (data instanceof Uint8Array ? data : new Uint8Array(data)).slice();
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const { store, blobs } = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  if (nearTables.has(store)) return;
  const table = {};
  for (const [name, { at, type, shape }] of Object.entries(blobs)) {
    const n = shape.reduce((a, b) => a * b, 1);
    const kind = NEAR_TYPES[type];
    const start = 4 + length + at; // a multiple of four bytes, but not always of eight
    table[name] = new kind(bytes.buffer.slice(start, start + n * kind.BYTES_PER_ELEMENT));
    table[`${name}Shape`] = shape;
  }
  nearTables.set(store, table);
  if (nearTables.size > NEAR_TABLES) nearTables.delete(nearTables.keys().next().value);
  globalThis.dispatchEvent(new CustomEvent('gbuq-near', { detail: store }));
}

// What finds neighbours for a figure, shared by the figures of one picture; null before its tables
// have come. `follow` is live.py's Follow.
function nearFor({ leaves, scales, trees }) {
  const [leaf, scale, tree] = [leaves, scales, trees].map((name) => nearTables.get(name));
  if (!leaf || !scale) return null;
  let near = nearMade.get(leaves);
  if (near?.leaf !== leaf) {
    near = new Near(leaf);
    nearMade.set(leaves, near);
    if (nearMade.size > 3) nearMade.delete(nearMade.keys().next().value);
  }
  near.scale = scale;
  near.tree = tree ?? null;
  return near;
}

class Near {
  constructor(leaf) {
    this.leaf = leaf;
    const [[trees, rows], [, places]] = [leaf.rowsShape, leaf.placesShape];
    Object.assign(this, { trees, rows, places, place: null, values: null });
    this.shared = new Int32Array(rows);
    this.reach = new Int32Array(places);
    this.sorted = new Int32Array(rows);
    this.starts = new Int32Array(trees + 2);
    this.scaleOf = new Float64Array(places);
    this.own = new Uint16Array(trees);
  }

  // What all figures of the picture are told: where the pointer is (null: at the chosen place), and
  // where the knobs stand.
  tell(change) {
    const same = Object.entries(change).every(([key, value]) => (
      JSON.stringify(this[key]) === JSON.stringify(value)
    ));
    if (same) return;
    Object.assign(this, change);
    globalThis.dispatchEvent(new CustomEvent('gbuq-near-moved', { detail: this }));
  }

  // Whether these knobs ask for other trees than those of the tables.
  otherTrees({ at, counts }, values) {
    const now = { ...at, ...values };
    if (counts[now.tau] !== counts[at.tau]) return true;
    return now.order !== at.order && counts[now.tau] < this.trees;
  }

  // The trees that count.
  counted({ at, counts }, values) {
    const now = { ...at, ...values };
    return { count: Math.min(counts[now.tau], this.trees), order: now.order };
  }

  // k, least scale, gamma and delta; null where nobody has worked them out.
  setting(follow, values) {
    const { at } = follow;
    const now = { ...at, ...values };
    const calibrated = Number(now.calibrate);
    let table = this.scale.by_k;
    let row = now.k;
    if (this.otherTrees(follow, values)) {
      if (!this.tree || now.k !== at.k || now.order !== at.order) return null;
      table = this.tree.by_trees;
      row = now.tau;
    }
    const first = 4 * (2 * row + calibrated);
    const [k, least, gamma, delta] = table.subarray(first, first + 4);
    return { k, least, gamma, delta };
  }

  // k alone, whatever trees count.
  kOf({ at }, values) {
    return this.scale.by_k[8 * { ...at, ...values }.k];
  }

  // The scale of every place; null while other trees count than those of the tables.
  scales(follow, values) {
    if (this.otherTrees(follow, values)) return null;
    const { at } = follow;
    const now = { ...at, ...values };
    const { least, gamma, delta } = this.setting(follow, values);
    const std = this.scale.std.subarray(this.scale.at[now.k] * this.places);
    for (let i = 0; i < this.places; i++) this.scaleOf[i] = gamma * Math.max(std[i], least) + delta;
    return this.scaleOf;
  }

  // The leaves of a place of the grid, or of the chosen one.
  codesOf(follow, place) {
    if (place === null) return follow.codes;
    for (let t = 0; t < this.trees; t++) this.own[t] = this.leaf.places[t * this.places + place];
    return this.own;
  }

  // In how many of the trees that count each row shares a leaf with these.
  count(codes, { count, order }, table, out) {
    const n = out.length;
    out.fill(0);
    for (let i = 0; i < count; i++) {
      const t = this.leaf.orders[order * this.trees + i];
      const code = codes[t];
      const first = t * n;
      for (let r = 0; r < n; r++) if (table[first + r] === code) out[r]++;
    }
    return out;
  }

  affinities(codes, counted) {
    return this.count(codes, counted, this.leaf.rows, this.shared);
  }

  mapAffinity(codes, counted) {
    return this.count(codes, counted, this.leaf.places, this.reach);
  }

  // Rows by falling affinity, ties by rising number: the first k are the neighbours.
  nearest(affinities, k) {
    const { starts, sorted, trees } = this;
    starts.fill(0);
    for (let r = 0; r < affinities.length; r++) starts[trees - affinities[r] + 1]++;
    for (let i = 1; i < starts.length; i++) starts[i] += starts[i - 1];
    for (let r = 0; r < affinities.length; r++) sorted[starts[trees - affinities[r]]++] = r;
    return sorted.subarray(0, k);
  }

  // Everything about a place: its neighbours with their share of the trees, its prediction and its
  // scale (null where the calibration of these knobs is not known yet).
  look(follow, values, place) {
    const counted = this.counted(follow, values);
    const codes = this.codesOf(follow, place);
    const setting = this.setting(follow, values);
    const k = setting?.k ?? this.kOf(follow, values);
    const affinities = this.affinities(codes, counted);
    const rows = this.nearest(affinities, k);
    const share = Array.from(rows, (row) => affinities[row] / counted.count);
    const targets = Array.from(rows, (row) => this.leaf.y[row]);
    const scale = setting && setting.gamma * Math.max(stdOf(targets), setting.least) + setting.delta;
    const loc = place === null ? follow.loc : this.leaf.loc[place];
    return { k, codes, counted, rows: Array.from(rows), share, targets, loc, scale, setting };
  }

  // The density of the family that the knobs ask for: { y, density, name }; null where the family
  // has to be fitted, which a server does once the pointer or the knob is let go.
  density(follow, values, { loc, scale, targets, setting }) {
    const now = { ...follow.at, ...values };
    let [key, name] = follow.families[now.family];
    if (key === 'best') {
      const asked = ['k', 'tau', 'order', 'calibrate', 'family'].some((one) => now[one] !== follow.at[one]);
      if (asked) return null;
      key = follow.family;
      name = follow.families.find(([other]) => other === key)[1];
    }
    if (scale === null || !follow.closed.includes(key)) return null;
    const y = densityGrid(loc, scale, targets);
    const density = familyDensity(key, loc, scale, targets, setting.least, y);
    return density && { y, density, name: `density (${name})` };
  }
}

// Whether knobs that scales depend on stand elsewhere than in the picture that was drawn.
const OF_SCALE = ['k', 'tau', 'order', 'calibrate'];

function scaleMoved({ at }, values) {
  return OF_SCALE.some((key) => key in values && values[key] !== at[key]);
}

// The std of targets, divided by their number, from the nearest one.
function stdOf(targets) {
  let [sum, square] = [0, 0];
  for (const target of targets) {
    const away = target - targets[0];
    sum += away;
    square += away * away;
  }
  const mean = sum / targets.length;
  return Math.sqrt(Math.max(square / targets.length - mean * mean, 0));
}

// Places of y that hold the density and the neighbours.
function densityGrid(loc, scale, targets) {
  const low = Math.min(loc - DENSITY_REACH * scale, ...targets);
  const high = Math.max(loc + DENSITY_REACH * scale, ...targets);
  const margin = 0.03 * (high - low) || 1;
  const step = (high - low + 2 * margin) / (DENSITY_POINTS - 1);
  return Array.from({ length: DENSITY_POINTS }, (_, i) => low - margin + i * step);
}

// Densities with this mean and std, as gbuq_core/ibug/families.py matches them.
function familyDensity(key, loc, scale, targets, least, y) {
  const normal = (z) => Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);
  if (key === 'normal') return y.map((v) => normal((v - loc) / scale) / scale);
  if (key === 'laplace') {
    const b = scale / Math.SQRT2;
    return y.map((v) => Math.exp(-Math.abs(v - loc) / b) / (2 * b));
  }
  if (key === 'logistic') {
    const s = (scale * Math.sqrt(3)) / Math.PI;
    return y.map((v) => {
      const e = Math.exp(-Math.abs(v - loc) / s);
      return e / (s * (1 + e) ** 2);
    });
  }
  if (key === 'gumbel') {
    const s = (scale * Math.sqrt(6)) / Math.PI;
    const mode = loc - 0.5772156649015329 * s;
    return y.map((v) => {
      const z = (v - mode) / s;
      return Math.exp(-z - Math.exp(-z)) / s;
    });
  }
  if (key === 'log-normal') {
    if (Math.min(...targets) <= 0) return null;
    const mean = loc > 0 ? loc : targets.reduce((a, b) => a + b, 0) / targets.length;
    const variance = Math.log1p((scale / mean) ** 2);
    const s = Math.sqrt(variance);
    const m = Math.log(mean) - variance / 2;
    return y.map((v) => (v > 0 ? normal((Math.log(v) - m) / s) / (s * v) : 0));
  }
  const k = targets.length;
  const std = stdOf(targets);
  const width = std < least ? least * k ** -0.2 : std * Math.sqrt(k / (k - 1)) * k ** -0.2;
  return y.map((v) => {
    let sum = 0;
    for (const target of targets) sum += normal((v - target) / width);
    return sum / (k * width);
  });
}

// Neighbours in a few groups, the weakest first, as parts.py's by_strength makes them.
function byStrength(share, { levels, sizes, opacities }) {
  const [low, high] = [Math.min(...share), Math.max(...share)];
  const groups = Array.from({ length: levels }, () => []);
  share.forEach((one, i) => {
    const relative = high > low ? (one - low) / (high - low) : 1;
    groups[Math.min(Math.floor(relative * levels), levels - 1)].push(i);
  });
  const between = ([a, b], t) => a + t * (b - a);
  return groups.flatMap((at, level) => {
    const t = level / (levels - 1);
    return at.length ? [{ at, size: between(sizes, t), opacity: between(opacities, t) }] : [];
  });
}

// Rows that are no neighbours, evenly thinned to as many as a picture takes.
function othersOf(n, rows, most) {
  const taken = new Uint8Array(n);
  for (const row of rows) taken[row] = 1;
  const rest = [];
  for (let row = 0; row < n; row++) if (!taken[row]) rest.push(row);
  if (rest.length <= most) return rest;
  return Array.from({ length: most }, (_, i) => rest[Math.floor((i * (rest.length - 1)) / (most - 1))]);
}

// The next of 1, 1.5, 2, 3, ... times a power of ten: an axis that seldom moves.
function roundUp(value) {
  if (!(value > 0) || !Number.isFinite(value)) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * unit >= value * (1 - 1e-9));
}
