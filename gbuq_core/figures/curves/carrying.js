// What is dragged in the picture itself: the place that is looked at (`carry.x`), or one of the
// reader's points. While it is carried the server hears of one message at a time, { seq, carry },
// as stream.js has it; when it is let go it hears of a click there. Without `carry` in the
// specification ({ seq, waits, x }) nothing is carried.

const SHORTEST_CARRY = 4; // pixels; less is a click
const CARRY_REACH = 12; // pixels between a pointer and the place that it takes hold of

Object.assign(CurvesView.prototype, {
  // What the server has seen; `waits` says that it is still at the last message.
  heard() {
    const { carry } = this.spec;
    if (!carry) return;
    this.carrier ??= new Stream((message) => this.send?.(message));
    this.carrier.acknowledge(carry.seq);
    if (carry.waits && this.carried && !this.carrier.busy) this.carrier.put({ carry: this.carried.at });
    this.svg.addEventListener('touchmove', this.holdPage ??= (event) => {
      if (this.carried) event.preventDefault(); // else the page scrolls, and the drag is taken away
    }, { passive: false });
  },

  // Whether a pointer takes hold of something.
  take(event) {
    if (!this.spec.carry || !this.send || event.button !== 0 || this.carried) return false;
    const load = this.spec.place ? this.pointOf(event) : this.markOf(event);
    if (!load) return false;
    event.preventDefault();
    this.svg.focus({ preventScroll: true });
    const { svg } = this;
    const { pointerId, clientX, clientY } = event;
    let moved = false;
    this.carried = { at: null };
    // A finger's events go to what it touched, though the drawing may have been renewed since.
    event.target.addEventListener('touchmove', this.holdPage, { passive: false });
    const move = (now) => {
      if (now.pointerId !== pointerId) return;
      if (!moved && Math.hypot(now.clientX - clientX, now.clientY - clientY) < SHORTEST_CARRY) return;
      if (!moved) svg.setPointerCapture(pointerId);
      moved = true;
      const at = load.meant(now);
      if (JSON.stringify(at) === JSON.stringify(this.carried.at)) return;
      this.carried.at = at;
      this.carrier.put({ carry: at });
    };
    const end = (now) => {
      if (now.pointerId !== pointerId) return;
      svg.removeEventListener('pointermove', move);
      for (const name of ['pointerup', 'pointercancel']) svg.removeEventListener(name, end);
      const { at } = this.carried;
      this.carried = null;
      this.carrier.waiting = null;
      this.carrier.seen = this.carrier.seq; // what is told now takes the place of what is under way
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

  markOf(event) {
    const { x } = this.spec.carry;
    if (x === null || Math.abs(this.px(x) - event.offsetX) > CARRY_REACH) return null;
    return { meant: (now) => this.placeNear(now), drop: (at) => this.pick(at) };
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
