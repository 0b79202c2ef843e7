// The maps while a knob differs from what the page last drew: worked out from the members, or
// read back from the frames, and coloured anew. A panel whose `shown` is set draws that.

const MEMBER_KNOBS = {
  models: ['shown'],
  truncation: ['step', 'start', 'shown'],
  cycles: ['burn_in', 'shown'],
};
const [TOTAL, DATA, KNOWLEDGE] = [0, 1, 2];
const NO_MARKERS = [];
const LOOKS = ['colours', 'focus', 'map', 'every']; // knobs that change no number: looking.js, pairs.js

// The value that a knob has at a place; "all" members are null, and numbers may be texts.
function knobValue(spec, at) {
  const choice = spec.choices[Number(at)];
  return spec.key === 'shown' ? Number(choice) || null : choice;
}

class LiveMaps {
  constructor(sheet) {
    this.sheet = sheet;
    this.live = sheet.live;
    this.asked = {};
    for (const spec of sheet.knobs || []) {
      if (!LOOKS.includes(spec.key)) this.asked[spec.key] = knobValue(spec, spec.value);
    }
    this.on = false;
    const { panels } = sheet;
    this.lastFrame = sheet.frames - 1;
    const { cells } = panels[0];
    const three = () => [0, 1, 2].map(() => new Float64Array(cells));
    this.methods = this.live.ensembles.map((spec) => ({
      spec,
      ensemble: null,
      panels: spec.panels.map((index) => panels[index]),
      final: { parts: three(), key: '' },
      now: { parts: three(), key: '' },
    }));
    this.noise = this.live.noisePanels.map((index) => ({
      panel: panels[index], values: new Float64Array(cells), key: '',
    }));
    this.scratch = new Float64Array(cells);
    this.touched = [...this.methods.flatMap((method) => method.panels), ...this.noise.map((n) => n.panel)];
    for (const panel of this.touched) {
      const { log, limits, unit, hatched, blankHatched, markers } = panel;
      panel.drawn = { log, limits, unit, hatched, blankHatched, markers };
      panel.buffer = new Float32Array(cells);
      panel.flags = new Uint8Array(cells);
    }
    this.drawnLabel = sheet.hatchLabel;
    this.drawnNote = sheet.note;
    this.take();
  }

  // Members may come before or after the sheet.
  take() {
    const arrays = memberStores.get(this.live.members);
    if (!arrays || !this.methods.length || this.taken) return false;
    this.taken = true;
    this.methods.forEach((method, i) => {
      // A file has no members that none of its knobs needs.
      if (!method.spec.stages.length) return;
      method.ensemble = new Ensemble(this.live.family, method.spec, arrays[i]);
    });
    return true;
  }

  // Puts the picture of these knobs and this frame into the panels; false if it is the page's.
  apply(values, frame) {
    const on = Object.keys(this.asked).some((key) => values[key] !== this.asked[key]);
    if (!on) {
      if (this.on) this.restore();
      return false;
    }
    this.on = true;
    for (const method of this.methods) {
      this.fill(method, method.final, values, this.lastFrame);
      if (frame !== this.lastFrame) this.fill(method, method.now, values, frame);
      const { parts, key } = frame === this.lastFrame ? method.final : method.now;
      parts.forEach((part, kind) => this.show(method.panels[kind], part, key, values));
    }
    for (const one of this.noise) {
      if (!one.key) this.decode(one.panel, 0, one.values);
      one.key = 'read';
      this.show(one.panel, one.values, one.key, values);
    }
    this.scale(values, frame);
    this.flag(values);
    return true;
  }

  restore() {
    this.on = false;
    for (const panel of this.touched) {
      Object.assign(panel, panel.drawn, { shown: null, shownKey: null, flagged: null });
    }
    Object.assign(this.sheet, { hatchLabel: this.drawnLabel, note: this.drawnNote });
  }

  // A method's three maps at a frame, as variances or in nats.
  fill(method, held, values, frame) {
    const { spec, ensemble, panels } = method;
    const trees = spec.frameTrees[frame];
    let changed = false;
    let key = String(trees); // and the knobs that this method's members depend on
    for (const name of MEMBER_KNOBS[spec.plan]) {
      changed ||= name in this.asked && values[name] !== this.asked[name];
      key += ` ${values[name]}`;
    }
    // Of independent models only the last stage is here: their other frames are read back.
    const fromMembers = ensemble
      && (changed || frame === this.lastFrame || spec.plan !== 'models');
    if (!fromMembers) key = `frame ${frame}`;
    if (key === held.key) return;
    held.key = key;
    if (!fromMembers) {
      held.parts.forEach((part, kind) => this.decode(panels[kind], frame, part));
      return;
    }
    ensemble.choose(trees, values);
    ensemble.decompose(...held.parts);
  }

