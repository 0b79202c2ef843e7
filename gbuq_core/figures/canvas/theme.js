// Colours and fonts: Streamlit's CSS variables; a standalone page defines the same ones.

const FALLBACK = {
  text: '#31333f',
  background: '#ffffff',
  accent: '#0072b2',
  font: 'system-ui, sans-serif',
};

function readTheme(element) {
  const style = getComputedStyle(element);
  const read = (name, fallback) => {
    const value = style.getPropertyValue(name).trim();
    return value && value !== 'unset' ? value : fallback;
  };
  const text = parseColour(read('--st-text-color', FALLBACK.text));
  const background = parseColour(read('--st-background-color', FALLBACK.background));
  return {
    text: rgba(text, 1),
    // Body and axis text: softer than headings, still at least 4.5 : 1 on both themes.
    soft: rgba(mix(text, background, 0.28), 1),
    line: rgba(mix(text, background, 0.55), 1),
    faint: rgba(mix(text, background, 0.82), 1),
    shade: rgba(text, 0.08),
    background: rgba(background, 1),
    halo: rgba(background, 0.85),
    accent: read('--st-primary-color', FALLBACK.accent),
    hatchBlank: rgba(text, 0.42),
    hatchDark: 'rgba(0, 0, 0, 0.55)',
    hatchLight: 'rgba(255, 255, 255, 0.6)',
    font: read('--st-font', FALLBACK.font),
    // How much larger than usual type is to be, with all that is drawn, and in present mode the
    // pixels of the window above the figure, which then fills the rest.
    type: Number(read('--gbuq-type', '1')) || 1,
    above: Number(read('--gbuq-above', '0')) || 0,
  };
}

// What a figure has of the window's height in present mode, in its own pixels, once `taken` of them
// stand around the picture; null where it is as high as it was made.
function roomIn(theme, taken) {
  return theme.above ? (window.innerHeight - theme.above) / theme.type - taken : null;
}

function sameTheme(a, b) {
  return Boolean(a) && Object.keys(b).every((key) => a[key] === b[key]);
}

// What is asked in every frame is worked out once: reading a pixel back takes long.
const MOST_KNOWN = 4000;
const colours = new Map();
const widths = new Map();
document.fonts?.addEventListener?.('loadingdone', () => widths.clear());

function remember(known, key, work) {
  let found = known.get(key);
  if (found !== undefined) return found;
  found = work();
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(key, found);
  return found;
}

// A colour of any CSS spelling as [r, g, b], through the browser's own parser.
function parseColour(text) {
  return remember(colours, text, () => {
    const context = scratch();
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = '#000';
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    return Object.freeze(Array.from(context.getImageData(0, 0, 1, 1).data.slice(0, 3)));
  });
}

function mix(a, b, share) {
  return a.map((value, i) => Math.round(value + (b[i] - value) * share));
}

function rgba(rgb, alpha) {
  if (alpha === 1) return `rgb(${rgb.join(', ')})`;
  return `rgba(${rgb.join(', ')}, ${alpha})`;
}

// One small canvas context for measuring and parsing, kept for the page's life.
let scratchContext = null;
function scratch() {
  if (!scratchContext) {
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 1;
    scratchContext = canvas.getContext('2d', { willReadFrequently: true });
  }
  return scratchContext;
}

function fontOf(theme, size, weight = 400) {
  return `${weight} ${size}px ${theme.font}`;
}

function textWidth(text, theme, size, weight = 400) {
  const font = fontOf(theme, size, weight);
  return remember(widths, `${font}|${text}`, () => {
    const context = scratch();
    context.font = font;
    return context.measureText(text).width;
  });
}

// The text, shortened to a width with an ellipsis. Code points, so that no pair is cut.
function fitText(text, width, theme, size, weight = 400) {
  if (textWidth(text, theme, size, weight) <= width) return text;
  const letters = Array.from(text);
  let [low, high] = [0, letters.length];
  while (low < high) {
    const half = Math.ceil((low + high) / 2);
    const candidate = letters.slice(0, half).join('').trimEnd() + '…';
    if (textWidth(candidate, theme, size, weight) <= width) low = half;
    else high = half - 1;
  }
  return low ? letters.slice(0, low).join('').trimEnd() + '…' : '';
}
