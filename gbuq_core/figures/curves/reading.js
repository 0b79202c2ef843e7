// Reading values off the curves by pointer and keyboard, and saving the picture.

const LEGEND_LINE = 18; // pixels of a saved picture

Object.assign(CurvesView.prototype, {
  readNear(event) {
    this.pressed = event.buttons > 0;
    this.read(this.meant(event));
  },

  key(event) {
    if (this.keyStretch(event)) return;
    if (event.key === 'Enter') this.pick(this.at);
    if (event.key === 'Escape' && this.at === null) this.zoomTo(null);
    const last = this.spec.read.x.length - 1;
    const from = this.at ?? (event.key === 'ArrowLeft' ? last + 1 : -1);
    const steps = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: last };
    if (event.key === 'Escape') this.read(null);
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.read(Math.min(Math.max(steps[event.key], 0), last));
  },

  read(index) {
    const { x, y, names, label, values } = this.spec.read;
    this.at = index !== null && index < x.length ? index : null;
    this.pointNear();
    this.svg.style.cursor = this.at !== null && this.spec.pick ? 'pointer' : '';
    if (this.at === null) {
      this.rule.setAttribute('visibility', 'hidden');
      this.spot.setAttribute('visibility', 'hidden');
      say(this.readout, this.spec.hint);
      return;
    }
    const at = this.px(x[this.at]);
    const shape = y ? this.spot : this.rule;
    const place = y ? { cx: at, cy: this.upper.py(y[this.at]) } : { x1: at, x2: at };
    for (const [key, value] of Object.entries(place)) shape.setAttribute(key, value);
    shape.setAttribute('visibility', 'visible');
    const parts = values.map(({ name, at: all }) => {
      const value = all[this.at];
      return value === null ? `${name} none` : `${name} ${formatValue(Number(value.toPrecision(3)))}`;
    });
    const name = names ? String(names[this.at]) : formatValue(x[this.at]);
    this.readout.textContent = [`${label} ${name}`, ...parts].join('   ');
  },

  // Where each entry of the legend stands in a file, in as many lines as they need.
  legendPlaces() {
    const right = this.width - MARGIN.right;
    let [left, line] = [MARGIN.left, 0];
    return Array.from(this.legend.childNodes, (entry) => {
      const swatch = Number(entry.querySelector('svg').getAttribute('width'));
      const width = swatch + 6 + textWidth(entry.textContent, this.theme, 12);
      if (left > MARGIN.left && left + width > right) [left, line] = [MARGIN.left, line + 1];
      const place = { entry, left, text: left + swatch + 6, line };
      left += width + 16;
      return place;
    });
  },

  // The figure as a file of its own: the drawing with its legend as lines of text above it.
  asFile() {
    const { width, height, theme, spec } = this;
    const entries = this.legendPlaces();
    const head = 28 + LEGEND_LINE * Math.max(0, ...entries.map(({ line }) => line));
    const file = svgNode('svg', {
      xmlns: SVG, width, height: height + head, viewBox: `0 0 ${width} ${height + head}`,
      'font-family': theme.font, 'font-size': 12,
    });
    svgNode('title', {}, file, spec.alt);
    svgNode('rect', { width: '100%', height: '100%', fill: theme.background }, file);
    for (const { entry, left, text, line } of entries) {
      const swatch = entry.querySelector('svg').cloneNode(true);
      swatch.setAttribute('x', left);
      swatch.setAttribute('y', 8 + LEGEND_LINE * line);
      file.append(swatch);
      const place = { x: text, y: 18 + LEGEND_LINE * line, fill: theme.soft };
      svgNode('text', place, file, entry.textContent);
    }
    const drawing = svgNode('g', { transform: `translate(0,${head})` }, file);
    for (const node of this.svg.childNodes) drawing.append(node.cloneNode(true));
    for (const node of drawing.querySelectorAll('.rule')) node.remove();
    return file;
  },

  save(format) {
    const name = `${fileStem(this.spec.name)}.${format}`;
    const blob = new Blob([new XMLSerializer().serializeToString(this.asFile())], { type: 'image/svg+xml' });
    if (format === 'svg') {
      saveFile(blob, name);
      return;
    }
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement('canvas');
      const scale = 3; // enough for print
      canvas.width = scale * image.width;
      canvas.height = scale * image.height;
      canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
      URL.revokeObjectURL(image.src);
      canvas.toBlob((png) => saveFile(png, name), 'image/png');
    };
    image.src = URL.createObjectURL(blob);
  },
});

function saveFile(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The download has its own hold on the data once it has begun.
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const viewOf = (spec) => (spec.drawing ? DRAWINGS[spec.drawing]
  : spec.dials ? DialsView : spec.facets ? FacetsView : CurvesView);

function unmount(parent) {
  parent.gbuqCurves?.destroy();
  delete parent.gbuqCurves;
}

// The entry: Streamlit calls the default export on every rerun with the same element. A figure has
// other parts once its model is there.
export function mount(parent, spec, send = null) {
  const View = viewOf(spec);
  if (parent.gbuqCurves && parent.gbuqCurves.constructor !== View) unmount(parent);
  parent.gbuqCurves ??= new View(parent);
  parent.gbuqCurves.send = send;
  parent.gbuqCurves.update(spec);
  return parent.gbuqCurves;
}

export default function ({ data, parentElement, setTriggerValue }) {
  if (!data) return undefined;
  const spec = unpackCurves(data);
  const draw = () => mount(parentElement, spec, (name) => setTriggerValue('pick', name));
  return drawForCall(parentElement, draw, () => unmount(parentElement));
}
