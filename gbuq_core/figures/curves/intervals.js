// Predictions with intervals of any level: data uncertainty as the light inner band, knowledge as
// the darker rim outside it, the outline of the whole; each may be left out, and all stds stretched
// by the factor of a conformal step.
//
// `live.at` says where knobs stand that a figure leaves out.

LIVE.intervals = (given, values) => {
  const { live } = given;
  const now = { ...live.at, ...values };
  const z = live.z[now.level];
  const shown = { data: now.show_data, knowledge: now.show_knowledge, total: now.show_total };
  const factorOf = ({ live: of }) => (now.conformal && of?.factors ? of.factors[now.level] : 1);
  const { truth } = live;
  const noise = (sign) => truth.mean.map((at, i) => at + sign * z * truth.std[i]);
  const noises = [-1, 1].map((sign) => ({ kind: 'line', x: truth.x, y: noise(sign), ...live.look.noise }));
  const panels = given.panels.map((panel) => {
    if (!panel.live) return panel;
    const factor = factorOf(panel);
    const bands = panel.live.x ? intervalBands(panel, { z, factor, shown, level: now.level, conformal: now.conformal }, live.look) : [];
    const { notes } = panel.live;
    const note = notes ? notes[now.conformal ? now.level + 1 : 0] : panel.note;
    return { ...withLayers(panel, [...bands, ...noises]), note };
  });
  const spreads = new Map(live.spreads.map(({ at, panel, std }) => [at, std.map((v) => v * factorOf(given.panels[panel]))]));
  const read = given.read.values.map((one, i) => (spreads.has(i) ? { ...one, spread: spreads.get(i) } : one));
  const legend = live.legend.filter(({ part }) => !part || shown[part])
    .map((one) => ({ ...one, name: one.name.replace('{}', live.widths[now.level]) }));
  return { ...given, panels, legend, read: { ...given.read, values: read } };
};

function intervalBands({ live: of, colour }, { z, factor, shown, level, conformal }, look) {
  const { x, loc } = of;
  const around = (std, times) => [-1, 1].map((sign) => loc.map((at, i) => at + sign * times * std[i]));
  const own = conformal ? null : of.own[level];
  const outer = own ?? around(of.total, factor * z);
  const inner = !of.data ? null : of.knowledge ? around(of.data, factor * z) : outer;
  const band = (low, high, opacity) => ({ kind: 'band', x, low, high, colour, opacity });
  const parts = [];
  let [low, high] = [loc, loc];
  if (inner && shown.data) {
    [low, high] = inner;
    parts.push(band(low, high, look.data));
  }
  if (of.knowledge && shown.knowledge) {
    const ends = shown.data ? outer : around(of.knowledge, factor * z);
    parts.push(band(ends[0], low, look.knowledge), band(high, ends[1], look.knowledge));
  }
  if (shown.total) for (const y of outer) parts.push({ kind: 'line', x, y, colour, ...look.edge });
  return parts;
}
