// The whole figure: toolbar, panels, legend, read-out. Keeps its place when new data arrive.

const ROOMY = 760; // pixels that the toolbar asks for with all its words

class SheetView {
  constructor(parent) {
    this.root = element('div', 'gbuq', { role: 'group' });
    this.stage = element('div', 'gbuq-stage');
    this.player = new Player((frame, quiet) => this.showFrame(frame, quiet));
    this.player.onState = (playing) => {
      this.root.dataset.playing = playing ? '1' : '0';
    };
    this.makeKnobs();
    this.readout = new Readout();
    this.stage.append(this.readout.box);
    this.root.append(this.player.bar, this.opener, this.knobs.root, this.stage, this.makeFooter(), this.readout.live);
    this.root.dataset.draws = '0';
    this.root.dataset.playing = '0';
    parent.appendChild(this.root);
    this.views = [];
    this.strips = [];
    this.state = {
      cell: null, // under the pointer or the keyboard's cursor, on `view`, at `point`
      view: null,
      point: null,
      chosen: null,
      drag: null,
      anchor: null, // where a range of cells began
      ray: null, // [x, y, x, y] in axis units
      rayStart: null, // the cell where a line that the keyboard draws began
      reading: null, // { view, index } of a strip
    };
    this.pending = 0;
    this.live = null;
    this.membersCame = ({ detail }) => {
      if (this.live && this.live.live.members === detail && this.live.take()) this.turn();
    };
    globalThis.addEventListener('gbuq-members', this.membersCame);
    // Another pixel ratio (zoom, another screen) is announced to the window alone.
    this.resized = () => this.resize();
    window.addEventListener('resize', this.resized);
    this.watcher = new ResizeObserver(this.resized);
    this.watcher.observe(this.root);
    this.sight = new IntersectionObserver((seen) => this.look(seen), { rootMargin: '300px 0px' });
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.retheme = () => this.restyle();
    this.dark.addEventListener('change', this.retheme);
  }

  makeFooter() {
    this.footer = element('div', 'gbuq-footer');
    this.legend = element('canvas', 'gbuq-legend', { role: 'img' });
    this.modes = element('span', 'gbuq-modes', { role: 'group', 'aria-label': 'Drag to select' });
    this.shape = 'rectangle';
    this.shapeBefore = this.shape;
    this.modeButtons = SHAPES.map((shape, i) => {
      const press = shape === 'ray' ? () => this.toggleRay() : () => this.setShape(shape);
      const button = iconButton(shape, SHAPE_LABELS[i], press);
      button.setAttribute('aria-pressed', String(shape === this.shape));
      return button;
    });
    this.hint = element('span', 'gbuq-hint');
    this.modes.append(this.hint, ...this.modeButtons);
    const saves = element('span', 'gbuq-saves');
    for (const [text, save] of [['PNG', savePng], ['SVG', saveSvg]]) {
      const button = iconButton('save', `Save picture as ${text}`, () => save(this));
      button.append(element('span', '', {}, text));
      saves.append(button);
    }
    this.tools = element('span', 'gbuq-tools');
    this.tools.append(this.modes, saves);
    this.footer.append(this.legend, this.tools);
    return this.footer;
  }

  // Shows new data. A sheet of the same shape keeps frame, play state and the cell under the
  // pointer; the same data again (a rerun that changed nothing here) only looks at the theme.
  update(data, send) {
    this.send = send;
    const sheet = decodeSheet(data);
    if (this.sheet && sheet.digest === this.sheet.digest) {
      this.knobs.update(sheet.knobs ?? []);
      this.restyle();
      return;
    }
    const kept = this.sheet && this.sheet.nx === sheet.nx && this.sheet.ny === sheet.ny;
    this.sheet = sheet;
    this.layout = null;
    this.setKinds(sheet);
    this.root.setAttribute('aria-label', sheet.alt);
    this.setViews(sheet);
    this.player.setSheet(sheet);
    this.knobs.update(sheet.knobs ?? []);
    this.knobs.root.hidden = this.opener.hidden = !sheet.knobs;
    if (sheet.frames > 1) this.player.bar.append(this.opener);
    else this.root.insertBefore(this.opener, this.knobs.root);
    this.live = sheet.live ? new LiveMaps(sheet) : null;
    const moved = this.live?.apply(this.knobValues(), this.player.frame);
    this.root.dataset.live = moved ? '1' : '0';
    Object.assign(this.state, { chosen: null, anchor: null, drag: null, ray: null, rayStart: null });
    if (!kept) Object.assign(this.state, { cell: null, view: null });
    this.theme = readTheme(this.root);
    this.arrange();
    this.root.dataset.digest = sheet.digest;
    this.root.dataset.frames = String(sheet.frames);
  }

