// A picture that is kept beside the next: a copy that stays as it is, with what it was drawn for,
// until the reader takes it away. New data change only the figure itself. Where half of the page is
// too narrow for either, it stands below.
//
// A figure of maps and one of curves both have one:
//
//   this.pin = new Pin(this);
//   this.pin.button    // in the figure's toolbar
//   this.pin.place()   // whenever the figure's room changes
//
// Of the figure it needs `root`, resize(), leastBeside() (pixels that it needs beside another),
// copyOf() (the picture as a node), and shownNow() ({ said, knobs, values, alt }: texts for the
// caption, and where the knobs of its bar stand).

const PIN_GAP = 20; // pixels between the two
const PIN_PATH = 'M5 1.5h6V3l-1 .8v3.4l2.5 2.3V11H8.7v3.5L8 15.5l-.7-1V11H3.5V9.5L6 7.2V3.8L5 3z';

class Pin {
  constructor(figure, className = '') {
    this.figure = figure;
    this.kept = null;
    this.button = element('button', className, { type: 'button' });
    this.button.addEventListener('click', () => (this.kept ? this.drop() : this.keep()));
    this.show();
  }

  show() {
    const { button, kept, figure } = this;
    drawIcon(button, PIN_PATH, kept ? 'Take the kept picture away' : 'Keep this picture beside the next');
    button.setAttribute('aria-pressed', String(Boolean(kept)));
    figure.root.dataset.pinned = kept ? '1' : '0';
  }

  keep() {
    const { figure } = this;
    const kept = element('figure', 'gbuq-pin');
    const { alt, ...shown } = figure.shownNow();
    const caption = element('figcaption', '', {}, `Kept: ${settingsText(shown)}`);
    this.kept = kept;
    this.least = figure.leastBeside();
    figure.root.after(kept);
    // Where both have half of the width the copy is drawn as the figure is from here on.
    this.place();
    figure.resize();
    const copy = figure.copyOf();
    copy.classList.add('gbuq-kept');
    copy.setAttribute('role', 'img');
    copy.setAttribute('aria-label', `Kept picture. ${alt}`);
    const away = element('button', 'gbuq-unpin', { type: 'button' }, 'Unpin');
    away.addEventListener('click', () => this.drop());
    caption.append(away);
    kept.append(caption, copy);
    this.show();
  }

  drop() {
    if (!this.kept) return;
    this.kept.remove();
    this.kept = null;
    this.place();
    this.show();
    this.figure.resize();
  }

  place() {
    const { kept, figure: { root } } = this;
    const room = (root.parentElement ?? root.getRootNode().host)?.clientWidth ?? 0;
    const beside = Boolean(kept) && (room - PIN_GAP) / 2 >= this.least;
    for (const part of [root, kept]) part?.classList.toggle('gbuq-beside', beside);
  }
}

// What a picture is of: what it says itself, the knobs of its bar, and what the address says besides.
function settingsText({ said, knobs, values }) {
  const parts = [...said];
  for (const knob of knobs) {
    const { key, kind, label, texts } = knob;
    if (!isKnobShown(knob, values)) continue;
    if (kind !== 'switch') parts.push(`${label} ${texts[values[key]]}`);
    else if (values[key]) parts.push(label);
  }
  const named = new Map();
  for (const [key, value] of new URLSearchParams(globalThis.location.search)) {
    if (knobs.some((knob) => knob.key === key)) continue;
    named.set(key, [...(named.get(key) ?? []), value]);
  }
  for (const [key, texts] of named) parts.push(`${key.replaceAll('_', ' ')} ${texts.join(' and ')}`);
  return parts.join(', ') || 'the settings of before';
}
