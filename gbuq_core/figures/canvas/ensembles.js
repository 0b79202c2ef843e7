// What members say together: total, data and knowledge uncertainty, as gbuq_core/uncertainty.py
// computes them. Members come from live.py's encode_members, once for each fit.

const CODES = 65536; // of a probability; the last one is 1
const STORES = 4; // sets of members that a page holds

// Of all figures of the page, however often this module is loaded.
const memberStores = (globalThis.gbuqMembers ??= new Map());

// Keeps what encode_members packed and tells the figures that wait for it.
function keepMembers(data) {
  const bytes = (data instanceof Uint8Array ? data : new Uint8Array(data)).slice();
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  if (memberStores.has(header.store)) return;
  const arrays = header.members.map((blob) => {
    const at = 4 + length + blob.at;
    if (blob.split) return { values: joinSteps(bytes.subarray(at), blob), shape: blob.shape };
    return { values: new TYPED[blob.type](bytes.buffer, at, blob.n), shape: blob.shape };
  });
  memberStores.set(header.store, arrays);
  if (memberStores.size > STORES) memberStores.delete(memberStores.keys().next().value);
  globalThis.dispatchEvent(new CustomEvent('gbuq-members', { detail: header.store }));
}

// A page's members are differences between stages, low bytes first (live.py's encode_members).
function joinSteps(bytes, { n, shape, split }) {
  const values = new Uint16Array(n);
  const stage = n / shape[0];
  for (let i = 0; i < n; i++) {
    const code = bytes[i] | (bytes[n + i] << 8);
    const step = (code >> 1) ^ -(code & 1);
    values[i] = split * step + (i < stage ? 0 : values[i - stage]);
  }
  return values;
}

// -p ln p of every code of a probability.
let entropyTable = null;
function entropyOfCode() {
  if (entropyTable) return entropyTable;
  entropyTable = new Float64Array(CODES);
  for (let code = 1; code < CODES - 1; code++) {
    const p = code / (CODES - 1);
    entropyTable[code] = -p * Math.log(p);
  }
  return entropyTable;
}

// The members of one method. Nothing is allocated while a knob moves.
class Ensemble {
  constructor(family, spec, { values, shape }) {
    const [stages, models, rows, cells] = shape;
    Object.assign(this, { family, spec, values, models, rows, cells });
    const last = spec.stages[stages - 1];
    this.stageAt = new Int32Array(last + 1).fill(-1);
    spec.stages.forEach((trees, stage) => {
      this.stageAt[trees] = stage;
    });
    this.last = stages - 1;
    this.chosen = new Int32Array(stages * models); // members by stage and model
    this.count = 0;
    this.sums = new Float64Array(cells * rows);
    if (family === 'classes') {
      this.entropies = new Float64Array(stages * models * cells);
      this.known = new Uint8Array(stages * models);
    }
  }

  // Chooses the members that the knobs ask for when the model has so many trees.
  choose(trees, { step, start, burn_in: burnIn, shown }) {
    const { plan, cycle } = this.spec;
    this.count = 0;
    const most = shown || Infinity;
    if (plan === 'models') {
      const stage = this.stageAt[trees] >= 0 ? this.stageAt[trees] : this.last;
      for (let model = 0; model < Math.min(this.models, most); model++) {
        this.chosen[this.count++] = stage * this.models + model;
      }
      return;
    }
    const cut = plan === 'truncation';
    const every = cut ? step : cycle;
    const last = Math.floor(trees / every);
    let first = cut ? Math.floor((start * trees) / step + 1e-9) + 1 : burnIn + 1;
    first = Math.max(first, last - most + 1);
    for (let k = first; k <= last; k++) {
      const stage = this.stageAt[k * every];
      if (stage >= 0) this.chosen[this.count++] = stage * this.models;
    }
  }

  // Writes the maps of the chosen members into three arrays; NaN where there is no such value.
  decompose(total, data, knowledge) {
    if (!this.count) {
      for (const part of [total, data, knowledge]) part.fill(NaN);
    } else if (this.family === 'classes') this.ofClasses(total, data, knowledge);
    else this.ofNormals(total, data, knowledge);
    if (this.count === 1) knowledge.fill(NaN);
  }

