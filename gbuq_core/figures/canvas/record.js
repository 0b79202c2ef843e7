// The player's run as a file: a video (webm.js), or a GIF (gif.js), also where the browser encodes no
// video. It is drawn like a PNG, frame after frame, while the player shows the same frames. Both keep
// their own time: a busy machine takes longer, and its file plays as smoothly.

const VIDEO_WIDTH = 1920; // pixels at most, as on a projector
const GIF_WIDTH = 960;
const REST = 1200; // milliseconds that the last frame stays

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

const Recording = {
  makeRecorder() {
    this.recordButton = iconButton('record', '', () => this.record(true));
    this.gifButton = iconButton('save', 'Save the run as a GIF', () => this.record(false));
    this.gifButton.append(element('span', '', {}, 'GIF'));
    this.recording = null;
    this.showRecording();
    return this.recordButton;
  },

  showRecording() {
    const now = Boolean(this.recording);
    const text = now ? 'Stop here and save' : 'Record the run as a video';
    setIcon(this.recordButton, now ? 'stop' : 'record', text);
    this.recordButton.setAttribute('aria-pressed', String(now));
    this.gifButton.disabled = now;
    this.root.dataset.recording = now ? '1' : '0';
  },

  // Plays every frame once into a file; a second press ends the run early.
  async record(asVideo) {
    if (this.recording) {
      this.recording.ended = true;
      return;
    }
    const run = { ended: false, dropped: false, sheet: this.whole };
    this.recording = run;
    this.showRecording();
    const { player } = this;
    player.pause();
    const { frame } = player;
    try {
      let canvas = sheetCanvas(this, VIDEO_WIDTH);
      let film = asVideo ? await makeVideo(canvas.width, canvas.height) : null;
      if (!film) {
        canvas = sheetCanvas(this, GIF_WIDTH);
        film = new Gif(canvas.width, canvas.height);
      }
      const step = 1000 / (this.sheet.fps * player.speed);
      for (let at = 0; at < player.frames && !run.ended; at++) {
        player.go(at);
        drawOnCanvas(canvas, this);
        await film.add(canvas, at === player.frames - 1 ? REST : step);
      }
      if (!run.dropped) saveBlob(await film.end(), `${fileStem(this.sheet.name)}.${film.ending}`);
    } finally {
      this.recording = null;
      if (this.whole === run.sheet) player.go(frame);
      this.showRecording();
    }
  },

  // Other data, or no figure any more: a run of two pictures is nobody's.
  dropRecording() {
    if (this.recording) Object.assign(this.recording, { ended: true, dropped: true });
  },
};

Object.assign(SheetView.prototype, Recording);
