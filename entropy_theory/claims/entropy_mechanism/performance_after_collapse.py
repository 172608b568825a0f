r"""Entropy Mechanism, as reviewed: once entropy is near zero, performance rises no further.

The review names what would settle the bottleneck: a run whose performance "continues to rise
substantially after entropy has fallen near zero". It is read for one prompt with graded rewards in [0,
1] under the exact natural policy gradient. After k steps of size :math:`\eta` this has added
:math:`t r` to the logits, with :math:`t = k \eta`. The statement is for runs in which entropy was at
least 1/2 and has fallen to 1/20 or less. No later performance is then more than 1/10 above the present
one.

It fails for weights (1, 100000, 100000) and rewards (1, 1/2, 0). The policy settles on the second
action (at :math:`t = 12`, H is 0.043 and R 0.50), then on the first (at :math:`t = 40`, R is 0.9999).
The experiments show the same for the policy gradient, and for prompts with 0/1 rewards in a mixture.

The repair is exact for any n, and tight at two equal actions. Low entropy is not a ceiling but a
speed limit:

.. math::

    \text{natural policy gradient}\quad dR/dt = \operatorname{Var}_\pi(r) \le H / (4 \log 2),

    \text{policy gradient}\quad dR/dt = \mathbb E[\pi (r - R)^2] \le \operatorname{Var}_\pi(r).
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from entropy_theory import policy
from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative


def _settling(case: vf.Instance) -> vf.Instance:
    """The instance with one rewarded action and time enough to settle on it."""
    return {**case, "reward": [1.0] + [0.0] * (np.asarray(case["reward"]).size - 1), "time": 12.0}


_any_reward = vf.bandit_instances(
    vf.Scalar(name="time", low=1.0, high=40.0, grid=(12,), range=vf.POSITIVE),
    vf.Scalar(name="extra", low=1.0, high=80.0, grid=(28,), range=vf.POSITIVE),
    actions=(2, 5), correct=False, vectors=(vf.GRADED_REWARD,),
)
def _after(i: vf.Cases, time: ar.Reals) -> ar.Reals:
    """Logits of the natural policy gradient after a total step size ``time``."""
    return i.logits + ar.per_action(time) * i.reward


def _mean_reward(i: vf.Cases, logits: ar.Reals) -> ar.Reals:
    return ar.mean(ar.softmax(logits), i.reward)


def _later_gain(i: vf.Cases) -> ar.Reals:
    """1/10 minus what performance gains between ``time`` and ``time + extra``."""
    later = _mean_reward(i, _after(i, i.time + i.extra))
    return ar.constant(1, like=i.logits) / 10 - (later - _mean_reward(i, _after(i, i.time)))


@vf.definition
def natural_rate(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """dR/dt under the natural policy gradient: Var(r)."""
    return ar.covariance(ar.softmax(logits), reward, reward)


@vf.definition
def plain_rate(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """dR/dt under the policy gradient: E[pi (r - R)^2]."""
    p = ar.softmax(logits)
    return ar.mean(p, p * ar.centered(p, reward) * ar.centered(p, reward))


def _variance(i: vf.Cases) -> ar.Reals:
    return natural_rate(i.logits, i.reward)


def _speeds(i: Any) -> tuple[vf.Term, ...]:
    """Both rates are derivatives of the performance, and the policy gradient is at most as fast."""
    p = ar.softmax(i.logits)
    natural = ar.centered(p, i.reward)

    def performance(direction: vf.Term) -> Callable[[vf.Term], vf.Term]:
        return lambda t: ar.mean(
            ar.softmax(i.logits + ar.per_action(t) * direction), i.reward)

    return (
        has_derivative(performance(natural), 0, natural_rate(i.logits, i.reward)),
        has_derivative(performance(p * natural), 0, plain_rate(i.logits, i.reward)),
        plain_rate(i.logits, i.reward) <= natural_rate(i.logits, i.reward),
    )


# ------------------------------------------------------------------ experiments


def policy_gradient_run() -> tuple[np.ndarray, np.ndarray]:
    """(H, R) along 3,000 exact steps of size 2, weights (1, 60, 60), rewards (1, 1/2, 0)."""
    logits, reward = np.log([1.0, 60.0, 60.0]), np.array([1.0, 0.5, 0.0])
    history = []
    for _ in range(3000):
        probabilities = policy.softmax(logits)
        mean = probabilities @ reward
        history.append((policy.entropy(logits), mean))
        logits = logits + 2.0 * probabilities * (reward - mean)
    entropy, performance = np.array(history).T
    return entropy, performance


def mixture_run() -> tuple[np.ndarray, np.ndarray]:
    """(H, R), means over 100 prompts of four actions, one right, under the natural policy gradient.

    Half start uniform; half start settled on a wrong action, the right one's log-odds from -9 to -30.
    """
    hard = np.zeros((50, 4))
    hard[:, 0], hard[:, 2:] = -np.linspace(9, 30, 50), -30.0
    logits = np.concatenate([np.zeros((50, 4)), hard])
    times = np.linspace(0, 40, 401)[:, None, None]
    path = logits + times * np.array([1.0, 0.0, 0.0, 0.0])
    return policy.entropy(path).mean(axis=-1), policy.softmax(path)[..., 0].mean(axis=-1)


def _policy_gradient() -> tuple[bool, str]:
    entropy, performance = policy_gradient_run()
    low = int(np.argmax(np.diff(entropy) > 0))
    shown = entropy[0] > 0.5 and entropy[low] < 0.05 and performance[-1] - performance[low] > 0.45
    return shown, (f"H {entropy[0]:.3f} -> {entropy[low]:.3f} at step {low} with R = "
                   f"{performance[low]:.3f}, then R = {performance[-1]:.4f}")


def _mixture() -> tuple[bool, str]:
    entropy, performance = mixture_run()
    low = int(np.argmax(entropy < 0.05))
    after = entropy[low:].max()
    shown = entropy[0] > 0.6 and after < 0.08 and performance[-1] - performance[low] > 0.5
    return shown, (f"from H = {entropy[low]:.3f}, R = {performance[low]:.3f} on to R = "
                   f"{performance[-1]:.3f}, H never above {after:.3f}")


_had_entropy = vf.Condition(
    latex=r"$\mathcal H_0 \ge 1/2$", relation=">=",
    value=lambda i: ar.entropy(i.logits) - ar.constant(1, like=i.logits) / 2)
_is_used_up = vf.Condition(
    latex=r"$\mathcal H_t \le 1/20$", relation=">=",
    value=lambda i: ar.constant(1, like=i.logits) / 20 - ar.entropy(_after(i, i.time)))

performance_after_collapse = vf.Claim(
    id="entropy-mechanism.performance-after-collapse",
    source="Review of Entropy Mechanism, 'What would settle it'",
    reading=vf.Reading(
        "inferred",
        "A training run in which performance continues to rise substantially after entropy has fallen "
        "near zero", "a review of the paper, 'What would settle it': no sentence of the paper"),
    title="Performance stops rising once entropy is near zero",
    scope="one tabular state, graded rewards, exact natural policy gradient, a run in continuous time",
    statement=vf.Statement(
        latex=r"If entropy has fallen from $\mathcal H_0 \ge 1/2$ to $\mathcal H_t \le 1/20$, "
              r"performance rises no further: $R_s \le R_t + 1/10$ for $s > t$ (exact natural policy "
              r"gradient).",
        margin=_later_gain,
        conditions=(_had_entropy, _is_used_up),
    ),
    repair=vf.Statement(
        latex=r"For rewards in $[0,1]$, performance rises at most at the rate $\mathcal H/(4\log 2)$, "
              r"under the natural policy gradient ($dR/dt = \mathrm{Var}_\pi(r)$) and under the policy "
              r"gradient.",
        # H - 4 log 2 Var(r).
        margin=lambda i: ar.entropy(i.logits) - 4 * ar.log_of(2, like=i.logits) * _variance(i),
        beyond=_speeds,
    ),
    repair_note="low entropy limits the speed of further progress, not its extent",
    instances=dataclasses.replace(
        _any_reward, strategy=st.one_of(_any_reward.strategy, _any_reward.strategy.map(_settling))),
    witnesses=(
        {"weights": [1, 10**5, 10**5], "reward": [1, 0.5, 0], "time": 12, "extra": 28},
        {"weights": [1, 1], "reward": [1, 0], "time": 12, "extra": 28},
    ),
    experiments=(
        vf.experiment("policy gradient", "in 3,000 exact steps from weights (1, 60, 60) with rewards "
                      "(1, 1/2, 0), entropy falls below 0.05, then performance rises by more "
                      "than 0.45",
                      _policy_gradient),
        vf.experiment("0/1 rewards, 100 prompts", "half the prompts start settled on a wrong answer: "
                      "mean performance rises by more than 0.5 while mean "
                      "entropy stays below 0.08", _mixture),
    ),
    mutants=(
        vf.mutant("a speed limit of second order, Var(r) <= H^2",
                  margin=lambda i: ar.entropy(i.logits) * ar.entropy(i.logits) - _variance(i)),
    ),
)
