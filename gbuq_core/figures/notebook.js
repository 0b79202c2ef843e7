// The entry of a figure in a notebook: anywidget calls `render` with the model that Python shares,
// and with the element of an output. What draws stands before this in the same module; of the two
// renderers `READ` makes what `mount` takes of the model's bytes, and `KEEP` keeps members.
//
// The figure stands in a shadow root: styles of the notebook do not reach it, nor its own the
// notebook. Its colours are those of the place where it stands, whichever program draws that.

const INKS = { light: ['#22242b', '#ffffff', '#0072b2'], dark: ['#e8e9ec', '#14161b', '#56b4e9'] };
const SETTLED = 400; // milliseconds in which a notebook has taken another theme
const LEGIBLE = 4.5; // contrast

function luminance(colour) {
  const [r, g, b] = parseColour(colour).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

// The colour behind a node: of the nearest element around it that has one, across shadow roots.
function groundOf(node) {
  for (let at = node; at; at = at.parentNode ?? at.host) {
    if (!(at instanceof Element)) continue;
    const colour = getComputedStyle(at).backgroundColor;
    if (!/^transparent$|[,/] 0\)$/.test(colour)) return colour;
  }
  return null;
}

function placeColours(host, parent) {
  const { color, fontFamily } = getComputedStyle(parent);
  const found = groundOf(parent);
  // Where nothing has a colour, light text tells that it stands on a dark page.
  const dark = found ? luminance(found) < 0.18 : luminance(color) > 0.4;
  const [ink, ground, accent] = INKS[dark ? 'dark' : 'light'];
  const background = found ?? ground;
  const text = contrast(color, background) >= LEGIBLE ? color : ink;
  const colours = {
    '--st-text-color': text,
    '--st-background-color': background,
    '--st-secondary-background-color': `color-mix(in srgb, ${text} 8%, ${background})`,
    '--st-primary-color': accent,
    '--st-font': fontFamily,
  };
  for (const [name, value] of Object.entries(colours)) host.style.setProperty(name, value);
}

// Calls `retheme` when the notebook may have another theme; returns what ends that.
function watchTheme(retheme) {
  let waiting = null;
  const soon = () => {
    retheme();
    clearTimeout(waiting);
    waiting = setTimeout(retheme, SETTLED);
  };
  const watcher = new MutationObserver(soon);
  for (const node of [document.documentElement, document.body]) watcher.observe(node, { attributes: true });
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', soon);
  return () => {
    clearTimeout(waiting);
    watcher.disconnect();
    scheme.removeEventListener('change', soon);
  };
}

// What a figure tells of its knobs, as places among their choices.
function placesOf({ given }, event) {
  if (!given?.dials) return event.turned ?? event.knobs;
  const { trees } = given.dials;
  return { mean: trees.indexOf(event.mean), scale: trees.indexOf(event.scale), factor: event.factor };
}

function turnTo(view, places) {
  if (view.sliders) {
    for (const [name, { input }] of Object.entries(view.sliders)) input.value = places[name];
    view.factor.checked = places.factor;
    view.turn();
    return;
  }
  (view.knobs ?? view.knobBar).put(places);
  if (view.turn) view.turn();
  else view.rework();
}

export default {
  render({ model, el }) {
    const host = document.createElement('div');
    // JupyterLab's single letters delete cells, and it sees the figure, not a control, as their target.
    host.dataset.lmSuppressShortcuts = 'true';
    host.addEventListener('keydown', (event) => event.stopPropagation());
    el.append(host);
    const root = host.attachShadow({ mode: 'open' });
    const style = document.createElement('style');
    style.textContent = STYLES;
    const parent = document.createElement('div');
    parent.style.padding = '6px'; // an output cuts off what stands out, such as the ring of a focus
    root.append(style, parent);
    const bytes = (name) => {
      const { buffer, byteOffset, byteLength } = model.get(name);
      return new Uint8Array(buffer, byteOffset, byteLength);
    };
    placeColours(host, el);
    if (KEEP && bytes('_members').length) KEEP(bytes('_members'));
    const view = mount(parent, READ(bytes('_data')), (event) => {
      const places = placesOf(view, event);
      if (!places) return;
      model.set('_places', places);
      model.save_changes();
    });
    let shown = '';
    const follow = () => {
      const places = model.get('_places');
      const now = JSON.stringify(places);
      if (now !== shown && Object.keys(places).length) turnTo(view, places);
      shown = now;
    };
    follow();
    model.on('change:_places', follow);
    const retheme = () => {
      placeColours(host, el);
      view.restyle();
    };
    const stopWatching = watchTheme(retheme);
    // An output is often drawn before it stands in the page, where its colours are.
    const seen = new ResizeObserver(retheme);
    seen.observe(host);
    return () => {
      model.off('change:_places', follow);
      stopWatching();
      seen.disconnect();
      view.destroy();
      host.remove();
    };
  },
};
