/* A softmax bandit in nats: the formulas of entropy_theory (policy.py, entropy_change.py, tabular.py and
   update rules) for one state; a test runs both. `logits` is an array of finite numbers, `correct` one of
   booleans, at least one of them true. Loops, because a reader drags: thousands of steps a frame. */
const bandit = (() => {
  "use strict";

  /* The tempered policy: {probabilities, logProbabilities, entropy}. Logits are shifted by the largest
     and the normalizer is log1p of the others, so that entropy keeps its digits at collapse. */
  function policy(logits, temperature = 1) {
    const n = logits.length, probabilities = new Array(n), logProbabilities = new Array(n);
    let top = 0, rest = 0, depth = 0;
    for (let a = 1; a < n; a += 1) if (logits[a] > logits[top]) top = a;
    for (let a = 0; a < n; a += 1) {
      const shifted = (logits[a] - logits[top]) / temperature, exponential = Math.exp(shifted);
      logProbabilities[a] = shifted;
      if (a !== top) rest += exponential;
      if (exponential > 0) depth -= exponential * shifted;
    }
    const logNormalizer = Math.log1p(rest);
    for (let a = 0; a < n; a += 1) {
      logProbabilities[a] -= logNormalizer;
      probabilities[a] = Math.exp(logProbabilities[a]);
    }
    return { probabilities, logProbabilities, entropy: logNormalizer + depth / (1 + rest) };
  }

  const softmax = (logits, temperature = 1) => policy(logits, temperature).probabilities;
  const entropy = (logits, temperature = 1) => policy(logits, temperature).entropy;

  /* dH/dz_a = -pi_a (log pi_a + H). */
  function entropyGradient(logits) {
    const { probabilities, logProbabilities, entropy: level } = policy(logits);
    return probabilities.map((p, a) => (p > 0 ? -p * (logProbabilities[a] + level) : 0));
  }

  const sum = (values) => values.reduce((total, value) => total + value, 0);

  /* values - E[values], over pairs: exact zeros at ties, signs kept. */
  const centered = (probabilities, values) =>
    values.map((x) => sum(values.map((y, b) => probabilities[b] * (x - y))));

  /* c_a - C, where c_a = pi_a (z_a - E z) and C is the mean of c. */
  function covarianceExcess(logits) {
    const top = Math.max(...logits), probabilities = softmax(logits);
    const spread = centered(probabilities, logits.map((logit) => logit - top));
    return centered(probabilities, spread.map((value, a) => probabilities[a] * value));
  }

  /* F(T) = -sum over right actions of pi^T_a (c_a - C), nats per unit learning rate (AEPO, Theorem 4.3),
     at each of `temperatures`. */
  function temperedRates(logits, correct, temperatures) {
    const excess = covarianceExcess(logits);
    return temperatures.map((temperature) => {
      const tempered = softmax(logits, temperature);
      return -sum(tempered.map((value, a) => (correct[a] ? value * excess[a] : 0)));
    });
  }

  /* T0: F < 0 below it, F > 0 above it. 0: F > 0 everywhere; Infinity: F < 0 everywhere; NaN: F = 0. */
  function signChangeTemperature(logits, correct) {
    const right = logits.filter((_, a) => correct[a]), top = Math.max(...right);
    const excess = covarianceExcess(logits).filter((_, a) => correct[a]);
    const depth = right.map((logit) => logit - top);
    if (excess.every((value) => value === 0)) return NaN;
    if (sum(excess.filter((_, a) => depth[a] === 0)) <= 0) return 0;
    if (sum(excess) >= 0) return Infinity;
    const falls = (inverse) => sum(excess.map((value, a) => Math.exp(depth[a] * inverse) * value)) > 0;
    let lower = -100, upper = 100; // of log(1/T)
    for (let i = 0; i < 70; i += 1) {
      const middle = (lower + upper) / 2;
      if (falls(Math.exp(middle))) upper = middle;
      else lower = middle;
    }
    return Math.exp(-(lower + upper) / 2);
  }

  /* Expected logit step of REINFORCE on samples of pi^T, reward 1 for right actions. */
  function temperedStep(logits, correct, temperature) {
    const { probabilities } = policy(logits), tempered = softmax(logits, temperature);
    return stepOf(probabilities, tempered.map((p, a) => (correct[a] ? p : 0)));
  }

  /* The step of actions' coefficients: sum_a weighted_a (e_a - pi). */
  function stepOf(probabilities, weighted) {
    const total = sum(weighted);
    return probabilities.map((p, a) => weighted[a] - total * p);
  }

  const add = (x, y, factor = 1) => x.map((value, a) => value + factor * y[a]);

  /* H(softmax(z + step)) - H(softmax(z)): its sign is right however small it is (entropy_change.exact). */
  function exactChange(logits, step) {
    const { probabilities, logProbabilities, entropy: level } = policy(logits);
    const mean = sum(probabilities.map((p, a) => p * step[a])), moved = step.map((x) => x - mean);
    if (Math.max(...moved.map(Math.abs)) >= 1) return entropy(add(logits, step)) - level;
    const logMean = Math.log1p(sum(probabilities.map((p, a) => p * Math.expm1(moved[a]))));
    return -sum(probabilities.map((p, a) => {
      const growth = Math.expm1(moved[a] - logMean);
      return p * (growth * (logProbabilities[a] + level) + (1 + growth) * (moved[a] - logMean) - growth);
    }));
  }

  /* Entropy's exact change by one step of tempered REINFORCE at a learning rate, at each temperature. */
  const temperedChanges = (logits, correct, rate, temperatures) => temperatures.map((temperature) =>
    exactChange(logits, temperedStep(logits, correct, temperature).map((x) => rate * x)));

  /* What dividing by the standard deviation of groups of `size` makes of the gradient of p, exactly. */
  function groupGain(right, wrong, size) {
    let total = 0, ways = 1;
    for (let k = 1; k < size; k += 1) {
      ways *= (size - k + 1) / k;
      total += ways * Math.sqrt(k * (size - k)) / size * right ** (k - 1) * wrong ** (size - k - 1);
    }
    return total;
  }

  const ROUNDED = 2 ** -20; // entropy_theory.rounding: what differs by less, relatively, is equal

  /* GRPO's coefficients, clipped at .2 on a stale batch unless `clip` is Infinity. */
  function grpo(now, batch, clip = 0.2) {
    return batch.advantage.map((advantage, a) => {
      const ratio = Math.exp(now.logProbabilities[a] - batch.logProbabilities[a]);
      const past = advantage > 0 ? ratio > (1 + clip) * (1 + ROUNDED) : ratio < (1 - clip) * (1 - ROUNDED);
      return past && advantage !== 0 ? 0 : batch.probabilities[a] * ratio * advantage;
    });
  }

  /* AEPO's second batch: right answers drawn at T_high below the target, else at T_low. */
  function aepo(now, batch, settings) {
    const reached = batch.entropy >= settings.target * (1 - ROUNDED) - (settings.target ? 0 : ROUNDED);
    batch.temperature ??= reached ? settings.low : settings.high;
    batch.tempered ??= softmax(batch.logits, batch.temperature);
    return grpo(now, batch).map((weighted, a) => {
      const ratio = Math.exp(now.logProbabilities[a] - batch.logProbabilities[a]);
      const counts = batch.correct[a] && ratio <= 1.2 * (1 + ROUNDED);
      return weighted + (counts ? settings.alpha * batch.tempered[a] * ratio : 0);
    });
  }

  /* A number in [0, 1) for each of n tokens of a step (selection.keyed_uniform with seed 0). */
  function keyedUniform(n, step) {
    const wrap = (x) => BigInt.asUintN(64, x), shifted = (x, bits) => x ^ (x >> bits);
    const mixed = (x) => shifted(wrap(shifted(wrap(shifted(x, 30n) * 0xBF58476D1CE4E5B9n), 27n)
      * 0x94D049BB133111EBn), 31n);
    return Array.from({ length: n }, (_, a) => [0, step].reduce((x, key) =>
      mixed(wrap(x + wrap(BigInt(key + 1) * 0x9E3779B97F4A7C15n))), BigInt(a) << 20n))
      .map((x) => Number(x >> 11n) * 2 ** -53);
  }

  /* The `count` candidates with the largest values; of values within `slack` the first actions. */
  function largest(values, candidates, count, slack = null) {
    const first = (of) => {
      const order = of.map((_, a) => a).filter((a) => candidates[a]).sort((a, b) => of[b] - of[a] || a - b);
      return of.map((_, a) => order.indexOf(a) >= 0 && order.indexOf(a) < count);
    };
    const chosen = first(values);
    if (slack === null || !chosen.some(Boolean)) return chosen;
    const last = Math.min(...values.filter((_, a) => chosen[a]));
    return first(values.map((x, a) => (Math.abs(x - last) <= slack[a] ? last : x)));
  }

  /* Cov(y) = (log pi - mean)(A - mean) of each action, as a token of a batch that lists each once, and
     which of them Clip-Cov (at random within its band) and KL-Cov (the largest) select. */
  function selection({ probabilities, logProbabilities, advantage }, settings, step) {
    const n = advantage.length, mass = sum(probabilities);
    const mean = (of) => sum(of.map((x, a) => probabilities[a] * x)) / mass;
    const [depth, gain] = [mean(logProbabilities), mean(advantage)];
    const covariance = logProbabilities.map((x, a) => (x - depth) * (advantage[a] - gain));
    const size = ROUNDED * Math.max(...advantage.map(Math.abs));
    const slack = logProbabilities.map((x) => size * (1 + Math.abs(x)));
    const candidates = covariance.map((x, a) =>
      x >= settings.lower - slack[a] && x <= settings.upper + slack[a]);
    const count = Math.floor(settings.share * n + 1e-9);
    return { covariance, candidates, count,
      clipped: largest(keyedUniform(n, step).map((x) => -x), candidates, count),
      penalized: largest(covariance, candidates.map(() => true), count, slack) };
  }

  function klCov(now, batch, settings, step) {
    batch.selected ??= selection(batch, settings, step).penalized;
    return grpo(now, batch, Infinity).map((weighted, a) => {
      const change = now.logProbabilities[a] - batch.logProbabilities[a];
      const slope = batch.selected[a] && Math.abs(change) > ROUNDED ? Math.sign(change) : 0;
      return weighted - batch.probabilities[a] * settings.penalty * slope;
    });
  }

  /* The rules that take the panel's settings, by their names in the package ("tempered" is REINFORCE on
     samples of pi^T): actions' coefficients at a policy, from a batch of that policy or an earlier one. */
  const rules = {
    "reinforce": (now, batch) => batch.probabilities.map((p, a) => (batch.correct[a] ? p : 0)),
    "tempered": (now, batch, settings) =>
      softmax(batch.logits, settings.temperature).map((p, a) => (batch.correct[a] ? p : 0)),
    "grpo": (now, batch) => grpo(now, batch),
    "entropy-bonus": (now, batch) => grpo(now, batch),
    "aepo": aepo,
    "clip-cov": (now, batch, settings, step) => {
      batch.selected ??= selection(batch, settings, step).clipped;
      return grpo(now, batch).map((weighted, a) => (batch.selected[a] ? 0 : weighted));
    },
    "kl-cov": klCov,
  };

  /* The batch that a policy's exact listing is, with GRPO's advantages in groups. */
  function batchOf(logits, correct, { group }) {
    const now = policy(logits);
    const mass = (is) => sum(now.probabilities.map((p, a) => (correct[a] === is ? p : 0)));
    const [right, wrong] = [mass(true), mass(false)], gain = groupGain(right, wrong, group);
    return { ...now, logits, correct, advantage: correct.map((is) => gain * (is ? wrong : -right)) };
  }

  /* A run of a rule in exact expectation: {logits, entropy, reward, temperature}, each at the start and
     after each step, which count from `settings.first` (0 if left out). A batch is of the policy at its
     start and serves `settings.batch` steps. For a rule of traced_rules.js, with its default options, the
     first policy is the reference; its run ends early where its code would not go the traced way. */
  function run(name, logits, correct, settings) {
    const found = { logits: [], entropy: [], reward: [], temperature: [] };
    const trace = name in rules ? null : traced(name, logits, correct);
    const { first = 0 } = settings;
    let current = logits, batch;
    for (let k = 0; k <= settings.steps; k += 1) {
      const now = policy(current);
      if (k % settings.batch === 0) batch = batchOf(current, correct, settings);
      let step, bonus = name === "entropy-bonus" ? settings.coefficient : 0;
      if (trace === null) step = stepOf(now.probabilities, rules[name](now, batch, settings, first + k));
      else if ((({ step, bonus } = trace(now, batch)), step === null)) break;
      found.logits.push(current);
      found.entropy.push(now.entropy);
      found.reward.push(sum(now.probabilities.filter((_, a) => correct[a])));
      found.temperature.push(batch.temperature);
      if (bonus !== 0) step = add(step, entropyGradient(current), bonus);
      current = add(current, step, settings.rate);
    }
    return found;
  }

  /* The step, and the entropy gradient's coefficient, of a rule of traced_rules.js. */
  function traced(name, logits, correct) {
    const n = logits.length, ROWS = 8;
    const padded = (values) => [...values, ...new Array(ROWS - n).fill(0)];
    const everywhere = (value) => new Array(ROWS).fill(value);
    const kept = { mask: padded(logits.map(() => 1)), reward: padded(correct.map(Number)),
      reference_log_prob: padded(policy(logits).logProbabilities) };
    return (now, batch) => {
      const weight = padded(batch.probabilities);
      const given = tracedRules[name]({ ...kept, weight, old_log_prob: padded(batch.logProbabilities),
        old_entropy: everywhere(batch.entropy), log_prob: padded(now.logProbabilities),
        entropy: everywhere(now.entropy) });
      if (given === null) return { step: null, bonus: 0 };
      const weighted = (values) => values.map((value, a) => weight[a] * value);
      return { step: stepOf(now.probabilities, weighted(given.scores).slice(0, n)),
        bonus: given.entropy === null ? 0 : sum(weighted(given.entropy)) };
    };
  }

  /* Whether the last sixth of a run of AEPO holds the target, as experiment aepo_figure_1 counts it:
     mean entropy within .02 nats, and at least ten changes of temperature. */
  function tail({ entropy: levels, temperature }, target) {
    const steps = levels.length - 1, from = steps - Math.max(Math.floor(steps / 6), 1);
    const mean = sum(levels.slice(from, -1)) / (steps - from);
    const changes = temperature.slice(from, -1).filter((t, k, all) => k > 0 && t !== all[k - 1]).length;
    return { mean, changes, held: Math.abs(mean - target) <= 0.02 && changes >= 10 };
  }

  /* Least squares of R = b - a e^H (performance_law.fit); null where entropy hardly moves. */
  function law(levels, rewards) {
    const x = levels.map(Math.expm1), n = x.length;
    const [atX, atY] = [sum(x) / n, sum(rewards) / n], offX = x.map((v) => v - atX);
    const spread = sum(offX.map((v) => v * v));
    if (n < 3 || !(Math.max(...levels) - Math.min(...levels) > 1e-9)) return null;
    const a = -sum(offX.map((v, k) => v * (rewards[k] - atY))) / spread;
    const squares = sum(offX.map((v, k) => (rewards[k] - atY + a * v) ** 2));
    const total = sum(rewards.map((y) => (y - atY) ** 2));
    return { a, b: atY + a * (atX + 1), explained: 1 - squares / total, rmse: Math.sqrt(squares / n) };
  }

  return { softmax, entropy, entropyGradient, temperedRates, temperedChanges, signChangeTemperature,
    temperedStep, exactChange, groupGain, selection, batchOf, rules, run, tail, law };
})();
