// Draws one panel with a pen: heading, colour bar, axes, map and what lies over it.

// The heading, the colour bar and the axes.
function drawFrame(pen, sheet, panel, place, frame, theme) {
  drawHeading(pen, panel, place, frame, theme);
  drawBar(pen, panel, place, limitsAt(panel, frame), theme);
  drawAxes(pen, sheet, place, theme);
}

// A title wider than its map begins left of it, as far as its panel reaches; one wider than the
// panel is set smaller, and only then cut. Maps are rounded to whole pixels, so that the last panel
// may end a little outside the figure: titles keep off its edge.
function drawHeading(pen, panel, { map, crowded, ...place }, frame, theme) {
  const w = place.w - 3;
  const y = 13;
  const mark = panel.accent ? 15 : 0;
  const needed = (size) => mark + textWidth(panel.title, theme, size, 600);
  const size = needed(SIZE.title) <= w ? SIZE.title : SIZE.label;
  const x = Math.max(0, Math.min(map.x, w - needed(size)));
  if (panel.accent) pen.rect(x, y - 9, 9, 9, panel.accent);
  const title = fitText(panel.title, w - x - mark, theme, size, 600);
  pen.text(title, x + mark, y, { size, weight: 600, colour: theme.text });
  const said = Array.isArray(panel.subtitle) ? panel.subtitle[frame] : panel.subtitle;
  const remark = fitText(said, map.w, theme, SIZE.label);
  const style = { size: SIZE.label, colour: theme.soft };
  if (crowded) pen.text(remark, map.x, y + SUBTITLE_ROW, style);
  else pen.text(remark, map.x + map.w, y, { ...style, align: 'right' });
}

// Where the bar lies: as long as the map unless the map is very wide, with room for the unit.
// A sheet with a unit that is too long for that has a row for units above its bars.
function barBox(panel, { map, crowded, unitRow }, theme) {
  const unit = fitText(panel.unit, map.w * (unitRow ? 1 : 0.5), theme, SIZE.tick);
  const taken = unit && !unitRow ? textWidth(unit, theme, SIZE.tick) + 8 : 0;
  const y = BAR.top + (crowded ? SUBTITLE_ROW : 0) + (unitRow ? UNIT_ROW : 0);
  return { x: map.x, y, w: Math.min(300, map.w - taken), h: BAR.height, unit };
}

function drawBar(pen, panel, place, limits, theme) {
  const box = barBox(panel, place, theme);
  pen.bar(box.x, box.y, box.w, box.h, panel.lut);
  if (box.unit) {
    const style = { size: SIZE.tick, colour: theme.soft, baseline: 'middle' };
    if (place.unitRow) pen.text(box.unit, box.x, box.y - 8, style);
    else pen.text(box.unit, box.x + box.w + 8, box.y + box.h / 2, style);
  }
  const count = clamp(Math.round(box.w / 62), 2, 6);
  const make = panel.log ? logTicks : linearTicks;
  const { ticks, labels } = make(limits[0], limits[1], count);
  let free = -Infinity;
  ticks.forEach((tick, i) => {
    const at = box.x + shareOf(tick, limits, panel.log) * box.w;
    const width = textWidth(labels[i], theme, SIZE.tick);
    const left = clamp(at - width / 2, box.x, box.x + box.w - width);
    if (left < free) return;
    free = left + width + 6;
    pen.rect(Math.min(Math.round(at), box.x + box.w - 1), box.y + box.h, 1, 3, theme.line);
    const style = { size: SIZE.tick, colour: theme.soft };
    pen.text(labels[i], left, box.y + box.h + 14, style);
  });
}

