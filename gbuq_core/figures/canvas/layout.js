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
const GAP = { column: 26, row: 20 };
const RIGHT = 10;
const TICK_ROW = 21;
const TITLE_ROW = 18;
const LABEL_LIMIT = 92;
const SUBTITLE_ROW = 18;

function layoutSheet(sheet, width, theme, ratio) {
  const snap = (value) => Math.round(value * ratio) / ratio;
  const narrow = width < NARROW;
  const columns = narrow ? 1 : Math.min(sheet.columns, sheet.panels.length);
  const yTicks = tickTexts(sheet.y, sheet.ny);
  const widest = Math.max(0, ...yTicks.map((text) => textWidth(text, theme, SIZE.tick)));
  const tickWidth = snap(Math.min(widest, LABEL_LIMIT) + 9);
  const titleWidth = sheet.y.label ? 20 : 0;
  const free = width - titleWidth - columns * (tickWidth + RIGHT) - (columns - 1) * GAP.column;
  const most = narrow ? Math.max(sheet.height, 420) : sheet.height;
  const map = mapSize(sheet, Math.max(40, free / columns), most, ratio);
  const crowded = sheet.panels.some((panel) => headingWidth(panel, theme) > map.w);
  const header = HEADER + (crowded ? SUBTITLE_ROW : 0);
  const rows = Math.ceil(sheet.panels.length / columns);
  const rowHeight = snap(header + map.h + TICK_ROW + GAP.row);
  const titleRow = sheet.x.label ? TITLE_ROW : 0;
  const panels = sheet.panels.map((panel, i) => {
    const column = i % columns;
    const row = Math.floor(i / columns);
    const lowest = i + columns >= sheet.panels.length;
    const left = column === 0 ? titleWidth + tickWidth : tickWidth;
    const x = column * (tickWidth + map.w + RIGHT + GAP.column) + (column ? titleWidth : 0);
    return {
      x: snap(x),
      y: row * (rowHeight + (narrow ? titleRow : 0)),
      w: left + map.w + RIGHT,
      h: header + map.h + TICK_ROW + (lowest || narrow ? titleRow : 0),
      map: { x: left, y: header, w: map.w, h: map.h },
      crowded,
      yTitle: column === 0,
      xTitle: lowest || narrow,
    };
  });
  const last = panels[panels.length - 1];
  const height = Math.max(...panels.map((panel) => panel.y + panel.h), last.y + last.h);
  const used = Math.max(...panels.map((panel) => panel.x + panel.w));
  return { columns, rows, panels, width: used, height: snap(height), narrow, yTicks };
}

// What title and subtitle need beside each other; nothing to fit without a subtitle.
function headingWidth(panel, theme) {
  if (!panel.subtitle) return 0;
  const title = textWidth(panel.title, theme, SIZE.title, 600) + (panel.accent ? 15 : 0);
  return title + 12 + textWidth(panel.subtitle, theme, SIZE.label);
}

// As wide as there is room, at most `most` high; whole device pixels a cell where cells are large.
function mapSize(sheet, room, most, ratio) {
  let w = Math.min(room, most * sheet.aspect);
  let h = w / sheet.aspect;
  const whole = (size, n) => {
    const cell = (size * ratio) / n;
    return (cell >= 6 ? Math.floor(cell) * n : Math.round(size * ratio)) / ratio;
  };
  w = whole(w, sheet.nx);
  h = whole(h, sheet.ny);
  return { w, h };
}

function tickTexts(axis, n) {
  if (axis.labels) return axis.labels;
  if (axis.extent) {
    const [a, b] = axis.extent;
    return linearTicks(Math.min(a, b), Math.max(a, b), 5).labels;
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
