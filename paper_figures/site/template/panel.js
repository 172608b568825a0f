/* The panel: sliders for the logits, boxes for the right actions, and what bandit.js says of them. */
(() => {
  "use strict";
  const STEPS = 2000, LEARNING_RATE = 0.5, MOST = 8;
  const FIXED = { alpha: 1, temperatureHigh: 1.2, temperatureLow: 0.8 };
  const RULES = [
    { name: "policy-gradient", label: "policy gradient" },
    { name: "tempered", label: "tempered" },
    { name: "entropy-bonus", label: "entropy bonus" },
    { name: "aepo", label: "AEPO" },
  ];
  const SETTINGS = [
    { name: "temperature", label: "Temperature of tempered REINFORCE", min: 0.2, max: 5, step: 0.05 },
    { name: "coefficient", label: "Coefficient of the entropy bonus", min: 0, max: 0.5, step: 0.005 },
    { name: "target", label: "Target entropy of AEPO, nats", min: 0, max: 2.05, step: 0.05 },
  ];
  const EXAMPLES = [
    { label: "A common start", logits: [2, 1, 0, 0, -1, -1], right: [0, 1, 2] },
    { label: "One right answer", logits: [2.5, 0.5, 0, 0, 0, -1], right: [0] },
    { label: "Rare right answers", logits: [3, 2.5, 0, 0, -0.5, -1], right: [2, 3, 4] },
    { label: "All answers right", logits: [2, 1, 0.5, 0, -1], right: [0, 1, 2, 3, 4] },
    { label: "Uniform", logits: [0, 0, 0, 0, 0, 0], right: [0, 1] },
  ];
  const OTHERS = 3; // more rules side by side, of traced_rules.js
  const TEMPERATURES = Array.from({ length: 161 }, (_, i) => 0.1 * 100 ** (i / 160));

  const panel = document.getElementById("panel");
  const find = (selector) => panel.querySelector(selector);
  const state = { logits: [], correct: [], others: new Array(OTHERS).fill(""), stepsPerBatch: 1,
    settings: { temperature: 1.8, coefficient: 0.05, target: 0.5, ...FIXED } };

  const minus = (text) => text.replace("-", "−");
  const nats = (value) => (Number.isFinite(value) ? minus(value.toFixed(2)) : value > 0 ? "∞" : "none");
  const signed = (value) => {
    if (value === 0) return "0";
    return (value > 0 ? "+" : "−") + Math.abs(value).toPrecision(2).replace(/e-(\d+)/, "e−$1");
  };

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function load(example) {
    state.logits = [...example.logits];
    state.correct = example.logits.map((_, a) => example.right.includes(a));
    showActions();
    draw();
  }

  function showActions() {
    find(".actions").replaceChildren(...state.logits.map((logit, a) => {
      const name = `Action ${a + 1}`;
      const slider = element("input", { type: "range", min: -5, max: 5, step: 0.1, value: logit,
        "aria-label": `${name}, logit` });
      const box = element("input", { type: "checkbox", "aria-label": `${name} is right` });
      box.checked = state.correct[a];
      slider.addEventListener("input", () => { state.logits[a] = slider.valueAsNumber; request(); });
      box.addEventListener("change", () => {
        // Without a right action nothing is reinforced.
        if (!box.checked && state.correct.filter(Boolean).length === 1) box.checked = true;
        state.correct[a] = box.checked;
        request();
      });
      const share = element("span", { class: "share" }, element("span"));
      return element("div", { class: "action" }, element("span", { class: "name" }, String(a + 1)),
        slider, element("span", { class: "value" }), share,
        element("label", {}, box, " right"));
    }));
  }

  function showSettings() {
    find(".settings").replaceChildren(...SETTINGS.map(({ name, label, ...range }) => {
      const id = `setting-${name}`;
      const slider = element("input", { id, type: "range", ...range, value: state.settings[name] });
      const value = element("output", { for: id }, slider.value);
      slider.addEventListener("input", () => {
        state.settings[name] = slider.valueAsNumber;
        value.textContent = slider.value;
        request();
      });
      return element("div", { class: "setting" }, element("label", { for: id }, label), value, slider);
    }));
  }

  function showOthers() {
    const asked = new URLSearchParams(location.search).get("rule");
    if (asked in tracedRules) state.others[0] = asked;
    const choices = state.others.map((chosen, i) => {
      const choice = element("select", { "aria-label": `Other rule ${i + 1}` }, new Option("none", ""),
        ...Object.keys(tracedRules).map((name) => new Option(name)));
      choice.value = chosen;
      choice.addEventListener("input", () => { state.others[i] = choice.value; request(); });
      return choice;
    });
    const steps = element("select", {}, ...[1, 4, 16].map((n) => new Option(String(n))));
    steps.addEventListener("input", () => { state.stepsPerBatch = Number(steps.value); request(); });
    find(".others").replaceChildren(...choices, element("label", {}, "Steps on each batch ", steps));
  }

  let waiting = false, speaking;
  function request() { // at most one drawing a frame, however fast the slider
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }

  function draw() {
    const { logits, correct, settings } = state;
    const probabilities = bandit.softmax(logits);
    const right = correct.filter(Boolean).length;
    const found = {
      entropy: bandit.entropy(logits),
      ceiling: Math.log(right),
      reward: probabilities.reduce((total, p, a) => total + (correct[a] ? p : 0), 0),
      crossing: bandit.signChangeTemperature(logits, correct),
      rates: bandit.temperedRates(logits, correct, TEMPERATURES),
      marks: bandit.temperedRates(logits, correct, [1, settings.temperature]),
      paths: RULES.map((rule) =>
        bandit.entropyPath(rule.name, logits, correct, settings, STEPS, LEARNING_RATE)),
      others: state.others.map((name) => name
        && bandit.tracedPath(name, logits, correct, STEPS, LEARNING_RATE, state.stepsPerBatch)),
    };
    panel.querySelectorAll(".action").forEach((row, a) => {
      row.querySelector(".value").textContent = minus(logits[a].toFixed(1));
      row.querySelector("input").setAttribute("aria-valuetext",
        `${logits[a].toFixed(1)}, probability ${probabilities[a].toFixed(3)}`);
      row.querySelector(".share span").style.width = `${100 * probabilities[a]}%`;
      row.querySelector(".share").title = `probability ${probabilities[a].toFixed(3)}`;
      row.classList.toggle("is-right", correct[a]);
    });
    document.getElementById("fewer").disabled = logits.length <= 2;
    document.getElementById("more").disabled = logits.length >= MOST;
    readout(found);
    rateChart(found);
    pathChart(found);
    clearTimeout(speaking); // a screen reader hears where a drag ends, not each step of it
    const text = sentences(found);
    speaking = setTimeout(() => { document.getElementById("verdict").textContent = text; }, 250);
  }

  function readout({ entropy, ceiling, reward, crossing, marks }) {
    const rows = [
      ["Entropy H", `${nats(entropy)} nats`], ["Right with probability", reward.toFixed(3)],
      ["log |A*|", `${nats(ceiling)} nats`], ["T₀", nats(crossing)],
      ["F(1)", signed(marks[0])], [`F(${state.settings.temperature})`, signed(marks[1])],
    ];
    find(".readout").replaceChildren(...rows.map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  }

  function sentences({ ceiling, crossing, paths }) {
    const { target } = state.settings;
    const tail = (path) => path.slice(-STEPS / 10).reduce((a, b) => a + b, 0) / (STEPS / 10);
    let sign = `Samples drawn above T₀ = ${nats(crossing)} raise entropy at the next step, below it they `
      + "lower it.";
    if (Number.isNaN(crossing)) sign = "No temperature moves entropy at the next step, to first order.";
    if (crossing === 0) sign = "Tempered REINFORCE raises entropy at every temperature: T₀ = 0.";
    if (crossing === Infinity) {
      sign = "No temperature helps: tempered REINFORCE lowers entropy at each, T₀ = ∞.";
    }
    const side = target < ceiling ? "below" : "not below";
    return `${sign} AEPO's target, ${nats(target)} nats, is ${side} log |A*| = ${nats(ceiling)}, the most that `
      + `can last; over the last ${STEPS / 10} of ${STEPS} steps AEPO averages ${nats(tail(paths[3]))}, the `
      + `policy gradient ${nats(tail(paths[0]))}.`;
  }

  /* Charts are SVG at the size they have on the screen, so that letters stay readable on a phone. */
  const text = (x, y, words, rest = "") => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${rest}>${words}</text>`;
  const line = (x1, y1, x2, y2, kind) =>
    `<line class="${kind}" x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}"/>`;
  const curve = (xs, ys, kind) =>
    `<polyline class="${kind}" points="${xs.map((x, i) => `${x.toFixed(1)},${ys[i].toFixed(1)}`).join(" ")}"/>`;

  function axes(id, right, x, xTicks, xLabel, low, high) {
    const svg = document.getElementById(id);
    const width = Math.max(260, svg.clientWidth || svg.parentElement.clientWidth), height = 270;
    const box = { left: 46, right: width - right, top: 10, bottom: height - 40 };
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const [first, last] = [x(xTicks[0]), x(xTicks[xTicks.length - 1])];
    const toX = (value) => box.left + (x(value) - first) / (last - first) * (box.right - box.left);
    const toY = (value) => box.bottom - (value - low) / (high - low) * (box.bottom - box.top);
    const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const parts = [];
    for (let k = Math.ceil(low / step); k * step <= high + 1e-9; k += 1) {
      const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
      parts.push(line(box.left, toY(k * step), box.right, toY(k * step), k === 0 ? "zero" : "grid"),
        text(box.left - 6, toY(k * step) + 4, minus((k * step).toFixed(digits)), 'text-anchor="end"'));
    }
    xTicks.forEach((tick) => parts.push(text(toX(tick), box.bottom + 16, tick, 'text-anchor="middle"')));
    parts.push(text((box.left + box.right) / 2, height - 6, xLabel, 'text-anchor="middle"'));
    return { svg, box, toX, toY, parts };
  }

  function rateChart({ rates, marks, crossing }) {
    const { temperature } = state.settings;
    const reach = Math.max(1e-6, ...rates.map(Math.abs)) * 1.12;
    const { svg, box, toX, toY, parts } = axes("rate-chart", 14, Math.log, [0.1, 0.2, 0.5, 1, 2, 5, 10],
      "sampling temperature T", -reach, reach);
    parts.push(curve(TEMPERATURES.map(toX), rates.map(toY), "series s1"),
      text(box.left + 6, toY(0) - 7, "entropy rises ↑", 'class="halo"'),
      text(box.left + 6, toY(0) + 16, "entropy falls ↓", 'class="halo"'));
    if (crossing > TEMPERATURES[0] && crossing < TEMPERATURES[160]) {
      const x = toX(crossing), near = x > box.right - 70;
      parts.push(line(x, box.top, x, box.bottom, "reference"),
        text(x + (near ? -5 : 5), box.top + 10, `T₀ = ${nats(crossing)}`,
          `class="halo" text-anchor="${near ? "end" : "start"}"`));
    }
    [[1, marks[0], "s0"], [temperature, marks[1], "s1"]].forEach(([at, rate, kind]) =>
      parts.push(`<circle class="dot ${kind}" cx="${toX(at)}" cy="${toY(rate)}" r="5"/>`));
    svg.innerHTML = parts.join("");
    svg.setAttribute("aria-label", `F(T) from temperature 0.1 to 10: F(1) = ${signed(marks[0])}, `
      + `F(${temperature}) = ${signed(marks[1])}, T0 = ${nats(crossing)}.`);
  }

  function pathChart({ paths, others, ceiling }) {
    const { target } = state.settings, most = Math.log(state.logits.length);
    const { svg, box, toX, toY, parts } = axes("path-chart", 104, Math.log1p, [0, 1, 10, 100, 1000, STEPS]
      .filter((tick) => tick !== 1000), "step", 0, Math.max(most, target) * 1.06);
    const steps = Array.from({ length: STEPS + 1 }, (_, k) => k), xs = steps.map(toX);
    parts.push(line(box.left, toY(ceiling), box.right, toY(ceiling), "reference"),
      line(box.left, toY(target), box.right, toY(target), "aim"));
    const curves = [
      ...RULES.map((rule, i) => ({ words: rule.label, kind: `s${i}`, path: paths[i] })),
      ...others.map((path, i) => ({ words: state.others[i], kind: `s${RULES.length + i}`, path })),
    ].filter(({ path }) => path);
    curves.forEach(({ kind, path }) =>
      parts.push(curve(xs.slice(0, path.length), path.map(toY), `series ${kind}`)));
    const labels = [
      ...curves.map(({ words, kind, path }) => ({ kind, at: toY(path[path.length - 1]),
        words: path.length > STEPS ? words : `${words} (stops)` })),
      { words: "log |A*|", kind: "note", at: toY(ceiling) },
      { words: "target", kind: "s3", at: toY(target) },
    ];
    spread(labels, 14, box.top + 4, box.bottom);
    labels.forEach(({ words, kind, at }) =>
      parts.push(text(box.right + 6, at + 4, words, `class="${kind}"`)));
    svg.innerHTML = parts.join("");
    const ends = curves.map(({ words, path }) => `${words} ${nats(path[path.length - 1])}`).join(", ");
    svg.setAttribute("aria-label", `Entropy from ${nats(paths[0][0])} nats; after ${STEPS} steps: ${ends}; `
      + `log |A*| = ${nats(ceiling)}.`);
  }

  function spread(labels, gap, top, bottom) { // apart, in order, within the chart
    labels.sort((a, b) => a.at - b.at);
    labels.forEach((label, i) => {
      label.at = Math.max(label.at, i ? labels[i - 1].at + gap : top);
    });
    for (let i = labels.length - 1; i >= 0; i -= 1) {
      labels[i].at = Math.min(labels[i].at, bottom - gap * (labels.length - 1 - i));
    }
  }

  EXAMPLES.forEach((example) => {
    const button = element("button", { type: "button" }, example.label);
    button.addEventListener("click", () => load(example));
    find(".presets").append(button);
  });
  document.getElementById("fewer").addEventListener("click", () => {
    state.logits.pop();
    state.correct.pop();
    if (!state.correct.some(Boolean)) state.correct[0] = true;
    showActions();
    draw();
  });
  document.getElementById("more").addEventListener("click", () => {
    state.logits.push(0);
    state.correct.push(false);
    showActions();
    draw();
  });
  document.getElementById("shuffle").addEventListener("click", () => {
    state.logits = state.logits.map(() => Math.round(60 * (Math.random() - 0.5)) / 10);
    showActions();
    draw();
  });
  document.getElementById("steps").textContent = STEPS;
  document.getElementById("learning-rate").textContent = LEARNING_RATE;
  panel.hidden = false;
  showSettings();
  showOthers();
  load(EXAMPLES[0]);
  new ResizeObserver(request).observe(panel);
})();
