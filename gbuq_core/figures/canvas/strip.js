// Draws one strip, a line chart, with a pen: heading, legend, axes, lines, cursor.

const STRIP_DASH = [5, 4];

function strokeOf(line, theme) {
  return line.colour === 'text' ? theme.text : line.colour;
}

function stripX(strip, plot, x) {
  const [lo, hi] = strip.xLimits;
  return plot.x + ((x - lo) / (hi - lo)) * plot.w;
}

// NaN for what has no place on a logarithmic axis.
function stripY(strip, plot, y) {
  const [lo, hi] = strip.limits;
  const share = strip.log ? (y > 0 ? Math.log(y / lo) / Math.log(hi / lo) : NaN) : (y - lo) / (hi - lo);
  // Far outside, a number that canvases still draw; the plot's edge cuts it off.
  return plot.y + plot.h - clamp(share, -50, 50) * plot.h;
}

// The x that lies at a pixel, within the axis.
function stripValueAt(strip, plot, px) {
  const [lo, hi] = strip.xLimits;
  return clamp(lo + ((px - plot.x) / plot.w) * (hi - lo), lo, hi);
}

// Number of the last x at or below a value, -1 before the first.
function lastBelow(xs, value) {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const half = (low + high) >> 1;
    if (xs[half] <= value) low = half + 1;
    else high = half;
  }
  return low - 1;
}

function nearestIndex(xs, value) {
  const below = Math.max(0, lastBelow(xs, value));
  const above = Math.min(xs.length - 1, below + 1);
  return value - xs[below] <= xs[above] - value ? below : above;
}

// The frame whose cursor is nearest to x; the cursor need not move one way only.
function frameNear(strip, x) {
  let best = 0;
  strip.frameX.forEach((at, frame) => {
    if (Math.abs(at - x) < Math.abs(strip.frameX[best] - x)) best = frame;
  });
  return best;
}

function cursorX(strip, frame) {
  if (!strip.frameX) return null;
  return clamp(strip.frameX[Math.min(frame, strip.frameX.length - 1)], ...strip.xLimits);
}

function lineValue(strip, line, frame, index) {
  return line.y[Math.min(frame, line.frames - 1) * strip.x.length + index];
}

// Numbers of the values worth drawing: with more than two a pixel, the first, least, greatest
// and last of each pixel column, in order.
function drawnIndices(strip, line, frame, plot) {
  const n = strip.x.length;
  if (n <= 2 * plot.w) return null;
  const found = [];
  let [start, column] = [0, NaN];
  const close = (end) => {
    let [least, most] = [start, start];
    for (let i = start + 1; i < end; i++) {
      const y = lineValue(strip, line, frame, i);
      if (y < lineValue(strip, line, frame, least)) least = i;
      if (y > lineValue(strip, line, frame, most)) most = i;
    }
    const chosen = [start, Math.min(least, most), Math.max(least, most), end - 1];
    chosen.forEach((at, k) => {
      if (!k || at > chosen[k - 1]) found.push(at);
    });
  };
  for (let i = 0; i < n; i++) {
    const here = Math.floor(stripX(strip, plot, strip.x[i]));
    if (here === column) continue;
    if (i) close(i);
    [start, column] = [i, here];
  }
  close(n);
  return found;
}

// Corners of a line as the pens take them; a step holds each value to the next x.
function linePath(strip, line, frame, plot) {
  const flat = [];
  const indices = drawnIndices(strip, line, frame, plot);
  const n = indices ? indices.length : strip.x.length;
  let before = NaN;
  for (let k = 0; k < n; k++) {
    const i = indices ? indices[k] : k;
    const x = stripX(strip, plot, strip.x[i]);
    const y = stripY(strip, plot, lineValue(strip, line, frame, i));
    if (line.step && k) flat.push(x, before);
    flat.push(x, y);
    before = y;
  }
  return flat;
}

// All lines of a frame. What has no neighbour to be joined to is drawn as a dot.
function drawStripLines(pen, strip, plot, frame, theme) {
  for (const line of strip.lines) {
    const flat = linePath(strip, line, frame, plot);
    const colour = strokeOf(line, theme);
    if (line.bars) {
      drawBars(pen, strip, line, frame, plot, colour);
      continue;
    }
    if (line.weight) {
      drawWeighted(pen, strip, line, frame, plot, colour);
      continue;
    }
    if (!line.dots) pen.path(flat, colour, 1.8, line.dash ? STRIP_DASH : null);
    for (let i = 0; i < flat.length; i += 2) {
      const lonely = !(flat[i - 1] === flat[i - 1] && i) && !(flat[i + 3] === flat[i + 3] && i + 3 < flat.length);
      const drawn = flat[i + 1] === flat[i + 1];
      if (drawn && (line.dots || lonely)) pen.circle(flat[i], flat[i + 1], 2.2, { fill: colour });
    }
  }
}

