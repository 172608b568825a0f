"""Numbers that a page takes from kept records are those of the records."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
HELD = ROOT / "paper_figures" / "measured" / "holding-a-target" / "result.json"
ON_THE_MEAN, AT_A_STEP = 0.04, 0.08


@pytest.mark.skipif(not HELD.is_file(), reason="the kept records are not part of the wheel")
def test_the_coefficients_that_hold_a_target() -> None:
    """A range of coefficients of other runs, or of other steps, than the page says."""
    page = " ".join((ROOT / "docs" / "hold_an_entropy.md").read_text(encoding="utf-8").split())
    said = f"within {ON_THE_MEAN:g} nats of the target on the mean, and within {AT_A_STEP:g} at a step"
    assert said in page
    means: dict[str, list[float]] = {"entropy bonus": [], "diverse bonus": []}
    for record in json.loads(HELD.read_text(encoding="utf-8"))["records"]:
        series, bonus = record["series"], record["run"]["controller"].rpartition(", ")[2]
        if bonus not in means or series["coefficient"][-1] is None:
            continue
        late = slice(len(series["entropy"]) // 2, None)
        off = np.subtract(series["entropy"][late], series["target"][late])
        if abs(off.mean()) <= ON_THE_MEAN and np.abs(off).mean() <= AT_A_STEP:
            means[bonus].append(float(np.mean(series["coefficient"][late])))
    for bonus, found in means.items():
        shown = re.search(rf"between (-?[\d.]+) and (-?[\d.]+) for the (?:{{term}}`)?{bonus}", page)
        assert shown
        assert [float(end) for end in shown.groups()] == [round(min(found), 1), round(max(found), 1)]


def test_numbers_with_errors_are_those_of_the_measurements() -> None:
    """A mean or an error in the advice that the tables of the records do not have."""
    page, measured = ((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
                      for name in ("hold_an_entropy", "holding_an_entropy_measured"))
    shown = re.findall(r"[\d.]+ ± <?[\d.]*\d", page)
    assert len(shown) > 15
    assert not [number for number in shown if number not in measured]
