// A bandit step by step: the function of each arm that was drawn at a step, its value in the step's
// context, the arm that was pulled, and what all policies have lost so far.
//
// Functions come as 16-bit steps of a range, one row a step of the ladder and arm.

const REGRET_SHARE = 0.42; // of the width, for the regret
const MOST_TOLD = 400; // pulls that are drawn, the newest

function unpackFunctions({ data, range: [low, high], none }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return Float64Array.from(new Uint16Array(bytes.buffer), (code) => (
    code === none ? NaN : low + ((high - low) * code) / (none - 1)));
}

DRAWINGS.bandit = class BanditView extends PlayedView {
  update(given) {
    if (given.digest !== this.digest) this.functions = given.policies.map((policy) => unpackFunctions(policy.functions));
    this.digest = given.digest;
    super.update(given);
  }

  // All that happened in the shown step of the chosen policy.
  now() {
    const { spec } = this;
    const { policies, steps, arms, x, contexts, means } = spec;
    const which = Math.min(this.values.bandit_policy ?? 0, policies.length - 1);
    const policy = policies[which];
    const at = Math.min(this.place, steps.length - 1);
    const step = steps[at];
    const functions = Array.from({ length: arms }, (_, arm) => (
      policy.draws ? this.functions[which].subarray((at * arms + arm) * x.length, (at * arms + arm + 1) * x.length) : []));
    const drawn = policy.drawn.slice(at * arms, (at + 1) * arms);
    const pulled = policy.pulled[step - 1];
    const best = means.slice((step - 1) * arms, step * arms);
    return {
      policy, which, at, step, functions, drawn, pulled, reward: policy.rewards[step - 1], context: contexts[step - 1],
      fitted: drawn[0] !== null, lost: Math.max(...best) - best[pulled], regret: policy.regret[at],
    };
  }

  paint() {
    const now = this.now();
    const height = this.narrow ? 200 : 270;
    const foot = 42;
    this.start(MARGIN.top + (this.narrow ? 2 : 1) * (height + foot) + 20);
    const one = { x: 52, y: MARGIN.top + 20, width: this.width - 52 - MARGIN.right, height };
    const two = { ...one };
    if (this.narrow) two.y += height + foot + 20;
    else {
      one.width = (1 - REGRET_SHARE) * this.width - 52;
      two.x = one.x + one.width + 58;
      two.width = this.width - MARGIN.right - two.x;
    }
    this.heading(one, now.fitted && now.policy.draws ? `Functions of ${now.policy.name} at step ${now.step}` : `${now.policy.name} at step ${now.step}`);
    this.arms(one, now);
    this.heading(two, 'Regret, sum so far');
    this.losses(two, now);
    this.readout.textContent = this.sentence(now);
    this.svg.setAttribute('aria-label', `${this.spec.alt} ${this.readout.textContent}`);
    const middle = now.functions.map((y) => y[this.spec.x.length >> 1]); // of each drawn function
    this.root.dataset.step = JSON.stringify([now.step, now.pulled, now.regret, middle[0] >= -Infinity ? Math.max(...middle) : null]);
  }

  heading({ x, y, width }, text) {
    const pen = { x, y: y - 8, fill: this.theme.text, 'font-weight': 600, 'font-size': 13 };
    svgNode('text', pen, this.svg, fitText(text, width, this.theme, 13, 600));
  }

  arms(box, now) {
    const { spec, svg, theme } = this;
    const { x, colours, truth, arms } = spec;
    const layers = [];
    const from = Math.max(0, now.step - 1 - MOST_TOLD);
    for (let arm = 0; arm < arms; arm++) {
      const colour = colours[arm % colours.length];
      const mine = [];
      for (let i = from; i < now.step - 1; i++) if (now.policy.pulled[i] === arm) mine.push(i);
      layers.push({ kind: 'line', x, y: truth.slice(arm * x.length, (arm + 1) * x.length), colour, width: 1, dash: '3 3' });
      layers.push({ kind: 'dots', x: mine.map((i) => spec.contexts[i]), y: mine.map((i) => now.policy.rewards[i]), colour, opacity: 0.35, size: 4 });
    }
    if (now.fitted && now.policy.draws) {
      now.functions.forEach((y, arm) => {
        const width = arm === now.pulled ? 3 : 1.5;
        layers.push({ kind: 'line', x, y: Array.from(y), colour: colours[arm % colours.length], width });
      });
    }
    const py = this.plot(box, { x: [x[0], x.at(-1)], y: spec.range, label: 'reward', xLabel: 'context', layers, name: 'arms' });
    const at = tenth(this.px(now.context));
    svgNode('line', { x1: at, x2: at, y1: box.y, y2: box.y + box.height, stroke: theme.soft, 'stroke-dasharray': '2 3' }, svg);
    const inside = (y) => tenth(clamp(py(y), box.y, box.y + box.height));
    const ink = (arm) => inkOf(colours[arm % colours.length], theme, this.dark);
    if (now.fitted && now.policy.draws) {
      now.drawn.forEach((value, arm) => {
        const mine = arm === now.pulled;
        svgNode('circle', { cx: at, cy: inside(value), r: mine ? 6 : 3.5, fill: ink(arm), stroke: mine ? theme.text : theme.background, 'stroke-width': mine ? 2 : 1 }, svg);
      });
    }
    // What it paid: a diamond in the arm's colour.
    const paid = inside(now.reward);
    const diamond = `M${at},${paid - 7}l7,7l-7,7l-7,-7Z`;
    svgNode('path', { d: diamond, fill: ink(now.pulled), stroke: theme.text, 'stroke-width': 1.5 }, svg);
  }

  losses(box, now) {
    const { spec, svg, theme } = this;
    const { steps, policies } = spec;
    const last = steps.at(-1);
    const layers = policies.map((policy, i) => (
      { kind: 'line', x: steps, y: policy.regret, colour: policy.colour, width: i === now.which ? 3 : 1.4, dash: policy.dash ? '5 4' : '' }));
    const top = 1.05 * Math.max(...policies.map((policy) => policy.regret.at(-1)));
    const py = this.plot(box, { x: [1, last], y: [0, top || 1], label: '', xLabel: 'step', layers, name: 'regret' });
    const at = tenth(this.px(now.step));
    svgNode('line', { x1: at, x2: at, y1: box.y, y2: box.y + box.height, stroke: theme.accent, 'stroke-width': 1.5 }, svg);
    policies.forEach((policy, i) => {
      const pen = { fill: inkOf(policy.colour, theme, this.dark), stroke: theme.background };
      svgNode('circle', { cx: at, cy: tenth(py(policy.regret[now.at])), r: i === now.which ? 5 : 3.5, ...pen }, svg);
    });
    this.regretBox = box;
  }

  sentence({ policy, step, context, drawn, pulled, reward, lost, regret, fitted }) {
    const short = (value) => formatValue(Number(value.toPrecision(2)));
    const why = !policy.draws ? 'by chance' : !fitted ? 'in turn, before the first fit'
      : `its drawn value is the highest, ${short(drawn[pulled])}`;
    return `Step ${step}, context ${short(context)}: arm ${pulled + 1} is pulled (${why}) and pays ${short(reward)}.   `
      + `Regret ${short(lost)}, so far ${formatValue(Number(regret.toPrecision(3)))}.`;
  }

  // A pointer in the chart of regret chooses the step.
  press(event) {
    const { regretBox: box, svg, player } = this;
    const inside = event.offsetX > box.x - 8 && event.offsetX < box.x + box.width + 8
      && event.offsetY > box.y - 8 && event.offsetY < box.y + box.height + 20;
    if (event.button !== 0 || !inside) return;
    event.preventDefault();
    svg.focus({ preventScroll: true });
    player.pause();
    const { steps } = this.spec;
    this.follow(event, (now) => {
      const share = (now.clientX - svg.getBoundingClientRect().left - box.x) / box.width;
      const wanted = 1 + share * (steps.at(-1) - 1);
      let nearest = 0;
      steps.forEach((step, i) => { if (Math.abs(step - wanted) < Math.abs(steps[nearest] - wanted)) nearest = i; });
      player.go(nearest);
    });
  }
};
