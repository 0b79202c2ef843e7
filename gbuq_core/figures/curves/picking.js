// Dots as the picture: reading the nearest, opening it, and looking closer at a part of them.
// Where curves are the picture, a click chooses an x.

const REACH = 24; // pixels between a pointer and the dot it means
const SHORTEST_DRAG = 8; // pixels; less is a click

Object.assign(CurvesView.prototype, {
  dotNear({ offsetX, offsetY }) {
    const { x, y } = this.spec.read;
    let [nearest, least] = [null, REACH * REACH];
    for (let i = 0; i < x.length; i++) {
      const across = this.px(x[i]) - offsetX;
      if (Math.abs(across) > REACH || !this.isShown(i)) continue;
      const down = this.upper.py(y[i]) - offsetY;
      const distance = across * across + down * down;
      if (distance < least) [nearest, least] = [i, distance];
    }
    return nearest;
  },

  isShown(i) {
    const { x, y } = this.spec.read;
    const [left, right] = this.shownX;
    const [low, high] = this.upper.shown;
    return x[i] >= left && x[i] <= right && y[i] >= low && y[i] <= high;
  },

  click(event) {
    if (this.dragged) this.dragged = false;
    else if (this.spec.pick) this.pick(this.meant(event));
  },

  // The dot, or the place along x, that a pointer means.
  meant(event) {
    return this.spec.read.y ? this.dotNear(event) : this.placeNear(event);
  },

  placeNear({ offsetX }) {
    const { x } = this.spec.read;
    let nearest = 0;
    for (let i = 1; i < x.length; i++) {
      if (Math.abs(this.px(x[i]) - offsetX) < Math.abs(this.px(x[nearest]) - offsetX)) nearest = i;
    }
    return nearest;
  },

  pick(index) {
    const { names } = this.spec.read;
    if (index !== null && this.spec.pick && this.send) this.send(names ? names[index] : index);
  },

  // A rectangle that is drawn becomes the whole picture.
  press(event) {
    if (!this.spec.read.y) {
      const { left: x, right, bottom } = this;
      this.brush(event, { x, y: MARGIN.top, width: right - x, height: bottom - MARGIN.top });
      return;
    }
    if (!this.brushes(event)) return;
    this.dragged = false;
    event.preventDefault();
    this.svg.focus({ preventScroll: true });
    this.svg.setPointerCapture(event.pointerId);
    const start = [event.offsetX, event.offsetY];
    const look = { fill: this.theme.soft, 'fill-opacity': 0.15, stroke: this.theme.soft };
    const frame = svgNode('rect', { ...look, class: 'rule' }, this.svg);
    let box = null;
    const move = (now) => {
      box = this.boxOf(start, [now.offsetX, now.offsetY]);
      for (const [key, value] of Object.entries(box)) frame.setAttribute(key, value);
    };
    const end = (last) => {
      for (const name of ['pointerup', 'pointercancel']) this.svg.removeEventListener(name, end);
      this.svg.removeEventListener('pointermove', move);
      frame.remove();
      const long = box !== null && box.width >= SHORTEST_DRAG && box.height >= SHORTEST_DRAG;
      if (!long || last.type !== 'pointerup') return;
      this.brushed(last);
      this.zoomTo(box);
    };
    this.svg.addEventListener('pointermove', move);
    for (const name of ['pointerup', 'pointercancel']) this.svg.addEventListener(name, end);
  },

  boxOf(from, to) {
    const { top, height } = this.upper;
    const limits = [[this.left, this.right], [top, top + height]];
    const [across, down] = limits.map(([low, high], k) => (
      [from[k], to[k]].map((at) => Math.min(Math.max(at, low), high)).sort((a, b) => a - b)
    ));
    const size = { width: across[1] - across[0], height: down[1] - down[0] };
    return { x: across[0], y: down[0], ...size };
  },

  // New numbers for the same dots leave the eye where it is; another picture is seen whole.
  keepPlace(before, spec) {
    const [old, now] = [before?.read, spec.read];
    if (!old?.names || !now.names) return;
    this.at = this.at === null ? null : now.names.indexOf(old.names[this.at]);
    if (this.at === -1) this.at = null;
    if (!this.window) return;
    const { x: [left, right], y: [low, high] } = this.window;
    const inside = (i) => now.x[i] >= left && now.x[i] <= right && now.y[i] >= low
      && now.y[i] <= high;
    const same = old.names.length === now.names.length && before.x.label === spec.x.label;
    if (!same || !now.names.some((_, i) => inside(i))) this.window = null;
  },

  zoomTo(box) {
    if (box) {
      const { top, height, shown: [low, high] } = this.upper;
      const [left, right] = this.shownX;
      const x = (pixel) => left + ((pixel - this.left) / (this.right - this.left)) * (right - left);
      const y = (pixel) => high - ((pixel - top) / height) * (high - low);
      this.window = { x: [x(box.x), x(box.x + box.width)], y: [y(box.y + box.height), y(box.y)] };
    } else {
      this.window = null;
    }
    this.at = null;
    this.draw();
  },
});
