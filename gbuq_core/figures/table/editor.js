// A row whose values are edited: handles to the left; what is said of the row, one column's curve
// and the map of the rows to the right. What the server sends of the column that is held is enough
// to draw every place of its slider, so a drag asks nobody; where it is let go is told once.

class EditorView {
  constructor(parent) {
    this.box = htmlNode('div', 'gbuq-editor-box', parent);
    this.root = htmlNode('div', 'gbuq-editor', this.box);
    const left = htmlNode('div', 'gbuq-editor-left', this.root);
    const right = htmlNode('div', 'gbuq-editor-right', this.root);
    this.handles = new HandlesView(left, {
      grab: (i) => this.grab(i),
      move: (i, at) => this.move(i, at),
      set: (i, text) => this.tell({ sets: [[i, text]] }),
    });
    this.reset = htmlNode('button', 'gbuq-editor-reset', left, 'Reset');
    this.reset.type = 'button';
    this.reset.title = 'Put all values back';
    this.reset.addEventListener('click', () => this.tell({ reset: true }));
    this.table = htmlNode('table', 'gbuq-editor-said', right);
    this.said = htmlNode('div', 'gbuq-editor-words', right);
    this.said.setAttribute('aria-live', 'polite');
    const pictures = htmlNode('div', 'gbuq-editor-pictures', right);
    this.curve = new CurvesView(htmlNode('div', 'gbuq-editor-curve', pictures));
    this.map = new CurvesView(htmlNode('div', 'gbuq-editor-map', pictures));
    // Of a value that is set again and again the newest counts; other values wait beside it.
    this.stream = new Stream((message) => this.send?.(message), (waiting, next) => (
      next.reset ? next : { ...waiting, ...next, sets: [
        ...(waiting.sets ?? []).filter(([i]) => !next.sets?.some(([j]) => i === j)),
        ...(next.sets ?? []),
      ] }));
    this.place = null; // of the slider that is held, before the server has answered
    this.untold = new Set(); // handles that were let go, and the server has not answered
  }

  destroy() {
    this.stream.stop();
    this.curve.destroy();
    this.map.destroy();
    this.box.remove();
  }

  update(spec) {
    this.spec = spec;
    this.stream.acknowledge(spec.seq);
    if (!this.stream.busy) this.untold.clear();
    this.handles.update(spec.handles, this.untold);
    this.reset.disabled = !spec.handles.some((handle) => handle.changed);
    if (this.handles.held === null && !this.stream.busy) this.place = null;
    this.draw();
  }

  grab(i) {
    if (this.spec.curve?.handle === i || this.asked === i) return;
    this.asked = i;
    this.stream.put({ grab: i });
  }

  move(i, at) {
    this.asked = null;
    this.place = { handle: i, at };
    if (this.spec.curve?.handle !== i) this.grab(i);
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  tell(message) {
    this.asked = null;
    for (const [i] of message.sets ?? []) this.untold.add(i);
    if (message.reset) this.untold.clear();
    this.stream.put(message);
  }

  // The place of the shown curve that is looked at, or null for what the server said last.
  get at() {
    const { curve } = this.spec;
    return curve && this.place?.handle === curve.handle && this.place.at < curve.x.length
      ? this.place.at : null;
  }

  draw() {
    const { spec, at } = this;
    const { curve, map } = spec;
    this.drawTable(at);
    const now = at === null ? spec.now : { x: curve.x[at], y: curve.y[at], map: curve.map[at] };
    this.root.dataset.at = at === null ? 'told' : String(at);
    if (curve) {
      const [first, ...others] = curve.figure.panels;
      const upright = (x, [low, high], dash) => (x === null ? []
        : [{ kind: 'line', x: [x, x], y: [low, high], colour: 'text', width: 1.2, dash }]);
      const marked = (panel) => ({
        ...panel,
        layers: [...panel.layers, ...upright(curve.own, panel.range, '3 3'),
          ...upright(now.x, panel.range, '')],
      });
      const ring = now.x === null ? null : { x: now.x, y: now.y, colour: '#d55e00' };
      const panels = [{ ...marked(first), ring }, ...others.map(marked)];
      this.curve.update({ ...curve.figure, panels });
    }
    const [panel] = map.panels;
    const [x, y] = now.map;
    const grown = (range, value) => [range[0], Math.max(range[1], 1.04 * value)];
    this.map.update({
      ...map,
      x: { ...map.x, range: grown(map.x.range, x) },
      panels: [{ ...panel, range: grown(panel.range, y), ring: { x, y, colour: '#d55e00' } }],
    });
  }

  // One line a number: as in the file, now.
  drawTable(at) {
    const { said, curve } = this.spec;
    this.table.replaceChildren();
    const line = (cells, tag) => {
      const row = htmlNode('tr', '', this.table);
      cells.forEach((text, k) => htmlNode(k ? tag : 'th', '', row, text));
    };
    line(['', 'In the file', 'Edited'], 'th');
    said.forEach(({ name, before, now }, k) => {
      line([name, before, at === null ? now : curve.said[k][at]], 'td');
    });
    this.said.textContent = at === null ? this.spec.words : '';
  }
}

export function mountEditor(parent, spec, send = null) {
  parent.gbuqEditor ??= new EditorView(parent);
  parent.gbuqEditor.send = send;
  parent.gbuqEditor.update(spec);
  return parent.gbuqEditor;
}

export default function ({ data, parentElement, setTriggerValue }) {
  if (!data) return undefined;
  const spec = unpackCurves(data);
  const send = (message) => setTriggerValue('move', message);
  return drawForCall(parentElement, () => mountEditor(parentElement, spec, send), () => {
    parentElement.gbuqEditor?.destroy();
    delete parentElement.gbuqEditor;
  });
}
