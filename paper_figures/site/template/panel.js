/* The panel: a state that stands in the page's address, its controls, a clock that plays, and views.
   The page gives its own state as the address in `data-state`; what follows # in the browser's address
   is read over it. Bad values are told in a line, and the page's own stand in their place. */
(() => {
  "use strict";
  const MOST = 8, CURVES = 4, SECONDS = 8;
  const RULES = [...Object.keys(bandit.rules), ...Object.keys(tracedRules)];
  const STEPPED = ["paths", "tokens", "law"];
  const GROUPED = ["grpo", "entropy-bonus", "aepo", "clip-cov", "kl-cov"];
  /* Each setting with its range, and the views and rules that it acts in. */
  const SETTINGS = Object.fromEntries([
    ["rate", "Learning rate", 0.05, 3, 0.05, 0.5, [...STEPPED, "rate"]],
    ["steps", "Steps of the run", 100, 6000, 100, 2000, ["paths", "law"]],
    ["batch", "Steps on each batch", 1, 16, 1, 1, STEPPED],
    ["group", "Group size of GRPO", 2, 64, 1, 8, ["tokens", ...GROUPED]],
    ["temperature", "Temperature T of tempered REINFORCE", 0.1, 10, 0.1, 1.8, ["rate", "tempered"]],
    ["coefficient", "Coefficient of the entropy bonus", 0, 0.5, 0.005, 0.05, ["entropy-bonus"]],
    ["target", "Target entropy of AEPO, nats", 0, 2.05, 0.05, 0.5, ["aepo"]],
    ["targets", "How many targets, evenly up to it", 1, 5, 1, 1, ["aepo"]],
    ["alpha", "alpha, weight of AEPO's second batch", 0, 4, 0.1, 1, ["aepo"]],
    ["high", "AEPO's temperature below the target", 1, 3, 0.05, 1.2, ["aepo"]],
    ["low", "AEPO's temperature at or above it", 0.1, 1, 0.05, 0.8, ["aepo"]],
    ["share", "Share of tokens that is selected", 0, 1, 0.05, 0.4, ["tokens", "clip-cov", "kl-cov"]],
    ["lower", "Clip-Cov's band, lower end", -1, 5, 0.05, 0.1, ["tokens", "clip-cov"]],
    ["upper", "Clip-Cov's band, upper end", -1, 5, 0.05, 5, ["tokens", "clip-cov"]],
    ["penalty", "Coefficient of KL-Cov's penalty", 0, 5, 0.1, 1, ["tokens", "kl-cov"]],
  ].map(([name, label, min, max, step, start, acts]) => [name, { label, min, max, step, start, acts }]));
  const EXAMPLES = [
    ["A common start", ""],
    ["Collapse", "rules=grpo,reinforce&logits=2.5,0.5,0,0,0,-1&right=1"],
    ["Holding", "rules=grpo,entropy-bonus,aepo&target=0.8"],
    ["AEPO, Figure 1", "rules=aepo&target=1.5&targets=5&logits=2,1.5,1,1,0,0,-1,-1&right=1,2,3,4"],
    ["Rare right answers", "logits=3,2.5,0,0,-0.5,-1&right=3,4,5&temperature=3"],
    ["All answers right", "logits=2,1,0.5,0,-1&right=1,2,3,4,5"],
    ["Clip-Cov", "rules=grpo,clip-cov,kl-cov&batch=4"],
    ["Uniform", "logits=0,0,0,0,0,0&right=1,2"],
  ];
  const START = { view: "all", logits: [2, 1, 0, 0, -1, -1], right: [1, 2, 3],
    rules: ["grpo", "tempered", "entropy-bonus", "aepo"],
    ...Object.fromEntries(Object.entries(SETTINGS).map(([name, { start }]) => [name, start])), at: 0 };
  const panel = document.getElementById("panel");
  let state, own, playing = null;

  /* ------------------------------------------------------------ the address */

  const number = (low, high, whole = false) => [`${whole ? "a whole number" : "a number"} from ${low} to ${high}`,
    (words) => {
      const x = words.trim() === "" ? NaN : Number(words);
      return x >= low && x <= high && !(whole && !Number.isInteger(x)) ? x : null;
    }];
  const list = (least, most, [what, read]) => [`${least} to ${most} of these, with commas: ${what}`, (words) => {
    const found = words.split(",").map(read);
    return found.length >= least && found.length <= most && !found.includes(null)
      && (what.startsWith("a number") || new Set(found).size === found.length) ? found : null;
  }];
  const choice = (names) => [names.length > 9 ? "a rule of the lists below" : names.join(" or "),
    (words) => (names.includes(words) ? words : null)];

  function fields({ logits, steps }) {
    return { view: choice(["all", ...Object.keys(views)]), logits: list(2, MOST, number(-5, 5)),
      right: list(1, logits.length, number(1, logits.length, true)), rules: list(1, CURVES, choice(RULES)),
      ...Object.fromEntries(Object.entries(SETTINGS).map(([name, { min, max, step }]) =>
        [name, number(min, max, step >= 1)])),
      at: number(0, steps, true) };
  }

  /* Return the state that an address gives over another one, and what is wrong with it. */
  function read(address, over) {
    const found = { ...over }, wrong = [], given = new URLSearchParams(address);
    const known = Object.keys(START);
    for (const name of [...known, ...given.keys()].filter((one, k, all) => all.indexOf(one) === k)) {
      if (!known.includes(name)) {
        wrong.push(`'${name}' is no setting: use one of ${known.join(", ")}.`);
      } else if (given.has(name)) {
        const [what, parse] = fields(found)[name], value = parse(given.get(name));
        if (value !== null) found[name] = value;
        else wrong.push(`${name} must be ${what}, got '${given.get(name)}': ${found[name]} is shown.`);
      }
    }
    found.right = found.right.filter((a) => a <= found.logits.length);
    if (!found.right.length) found.right = [1];
    found.at = Math.min(found.at, found.steps);
    return { found, wrong };
  }

  const address = (over) => Object.keys(START).filter((name) => String(state[name]) !== String(over[name]))
    .map((name) => `${name}=${state[name]}`).join("&");

  function show({ found, wrong }) {
    state = found;
    find(".complaint").textContent = wrong.join(" ");
    find(".complaint").hidden = !wrong.length;
    build();
    draw();
  }

  /* ------------------------------------------------------------ the controls */

  const find = (selector) => panel.querySelector(selector);

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function button(label, act) {
    const made = element("button", { type: "button" }, label);
    made.addEventListener("click", act);
    return made;
  }

  /* Show the controls that act on what is shown. */
  function build() {
    const shown = state.view === "all" ? Object.keys(views) : [state.view];
    find(".charts").replaceChildren(...shown.map((name) => element("figure", { "data-view": name },
      element("figcaption", {}, views[name].title),
      Object.assign(document.createElementNS("http://www.w3.org/2000/svg", "svg"), { role: "img" }),
      element("p", { class: "says" }))));
    find(".actions").replaceChildren(...state.logits.map(action));
    find(".rules").replaceChildren(...Array.from({ length: CURVES }, (_, i) => {
      const select = element("select", { "aria-label": `Rule ${i + 1}` },
        ...[...(i ? [new Option("none", "")] : []), ...RULES.map((name) => new Option(name))]);
      select.value = state.rules[i] ?? "";
      select.addEventListener("input", () => {
        const chosen = [...panel.querySelectorAll(".rules select")].map(({ value }) => value);
        change({ rules: [...new Set(chosen.filter(Boolean))] }, true);
      });
      return select;
    }));
    find(".settings").replaceChildren(...Object.entries(SETTINGS)
      .filter(([, { acts }]) => acts.some((of) => shown.includes(of) || state.rules.includes(of)))
      .map(([name, { label, min, max, step }]) => {
        const slider = element("input", { id: `setting-${name}`, type: "range", min, max, step,
          value: state[name] });
        const value = element("output", { for: slider.id }, String(state[name]));
        slider.addEventListener("input", () => {
          value.textContent = slider.value;
          change({ [name]: slider.valueAsNumber });
        });
        return element("div", { class: "setting" }, element("label", { for: slider.id }, label), value, slider);
      }));
    find("#fewer").disabled = state.logits.length <= 2;
    find("#more").disabled = state.logits.length >= MOST;
  }

  function action(logit, a) {
    const name = `Action ${a + 1}`;
    const slider = element("input", { type: "range", min: -5, max: 5, step: 0.1, value: logit,
      "aria-label": `${name}, logit` });
    const box = element("input", { type: "checkbox", "aria-label": `${name} is right` });
    box.checked = state.right.includes(a + 1);
    slider.addEventListener("input", () =>
      change({ logits: state.logits.map((z, b) => (b === a ? slider.valueAsNumber : z)) }));
    box.addEventListener("change", () => {
      const right = state.right.filter((b) => b !== a + 1);
      if (box.checked) right.push(a + 1);
      if (right.length) change({ right: right.sort() });
      else box.checked = true; // without a right action nothing is reinforced
    });
    return element("div", { class: "action" }, element("span", { class: "name" }, String(a + 1)), slider,
      element("span", { class: "value" }), element("span", { class: "share" }, element("span")),
      element("label", {}, box, " right"));
  }

  function change(part, rebuild = false) {
    Object.assign(state, part);
    state.at = Math.min(state.at, state.steps);
    if (rebuild) build();
    request();
  }

  function resize(logits) {
    const right = state.right.filter((a) => a <= logits.length);
    change({ logits, right: right.length ? right : [1] }, true);
  }

  /* ------------------------------------------------------------ the clock */

  /* Steps are played evenly in log(1 + step), in which the first ones count as much as the last. */
  const place = (at) => Math.log1p(at) / Math.log1p(state.steps);
  const step = (share) => Math.round(Math.expm1(share * Math.log1p(state.steps)));

  function play() {
    if (playing !== null) {
      playing = null;
    } else {
      if (state.at >= state.steps) state.at = 0;
      const before = place(state.at), start = performance.now(), mine = {};
      playing = mine;
      const tick = (now) => {
        if (playing !== mine) return;
        const share = Math.min(1, before + Math.max(0, now - start) / 1000 / SECONDS);
        state.at = Math.max(state.at, step(share));
        if (share === 1) playing = null;
        draw();
        requestAnimationFrame(tick);
      };
      requestAnimationFrame(tick);
    }
    draw();
  }

  let waiting = false, settling;
  function request() { // at most one drawing a frame, however fast the slider
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }

  /* ------------------------------------------------------------ the drawing */

  let known = "", kept;
  function runsOf() { // as long as only the clock moves, runs are kept
    const { at, view, ...rest } = state;
    if (JSON.stringify(rest) === known) return kept;
    known = JSON.stringify(rest);
    const correct = state.logits.map((_, a) => state.right.includes(a + 1));
    kept = state.rules.flatMap((name, i) => Array.from({ length: name === "aepo" ? state.targets : 1 }, (_, k) => {
      const target = state.target * (k + 1) / state.targets;
      return { name, target, kind: `s${i}`, label: name === "aepo" ? `aepo to ${+target.toFixed(3)}` : name,
        ...bandit.run(name, state.logits, correct, { ...state, target }) };
    }));
    return kept;
  }

  function draw() {
    const runs = runsOf(), lead = runs.findLast(({ name }) => name === state.rules[0]);
    const at = Math.min(state.at, lead.entropy.length - 1), logits = lead.logits[at];
    const correct = state.logits.map((_, a) => state.right.includes(a + 1));
    const shown = { state: { ...state, correct }, runs, lead, at, logits };
    const said = [...panel.querySelectorAll(".charts figure")].map((figure) => {
      const svg = figure.querySelector("svg"), words = views[figure.dataset.view].draw(svg, shown);
      svg.setAttribute("aria-label", words);
      return (figure.querySelector(".says").textContent = words);
    });
    const probabilities = bandit.softmax(logits);
    panel.querySelectorAll(".action").forEach((row, a) => {
      const words = `probability ${probabilities[a].toFixed(3)}`;
      row.querySelector(".value").textContent = state.logits[a].toFixed(1).replace("-", "−");
      row.querySelector("input").setAttribute("aria-valuetext", state.logits[a].toFixed(1));
      row.querySelector(".share span").style.width = `${100 * probabilities[a]}%`;
      row.querySelector(".share").title = words;
      row.classList.toggle("is-right", correct[a]);
    });
    find("#play").textContent = playing === null ? "▶ Play" : "❚❚ Pause";
    const slider = find("#at"); // who moves it may stop between two steps
    if (playing !== null || document.activeElement !== slider) slider.value = 1000 * place(state.at);
    slider.setAttribute("aria-valuetext", `step ${at}`);
    find(".clock output").textContent = `step ${at} of ${state.steps}`;
    clearTimeout(settling); // the address, and a screen reader, follow where a drag ends
    settling = setTimeout(() => settle(said), 250);
  }

  function settle(said) {
    const found = address(own);
    const here = location.hash.includes("=") ? location.href.split("#")[0] : location.href;
    if (found || here !== location.href) history.replaceState(null, "", found ? `#${found}` : here);
    find("#address").href = `#${address(START)}`;
    find("#status").textContent = said.join(" ");
    find(".elsewhere").href = `${panel.dataset.home}#${address(START)}`;
  }

  /* ------------------------------------------------------------ the start */

  find("#presets").append(...(panel.dataset.state ? [] : EXAMPLES).map(([label, given]) =>
    button(label, () => show(read(given, START)))), button("Reset", () => show(read("", own))));
  find("#play").addEventListener("click", play);
  find("#step").addEventListener("click", () => {
    playing = null;
    change({ at: state.at < state.steps ? state.at + 1 : 0 });
  });
  find("#at").addEventListener("input", ({ target }) => {
    playing = null;
    change({ at: step(target.valueAsNumber / 1000) });
  });
  find("#fewer").addEventListener("click", () => resize(state.logits.slice(0, -1)));
  find("#more").addEventListener("click", () => resize([...state.logits, 0]));
  find("#shuffle").addEventListener("click", () =>
    resize(state.logits.map(() => Math.round(60 * (Math.random() - 0.5)) / 10)));
  const opened = (url) => { // (A # without = leads to a place on the page.)
    const after = new URL(url).hash.slice(1);
    return read(after.includes("=") ? after : "", own);
  };
  const given = read(panel.dataset.state, START);
  own = given.found;
  panel.hidden = false;
  const first = opened(location.href);
  show({ found: first.found, wrong: [...given.wrong, ...first.wrong] });
  addEventListener("hashchange", ({ newURL }) => { // not location, which `settle` may have set since
    if (newURL.split("#").pop().includes("=")) show(opened(newURL));
  });
  new ResizeObserver(request).observe(panel);
})();
