"""Describes a rule's expected step: the objective that it is the gradient of, and where it is not.

All is computed exactly, on tabular policies whose answers of one token are all listed: three prompts of
different difficulty, with binary rewards. A step is written as a sum of known gradients, in each state by
itself; what is left over says that the rule follows none of them. What an expectation does not show,
which answers are compared and where a clip acts, is read off a few samples.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from entropy_theory import policy, tabular
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.rule import UpdateRule

RIGHT = (1, 4, 9)
"""The number of right answers of each prompt, of ``ACTIONS``."""
ACTIONS = 16
POLICIES = 4
MOVED = 1e-5
"""Standard deviation of what logits have moved by off-policy: no ratio leaves a clip, and a missing
factor pi / pi_old is a relative error of this size."""
LEFT = 1e-8
"""Relative size of what is left of a step that the gradients add up to: rounding, times the condition of
a least-squares problem of some ten directions."""
NAMES = {
    "reward": "expected reward", "entropy": "entropy",
    "reverse": "KL(pi || reference)", "forward": "KL(reference || pi)",
    "clamped": "clamped entropy", "diverse": "entropy among the right answers",
    "natural": "expected reward, in the natural metric", "second": "right answers of the second batch",
    "baseline": "all answers of the second batch",
}


def expected_step(rule: UpdateRule, *, seed: int = 0) -> list[str]:
    """Describe a rule's expected step, a sentence each.

    Raises:
        ValueError: samples, or a listing where the rule needs one, that the rule refuses.
    """
    with np.errstate(all="ignore"):
        return _said(rule, seed)


def _said(rule: UpdateRule, seed: int) -> list[str]:
    try:
        on = _found(rule, seed, 0.0)
    except ValueError as error:
        if rule.needs.listing:
            raise
        return [f"its expected step is not defined on a listing of all answers ({error})",
                _compared(rule), _clipped(rule)]
    said = [f"on-policy, its expected step is {on.words}"]
    if rule.needs.listing:
        return said
    if on.follows and not _found(rule, seed, MOVED).follows:
        said.append("off-policy it is not: the ratio pi / pi_old is missing in it, or in a part of it")
    elif on.follows:
        said.append("off-policy too")
    return [*said, _compared(rule), _clipped(rule)]


@dataclasses.dataclass(frozen=True)
class _Found:
    follows: bool
    words: str


def _found(rule: UpdateRule, seed: int, moved: float) -> _Found:
    """Write steps of random policies as sums of gradients; say which, and with which sign."""
    rng = np.random.default_rng(seed)
    signs: dict[str, set[int]] = {}
    left = 0.0
    for _ in range(POLICIES):
        old = rng.normal(size=(len(RIGHT), ACTIONS))
        reward = np.stack([rng.permutation(ACTIONS) < right for right in RIGHT]).astype(float)
        reference = old + rng.normal(size=old.shape)
        logits = old + moved * rng.normal(size=old.shape)
        batch = _batch(rule, logits, old, reward, reference)
        step = tabular.logit_step(logits, batch, rule)
        known = _gradients(rule, logits, old, reward, reference, batch)
        for state, row in enumerate(step):
            columns = np.stack([gradient[state] for gradient in known.values()], axis=-1)
            sizes = np.linalg.norm(columns, axis=0)
            sizes[sizes < LEFT * sizes.max()] = 1.0  # entropy among right answers, where there is one
            shares = np.linalg.lstsq(columns / sizes, row, rcond=None)[0]
            size = np.abs(step).max()
            left = max(left, np.abs(columns / sizes @ shares - row).max() / (size or 1.0))
            for name, share in zip(known, shares, strict=True):
                if abs(share) > 100 * LEFT * size:
                    signs.setdefault(name, set()).add(int(np.sign(share)))
    signs.pop("baseline", None)
    if left <= LEFT:
        return _Found(follows=True, words=_words(signs))
    term = ": its term of the reference is the gradient of no KL" if (
        "reference_log_prob" in rule.needs.columns) else ""
    return _Found(follows=False, words=(
        "NOT along the gradient of expected reward, of c x entropy, of -c x KL to the reference, or of a "
        f"sum of them ({left:.0e} of it is something else{term})"))


def _words(signs: dict[str, set[int]]) -> str:
    if not signs:
        return "0"
    parts = []
    for name in sorted(signs, key=list(NAMES).index):
        sign = signs[name]
        if len(sign) > 1:
            parts.append(f"+- c x {NAMES[name]} (raised in some states, lowered in others)")
        else:
            factor = "" if name in ("reward", "natural") else "c x "
            parts.append(f"{'+' if sign == {1} else '-'} {factor}{NAMES[name]}")
    text = " ".join(parts).removeprefix("+ ")
    wrong = [NAMES[name] for name, sign in signs.items()
             if sign == ({1} if name in ("reverse", "forward") else {-1})]
    effect = f": it LOWERS {' and '.join(wrong)}" if wrong else ""
    if wrong and set(wrong) <= {NAMES["reverse"], NAMES["forward"]}:
        effect = f": it RAISES {' and '.join(wrong)}, away from the reference"
    return f"along the gradient of {text}{effect}"


def _batch(
    rule: UpdateRule, logits: np.ndarray, old: np.ndarray, reward: np.ndarray, reference: np.ndarray
) -> TokenBatch:
    """List what the old policy samples, with what the rule reads of the policy that is trained."""
    controller = rule.controller()
    temperature = None if controller is None else float(
        controller.observe(np.asarray(policy.entropy(old).mean())))
    options = {"reference_logits": reference, "effects": True,
               "removed_fraction": rule.needs.removed_fraction}
    batch = tabular.exact_batch(old, reward, temperature=temperature, **options)
    trained = tabular.exact_batch(logits, reward, temperature=temperature, **options)
    return batch.replace(log_prob=trained.log_prob, entropy=trained.entropy,
                         clamped_entropy=trained.clamped_entropy)


def _gradients(
    rule: UpdateRule, logits: np.ndarray, old: np.ndarray, reward: np.ndarray, reference: np.ndarray,
    batch: TokenBatch,
) -> dict[str, np.ndarray]:
    """The gradients in whose sum a step is looked for, by name: [states, actions] each."""
    pi, log_pi = policy.softmax(logits), policy.log_softmax(logits)
    log_reference = policy.log_softmax(reference)

    def of_scores(values: np.ndarray, weight: np.ndarray = pi) -> np.ndarray:
        weighted = weight * values
        return weighted - pi * weighted.sum(axis=-1, keepdims=True)

    found = {"reward": of_scores(reward), "entropy": policy.entropy_gradient(logits),
             "reverse": of_scores(log_pi - log_reference), "forward": pi - np.exp(log_reference)}
    if rule.needs.removed_fraction:
        found["clamped"] = tabular.state_gradient("clamped_entropy", logits, rule.needs.removed_fraction)
    # The surprise of a right answer is judged once, by the policy that sampled.
    log_old = policy.log_softmax(old)
    inside = reward * np.exp(log_old)
    mean = (inside * log_old).sum(axis=-1, keepdims=True) / inside.sum(axis=-1, keepdims=True)
    found["diverse"] = of_scores(reward * (mean - log_old))
    if rule.needs.listing:
        found["natural"] = reward - reward.mean(axis=-1, keepdims=True)
    if rule.controller() is not None:
        tempered = np.asarray(batch.weight * batch.is_tempered).reshape(-1)
        second = tempered[tempered > 0].reshape(logits.shape) * np.exp(log_pi - log_old)
        found |= {"second": of_scores(reward, second), "baseline": of_scores(np.ones_like(pi), second)}
    return found


def _compared(rule: UpdateRule) -> str:
    """Say with which other answers an answer's reward is compared, from samples of two prompts."""
    def scores(own: Sequence[float], other: Sequence[float]) -> np.ndarray:
        batch = samples([*own, *other], np.zeros(8))
        return np.asarray(rule.scores(rule.prepare(batch)))[:4, 0]

    own, hard, easy = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0)
    beside_hard, beside_easy = scores(own, hard), scores(own, easy)
    # A common factor, of a standard deviation or of lengths, compares nothing; nor does a selection.
    acts = (beside_hard != 0) & (beside_easy != 0)
    factor = beside_easy[acts] / beside_hard[acts]
    if acts.any() and np.ptp(factor) > LEFT * np.abs(factor).max():
        return ("its baseline MIXES PROMPTS: an answer is compared with those of other prompts, so that "
                "answers to a hard prompt are pushed down because another prompt is easy")
    if abs(beside_hard[0] - scores((1.0, 1.0, 0.0, 0.0), hard)[0]) > LEFT * abs(beside_hard[0]):
        return "an answer is compared with the others of its prompt"
    return "no baseline: an answer is compared with no other"