  // Entropy of the mean, mean of the entropies, and their difference.
  ofClasses(total, data, knowledge) {
    const { cells, rows, sums, values, count } = this;
    sums.fill(0);
    data.fill(0);
    for (let m = 0; m < count; m++) {
      const member = this.chosen[m];
      this.learnEntropies(member);
      const from = member * rows * cells;
      for (let i = 0; i < rows * cells; i++) sums[i] += values[from + i];
      const own = member * cells;
      for (let i = 0; i < cells; i++) data[i] += this.entropies[own + i];
    }
    const all = count * (CODES - 1);
    for (let i = 0; i < cells; i++) {
      let left = all;
      let whole = 0;
      for (let row = 0; row < rows; row++) {
        const sum = sums[row * cells + i];
        left -= sum;
        if (sum > 0) whole -= (sum / all) * Math.log(sum / all);
      }
      if (left > 0) whole -= (left / all) * Math.log(left / all);
      data[i] /= count;
      const between = count > 1 ? Math.max(whole - data[i], 0) : 0;
      knowledge[i] = between;
      total[i] = data[i] + between;
    }
  }

  // A member's entropies are worked out when it is first chosen.
  learnEntropies(member) {
    if (this.known[member]) return;
    this.known[member] = 1;
    const { cells, rows, values, entropies } = this;
    const table = entropyOfCode();
    for (let i = 0; i < cells; i++) {
      let left = CODES - 1;
      let entropy = 0;
      for (let row = 0; row < rows; row++) {
        const code = values[(member * rows + row) * cells + i];
        left -= code;
        entropy += table[code];
      }
      entropies[member * cells + i] = entropy + table[left];
    }
  }

  // The law of total variance: the mean of the variances, and the variance of the means.
  ofNormals(total, data, knowledge) {
    const { cells, values, count } = this;
    for (let i = 0; i < cells; i++) {
      let mean = 0;
      let within = 0;
      for (let m = 0; m < count; m++) {
        const from = 2 * this.chosen[m] * cells + i;
        mean += values[from];
        within += values[from + cells];
      }
      mean /= count;
      let between = 0;
      for (let m = 0; m < count; m++) {
        const apart = values[2 * this.chosen[m] * cells + i] - mean;
        between += apart * apart;
      }
      data[i] = within / count;
      knowledge[i] = between / count;
      total[i] = data[i] + knowledge[i];
    }
  }
}

// A colour scale for some maps, as shared_limits of panels.py; with `root` for their square roots.
function sharedLimits(maps, log, root = false) {
  let [lo, hi] = [Infinity, -Infinity];
  for (const map of maps) {
    for (let i = 0; i < map.length; i++) {
      const value = map[i];
      if (value !== value || (log && value <= 0)) continue;
      if (value < lo) lo = value;
      if (value > hi) hi = value;
    }
  }
  if (lo > hi) return log ? [0.1, 1] : [0, 1];
  if (root) [lo, hi] = [Math.sqrt(lo), Math.sqrt(hi)];
  if (log) {
    lo = Math.max(lo, hi * LOG_SPAN);
    return lo < hi ? [lo, hi] : [lo / 2, hi * 2];
  }
  if (lo < hi) return [lo, hi];
  const room = 0.5 * Math.abs(lo) || 0.5;
  return [lo - room, hi + room];
}

const LOG_SPAN = 1e-8;

// Marks so many percent of the cells, those with the largest values; of equals the first.
function flagCells(values, percent, out, scratch) {
  out.fill(0);
  const wanted = roundHalfEven((values.length * percent) / 100);
  if (!wanted) return;
  scratch.set(values);
  scratch.sort(); // of a typed array: as numbers, NaN last
  if (!Number.isFinite(scratch[scratch.length - 1])) return;
  const least = scratch[scratch.length - wanted];
  let left = wanted;
  for (let i = 0; i < values.length; i++) {
    if (values[i] > least) {
      out[i] = 1;
      left -= 1;
    }
  }
  for (let i = 0; left > 0 && i < values.length; i++) {
    if (values[i] === least) {
      out[i] = 1;
      left -= 1;
    }
  }
}

// As Python's round.
function roundHalfEven(value) {
  const whole = Math.floor(value);
  const rest = value - whole;
  return rest < 0.5 || (rest === 0.5 && whole % 2 === 0) ? whole : whole + 1;
}
