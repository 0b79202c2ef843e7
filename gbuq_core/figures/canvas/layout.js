// Where everything goes. All numbers are CSS pixels; edges of maps fall on device pixels.
//
//   +--------------------------------------+   Each panel is a canvas of its own:
//   | title                      subtitle  |
//   | [===== colour bar =====] unit        |   header (the subtitle has a row of its own in all
//   | 0      0.5      1                    |   panels where it does not fit beside a title)
//   | y +----------------------------+     |
//   | t |            map             |     |
//   | i +----------------------------+     |
//   | c   x ticks                          |
//   |     x title (lowest of its column)   |
//   +--------------------------------------+

const NARROW = 640;
const SIZE = { title: 14, tick: 11.5, label: 12.5 };
const HEADER = 53;
const BAR = { top: 23, height: 8 };
const WIDE = { from: 1150, most: 1.6 }; // pixels from which maps grow with the page, and how much
const GAP = { column: 26, row: 20 };
const CROWD = { columns: 5, gap: 14 }; // so many columns stand closer together
const RIGHT = 10;
const TICK_ROW = 21;
const TITLE_ROW = 18;
const LABEL_LIMIT = 92;
const SUBTITLE_ROW = 18;
const UNIT_ROW = 15;
const STRIP_HEAD = 28;
const STRIP_GAP = 16;
const STRIP_WIDTH = 520; // least width of a strip below maps that take less, where there is room

// `room` is the height that the window has for the maps in present mode, else null. Without
// `paired` all panels stand in their grid, and with `quiet` a truth and one map on wide pages too,
// unless the sheet says how many stand `together` in a row.
function layoutSheet(sheet, width, theme, ratio, room = null, paired = true, quiet = false) {
  const snap = (value) => Math.round(value * ratio) / ratio;
  const narrow = width < NARROW;
  const columns = narrow ? sheet.together || 1 : Math.min(sheet.columns, sheet.panels.length);
  const maps = sheet.panels.length;
  const yTicks = maps ? tickTexts(sheet.y, sheet.ny, sheet.height) : [];
  for (const strip of sheet.strips) yTicks.push(...stripTicks(strip, sheet.stripHeight).labels);
  const widest = Math.max(0, ...yTicks.map((text) => textWidth(text, theme, SIZE.tick)));
  const tickWidth = snap(Math.min(widest, LABEL_LIMIT) + 9);
  const titleWidth = maps && sheet.y.label ? 20 : 0;
  const blocks = narrow && maps > 1 && maps === sheet.columns && maps === sheet.stripColumns;
  const edges = { blocks, width, narrow, snap, theme, titleWidth, tickWidth, columns: maps ? columns : 0 };
  if (!maps) return { columns, rows: 0, panels: [], narrow, ...layoutStrips(sheet, edges, 0, 0) };
  if (paired && maps > 1 && !sheet.together && (narrow || room !== null || quiet)) {
    return { narrow, ...layoutPairs(sheet, edges, theme, ratio, room, quiet) };
  }
  const gap = columns < CROWD.columns && !narrow ? GAP.column : CROWD.gap;
  // Maps that stand together share the numbers at the left.
  const inset = sheet.together ? PAIR_LEFT : tickWidth;
  const first = titleWidth + tickWidth;
  const free = width - first - columns * RIGHT - (columns - 1) * (inset + gap);
  const tall = HEADER + TICK_ROW + TITLE_ROW; // what a single map leaves of a window
  let most = sheet.height * clamp(width / WIDE.from, 1, WIDE.most);
  if (narrow) most = Math.max(sheet.height, 420);
  const rows = Math.ceil(sheet.panels.length / columns);
  if (room !== null) most = Math.max(LEAST_MAP, room / rows - tall);
  const map = mapSize(sheet, Math.max(40, free / columns), most, ratio);
  const { crowded, unitRow, header, turned, tickRow, titleRow } = frameOf(sheet, map, theme, snap);
  const alone = narrow && columns === 1; // each needs the title of its axis
  const rowHeight = snap(header + map.h + tickRow + GAP.row);
  const panels = sheet.panels.map((panel, i) => {
    const column = i % columns;
    const row = Math.floor(i / columns);
    const lowest = i + columns >= sheet.panels.length;
    const left = column === 0 ? first : inset;
    const x = column * (inset + map.w + RIGHT + gap) + (column ? first - inset : 0);
    return {
      x: snap(x),
      y: row * (rowHeight + (alone ? titleRow : 0)),
      w: left + map.w + RIGHT,
      h: header + map.h + tickRow + (lowest || alone ? titleRow : 0),
      map: { x: left, y: header, w: map.w, h: map.h },
      crowded,
      unitRow,
      tickRow,
      turned,
      bare: inset !== tickWidth && column > 0,
      yTitle: column === 0,
      xTitle: lowest || alone,
    };
  });
  const last = panels[panels.length - 1];
  const height = Math.max(...panels.map((panel) => panel.y + panel.h), last.y + last.h);
  const used = Math.max(...panels.map((panel) => panel.x + panel.w));
  const below = layoutStrips(sheet, edges, used, snap(height));
  if (edges.blocks) below.height = stackBlocks(panels, below.strips);
  if (narrow && sheet.together) {
    for (const place of below.strips) place.hidden = true;
    below.height = snap(height);
  }
  return { columns, rows, panels, narrow, ...below };
}