function drawAxes(pen, sheet, place, theme) {
  const { map } = place;
  const style = { size: SIZE.tick, colour: theme.soft };
  const { turned } = place;
  for (const tick of axisTicks(sheet.x, sheet.nx, map.w, turned, theme)) {
    const at = map.x + tick.share * map.w;
    const text = fitText(tick.text, LABEL_LIMIT, theme, SIZE.tick);
    pen.rect(Math.round(at), map.y + map.h + 1, 1, 4, theme.line);
    const below = map.y + map.h;
    // Below its tick, but whole: the sign of a number at the figure's edge is no ornament.
    const half = textWidth(text, theme, SIZE.tick) / 2;
    const whole = clamp(at, half, Math.max(half, place.w - half));
    if (turned) pen.text(text, at, below + 7, { ...style, align: 'right', baseline: 'middle', turn: true });
    else pen.text(text, whole, below + 17, { ...style, align: 'center' });
  }
  for (const tick of axisTicks(sheet.y, sheet.ny, map.h, true, theme)) {
    const share = sheet.lower ? 1 - tick.share : tick.share;
    const at = map.y + share * map.h;
    const text = fitText(tick.text, LABEL_LIMIT, theme, SIZE.tick);
    pen.rect(map.x - 5, Math.round(at), 4, 1, theme.line);
    if (place.bare) continue;
    pen.text(text, map.x - 8, at, { ...style, align: 'right', baseline: 'middle' });
  }
  const title = { size: SIZE.label, colour: theme.soft, align: 'center' };
  if (place.xTitle && sheet.x.label) {
    const text = fitText(sheet.x.label, map.w + 20, theme, SIZE.label);
    pen.text(text, map.x + map.w / 2, map.y + map.h + place.tickRow + 13, title);
  }
  if (place.yTitle && sheet.y.label) {
    const text = fitText(sheet.y.label, map.h + 20, theme, SIZE.label);
    pen.text(text, 12, map.y + map.h / 2, { ...title, turn: true });
  }
}

// The map of the frame that `picture` shows, with everything that lies over it. `drawDots`
// draws the scatter points; they and the cover are layers of their own on the screen.
function drawMap(pen, sheet, panel, place, picture, theme, drawDots, copyCover = null) {
  const { map } = place;
  pen.map(picture, map);
  if (drawDots) pen.clipped(map, drawDots);
  const [, dark, light, blank] = picture.hatch(map);
  pen.segments(blank, theme.hatchBlank, 1.1);
  pen.segments(dark, theme.hatchDark, 1.1);
  pen.segments(light, theme.hatchLight, 1.1);
  if (copyCover) copyCover();
  else drawCover(pen, sheet, panel, map, theme);
}

// What lies on top and is the same in all frames.
function drawCover(pen, sheet, panel, map, theme) {
  if (panel.outlined) {
    const border = borderSegments(sheet, map, panel.outlined);
    pen.segments(border, theme.halo, 4.5, 'square');
    pen.segments(border, theme.text, 2, 'square');
  }
  const lines = [...sheet.lines, ...panel.lines];
  if (lines.length) {
    pen.clipped(map, () => lines.forEach((line) => drawMapLine(pen, sheet, map, line, theme)));
  }
  drawEdge(pen, map, theme.line);
  for (const marker of [...sheet.markers, ...panel.markers]) {
    drawMarker(pen, placeOf(sheet, map, marker.x, marker.y), marker, map, theme);
  }
}

function drawEdge(pen, map, colour) {
  pen.rect(map.x - 1, map.y - 1, map.w + 2, 1, colour);
  pen.rect(map.x - 1, map.y + map.h, map.w + 2, 1, colour);
  pen.rect(map.x - 1, map.y, 1, map.h, colour);
  pen.rect(map.x + map.w, map.y, 1, map.h, colour);
}

