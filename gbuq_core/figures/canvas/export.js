// Pictures to keep: PNG at twice the screen's size, SVG with text as text.

const EXPORT_MARGIN = 16;

// Draws a whole sheet with a pen; `place(x, y, draw)` moves the pen's origin.
function drawSheet(pen, owner, place) {
  const { sheet, layout, theme, player } = owner;
  const size = exportSize(owner);
  pen.rect(0, 0, size.w, size.h, theme.background);
  for (const view of owner.views) {
    view.picture.show(player.frame);
    place(EXPORT_MARGIN + view.place.x, EXPORT_MARGIN + view.place.y, () => {
      const { panel } = view;
      drawFrame(pen, sheet, panel, view.place, player.frame, theme);
      const dots = panel.points
        ? () => drawPoints(pen, sheet, panel, view.place.map, player.frame, theme)
        : null;
      drawMap(pen, sheet, panel, view.place, view.picture, theme, dots);
    });
  }
  for (const view of owner.strips) {
    const at = view.place;
    place(EXPORT_MARGIN + at.x, EXPORT_MARGIN + at.y, () => view.drawAll(pen, player.frame));
  }
  const legend = legendEntries(sheet);
  const below = EXPORT_MARGIN + layout.height + 8;
  place(EXPORT_MARGIN, below, () => drawLegend(pen, legend, layout.width, theme));
  if (sheet.frames < 2) return;
  const style = { size: SIZE.label, colour: theme.soft, align: 'right' };
  pen.text(frameText(sheet, player.frame), size.w - EXPORT_MARGIN, size.h - 12, style);
}

function exportSize(owner) {
  const { sheet, layout, theme } = owner;
  const legend = drawLegend(null, legendEntries(sheet), layout.width, theme).h;
  const note = sheet.frames > 1 ? 24 : 0;
  const h = layout.height + 2 * EXPORT_MARGIN + (legend ? legend + 8 : 0) + note;
  return { w: Math.max(220, layout.width) + 2 * EXPORT_MARGIN, h };
}

function sheetAsCanvas(owner) {
  return owner.inGrid(() => drawnAsCanvas(owner));
}

function drawnAsCanvas(owner) {
  const { w, h } = exportSize(owner);
  const canvas = document.createElement('canvas');
  // Twice the screen's size; browsers cap a canvas at some 16 million pixels on phones.
  const fit = Math.min(2, Math.sqrt(16e6 / (w * h)));
  canvas.width = Math.round(w * fit);
  canvas.height = Math.round(h * fit);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.setTransform(canvas.width / w, 0, 0, canvas.height / h, 0, 0);
  drawSheet(new CanvasPen(context, owner.theme), owner, (x, y, draw) => {
    context.save();
    context.translate(x, y);
    draw();
    context.restore();
  });
  return canvas;
}

function sheetAsSvg(owner) {
  return owner.inGrid(() => drawnAsSvg(owner));
}

function drawnAsSvg(owner) {
  const { w, h } = exportSize(owner);
  const pen = new SvgPen(w, h, owner.theme);
  pen.add('title', {}, owner.sheet.alt);
  drawSheet(pen, owner, (x, y, draw) => pen.moved(x, y, draw));
  return pen.document();
}

function savePng(owner) {
  sheetAsCanvas(owner).toBlob((blob) => saveBlob(blob, `${exportName(owner)}.png`), 'image/png');
}

function saveSvg(owner) {
  const blob = new Blob([sheetAsSvg(owner)], { type: 'image/svg+xml' });
  saveBlob(blob, `${exportName(owner)}.svg`);
}

function exportName({ sheet, player }) {
  const frame = sheet.frames > 1 ? `-${frameText(sheet, player.frame)}` : '';
  return fileStem(sheet.name + frame);
}

function saveBlob(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = element('a', '', { href: url, download: name });
  link.click();
  // The download has its own hold on the data once it has begun.
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
