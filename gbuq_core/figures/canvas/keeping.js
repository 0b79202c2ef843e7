// What the pin (pin.js) keeps of maps: all of them in their grid, as in a saved picture.

Object.assign(SheetView.prototype, {
  leastBeside() {
    return Math.min(NARROW, this.layout.width);
  },

  shownNow() {
    const { sheet, player, knobs: { values } } = this;
    const said = sheet.frames > 1 ? [frameText(sheet, player.frame)] : [];
    return { said, knobs: sheet.knobs ?? [], values, alt: sheet.alt };
  },

  copyOf() {
    const copy = sheetAsCanvas(this);
    copy.style.width = `${this.inGrid(() => exportSize(this)).w}px`;
    return copy;
  },
});