function drawMarker(pen, at, marker, map, theme) {
  if (at.x < map.x || at.x > map.x + map.w || at.y < map.y || at.y > map.y + map.h) return;
  const { x, y } = at;
  if (marker.shape === 'cross') {
    const flat = [x - 5, y - 5, x + 5, y + 5, x - 5, y + 5, x + 5, y - 5];
    pen.segments(flat, theme.halo, 4.5, 'round');
    pen.segments(flat, theme.text, 2, 'round');
  } else if (marker.shape === 'square') {
    const flat = [-6, -6, 6, -6, 6, -6, 6, 6, 6, 6, -6, 6, -6, 6, -6, -6];
    const moved = flat.map((v, i) => v + (i % 2 ? y : x));
    pen.segments(moved, theme.halo, 4.5, 'square');
    pen.segments(moved, theme.text, 2, 'square');
  } else {
    pen.circle(x, y, 6, { stroke: theme.halo, width: 4.5 });
    pen.circle(x, y, 6, { stroke: theme.text, width: 2 });
  }
  if (marker.label) drawMapLabel(pen, marker.label, x, y, map, theme);
}

// A label beside a spot of the map, on the side where there is room.
function drawMapLabel(pen, label, x, y, map, theme) {
  const text = fitText(label, Math.min(220, 0.6 * map.w), theme, SIZE.tick, 600);
  const width = textWidth(text, theme, SIZE.tick, 600);
  const left = x + 12 + width > map.x + map.w ? x - 12 - width : x + 12;
  pen.rect(left - 3, y - 9, width + 6, 18, theme.halo);
  const style = { size: SIZE.tick, weight: 600, colour: theme.text, baseline: 'middle' };
  pen.text(text, left, y, style);
}

const DASH = [6, 4];

// What sets a line of a colour of its own off from any map: dark around light, light around dark.
function haloOf(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const light = 0.299 * r + 0.587 * g + 0.114 * b > 150;
  return light ? 'rgba(0, 0, 0, 0.5)' : 'rgba(255, 255, 255, 0.85)';
}

// A line over the map, with its arrow head and its label at its end.
function drawMapLine(pen, sheet, map, line, theme) {
  const flat = [];
  line.x.forEach((x, i) => {
    const gap = x === null || line.y[i] === null;
    const at = gap ? { x: NaN, y: NaN } : placeOf(sheet, map, x, line.y[i]);
    flat.push(at.x, at.y);
  });
  const colour = line.colour || theme.text;
  const [x0, y0, x, y] = flat.slice(-4);
  const angle = Math.atan2(y - y0, x - x0);
  const head = [];
  if (line.arrow) {
    for (const turn of [2.6, -2.6]) {
      head.push(x, y, x + 10 * Math.cos(angle + turn), y + 10 * Math.sin(angle + turn));
    }
  }
  const halo = line.colour ? haloOf(line.colour) : theme.halo;
  if (!line.thin) pen.path(flat, halo, 4.5);
  pen.segments(head, halo, 4.5, 'round');
  pen.path(flat, colour, line.thin ? 1 : 2, line.dash ? DASH : null);
  pen.segments(head, colour, 2, 'round');
  if (line.label) drawMapLabel(pen, line.label, x, clamp(y, map.y + 10, map.y + map.h - 10), map, theme);
}

// Maps have the same colours in both themes, and so have the edges of points on them.
const POINT_EDGE = 'rgba(255, 255, 255, 0.85)';

// Scatter points from number `from` on that have appeared by `frame`; returns how many were drawn
// in all, so that a later frame only adds its own.
function drawPoints(pen, sheet, panel, map, frame, theme, from = 0) {
  const { points } = panel;
  let i = from;
  for (; i < points.x.length; i++) {
    if (points.appear && points.appear[i] > frame) break;
    if (points.vanish && points.vanish[i] <= frame) continue;
    const at = placeOf(sheet, map, points.x[i], points.y[i]);
    const fill = points.colours[points.group[i]];
    const edge = points.radius >= 2 ? { stroke: POINT_EDGE, width: 0.8 } : {};
    pen.circle(at.x, at.y, points.radius, { fill, ...edge, opacity: points.opacity });
  }
  return i;
}

