"""Guards every rule's entry in rules.json, which a changed default, bound or step differs from, and its
scores by hand."""

import json

import numpy as np
import pytest

from entropy_theory.update_rules import RULES, get
from tests import rules
from tests.rules_by_hand import SCORES, rows
from tests.tolerances import ROUNDING

ENTRIES = json.loads(rules.FILE.read_text())
REMEDY = "run python -m tests.rules NAME, and read the diff"


def test_every_rule_has_its_entry():
    assert list(ENTRIES) == list(RULES), REMEDY


def part(name, *, options):
    return {title: said for title, said in ENTRIES[name].items()
            if title.startswith("options") == options}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_rule_has_the_options_of_its_entry(name):
    """A default that moves changes every result that names none; a bound takes nonsense, or refuses."""
    assert rules.options(name) == part(name, options=True), REMEDY
    assert not hasattr(get(name), "__dict__")


@pytest.mark.parametrize("name", ENTRIES)
def test_the_step_of_a_rule_is_that_of_its_entry(name):
    assert rules.behavior(name) == part(name, options=False), REMEDY
    assert not get(name).warnings(on_policy=False, tokens=10_000)


@pytest.mark.parametrize(("name", "options", "batch", "scores"), SCORES)
def test_scores_by_hand(name, options, batch, scores):
    found = get(name, **options).scores(batch)
    # Where the hand has 0 a sum of terms below 1 may leave roundings: 1e-15 is nine of 1.1e-16.
    np.testing.assert_allclose(found, rows(scores), rtol=ROUNDING, atol=1e-15)
