"""Labels at the ends of lines."""

from __future__ import annotations

import numpy as np
import pytest

from paper_figures.style import _spread


def test_labels_keep_apart_and_move_no_further_than_they_must() -> None:
    """A label on another one, or dragged from its own line by a crowd elsewhere."""
    assert _spread([0.3, 0.31, 0.9], 0.1) == pytest.approx([0.255, 0.355, 0.9])
    assert _spread([0.2, 0.5, 0.8], 0.1) == pytest.approx([0.2, 0.5, 0.8])


@pytest.mark.parametrize("wanted", [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.5]])
def test_labels_stay_within_the_panel(wanted: list[float]) -> None:
    found = _spread(wanted, 0.1)
    assert found.min() > -1e-12
    assert found.max() < 1 + 1e-12
    assert (np.diff(found) > 0.1 - 1e-12).all()