// What stands around maps of this size.
function frameOf(sheet, map, theme, snap) {
  const crowded = sheet.panels.some((panel) => headingWidth(panel, theme) > map.w);
  const unitRow = sheet.panels.some((panel) => unitWidth(panel, theme) > map.w * 0.5);
  const header = HEADER + (crowded ? SUBTITLE_ROW : 0) + (unitRow ? UNIT_ROW : 0);
  const longest = turnedLabels(sheet, map.w, theme);
  const tickRow = longest ? snap(longest + 10) : TICK_ROW;
  const titleRow = sheet.x.label ? TITLE_ROW : 0;
  return { crowded, unitRow, header, turned: longest > 0, tickRow, titleRow };
}

// On a narrow page a map is followed by the strips that stand under it on a wide one.
function stackBlocks(panels, strips) {
  let y = 0;
  panels.forEach((panel, column) => {
    panel.y = y;
    y += panel.h + STRIP_GAP;
    for (let i = column; i < strips.length; i += panels.length) {
      strips[i].y = y;
      y += strips[i].h + STRIP_GAP;
    }
    y += GAP.row;
  });
  return y - STRIP_GAP - GAP.row;
}

// Strips under the maps, their plots on the same left edge; with as many columns as the maps
// have, on the maps' own edges.
//
//   +--------------------------------------+
//   | title  y title       legend          |   the legend has rows of its own where it does not
//   |   +----------------------------+     |   fit beside the title
//   | y |            plot            |     |
//   |   +----------------------------+     |
//   |     x ticks                          |
//   |     x title (lowest of its column)   |
//   +--------------------------------------+
function layoutStrips(sheet, edges, used, top) {
  const { strips } = sheet;
  const { width, narrow, snap, theme, titleWidth, tickWidth } = edges;
  if (!strips.length) return { strips: [], width: used, height: top };
  const columns = narrow ? 1 : Math.min(sheet.stripColumns, strips.length);
  const alike = !narrow && sheet.stripColumns === edges.columns;
  const least = narrow ? width : Math.min(width, STRIP_WIDTH * columns);
  const total = alike ? used : edges.columns ? Math.max(used, least) : width;
  const shared = alike ? edges.columns : columns;
  const gap = shared < CROWD.columns ? GAP.column : CROWD.gap;
  const free = total - titleWidth - shared * (tickWidth + RIGHT) - (shared - 1) * gap;
  const w = snap(Math.max(40, free / shared));
  const stride = edges.blocks ? sheet.stripColumns : columns;
  const legends = stripLegends(strips, edges.blocks ? stride : 1, narrow);
  const places = [];
  let y = top ? top + GAP.row : 0;
  for (let first = 0; first < strips.length; first += columns) {
    const row = strips.slice(first, first + columns);
    const heads = row.map((strip, i) => stripHead(strip, legends[first + i], w, theme));
    const head = Math.max(...heads.map((one) => one.h));
    let deepest = 0;
    row.forEach((strip, i) => {
      const next = strips[first + i + stride];
      const xTitle = !next || next.xLabel !== strip.xLabel;
      const left = i === 0 ? titleWidth + tickWidth : tickWidth;
      const x = snap(i * (tickWidth + w + RIGHT + gap) + (i ? titleWidth : 0));
      const h = head + sheet.stripHeight + TICK_ROW + (xTitle && strip.xLabel ? TITLE_ROW : 0);
      const { entries, beside, legendWidth } = heads[i];
      const legend = beside
        ? { entries, x: left + w - legendWidth, y: -2, w: legendWidth }
        : { entries, x: left, y: 18, w };
      const plot = { x: left, y: head, w, h: sheet.stripHeight };
      places.push({ x, y, w: left + w + RIGHT, h, plot, legend, xTitle });
      deepest = Math.max(deepest, h);
    });
    y = snap(y + deepest + STRIP_GAP);
  }
  const right = Math.max(used, ...places.map((place) => place.x + place.w));
  return { strips: places, width: right, height: y - STRIP_GAP };
}

// Each strip's legend; none where strips shown before it have told everything already. Strips
// are shown one after the other, or in blocks of every `stride`-th.
function stripLegends(strips, stride, narrow) {
  const told = new Set();
  const legends = [];
  for (let first = 0; first < stride; first++) {
    for (let i = first; i < strips.length; i += stride) {
      const entries = stripEntries(strips[i], narrow);
      const keys = entries.map((entry) => JSON.stringify(entry));
      legends[i] = keys.some((key) => !told.has(key)) ? entries : [];
      keys.forEach((key) => told.add(key));
    }
  }
  return legends;
}

