// Two pens with one set of strokes: CanvasPen draws pixels, SvgPen writes a document.
// Everything of a figure but the scatter points goes through them, so screen, PNG and SVG agree.

// Above so many cells an SVG holds the map as a picture instead of rectangles.
const VECTOR_CELLS = 5000;

class CanvasPen {
  constructor(context, theme) {
    this.context = context;
    this.theme = theme;
  }

  rect(x, y, w, h, fill) {
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, w, h);
  }

  text(text, x, y, { size, weight = 400, colour, align = 'left', baseline = 'alphabetic', turn }) {
    const c = this.context;
    c.font = fontOf(this.theme, size, weight);
    c.fillStyle = colour;
    c.textAlign = align;
    c.textBaseline = baseline;
    if (!turn) {
      c.fillText(text, x, y);
      return;
    }
    c.save();
    c.translate(x, y);
    c.rotate(-Math.PI / 2);
    c.fillText(text, 0, 0);
    c.restore();
  }

  // Segments [x1, y1, x2, y2, ...] in one stroke.
  segments(flat, colour, width, cap = 'butt') {
    if (!flat.length) return;
    const c = this.context;
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.lineCap = cap;
    c.beginPath();
    for (let i = 0; i < flat.length; i += 4) {
      c.moveTo(flat[i], flat[i + 1]);
      c.lineTo(flat[i + 2], flat[i + 3]);
    }
    c.stroke();
  }

  // One line through corners [x1, y1, x2, y2, ...]; NaN lifts the pen.
  path(flat, colour, width, dash = null) {
    const c = this.context;
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.lineCap = dash ? 'butt' : 'round';
    c.lineJoin = 'round';
    c.setLineDash(dash || []);
    c.beginPath();
    let down = false;
    for (let i = 0; i < flat.length; i += 2) {
      const [x, y] = [flat[i], flat[i + 1]];
      if (x !== x || y !== y) down = false;
      else if (down) c.lineTo(x, y);
      else {
        c.moveTo(x, y);
        down = true;
      }
    }
    c.stroke();
    c.setLineDash([]);
  }

  circle(x, y, radius, { fill, stroke, width = 1, opacity = 1 }) {
    const c = this.context;
    c.globalAlpha = opacity;
    c.beginPath();
    c.arc(x, y, radius, 0, 2 * Math.PI);
    if (fill) {
      c.fillStyle = fill;
      c.fill();
    }
    if (stroke) {
      c.strokeStyle = stroke;
      c.lineWidth = width;
      c.stroke();
    }
    c.globalAlpha = 1;
  }

  bar(x, y, w, h, lut) {
    const c = this.context;
    // One rectangle a colour, each overlapping the next, so that no seam shows.
    for (let i = 0; i < 256; i++) {
      const at = x + (w * i) / 256;
      c.fillStyle = lut.css[i];
      c.fillRect(at, y, x + w - at, h);
    }
  }

  map(picture, box) {
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(picture.canvas(), box.x, box.y, box.w, box.h);
  }

  clipped(box, draw) {
    const c = this.context;
    c.save();
    c.beginPath();
    c.rect(box.x, box.y, box.w, box.h);
    c.clip();
    draw();
    c.restore();
  }
}

class SvgPen {
  constructor(width, height, theme) {
    this.theme = theme;
    this.root = document.createElementNS(SVG_NS, 'svg');
    this.root.setAttribute('xmlns', SVG_NS);
    this.root.setAttribute('viewBox', `0 0 ${round2(width)} ${round2(height)}`);
    this.root.setAttribute('width', round2(width));
    this.root.setAttribute('height', round2(height));
    this.root.setAttribute('font-family', theme.font);
    this.into = this.root;
    this.ids = 0;
  }

