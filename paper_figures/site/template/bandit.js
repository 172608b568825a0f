/* A softmax bandit in nats: the formulas of entropy_theory (policy.py, entropy_change.py, tabular.py)
   for one state. A test runs both on the same inputs. `logits` is an array of finite numbers, `correct`
   an array of booleans with at least one true. Loops, because a reader drags: thousands of steps a frame. */
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
    const step = softmax(logits, temperature), probabilities = softmax(logits);
    let total = 0;
    for (let a = 0; a < step.length; a += 1) total += correct[a] ? step[a] : 0;
    for (let a = 0; a < step.length; a += 1) {
      step[a] = (correct[a] ? step[a] : 0) - total * probabilities[a];
    }
    return step;
  }

  const add = (x, y, factor = 1) => x.map((value, a) => value + factor * y[a]);

  /* Expected step per unit learning rate of each update rule. `settings`: temperature, coefficient (of
     the entropy bonus), and for AEPO target, alpha, temperatureHigh and temperatureLow. The policy
     gradient is the base of the last two. */
  const rules = {
    "policy-gradient": (logits, correct) => temperedStep(logits, correct, 1),
    "tempered": (logits, correct, settings) => temperedStep(logits, correct, settings.temperature),
    "entropy-bonus": (logits, correct, settings) =>
      add(temperedStep(logits, correct, 1), entropyGradient(logits), settings.coefficient),
    "aepo": (logits, correct, settings) => {
      const below = entropy(logits) < settings.target;
      const temperature = below ? settings.temperatureHigh : settings.temperatureLow;
      return add(temperedStep(logits, correct, 1), temperedStep(logits, correct, temperature),
        settings.alpha);
    },
  };

  /* Entropy at the start and after each of `steps` steps of a rule. */
  function entropyPath(rule, logits, correct, settings, steps, learningRate) {
    const path = [entropy(logits)];
    let current = logits;
    for (let k = 0; k < steps; k += 1) {
      current = add(current, rules[rule](current, correct, settings), learningRate);
      path.push(entropy(current));
    }
    return path;
  }

  /* The same of a rule of traced_rules.js with its default options, in exact expectation. A batch is of
     the policy at its start and serves `stepsPerBatch` steps; the reference policy is the first one. The
     path ends early where the rule's code would take another way than the traced one. */
  function tracedPath(rule, logits, correct, steps, learningRate, stepsPerBatch) {
    const n = logits.length, ROWS = 8;
    const padded = (values) => [...values, ...new Array(ROWS - n).fill(0)];
    const everywhere = (value) => new Array(ROWS).fill(value);
    const start = policy(logits), path = [start.entropy];
    const kept = { mask: padded(logits.map(() => 1)), reward: padded(correct.map(Number)),
      reference_log_prob: padded(start.logProbabilities) };
    let current = logits, batch = kept;
    for (let k = 0; k < steps; k += 1) {
      const now = policy(current), log_prob = padded(now.logProbabilities);
      if (k % stepsPerBatch === 0) {
        batch = { ...kept, weight: padded(now.probabilities), old_log_prob: log_prob,
          old_entropy: everywhere(now.entropy) };
      }
      const found = tracedRules[rule]({ ...batch, log_prob, entropy: everywhere(now.entropy) });
      if (found === null) break;
      const weighted = (values) => values.map((value, a) => batch.weight[a] * value);
      const scores = weighted(found.scores), total = sum(scores);
      const step = now.probabilities.map((p, a) => scores[a] - p * total);
      current = add(current, found.entropy === null ? step
        : add(step, entropyGradient(current), sum(weighted(found.entropy))), learningRate);
      path.push(entropy(current));
    }
    return path;
  }

  return { softmax, entropy, entropyGradient, temperedRates, signChangeTemperature, temperedStep, rules,
    entropyPath, tracedPath };
})();
