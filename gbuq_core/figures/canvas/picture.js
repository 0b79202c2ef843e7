// One panel's map: a small canvas with a pixel a cell, and the lines that lie over it.

const HATCH_SPACING = 6.5;
const [NO_HATCH, HATCH_DARK, HATCH_LIGHT, HATCH_BLANK] = [0, 1, 2, 3];

class Picture {
  constructor(sheet, panel) {
    this.nx = sheet.nx;
    this.ny = sheet.ny;
    this.lower = sheet.lower;
    this.panel = panel;
    this.indices = new Int16Array(panel.cells);
    this.small = document.createElement('canvas');
    this.small.width = this.nx;
    this.small.height = this.ny;
    this.context = this.small.getContext('2d');
    this.image = this.context.createImageData(this.nx, this.ny);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.frame = -1;
  }

  // Makes the pixels of a frame; nothing to do when it is shown already.
  show(frame) {
    const wanted = panelFrame(this.panel, frame);
    const { scale } = this.panel;
    if (wanted === this.frame && scale === this.scale) return;
    this.frame = wanted;
    this.scale = scale;
    colourIndices(this.panel, wanted, this.indices);
    const table = this.panel.lut.pixels;
    for (let row = 0; row < this.ny; row++) {
      let from = this.dataRow(row) * this.nx;
      let to = row * this.nx;
      for (let column = 0; column < this.nx; column++, from++, to++) {
        const index = this.indices[from];
        this.pixels[to] = index < 0 ? 0 : table[index];
      }
    }
    this.context.putImageData(this.image, 0, 0);
  }

  // The row of the data that is drawn `down` rows below the top.
  dataRow(down) {
    return this.lower ? this.ny - 1 - down : down;
  }

  canvas() {
    return this.small;
  }

  // A sharp enlargement, for programs that smooth small pictures.
  enlarged(least) {
    const times = Math.max(1, Math.ceil(least / Math.max(this.nx, this.ny)));
    const canvas = document.createElement('canvas');
    canvas.width = this.nx * times;
    canvas.height = this.ny * times;
    const context = canvas.getContext('2d');
    context.imageSmoothingEnabled = false;
    context.drawImage(this.small, 0, 0, canvas.width, canvas.height);
    return canvas;
  }

  // Calls visit(row from top, first column, length, colour) for stretches of one colour.
  runs(visit) {
    for (let row = 0; row < this.ny; row++) {
      const base = this.dataRow(row) * this.nx;
      let start = 0;
      for (let column = 1; column <= this.nx; column++) {
        const index = this.indices[base + start];
        if (column < this.nx && this.indices[base + column] === index) continue;
        if (index >= 0) visit(row, start, column - start, this.panel.lut.css[index]);
        start = column;
      }
    }
  }

  // Hatching as three sets of segments: dark lines on light cells, light lines on dark cells,
  // and lines on blank cells. Each diagonal x + y = k is followed from cell to cell, so that
  // lines run on across neighbouring cells of any size.
  hatch(box) {
    const sets = [[], [], [], []];
    const { hatched, blankHatched } = this.panel;
    if (!hatched && !blankHatched) return sets;
    const [cw, ch] = [box.w / this.nx, box.h / this.ny];
    for (let k = HATCH_SPACING / 2; k < box.w + box.h; k += HATCH_SPACING) {
      const end = Math.min(k, box.w);
      let x = Math.max(0, k - box.h);
      let from = x;
      let tone = NO_HATCH;
      while (x < end - 1e-6) {
        const column = Math.min(this.nx - 1, Math.floor(x / cw + 1e-6));
        const down = clamp(Math.ceil((k - x) / ch - 1e-6) - 1, 0, this.ny - 1);
        const next = Math.min(end, (column + 1) * cw, k - down * ch);
        const here = this.hatchTone(this.dataRow(down) * this.nx + column);
        if (here !== tone) {
          if (tone) sets[tone].push(box.x + from, box.y + k - from, box.x + x, box.y + k - x);
          [from, tone] = [x, here];
        }
        x = Math.max(next, x + 1e-3);
      }
      if (tone) sets[tone].push(box.x + from, box.y + k - from, box.x + end, box.y + k - end);
    }
    return sets;
  }

  hatchTone(cell) {
    const { hatched, blankHatched } = this.panel;
    const index = this.indices[cell];
    if (!(hatched && hatched[cell]) && !(blankHatched && index < 0)) return NO_HATCH;
    if (index < 0) return HATCH_BLANK;
    return this.panel.lut.light[index] ? HATCH_DARK : HATCH_LIGHT;
  }
}

// The border of a set of cells as segments.
function borderSegments(sheet, box, inside) {
  const { nx, ny } = sheet;
  const [cw, ch] = [box.w / nx, box.h / ny];
  const has = (row, column) =>
    row >= 0 && row < ny && column >= 0 && column < nx &&
    inside[(sheet.lower ? ny - 1 - row : row) * nx + column];
  const flat = [];
  for (let row = 0; row < ny; row++) {
    for (let column = 0; column < nx; column++) {
      if (!has(row, column)) continue;
      const [x, y] = [box.x + column * cw, box.y + row * ch];
      if (!has(row - 1, column)) flat.push(x, y, x + cw, y);
      if (!has(row + 1, column)) flat.push(x, y + ch, x + cw, y + ch);
      if (!has(row, column - 1)) flat.push(x, y, x, y + ch);
      if (!has(row, column + 1)) flat.push(x + cw, y, x + cw, y + ch);
    }
  }
  return flat;
}
