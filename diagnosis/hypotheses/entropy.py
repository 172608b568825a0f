"""Hypotheses about entropy: collapse, dilution, explosion, or the fall by which training succeeds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from diagnosis.facts import Episode, Facts, Move
from diagnosis.findings import Finding, short
from diagnosis.hypotheses.judging import gains, made, moved, ramp, since
from entropy_theory.training_logs.names import Quantity


def _fall(facts: Facts, episode: Episode) -> tuple[Move, float] | None:
    """Return how entropy falls, and the share of all its fall that this is; None where it does not."""
    found = facts.move("entropy", episode.begin)
    if found is None or found.direction >= 0 or found.last < 0:
        return None
    highest = max(one.first for one in _moves(facts))
    return found, (found.first - found.last) / max(highest - found.last, 1e-12)


def _moves(facts: Facts) -> list[Move]:
    """Return the changes of entropy from each turn on to the end."""
    found = (facts.move("entropy", one.begin) for one in facts.episodes())
    return [one for one in found if one is not None]


def _grown(facts: Facts, episode: Episode) -> tuple[float, float]:
    """Return by which ratio length changes, and entropy per response; 1 and 0 where unknown."""
    length, product = (facts.move(quantity, episode.begin) for quantity in ("length", "entropy_sum"))
    return length.ratio if length else 1.0, product.ratio if length and product else 0.0


def collapse(facts: Facts) -> Finding | None:
    """Entropy falls, per token and per response, and neither reward nor held-out score rises."""
    def judge(episode: Episode) -> tuple[float, float]:
        if (fall := _fall(facts, episode)) is None or facts.gain(episode.begin) in (1, None):
            return 0.0, 0.0
        found, share = fall
        length, product = _grown(facts, episode)
        diluted = ramp(length, 1.1, 1.4) * ramp(product, 0.6, 0.9)
        return (ramp(-math.log(max(found.ratio, 1e-9)), math.log(1.4), math.log(3))
                * ramp(share, 0.15, 0.5) * (1 - diluted), -found.change)

    confidence, episode = facts.best(judge)
    if episode is None or not confidence:
        return None
    begin = facts.onset("entropy", episode)
    return made(
        "collapse", confidence, begin,
        f"{since(begin)} {moved(facts, 'entropy', episode, 'entropy', 'nats per token')}, without "
        "gain",
        *gains(facts, episode))


MOST_OF_FALL = 0.5
"""A share of the run's fall of entropy below which most of the fall came before an episode."""


def dilution(facts: Facts) -> Finding | None:
    """Entropy per token falls while responses grow, and entropy per response does not fall."""
    def judge(episode: Episode) -> tuple[float, float]:
        if (fall := _fall(facts, episode)) is None:
            return 0.0, 0.0
        length, product = _grown(facts, episode)
        return (ramp(-math.log(max(fall[0].ratio, 1e-9)), math.log(1.1), math.log(1.4))
                * ramp(length, 1.15, 1.5) * ramp(product, 0.75, 0.95), length)

    confidence, episode = facts.best(judge)
    if episode is None or not confidence:
        return None
    begin, fall = facts.onset("length", episode), _fall(facts, episode)
    highest = max(_moves(facts), key=lambda one: one.first)
    before = fall is not None and fall[1] < MOST_OF_FALL
    return made(
        "dilution", confidence, begin,
        f"{since(begin)} {moved(facts, 'entropy', episode, 'entropy', 'nats per token')}, but "
        f"{moved(facts, 'entropy_sum', episode, 'entropy per response', 'nats')}: responses are longer, "
        "not more certain",
        moved(facts, "length", episode, "length", "tokens"),
        against=(f"most of the fall came before, from {short(highest.first)} nats per token: length does "
                 "not explain that",) if before else ())


def explosion(facts: Facts) -> Finding | None:
    """Entropy grows, and neither reward nor held-out score does."""
    def judge(episode: Episode) -> tuple[float, float]:
        found = facts.move("entropy", episode.begin)
        if found is None or found.direction <= 0 or facts.gain(episode.begin) in (1, None):
            return 0.0, 0.0
        highest = max(one.first for one in _moves(facts))
        share = found.change / max(highest - found.first, found.change)
        return (ramp(found.ratio, 1.1, 1.35) * ramp(found.change, 0.01, 0.05)
                * ramp(share, 0.3, 0.7), found.change)

    confidence, episode = facts.best(judge)
    if episode is None or not confidence:
        return None
    begin = facts.onset("entropy", episode)
    return made(
        "explosion", confidence, begin,
        f"{since(begin)} {moved(facts, 'entropy', episode, 'entropy', 'nats per token')}, without "
        "gain",
        *gains(facts, episode))


STILL: tuple[tuple[Quantity, str, float], ...] = (
    ("clipped", "share of clipped tokens", 1e-3), ("clipped_low", "share clipped below", 1e-3),
    ("clipped_high", "share clipped above", 1e-3), ("kl_step", "KL of a step", 1e-3))
"""Quantities that show clips and off-policy steps to move nothing, with the largest mean that does."""


def growth(facts: Facts) -> Finding | None:
    """Entropy grows once what there was to gain is gained, and neither a clip nor old samples do it."""
    found, whole = explosion(facts), next(facts.episodes(), None)
    if found is None or whole is None or found.begin is None or facts.gain(whole.begin) != 1:
        return None
    later = {noun: (series.value[series.step >= found.begin], most) for quantity, noun, most in STILL
             if (series := facts.series.get(quantity)) is not None}
    means = {noun: (float(np.abs(value).mean()), most) for noun, (value, most) in later.items()
             if len(value)}
    if facts.gain(found.begin) != 0 or not means or any(mean > most for mean, most in means.values()):
        return None
    still = ", ".join(f"{noun} {short(mean)}" for noun, (mean, _) in means.items())
    return replace(found, name="growth", evidence=(
        found.evidence[0].replace(", without gain", ", after the gain"), *found.evidence[1:],
        f"over the whole run {', '.join(gains(facts, whole, rising=True))}",
        f"{still} since: no clip does it", f"what may: {'; '.join(_causes(facts))}"))


def _causes(facts: Facts) -> list[str]:
    """Return possible causes of a rise where reward is flat, the likeliest first, with their numbers."""
    bonus, mismatch = facts.late("entropy_coefficient"), facts.late("mismatch")
    share, _ = facts.equal_groups()
    equal = f" ({100 * share:.0f} % of groups are equal)" if math.isfinite(share) else ""
    logged = "is not logged" if math.isnan(bonus) else f"is {short(bonus)}"
    sampler = "not logged" if math.isnan(mismatch) else f"{short(mismatch)} apart from the trainer"
    found = [f"an entropy bonus, which Adam gives whole steps once groups are equal{equal}: its "
             f"coefficient {logged}"] if bonus != 0 else []
    return [*found, "noise of steps without signal, where the policy is peaked",
            f"a sampler that is hotter than the policy: {sampler}"]


def converging(facts: Facts) -> Finding | None:
    """Training gains."""
    whole = next(facts.episodes(), None)
    if whole is None or facts.gain(whole.begin) != 1:
        return None
    score = facts.move("score", whole.begin)
    against = () if score is None or score.direction > 0 else (
        moved(facts, "score", whole, "held-out score"),)
    return made(
        "converging", 0.6 if against else 0.9, whole,
        f"over the whole run {', '.join(gains(facts, whole))}",
        *([moved(facts, "entropy", whole, "entropy", "nats per token")] if "entropy" in facts else []),
        against=against)
