// The page's own sliders, told of while they are dragged. Streamlit's slider tells its server where
// it was let go; this watches the thumb meanwhile. Nothing is drawn here.
//
// Messages are { seq, name, value, base, end }: value and base are lists, a number a thumb (a slider
// of choices counts them), base where the drag began. `end` says that it was let go there: then the
// slider itself tells nothing.

class SliderWatch {
  constructor(page) {
    this.page = page;
    this.stream = new Stream((message) => this.send?.(message));
    this.held = null; // the slider under the pointer that pressed it
    this.observer = new MutationObserver(() => this.look());
    this.ended = new AbortController();
    const listen = (name, act) => {
      page.addEventListener(name, act, { capture: true, signal: this.ended.signal });
    };
    listen('pointerdown', (event) => this.press(event));
    for (const name of ['pointerup', 'pointercancel']) {
      listen(name, (event) => this.release(event));
    }
  }

  destroy() {
    this.ended.abort();
    this.observer.disconnect();
    this.stream.stop();
  }

  // `waits` says that the fit of the last message goes on: it is asked for again, or a newer one.
  update({ seq, names, waits }) {
    this.names = names;
    this.stream.acknowledge(seq);
    if (waits && this.held?.told && !this.stream.busy) this.put(this.held.told);
  }

  press(event) {
    if (this.held || event.button !== 0) return;
    for (const name of this.names) {
      const root = event.target.closest?.(`.st-key-${CSS.escape(name)}`);
      if (!root || !event.target.closest('[role=group]')) continue;
      const thumbs = [...root.querySelectorAll('input[type=range]:not(:disabled)')];
      if (!thumbs.length) return;
      this.held = { name, thumbs, pointer: event.pointerId, base: this.read(thumbs), told: null };
      this.observer.observe(root, {
        subtree: true, attributes: true, attributeFilter: ['value', 'aria-valuetext'],
      });
    }
  }

  read(thumbs) {
    return thumbs.map((thumb) => Number(thumb.value));
  }

  look() {
    const value = this.read(this.held.thumbs);
    if (String(value) !== String(this.held.told ?? this.held.base)) this.put(value);
  }

  put(value, more = {}) {
    const { name, base } = this.held;
    this.held.told = value;
    this.stream.put({ name, value, base, ...more });
  }

  // What waits is not asked for any more: the slider tells where it was let go.
  release({ pointerId }) {
    if (this.held?.pointer !== pointerId) return;
    this.observer.disconnect();
    const { told, thumbs, base } = this.held;
    this.stream.waiting = null;
    if (told && String(this.read(thumbs)) === String(base)) this.put(base, { end: true });
    this.held = null;
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  return drawForCall(parentElement, () => {
    const watch = (parentElement.gbuqSliders ??= new SliderWatch(parentElement.ownerDocument));
    watch.send = (message) => setTriggerValue('move', message);
    watch.update(data);
  }, () => {
    parentElement.gbuqSliders?.destroy();
    delete parentElement.gbuqSliders;
  });
}
