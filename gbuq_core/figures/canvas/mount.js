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
  held.calls = (held.calls ?? 0) + 1;
  held.view.update(data, send);
  return held.view;
}

export default function ({ data, parentElement, setTriggerValue }) {
  if (!data) return undefined;
  mount(parentElement, data, (event) => setTriggerValue('cells', event));
  const held = parentElement.gbuqSheet;
  const call = held.calls;
  return () => {
    // When new data overtake the loading of this module, Streamlit cleans up after the first call
    // once the second has drawn: the figure is then the second's.
    if (parentElement.gbuqSheet !== held || held.calls !== call) return;
    held.view.destroy();
    delete parentElement.gbuqSheet;
  };
}
