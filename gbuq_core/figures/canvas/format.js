// Numbers as people read them, and the ticks of axes and colour bars.

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';

function superscript(n) {
  const digits = String(Math.abs(n)).replace(/\d/g, (d) => SUPERSCRIPTS[d]);
  return (n < 0 ? '⁻' : '') + digits;
}

function minus(text) {
  return text.replace('-', '−');
}

// Four significant digits; powers of ten where a plain number would be long.
function formatValue(value) {
  if (!Number.isFinite(value)) return 'no value';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e-4 && size < 1e6) return minus(String(Number(value.toPrecision(4))));
  return scientific(value, 4);
}

function scientific(value, digits) {
  const [mantissa, exponent] = value.toExponential(digits - 1).split('e');
  const trimmed = String(Number(mantissa));
  const power = '10' + superscript(Number(exponent));
  return minus(trimmed === '1' ? power : `${trimmed} × ${power}`);
}

// Round numbers (1, 2, 2.5, 5 x 10^k) inside [lo, hi], about `count` of them; whole ones if asked.
function linearTicks(lo, hi, count, whole = false) {
  const least = (hi - lo) / Math.max(1, count);
  const rough = whole ? Math.max(1, least) : least;
  const power = Math.pow(10, Math.floor(Math.log10(rough) + 1e-9));
  const fits = (m) => m * power >= rough * 0.999 && !(whole && power < 2 && m === 2.5);
  const step = power * [1, 2, 2.5, 5, 10].find(fits);
  const ticks = [];
  const slack = step * 1e-6;
  for (let k = Math.ceil((lo - slack) / step); k * step <= hi + slack; k++) ticks.push(k * step);
  // One tick gives no scale.
  const finer = ticks.length < 2 && count < 8 && !(whole && step <= 1);
  if (finer) return linearTicks(lo, hi, 2 * count, whole);
  return { ticks, labels: ticks.map((tick) => formatTick(tick, step)) };
}

function formatTick(tick, step) {
  const rounded = Math.abs(tick) < step * 1e-6 ? 0 : tick;
  if (rounded === 0) return '0';
  if (Math.abs(rounded) >= 1e6 || step < 1e-5) return scientific(rounded, 3);
  const power = Math.floor(Math.log10(step) + 1e-9);
  const half = Math.abs(step / Math.pow(10, power) - 2.5) < 0.01;
  return minus(rounded.toFixed(Math.max(0, half ? 1 - power : -power)));
}

// Powers of ten; 1, 2, 5 between them when they are few; round numbers when even those are.
function logTicks(lo, hi, count) {
  const first = Math.ceil(Math.log10(lo) - 1e-9);
  const last = Math.floor(Math.log10(hi) + 1e-9);
  if (last - first >= 1) {
    const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(2, count)));
    const ticks = [];
    for (let e = first; e <= last; e += every) ticks.push(Math.pow(10, e));
    const plain = first >= -3 && last <= 4;
    return { ticks, labels: ticks.map((t) => (plain ? formatValue(t) : scientific(t, 1))) };
  }
  const ticks = [];
  for (let e = first - 1; e <= last + 1; e++) {
    for (const m of [1, 2, 5]) {
      const tick = m * Math.pow(10, e);
      if (tick >= lo * 0.999 && tick <= hi * 1.001) ticks.push(tick);
    }
  }
  if (ticks.length >= 2) return { ticks, labels: ticks.map(formatValue) };
  const linear = linearTicks(lo, hi, Math.min(count, 3));
  return { ticks: linear.ticks, labels: linear.ticks.map(formatValue) };
}

// Where along an axis a cell's centre lies, in axis units.
function cellCentre(axis, index, n) {
  if (!axis.extent) return index;
  const [lo, hi] = axis.extent;
  return lo + ((hi - lo) * (index + 0.5)) / n;
}

// A position in axis units as a share of the axis, 0 to 1 from its first cell's edge.
function axisShare(axis, position, n) {
  if (!axis.extent) return (position + 0.5) / n;
  const [lo, hi] = axis.extent;
  return (position - lo) / (hi - lo);
}

// What the read-out calls a cell along one axis: its label, or its centre.
function cellName(axis, index, n) {
  if (axis.labels) return axis.labels[index];
  if (!axis.extent) return String(index);
  // As many digits as tell neighbouring cells apart.
  const step = Math.abs(axis.extent[1] - axis.extent[0]) / n;
  const centre = cellCentre(axis, index, n);
  if (step < 1e-5 || Math.abs(centre) >= 1e6) return scientific(centre, 4);
  const digits = clamp(Math.ceil(-Math.log10(step)) + 1, 0, 8);
  return minus(String(Number(centre.toFixed(digits))));
}

function frameText(sheet, frame) {
  const name = sheet.frameLabel || 'frame';
  if (!sheet.frameValues) return `${name} ${frame + 1} of ${sheet.frames}`;
  const value = sheet.frameValues[frame];
  const last = sheet.frameValues[sheet.frames - 1];
  if (typeof value === 'string') return `${name} ${value}`;
  return `${name} ${formatValue(value)} of ${formatValue(last)}`;
}

function fileStem(text) {
  return text.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^-+|-+$/g, '') || 'figure';
}
