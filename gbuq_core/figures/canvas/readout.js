// The read-out beside the pointer: one cell's place, and its value in every panel; or one place
// of a strip, and the value of every line.

class Readout {
  constructor() {
    this.box = element('div', 'gbuq-readout', { 'aria-hidden': 'true' });
    this.box.hidden = true;
    this.heading = element('div', 'gbuq-place');
    this.table = element('div', 'gbuq-values');
    this.box.append(this.heading, this.table);
    this.rows = [];
    this.live = element('div', 'gbuq-hidden', { 'aria-live': 'polite' });
  }

  // Fills in a cell's values; `active` is the panel under the pointer.
  fill(sheet, frame, cell, active) {
    const rows = sheet.panels.map((panel) => {
      const value = valueAt(panel, frame, cell.row * sheet.nx + cell.column);
      const share = shareOf(value, limitsAt(panel, frame), panel.log);
      const colour = Number.isFinite(value)
        ? panel.lut.css[Math.min(255, Math.floor(share * 256))]
        : 'transparent';
      return { title: panel.title, value: valueText(panel, value), colour, active: panel === active };
    });
    this.fillRows(placeText(sheet, cell), rows);
  }

  fillRows(heading, rows) {
    this.heading.textContent = heading;
    while (this.rows.length < rows.length) {
      const row = {
        swatch: element('i'),
        title: element('span'),
        value: element('b'),
      };
      this.rows.push(row);
      this.table.append(row.swatch, row.title, row.value);
    }
    this.rows.forEach((row, i) => {
      const filled = rows[i];
      for (const node of Object.values(row)) node.hidden = !filled;
      if (!filled) return;
      row.title.textContent = filled.title;
      row.value.textContent = filled.value;
      row.title.classList.toggle('gbuq-active', Boolean(filled.active));
      row.swatch.style.background = filled.colour;
    });
    this.box.hidden = false;
  }

  // Puts the box beside a spot of the stage: right of it, else left of it, else above or below.
  // Spot and size are in pixels of `type` CSS pixels each.
  moveTo(spot, size, type) {
    const [left, right, y] = [spot.left, spot.right, spot.y].map((at) => at * type);
    this.place({ left, right, y }, { w: size.w * type, h: size.h * type });
  }

  place({ left, right, y }, size) {
    const { offsetWidth: w, offsetHeight: h } = this.box;
    const gap = 18;
    let x = right + gap;
    if (x + w > size.w) x = left - gap - w;
    const beside = x >= 0;
    if (!beside) x = clamp((left + right - w) / 2, 0, Math.max(0, size.w - w));
    let top = beside ? clamp(y - h / 2, -6, Math.max(-6, size.h - h)) : y - h - 22;
    if (!beside && top < -40) top = y + 26;
    this.box.style.transform = `translate(${Math.round(x)}px, ${Math.round(top)}px)`;
  }

  hide() {
    this.box.hidden = true;
  }

  // Tells a screen reader; only for what the keyboard asked for.
  say(text) {
    this.live.textContent = text;
  }
}

function placeText(sheet, cell) {
  const x = cellName(sheet.x, cell.column, sheet.nx);
  const y = cellName(sheet.y, cell.row, sheet.ny);
  return `${sheet.x.label || 'column'}: ${x} · ${sheet.y.label || 'row'}: ${y}`;
}

function valueText(panel, value) {
  const text = formatValue(value);
  return panel.unit && Number.isFinite(value) ? `${text} ${panel.unit}` : text;
}

// The read-out in one sentence, the panel in focus first.
function cellSentence(sheet, frame, cell, active) {
  const at = cell.row * sheet.nx + cell.column;
  const order = [active, ...sheet.panels.filter((panel) => panel !== active)];
  const values = order.map((panel) => {
    const hatched = panel.hatched && panel.hatched[at] ? ', hatched' : '';
    return `${panel.title} ${valueText(panel, valueAt(panel, frame, at))}${hatched}`;
  });
  return `${placeText(sheet, cell)}: ${values.join('; ')}`;
}
