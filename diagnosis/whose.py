"""Whose doing a change of entropy is, where the log has this package's accounts of steps."""

from __future__ import annotations

from collections.abc import Mapping

from entropy_theory.training_logs.logs import Run
from entropy_theory.training_logs.names import Quantity

SHARES: Mapping[Quantity, str] = {
    "part_gradient": "the batch's gradient", "part_clipping": "gradient clipping",
    "part_momentum": "momentum", "part_weight_decay": "weight decay", "part_rounding": "rounding",
    "part_right": "right responses", "part_wrong": "wrong responses",
}


def doers(run: Run) -> dict[str, float]:
    """Return the entropy change that each part of the steps made up, nats, summed over accounted steps.

    "measured" is the whole change, where it was measured; responses divide the gradient's part. Empty
    where the log has no accounts.
    """
    found = {name: float(run.series[part].value.sum()) for part, name in SHARES.items()
             if part in run.series}
    if found and "entropy_change" in run.series:
        found["measured"] = float(run.series["entropy_change"].value.sum())
    return found


def said(parts: Mapping[str, float]) -> str:
    """Put the parts into a line, the largest first."""
    whole = f"{parts['measured']:+.3g} nats, of which " if "measured" in parts else ""
    rest = sorted(((name, part) for name, part in parts.items() if name != "measured" and part),
                  key=lambda one: -abs(one[1]))
    return ("the accounted steps moved entropy by " + whole
            + ", ".join(f"{name} {part:+.3g}" for name, part in rest))