// What hatching, outline and point colours mean: [{ kind, colour, text }].
function legendEntries(sheet, panels = sheet.panels) {
  const entries = [];
  if (sheet.note) entries.push({ kind: 'scale', text: sheet.note, lut: sheet.panels[0].lut });
  const any = (part) => panels.some((panel) => panel[part]);
  if (sheet.hatchLabel && any('hatched')) entries.push({ kind: 'hatch', text: sheet.hatchLabel });
  if (sheet.blankLabel && any('blankHatched')) {
    entries.push({ kind: 'hatch', text: sheet.blankLabel });
  }
  if (sheet.outlineLabel && any('outlined')) {
    entries.push({ kind: 'outline', text: sheet.outlineLabel });
  }
  const seen = new Set();
  for (const part of ['markers', 'lines']) {
    for (const one of [...sheet[part], ...panels.flatMap((panel) => panel[part])]) {
      const kind = part === 'lines' ? 'path' : one.shape;
      if (!one.legend || seen.has(kind + one.legend)) continue;
      seen.add(kind + one.legend);
      entries.push({ kind, colour: one.colour, dash: one.dash, text: one.legend });
    }
  }
  for (const { points } of panels) {
    if (!points) continue;
    points.names.forEach((text, group) => {
      const colour = points.colours[group % points.colours.length];
      if (!text || seen.has(text + colour)) return;
      seen.add(text + colour);
      entries.push({ kind: 'point', colour, text });
    });
  }
  return entries;
}

// Draws the legend in rows no wider than `width`, its corner at (left, top); returns its size.
// Without a pen it only measures.
function drawLegend(pen, entries, width, theme, left = 0, top = 0) {
  let [x, y, widest] = [0, 0, 0];
  for (const entry of entries) {
    const text = fitText(entry.text, width - 24, theme, SIZE.label);
    const need = 24 + textWidth(text, theme, SIZE.label);
    if (x > 0 && x + need > width) [x, y] = [0, y + 22];
    if (pen) drawLegendMark(pen, entry, left + x, top + y + 4, theme);
    const style = { size: SIZE.label, colour: theme.soft, baseline: 'middle' };
    if (pen) pen.text(text, left + x + 22, top + y + 11, style);
    widest = Math.max(widest, x + need);
    x += need + 18;
  }
  return { w: Math.ceil(widest) + 1, h: entries.length ? y + 22 : 0 };
}

function drawLegendMark(pen, entry, x, y, theme) {
  if (entry.kind === 'point') {
    // Edged, so that white shows on a light page.
    pen.circle(x + 8, y + 7, 4, { fill: entry.colour, stroke: theme.line, width: 0.8 });
    return;
  }
  if (['ring', 'cross', 'square'].includes(entry.kind)) {
    const place = { x: x - 2, y: y - 3, w: 20, h: 20 };
    drawMarker(pen, { x: x + 8, y: y + 7 }, { shape: entry.kind }, place, theme);
    return;
  }
  if (entry.kind === 'path') {
    const flat = [x + 1, y + 7, x + 15, y + 7];
    pen.path(flat, entry.colour ? haloOf(entry.colour) : theme.halo, 4.5);
    pen.path(flat, entry.colour || theme.text, 2, entry.dash ? DASH : null);
    return;
  }
  if (entry.kind === 'scale') {
    pen.bar(x + 1, y + 3, 14, 8, entry.lut);
    return;
  }
  if (['line', 'mark', 'shade'].includes(entry.kind)) {
    drawStripLegendMark(pen, entry, x, y, theme);
    return;
  }
  const box = { x: x + 1, y, w: 14, h: 14 };
  if (entry.kind === 'hatch') {
    const flat = [];
    for (const k of [5, 11, 17, 23]) {
      const [from, to] = [Math.max(0, k - 14), Math.min(14, k)];
      flat.push(box.x + from, y + k - from, box.x + to, y + k - to);
    }
    pen.segments(flat, theme.hatchBlank, 1.1);
  }
  drawEdge(pen, { ...box, w: 13, h: 13 }, entry.kind === 'outline' ? theme.text : theme.line);
}
