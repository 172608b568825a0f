"""Trains on huge vocabularies at a cost that does not depend on their size.

Tokens with the same logit and the same reward are exchangeable. Whatever a rule makes of probabilities
and draws, tokens that are not drawn move alike and stay tied. So a *class* of tied tokens is one logit
with a count. A token that is drawn leaves its class and has a logit of its own from then on. A state of a
million tokens costs what its likely and its drawn tokens cost.

The steps are those of `engine.simulate` on samples, by the same coefficients (`pooled.coefficients`) and
the same uniforms (`sampling`). So a run whose classes are single tokens is the engine's run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from entropy_theory.policy import tied_entropy
from entropy_theory.update_rules import UpdateRule
from simulations.engine.block import diverged
from simulations.engine.pooled import Levels, Rows, coefficients
from simulations.engine.sampling import ORDINARY, Samples, batch_key, lanes, uniforms
from simulations.engine.traced.reads import pools

MOST_LEVELS = 3
"""The largest number of distinct rewards: rules are asked about every division of a group among them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TiedTokens:
    """The tokens of one state, in classes of equal logit and reward; all arrays [classes]."""

    logits: np.ndarray
    reward: np.ndarray
    counts: np.ndarray
    """The number of tokens in each class, as floats."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """The records of training a state, [records] each, and its last policy."""

    step: np.ndarray
    reward: np.ndarray
    """The expected reward."""
    entropy: np.ndarray
    """The entropy, nats."""
    final: TiedTokens


def tie(logits: np.ndarray, reward: np.ndarray, edges: np.ndarray) -> TiedTokens:
    """Tie the tokens from each edge to the next at their mean probability; those before stay single.

    Args:
        logits, reward: [tokens].
        edges: increasing token numbers, of which the last is the number of tokens.

    Raises:
        ValueError: tokens that are to be tied but differ in reward.
    """
    first = int(edges[0])
    starts = np.concatenate([np.arange(first), edges[:-1]]).astype(int)
    counts = np.diff([*starts, len(logits)]).astype(float)
    tied = reward[starts]
    if not np.array_equal(np.repeat(tied, counts.astype(int)), reward):
        raise ValueError("tokens with different rewards cannot be tied: move the edges")
    top = logits.max()
    shares = np.add.reduceat(np.exp(logits - top), starts)
    return TiedTokens(logits=np.log(shares / counts) + top, reward=tied, counts=counts)


def train(
    start: TiedTokens,
    rule: UpdateRule,
    *,
    learning_rate: float,
    steps: int,
    record_every: int,
    samples: Samples,
    seed: int,
    prompt: int = 0,
) -> Curve:
    """Train one state from sampled groups.

    Args:
        start: the state's tokens, which are not changed.
        rule: a rule without a controller, which reads rewards and weighted means only.
        learning_rate: learning rate of this state's logits.
        steps: number of steps.
        record_every: steps between records; the last step is always recorded.
        samples: the group size.
        seed, prompt: keys of the uniforms, as in a simulation of one run.

    Raises:
        ValueError: a rule that cannot be run so, a single reward or more than MOST_LEVELS, or logits that
            stop being finite, with the step.
    """
    # A step may take a token out of its class for each draw, and cut the class across the border of the
    # tokens kept, which the last policy has too.
    state = _State(start, rule.needs.removed_fraction, steps * (samples.group_size + 1) + 1)
    asked = _Asked.of(rule, state.values, samples.group_size)
    numbers = _uniforms(seed, prompt, samples.group_size, steps)
    records = []
    for step in range(steps + 1):
        if asked.clamped:
            state.keep_the_largest()
        shifted = state.logits - state.logits.max()
        e = np.exp(shifted)
        mass = e * state.counts
        running = np.cumsum(mass)
        total = running[-1]
        if not math.isfinite(total):
            raise diverged(step)
        if step % record_every == 0 or step == steps:
            entropy = float(tied_entropy(state.logits, state.counts))
            records.append((step, float(mass @ state.reward) / total, entropy))
        if step == steps:
            break
        levels = numbers[step] * total
        drawn = np.searchsorted(running, levels, side="right")
        score, mean, coefficient = asked.about(state.level[drawn])
        place = (levels - running[drawn] + mass[drawn]) // e[drawn]
        if asked.clamped or coefficient:
            state.raise_entropy(learning_rate * coefficient, shifted, e, mass,
                                state.kept if asked.clamped else None)
        if abs(mean) > 1e-12:  # group-centered scores leave rounding
            state.logits -= learning_rate * mean / total * e
        state.move(drawn, place, learning_rate / samples.group_size * score)
    when, reward, found = (np.array(column) for column in zip(*records, strict=True))
    return Curve(step=when, reward=reward, entropy=found, final=TiedTokens(
        logits=state.logits.copy(), reward=state.reward.copy(), counts=state.counts.copy()))


@lru_cache(maxsize=32)
def _uniforms(seed: int, prompt: int, group_size: int, steps: int) -> np.ndarray:
    """Return uniforms [steps, samples]; they are cached, since runs that are compared share them."""
    lane = lanes(ORDINARY, np.zeros(1, dtype=np.int64), prompt + 1, group_size)[0, prompt]
    return np.array([uniforms(lane, batch_key(seed, step + 1)) for step in range(steps)])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    """A rule's coefficients on a group, by how many of its samples had each reward."""

    scores: np.ndarray
    """The scores, [divisions of the group, levels]; those that cannot occur are NaN."""
    terms: np.ndarray
    """The coefficient of the entropy's gradient, [divisions of the group]."""
    place: np.ndarray
    """Addition of a sample of each level to the index of its group's division, [levels]."""
    clamped: bool

    @classmethod
    def of(cls, rule: UpdateRule, values: tuple[float, ...], group_size: int) -> _Asked:
        if not pools(rule, 1) or rule.controller() or rule.coefficient_controller():
            raise ValueError(
                f"tied tokens need a rule without a controller that sees rewards and means only, not "
                f"'{rule.name}': use engine.simulate, or a constant coefficient")
        if len(values) > MOST_LEVELS:
            raise ValueError(
                f"tied tokens take at most {MOST_LEVELS} different rewards, got {len(values)}")
        if len(values) < 2:
            raise ValueError(
                f"all tokens have the reward {values[0]:g}, which teaches nothing: tied tokens need two "
                f"or {MOST_LEVELS} different rewards")
        shape = (group_size + 1,) * (len(values) - 1)
        others = np.indices(shape).reshape(len(values) - 1, -1)
        last = group_size - others.sum(axis=0)
        possible = last >= 0
        shares = np.stack([*others, last], axis=-1)[possible, None] / group_size
        rows = Rows(share=shares, by_level=shares, exact=False)  # (``share`` is not looked at.)
        known = coefficients(rule, Levels(values=values, masks=()), {ORDINARY: rows})
        unknown = set(known.terms) - {"entropy", "clamped_entropy"}
        if unknown or len(known.terms) > 1:
            raise ValueError(f"tied tokens take one entropy term, and '{rule.name}' has {[*known.terms]}")
        scores, terms = np.full((len(last), len(values)), np.nan), np.zeros(len(last))
        scores[possible] = known.scores[0][:, 0]
        for term in known.terms.values():
            terms[possible] = term.ravel()
        place = np.array([*(group_size + 1) ** np.arange(len(shape))[::-1], 0])
        return cls(scores=scores, terms=terms, place=place,
                   clamped="clamped_entropy" in known.terms)

    def about(self, levels: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Return scores, mean score and the entropy's coefficient for samples of these levels."""
        index = int(self.place[levels].sum())
        score = self.scores[index][levels]
        return score, float(score.sum()) / len(levels), float(self.terms[index])


class _State:
    """The classes of a state while it is trained; arrays are views of larger ones, with room for more."""

    def __init__(self, start: TiedTokens, removed_fraction: float, room: int) -> None:
        self.values: tuple[float, ...] = tuple(np.unique(start.reward)[::-1].tolist())
        tokens = start.counts.sum()
        self.n_kept = tokens - math.floor(removed_fraction * tokens + 1e-9)
        level = np.searchsorted(-np.asarray(self.values), -start.reward)
        given = (start.logits, start.reward, start.counts, level, np.ones(len(level), dtype=bool))
        self._room = [np.concatenate([a, np.empty(room, a.dtype)]) for a in given]
        self._set_size(len(level))
        self._chosen = False

    def _set_size(self, size: int) -> None:
        self.size = size
        self.logits, self.reward, self.counts, self.level, self.kept = (
            a[:size] for a in self._room)

    def _split(self, one: int, tokens: float) -> int:
        """Take so many tokens out of a class; return the place of their new class."""
        new = self.size
        for array in self._room:
            array[new] = array[one]
        self._set_size(new + 1)
        self.counts[new] = tokens
        self.counts[one] -= tokens
        return new

    def keep_the_largest(self) -> None:
        """Mark the ``n_kept`` tokens with the largest logits; a class across the border is cut in two."""
        if self._chosen:
            least = np.min(self.logits, where=self.kept, initial=np.inf)
            if np.max(self.logits, where=~self.kept, initial=-np.inf) <= least:
                return
        self._chosen = True
        order = np.argsort(-self.logits, kind="stable")
        before = np.cumsum(self.counts[order]) - self.counts[order]
        across = order[np.searchsorted(before, self.n_kept, side="left") - 1]
        kept = np.zeros(self.size, dtype=bool)
        kept[order[before < self.n_kept]] = True
        self.kept[:] = kept
        inside = self.n_kept - before[order == across][0]
        if inside < self.counts[across]:
            new = self._split(int(across), float(self.counts[across] - inside))
            self.kept[new] = False

    def raise_entropy(
        self, rate: float, shifted: np.ndarray, e: np.ndarray, mass: np.ndarray, kept: np.ndarray | None
    ) -> None:
        """Move the logits along the gradient of the entropy of the kept tokens (None: of all)."""
        if kept is not None:
            where = np.flatnonzero(kept)
            shifted, e, mass = shifted[where], e[where], mass[where]
        total = mass.sum()
        # log pi + H is the shifted logit above its mean (`policy.tilt`).
        step = (shifted - float(mass @ shifted) / total) * e
        step *= -rate / total
        if kept is None:
            self.logits += step
        else:
            self.logits[where] += step

    def move(self, drawn: np.ndarray, place: np.ndarray, by: np.ndarray) -> None:
        """Move the logits of drawn tokens, each the ``place``-th of its class, which it leaves."""
        own: dict[tuple[int, int], int] = {}
        sizes = self.counts[drawn]
        for one, token, size, amount in zip(
                drawn.tolist(), place.tolist(), sizes.tolist(), by.tolist(), strict=True):
            where = one
            if size > 1:
                key = (one, min(int(token), int(size) - 1))
                if key not in own:  # the last token of a class is left alone in it
                    own[key] = self._split(one, 1.0) if self.counts[one] > 1 else one
                where = own[key]
            self.logits[where] += amount
