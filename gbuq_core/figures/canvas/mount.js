// The entry: Streamlit calls the default export on every rerun with the same element.

const BUILD = {};

export function mount(parent, data, send = null) {
  let held = parent.gbuqSheet;
  // After a reload of this module the element may hold a figure of an older build.
  if (held && held.build !== BUILD) {
    held.view.destroy();
    held = null;
  }
  if (!held) {
    held = { build: BUILD, view: new SheetView(parent) };
    parent.gbuqSheet = held;
  }
  held.view.update(data, send);
  return held.view;
}

export default function ({ data, parentElement, setTriggerValue }) {
  if (!data) return undefined;
  const draw = () => mount(parentElement, data, (event) => setTriggerValue('cells', event));
  return drawForCall(parentElement, draw, () => {
    parentElement.gbuqSheet?.view.destroy();
    delete parentElement.gbuqSheet;
  });
}