  // A frame as the page sent it; maps of a standard deviation are squared.
  decode(panel, frame, out) {
    const { shown, log } = panel;
    Object.assign(panel, { shown: null, log: panel.drawn.log });
    for (let i = 0; i < out.length; i++) out[i] = valueAt(panel, frame, i);
    Object.assign(panel, { shown, log });
    if (this.asked.unit === 'std') for (let i = 0; i < out.length; i++) out[i] *= out[i];
  }

  // `key` tells what is shown from what was: a map that stays needs no new pixels.
  show(panel, part, key, { unit }) {
    const { buffer } = panel;
    const same = panel.shown && panel.shownKey === key && panel.shownUnit === unit;
    Object.assign(panel, { shownKey: key, shownUnit: unit });
    if (same) return;
    if (unit === 'std') for (let i = 0; i < part.length; i++) buffer[i] = Math.sqrt(part[i]);
    else buffer.set(part);
    panel.shown = buffer;
    if (unit) panel.unit = this.live.units[unit];
  }

  // The finished maps of all methods, for a scale that they share.
  finals(...kinds) {
    return this.methods.flatMap(({ final }) => kinds.map((kind) => final.parts[kind]));
  }

  scale(values, frame) {
    const { live } = this;
    const log = values.log ?? false;
    const own = values.scale === 'own';
    const noise = own ? null : this.noiseLimits(values);
    const knowledge = own ? null : this.knowledgeLimits(values, log);
    this.sheet.note = own ? '' : this.drawnNote;
    const root = values.unit === 'std';
    for (const one of this.noise) one.panel.limits = noise ?? sharedLimits([one.values], false, root);
    for (const method of this.methods) {
      method.panels.forEach((panel, kind) => {
        panel.log = kind === KNOWLEDGE && log;
        const shared = kind === KNOWLEDGE ? knowledge : noise;
        panel.limits = shared ?? this.ownLimits(method, kind, panel.log, values, frame);
        // What the page said of a map without values, or of the lack of them, may not hold here.
        const none = Number.isNaN(panel.shown[0]);
        panel.blankHatched = none && live.own === 'last' ? true : panel.drawn.blankHatched;
        panel.markers = none ? panel.drawn.markers : NO_MARKERS;
      });
    }
  }

  noiseLimits(values) {
    const { noiseLow, noiseTop } = this.live;
    if (noiseTop !== null) {
      return [noiseLow, noiseTop].map((end) => (values.unit === 'std' ? Math.sqrt(end) : end));
    }
    const maps = [...this.noise.map((one) => one.values), ...this.finals(TOTAL, DATA)];
    return sharedLimits(maps, false, values.unit === 'std');
  }

  knowledgeLimits(values, log) {
    const [lo, hi] = sharedLimits(this.finals(KNOWLEDGE), log, values.unit === 'std');
    if (log) return [Math.max(lo, hi * this.live.span), hi];
    return [this.live.fromZero ? 0 : lo, hi];
  }

  ownLimits(method, kind, log, values, frame) {
    const root = values.unit === 'std';
    const part = method.final.parts[kind];
    if (this.live.own === 'last') return sharedLimits([part], log, root);
    // A scale of its own spans all frames: few cells, so that they can all be worked out.
    const key = `${method.final.key} ${log} ${root}`;
    method.spans ??= [{}, {}, {}];
    const span = method.spans[kind];
    if (span.key !== key) {
      const maps = [];
      for (let f = 0; f < method.panels[kind].frames; f++) {
        this.fill(method, method.now, values, f);
        maps.push(method.now.parts[kind].slice());
      }
      this.fill(method, method.now, values, frame);
      Object.assign(span, { key, limits: sharedLimits(maps, log, root) });
    }
    return span.limits;
  }

  flag(values) {
    if (!('flag' in values)) return;
    for (const { panels, final } of this.methods) {
      const panel = panels[KNOWLEDGE];
      flagCells(final.parts[KNOWLEDGE], values.flag, panel.flags, this.scratch);
      panel.hatched = values.flag ? panel.flags : null;
      panel.flagged = values.flag;
    }
    this.sheet.hatchLabel = this.live.flagText.replace('{}', values.flag);
  }
}
