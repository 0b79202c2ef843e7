// Functions drawn from posteriors: how many are drawn as lines, how many stand behind the bands.
// Moments are sent for each number of functions behind them, and the lines once.

LIVE.functions = (given, values) => {
  const { live } = given;
  const now = { ...live.at, ...values };
  const [shows, lines] = [live.shows[now.show], live.lines[now.shown]];
  const behind = Math.max(live.draws[now.draws], lines);
  // More than were sent come from the server, once the knob is let go.
  const set = live.sets.findLastIndex((count) => count <= behind);
  const replaced = new Map();
  const panels = given.panels.map((panel) => {
    if (!panel.live) return panel;
    const { live: of, colour } = panel;
    const moments = of.moments[of.set[set]];
    replaced.set(of.read, moments);
    const drawn = Math.min(lines, of.most, behind);
    const layers = [
      ...(shows.bands ? beliefBands(moments, of, live, shows.functions && drawn ? live.fainter : 1, colour) : []),
      ...(shows.functions && drawn ? [{ ...of.sheaf, lines: drawn, opacity: Math.min(0.55, 2.5 / Math.sqrt(drawn)) }] : []),
    ];
    const found = withLayers(panel, layers);
    const mean = { ...found.layers.at(-1), y: moments.loc };
    return { ...found, layers: [...found.layers.slice(0, -1), mean], note: of.notes[of.set[set]] };
  });
  const read = given.read.values.map((one, i) => {
    const moments = replaced.get(i);
    if (!moments) return one;
    return { ...one, at: moments.loc, spread: moments.data.map((v, k) => Math.sqrt(v + moments.knowledge[k])) };
  });
  const legend = live.legend.filter(({ part }) => !part || shows[part]);
  return { ...given, panels, legend, read: { ...given.read, values: read } };
};

function beliefBands({ loc, data, knowledge }, { x, places }, { n_std: width, opacity }, times, colour) {
  const at = places.map((i) => loc[i]);
  const inner = places.map((i) => width * Math.sqrt(data[i]));
  const outer = places.map((i) => width * Math.sqrt(data[i] + knowledge[i]));
  const edge = (half, sign) => at.map((v, k) => v + sign * half[k]);
  const band = (low, high, shade) => ({ kind: 'band', x, low, high, colour, opacity: times * shade });
  return [
    band(edge(outer, -1), edge(inner, -1), opacity.knowledge),
    band(edge(inner, -1), edge(inner, 1), opacity.data),
    band(edge(inner, 1), edge(outer, 1), opacity.knowledge),
  ];
}
