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
    this.makeTrack();
    this.stage.append(this.track, this.readout.box);
    this.root.append(this.player.bar, this.opener, this.knobs.root, this.pager, this.stage, this.makeFooter(), this.readout.live);
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
    this.startLooking();
    this.membersCame = ({ detail }) => {
      if (this.live && this.live.live.members === detail && this.live.take()) this.turn();
    };
    globalThis.addEventListener('gbuq-members', this.membersCame);
    this.nearCame = () => { if (this.sheet?.near) this.turn(); };
    globalThis.addEventListener('gbuq-near', this.nearCame);
    this.hearLines();
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
    this.pin = new Pin(this, 'gbuq-button');
    this.rescaler = this.textButton('Rescale', 'Fit the colours to these maps: they are as before you painted', () => {
      this.painting = false;
      this.rescale();
    });
    this.wholeButton = this.textButton('Whole', 'Show the whole picture again', () => this.lookAt(null));
    saves.prepend(this.rescaler, this.wholeButton, this.pin.button);
    this.tools = element('span', 'gbuq-tools');
    this.tools.append(this.modes, saves);
    this.footer.append(this.legend, this.tools);
    return this.footer;
  }

  textButton(text, label, press) {
    const button = element('button', 'gbuq-button', { type: 'button', 'aria-label': label, title: label }, text);
    button.addEventListener('click', press);
    button.hidden = true;
    return button;
  }

  // Shows new data. A sheet of the same shape keeps frame, play state and the cell under the
  // pointer; the same data again (a rerun that changed nothing here) only looks at the theme.
  update(data, send) {
    this.send = send;
    const sheet = decodeSheet(data);
    const before = this.whole;
    if (before && sheet.digest === before.digest) {
      this.knobs.update(sheet.knobs ?? []);
      this.restyle();
      this.followMap();
      this.comeBack();
      return;
    }
    let kept = before && before.nx === sheet.nx && before.ny === sheet.ny;
    this.whole = this.sheet = sheet;
    this.layout = this.strayed = this.dropped = null;
    this.setKinds(sheet);
    this.root.setAttribute('aria-label', sheet.alt);
    this.player.setSheet(sheet);
    this.knobs.update(sheet.knobs ?? []);
    this.knobs.root.hidden = this.opener.hidden = !sheet.knobs?.some(({ key }) => key !== MAP);
    if (sheet.frames > 1) this.player.bar.append(this.opener);
    this.live = sheet.live ? new LiveMaps(sheet) : null;
    if (sheet.near) this.live = this.followNear(sheet);
    const moved = this.live?.apply(this.knobValues(), this.player.frame);
    // The same cells over the same axes leave the eye where it is.
    if (!kept || JSON.stringify([before.x, before.y]) !== JSON.stringify([sheet.x, sheet.y])) this.brushed = null;
    if (this.lookThrough()) kept = false;
    this.setViews(this.sheet);
    this.root.dataset.live = moved ? '1' : '0';
    Object.assign(this.state, { chosen: null, anchor: null, drag: null, grip: null, ray: null, rayStart: null });
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
      this.stage.insertBefore(view.box, this.track);
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
    const { type } = this.theme;
    this.room = this.roomNow();
    // In pixels of the figure, which are `type` CSS pixels each.
    this.width = this.root.clientWidth / type;
    this.ratio = (window.devicePixelRatio || 1) * type;
    if (!this.width) return;
    this.placePager();
    this.layout = this.layOut();
    this.stage.style.height = `${this.layout.height * type}px`;
    this.root.classList.toggle('gbuq-narrow', this.layout.narrow);
    this.placeBars();
    // The toolbar and the footer are as wide as the panels, so that the figure has one edge.
    const least = this.modes.parentNode === this.player.bar && this.selects ? ROOMY : 560;
    const edge = `${Math.min(this.width, Math.max(this.layout.width, least)) * type}px`;
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
    this.arrangePairs();
    this.drawLegendBox();
    this.drawAll();
    this.root.dataset.ready = '1';
  }

  // The first map comes before what can wait.
  placeBars() {
    // Without a player they take no row of their own.
    const before = this.sheet.frames < 2 ? this.tools : this.stage;
    if (this.knobs.root.nextSibling === before) return;
    if (this.sheet.frames < 2) this.footer.insertBefore(this.opener, before);
    before.parentNode.insertBefore(this.knobs.root, before);
  }

  drawLegendBox() {
    const entries = legendEntries(this.sheet, this.panelsShown());
    this.legend.hidden = !entries.length;
    if (!entries.length) return;
    const { w, h } = drawLegend(null, entries, this.width - 2, this.theme);
    sizeCanvas(this.legend, w, h, this.ratio, this.theme.type);
    drawLegend(new CanvasPen(this.legend.getContext('2d'), this.theme), entries, w, this.theme);
    this.legend.setAttribute('aria-label', `Legend: ${entries.map((e) => e.text).join(', ')}`);
  }

  drawAll() {
    this.setScales(this.player.frame);
    for (const view of [...this.views, ...this.strips]) this.drawView(view);
    this.countDraw();
    this.drawOver();
  }

  showFrame(frame, quiet) {
    if (!this.layout) return;
    if (this.live?.on) {
      this.live.apply(this.knobValues(), frame);
      this.follow();
    }
    this.setScales(frame);
    for (const view of [...this.views, ...this.strips]) {
      if (!view.moves() && view.panel?.scale === view.scale) continue;
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
    const spot = state.point || this.besideMap(state.view, state.cell);
    const size = { w: this.width, h: this.layout.height };
    const { x, y, w = 0 } = spot;
    const at = this.spotOf(state.view);
    const beside = { left: at.x + x, right: at.x + x + w, y: at.y + y };
    this.readout.moveTo(beside, size, this.theme.type);
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
      if (this.looked) this.turn();
      this.looked = false;
      this.drawOver();
    });
  }

  // The bar's knobs: a new picture a frame while one moves, and the page hears of it once it is
  // let go. On a phone they are folded.
  makeKnobs() {
    this.opener = element('button', 'gbuq-button gbuq-opener', { type: 'button' }, 'View');
    this.knobs = new KnobBar(this.root, {
      move: () => this.turn(),
      set: (turned) => {
        this.mapWaits = false; // it tells of the map, too
        this.tell(turned);
      },
    });
    const open = (is) => {
      this.opener.setAttribute('aria-expanded', String(is));
      this.root.classList.toggle('gbuq-viewing', is);
    };
    this.opener.addEventListener('click', () => open(!this.root.classList.contains('gbuq-viewing')));
    open(false);
  }

  // Maps of neighbours follow the pointer, too; it stays where it is when new data come.
  followNear(sheet) {
    const maps = new (sheet.near.kind === 'ranks' ? RankMaps : NearMaps)(sheet, this.knobs);
    maps.pointed = this.live?.pointed ?? null;
    return maps;
  }

  knobValues() {
    const values = {};
    for (const spec of this.whole.knobs ?? []) {
      values[spec.key] = knobValue(spec, this.knobs.values[spec.key]);
    }
    return values;
  }

  turn() {
    if (!this.layout) return;
    const { frame } = this.player;
    const otherPair = this.quiet !== this.isQuiet();
    if (otherPair || JSON.stringify(this.wantedWindow()) !== JSON.stringify(this.window)) {
      this.live?.apply(this.knobValues(), frame);
      this.lookAt(this.brushed);
      if (otherPair) this.arrange();
      return;
    }
    const legend = () => JSON.stringify([this.sheet.hatchLabel, legendEntries(this.sheet)]);
    const before = legend();
    this.live?.apply(this.knobValues(), frame);
    this.follow();
    this.setScales(frame);
    for (const view of this.views) {
      if (!view.panel.drawn && view.panel.scale === view.scale) continue;
      if (view.seen) view.drawLive(frame);
      else {
        view.picture.frame = -1;
        view.stale = true;
      }
    }
    if (before !== legend()) this.drawLegendBox();
    for (const view of this.strips) if (view.strip.drawn) view.draw(frame);
    this.root.dataset.live = this.live?.on ? '1' : '0';
    this.countDraw();
    if (this.state.cell || this.state.reading) this.drawOver();
  }

  tell(turned) {
    const event = { turned };
    this.root.dataset.sent = JSON.stringify(event);
    if (this.send) this.send(event);
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
    this.player.tells(true);
    this.pin.kept?.remove();
    cancelAnimationFrame(this.pending);
    clearTimeout(this.standing);
    clearTimeout(this.brought);
    this.knobs.destroy();
    this.unlisten.abort();
    globalThis.removeEventListener('gbuq-members', this.membersCame);
    globalThis.removeEventListener('gbuq-near', this.nearCame);
    this.watcher.disconnect();
    this.sight.disconnect();
    window.removeEventListener('resize', this.resized);
    this.dark.removeEventListener('change', this.retheme);
    this.root.remove();
  }
}
