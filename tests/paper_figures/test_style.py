"""Labels at the ends of lines, and what keeps titles and ticks apart."""

import itertools

import numpy as np
import pytest

from paper_figures.drawing.style import (
    _spread,
    label_ends,
    panels,
    settle,
    style,
)


def test_labels_keep_apart_and_move_no_further_than_they_must():
    """A label on another one, or dragged from its own line by a crowd elsewhere."""
    assert _spread([0.3, 0.31, 0.9], 0.1) == pytest.approx([0.255, 0.355, 0.9])
    assert _spread([0.2, 0.5, 0.8], 0.1) == pytest.approx([0.2, 0.5, 0.8])


def test_a_line_without_an_end_has_no_label():
    """Ramps that are never followed, at the smallest size: no figure at all."""
    figure, axes = panels(1, 1, height=2.0)
    label_ends(axes[0, 0], [(1.0, 0.5, "up", "black"), (1.0, float("nan"), "down", "black")])
    settle(figure)
    assert [text.get_text() for text in axes[0, 0].texts] == ["up"]


def test_a_title_is_broken_where_the_next_one_or_the_edge_begins():
    """Two titles printed over each other; one cut off at the edge; one broken without need."""
    long, formula = "a tenth right, graded, peaked, of 300 answers", r"$a = \frac{1}{2}$ " + "x" * 60
    with style():
        figure, axes = panels(2, 2, height=1.5)
        titles = [panel.set_title(text) for panel, text in zip(
            axes.flat, (long, "short", formula, long), strict=True)]
        settle(figure)
    boxes = [title.get_window_extent() for title in titles]
    assert boxes[0].x1 < boxes[1].x0
    assert boxes[3].x1 < figure.bbox.x1
    assert [title.get_text().split() for title in titles] == [
        text.split() for text in (long, "short", formula, long)]
    assert [title.get_text().count("\n") for title in titles[1:3]] == [0, 0]


def test_tick_labels_keep_apart_and_the_ends_stay():
    """Labels of ten close ticks on top of each other; ticks that fit thinned out."""
    with style():
        figure, axes = panels(1, 4, height=1.5)
        crowded, roomy, automatic, decade = axes.flat
        places = np.linspace(0, 1, 12)
        crowded.set_xticks(places, [f"{x:.4f}" for x in places])
        roomy.set_xticks([0, 0.5, 1], ["0", "half", "1"])
        automatic.set_xlim(-0.0271, 0.0571)
        automatic.locator_params(axis="x", nbins=9)
        decade.set_xscale("log")
        decade.set_xlim(20, 200)
        settle(figure)
    for panel in axes.flat:
        labels = [*panel.get_xticklabels(), *panel.get_xticklabels(minor=True)]
        low, high = panel.get_xlim()
        boxes = sorted((label.get_window_extent() for label in labels
                        if label.get_text() and low <= label.get_position()[0] <= high),
                       key=lambda box: float(box.x0))
        assert len(boxes) > 1
        assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
    assert decade.get_xlim() == (20, 200)
    shown = [label.get_text() for label in crowded.get_xticklabels()]
    assert len(shown) == 12
    assert (shown[0], shown[-1]) == ("0.0000", "1.0000")
    assert [label.get_text() for label in roomy.get_xticklabels()] == ["0", "half", "1"]