  add(name, attributes, text) {
    const node = document.createElementNS(SVG_NS, name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === undefined || value === null) continue;
      node.setAttribute(key, typeof value === 'number' ? round2(value) : value);
    }
    if (text !== undefined) node.textContent = text;
    this.into.appendChild(node);
    return node;
  }

  // Draws into a group moved by (x, y).
  moved(x, y, draw) {
    const outer = this.into;
    this.into = this.add('g', { transform: `translate(${round2(x)} ${round2(y)})` });
    draw();
    this.into = outer;
  }

  rect(x, y, w, h, fill) {
    this.add('rect', { x, y, width: w, height: h, fill });
  }

  text(text, x, y, { size, weight = 400, colour, align = 'left', baseline = 'alphabetic', turn }) {
    const anchor = { left: 'start', center: 'middle', right: 'end' }[align];
    // Few programs follow dominant-baseline; a shift by the letters' height works in all.
    const drop = { alphabetic: 0, middle: 0.35 * size, top: 0.8 * size }[baseline];
    this.add(
      'text',
      {
        x: turn ? 0 : x,
        y: turn ? drop : y + drop,
        'font-size': size,
        'font-weight': weight,
        fill: colour,
        'text-anchor': anchor,
        transform: turn ? `translate(${round2(x)} ${round2(y)}) rotate(-90)` : null,
      },
      text,
    );
  }

  segments(flat, colour, width, cap = 'butt') {
    if (!flat.length) return;
    const parts = [];
    for (let i = 0; i < flat.length; i += 4) {
      parts.push(`M${round2(flat[i])} ${round2(flat[i + 1])}`);
      parts.push(`L${round2(flat[i + 2])} ${round2(flat[i + 3])}`);
    }
    const style = { stroke: colour, 'stroke-width': width, 'stroke-linecap': cap };
    this.add('path', { d: parts.join(''), fill: 'none', ...style });
  }

  path(flat, colour, width, dash = null) {
    const parts = [];
    let down = false;
    for (let i = 0; i < flat.length; i += 2) {
      const [x, y] = [flat[i], flat[i + 1]];
      const drawn = x === x && y === y;
      if (drawn) parts.push(`${down ? 'L' : 'M'}${round2(x)} ${round2(y)}`);
      down = drawn;
    }
    if (!parts.length) return;
    const style = { stroke: colour, 'stroke-width': width, 'stroke-linejoin': 'round' };
    const ends = dash ? { 'stroke-dasharray': dash.join(' ') } : { 'stroke-linecap': 'round' };
    this.add('path', { d: parts.join(''), fill: 'none', ...style, ...ends });
  }

  circle(x, y, radius, { fill, stroke, width = 1, opacity = 1 }) {
    const line = stroke ? { stroke, 'stroke-width': width } : {};
    this.add('circle', { cx: x, cy: y, r: radius, fill: fill || 'none', opacity, ...line });
  }

  bar(x, y, w, h, lut) {
    const id = `bar${this.ids++}`;
    const gradient = this.add('linearGradient', { id });
    const outer = this.into;
    this.into = gradient;
    for (let i = 0; i <= 32; i++) {
      this.add('stop', { offset: `${(100 * i) / 32}%`, 'stop-color': lut.css[Math.min(255, 8 * i)] });
    }
    this.into = outer;
    this.rect(x, y, w, h, `url(#${id})`);
  }

  map(picture, box) {
    if (picture.nx * picture.ny > VECTOR_CELLS) {
      const href = picture.enlarged(900).toDataURL('image/png');
      const place = { x: box.x, y: box.y, width: box.w, height: box.h };
      this.add('image', { href, preserveAspectRatio: 'none', ...place });
      return;
    }
    const outer = this.into;
    this.into = this.add('g', { 'shape-rendering': 'crispEdges' });
    const [w, h] = [box.w / picture.nx, box.h / picture.ny];
    picture.runs((row, start, length, colour) => {
      this.rect(box.x + start * w, box.y + row * h, length * w, h, colour);
    });
    this.into = outer;
  }

  clipped(box, draw) {
    const id = `clip${this.ids++}`;
    const clip = this.add('clipPath', { id });
    const outer = this.into;
    this.into = clip;
    this.rect(box.x, box.y, box.w, box.h, '#000');
    this.into = outer;
    this.into = this.add('g', { 'clip-path': `url(#${id})` });
    draw();
    this.into = outer;
  }

  document() {
    return new XMLSerializer().serializeToString(this.root);
  }
}

function round2(value) {
  return Math.round(value * 100) / 100;
}
