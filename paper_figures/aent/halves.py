"""The runs that Figures 2 and 5 share: those of aent_coefficient, whose prompts are replaced midway."""

from __future__ import annotations

import numpy as np
import pandas
import xarray
from matplotlib.axes import Axes

from paper_figures.drawing import REFERENCE
from simulations.experiments.aent_coefficient import HALVES, PROFILES

__all__ = ["BAND", "HALVES", "shade", "tidy"]

BAND = PROFILES["default"].band
"""The band of the clamped entropy, nats, which is the same in all profiles."""


def tidy(dataset: xarray.Dataset, prefix: str, settings: list[str]) -> pandas.DataFrame:
    """Return the curves of "constant" or "adaptive" runs, the second half behind the first.

    Columns are half, ``settings``, start, step, quantity, value, change and in_band. A quantity is
    "entropy" (clamped), "reward" or "coefficient". ``change`` is the step at which prompts are
    replaced. ``in_band`` is a share of the half's tail, in one row per half and setting; NaN in
    other rows.
    """
    steps = int(dataset.step[-1])
    names = {f"{prefix}_{name}": name for name in ("entropy", "reward", "coefficient")}
    chosen = dataset[[name for name in names if name in dataset]].rename(
        {name: short for name, short in names.items() if name in dataset})
    frame = chosen.to_dataframe().reset_index()
    frame = frame.melt(id_vars=["half", *settings, "start", "step"], var_name="quantity")
    frame["step"] += np.where(frame["half"] == HALVES[1], steps, 0)
    shares = dataset[f"{prefix}_in_band"].to_dataframe(name="in_band").reset_index()
    return pandas.concat([frame, shares], ignore_index=True).assign(change=float(steps))


def shade(panel: Axes, table: pandas.DataFrame, quantity: str) -> None:
    """Shade the band of the entropy, and mark where the prompts change."""
    panel.axvline(float(table["change"].iloc[0]), **REFERENCE)
    if quantity == "entropy":
        panel.axhspan(*BAND, color="#dddddd", linewidth=0, zorder=0)
