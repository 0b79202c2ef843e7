// Truth and one map side by side, where there is no room for all panels, the page is presented, or
// the sheet is quiet.
// The others come by a swipe, with the buttons above, or from the list of their titles.
//
//   +-- truth --+ +-- track ------------+
//   |    map    | |    map    |  map .. |   the track is as wide as one panel and scrolls
//   +-----------+ +---------------------+
//
// On a phone the map of a quiet sheet takes the width, and its truth stands below it. Its charts of the training wait
// until all maps are asked for.
//
// `sheet.beside` says of each panel which one is its truth; that one is shown at the left. Which map
// stands beside it is the knob `map`, where the sheet has one: its control is the list of titles, and
// the page hears of it once the track stands still.

const PAIR_GAP = 10;
const PAIR_LEFT = 6; // left of a map in the track, whose axis is that of the truth
const LEAST_MAP = 110;
const [ASIDE_GAP, LEAST_ASIDE] = [24, 320]; // pixels of a strip beside the maps
// Of the window's height is a map of a quiet page: with room beside the maps, without, on a phone.
const QUIET = { roomy: 0.46, full: 0.6, stacked: 0.45 };
const FOOT = 8; // pixels that present mode leaves below the maps
const MAP = 'map'; // the knob's key
const SETTLES = 1000; // milliseconds after a knob was taken, or let go
const STANDS = 250; // milliseconds without a swipe, in browsers that do not tell its end
const [LOW, LOWEST] = [560, 480]; // pixels: small windows in present mode, and always

function truthsOf(sheet) {
  return sheet.panels.map((_, i) => sheet.beside?.[i] ?? 0);
}

// Panels that stand at the left, and those that are swiped.
function pairsOf(sheet) {
  const truths = truthsOf(sheet);
  const left = new Set(truths.filter((truth, i) => truth !== i));
  const swiped = sheet.panels.map((_, i) => i).filter((i) => !left.has(i));
  return { truths, left: [...left], swiped };
}

function layoutPairs(sheet, edges, theme, ratio, room, quiet) {
  const { snap, titleWidth, tickWidth, width } = edges;
  const pairs = pairsOf(sheet);
  const blocks = sheet.strips.length && sheet.stripColumns === sheet.panels.length;
  const alone = quiet && room === null && sheet.strips.length !== 1;
  const stacked = alone && edges.narrow;
  const margin = titleWidth + tickWidth + RIGHT;
  const inset = stacked ? margin - RIGHT : blocks ? tickWidth : PAIR_LEFT;
  const free = stacked ? 2 * (width - margin) : width - margin - PAIR_GAP - inset - RIGHT;
  const half = Math.max(40, Math.floor((free * ratio) / 2) / ratio); // maps are rounded
  const roomy = !alone || free - 2 * QUIET.roomy * window.innerHeight >= LEAST_ASIDE;
  const quietly = window.innerHeight * (roomy ? QUIET.roomy : QUIET.full);
  const high = Math.max(sheet.height, edges.narrow ? 420 : quietly);
  let map = mapSize(sheet, half, stacked ? window.innerHeight * QUIET.stacked : high, ratio);
  if (room !== null) {
    const { header, tickRow, titleRow } = frameOf(sheet, mapSize(sheet, half, room, ratio), theme, snap);
    map = mapSize(sheet, half, Math.max(LEAST_MAP, room - header - tickRow - titleRow), ratio);
  }
  const { header, titleRow, ...alike } = frameOf(sheet, map, theme, snap);
  const { tickRow } = alike;
  const w = { left: margin + map.w, track: inset + map.w + RIGHT };
  const used = stacked ? w.left : w.left + PAIR_GAP + w.track;
  const start = room === null ? 0 : snap(Math.max(0, (width - used) / 2));
  const h = header + map.h + tickRow + titleRow;
  const box = { y: 0, h, ...alike, xTitle: true };
  const panels = sheet.panels.map((_, i) => {
    const at = pairs.swiped.indexOf(i);
    const swiped = at >= 0;
    const x = swiped ? at * w.track : start;
    const left = swiped ? inset : margin - RIGHT;
    const inner = { x: left, y: header, w: map.w, h: map.h };
    const bare = swiped && !blocks && !stacked;
    const yTitle = !swiped || stacked;
    return { ...box, x, w: swiped ? w.track : w.left, map: inner, swiped, bare, yTitle };
  });
  const track = { x: start + w.left + PAIR_GAP, y: 0, w: w.track, h };
  let bottom = h;
  if (stacked) { // the numbers below the second are the first one's, too
    const first = { h: header + map.h + 1, xTitle: false };
    const second = { y: snap(first.h + PAIR_GAP) };
    for (const panel of panels) Object.assign(panel, panel.swiped ? first : second);
    Object.assign(track, { x: 0, h: first.h });
    bottom = second.y + h;
  }
  const single = { ...edges, blocks: false, columns: 0 };
  const aside = room === null && sheet.strips.length === 1 && width - used - ASIDE_GAP;
  let below;
  if (alone) below = hiddenStrips(sheet, single, bottom);
  else if (blocks) below = pairStrips(sheet, panels, h, theme);
  else if (aside >= LEAST_ASIDE) below = stripAside(sheet, { ...single, width: aside }, used + ASIDE_GAP, panels[0]);
  else below = layoutStrips(sheet, single, 0, h);
  if (blocks && !alone) track.h = below.height;
  const across = Math.max(start + used, below.width);
  return { columns: 2, rows: 1, panels, ...below, width: across, pairs: { ...pairs, track, alone } };
}