  setViews(sheet) {
    this.setNumber(this.views, sheet.panels.length, (i) => {
      const view = new PanelView(i);
      view.input = new PanelInput(view, this);
      return view;
    });
    this.views.forEach((view, i) => view.setData(sheet, sheet.panels[i]));
    if (!this.views.includes(this.state.view)) this.state.view = null;
    this.setNumber(this.strips, sheet.strips.length, (i) => new StripView(this, i));
    this.strips.forEach((view, i) => view.setData(sheet, sheet.strips[i]));
    const { reading } = this.state;
    const kept = reading && this.strips.includes(reading.view);
    if (!kept || reading.index >= reading.view.strip.x.length) this.state.reading = null;
  }

  // Makes as many views as a sheet needs, and drops those it does not.
  setNumber(views, n, make) {
    while (views.length > n) {
      const { box } = views.pop();
      this.sight.unobserve(box);
      box.remove();
    }
    while (views.length < n) {
      const view = make(views.length);
      Object.assign(view, { seen: true, stale: false });
      views.push(view);
      this.stage.insertBefore(view.box, this.readout.box);
      this.sight.observe(view.box);
    }
  }

  // What is scrolled away is not drawn while frames play, but when it comes back.
  look(entries) {
    for (const { target, isIntersecting } of entries) {
      const view = [...this.views, ...this.strips].find(({ box }) => box === target);
      if (!view) continue;
      view.seen = isIntersecting;
      if (view.seen && view.stale && this.layout) this.drawView(view);
    }
  }

  drawView(view) {
    view.stale = false;
    view.draw(this.player.frame);
  }

  // Lays everything out for the present width and draws it.
  arrange() {
    this.width = this.root.clientWidth;
    this.ratio = window.devicePixelRatio || 1;
    if (!this.width) return;
    this.layout = layoutSheet(this.sheet, this.width, this.theme, this.ratio);
    this.stage.style.height = `${this.layout.height}px`;
    this.root.classList.toggle('gbuq-narrow', this.layout.narrow);
    // The toolbar and the footer are as wide as the panels, so that the figure has one edge.
    const least = this.modes.parentNode === this.player.bar && this.selects ? ROOMY : 560;
    const edge = `${Math.min(this.width, Math.max(this.layout.width, least))}px`;
    this.root.classList.toggle('gbuq-tight', this.width < ROOMY);
    this.player.bar.style.maxWidth = edge;
    this.knobs.root.style.maxWidth = edge;
    this.footer.style.maxWidth = edge;
    this.views.forEach((view, i) => {
      view.setPlace(this.layout.panels[i], this.ratio, this.theme);
    });
    this.strips.forEach((view, i) => {
      view.setPlace(this.layout.strips[i], this.ratio, this.theme);
    });
    this.drawLegendBox();
    this.drawAll();
    this.root.dataset.ready = '1';
  }

  drawLegendBox() {
    const entries = legendEntries(this.sheet);
    this.legend.hidden = !entries.length;
    if (!entries.length) return;
    const { w, h } = drawLegend(null, entries, this.width - 2, this.theme);
    sizeCanvas(this.legend, w, h, this.ratio);
    drawLegend(new CanvasPen(this.legend.getContext('2d'), this.theme), entries, w, this.theme);
    this.legend.setAttribute('aria-label', `Legend: ${entries.map((e) => e.text).join(', ')}`);
  }

  drawAll() {
    for (const view of [...this.views, ...this.strips]) this.drawView(view);
    this.countDraw();
    this.drawOver();
  }

  showFrame(frame, quiet) {
    if (!this.layout) return;
    if (this.live?.on) this.live.apply(this.knobValues(), frame);
    for (const view of [...this.views, ...this.strips]) {
      if (!view.moves()) continue;
      if (view.seen) view.drawNext(frame);
      else view.stale = true;
    }
    this.countDraw();
    if (this.state.cell || this.state.reading) this.drawOver();
    if (!quiet) this.readout.say(frameText(this.sheet, frame));
  }

