"""Hypotheses about learning: rewards, their groups, and held-out scores."""

from __future__ import annotations

import math

import numpy as np

from diagnosis.facts import Episode, Facts
from diagnosis.findings import Finding
from diagnosis.hypotheses.judging import FEWEST_STEPS, gains, made, moved, ramp, since
from entropy_theory.performance_law.trend import window
from entropy_theory.training_logs.names import Quantity

MOST_BEGINS = 24
"""The most steps from which a gap between training and held-out is looked for: closer early, when more
happens."""
UNSURE = 1.5
"""Standard errors by which a gain may be smaller than it seems, and its arriving part larger."""

def no_signal(facts: Facts) -> Finding | None:
    """Most groups have equal rewards, so that they give no gradient."""
    share, still = facts.equal_groups()
    confidence = max(ramp(share, 0.5, 0.85), ramp(still, 0.3, 0.8))
    if not confidence:
        return None
    reward = facts.late("reward")
    said = []
    if math.isfinite(share):
        said.append(f"{100 * share:.0f} % of groups have equal rewards in the second half")
    if math.isfinite(still) and still > 0:
        said.append(f"{100 * still:.0f} % of these steps have no gradient at all")
    right, wrong = facts.late("all_right"), facts.late("all_wrong")
    if math.isfinite(right) and math.isfinite(wrong):
        said.append(f"all right: {100 * right:.0f} %, all wrong: {100 * wrong:.0f} %")
    elif math.isfinite(reward):
        said.append(f"mean reward {reward:.3g}")
    return made("no signal", confidence, None, *said)


def nothing_learned(facts: Facts) -> Finding | None:
    """Neither reward nor held-out score has a trend, and there is enough to have seen one."""
    whole = next(facts.episodes(), None)
    main = facts.move("reward" if "reward" in facts else "score", whole.begin) if whole else None
    if whole is None or main is None or facts.gain(whole.begin) != 0:
        return None
    if any(phase.trend[name].p < 0.002 for phase in facts.phases for name in ("reward", "score")
           if name in phase.trend):
        return None
    quantity: Quantity = "reward" if "reward" in facts else "score"
    value = facts.value(quantity)
    change, error = facts.line(quantity)
    scale = max(float(np.quantile(np.abs(value), 0.9)), 1e-9)
    confidence = 1 - ramp((abs(change) + 2 * error) / scale, 0.12, 0.35)
    return made(
        "nothing learned", confidence, None, *gains(facts, whole),
        f"along a line over {len(value)} values, {quantity} " + (
            f"moves by {change:+.2g} (error {error:.1g})" if np.ptp(value) else "does not move"),
        *([moved(facts, "entropy", whole, "entropy", "nats per token")] if "entropy" in facts else []),
        *([] if math.isfinite(facts.equal_groups()[0]) else [
            "the share of groups with equal rewards, which give no gradient, is not logged"]))


def held_out_apart(facts: Facts) -> Finding | None:
    """Training reward rises and the held-out score does not, from some step on, or falls all along."""
    if "score" not in facts or "reward" not in facts or len(facts.value("score")) < 6:
        return None
    confidence, episode = max((_opposed(facts), _behind(facts)), key=lambda one: one[0])
    if not confidence:
        return None
    reward, score = (facts.move(name, episode.begin) for name in ("reward", "score"))
    part = 100 * score.change / reward.change if score and reward and reward.change else math.nan
    return made(
        "held-out apart", confidence, episode,
        f"{since(episode)} {moved(facts, 'reward', episode, 'training reward')}, while "
        f"{moved(facts, 'score', episode, 'held-out score')}",
        against=(f"the held-out score rises, too, by {part:.0f} % of the gain in training",)
        if score and score.direction > 0 else ())


def _opposed(facts: Facts) -> tuple[float, Episode]:
    """Return how surely reward rises and score falls over the whole run, along lines or clearly."""
    (gain, gain_error), (loss, loss_error) = facts.line("reward"), facts.line("score")
    whole, rise = next(facts.episodes()), gain / max(gain_error, 1e-12)
    score = facts.move("score", whole.begin)
    if score is not None and score.direction < 0:
        return ramp(rise, 1, 2), whole
    return ramp(rise, 2.5, 4) * ramp(-loss / max(loss_error, 1e-12), 1.5, 3), whole


