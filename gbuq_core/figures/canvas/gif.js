// A GIF89a of canvases of one size: one palette, and of each frame only what changed.

const COLOURS = 255; // and one more that means "as before"
const SAME = 255;
const BUCKET = 4; // steps of a channel that count as one colour while the palette is made

class Gif {
  constructor(width, height) {
    Object.assign(this, { width, height, frames: [], ending: 'gif' });
  }

  async add(canvas, milliseconds) {
    const { data } = canvas.getContext('2d').getImageData(0, 0, this.width, this.height);
    this.frames.push({ pixels: new Uint32Array(data.buffer), delay: Math.round(milliseconds / 10) });
    await pause(0); // the page goes on meanwhile
  }

  async end() {
    const { width, height, frames } = this;
    const palette = paletteOf([0, frames.length >> 1, frames.length - 1].map((at) => frames[at].pixels));
    const parts = [gifHead(width, height, palette.colours)];
    let before = null;
    for (const { pixels, delay } of frames) {
      const places = new Uint8Array(pixels.length);
      for (let i = 0; i < pixels.length; i++) places[i] = palette.place(pixels[i]);
      const shown = before ? places.map((place, i) => (place === before[i] ? SAME : place)) : places;
      parts.push(gifFrame(width, height, shown, delay));
      before = places;
      await pause(0);
    }
    return new Blob([...parts, Uint8Array.of(0x3b)], { type: 'image/gif' });
  }
}

function bucketOf(pixel) {
  const [r, g, b] = [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
  return ((r / BUCKET) << 12) | ((g / BUCKET) << 6) | (b / BUCKET);
}

// The commonest colours of some pictures, and how another one finds the nearest of them.
function paletteOf(pictures) {
  const counts = new Map();
  for (const pixels of pictures) {
    for (const pixel of pixels) {
      const bucket = bucketOf(pixel);
      const found = counts.get(bucket);
      if (found) found.n += 1;
      else counts.set(bucket, { pixel, n: 1 });
    }
  }
  const common = [...counts.values()].sort((a, b) => b.n - a.n).slice(0, COLOURS);
  const colours = common.map(({ pixel }) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255]);
  const places = new Map();
  const nearest = (pixel) => {
    const [r, g, b] = [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
    let [best, least] = [0, Infinity];
    colours.forEach(([x, y, z], i) => {
      const far = (r - x) ** 2 + (g - y) ** 2 + (b - z) ** 2;
      if (far < least) [best, least] = [i, far];
    });
    return best;
  };
  const place = (pixel) => {
    const bucket = bucketOf(pixel);
    let found = places.get(bucket);
    if (found === undefined) places.set(bucket, (found = nearest(pixel)));
    return found;
  };
  return { colours, place };
}

const pair = (value) => [value & 255, value >> 8];

function gifHead(width, height, colours) {
  const table = new Uint8Array(3 * 256);
  colours.forEach((colour, i) => table.set(colour, 3 * i));
  const letters = (text) => [...text].map((letter) => letter.charCodeAt(0));
  return Uint8Array.from([
    ...letters('GIF89a'), ...pair(width), ...pair(height), 0xf7, 0, 0, ...table,
    0x21, 0xff, 11, ...letters('NETSCAPE2.0'), 3, 1, 0, 0, 0, // again and again
  ]);
}

function gifFrame(width, height, places, delay) {
  const control = [0x21, 0xf9, 4, 0x05, ...pair(delay), SAME, 0];
  const place = [0x2c, 0, 0, 0, 0, ...pair(width), ...pair(height), 0, 8];
  const packed = compressed(places);
  const blocks = new Uint8Array(packed.length + Math.ceil(packed.length / 255) + 1);
  let to = 0;
  for (let from = 0; from < packed.length; from += 255) {
    const block = packed.subarray(from, from + 255);
    blocks[to] = block.length;
    blocks.set(block, to + 1);
    to += block.length + 1;
  }
  const out = new Uint8Array(control.length + place.length + to + 1);
  out.set([...control, ...place]);
  out.set(blocks.subarray(0, to + 1), control.length + place.length);
  return out;
}

// LZW with codes of 9 to 12 bits, the first bit of each in the lowest place.
function compressed(places) {
  const [CLEAR, END, MOST] = [256, 257, 4096];
  let out = new Uint8Array(1 << 16);
  let [n, held, bits, size, next] = [0, 0, 0, 9, 258];
  let codes = new Map();
  const put = (code) => {
    held |= code << bits;
    bits += size;
    while (bits >= 8) {
      if (n === out.length) {
        const larger = new Uint8Array(2 * n);
        larger.set(out);
        out = larger;
      }
      out[n++] = held & 255;
      held >>>= 8;
      bits -= 8;
    }
  };
  put(CLEAR);
  let prefix = places[0];
  for (let i = 1; i < places.length; i++) {
    const key = (prefix << 8) | places[i];
    const known = codes.get(key);
    if (known !== undefined) {
      prefix = known;
      continue;
    }
    put(prefix);
    if (next < MOST) {
      if (next === 1 << size) size += 1;
      codes.set(key, next++);
    } else {
      put(CLEAR);
      [size, next, codes] = [9, 258, new Map()];
    }
    prefix = places[i];
  }
  put(prefix);
  if (next === 1 << size && size < 12) size += 1; // as the reader counts
  put(END);
  size = 8;
  put(0); // what is left of the last byte
  return out.subarray(0, n);
}