function hiddenStrips(sheet, edges, height) {
  const { strips } = layoutStrips(sheet, edges, 0, height);
  for (const strip of strips) strip.hidden = true;
  return { strips, width: 0, height };
}

// The only strip beside the maps, as high as they are.
function stripAside(sheet, edges, left, { map, h }) {
  const bottom = map.y + map.h;
  const [{ plot }] = layoutStrips(sheet, edges, 0, 0).strips;
  const { strips } = layoutStrips({ ...sheet, stripHeight: bottom - plot.y }, edges, 0, 0);
  for (const strip of strips) strip.x += left;
  return { strips, width: left + edges.width, height: Math.max(h, strips[0].h) };
}

// Each panel's own strips below it, in rows of one height.
function pairStrips(sheet, panels, top, theme) {
  const columns = sheet.stripColumns;
  const legends = stripLegends(sheet.strips, columns, true);
  const strips = [];
  let y = top + STRIP_GAP;
  for (let first = 0; first < sheet.strips.length; first += columns) {
    const row = sheet.strips.slice(first, first + columns);
    const heads = row.map((strip, i) => stripHead(strip, legends[first + i], panels[i].map.w, theme));
    const head = Math.max(...heads.map((one) => one.h));
    row.forEach((strip, i) => {
      const { x, w, map, swiped } = panels[i];
      const { entries, beside, legendWidth } = heads[i];
      const legend = beside
        ? { entries, x: map.x + map.w - legendWidth, y: -2, w: legendWidth }
        : { entries, x: map.x, y: 18, w: map.w };
      const plot = { x: map.x, y: head, w: map.w, h: sheet.stripHeight };
      const h = head + sheet.stripHeight + TICK_ROW + (strip.xLabel ? TITLE_ROW : 0);
      strips.push({ x, y, w, h, plot, legend, xTitle: Boolean(strip.xLabel), swiped });
    });
    y += Math.max(...strips.slice(first).map(({ h }) => h)) + STRIP_GAP;
  }
  return { strips, width: 0, height: y - STRIP_GAP };
}

