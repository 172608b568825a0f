/* The drawings of the panel, each with a sentence that is true of what is drawn. A view draws into an
   SVG element from `shown`: {state, runs, lead, at, logits}, where `lead` is the run of the first rule,
   and `logits` its policy after `at` steps. It returns its sentence, made of computed numbers alone. */
const views = (() => {
  "use strict";
  const TEMPERATURES = Array.from({ length: 161 }, (_, i) => 0.1 * 100 ** (i / 160));
  const minus = (text) => text.replace("-", "−");
  const nats = (value) => (Number.isFinite(value) ? minus(value.toFixed(2)) : value > 0 ? "∞" : "none");
  const digits = (value) => Number(value.toPrecision(2)).toString().replace(/e-(\d+)/, "e−$1");
  const signed = (x) => (x === 0 ? "0" : (x > 0 ? "+" : "−") + digits(Math.abs(x)));
  const listed = (words) => (words.length < 2 ? words.join("")
    : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`);

  /* Charts are SVG at the size they have on the screen, so that letters stay readable on a phone. */
  const text = (x, y, words, rest = "") => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${rest}>${words}</text>`;
  const line = (x1, y1, x2, y2, kind) =>
    `<line class="${kind}" x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}"/>`;
  const curve = (xs, ys, kind) =>
    `<polyline class="${kind}" points="${Array.from(xs, (x, i) => `${x.toFixed(1)},${ys[i].toFixed(1)}`).join(" ")}"/>`;
  const dot = (x, y, kind) => `<circle class="dot ${kind}" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="5"/>`;

  function axes(svg, right, x, xTicks, xLabel, low, high) {
    const width = Math.max(260, svg.clientWidth || svg.parentElement.clientWidth), height = 270;
    const box = { left: 46, right: width - right, top: 10, bottom: height - 40 };
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const [first, last] = [x(xTicks[0]), x(xTicks[xTicks.length - 1])];
    const toX = (value) => box.left + (x(value) - first) / (last - first) * (box.right - box.left);
    const toY = (value) => box.bottom - (value - low) / (high - low) * (box.bottom - box.top);
    const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const parts = [];
    for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k += 1) {
      const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
      const words = places > 3 ? Number((k * step).toPrecision(3)).toString() : (k * step).toFixed(places);
      parts.push(line(box.left, toY(k * step), box.right, toY(k * step), k === 0 ? "zero" : "grid"),
        text(box.left - 6, toY(k * step) + 4, minus(words), 'text-anchor="end"'));
    }
    xTicks.forEach((tick) => parts.push(text(toX(tick), box.bottom + 16, tick, 'text-anchor="middle"')));
    parts.push(text((box.left + box.right) / 2, height - 6, xLabel, 'text-anchor="middle"'));
    return { box, toX, toY, parts };
  }

  /* Labels beside a chart's right edge, apart, in order, within the chart. */
  function aside({ box, parts }, labels) {
    labels.sort((a, b) => a.at - b.at);
    labels.forEach((label, i) => {
      label.at = Math.max(label.at, i ? labels[i - 1].at + 14 : box.top + 4);
    });
    labels.forEach((label, i) => {
      const at = Math.min(label.at, box.bottom - 14 * (labels.length - 1 - i));
      parts.push(text(box.right + 6, at + 4, label.words, `class="${label.kind}"`));
    });
  }

  /* A run's curve: solid as far as the run is played, faint ahead. */
  function played(xs, ys, at, kind) {
    return curve(xs, ys, `series ahead ${kind}`) + curve(xs.slice(0, at + 1), ys, `series ${kind}`);
  }

  function paths(svg, { state, runs, lead, at }) {
    const right = state.correct.filter(Boolean).length, ceiling = Math.log(right);
    const aims = runs.filter(({ name }) => name === "aepo").map(({ target }) => target);
    const ticks = [0, 1, 10, 100, state.steps].filter((tick, k, all) => k === 4 || 2 * tick < all[4]);
    const chart = axes(svg, 112, Math.log1p, ticks, "step", 0,
      Math.max(Math.log(state.logits.length), ...aims) * 1.06);
    const { box, toX, toY, parts } = chart;
    parts.push(line(box.left, toY(ceiling), box.right, toY(ceiling), "reference"),
      ...aims.map((target) => line(box.left, toY(target), box.right, toY(target), "aim")));
    const xs = Array.from({ length: state.steps + 1 }, (_, k) => toX(k));
    runs.forEach(({ kind, entropy }) =>
      parts.push(played(xs.slice(0, entropy.length), entropy.map(toY), at, kind)));
    aside(chart, [{ words: `log |A*| = ${nats(ceiling)}`, kind: "note", at: toY(ceiling) },
      ...runs.map(({ label, kind, entropy }) => ({ kind, at: toY(entropy[entropy.length - 1]),
        words: entropy.length > state.steps ? label : `${label} (stops)` }))]);
    parts.push(dot(xs[at], toY(lead.entropy[at]), lead.kind));
    svg.innerHTML = parts.join("");
    return `After ${at} of ${state.steps} steps of ${lead.label}: H = ${nats(lead.entropy[at])} nats, right `
      + `with probability ${lead.reward[at].toFixed(3)}. ${held(runs, ceiling)}`;
  }

  /* What AEPO does with each of its targets, over the last sixth of the run. */
  function held(runs, ceiling) {
    const told = runs.filter(({ name }) => name === "aepo")
      .map((run) => ({ target: run.target, below: run.target < ceiling, ...bandit.tail(run, run.target) }));
    const some = (is, words) => {
      const those = told.filter(is).map(({ target, mean, held: kept }) =>
        nats(target) + (kept ? "" : ` (it is at ${nats(mean)})`));
      return those.length ? ` ${words(listed(those))}` : "";
    };
    if (!told.length) return "";
    return `Over the last sixth of the steps AEPO${[
      some(({ held: kept, below }) => kept && below, (those) => `holds ${those};`),
      some(({ held: kept, below }) => !kept && below,
        (those) => `misses ${those}, though below log |A*| = ${nats(ceiling)};`),
      some(({ held: kept, below }) => !kept && !below,
        (those) => `misses ${those}, not below log |A*| = ${nats(ceiling)};`),
      some(({ held: kept, below }) => kept && !below,
        (those) => `holds ${those}, not below log |A*| = ${nats(ceiling)}, which cannot last;`),
    ].join("").slice(0, -1)}.`;
  }

  function rate(svg, { state, logits }) {
    const { correct, temperature, rate: eta } = state;
    const changes = bandit.temperedChanges(logits, correct, eta, TEMPERATURES);
    const first = bandit.temperedRates(logits, correct, TEMPERATURES);
    const [own] = bandit.temperedChanges(logits, correct, eta, [temperature]);
    const reach = Math.max(1e-12, ...changes.map((x) => Math.abs(x) / eta), ...first.map(Math.abs)) * 1.12;
    const chart = axes(svg, 14, Math.log, [0.1, 0.2, 0.5, 1, 2, 5, 10], "sampling temperature T", -reach, reach);
    const { box, toX, toY, parts } = chart, xs = TEMPERATURES.map(toX);
    parts.push(curve(xs, first.map(toY), "series s2"),
      curve(xs, changes.map((x) => toY(x / eta)), "series s0"),
      text(box.left + 6, toY(0) - 7, "entropy rises ↑", 'class="halo"'),
      text(box.left + 6, toY(0) + 16, "entropy falls ↓", 'class="halo"'),
      text(box.right, box.bottom - 20, `one step at rate ${eta}`, 'class="halo s0" text-anchor="end"'),
      text(box.right, box.bottom - 6, "F(T), to first order", 'class="halo s2" text-anchor="end"'),
      dot(toX(temperature), toY(own / eta), "s0"));
    svg.innerHTML = parts.join("");
    const crossing = bandit.signChangeTemperature(logits, correct);
    const [slope] = bandit.temperedRates(logits, correct, [temperature]);
    return `One step at rate ${eta}, on samples at T = ${temperature}, changes entropy by ${signed(own)} nats; `
      + `to first order by ${signed(eta * slope)}. ${signs(changes)} For rates near 0, T₀ = ${nats(crossing)}.`;
  }

  /* Where entropy falls and rises, at the temperatures that are drawn. */
  function signs(changes) {
    const word = (x) => (x < 0 ? "falls" : x > 0 ? "rises" : "rests");
    const runs = [];
    changes.forEach((x, k) => {
      if (!runs.length || runs[runs.length - 1].word !== word(x)) runs.push({ word: word(x), first: k });
    });
    const at = (k) => nats(TEMPERATURES[k]);
    return `At this rate, at the temperatures drawn, entropy ${listed(runs.map(({ word: does, first }, i) => {
      const last = (runs[i + 1]?.first ?? changes.length) - 1;
      return `${does} from T = ${at(first)} to ${at(last)}`;
    }))}.`;
  }

  function tokens(svg, { state, logits, at }) {
    const batch = bandit.batchOf(logits, state.correct, state), n = logits.length;
    const { covariance, candidates, count, clipped, penalized } = bandit.selection(batch, state, at);
    const low = Math.min(0, ...covariance), high = Math.max(0, ...covariance), room = (high - low || 1) / 8;
    const chart = axes(svg, 14, (a) => a, [0.4, n + 0.6], "", low - room, high + room);
    const { box, toX, toY, parts } = chart, wide = (toX(2) - toX(1)) * 0.6;
    parts.splice(-3); // the axis' ends and label
    const edge = (value) => Math.min(Math.max(toY(value), box.top), box.bottom);
    const band = [edge(state.upper), edge(state.lower)];
    parts.unshift(`<rect class="band" x="${box.left}" y="${band[0]}" width="${box.right - box.left}" height="${band[1] - band[0]}"/>`);
    covariance.forEach((value, a) => {
      const x = toX(a + 1), top = Math.min(toY(value), toY(0)), is = clipped[a] ? "clipped" : "";
      parts.push(`<rect class="bar ${is}" x="${x - wide / 2}" y="${top}" width="${wide}" height="${Math.abs(toY(value) - toY(0))}"/>`,
        text(x, box.bottom + 16, `${a + 1}${state.correct[a] ? " ✓" : ""}`, 'text-anchor="middle"'),
        text(x, value < 0 ? toY(value) + 14 : top - 5,
          listed([clipped[a] && "Clip", penalized[a] && "KL"].filter(Boolean)).replace(" and ", "+"),
          'class="halo" text-anchor="middle"'));
    });
    parts.push(text((box.left + box.right) / 2, 264, "action (✓ right); the band is shaded", 'text-anchor="middle"'));
    svg.innerHTML = parts.join("");
    const names = (mask) => listed(mask.flatMap((is, a) => (is ? [String(a + 1)] : []))) || "none";
    const [plain, clip, kl] = ["grpo", "clip-cov", "kl-cov"].map((name) => {
      const end = bandit.run(name, logits, state.correct, { ...state, steps: state.batch, first: at }).logits.pop();
      return signed(bandit.exactChange(logits, end.map((z, a) => z - logits[a])));
    });
    return `A share of ${state.share} of ${n} tokens is ${count}. Clip-Cov takes ${names(clipped)} of `
      + `${names(candidates)} in its band, KL-Cov ${names(penalized)}. `
      + `${state.batch > 1 ? `By ${state.batch} steps` : "By one step"} on this batch at rate ${state.rate} entropy `
      + `changes by ${plain} nats with GRPO, ${clip} with Clip-Cov and ${kl} with KL-Cov.`
      + (state.batch > 1 ? "" : " KL-Cov's penalty is flat at the policy that drew the batch.");
  }

  function law(svg, { state, runs, lead, at }) {
    const most = Math.log(state.logits.length), used = at < 2 ? lead.entropy.length - 1 : at;
    const found = bandit.law(lead.entropy.slice(0, used + 1), lead.reward.slice(0, used + 1));
    const ticks = [0, 0.5, 1, 1.5, 2].filter((tick) => tick < 0.8 * most);
    const chart = axes(svg, 112, (x) => x, [...ticks, Number(most.toFixed(2))], "entropy H, nats", 0, 1.04);
    const { box, toX, toY, parts } = chart, own = lead.entropy.length - 1;
    runs.forEach(({ kind, entropy, reward }) => parts.push(played(entropy.map(toX), reward.map(toY), at, kind)));
    aside(chart, runs.map(({ label, kind, reward }) =>
      ({ words: label, kind, at: toY(reward[reward.length - 1]) })));
    parts.push(dot(toX(lead.entropy[at]), toY(lead.reward[at]), lead.kind));
    if (found) {
      const xs = Array.from({ length: 60 }, (_, k) => k * most / 59);
      const ys = xs.map((x) => found.b - found.a * Math.exp(x));
      const inside = xs.filter((_, k) => ys[k] >= 0 && ys[k] <= 1.04);
      parts.push(curve(inside.map(toX), ys.filter((y) => y >= 0 && y <= 1.04).map(toY), "reference"));
    }
    svg.innerHTML = parts.join("");
    if (!found) return "Entropy hardly moves: there is no law to fit.";
    const sign = found.a < 0 ? "+" : "−";
    return `Fitted to ${used} steps of ${lead.label}, R = ${nats(found.b)} ${sign} ${digits(Math.abs(found.a))} e^H `
      + `(dashed) explains ${(100 * found.explained).toFixed(1)} % of the variance of R. It announces `
      + `R = ${nats(found.b - found.a)} at H = 0; after ${own} steps R = ${nats(lead.reward[own])} at `
      + `H = ${nats(lead.entropy[own])}.`;
  }

  return {
    paths: { title: "Entropy along a run, nats", draw: paths },
    rate: { title: "Entropy's change by one step, over the rate", draw: rate },
    tokens: { title: "Covariance of each action, and which tokens are selected", draw: tokens },
    law: { title: "Probability of a right answer against entropy", draw: law },
  };
})();
