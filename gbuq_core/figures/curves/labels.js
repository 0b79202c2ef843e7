// What has a place in the first panel is named there instead of in the legend.

const LETTER = 6; // pixels of a name

Object.assign(CurvesView.prototype, {
  labels(py, box) {
    const { background, text } = this.theme;
    const halo = { stroke: background, 'stroke-width': 4, 'paint-order': 'stroke' };
    for (const { name, at } of this.spec.legend) {
      if (!at) continue;
      const half = LETTER * name.length / 2;
      const x = Math.max(box.x + half, Math.min(this.px(at[0]), box.x + box.width - half));
      const y = py(at[1]);
      const [lo, hi] = this.stretch();
      const inside = at[0] >= lo && at[0] <= hi && y >= box.y && y <= box.y + box.height;
      const place = { x: tenth(x), y: tenth(y + 4), 'text-anchor': 'middle', class: 'label' };
      if (inside) svgNode('text', { ...place, fill: text, ...halo }, this.svg, name);
    }
  },
});