function stripHead(strip, entries, w, theme) {
  const plain = { entries, beside: true, legendWidth: 0, h: STRIP_HEAD };
  if (!entries.length) return plain;
  let heading = textWidth(strip.title, theme, SIZE.title, 600) + 24;
  if (strip.yLabel) heading += 10 + textWidth(strip.yLabel, theme, SIZE.label);
  const asked = drawLegend(null, entries, 1e6, theme);
  if (heading + asked.w <= w) return { ...plain, legendWidth: asked.w + 1 };
  return { ...plain, beside: false, h: STRIP_HEAD + drawLegend(null, entries, w, theme).h };
}

// What title and subtitle need beside each other; nothing to fit without a subtitle.
function headingWidth(panel, theme) {
  if (!panel.subtitle.length) return 0;
  const title = textWidth(panel.title, theme, SIZE.title, 600) + (panel.accent ? 15 : 0);
  const remarks = [panel.subtitle].flat();
  return title + 12 + Math.max(...remarks.map((text) => textWidth(text, theme, SIZE.label)));
}

function unitWidth(panel, theme) {
  return panel.unit ? textWidth(panel.unit, theme, SIZE.tick) : 0;
}

// How long the labels of columns are if they have to be turned, 0 if not: turned ones need less
// room beside each other, so that fewer are left out.
function turnedLabels(sheet, w, theme) {
  const { labels } = sheet.x;
  if (!labels) return 0;
  const longest = Math.max(0, ...labels.map((text) => textWidth(text, theme, SIZE.tick)));
  const kept = Math.min(LABEL_LIMIT, longest);
  return kept + 7 > w / sheet.nx && kept > 2 * SIZE.tick ? kept : 0;
}

// As wide as there is room, at most `most` high; whole device pixels a cell where cells are large.
function mapSize(sheet, room, most, ratio) {
  let w = Math.min(room, most * sheet.aspect);
  let h = w / sheet.aspect;
  const whole = (size, n) => {
    const cell = (size * ratio) / n;
    return (cell >= 8 ? Math.floor(cell) * n : Math.round(size * ratio)) / ratio;
  };
  w = whole(w, sheet.nx);
  h = whole(h, sheet.ny);
  return { w, h };
}

// Maps of up to `most` pixels; fewer ticks may have longer texts (2.5 for 2).
function tickTexts(axis, n, most) {
  if (axis.labels) return axis.labels;
  if (axis.extent) {
    const [a, b] = axis.extent;
    const counts = [2, 3, 5, clamp(most / 58, 2, 9)];
    return counts.flatMap((count) => linearTicks(Math.min(a, b), Math.max(a, b), count).labels);
  }
  return [String(n - 1)];
}

// Ticks of one axis: [{ share, text }], thinned out so that texts keep apart.
function axisTicks(axis, n, length, across, theme) {
  if (axis.extent) {
    const [a, b] = axis.extent;
    const found = linearTicks(Math.min(a, b), Math.max(a, b), clamp(length / 58, 2, 9));
    return found.ticks.map((tick, i) => ({ share: axisShare(axis, tick, n), text: found.labels[i] }));
  }
  const texts = axis.labels || Array.from({ length: n }, (_, i) => String(i));
  const cell = length / n;
  const need = across
    ? SIZE.tick * 1.25
    : Math.min(LABEL_LIMIT, Math.max(...texts.map((t) => textWidth(t, theme, SIZE.tick)))) + 7;
  const every = niceStride(Math.ceil(need / cell));
  const ticks = [];
  for (let i = 0; i < n; i += every) ticks.push({ share: (i + 0.5) / n, text: texts[i] });
  return ticks;
}

function niceStride(least) {
  for (let power = 1; ; power *= 10) {
    for (const step of [1, 2, 5]) if (step * power >= least) return step * power;
  }
}

// The cell under a point of the panel, or null outside the map.
function cellUnder(sheet, map, x, y) {
  const column = Math.floor(((x - map.x) / map.w) * sheet.nx);
  const row = Math.floor(((y - map.y) / map.h) * sheet.ny);
  if (column < 0 || row < 0 || column >= sheet.nx || row >= sheet.ny) return null;
  return { row: sheet.lower ? sheet.ny - 1 - row : row, column };
}

// The rectangle of a cell inside the panel.
function cellBox(sheet, map, row, column) {
  const down = sheet.lower ? sheet.ny - 1 - row : row;
  const [w, h] = [map.w / sheet.nx, map.h / sheet.ny];
  return { x: map.x + column * w, y: map.y + down * h, w, h };
}

// A position in axis units inside the panel.
function placeOf(sheet, map, x, y) {
  const across = axisShare(sheet.x, x, sheet.nx);
  const along = axisShare(sheet.y, y, sheet.ny);
  return { x: map.x + across * map.w, y: map.y + (sheet.lower ? 1 - along : along) * map.h };
}
