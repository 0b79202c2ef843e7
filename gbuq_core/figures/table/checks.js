// The rows to check first: a list box of one stop, with the arrow keys inside.
export default function({ data, parentElement, setTriggerValue }) {
  const list = parentElement.querySelector('ol');
  list.setAttribute('aria-label', data.label);
  const add = (parent, tag, text) => {
    const node = parent.appendChild(document.createElement(tag));
    node.textContent = text;
    return node;
  };
  list.replaceChildren();
  const rows = data.rows.map(([number, why, predicted, more], place) => {
    const item = list.appendChild(document.createElement('li'));
    item.setAttribute('role', 'option');
    item.id = `check-${place}`;
    item.setAttribute('aria-selected', String(number === data.open));
    add(item, 'b', number);
    add(item, 'span', why);
    add(item, 'span', predicted).className = 'predicted';
    if (number === data.open) add(item, 'span', more).className = 'more';
    item.onclick = () => setTriggerValue('row', number);
    return item;
  });
  let at = Math.max(0, data.rows.findIndex(([number]) => number === data.open));
  const point = () => {
    rows.forEach((row, place) => row.classList.toggle('at', place === at));
    list.setAttribute('aria-activedescendant', rows[at]?.id ?? '');
  };
  point();
  list.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -99, End: 99 }[event.key];
    if (step) at = Math.min(rows.length - 1, Math.max(0, at + step));
    else if (event.key === 'Enter' || event.key === ' ') rows[at]?.click();
    else return;
    event.preventDefault();
    point();
    rows[at]?.scrollIntoView({ block: 'nearest' });
  };
}
