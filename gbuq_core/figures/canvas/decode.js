// Reads the bytes that gbuq_core/figures/canvas/encoding.py packs.

const TYPED = { f4: Float32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

function decodeSheet(data) {
  // A copy: what arrives is a window into a whole websocket message, and not always aligned.
  const bytes = (data instanceof Uint8Array ? data : new Uint8Array(data)).slice();
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const sheet = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const read = (blob) => {
    if (!blob) return null;
    const at = 4 + length + blob.at;
    if (blob.type === 'b1') return unpackBits(bytes, at, blob.n);
    return new TYPED[blob.type](bytes.buffer, at, blob.n);
  };
  for (const name of Object.keys(sheet.luts)) sheet.luts[name] = decodeTable(sheet.luts[name]);
  for (const panel of sheet.panels) {
    panel.values = read(panel.values);
    panel.hatched = read(panel.hatched);
    panel.outlined = read(panel.outlined);
    panel.lut = sheet.luts[panel.map];
    panel.cells = sheet.nx * sheet.ny;
    // The last two codes mean "zero or less" (log panels) and "no value".
    panel.top = panel.range ? 2 ** (8 * panel.values.BYTES_PER_ELEMENT) - 3 : 0;
    if (panel.points) {
      for (const part of ['x', 'y', 'group', 'appear', 'vanish']) {
        panel.points[part] = read(panel.points[part]);
      }
    }
  }
  for (const strip of sheet.strips) {
    strip.x = read(strip.x);
    strip.whole = strip.x.every(Number.isInteger);
    strip.frameX = read(strip.frameX);
    for (const line of strip.lines) {
      line.y = read(line.y);
      line.weight = read(line.weight);
    }
  }
  return sheet;
}

function unpackBits(bytes, at, n) {
  const flags = new Uint8Array(n);
  for (let i = 0; i < n; i++) flags[i] = (bytes[at + (i >> 3)] >> (i & 7)) & 1;
  return flags;
}

// 256 colours: as pixels (ABGR), as text, and whether a dark line shows on them.
function decodeTable(hex) {
  const pixels = new Uint32Array(256);
  const css = [];
  const light = new Uint8Array(256);
  for (let i = 0; i < 256; i++) {
    const text = hex.slice(6 * i, 6 * i + 6);
    const [r, g, b] = [0, 2, 4].map((at) => parseInt(text.slice(at, at + 2), 16));
    pixels[i] = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
    css.push('#' + text);
    light[i] = 0.299 * r + 0.587 * g + 0.114 * b > 115 ? 1 : 0;
  }
  return { pixels, css, light };
}

function panelFrame(panel, frame) {
  return Math.min(frame, panel.frames - 1);
}

// The value of a cell, NaN when it has none.
function valueAt(panel, frame, cell) {
  if (panel.shown) return panel.shown[cell]; // a moved knob's picture: live.js
  const f = panelFrame(panel, frame);
  const raw = panel.values[f * panel.cells + cell];
  if (!panel.range) return raw;
  if (raw === panel.top + 2) return NaN;
  if (raw === panel.top + 1) return 0;
  const lo = panel.range[0][panel.range[0].length > 1 ? f : 0];
  const hi = panel.range[1][panel.range[1].length > 1 ? f : 0];
  const share = raw / panel.top;
  return panel.log ? lo * Math.pow(hi / lo, share) : lo + (hi - lo) * share;
}

function limitsAt(panel, frame) {
  if (panel.scale) return panel.scale; // looking.js
  const [lo, hi] = panel.limits;
  return Array.isArray(lo) ? [lo[panelFrame(panel, frame)], hi[panelFrame(panel, frame)]] : [lo, hi];
}

// Where a value lies on a panel's colour scale, 0 to 1; ends take what lies outside.
function shareOf(value, limits, log) {
  if (log) {
    if (value <= 0) return 0;
    return clamp(Math.log(value / limits[0]) / Math.log(limits[1] / limits[0]), 0, 1);
  }
  return clamp((value - limits[0]) / (limits[1] - limits[0]), 0, 1);
}

// Writes the place of every cell in the colour table into `out` (Int16, -1 = no value).
function colourIndices(panel, frame, out) {
  const f = panelFrame(panel, frame);
  const values = panel.shown || panel.values;
  const start = panel.shown ? 0 : f * panel.cells;
  if (panel.range && !panel.shown && !panel.scale) {
    const table = codeTable(panel);
    for (let i = 0; i < panel.cells; i++) out[i] = table[values[start + i]];
    return;
  }
  const [lo, hi] = limitsAt(panel, f);
  const scale = 255.999 / (panel.log ? Math.log(hi / lo) : hi - lo);
  const coded = panel.range && !panel.shown;
  for (let i = 0; i < panel.cells; i++) {
    const v = coded ? valueAt(panel, f, i) : values[start + i];
    if (v !== v) {
      out[i] = -1;
      continue;
    }
    const place = panel.log ? (v > 0 ? Math.log(v / lo) * scale : 0) : (v - lo) * scale;
    out[i] = place > 255 ? 255 : place < 0 ? 0 : place;
  }
}

// Code -> place in the colour table, once a panel. With one range a frame the range is the scale.
function codeTable(panel) {
  if (panel.codeTable) return panel.codeTable;
  const { top } = panel;
  const table = new Int16Array(top + 3);
  const perFrame = Array.isArray(panel.limits[0]);
  for (let code = 0; code <= top; code++) {
    let share = code / top;
    if (!perFrame) {
      const [lo, hi] = [panel.range[0][0], panel.range[1][0]];
      const value = panel.log ? lo * Math.pow(hi / lo, share) : lo + (hi - lo) * share;
      share = shareOf(value, panel.limits, panel.log);
    }
    table[code] = Math.min(255, Math.floor(share * 256));
  }
  table[top + 1] = 0;
  table[top + 2] = -1;
  panel.codeTable = table;
  return table;
}
