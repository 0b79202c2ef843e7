// On a narrow page the panels of a comparison stand in a track, one a screen, and the reader turns
// to the next by a swipe, with the buttons above the track, or from the list of the titles.
//
//   ‹ [ MACAU (linear) ▾ ] ›  2 of 4
//   | panel 1 || panel 2 || panel 3 |   the drawing is as wide as all of them, and the track
//               ^ what the page shows    scrolls from one to the next
//
// A picture to keep has all of them below one another, as wide as the page.

const SWIPED_HEIGHT = 240; // of a panel's plot, at most
const SWIPED_BOTH = 320; // with its lower one

Object.assign(FacetsView.prototype, {
  makeTrack() {
    this.track = htmlNode('div', 'gbuq-curves-track', this.root);
    this.svg.before(this.track);
    this.track.append(this.svg);
    this.rests = htmlNode('div', 'gbuq-curves-rests', this.track); // where a swipe may end
    this.pager = htmlNode('div', 'gbuq-curves-pager', this.root);
    this.track.before(this.pager);
    this.pager.setAttribute('role', 'group');
    this.pager.setAttribute('aria-label', 'Panels');
    const button = (text, label, by) => {
      const made = htmlNode('button', '', this.pager, text);
      made.type = 'button';
      made.setAttribute('aria-label', label);
      made.addEventListener('click', () => this.turnTo(this.turned + by));
      return made;
    };
    this.before = button('\u2039', 'Panel before', -1);
    this.chooser = htmlNode('select', '', this.pager);
    this.chooser.setAttribute('aria-label', 'Panel');
    this.chooser.addEventListener('change', () => this.turnTo(this.chooser.selectedIndex));
    this.after = button('\u203a', 'Next panel', 1);
    this.counted = htmlNode('span', '', this.pager);
    this.counted.setAttribute('aria-live', 'polite');
    // Arrow keys of the list are its own.
    this.pager.addEventListener('keydown', (event) => event.stopPropagation());
    this.turned = 0;
    this.track.addEventListener('scroll', () => this.swiped());
  },

  // Whether this drawing is swiped.
  placeTrack(narrow) {
    const count = this.spec.panels.length;
    this.swipes = narrow && count > 1 && !this.filing;
    if (this.filing) return this.swipes;
    this.root.classList.toggle('gbuq-curves-swipes', this.swipes);
    this.pager.hidden = !this.swipes;
    if (!this.swipes) {
      this.rests.replaceChildren();
      return false;
    }
    const titles = this.spec.panels.map(({ title }) => title);
    if (String(titles) !== String(this.titles)) {
      // Other methods: the one that was looked at stays in sight.
      const kept = titles.indexOf(this.titles?.[this.turned]);
      this.turned = kept < 0 ? Math.min(this.turned, count - 1) : kept;
      this.titles = titles;
      this.chooser.replaceChildren(...titles.map((title) => new Option(title)));
    }
    return true;
  },

  // After the drawing has its width: the places where the track rests, and the one that is shown.
  finishTrack() {
    if (!this.swipes) return;
    const page = this.width * this.theme.type;
    const wanted = [this.titles.length, page].join();
    if (this.rests.childElementCount !== this.titles.length || this.restsFor !== wanted) {
      this.restsFor = wanted;
      this.rests.replaceChildren();
      for (let i = 0; i < this.titles.length; i++) {
        htmlNode('i', '', this.rests).style.cssText = `left:${i * page}px;width:${page}px`;
      }
      this.track.scrollTo({ left: this.turned * page, behavior: 'instant' });
    }
    this.showTurned();
  },

  swiped() {
    if (!this.swipes) return;
    const now = Math.round(this.track.scrollLeft / (this.width * this.theme.type));
    if (now === this.turned || now >= this.titles.length) return;
    this.turned = now;
    this.showTurned();
  },

  turnTo(number) {
    const wanted = Math.min(Math.max(number, 0), this.titles.length - 1);
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const left = wanted * this.width * this.theme.type;
    this.track.scrollTo({ left, behavior: still ? 'instant' : 'smooth' });
  },

  showTurned() {
    const count = this.titles.length;
    this.chooser.selectedIndex = this.turned;
    this.before.disabled = this.turned === 0;
    this.after.disabled = this.turned === count - 1;
    say(this.counted, `${this.turned + 1} of ${count}`);
    this.root.dataset.turned = String(this.turned);
  },

  // Draws the panels below one another, calls `work`, and draws them as they were.
  stacked(work) {
    if (!this.swipes) return work();
    this.filing = true;
    try {
      this.draw();
      return work();
    } finally {
      this.filing = false;
      this.restsFor = null; // the browser may have scrolled back meanwhile
      this.draw();
    }
  },
});