// A line whose opacity is its weight: a path for each stretch of one of eight levels.
function drawWeighted(pen, strip, line, frame, plot, colour) {
  const n = strip.x.length;
  const first = Math.min(frame, line.frames - 1) * n;
  const levelAt = (i) => Math.round((8 * line.weight[first + i]) / 255);
  const ink = parseColour(colour);
  const corner = (i) => [
    stripX(strip, plot, strip.x[i]), stripY(strip, plot, lineValue(strip, line, frame, i)),
  ];
  for (let start = 0; start < n - 1;) {
    const level = levelAt(start);
    let end = start + 1;
    const flat = corner(start);
    while (end < n && (levelAt(end) === level || end === start + 1)) flat.push(...corner(end++));
    if (level) pen.path(flat, rgba(ink, level / 8), 2.2);
    start = end - 1;
  }
}

// Bars stand on the foot of the plot, a hair apart.
function drawBars(pen, strip, line, frame, plot, colour) {
  const foot = plot.y + plot.h;
  for (let i = 0; i + 1 < strip.x.length; i++) {
    const [left, right] = [stripX(strip, plot, strip.x[i]), stripX(strip, plot, strip.x[i + 1])];
    const top = stripY(strip, plot, lineValue(strip, line, frame, i));
    const gap = right - left > 4 ? 1 : 0;
    if (top < foot) pen.rect(left, top, Math.max(right - left - gap, 0.5), foot - top, colour);
  }
}

// The plot with room for half a stroke; as far as the cursor for lines that grow.
function lineBox(strip, plot, frame) {
  const box = { x: plot.x - 3, y: plot.y - 2, w: plot.w + 6, h: plot.h + 4 };
  const x = strip.mode === 'grow' ? cursorX(strip, frame) : null;
  if (x !== null) box.w = Math.max(0, stripX(strip, plot, x) + 1 - box.x);
  return box;
}

function drawStripFrame(pen, strip, place, theme) {
  const { plot, legend } = place;
  const title = fitText(strip.title, plot.w, theme, SIZE.title, 600);
  pen.text(title, plot.x, 13, { size: SIZE.title, weight: 600, colour: theme.text });
  const used = textWidth(title, theme, SIZE.title, 600) + 10;
  const unit = fitText(strip.yLabel, plot.w - used, theme, SIZE.label);
  pen.text(unit, plot.x + used, 13, { size: SIZE.label, colour: theme.soft });
  if (legend.entries.length) {
    drawLegend(pen, legend.entries, legend.w, theme, legend.x, legend.y);
  }
  drawShades(pen, strip, plot, theme);
  drawStripAxes(pen, strip, place, theme);
  drawMarks(pen, strip, plot, theme);
}

function drawShades(pen, strip, plot, theme) {
  for (const [low, high] of strip.shaded) {
    const [lo, hi] = strip.xLimits;
    if (high < lo || low > hi) continue;
    const left = stripX(strip, plot, Math.max(low, lo));
    pen.rect(left, plot.y, stripX(strip, plot, Math.min(high, hi)) - left, plot.h, theme.shade);
  }
}

function stripTicks(strip, height) {
  const count = clamp(Math.round(height / 36), 2, 5);
  const [lo, hi] = strip.limits;
  return strip.log ? logTicks(lo, hi, count) : linearTicks(lo, hi, count);
}

function drawStripAxes(pen, strip, { plot, xTitle }, theme) {
  const style = { size: SIZE.tick, colour: theme.soft };
  const { ticks, labels } = stripTicks(strip, plot.h);
  ticks.forEach((tick, i) => {
    const at = stripY(strip, plot, tick);
    pen.rect(plot.x, Math.round(at), plot.w, 1, theme.faint);
    const text = fitText(labels[i], LABEL_LIMIT, theme, SIZE.tick);
    pen.text(text, plot.x - 8, at, { ...style, align: 'right', baseline: 'middle' });
  });
  const foot = plot.y + plot.h;
  pen.rect(plot.x, foot, plot.w, 1, theme.line);
  const [lo, hi] = strip.xLimits;
  const across = linearTicks(lo, hi, clamp(plot.w / 70, 2, 9), strip.whole);
  let free = -Infinity;
  across.ticks.forEach((tick, i) => {
    const at = stripX(strip, plot, tick);
    const width = textWidth(across.labels[i], theme, SIZE.tick);
    pen.rect(Math.min(Math.round(at), plot.x + plot.w - 1), foot + 1, 1, 4, theme.line);
    // The last label ends where the box does.
    const left = Math.min(at - width / 2, plot.x + plot.w + RIGHT - width);
    if (left < free) return;
    free = left + width + 6;
    pen.text(across.labels[i], left, foot + 17, style);
  });
  if (!xTitle || !strip.xLabel) return;
  const text = fitText(strip.xLabel, plot.w + 20, theme, SIZE.label);
  const title = { size: SIZE.label, colour: theme.soft, align: 'center' };
  pen.text(text, plot.x + plot.w / 2, foot + TICK_ROW + 13, title);
}

