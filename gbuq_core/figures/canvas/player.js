// Play, pause, step, scrub. Runs on requestAnimationFrame while playing and not at all otherwise.

const ICONS = {
  play: 'M4 2.5v11l9.5-5.5z',
  pause: 'M4 2.5h3v11H4zM9 2.5h3v11H9z',
  back: 'M3 2.5h2v11H3zM13 2.5v11L5.5 8z',
  forward: 'M11 2.5h2v11h-2zM3 2.5v11L10.5 8z',
  save: 'M7 2h2v6h2.6L8 11.8 4.4 8H7zM2.5 12.6h11V14h-11z',
  rectangle: 'M2 3h12v10H2zM3.5 4.5v7h9v-7z',
  closer: 'M7 1.8a5.2 5.2 0 1 0 3.1 9.4l3.3 3.3 1.1-1.1-3.3-3.3A5.2 5.2 0 0 0 7 1.8zm0 1.5a3.7 3.7 0 1 1 0 7.4 3.7 3.7 0 0 1 0-7.4z',
  ray: 'M2.6 14.4l-1-1L11 4H6.5V2.5h7v7H12V5z',
};
// On the page's root from the beginning of a play that the page begins by itself until its end is
// seen: the page's answer waits.
const UNTOLD = 'data-gbuq-untold';
const STILL_FPS = 2; // frames a second for readers who asked for less motion
const SPEEDS = [0.25, 0.5, 1, 2, 4];

class Player {
  // `show(frame, quiet)` draws a frame; quiet frames are not announced.
  constructor(show) {
    this.show = show;
    this.frame = 0;
    this.frames = 1;
    this.speed = 1;
    this.request = 0;
    this.bar = element('div', 'gbuq-player', { role: 'toolbar', 'aria-label': 'Animation' });
    this.backButton = iconButton('back', 'Step back', () => this.step(-1));
    this.playButton = iconButton('play', 'Play', () => this.toggle());
    this.forwardButton = iconButton('forward', 'Step forward', () => this.step(1));
    this.playButton.classList.add('gbuq-play');
    this.slider = element('input', 'gbuq-scrub', { type: 'range', min: '0', step: '1' });
    this.slider.addEventListener('input', () => {
      this.pause();
      this.go(Number(this.slider.value));
    });
    this.label = element('span', 'gbuq-frame');
    this.select = element('select', 'gbuq-speed', { 'aria-label': 'Speed' });
    for (const speed of SPEEDS) {
      this.select.append(element('option', '', { value: String(speed) }, `${speed}×`));
    }
    this.select.value = '1';
    this.select.addEventListener('change', () => this.setSpeed(Number(this.select.value)));
    const buttons = element('span', 'gbuq-buttons');
    buttons.append(this.backButton, this.playButton, this.forwardButton);
    this.buttons = buttons;
    this.bar.append(buttons, this.slider, this.label, this.select);
  }

  // Takes a sheet's frames; keeps the place when their number is the same.
  setSheet(sheet) {
    const same = this.sheet && this.sheet.frames === sheet.frames;
    this.sheet = sheet;
    this.frames = sheet.frames;
    if (!same) {
      this.pause();
      this.frame = sheet.start;
    }
    this.bar.hidden = sheet.frames < 2;
    this.slider.max = String(sheet.frames - 1);
    this.slider.setAttribute('aria-label', sheet.frameLabel || 'frame');
    // As wide as its longest text, so that the slider does not tremble while playing.
    const longest = Math.max(...[0, sheet.frames - 1].map((f) => frameText(sheet, f).length));
    this.label.style.minWidth = `${longest}ch`;
    this.refresh();
    this.greet();
  }

  refresh() {
    const text = frameText(this.sheet, this.frame);
    this.slider.value = String(this.frame);
    const done = this.frame / Math.max(1, this.frames - 1);
    this.slider.style.setProperty('--gbuq-done', `${100 * done}%`);
    this.slider.setAttribute('aria-valuetext', text);
    this.label.textContent = text;
    this.backButton.disabled = this.frame === 0;
    this.forwardButton.disabled = this.frame === this.frames - 1;
  }

  playing() {
    return this.request !== 0;
  }

  go(frame, quiet = true) {
    const wanted = clamp(Math.round(frame), 0, this.frames - 1);
    if (wanted === this.frame) return;
    this.frame = wanted;
    if (wanted === this.frames - 1) this.tells(true);
    this.refresh();
    this.show(wanted, quiet);
  }

  step(by) {
    this.pause();
    this.go(this.frame + by, false);
  }

  // Plays once by itself, where the sheet asks for it and the reader not for less motion.
  greet() {
    if (!this.sheet.greets || this.greeted || this.frames < 2) return;
    this.greeted = true;
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    this.play();
    this.tells(false);
  }

  tells(is) {
    document.documentElement.toggleAttribute(UNTOLD, !is);
  }

  toggle() {
    if (this.playing()) this.pause();
    else this.play();
  }

  play() {
    if (this.frames < 2 || this.playing()) return;
    if (this.frame === this.frames - 1) this.go(0);
    this.restartClock();
    this.request = requestAnimationFrame((now) => this.tick(now));
    this.showState();
  }

  pause() {
    if (!this.playing()) return;
    cancelAnimationFrame(this.request);
    this.request = 0;
    this.showState();
  }

  setSpeed(speed) {
    this.speed = speed;
    this.restartClock();
  }

  restartClock() {
    this.startFrame = this.frame;
    this.startTime = 0;
  }

  tick(now) {
    if (!this.startTime) this.startTime = now;
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const fps = still ? Math.min(STILL_FPS, this.sheet.fps) : this.sheet.fps;
    const gone = ((now - this.startTime) / 1000) * fps * this.speed;
    // Half a frame of slack: with as many frames as refreshes, none is shown twice by jitter.
    const wanted = this.startFrame + Math.floor(gone + 0.5);
    if (wanted >= this.frames - 1) {
      this.go(this.frames - 1);
      this.pause();
      return;
    }
    this.request = requestAnimationFrame((time) => this.tick(time));
    this.go(wanted);
  }

  showState() {
    const playing = this.playing();
    setIcon(this.playButton, playing ? 'pause' : 'play', playing ? 'Pause' : 'Play');
    this.onState?.(playing);
  }
}

function iconButton(icon, label, press) {
  const button = element('button', 'gbuq-button', { type: 'button' });
  setIcon(button, icon, label);
  button.addEventListener('click', press);
  return button;
}

function setIcon(button, icon, label) {
  drawIcon(button, ICONS[icon], label);
}
