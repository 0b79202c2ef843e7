// A band of the level that a knob chooses: what is drawn, written and read at every level was sent.

LIVE.levels = (given, { level }) => {
  const { layers, legend, values } = given.live.settings[level];
  const [panel] = given.panels;
  return { ...given, panels: [withLayers(panel, layers)], legend, read: { ...given.read, values } };
};
