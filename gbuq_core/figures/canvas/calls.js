// What becomes of a figure when Streamlit takes back a call.

const REMEMBERED = 4; // calls; data may be megabytes

// Draw for one call and return its clean-up. When new data overtake the loading of a module,
// Streamlit makes the older call all the same, before or after the newer one, and then cleans up
// after it: the figure must not go with it, nor stay as the older call drew it.
function drawForCall(parent, draw, destroy) {
  const calls = (parent.gbuqCalls ??= []);
  calls.push(draw);
  if (calls.length > REMEMBERED) calls.shift();
  draw();
  return () => {
    const drawn = calls.at(-1) === draw;
    if (calls.includes(draw)) calls.splice(calls.indexOf(draw), 1);
    if (!parent.isConnected || !calls.length) {
      calls.length = 0;
      destroy();
    } else if (drawn) {
      calls.at(-1)();
    }
  };
}