  countDraw() {
    this.root.dataset.frame = String(this.player.frame);
    this.root.dataset.draws = String(Number(this.root.dataset.draws) + 1);
  }

  drawOver() {
    if (!this.layout) return;
    const { state } = this;
    // While dragging, every panel outlines what letting go would choose.
    if (state.drag && state.drag.shape !== 'ray') state.chosen = maskOf(this.sheet, cellsOfDrag(this.sheet, state.drag));
    for (const view of this.views) view.drawOver(state, this.player.frame);
    if (this.drawReading()) return;
    if (!state.cell || !state.view || state.drag) {
      this.readout.hide();
      delete this.root.dataset.cell;
      return;
    }
    this.root.dataset.cell = `${state.cell.row},${state.cell.column}`;
    this.readout.fill(this.sheet, this.player.frame, state.cell, state.view.panel);
    const { place } = state.view;
    const spot = state.point || this.besideMap(state.view, state.cell);
    const size = { w: this.width, h: this.layout.height };
    const { x, y, w = 0 } = spot;
    this.readout.moveTo({ left: place.x + x, right: place.x + x + w, y: place.y + y }, size);
  }

  // Where the read-out of a cell under the keyboard's cursor goes: off the map, at its height.
  besideMap(view, cell) {
    const { map } = view.place;
    const box = cellBox(this.sheet, map, cell.row, cell.column);
    return { x: map.x, w: map.w, y: box.y + box.h / 2 };
  }

  // What follows the pointer is drawn at most once a refresh.
  later() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.drawOver();
    });
  }

  // The bar's knobs: a new picture a frame while one moves, and the page hears of it once it is
  // let go. On a phone they are folded.
  makeKnobs() {
    this.opener = element('button', 'gbuq-button gbuq-opener', { type: 'button' }, 'View');
    this.knobs = new KnobBar(this.root, {
      move: () => this.turn(),
      set: (turned) => this.tell(turned),
    });
    const open = (is) => {
      this.opener.setAttribute('aria-expanded', String(is));
      this.root.classList.toggle('gbuq-viewing', is);
    };
    this.opener.addEventListener('click', () => open(!this.root.classList.contains('gbuq-viewing')));
    open(false);
  }

  knobValues() {
    const values = {};
    for (const spec of this.sheet.knobs ?? []) {
      values[spec.key] = knobValue(spec, this.knobs.values[spec.key]);
    }
    return values;
  }

  turn() {
    if (!this.live || !this.layout) return;
    const { hatchLabel } = this.sheet;
    const legend = legendEntries(this.sheet).length;
    const { frame } = this.player;
    this.live.apply(this.knobValues(), frame);
    for (const view of this.views) {
      if (!view.panel.drawn) continue;
      if (view.seen) view.drawLive(frame);
      else {
        view.picture.frame = -1;
        view.stale = true;
      }
    }
    if (hatchLabel !== this.sheet.hatchLabel || legend !== legendEntries(this.sheet).length) {
      this.drawLegendBox();
    }
    this.root.dataset.live = this.live.on ? '1' : '0';
    this.countDraw();
    if (this.state.cell || this.state.reading) this.drawOver();
  }

  tell(turned) {
    const event = { turned };
    this.root.dataset.sent = JSON.stringify(event);
    if (this.send) this.send(event);
  }

  resize() {
    if (!this.sheet) return;
    const ratio = window.devicePixelRatio || 1;
    if (this.root.clientWidth === this.width && ratio === this.ratio) return;
    this.arrange();
  }

  restyle() {
    if (!this.sheet) return;
    const theme = readTheme(this.root);
    if (sameTheme(this.theme, theme)) return;
    this.theme = theme;
    this.arrange();
  }

  destroy() {
    this.player.pause();
    cancelAnimationFrame(this.pending);
    this.knobs.destroy();
    globalThis.removeEventListener('gbuq-members', this.membersCame);
    this.watcher.disconnect();
    this.sight.disconnect();
    window.removeEventListener('resize', this.resized);
    this.dark.removeEventListener('change', this.retheme);
    this.root.remove();
  }
}