def _clipped(rule: UpdateRule) -> str:
    """Say on which side of the ratio, for which sign of the advantage, the score is 0."""
    silent: dict[tuple[int, int], float] = {}
    constant = True
    for size in (0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 0.8, 1.2, 2.0, 3.0):
        for side in (1, -1):
            batch = samples([1.0, 0.0], np.full(2, side * size))
            at_one = np.asarray(rule.scores(rule.prepare(batch.replace(log_prob=batch.old_log_prob))))
            scores = np.asarray(rule.scores(rule.prepare(batch)))
            constant &= bool(np.allclose(scores, at_one, rtol=1e-6, atol=0))
            for row, sign in ((0, 1), (1, -1)):
                if at_one[row, 0] != 0 and scores[row, 0] == 0:
                    silent.setdefault((sign, side), float(np.exp(side * size)))
    harmful = {key: value for key, value in silent.items() if key[0] != key[1]}
    if constant:
        return "no ratio: a score does not change as the policy moves away from the one that sampled"
    if not silent:
        return "no clip"
    if (1, -1) in harmful or harmful.get((-1, 1), np.inf) <= silent.get((1, 1), 0.0):
        return ("where the ratio leaves the clip on the harmful side, against the advantage, the score "
                "is 0 too: NOT PPO's clip, and such a token cannot come back")
    dual = ", and beyond a second bound where the advantage is negative (dual clip)" if harmful else ""
    return f"PPO's clip: the score is 0 where the ratio has moved far enough along the advantage{dual}"


def samples(reward: Sequence[float], change: np.ndarray) -> TokenBatch:
    """Sample four answers of one token of each prompt, all equally likely, at the given log-ratios."""
    ones = np.ones((len(reward), 1))
    rows = np.arange(len(reward))[:, None]
    old = -np.log(4) * ones
    moved = old + np.asarray(change)[:, None]
    return TokenBatch(
        log_prob=moved, old_log_prob=old, reward=np.asarray(reward)[:, None] * ones, mask=ones > 0,
        weight=ones / len(reward), entropy=np.log(4) * ones, old_entropy=np.log(4) * ones,
        clamped_entropy=np.log(3) * ones,
        reference_log_prob=moved, sampling_log_prob=old, sampling_temperature=ones, tempered=ones < 0,
        entropy_effect=0 * ones, group=rows // 4, sequence=rows, state=rows // 4, action=rows % 4)
