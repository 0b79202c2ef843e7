// A list of values that a reader takes hold of: a slider or a list of choices, a box to type in,
// and a button that puts the value back. Every text is set with textContent or as a value.
//
// new HandlesView(parent, { grab, move, set }) tells of
//   grab(i)        the reader reaches for handle i (pointer over it, or focus),
//   move(i, at)    its slider or list stands at place `at`, many times while it is dragged,
//   set(i, text)   it was let go, or a text was typed: the text that stands there now.
// update([{ name, kind, texts, at, own, text, changed, note }]): kind is "slide" or "choose";
// `texts` are the places of its slider, `at` where it stands, `own` where it stood at first, `text`
// what the box shows. A handle that is held keeps its place, and so do those in the set that
// update takes second: the reader has moved them since.

class HandlesView {
  constructor(parent, calls) {
    this.calls = calls;
    this.held = null; // the handle that is dragged or typed in
    this.root = htmlNode('div', 'gbuq-handles', parent);
    // Streamlit has shortcuts of single letters, and sees the page, not the box, as their target.
    this.root.addEventListener('keydown', (event) => event.stopPropagation());
    this.rows = [];
  }

  update(handles, moved = new Set()) {
    while (this.rows.length > handles.length) this.rows.pop().root.remove();
    handles.forEach((handle, i) => {
      if (this.rows[i]?.kind !== handle.kind) {
        const made = this.make(i, handle);
        if (this.rows[i]) this.rows[i].root.replaceWith(made.root);
        this.rows[i] = made;
      }
      this.show(this.rows[i], handle, this.held === i || moved.has(i));
    });
  }

  make(i, { kind }) {
    const root = htmlNode('div', 'gbuq-handle', this.root);
    const name = htmlNode('span', 'gbuq-handle-name', root);
    const control = document.createElement(kind === 'slide' ? 'input' : 'select');
    if (kind === 'slide') Object.assign(control, { type: 'range', min: 0, step: 1 });
    const box = document.createElement('input');
    Object.assign(box, { type: 'text', className: 'gbuq-handle-box', maxLength: 200, size: 9 });
    root.append(control, box);
    const back = htmlNode('button', 'gbuq-handle-back', root, '\u21ba');
    back.type = 'button';
    const note = htmlNode('span', 'gbuq-handle-note', root);
    const row = { kind, root, name, control, box, back, note, handle: null };
    const moved = () => {
      const at = Number(control.value);
      box.value = row.handle.texts[at];
      control.setAttribute('aria-valuetext', box.value);
      this.calls.move(i, at);
    };
    const letGo = () => { this.held = null; };
    root.addEventListener('pointerenter', () => this.reach(i));
    root.addEventListener('focusin', () => this.reach(i, true));
    control.addEventListener('pointerdown', () => { this.held = i; });
    control.addEventListener('input', () => { this.held = i; moved(); });
    control.addEventListener('change', () => { letGo(); moved(); this.calls.set(i, box.value); });
    for (const name of ['pointerup', 'pointercancel', 'blur']) control.addEventListener(name, letGo);
    box.addEventListener('focus', () => { this.held = i; });
    box.addEventListener('change', () => { letGo(); this.calls.set(i, box.value); });
    box.addEventListener('blur', letGo);
    back.addEventListener('click', () => this.calls.set(i, row.handle.texts[row.handle.own] ?? ''));
    return row;
  }

  // A pointer that passes on the way to another handle, or while one is dragged, takes none.
  reach(i, now = false) {
    clearTimeout(this.reaching);
    if (this.held !== null && this.held !== i) return;
    this.reaching = setTimeout(() => this.calls.grab(i), now ? 0 : 60);
  }

  show(row, handle, keepsPlace) {
    const { control, box, back } = row;
    const same = row.handle && row.handle.texts.join('\n') === handle.texts.join('\n');
    row.handle = handle;
    row.name.textContent = handle.name;
    row.name.title = handle.name;
    row.note.textContent = handle.note;
    row.root.dataset.changed = handle.changed ? '1' : '0';
    control.setAttribute('aria-label', handle.name);
    box.setAttribute('aria-label', `${handle.name}, typed`);
    back.setAttribute('aria-label', `Put back ${handle.name}`);
    back.disabled = !handle.changed;
    if (!same) this.places(row, handle);
    if (keepsPlace) return;
    control.value = handle.at;
    control.setAttribute('aria-valuetext', handle.text);
    box.value = handle.text;
    box.placeholder = 'missing';
  }

  places({ kind, control }, { texts }) {
    if (kind === 'slide') {
      control.max = texts.length - 1;
      control.disabled = texts.length < 2;
      return;
    }
    control.replaceChildren();
    texts.forEach((text, k) => {
      const option = document.createElement('option');
      option.value = k;
      option.textContent = text || 'missing';
      control.append(option);
    });
  }
}
