"""Hypotheses about responses: cut at the length limit, or longer and shorter."""

from __future__ import annotations

import math

from diagnosis.facts import Episode, Facts, Move
from diagnosis.findings import Finding
from diagnosis.hypotheses.judging import gains, made, moved, ramp, since


def truncation(facts: Facts) -> Finding | None:
    """A large share of responses is cut at the length limit."""
    if "truncated" not in facts:
        return None
    end = facts.end("truncated")
    confidence = ramp(end, 0.08, 0.25)
    if not confidence:
        return None
    moves = [(one, facts.move("truncated", one.begin)) for one in facts.episodes()]
    episode = next((one for one, move in reversed(moves) if move is not None and move.first < end / 2),
                   moves[0][0])
    begin = facts.onset("truncated", episode)
    return made(
        "truncation", confidence, begin,
        f"{since(begin)} {moved(facts, 'truncated', episode, 'the share cut at the limit', '%')}",
        *([moved(facts, "length", episode, "length", "tokens")] if "length" in facts else []),
        *gains(facts, episode, rising=False))


def length_drift(facts: Facts) -> Finding | None:
    """Responses grow or shrink by a factor."""
    def judge(episode: Episode) -> tuple[float, float]:
        found = facts.move("length", episode.begin)
        if found is None or not found.direction:
            return 0.0, 0.0
        into_limit = "truncated" in facts and facts.end("truncated") > 0.2 and found.change > 0
        score = facts.move("score", episode.begin)
        # Training reward may pay for length itself; a held-out score seldom does, nor is less ever paid.
        low, high = ((1.8, 3.0) if score is not None and score.direction > 0 else
                     (1.25, 1.7) if facts.gain(episode.begin) != 1 else
                     (1.4, 1.95) if found.change > 0 else (1.5, 2.2))
        size, hidden = abs(math.log(found.ratio)), 0.0
        if into_limit:
            low, high = 1.25, 1.7
            hidden = ramp(size, math.log(1.15), math.log(1.35)) * ramp(
                _uncut(facts, found, episode), math.log(4), math.log(10))
        return max(hidden, ramp(size, math.log(low), math.log(high))), size

    confidence, episode = facts.best(judge)
    if episode is None or not confidence:
        return None
    begin = facts.onset("length", episode)
    return made(
        "length drift", confidence, begin,
        f"{since(begin)} {moved(facts, 'length', episode, 'length', 'tokens')}",
        *gains(facts, episode, rising=False))


def _uncut(facts: Facts, length: Move, episode: Episode) -> float:
    """Return the logarithm of how much longer responses would be without the limit that cuts them.

    Responses are taken to end at each token with one probability. All tokens over the number of responses
    that end is then the best estimate of the expected length (maximum likelihood under censoring).
    """
    cut = facts.move("truncated", episode.begin)
    if cut is None:
        return 0.0
    first, last = (max(1 - share, 0.02) for share in (cut.first, cut.last))
    return math.log(length.ratio * first / last)