const Pairing = {
  makeTrack() {
    this.track = element('div', 'gbuq-track', { tabindex: '0', role: 'group', 'aria-label': 'Maps' });
    this.track.hidden = true;
    this.track.addEventListener('scroll', () => this.swiped());
    this.track.addEventListener('scrollend', () => this.tellMap());
    this.pager = element('div', 'gbuq-pager', { role: 'group', 'aria-label': 'Maps' });
    this.pager.hidden = true;
    this.chooser = element('select', 'gbuq-speed', { 'aria-label': 'Map beside the truth' });
    this.chooser.addEventListener('change', () => this.turnTo(this.chooser.selectedIndex));
    this.before = iconButton('back', 'Map before', () => this.turnTo(this.turned - 1));
    this.after = iconButton('forward', 'Next map', () => this.turnTo(this.turned + 1));
    this.pager.append(this.before, this.chooser, this.after);
    // Arrow keys of the list are its own.
    this.pager.addEventListener('keydown', (event) => event.stopPropagation());
  },

  // Where there is room the pager stands at the end of the player.
  placePager() {
    this.pager.hidden = this.sheet.panels.length < 3; // with two there is nothing to turn to
    const wide = this.root.clientWidth / this.theme.type >= NARROW;
    const inBar = this.sheet.frames > 1 && (wide || this.isQuiet());
    if (inBar) this.player.bar.append(this.pager);
    else if (this.pager.parentNode !== this.root) this.root.insertBefore(this.pager, this.stage);
  },

  resize() {
    if (!this.sheet) return;
    this.pin.place();
    this.restyle();
    if (this.roomNow() !== this.room) this.arrange();
  },

  // What the layout depends on besides the data and the theme.
  roomNow() {
    const heights = this.theme.above ? [window.innerHeight, this.barsNow()] : [];
    return [this.root.clientWidth, window.devicePixelRatio || 1, ...heights].join();
  },

  // Whether a truth and one map stand alone on any page.
  isQuiet() {
    return Boolean(this.whole.quiet && this.whole.panels.length > 1 && !this.knobValues().every);
  },

  layOut() {
    this.quiet = this.isQuiet();
    this.root.classList.toggle('gbuq-quiet', this.quiet);
    return layoutSheet(this.sheet, this.width, this.theme, this.ratio, this.roomLeft(), true, this.quiet);
  },

  // How high the bars above the maps are. A knob that comes or goes may add a row.
  barsNow() {
    const bars = [this.player.bar, this.knobs.root, this.pager];
    const own = bars.filter((bar) => bar.parentNode === this.root);
    return own.reduce((sum, bar) => sum + bar.offsetHeight, 0);
  },

  // The height that present mode leaves for the maps, else null. They come before their bars where
  // the window is small.
  roomLeft() {
    const { above, type } = this.theme;
    const low = window.innerHeight < (above ? LOW : LOWEST);
    const small = low || (above > 0 && this.root.clientWidth < NARROW);
    this.root.classList.toggle('gbuq-picture-first', small);
    const taken = small ? 0 : this.barsNow();
    return roomIn(this.theme, taken / type + FOOT);
  },

  // The maps that stand beside each other now, or all.
  panelsShown() {
    const { pairs } = this.layout;
    if (!pairs) return this.sheet.panels;
    const panel = pairs.swiped[this.turned];
    return [pairs.truths[panel], panel].map((i) => this.sheet.panels[i]);
  },

  // Every box where the layout has it: in the stage, or in the track that scrolls.
  arrangePairs() {
    const { pairs } = this.layout;
    this.track.hidden = !pairs;
    this.pager.hidden = !pairs || pairs.swiped.length < 2;
    // The page's style may set something beside two maps.
    this.root.getRootNode().host?.toggleAttribute('data-pair', Boolean(pairs?.alone));
    for (const view of [...this.views, ...this.strips]) {
      const home = view.place.swiped ? this.track : this.stage;
      if (view.box.parentNode !== home) home.insertBefore(view.box, home === this.stage ? this.track : null);
      view.box.style.visibility = '';
      view.box.style.display = view.place.hidden ? 'none' : '';
    }
    if (!pairs) return;
    const { type } = this.theme;
    setBox(this.track, pairs.track, type);
    const titles = pairs.swiped.map((i) => this.sheet.panels[i].title);
    this.chooser.replaceChildren(...titles.map((title) => element('option', '', {}, title)));
    this.showMap(this.wantedMap());
  },

  mapKnob() {
    return this.whole.knobs?.find(({ key }) => key === MAP);
  },

  // The place in the track of the map that the knob names, or the reader, or the sheet.
  wantedMap() {
    const { panels, chosen = -1 } = this.whole;
    const { swiped } = this.layout.pairs;
    const name = this.mapKnob()?.texts[this.knobs.values[MAP]];
    const named = panels.findIndex((panel) => panel.name === name);
    const turned = panels.findIndex(({ title }) => title === this.turnedTitle);
    return [named, turned, chosen].map((i) => swiped.indexOf(i)).find((at) => at >= 0) ?? 0;
  },

  showMap(place) {
    this.turned = place;
    this.track.scrollLeft = place * this.layout.pairs.track.w * this.theme.type;
    this.showTurned();
  },

  // After the page named another map: a step of a story, or Back.
  followMap() {
    if (!this.layout?.pairs) return;
    const wanted = this.wantedMap();
    if (wanted !== this.turned) this.showMap(wanted);
  },

  // What the reader turned to; a map that the knob cannot name is remembered by its title.
  keepMap({ name, title }) {
    const at = this.mapKnob()?.texts.indexOf(name) ?? -1;
    this.turnedTitle = at < 0 ? title : null;
    if (at < 0) return;
    this.knobs.values[MAP] = at;
    this.mapWaits = true;
    if ('onscrollend' in window) return;
    clearTimeout(this.standing);
    this.standing = setTimeout(() => this.tellMap(), STANDS);
  },

  tellMap() {
    if (this.held || this.brought) return;
    if (this.mapWaits) this.knobs.tell();
    this.mapWaits = false;
  },

  // A knob that is taken, here or in the page, changes maps: where none of these is shown, the first
  // of the kind that is shown comes, or the first.
  bring(path) {
    const { pairs } = this.layout ?? {};
    const { turns, panels } = this.whole ?? {};
    if (!pairs || !turns) return;
    const own = path.includes(this.root);
    const key = Object.keys(turns).find((name) => path.some((node) => (
      own ? node.dataset?.knob === name : node.classList?.contains(`st-key-${name}`))));
    const now = panels[pairs.swiped[this.turned]];
    if (!key || turns[key].includes(now.name)) return;
    const places = pairs.swiped.map((panel, at) => [panels[panel].name, at]).filter(([name]) => turns[key].includes(name));
    const kindOf = (name) => name.split(': ').at(-1);
    const [, at] = places.find(([name]) => kindOf(name) === kindOf(now.name)) ?? places[0] ?? [];
    if (at === undefined) return;
    this.showMap(at);
    this.keepMap(panels[pairs.swiped[at]]);
    this.tellLater();
  },

  // What the knob itself tells comes first: a run of the page would take a slider back meanwhile.
  tellLater() {
    clearTimeout(this.brought);
    this.brought = setTimeout(() => {
      this.brought = null;
      this.tellMap();
    }, SETTLES);
  },

  swiped() {
    const pairs = this.layout?.pairs;
    if (!pairs) return;
    const now = Math.round(this.track.scrollLeft / (pairs.track.w * this.theme.type));
    if (now === this.turned || now >= pairs.swiped.length) return;
    this.turned = now;
    this.keepMap(this.whole.panels[pairs.swiped[now]]);
    this.showTurned();
  },

  turnTo(number) {
    const { pairs } = this.layout;
    const wanted = clamp(number, 0, pairs.swiped.length - 1);
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const left = wanted * pairs.track.w * this.theme.type;
    this.track.scrollTo({ left, behavior: still ? 'instant' : 'smooth' });
  },

  // The truth of the map that is shown, and where it stands among the others.
  showTurned() {
    const { pairs } = this.layout;
    const panel = pairs.swiped[this.turned];
    const truth = pairs.truths[panel];
    for (const view of [...this.views, ...this.strips]) {
      const isMap = this.views.includes(view);
      // Strips that belong to no single map stand below all of them.
      if (view.place.swiped || (!isMap && view.place.swiped === undefined)) continue;
      const column = isMap ? view.index : view.index % this.sheet.stripColumns;
      view.box.style.visibility = column === truth ? '' : 'hidden';
    }
    this.chooser.selectedIndex = this.turned;
    this.before.disabled = this.turned === 0;
    this.after.disabled = this.turned === pairs.swiped.length - 1;
    this.root.dataset.beside = `${truth},${panel}`;
    this.drawLegendBox();
  },

  // Where a box stands in the stage, swiped as it is.
  spotOf({ place }) {
    if (!place.swiped) return { x: place.x, y: place.y };
    const { x, y } = this.layout.pairs.track;
    return { x: x + place.x - this.track.scrollLeft / this.theme.type, y: y + place.y };
  },

  // Calls draw() with all panels in their grid: for pictures to keep.
  inGrid(draw) {
    if (!this.layout.pairs) return draw();
    const { layout } = this;
    const views = [...this.views, ...this.strips];
    const places = views.map(({ place }) => place);
    this.layout = layoutSheet(this.sheet, GRID_WIDTH, this.theme, this.ratio, null, false);
    this.views.forEach((view, i) => { view.place = this.layout.panels[i]; });
    this.strips.forEach((view, i) => { view.place = this.layout.strips[i]; });
    try {
      return draw();
    } finally {
      this.layout = layout;
      views.forEach((view, i) => { view.place = places[i]; });
    }
  },
};

const GRID_WIDTH = 1120;

Object.assign(SheetView.prototype, Pairing);