// A faint hairline through the plot and a short tick on its foot; many marks are ticks alone.
function drawMarks(pen, strip, plot, theme) {
  const [lo, hi] = strip.xLimits;
  const [lines, ticks] = [[], []];
  for (const mark of strip.marks) {
    if (mark < lo || mark > hi) continue;
    const x = Math.round(stripX(strip, plot, mark)) + 0.5;
    lines.push(x, plot.y, x, plot.y + plot.h);
    ticks.push(x, plot.y + plot.h - 7, x, plot.y + plot.h);
  }
  if (lines.length / 4 <= plot.w / 8) pen.segments(lines, theme.faint, 1);
  pen.segments(ticks, theme.text, 2);
}

// The cursor of a frame: a line with a grip on top, and every line's value there.
function drawCursor(pen, strip, plot, frame, theme) {
  const x = cursorX(strip, frame);
  if (x === null) return;
  const at = stripX(strip, plot, x);
  pen.segments([at, plot.y, at, plot.y + plot.h], theme.accent, 1.5);
  pen.circle(at, plot.y, 4, { fill: theme.accent });
  const below = Math.max(0, lastBelow(strip.x, x));
  drawValueDots(pen, strip, plot, frame, theme, at, (line) => valueBetween(strip, line, frame, below, x));
}

// A line's value at x, between two of its points as it is drawn there.
function valueBetween(strip, line, frame, below, x) {
  const y = lineValue(strip, line, frame, below);
  const next = Math.min(below + 1, strip.x.length - 1);
  const step = strip.x[next] - strip.x[below];
  if (line.dots) return NaN;
  if (line.step || !(step > 0) || x <= strip.x[below]) return y;
  const share = (x - strip.x[below]) / step;
  const y2 = lineValue(strip, line, frame, next);
  if (!strip.log) return y + (y2 - y) * share;
  return y > 0 && y2 > 0 ? y * Math.pow(y2 / y, share) : NaN;
}

function drawValueDots(pen, strip, plot, frame, theme, x, valueOf) {
  for (const line of strip.lines) {
    const y = stripY(strip, plot, valueOf(line));
    if (!(y >= plot.y - 1 && y <= plot.y + plot.h + 1)) continue;
    pen.circle(x, y, 3.4, { fill: strokeOf(line, theme), stroke: theme.background, width: 1.4 });
  }
}

// What a strip's legend says; nothing for one line that has the strip's own name.
function stripEntries(strip, narrow) {
  if (!strip.legend || (strip.legend === 'narrow' && !narrow)) return [];
  const entries = [];
  const alone = strip.lines.length === 1 && strip.lines[0].name === strip.title;
  for (const { name, colour, dash, dots, bars } of strip.lines) {
    if (name && !alone) entries.push({ kind: 'line', text: name, colour, dash, dots, bars });
  }
  if (strip.markLabel && strip.marks.length) entries.push({ kind: 'mark', text: strip.markLabel });
  if (strip.shadedLabel && strip.shaded.length) {
    entries.push({ kind: 'shade', text: strip.shadedLabel });
  }
  return entries;
}

function drawStripLegendMark(pen, entry, x, y, theme) {
  const colour = strokeOf(entry, theme);
  if (entry.kind === 'mark') pen.segments([x + 9, y, x + 9, y + 14], theme.text, 2);
  else if (entry.kind === 'shade') {
    pen.rect(x + 1, y, 15, 14, theme.shade);
    drawEdge(pen, { x: x + 1, y, w: 15, h: 14 }, theme.faint);
  } else if (entry.bars) pen.rect(x + 1, y + 1, 15, 12, colour);
  else if (entry.dots) pen.circle(x + 8, y + 7, 3, { fill: colour });
  else pen.path([x + 1, y + 7, x + 17, y + 7], colour, 2.2, entry.dash ? STRIP_DASH : null);
}
