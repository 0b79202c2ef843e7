// A WebM video of canvases of one size: the browser's own encoder, and the few Matroska elements
// that a player needs around its pictures.

const VIDEO_CODECS = [['vp8', 'V_VP8'], ['vp09.00.40.08', 'V_VP9']];
const BITS = 8e6; // a second of video
const KEY_EVERY = 10; // frames: so that a player can jump
const QUEUED = 4; // frames on their way

// Null where the browser encodes none, as where a page has no secure address.
async function makeVideo(width, height) {
  if (!globalThis.VideoEncoder) return null;
  for (const [codec, name] of VIDEO_CODECS) {
    const config = { codec, width, height, bitrate: BITS };
    const found = await VideoEncoder.isConfigSupported(config).catch(() => null);
    if (found?.supported) return new Video(config, name);
  }
  return null;
}

class Video {
  constructor(config, name) {
    Object.assign(this, { config, name, ending: 'webm', time: 0, count: 0, chunks: [], failed: null });
    this.encoder = new VideoEncoder({
      output: (chunk) => {
        const data = new Uint8Array(chunk.byteLength);
        chunk.copyTo(data);
        this.chunks.push({ data, key: chunk.type === 'key', at: Math.round(chunk.timestamp / 1000) });
      },
      error: (error) => { this.failed = error; },
    });
    this.encoder.configure(config);
  }

  async add(canvas, milliseconds) {
    this.encode(canvas);
    this.time += milliseconds;
    this.canvas = canvas;
    do await pause(0); while (this.encoder.encodeQueueSize > QUEUED && !this.failed);
    if (this.failed) throw this.failed;
  }

  encode(canvas) {
    const frame = new VideoFrame(canvas, { timestamp: Math.round(1000 * this.time) });
    this.encoder.encode(frame, { keyFrame: this.count++ % KEY_EVERY === 0 });
    frame.close();
  }

  async end() {
    this.encode(this.canvas); // the last picture once more: it stays until here
    await this.encoder.flush();
    this.encoder.close();
    return new Blob([webm(this)], { type: 'video/webm' });
  }
}

// An element: its name, its length in eight bytes, and what it holds.
function ebml(name, ...parts) {
  const names = [];
  for (let rest = name; rest; rest = Math.floor(rest / 256)) names.unshift(rest % 256);
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const out = new Uint8Array(names.length + 8 + length);
  out.set(names);
  const view = new DataView(out.buffer);
  view.setUint8(names.length, 1);
  view.setUint32(names.length + 4, length);
  let at = names.length + 8;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

const whole = (value) => Uint8Array.of(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);
const letters = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

function real(value) {
  const out = new Uint8Array(8);
  new DataView(out.buffer).setFloat64(0, value);
  return out;
}

function webm({ config, name, time, chunks }) {
  const head = ebml(
    0x1a45dfa3,
    ebml(0x4286, whole(1)), ebml(0x42f7, whole(1)), ebml(0x42f2, whole(4)), ebml(0x42f3, whole(8)),
    ebml(0x4282, letters('webm')), ebml(0x4287, whole(4)), ebml(0x4285, whole(2)),
  );
  const info = ebml(
    0x1549a966,
    ebml(0x2ad7b1, whole(1e6)), ebml(0x4489, real(time)), // times in milliseconds
    ebml(0x4d80, letters('gbuq')), ebml(0x5741, letters('gbuq')),
  );
  const size = ebml(0xe0, ebml(0xb0, whole(config.width)), ebml(0xba, whole(config.height)));
  const track = ebml(
    0xae,
    ebml(0xd7, whole(1)), ebml(0x73c5, whole(1)), ebml(0x83, whole(1)), ebml(0x86, letters(name)), size,
  );
  const clusters = []; // one a key picture
  for (const chunk of chunks) {
    if (chunk.key) clusters.push({ at: chunk.at, blocks: [] });
    const cluster = clusters.at(-1);
    const after = chunk.at - cluster.at;
    const lead = Uint8Array.of(0x81, after >> 8, after & 255, chunk.key ? 0x80 : 0);
    cluster.blocks.push(ebml(0xa3, lead, chunk.data));
  }
  const packed = clusters.map(({ at, blocks }) => ebml(0x1f43b675, ebml(0xe7, whole(at)), ...blocks));
  const segment = ebml(0x18538067, info, ebml(0x1654ae6b, track), ...packed);
  const out = new Uint8Array(head.length + segment.length);
  out.set(head);
  out.set(segment, head.length);
  return out;
}
