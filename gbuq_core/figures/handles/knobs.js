// A bar of knobs that a picture works out by itself while they are moved: sliders, switches and
// lists of choices. It knows nothing of what they do, and its texts are set with textContent.
//
//   const bar = new KnobBar(parent, { move, set });
//   bar.update([{ key, label, kind, value, texts, help, needs }, ...]);
//   bar.values   // { level: 2, conformal: true }: places among the choices, and switches
//
// `kind` is "slide", "choose" or "switch"; `value` is the place among `texts`, or whether a switch
// is on; `needs` ({ key: [values] } or null) says at which values of others a knob is shown.
// move(values) is called once a frame while a knob moves, set(values) when it is let go: only
// that needs to reach a server. What the server then says of a knob is taken over unless it is
// what was told, since by then the finger may be elsewhere.

// On the page's root while a slider of a bar has moved on and the page does not know: its answer is
// hidden meanwhile.
const AHEAD = 'data-gbuq-ahead';
const FORGOTTEN = 10000; // milliseconds after which an answer is no longer expected

function knobNode(name, className, parent, text = '') {
  const node = document.createElement(name);
  node.className = className;
  node.textContent = text;
  parent.append(node);
  return node;
}

function isKnobShown({ needs }, values) {
  return Object.entries(needs ?? {}).every(([other, wanted]) => wanted.includes(values[other]));
}

class KnobBar {
  constructor(parent, calls) {
    this.calls = calls;
    this.root = knobNode('div', 'gbuq-knobs', parent);
    this.root.setAttribute('role', 'group');
    this.root.setAttribute('aria-label', 'View');
    // Streamlit has shortcuts of single letters, and sees the page, not a control, as their target.
    this.root.addEventListener('keydown', (event) => event.stopPropagation());
    this.rows = new Map(); // by key
    this.values = {};
    this.given = {}; // what the server said last
    this.told = []; // what it has not answered yet
    this.idle = new Set(); // keys of knobs that change nothing now: they are not offered
  }

  // Returns whether a value is another one than before.
  update(knobs) {
    const before = JSON.stringify(this.values);
    const keys = new Set(knobs.map(({ key }) => key));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.root.remove();
      this.rows.delete(key);
      delete this.values[key];
      delete this.given[key];
    }
    const answer = Object.fromEntries(knobs.map(({ key, value }) => [key, value]));
    this.hear(answer);
    knobs.forEach((knob, i) => {
      const old = this.rows.get(knob.key);
      if (old?.kind !== knob.kind) {
        old?.root.remove();
        this.rows.set(knob.key, this.make(knob));
      }
      const row = this.rows.get(knob.key);
      // In the order in which they are declared; a slider that is moved in the page loses its drag.
      if (this.root.children[i] !== row.root) this.root.insertBefore(row.root, this.root.children[i]);
      this.dress(row, knob);
    });
    this.show();
    if (!this.held) document.documentElement.removeAttribute(AHEAD);
    return before !== JSON.stringify(this.values);
  }

  // Values of the server: those that it does not merely repeat, or answer, move their knobs.
  hear(answer) {
    const now = Date.now();
    const same = (one) => Object.keys(one).every((key) => one[key] === answer[key]);
    const heard = this.told.findIndex(({ values }) => same(values));
    this.told = this.told.slice(heard + 1).filter(({ at }) => now - at < FORGOTTEN);
    for (const [key, value] of Object.entries(answer)) {
      const news = !(key in this.given) || (heard < 0 && value !== this.given[key]);
      if (news && this.held !== key) this.values[key] = value;
      this.given[key] = value;
    }
  }

  // Stands where the caller says, whatever was told before.
  put(values) {
    Object.assign(this.values, values);
    this.show();
  }

  // Whether a knob changes anything now.
  offer(key, does) {
    if (does === !this.idle.has(key)) return;
    if (does) this.idle.delete(key);
    else this.idle.add(key);
    this.show();
  }

  make({ key, kind }) {
    const root = knobNode('label', `gbuq-knob gbuq-knob-${kind}`, this.root);
    root.dataset.knob = key;
    const control = document.createElement(kind === 'choose' ? 'select' : 'input');
    const name = knobNode('span', 'gbuq-knob-name', root);
    if (kind === 'switch') root.prepend(control);
    else root.append(control);
    if (kind === 'switch') control.type = 'checkbox';
    if (kind === 'slide') Object.assign(control, { type: 'range', min: 0, step: 1 });
    const number = kind === 'slide' ? knobNode('output', '', root) : null;
    const row = { kind, root, name, control, number, knob: null };
    const read = () => {
      this.values[key] = kind === 'switch' ? control.checked : Number(control.value);
      this.show();
    };
    const letGo = () => {
      if (this.held === key) this.held = null;
      setTimeout(() => { // unless the page is told now
        if (!this.told.length) document.documentElement.removeAttribute(AHEAD);
      }, 0);
    };
    control.addEventListener('pointerdown', () => { this.held = key; });
    for (const event of ['pointerup', 'pointercancel', 'blur']) control.addEventListener(event, letGo);
    control.addEventListener('input', () => {
      if (kind === 'slide') document.documentElement.toggleAttribute(AHEAD, true);
      read();
      this.soon();
    });
    control.addEventListener('change', () => { letGo(); read(); this.tell(); });
    return row;
  }

  dress(row, knob) {
    const { control } = row;
    const same = row.knob && row.knob.texts.join('\n') === knob.texts.join('\n');
    row.knob = knob;
    row.name.textContent = knob.label;
    row.root.title = knob.help;
    if (knob.kind === 'slide') control.max = knob.texts.length - 1;
    const longest = Math.max(0, ...knob.texts.map((text) => text.length));
    if (knob.kind === 'slide') row.number.style.minWidth = `${longest}ch`;
    if (knob.kind !== 'choose' || same) return;
    control.replaceChildren();
    knob.texts.forEach((text, at) => {
      const option = document.createElement('option');
      option.value = at;
      option.textContent = text;
      control.append(option);
    });
  }

  // Every control as its value is, and only those that others let be seen.
  show() {
    for (const [key, { kind, root, control, number, knob }] of this.rows) {
      const value = this.values[key];
      root.hidden = this.idle.has(key) || !isKnobShown(knob, this.values);
      if (kind === 'switch') control.checked = value;
      else control.value = value;
      if (kind !== 'slide' || number.textContent === knob.texts[value]) continue;
      number.textContent = knob.texts[value];
      control.setAttribute('aria-valuetext', knob.texts[value]);
    }
  }

  // A picture a frame, of the newest values.
  soon() {
    this.waiting ??= requestAnimationFrame(() => this.now());
  }

  now() {
    cancelAnimationFrame(this.waiting);
    this.waiting = null;
    this.calls.move({ ...this.values });
  }

  tell() {
    this.now();
    const values = { ...this.values };
    this.told.push({ values, at: Date.now() });
    this.calls.set(values);
  }

  destroy() {
    cancelAnimationFrame(this.waiting);
    document.documentElement.removeAttribute(AHEAD);
    this.root.remove();
  }
}
