// Maps of neighbours that follow the bar's knobs and the pointer: scale, affinity with the place
// under the pointer, its neighbours as points, and their targets below. What is computed is
// near.js's; `sheet.near` is made where the maps are drawn (neighbours_maps).

const LATER = 'the app, when you let go';

class NearMaps {
  constructor(sheet, bar) {
    Object.assign(this, { sheet, bar, near: sheet.near, on: false, pointed: null });
    this.live = { members: null }; // as the maps of members have it: there are none
    const { panels, strips } = sheet;
    this.strips = this.near.strip === null ? [] : [strips[this.near.strip]];
    this.markers = sheet.markers;
    for (const panel of panels) {
      const { limits, unit, points, markers, outlined } = panel;
      panel.drawn = { limits, unit, points, markers, outlined };
      panel.buffer = new Float32Array(panel.cells);
    }
    this.strips.forEach((strip) => {
      strip.drawn = { lines: strip.lines, limits: strip.limits, marks: strip.marks };
    });
    const step = ([low, high], n) => (high - low) / n;
    const [x, y] = [sheet.x.extent, sheet.y.extent];
    this.centre = (place) => [
      x[0] + (place % sheet.nx + 0.5) * step(x, sheet.nx),
      y[0] + (Math.floor(place / sheet.nx) + 0.5) * step(y, sheet.ny),
    ];
  }

  take() {
    return false;
  }

  // The cell under the pointer or the cursor; whether it is another one than before.
  look(cell) {
    const place = cell ? cell.row * this.sheet.nx + cell.column : null;
    if (place === this.pointed) return false;
    this.pointed = place;
    return true;
  }

  // Puts the picture of the knobs and the pointer into the panels; false if it is the page's.
  apply() {
    const { follow, place } = this.near;
    const near = nearFor(follow);
    const { values } = this.bar;
    const pointed = this.pointed === place ? null : this.pointed;
    const moved = pointed !== null || Object.entries(follow.at).some(([key, value]) => key in values && values[key] !== value);
    if (!near || !moved) {
      if (this.on) this.restore();
      return false;
    }
    this.on = true;
    const look = near.look(follow, values, pointed);
    const scales = near.scales(follow, values);
    this.showScale(scales, scaleMoved(follow, values));
    const [, , share] = this.sheet.panels;
    const affinity = near.mapAffinity(look.codes, look.counted);
    for (let i = 0; i < affinity.length; i++) share.buffer[i] = affinity[i] / look.counted.count;
    share.shown = share.buffer;
    this.showRows(near, look);
    const at = pointed === null ? [this.markers[0].x, this.markers[0].y] : this.centre(pointed);
    this.sheet.markers = [];
    for (const panel of this.sheet.panels) {
      panel.markers = [...panel.drawn.markers, { ...this.markers[0], x: at[0], y: at[1] }];
    }
    this.strips.forEach((strip) => this.showTargets(strip, near, look, pointed));
    return true;
  }

  showScale(scales, moved) {
    const [noise, scale] = this.sheet.panels;
    if (!scales) {
      Object.assign(scale, scale.drawn, { shown: null, unit: LATER, points: scale.points });
      return;
    }
    scale.buffer.set(scales);
    const limits = moved ? this.limitsOf(scales) : scale.drawn.limits;
    Object.assign(scale, { shown: scale.buffer, limits, unit: scale.drawn.unit });
    noise.limits = limits;
    for (const panel of this.sheet.panels) panel.outlined = moved ? null : panel.drawn.outlined;
  }

  limitsOf(scales) {
    let [low, high] = this.near.noise;
    for (const one of scales) {
      if (one < low) low = one;
      if (one > high) high = one;
    }
    return [Math.min(low, 0), high];
  }

  showRows(near, { rows, k }) {
    const { X } = near.leaf;
    const [, scale, share] = this.sheet.panels;
    const column = (all, j) => Float32Array.from(all, (row) => X[2 * row + j]);
    const name = (text) => text.replace(/\d[\d,]*/, k);
    const { points } = scale.drawn;
    scale.points = { ...points, x: column(rows, 0), y: column(rows, 1), group: new Uint8Array(rows.length), names: points.names.map(name) };
    const others = othersOf(near.rows, rows, this.near.most);
    const every = [...others, ...rows];
    const group = new Uint8Array(every.length).fill(1, others.length);
    const [plain, strong] = share.drawn.points.names;
    share.points = { ...share.drawn.points, x: column(every, 0), y: column(every, 1), group, names: [plain, name(strong)] };
  }

  // The neighbours' targets as bars, and the density that the knobs ask for.
  showTargets(strip, near, look, pointed) {
    const { follow } = this.near;
    const { values } = this.bar;
    const bars = targetBars(look.targets, strip.x);
    const family = values.family ?? follow.at.family;
    const still = pointed === null && !scaleMoved(follow, values) && family === follow.at.family;
    const [, key] = [family, follow.families[family][0]];
    let density = new Float32Array(strip.x.length).fill(NaN);
    const found = near.density(follow, values, look);
    const used = key === 'best' ? follow.family : key;
    if (still) density = strip.drawn.lines[1].y;
    else if (found) density = Float32Array.from(familyDensity(used, look.loc, look.scale, look.targets, look.setting.least, strip.x));
    const [first, second] = strip.drawn.lines;
    strip.lines = [{ ...first, y: bars }, { ...second, y: density }];
    const most = Math.max(...bars.filter(Number.isFinite), ...density.filter(Number.isFinite), 1e-12);
    strip.limits = [0, 1.12 * most];
    strip.marks = pointed === null ? strip.drawn.marks : [near.leaf.truth[pointed]];
  }

  restore() {
    this.on = false;
    this.sheet.markers = this.markers;
    for (const panel of this.sheet.panels) Object.assign(panel, panel.drawn, { shown: null, shownKey: null });
    for (const strip of this.strips) Object.assign(strip, strip.drawn);
  }
}

// Bars whose area is the share of the targets in them, at these places; as charts.py has them.
function targetBars(targets, x) {
  const out = new Float32Array(x.length).fill(NaN);
  const inside = targets.filter((v) => v >= x[0] && v <= x[x.length - 1]);
  const [low, high] = [Math.min(...inside), Math.max(...inside)];
  if (inside.length < 2 || low === high) return out;
  const bars = Math.min(Math.max(Math.round(2 * Math.cbrt(targets.length)), 4), 24);
  const width = (high - low) / bars;
  const counts = new Float64Array(bars);
  for (const one of inside) counts[Math.min(Math.floor((one - low) / width), bars - 1)]++;
  for (let i = 0; i < x.length; i++) {
    const bin = Math.floor((x[i] - low) / width);
    if (bin >= 0 && bin < bars && counts[bin]) out[i] = counts[bin] / (targets.length * width);
  }
  return out;
}
