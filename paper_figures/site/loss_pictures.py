"""A picture of a loss: its coefficient against the ratio and against the token's probability.

Both are drawn from the rule's own code, at single tokens of advantage 1 and -1. On the left the token had
probability 0.3 when it was sampled; on the right every ratio is 1. The coefficient multiplies
grad log pi of the token. State terms, such as an entropy bonus, are not in it.
"""

from __future__ import annotations

import numpy as np

from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule

RATIOS = np.linspace(0.02, 3.0, 75)
PROBABILITIES = np.linspace(0.01, 0.99, 50)
BEFORE, OTHERS, LARGEST = 0.3, 9, 3.0
"""Probability when the token was sampled, number of other actions, and the ends of the vertical axis."""
SIDE, GAP = 92, 10
"""Width and height of a panel, and the space between two, in units of the picture."""
LEGEND = (
    "The picture has the coefficient of a token, from -3 to 3, against its ratio (0 to 3) and against "
    "its probability (0 to 1). A full line is of advantage 1, a dashed one of advantage -1.")


def coefficients(
    rule: UpdateRule, probability: np.ndarray, before: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients of tokens of advantage 1 and -1, each [points].

    Args:
        rule: any rule that takes given advantages.
        probability: pi of each token now, [points].
        before: its probability when it was sampled, [points].

    Raises:
        ValueError: a rule that judges rewards, or whole listings.
    """
    found = np.array([_pair(rule, now, then) for now, then in zip(probability, before, strict=True)])
    return found[:, 0], found[:, 1]


def _pair(rule: UpdateRule, now: float, then: float) -> np.ndarray:
    rest = (1 - now) / OTHERS
    entropy = -now * np.log(now) - (1 - now) * np.log(rest)
    sign = np.array([[1.0], [-1.0]])
    old = np.full((2, 1), np.log(then))
    state = np.array([[0], [1]])
    batch = TokenBatch(
        log_prob=np.full((2, 1), np.log(now)), old_log_prob=old, reward=(1 + sign) / 2,
        mask=np.ones((2, 1), dtype=bool), weight=np.full((2, 1), 0.5), advantage=sign, group=state,
        sequence=state, state=state, action=np.zeros((2, 1), dtype=int), entropy=np.full((2, 1), entropy),
        old_entropy=np.full((2, 1), entropy), clamped_entropy=np.full((2, 1), entropy),
        reference_log_prob=old, sampling_log_prob=old, entropy_effect=np.zeros((2, 1)))
    return np.asarray(rule.scores(batch))[:, 0]


def picture(rule: UpdateRule) -> str:
    """Return the picture as SVG, or "" for a rule that single tokens of given advantage do not show."""
    try:
        panels = [
            (RATIOS, coefficients(rule, np.minimum(BEFORE * RATIOS, 1 - 1e-9),
                                  np.full(len(RATIOS), BEFORE)), 3.0, "ratio"),
            (PROBABILITIES, coefficients(rule, PROBABILITIES, PROBABILITIES), 1.0, "probability")]
    except ValueError:
        return ""
    drawn = "".join(_panel(place * (SIDE + GAP), *panel) for place, panel in enumerate(panels))
    width, height = 2 * SIDE + GAP, SIDE + 12
    return (f'<svg class="loss" viewBox="0 0 {width} {height}" width="{width}" role="img" '
            f'aria-label="coefficient of {rule.name} against ratio and probability">{drawn}</svg>')


def _panel(
    left: float, x: np.ndarray, lines: tuple[np.ndarray, np.ndarray], end: float, label: str
) -> str:
    def points(values: np.ndarray) -> str:
        shown = np.clip(values, -LARGEST, LARGEST)
        return " ".join(f"{left + SIDE * a / end:.1f},{SIDE * (1 - b / LARGEST) / 2:.1f}"
                        for a, b in zip(x, shown, strict=True))

    middle = SIDE / 2
    strokes = (("up", ""), ("down", ' stroke-dasharray="4 2"'))
    return (
        f'<rect x="{left}" y="0" width="{SIDE}" height="{SIDE}" class="frame"/>'
        f'<path d="M{left} {middle}h{SIDE}" class="axis"/>'
        + (f'<path d="M{left + SIDE / end:.1f} 0v{SIDE}" class="axis"/>' if end > 1 else "")
        + "".join(f'<polyline points="{points(values)}" class="{name}"{dash}/>'
                  for values, (name, dash) in zip(lines, strokes, strict=True))
        + f'<text x="{left + SIDE / 2}" y="{SIDE + 10}" text-anchor="middle">{label}</text>')