def _behind(facts: Facts) -> tuple[float, Episode]:
    """Return how surely the held-out score gains less than 30 to 50 % of a gain in training."""
    both = np.concatenate([facts.value("reward"), facts.value("score")])
    shares = both.min() >= 0 and both.max() <= 1
    steps = facts.series["score"].step
    last = max(len(steps) - max(4, len(steps) // 4), 1)
    steps = steps[np.unique(np.geomspace(1, last, MOST_BEGINS).astype(int)) - 1]

    def judge(begin: float) -> float:
        reward, score = facts.move("reward", begin), facts.move("score", begin)
        if reward is None or score is None or reward.direction <= 0:
            return 0.0
        if score.direction > 0 and not shares:
            return 0.0
        return apart(reward.change, reward.error, score.change, score.error, reward.last) * (
            0.8 if score.direction > 0 else 1.0)

    def apart(gain: float, gain_error: float, change: float, error: float, last: float) -> float:
        sure = gain - UNSURE * gain_error
        arrives = (change + UNSURE * error) / gain if shares and gain else 0.0
        return ramp(sure / max(abs(last), 1e-9), 0.04, 0.1) * (1 - ramp(arrives, 0.3, 0.5))

    judged, whole = np.array([judge(step) for step in steps]), next(facts.episodes())
    over_all = judge(whole.begin)
    if shares:  # lines use all values, where ends are a few noisy ones
        over_all = max(over_all, apart(*facts.line("reward"), *facts.line("score"), facts.end("reward")))
    if len(judged) < 3:
        return over_all, whole
    middle = np.median(np.stack([judged[:-2], judged[1:-1], judged[2:]]), axis=0)  # no single lucky step
    if middle.max() < min(over_all, 0.5):  # a likely gap that has a beginning tells more
        return over_all, whole
    near = 1 + np.flatnonzero(middle >= middle.max() - 0.05)
    begin = float(steps[near[0]])
    return float(middle.max()), Episode(begin, begin, float(steps[near[-1]]), False)


def schedule(facts: Facts) -> Finding | None:
    """Reward that was there is lost at once: the steps are too large, unless entropy only grows."""
    reward = facts.series.get("reward")
    if reward is None or len(reward.value) < FEWEST_STEPS:
        return None
    levels = [(found.first, episode, found) for episode in facts.episodes()
              if (found := facts.move("reward", episode.begin)) is not None]
    top, episode, found = max(levels, key=lambda one: one[0])
    if found.direction >= 0:
        return None
    lost = top - found.last
    # The standard deviation of normal noise, from its differences.
    spread = 1.0484 * float(np.median(np.abs(np.diff(reward.value))))
    taken = facts.duration("reward", episode)
    confidence = (ramp(lost / max(abs(top), 1e-9), 0.15, 0.35) * ramp(lost / max(spread, 1e-9), 2, 4)
                  * (1 - ramp(taken, 0.1, 0.3)) * (1 - 0.8 * _grows(facts) * ramp(taken, 0.03, 0.08)))
    begin = facts.onset("reward", episode)
    spikes = [moved(facts, "gradient_norm", episode, "norm of the gradient")]
    return made(
        "schedule", confidence, begin,
        f"{since(begin)} training reward falls from {top:.3g} to {found.last:.3g}",
        *(spikes if "gradient_norm" in facts else []))


def _grows(facts: Facts) -> float:
    """Return how surely entropy only grows, as under a bonus; steps that are too large also lower it."""
    entropy = facts.value("entropy")
    if not len(entropy):
        return 0.0
    width = window(len(entropy))
    levels = [float(np.median(part)) for part in np.array_split(entropy, max(1, len(entropy) // width))]
    start = max(levels[0], 1e-9)
    return ramp(levels[-1] / start, 1.3, 1.8) * ramp(min(levels) / start, 0.75, 0.9)
