"""The hypotheses about a run, one function each: what in its log is for them and against them.

Each returns a `Finding`, or None where the log has nothing to judge it by. Numbers at which a hypothesis
begins to be likely, and is sure, stand in the calls of `ramp`: they were set on the tuning half of
`benchmarks/diagnosis` and on no other run.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from diagnosis.facts import Episode, Facts, Move
from diagnosis.findings import Finding, Name
from entropy_theory.training_logs.names import Quantity

FEWEST_STEPS = 16
"""The fewest steps that a run is judged on."""


def ramp(value: float, unlikely: float, sure: float) -> float:
    """Return a confidence: 0 up to one value, 1 from another on, linear between."""
    if not math.isfinite(value):
        return 0.0
    return float(np.clip((value - unlikely) / (sure - unlikely), 0, 1))


def _move(facts: Facts, quantity: Quantity, episode: Episode, noun: str, percent: bool = False) -> str:
    """Put a move into words: "length 217 -> 606"."""
    found = facts.move(quantity, episode.begin)
    if found is None:
        return f"{noun} is not logged"
    first, last = (f"{100 * one:.3g} %" if percent else f"{one:.3g}" for one in (found.first, found.last))
    steady = "" if found.direction else " (no change beyond noise)"
    return f"{noun} {first} -> {last}{steady}"


def _gains(facts: Facts, episode: Episode) -> list[str]:
    return [_move(facts, quantity, episode, noun)
            for quantity, noun in (("reward", "training reward"), ("score", "held-out score"))
            if quantity in facts]


def _made(name: Name, confidence: float, episode: Episode | None, *evidence: str,
          against: tuple[str, ...] = ()) -> Finding:
    known = None if episode is None else (episode.begin, episode.low, episode.high)
    begin, low, high = known or (None, None, None)
    return Finding(name, round(confidence, 2), begin, low, high, evidence, against)


def _since(episode: Episode, facts: Facts) -> str:
    return "over the whole run" if episode.is_whole else f"from step {episode.begin:g} on"


# ---------------------------------------------------------------- entropy


def _fall(facts: Facts, episode: Episode) -> tuple[Move, float] | None:
    """Return how entropy falls, and the share of all its fall that this is; None where it does not."""
    found = facts.move("entropy", episode.begin)
    if found is None or found.direction >= 0 or found.last < 0:
        return None
    highest = max(one.first for other in facts.episodes()
                  if (one := facts.move("entropy", other.begin)) is not None)
    return found, (found.first - found.last) / max(highest - found.last, 1e-12)


def _grown(facts: Facts, episode: Episode) -> tuple[float, float]:
    """Return by which ratio length changes, and entropy per response; 1 and 0 where unknown."""
    length, product = (facts.move(quantity, episode.begin) for quantity in ("length", "entropy_sum"))
    return length.ratio if length else 1.0, product.ratio if length and product else 0.0


def collapse(facts: Facts) -> Finding | None:
    """Entropy falls, per token and per response, and neither reward nor held-out score rises."""
    def judge(episode: Episode) -> float:
        if (fall := _fall(facts, episode)) is None or facts.gain(episode.begin) in (1, None):
            return 0.0
        found, share = fall
        length, product = _grown(facts, episode)
        diluted = ramp(length, 1.1, 1.4) * ramp(product, 0.6, 0.9)
        return (ramp(-math.log(max(found.ratio, 1e-9)), math.log(1.4), math.log(3))
                * ramp(share, 0.15, 0.5) * (1 - diluted))

    confidence, episode = facts.best(judge)
    if episode is None or not confidence:
        return None
    return _made(
        "collapse", confidence, episode,
        f"{_since(episode, facts)} {_move(facts, 'entropy', episode, 'entropy')} nats per token without gain",
        *_gains(facts, episode))


def dilution(facts: Facts) -> Finding | None:
    """Entropy per token falls while responses grow, and entropy per response does not fall."""
    def judge(episode: Episode) -> float:
        if (fall := _fall(facts, episode)) is None:
            return 0.0
        length, product = _grown(facts, episode)
        return (ramp(-math.log(max(fall[0].ratio, 1e-9)), math.log(1.1), math.log(1.4))
                * ramp(length, 1.15, 1.5) * ramp(product, 0.75, 0.95))

    confidence, episode = facts.best(judge)
    if episode is None or not confidence:
        return None
    return _made(
        "dilution", confidence, episode,
        f"{_since(episode, facts)} {_move(facts, 'entropy', episode, 'entropy')} nats per token, but "
        f"{_move(facts, 'entropy_sum', episode, 'entropy per response')} nats: responses are longer, not "
        "more certain",
        _move(facts, "length", episode, "length") + " tokens")


def explosion(facts: Facts) -> Finding | None:
    """Entropy grows, and neither reward nor held-out score does."""
    def judge(episode: Episode) -> float:
        found = facts.move("entropy", episode.begin)
        if found is None or found.direction <= 0 or facts.gain(episode.begin) in (1, None):
            return 0.0
        return ramp(found.ratio, 1.2, 1.8) * ramp(found.change, 0.01, 0.05)

    confidence, episode = facts.best(judge)
    if episode is None or not confidence:
        return None
    return _made(
        "explosion", confidence, episode,
        f"{_since(episode, facts)} {_move(facts, 'entropy', episode, 'entropy')} nats per token without gain",
        *_gains(facts, episode))


def converging(facts: Facts) -> Finding | None:
    """Training gains."""
    whole = next(facts.episodes(), None)
    if whole is None or facts.gain(whole.begin) != 1:
        return None
    score = facts.move("score", whole.begin)
    against = () if score is None or score.direction > 0 else (
        _move(facts, "score", whole, "held-out score"),)
    return _made(
        "converging", 0.6 if against else 0.9, whole,
        f"over the whole run {', '.join(_gains(facts, whole))}",
        *([_move(facts, "entropy", whole, "entropy") + " nats per token"] if "entropy" in facts else []),
        against=against)


# ---------------------------------------------------------------- responses


def truncation(facts: Facts) -> Finding | None:
    """A large share of responses is cut at the length limit."""
    if "truncated" not in facts:
        return None
    end = facts.end("truncated")
    confidence = ramp(end, 0.08, 0.25)
    if not confidence:
        return None
    begin = next((one for one in reversed([*facts.episodes()])
                  if one.is_whole or facts.move("truncated", one.begin).first < end / 2), None)  # type: ignore[union-attr]
    if begin is None:
        return None
    return _made(
        "truncation", confidence, begin,
        f"{_since(begin, facts)} {_move(facts, 'truncated', begin, 'responses cut at the limit', True)}",
        *([_move(facts, "length", begin, "length") + " tokens"] if "length" in facts else []),
        *_gains(facts, begin))


def length_drift(facts: Facts) -> Finding | None:
    """Responses grow or shrink by a factor."""
    def judge(episode: Episode) -> float:
        found = facts.move("length", episode.begin)
        if found is None or not found.direction:
            return 0.0
        gained = facts.gain(episode.begin) == 1
        return ramp(abs(math.log(found.ratio)), *(
            (math.log(1.8), math.log(3)) if gained else (math.log(1.25), math.log(1.7))))

    confidence, episode = facts.best(judge)
    if episode is None or not confidence:
        return None
    return _made(
        "length drift", confidence, episode,
        f"{_since(episode, facts)} {_move(facts, 'length', episode, 'length')} tokens",
        *_gains(facts, episode))


# ---------------------------------------------------------------- signal


def no_signal(facts: Facts) -> Finding | None:
    """Most groups have equal rewards, so that they give no gradient."""
    shares = {
        "zero_variance": facts.late("zero_variance"),
        "all_right": facts.late("all_right") + facts.late("all_wrong"),
        "mixed_groups": 1 - facts.late("mixed_groups"),
    }
    share = next((one for one in shares.values() if math.isfinite(one)), math.nan)
    gradient = facts.value("gradient_norm")
    still = float(np.mean(gradient[len(gradient) // 2:] == 0)) if len(gradient) else math.nan
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
    return _made("no signal", confidence, None, *said)


def nothing_learned(facts: Facts) -> Finding | None:
    """Neither reward nor held-out score has a trend, and there is enough to have seen one."""
    whole = next(facts.episodes(), None)
    main = facts.move("reward" if "reward" in facts else "score", whole.begin) if whole else None
    if whole is None or main is None or facts.gain(whole.begin) != 0:
        return None
    if any(facts.gain(one.begin) != 0 for one in facts.episodes()):
        return None
    quantity: Quantity = "reward" if "reward" in facts else "score"
    spread, time = facts.noise(quantity)
    value = facts.value(quantity)
    seen = 6 * spread * math.sqrt(time / len(value))  # a slope over the run is known to sqrt(12) of this
    scale = max(float(np.quantile(np.abs(value), 0.9)), 1e-9)
    confidence = 1 - ramp(seen / scale, 0.15, 0.5)
    return _made(
        "nothing learned", confidence, None, *_gains(facts, whole),
        f"a change by {seen:.2g} would have been seen in {len(value)} values",
        *([_move(facts, "entropy", whole, "entropy") + " nats per token"] if "entropy" in facts else []))


def held_out_apart(facts: Facts) -> Finding | None:
    """Training reward rises and the held-out score does not, from some step on."""
    if "score" not in facts or "reward" not in facts:
        return None

    shares = all(0 <= facts.value(one).min() and facts.value(one).max() <= 1 for one in ("reward", "score"))
    steps = facts.series["score"].step
    steps = steps[: max(0, len(steps) - max(6, len(steps) // 4))]

    def judge(begin: float) -> float:
        reward, score = facts.move("reward", begin), facts.move("score", begin)
        if reward is None or score is None or reward.direction <= 0 or (score.direction > 0 and not shares):
            return 0.0
        arrives = (score.change + 1.5 * score.error) / reward.change if shares else 0.0
        return (ramp(reward.change / max(abs(reward.last), 1e-9), 0.03, 0.08)
                * (1 - ramp(arrives, 0.2, 0.4)) * (0.8 if score.direction > 0 else 1.0))

    judged = np.array([judge(step) for step in steps])
    if len(judged) < 3:
        return None
    middle = np.median(np.stack([judged[:-2], judged[1:-1], judged[2:]]), axis=0)  # no single lucky step
    near = 1 + np.flatnonzero(middle >= middle.max() - 0.05)
    if not middle.max():
        return None
    begin = float(steps[near[0]])
    episode = Episode(begin, begin, float(steps[near[-1]]), False)
    return _made(
        "held-out apart", float(middle.max()), episode,
        f"{_since(episode, facts)} {_move(facts, 'reward', episode, 'training reward')}, while "
        f"{_move(facts, 'score', episode, 'held-out score')}")


# ---------------------------------------------------------------- the step


def clipping(facts: Facts) -> Finding | None:
    """The clip stops many tokens, or those of one side alone."""
    low, high, both = (facts.late(name) for name in ("clipped_low", "clipped_high", "clipped"))
    share = max((one for one in (both, low, high) if math.isfinite(one)), default=math.nan)
    if not math.isfinite(share):
        return None
    sides = math.isfinite(low) and math.isfinite(high)
    lopsided = max(low, high) / max(min(low, high), 1e-4) if sides else 1.0
    confidence = max(ramp(share, 0.05, 0.2), ramp(share, 0.005, 0.03) * ramp(lopsided, 3, 8))
    if not confidence:
        return None
    side = "" if not sides or lopsided < 2 else (
        "; mostly the upper clip, which holds unlikely tokens down" if high > low else
        "; mostly the lower clip, which keeps unlikely tokens alive")
    return _made(
        "clipping", confidence, None, f"the clip stops {100 * share:.2g} % of tokens{side}",
        *([f"lower clip {100 * low:.2g} %, upper clip {100 * high:.2g} %"] if sides else []))


def kl(facts: Facts) -> Finding | None:
    """The KL penalty makes up the loss, and the policy stays where it was."""
    if "kl_reference" not in facts or "loss" not in facts:
        return None
    divergence, loss = facts.series["kl_reference"], facts.series["loss"]
    _, i, j = np.intersect1d(divergence.step, loss.step, return_indices=True)
    x, y = divergence.value[i], loss.value[j]
    if len(x) < FEWEST_STEPS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    slope, offset = np.polyfit(x, y, 1)
    share = float(np.corrcoef(x, y)[0, 1]) ** 2 if slope > 0 else 0.0
    confidence = ramp(share, 0.2, 0.5) * ramp(float(slope), 0.05, 0.2)
    if not confidence:
        return None
    return _made(
        "kl", confidence, None,
        f"{100 * share:.0f} % of the loss's variance is the KL penalty, with a coefficient of about "
        f"{slope:.2g}", f"KL to the reference is {facts.end('kl_reference'):.2g} nats at the end")


MISMATCH: tuple[tuple[str, float, float], ...] = (
    ("kl", 0.01, 0.05), ("prob", 0.008, 0.02), ("", 0.04, 0.12))
"""Words in the column's name, and from where a mismatch is likely and sure: a KL, probabilities, their
logarithms."""


def mismatch(facts: Facts) -> Finding | None:
    """Sampler and trainer give the same tokens other probabilities."""
    if "mismatch" not in facts:
        return None
    column = facts.series["mismatch"].column
    low, high = next((low, high) for word, low, high in MISMATCH
                     if word in column.lower().replace("logprob", "").replace("log_prob", ""))
    level = max(facts.end("mismatch"), facts.late("mismatch"))
    confidence = ramp(level, low, high)
    if not confidence:
        return None
    whole = next(facts.episodes())
    return _made(
        "mismatch", confidence, None, f"sampler and trainer are apart: {column} is {level:.2g}",
        _move(facts, "mismatch", whole, "over the run"))


def schedule(facts: Facts) -> Finding | None:
    """Reward that was gained is lost again, or the curves stand still where the learning rate is 0."""
    reward = facts.series.get("reward")
    if reward is None or len(reward.value) < FEWEST_STEPS:
        return None
    levels = [(one, found.first) for one in facts.episodes()
              if (found := facts.move("reward", one.begin)) is not None]
    end = facts.end("reward")
    spread, time = facts.noise("reward")
    best = max(levels, key=lambda one: one[1], default=None)
    if best is None:
        return None
    episode, top = best
    lost = top - end
    start = levels[0][1]
    beyond = lost / max(spread * math.sqrt(min(1.0, 2 * time / 10)), 1e-9)
    confidence = ramp(lost / max(top - min(start, end), 1e-9), 0.25, 0.6) * ramp(beyond, 2, 5)
    confidence *= ramp(lost / max(abs(top), 1e-9), 0.1, 0.25)
    if not confidence:
        return None
    return _made(
        "schedule", confidence, episode,
        f"from step {episode.begin:g} on training reward {top:.3g} -> {end:.3g}: steps are too large",
        *([_move(facts, "gradient_norm", episode, "norm of the gradient")] if "gradient_norm" in facts
          else []))


# ---------------------------------------------------------------- the log itself


def prompt_order(facts: Facts) -> Finding | None:
    """The curve is that of other runs on the same prompts, or repeats itself after each pass over them."""
    quantity: Quantity = "reward" if "reward" in facts else "entropy"
    if quantity not in facts or len(facts.value(quantity)) < 3 * FEWEST_STEPS:
        return None
    rest = _fluctuation(facts.value(quantity))
    n = len(rest)
    for other in facts.others:
        shared = other.series.get(quantity)
        if shared is None:
            continue
        _, i, j = np.intersect1d(facts.series[quantity].step, shared.step, return_indices=True)
        if len(i) < FEWEST_STEPS:
            continue
        r = float(np.corrcoef(rest[i], _fluctuation(shared.value)[j])[0, 1])
        if confidence := ramp(r * math.sqrt(len(i)), 4, 7) * ramp(r, 0.2, 0.5):
            return _made(
                "prompt order", confidence, None,
                f"about its trend, the {quantity} goes with that of {other.path} {other.name}".rstrip()
                + f" (correlation {r:.2f} over {len(i)} steps): part of the curve is which prompts were "
                "drawn")
    power = float(rest @ rest)
    lags = np.arange(1, n // 2)
    if power <= 0:
        return None
    correlation = np.array([float(rest[lag:] @ rest[:-lag]) / power * n / (n - lag) for lag in lags])
    # A curve that is only smooth has its low between 0 and the lag as high as the lag itself.
    again = np.array([correlation[i] - max(0.0, float(np.median(correlation[i // 4: 3 * i // 4])))
                      for i in range(4, len(lags))])
    lag, r = int(np.argmax(again)) + 5, float(again.max())
    # The greatest of as many correlations of noise is about sqrt(2 log N / (n - lag)).
    chance = math.sqrt(2 * math.log(len(lags)) / (n - lag))
    confidence = ramp(r / chance, 1.2, 1.8) * ramp(r, 0.25, 0.5)
    if not confidence:
        return None
    return _made(
        "prompt order", confidence, None,
        f"the {quantity} repeats itself every {lag} steps (correlation {r:.2f}; by chance up to "
        f"{chance:.2f}): part of the curve is which prompts were drawn")


def _fluctuation(value: np.ndarray) -> np.ndarray:
    """Return values about their smooth trend, with single spikes cut."""
    n = len(value)
    time = np.log1p(np.arange(n))  # most curves turn early
    smooth = np.polynomial.Legendre.fit(time, value, min(7, n // 10))(time)
    rest = value - smooth
    scale = 1.4826 * float(np.median(np.abs(rest)))
    return np.asarray(np.clip(rest - rest.mean(), -4 * scale, 4 * scale))


def restart(facts: Facts) -> Finding | None:
    """The run went back to an earlier step."""
    if not facts.run.restarts:
        return None
    back = ", ".join(f"{step:g}" for step in facts.run.restarts[:5])
    first = facts.run.restarts[0]
    return _made("restart", 1.0, Episode(first, first, first, False),
                 f"the run went back to step {back}: what was logged from there on before is left out")


def not_enough(facts: Facts) -> Finding | None:
    """Too little was logged to tell anything."""
    steps = len(facts.steps)
    known = [name for name in ("entropy", "reward", "score") if name in facts]
    if steps >= FEWEST_STEPS and known:
        return None
    said = f"{steps} steps, of which fewer than {FEWEST_STEPS} tell nothing" if known else (
        "neither entropy nor reward nor held-out score is in the log")
    return _made("not enough", 1.0, None, said)


Hypothesis = Callable[[Facts], Finding | None]
HYPOTHESES: tuple[tuple[Name, Hypothesis, float], ...] = (
    ("truncation", truncation, 1.0), ("explosion", explosion, 0.95), ("collapse", collapse, 0.95),
    ("nothing learned", nothing_learned, 0.9), ("no signal", no_signal, 0.85),
    ("mismatch", mismatch, 0.85), ("schedule", schedule, 0.8), ("kl", kl, 0.8),
    ("length drift", length_drift, 0.8), ("held-out apart", held_out_apart, 0.8),
    ("dilution", dilution, 0.75), ("clipping", clipping, 0.75), ("prompt order", prompt_order, 0.7),
    ("converging", converging, 0.3), ("restart", restart, 0.2),
)
"""Each finding's hypothesis, and how grave it is: findings are ranked by gravity times confidence."""
