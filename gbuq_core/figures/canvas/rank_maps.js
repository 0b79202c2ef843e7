// Maps of scores of different units, as ranks among the cells, as ranks among the training rows, or
// as their own values. Every score travels once, in full precision, so that the ranks are those of
// gbuq_core/study/novelty_maps.py. `sheet.near` is made by
// gbuq_core/study/novelty.py.

class RankMaps {
  constructor(sheet, bar) {
    Object.assign(this, { sheet, bar, near: sheet.near, on: false, pointed: null });
    this.live = { members: null }; // as the maps of members have it: there are none
    this.made = new Map(); // ranks, by score and kind
    this.found = []; // panels that follow
    sheet.panels.forEach((panel, i) => {
      const key = this.near.keys[i];
      if (!key) return;
      const { limits, unit, log } = panel;
      panel.drawn = { limits, unit, log };
      this.found.push([key, panel]);
    });
  }

  take() {
    return false;
  }

  // Puts the maps of these knobs into the panels; false if they are the page's.
  apply() {
    const table = nearTables.get(this.near.table);
    const { at, kinds } = this.near;
    const now = { ...at, ...this.bar.values };
    const moved = now.show !== at.show || (kinds[now.show] === 'value' && now.log !== at.log);
    if (!table || !moved) {
      if (this.on) this.restore();
      return false;
    }
    this.on = true;
    const kind = kinds[now.show];
    for (const [key, panel] of this.found) {
      if (key === 'apart') this.apart(table, panel, kind === 'rows' ? 'rows' : 'cells');
      else this.show(table, key, panel, kind, now.log);
    }
    return true;
  }

  show(table, key, panel, kind, log) {
    const { units, positive } = this.near;
    panel.log = kind === 'value' && log && positive.includes(key);
    panel.shown = kind === 'value' ? scoreOf(table, this.near.rows[key]) : this.ranks(table, key, kind);
    panel.limits = kind === 'value' ? sharedLimits([panel.shown], panel.log) : [0, 100];
    panel.unit = kind === 'value' ? units[key] : this.near.rankUnits[kind];
    panel.shownKey = `${kind} ${panel.log}`;
  }

  // How far the ranks of the compared scores lie apart.
  apart(table, panel, kind) {
    const name = `apart ${kind}`;
    if (!this.made.has(name)) {
      const all = this.near.compared.map((key) => this.ranks(table, key, kind));
      this.made.set(name, Float64Array.from(all[0], (_, i) => {
        const here = all.map((ranks) => ranks[i]);
        return Math.max(...here) - Math.min(...here);
      }));
    }
    panel.shown = this.made.get(name);
    panel.shownKey = name;
  }

  ranks(table, key, kind) {
    const name = `${key} ${kind}`;
    if (!this.made.has(name)) {
      const scores = scoreOf(table, this.near.rows[key]);
      const [, n] = table.rowsShape;
      const row = this.near.rows[key];
      this.made.set(name, kind === 'cells' ? rankCells(scores) : rankAmong(scores, table.rows.subarray(n * row, n * (row + 1))));
    }
    return this.made.get(name);
  }

  restore() {
    this.on = false;
    for (const [, panel] of this.found) Object.assign(panel, panel.drawn, { shown: null, shownKey: null });
  }
}

function scoreOf(table, row) {
  const [, cells] = table.valuesShape;
  return table.values.subarray(cells * row, cells * (row + 1));
}

function sortedNumbers(values) {
  return Float64Array.from(values).filter((value) => value === value).sort();
}

// How many of the ordered numbers are below a value, and at most as large.
function countsOf(ordered, value) {
  const bound = (inside) => {
    let [low, high] = [0, ordered.length];
    while (low < high) {
      const half = (low + high) >> 1;
      if (inside(ordered[half])) low = half + 1;
      else high = half;
    }
    return low;
  };
  return [bound((one) => one < value), bound((one) => one <= value)];
}

// Of each cell, the percentage of the other cells with a lower score; ties count by half.
function rankCells(values) {
  const ordered = sortedNumbers(values);
  const others = Math.max(ordered.length - 1, 1);
  return Float64Array.from(values, (value) => {
    const [below, upto] = countsOf(ordered, value);
    return value === value ? (50 * (below + upto - 1)) / others : NaN;
  });
}

// Of each cell, the percentage of training rows whose own score is lower; ties count by half.
function rankAmong(values, rows) {
  const ordered = sortedNumbers(rows);
  return Float64Array.from(values, (value) => {
    const [below, upto] = countsOf(ordered, value);
    return value === value && ordered.length ? (50 * (below + upto)) / ordered.length : NaN;
  });
}
