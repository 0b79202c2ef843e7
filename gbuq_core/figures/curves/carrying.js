// What is dragged in the picture itself: the place that is looked at (`carry.x`), a stretch that
// begins there (`carry.stretch`, { width, narrow, wide, low, high, label }), a border there
// (`carry.border`, { low, high, step }), or one of the reader's points. While it is carried the server hears of one message at a time, { seq, carry }, as
// stream.js has it; when it is let go it hears of a click there, of both ends of the stretch, or of where the border is.
// Without `carry` in the specification ({ seq, waits, x }) nothing is carried. With `carry.greets` a
// stretch moves to and fro once by itself, unless the reader asked for less motion.

const SHORTEST_CARRY = 4; // pixels; less is a click
const CARRY_REACH = 12; // pixels between a pointer and the place that it takes hold of
const GRIP = '#d55e00'; // of a stretch: the colour of a place that is looked at
const GRIP_HEIGHT = 7;
const GREETING = 4000; // milliseconds
const GREETING_REACH = 1.5; // units of x, to either side

Object.assign(CurvesView.prototype, {
  // What the server has seen; `waits` says that it is still at the last message.
  heard() {
    const { carry } = this.spec;
    if (!carry) return;
    this.carrier ??= new Stream((message) => this.send?.(message));
    this.carrier.acknowledge(carry.seq);
    if (carry.waits && !carry.local && this.carried && !this.carrier.busy) this.carrier.put({ carry: this.carried.at });
    this.svg.addEventListener('touchmove', this.holdPage ??= (event) => {
      if (this.carried) event.preventDefault(); // else the page scrolls, and the drag is taken away
    }, { passive: false });
    if (carry.greets) this.greet();
  },

  greet() {
    if (this.greeted || !this.send || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    this.greeted = true;
    const home = this.ends();
    const greets = this.stretched(home, 'all', 0); // where it ends
    let began = null;
    const move = (now) => {
      if (this.carried && !this.carried.greets) return; // a hand has it
      if (began !== null && !this.carried) return; // it was taken, and let go again
      began ??= now;
      const part = (now - began) / GREETING;
      if (part >= 1) {
        this.putDown();
        this.send(greets);
        return;
      }
      const at = this.stretched(home, 'all', GREETING_REACH * Math.sin(2 * Math.PI * part));
      if (JSON.stringify(at) !== JSON.stringify(this.carried?.at)) {
        this.carried = { at, greets };
        this.drawGrip();
        this.carrier.put({ carry: at });
      }
      requestAnimationFrame(move);
    };
    requestAnimationFrame(move);
  },

  // Whether a pointer takes hold of something.
  take(event) {
    const { greets: home } = this.carried ?? {};
    if (!this.spec.carry || !this.send || event.button !== 0 || (this.carried && !home)) return false;
    const load = this.spec.place ? this.pointOf(event) : this.markOf(event);
    if (!load) return false;
    if (home) this.putDown();
    event.preventDefault();
    this.svg.focus({ preventScroll: true });
    const { svg } = this;
    const { pointerId, clientX, clientY } = event;
    let moved = false;
    this.carried = { at: null };
    // A finger's events go to what it touched, though the drawing may have been renewed since.
    const { target } = event;
    if (target !== svg) target.addEventListener('touchmove', this.holdPage, { passive: false });
    const move = (now) => {
      if (now.pointerId !== pointerId) return;
      if (!moved && Math.hypot(now.clientX - clientX, now.clientY - clientY) < SHORTEST_CARRY) return;
      if (!moved) svg.setPointerCapture(pointerId);
      moved = true;
      const at = load.meant(now);
      if (JSON.stringify(at) === JSON.stringify(this.carried.at)) return;
      this.carried.at = at;
      this.drawGrip();
      if (this.spec.carry.local) this.read(at); // the picture follows by itself
      else this.carrier.put({ carry: at });
    };
    const end = (now) => {
      if (now.pointerId !== pointerId) return;
      svg.removeEventListener('pointermove', move);
      for (const name of ['pointerup', 'pointercancel']) svg.removeEventListener(name, end);
      if (target !== svg) target.removeEventListener('touchmove', this.holdPage);
      const at = this.putDown();
      if (!moved && home) this.send(home);
      if (!moved) return;
      const still = (click) => click.stopImmediatePropagation();
      svg.addEventListener('click', still, { capture: true });
      setTimeout(() => svg.removeEventListener('click', still, { capture: true }), 0);
      load.drop(at);
    };
    svg.addEventListener('pointermove', move);
    for (const name of ['pointerup', 'pointercancel']) svg.addEventListener(name, end);
    return true;
  },

  // Where it was when it was let go.
  putDown() {
    const { at } = this.carried;
    this.carried = null;
    this.carrier.waiting = null;
    this.carrier.seen = this.carrier.seq; // what is told now takes the place of what is under way
    return at;
  },

  markOf(event) {
    const { x, stretch, border } = this.spec.carry;
    if (stretch) return this.stretchOf(event);
    if (border) return this.borderOf(event);
    if (x === null || Math.abs(this.px(x) - event.offsetX) > CARRY_REACH) return null;
    return { meant: (now) => this.placeNear(now), drop: (at) => this.pick(at) };
  },

  // The bar above a stretch, or one of its ends. Below it a drag zooms, and a finger scrolls the page.
  stretchOf(event) {
    const [begin, end] = this.ends();
    const [from, to] = [begin, end].map(this.px);
    const { offsetX, offsetY } = event;
    if (offsetY > MARGIN.top + GRIP_HEIGHT + CARRY_REACH) return null;
    if (offsetX < from - CARRY_REACH || offsetX > to + CARRY_REACH) return null;
    const inner = Math.min(CARRY_REACH, (to - from) / 4); // of the bar, that belongs to each end
    const part = offsetX < from + inner ? 'begin' : offsetX > to - inner ? 'end' : 'all';
    const unit = (to - from) / (end - begin);
    const meant = (now) => this.stretched([begin, end], part, (now.offsetX - offsetX) / unit);
    return { meant, drop: (at) => this.send(at) };
  },

  // The ends of the stretch as it is held, or as the server drew it.
  ends() {
    const { x, stretch: { width } } = this.spec.carry;
    return this.carried?.at?.map((at) => this.spec.read.x[at]) ?? [x, x + width];
  },

  // Its ends, as places among the x that are read, where all of it or one end is moved this far.
  stretched([begin, end], part, by) {
    const { narrow, wide, low, high } = this.spec.carry.stretch;
    const within = (value, least, most) => Math.min(Math.max(value, least), most);
    const at = {
      all: () => {
        const from = within(begin + by, low, high - (end - begin));
        return [from, from + end - begin];
      },
      begin: () => [within(begin + by, Math.max(low, end - wide), end - narrow), end],
      end: () => [begin, within(end + by, begin + narrow, Math.min(high, begin + wide))],
    };
    return at[part]().map((value) => this.nearest(value));
  },

  // The place among the x that are read that is nearest to a value.
  nearest(value) {
    const { x } = this.spec.read;
    return x.reduce((best, one, i) => (Math.abs(one - value) < Math.abs(x[best] - value) ? i : best), 0);
  },

  // The plots that share the x axis, each of which has the border.
  plots() {
    return [{ x: this.left, width: this.right - this.left, y: MARGIN.top, height: this.bottom - MARGIN.top }];
  },

  // The border as it is held, or as the server drew it.
  borderX() {
    const { at } = this.carried ?? {};
    return at === undefined || at === null ? this.spec.carry.x : this.spec.read.x[at];
  },

  borderIn({ x, width }) {
    const [lo, hi] = this.stretch();
    return x + ((this.borderX() - lo) / (hi - lo)) * width;
  },

  borderOf({ offsetX, offsetY }) {
    const plot = this.plots().find((one) => (
      Math.abs(this.borderIn(one) - offsetX) <= CARRY_REACH
      && offsetY >= one.y - CARRY_REACH && offsetY <= one.y + one.height));
    if (!plot) return null;
    const [lo, hi] = this.stretch();
    const from = this.borderX();
    const meant = (now) => this.bordered(from + ((now.offsetX - offsetX) / plot.width) * (hi - lo));
    return { meant, drop: (at) => this.send(at) };
  },

  bordered(value) {
    const { low, high, step } = this.spec.carry.border;
    return this.nearest(low + step * Math.round((Math.min(Math.max(value, low), high) - low) / step));
  },

  // Shift and an arrow move the border or the stretch, or its right end; it is let go with Shift.
  keyStretch(event) {
    const moves = { ArrowLeft: ['all', -1], ArrowRight: ['all', 1], ArrowUp: ['end', 1], ArrowDown: ['end', -1] };
    const move = moves[event.key];
    const { stretch, border } = this.spec.carry ?? {};
    if (!event.shiftKey || !move || !(stretch || border) || !this.send) return false;
    event.preventDefault();
    if (this.carried?.greets) this.putDown();
    if (this.carried && !this.carried.keys) return true; // a pointer has it
    const { x } = this.spec.read;
    const at = border ? this.bordered(this.borderX() + move[1] * border.step)
      : this.stretched(this.ends(), move[0], move[1] * (x[1] - x[0]));
    if (!this.carried) {
      const end = (last) => {
        if (last.type === 'keyup' && last.key !== 'Shift') return;
        for (const name of ['keyup', 'blur']) this.svg.removeEventListener(name, end);
        this.send(this.putDown());
      };
      for (const name of ['keyup', 'blur']) this.svg.addEventListener(name, end);
    }
    this.carried = { at, keys: true };
    this.drawGrip();
    this.carrier.put({ carry: at });
    return true;
  },

  // The bar where it is dragged to, before the picture follows. Files do not have it.
  drawGrip() {
    this.grip?.remove();
    this.grip = null;
    const { stretch, border } = this.spec.carry ?? {};
    if (border && this.send) this.drawBorder();
    if (!stretch || !this.send) return;
    const ends = this.ends().map(this.px);
    const [from, to] = ends.map((end) => tenth(Math.min(Math.max(end, this.left), this.right)));
    if (to <= from) return;
    const colour = inkOf(GRIP, this.theme, this.dark);
    this.grip = svgNode('g', { class: 'rule grip' }, this.svg);
    const middle = MARGIN.top + GRIP_HEIGHT / 2;
    const bar = { x: from, width: tenth(to - from), y: MARGIN.top };
    svgNode('rect', { ...bar, height: GRIP_HEIGHT, fill: colour }, this.grip);
    for (const end of ends.filter((px) => px >= this.left - 1 && px <= this.right + 1)) {
      const edge = { x1: tenth(end), x2: tenth(end), y1: MARGIN.top, y2: this.bottom };
      svgNode('line', { ...edge, stroke: colour, 'stroke-dasharray': '2 4' }, this.grip);
      const ball = { cx: tenth(end), cy: middle, r: GRIP_HEIGHT - 1, stroke: colour, 'stroke-width': 2 };
      svgNode('circle', { ...ball, fill: this.theme.background }, this.grip);
    }
    const place = { x: (from + to) / 2, y: MARGIN.top + GRIP_HEIGHT + 13, 'text-anchor': 'middle' };
    svgNode('text', { ...place, fill: this.theme.text }, this.grip, stretch.label);
    // Above all of it, what a pointer takes hold of.
    const inner = Math.min(CARRY_REACH, (to - from) / 4);
    const reach = { y: 0, height: MARGIN.top + GRIP_HEIGHT + CARRY_REACH, fill: 'transparent' };
    const hold = (x, width, cursor) => {
      svgNode('rect', { ...reach, x: tenth(x), width: tenth(width) }, this.grip).style.cursor = cursor;
    };
    hold(from + inner, to - from - 2 * inner, 'grab');
    for (const x of [from - CARRY_REACH, to - inner]) hold(x, CARRY_REACH + inner, 'ew-resize');
  },

  drawBorder() {
    const colour = inkOf(GRIP, this.theme, this.dark);
    this.grip = svgNode('g', { class: 'rule grip' }, this.svg);
    for (const plot of this.plots()) {
      const { x, width, y, height } = plot;
      const at = tenth(this.borderIn(plot));
      if (at < x || at > x + width) continue;
      svgNode('line', { x1: at, x2: at, y1: y, y2: y + height, stroke: colour, 'stroke-dasharray': '2 4' }, this.grip);
      const ball = { cx: at, cy: y + GRIP_HEIGHT, r: GRIP_HEIGHT - 1, stroke: colour, 'stroke-width': 2 };
      svgNode('circle', { ...ball, fill: this.theme.background }, this.grip);
      const hold = { x: at - CARRY_REACH, width: 2 * CARRY_REACH, y, height, fill: 'transparent' };
      svgNode('rect', hold, this.grip).style.cursor = 'ew-resize';
    }
  },

  pointOf(event) {
    const place = this.placeOf(event);
    const point = place && this.grabbed(place);
    if (!place || point === null) return null;
    const { box, right, up } = place;
    const origin = { x: place.x - (event.offsetX - box.x) * right, y: place.y + (event.offsetY - box.y) * up };
    const { x, y } = this.points();
    const inside = (value, [low, high]) => Math.round(100 * Math.min(Math.max(value, low), high)) / 100;
    const meant = (now) => {
      const [px, py] = [now.offsetX - box.x, now.offsetY - box.y];
      this.placed = {
        x: x.with(point, inside(origin.x + px * right, this.spec.x.range)),
        y: y.with(point, inside(origin.y - py * up, this.spec.panels[0].range)),
        since: Date.now(),
      };
      return { x: this.placed.x, y: this.placed.y };
    };
    return { meant, drop: (at) => this.send(at) };
  },
});
