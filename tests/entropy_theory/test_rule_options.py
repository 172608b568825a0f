"""Guards rule_options.py: a rule that a user writes is the rule that Python builds, or a clear error."""

import math

import pytest

from entropy_theory.schedules import Cosine, Points, Sine
from entropy_theory.targets import Nucleus, ShorterResponses
from entropy_theory.update_rules import get
from entropy_theory.update_rules.rule_options import (
    from_table,
    from_texts,
    to_texts,
    value_at,
)

UNCLIPPED = {"clip_low": math.inf, "clip_high": math.inf, "normalization": "token-mean"}
TABLES = [
    ({"name": "grpo"}, get("grpo")),
    ({"name": "clip-cov", "ratio": 1, "at_least_one": True},
     get("clip-cov", ratio=1.0, at_least_one=True)),
    ({"name": "clip-cov", "base": "gspo"}, get("clip-cov", base="gspo")),
    ({"name": "grpo", "dual_clip": "none", "group_size": 4}, get("grpo", group_size=4)),
    # A part that is not named is the one that the rule comes with: KL-Cov's base has no clip.
    ({"name": "kl-cov", "base": {"max_length": 9}},
     get("kl-cov", base=get("grpo", max_length=9, **UNCLIPPED))),
    ({"name": "kl-cov", "base": {"name": "grpo", "max_length": 9}},
     get("kl-cov", base=get("grpo", max_length=9))),
    ({"name": "aepo", "base": {"name": "aent", "base": {"clip_high": 0.5}}},
     get("aepo", base=get("aent", base=get("grpo", clip_high=0.5)))),
    ({"name": "aepo", "towards": {"name": "shorter-responses", "per_token": 1}},
     get("aepo", towards=ShorterResponses(per_token=1.0))),
    ({"name": "aepo", "towards": "nucleus"}, get("aepo", towards=Nucleus())),
    ({"name": "entropy-bonus", "base": {"name": "aepo", "towards": {}}},
     get("entropy-bonus", base="aepo")),
    ({"name": "aepo", "target_schedule": {"points": [[0, 0.8], [100, 0.4]]}},
     get("aepo", target_schedule=Points(points=((0.0, 0.8), (100.0, 0.4))))),
    ({"name": "aepo", "base": {"name": "diverse-bonus", "hold": "forecast",
                               "target_schedule": {"kind": "sine", "period": 60}}},
     get("aepo", base=get("diverse-bonus", hold="forecast", target_schedule=Sine(period=60.0)))),
    ({"name": "entropy-bonus", "target_schedule": "none"}, get("entropy-bonus")),
    ({"name": "entropy-bonus", "coefficient_schedule": {"kind": "cosine", "first": 0.02, "steps": 9}},
     get("entropy-bonus", coefficient_schedule=Cosine(first=0.02, steps=9.0))),
]


@pytest.mark.parametrize(("table", "rule"), TABLES, ids=range(len(TABLES)))
def test_tables_and_texts_are_the_rule_that_python_builds(table, rule):
    """A whole number is a number too, and None a word: else two runs of one rule differ."""
    assert from_table(table) == rule
    assert from_texts(table["name"], to_texts(table)) == rule


def test_the_order_of_texts_does_not_matter():
    texts = ("base=clip-higher", "base.clip_low=inf")
    rule = get("clip-cov", base=get("clip-higher", clip_low=math.inf))
    assert from_texts("clip-cov", texts) == from_texts("clip-cov", texts[::-1]) == rule


def test_values_are_found_by_their_paths():
    rule = get("kl-cov", base="gspo")
    assert value_at(rule, "base.clip_high") == 4e-4
    assert (value_at(rule, "base"), value_at(get("aepo"), "towards")) == ("gspo", "plain")


def test_a_part_of_a_part_comes_from_the_option_of_its_own_name(tmp_path):
    """A user's rule may call its part otherwise than ``base``, and what is below keeps its defaults."""
    file = tmp_path / "mine.py"
    file.write_text("""
from dataclasses import dataclass, field
from entropy_theory.update_rules.kl_cov import KlCov
from entropy_theory.update_rules.rule import UpdateRule

@dataclass(frozen=True, kw_only=True, slots=True)
class Mine(UpdateRule):
    name = "mine"
    inner: UpdateRule = field(default_factory=KlCov)
""")
    rule = from_table({"name": f"{file}:Mine", "inner": {"base": {"max_length": 9}}})
    assert rule.inner == get("kl-cov", base=get("grpo", max_length=9, **UNCLIPPED))
