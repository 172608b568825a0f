"""Guards rule_contract.py: rules that are wrong in one way each are rejected by the clause for it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

from entropy_theory import update_rules
from entropy_theory.__main__ import check
from entropy_theory.policy import namespace
from entropy_theory.reads import NOTHING
from entropy_theory.token_batch import masked_sum
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.natural_gradient import NaturalGradient
from entropy_theory.update_rules.rule import Needs
from entropy_theory.verification.rule_batches import random_batch
from entropy_theory.verification.rule_contract import check_rule, entropy_effect, rules_in


class Planted(Modifier):
    name: ClassVar[str] = "planted"


class BaselineOfTheMicroBatch(Planted):
    def _scores(self, batch):
        scores = self.base.scores(batch)
        return scores - masked_sum(batch.weight * scores, batch.mask)


class NumberTimesBoolean(Planted):
    """Single precision on torch, double on numpy, whatever the batch is."""

    def _scores(self, batch):
        return self.base.scores(batch) * (1 - 0.3 * (batch.log_prob > -1))


class MeanOverPadding(Planted):
    """0 x NaN is NaN."""

    def _prepare(self, batch):
        batch = self.base.prepare(batch)
        mean = namespace(batch.log_prob).sum(batch.weight * batch.log_prob, axis=(-2, -1), keepdims=True)
        return batch.with_prepared(**{"planted.mean": mean + 0 * batch.reward})

    def _scores(self, batch):
        return self.base.scores(batch) * batch.prepared["planted.mean"]

    _needs = Needs(every_step=True)


class ReadsTheFirstPlace(Planted):
    """Which is padding where a row is padded on the left."""

    def _scores(self, batch):
        return self.base.scores(batch) * (1 + batch.reward[..., :1])


class CountsRows(Planted):
    def _prepare(self, batch):
        return self.base.prepare(batch).with_prepared(
            **{"planted.rows": batch.weight * 0 + batch.mask.shape[-2]})

    def _scores(self, batch):
        return self.base.scores(batch) * batch.prepared["planted.rows"]


class DividesByTheSpread(Planted):
    def _prepare(self, batch):
        batch = self.base.prepare(batch)
        mean = masked_sum(batch.weight * batch.reward, batch.mask)
        spread = masked_sum(batch.weight * (batch.reward - mean) ** 2, batch.mask)
        return batch.with_prepared(**{"planted.spread": spread + 0 * batch.weight})

    def _scores(self, batch):
        return self.base.scores(batch) / batch.prepared["planted.spread"]


class ForgotToRequire(Planted):
    def _scores(self, batch):
        return self.base.scores(batch) * batch.entropy


class MixesRuns(Planted):
    def _prepare(self, batch):
        xp = namespace(batch.reward)
        mean = xp.sum(xp.where(batch.mask, batch.weight * batch.reward, 0 * batch.weight))
        return self.base.prepare(batch).with_prepared(**{"planted.mean": mean + 0 * batch.weight})

    def _scores(self, batch):
        return self.base.scores(batch) * batch.prepared["planted.mean"]


class RemembersTheFirstStep(Planted):
    def _prepare(self, batch):
        xp = namespace(batch.log_prob)
        chance = xp.exp(xp.where(batch.mask, batch.log_prob, 0 * batch.weight))
        return self.base.prepare(batch).with_prepared(**{"planted.chance": chance})

    def _scores(self, batch):
        return self.base.scores(batch) * batch.prepared["planted.chance"]


class FollowsTheSignOfNoise(Planted):
    """A penalty with an edge at ratio 1, where every on-policy token is."""

    def _scores(self, batch):
        change = batch.log_prob - batch.old_log_prob
        xp = namespace(change)
        return self.base.scores(batch) - xp.sign(xp.where(batch.mask, change, 0 * change))


class Overwrites(Planted):
    def _prepare(self, batch):
        batch.reward[...] = 0.5
        return self.base.prepare(batch)


class DrawsItsOwnNumbers(Planted):
    def _scores(self, batch):
        return self.base.scores(batch) * float(np.random.random())  # noqa: NPY002


COUNTED = [1.0]


class KeepsItsStateOutside(Planted):
    """What it keeps settles after some calls, and no copy of the rule forgets it."""

    def _scores(self, batch):
        COUNTED[0] = 1 + 0.1 * COUNTED[0]
        return self.base.scores(batch) * COUNTED[0]


class OneNumberARow(Planted):
    def _scores(self, batch):
        return self.base.scores(batch).sum(-1)


class TorchAlone(Planted):
    def _scores(self, batch):
        return torch.clamp(self.base.scores(batch), -1, 1)


class PoolsWhatIsNotAlike(Planted):
    _needs = Needs(reads=NOTHING)

    def _scores(self, batch):
        xp = namespace(batch.log_prob)
        return self.base.scores(batch) * xp.where(batch.mask, batch.log_prob, 0 * batch.weight)


def broken(rule):
    return {f.clause.name: f for f in check_rule(rule, repeats=2) if f.outcome == "broken"}


@pytest.mark.parametrize(("wrong", "clauses"), [
    (BaselineOfTheMicroBatch, {"cut"}),
    (NumberTimesBoolean, {"torch", "float32"}),
    (MeanOverPadding, {"padding", "empty rows"}),
    (ReadsTheFirstPlace, {"padding"}),
    (CountsRows, {"empty rows"}),
    (DividesByTheSpread, {"finite", "equal rewards"}),
    (ForgotToRequire, {"columns"}),
    (MixesRuns, {"runs"}),
    (RemembersTheFirstStep, {"prepared once"}),
    (PoolsWhatIsNotAlike, {"pooling"}),
    (FollowsTheSignOfNoise, {"rounding"}),
])
def test_a_wrong_rule_is_rejected_by_its_clause(wrong, clauses):
    assert clauses <= broken(wrong()).keys()


@pytest.mark.parametrize(("wrong", "clause", "reason"), [
    (Overwrites, "batch", "it overwrites 'reward'"),
    (DrawsItsOwnNumbers, "memory", "two calls on the same batch differ"),
    (KeepsItsStateOutside, "memory", "two calls on the same batch differ"),
    (OneNumberARow, "finite", "scores have shape"),
    (TorchAlone, "finite", "entropy_theory.policy.namespace"),
])
def test_one_cause_is_told_once(wrong, clause, reason):
    """All other promises would be broken by it too."""
    COUNTED[0] = 1.0
    found = broken(wrong())
    assert found.keys() == {clause}
    assert reason in found[clause].detail


def test_the_counterexample_is_small_and_breaks_the_clause():
    finding = broken(BaselineOfTheMicroBatch())["cut"]
    assert finding.batch.mask.shape[-2] == 2
    assert finding.clause.broken(BaselineOfTheMicroBatch(), finding.batch, 1e-8) == finding.detail
    assert (finding.batch.log_prob == finding.batch.old_log_prob).all()


def test_what_raises_is_broken_and_what_refuses_everything_too():
    class Raises(Planted):
        def _scores(self, batch):
            raise KeyError("no such column")

    class Refuses(Planted):
        def _prepare(self, batch):
            raise ValueError("never today")

    assert "KeyError" in broken(Raises())["finite"].detail
    assert "never today" in broken(Refuses())["finite"].detail


def test_torch_is_skipped_where_it_is_not(monkeypatch):
    find = "entropy_theory.verification.rule_clauses.importlib.util.find_spec"
    monkeypatch.setattr(find, lambda name: None)
    found = {f.clause.name: f for f in check_rule(NumberTimesBoolean(), repeats=1)}
    assert (found["torch"].outcome, found["torch"].detail) == ("skipped", "torch is not installed")


def test_the_effect_on_entropy_is_a_number_relative_to_grpo():
    """Half of GRPO's scores are half of its change; REINFORCE's step lowers entropy where GRPO's does."""
    class Half(Planted):
        def _scores(self, batch):
            return self.base.scores(batch) / 2

    half = entropy_effect(Half())
    # Halving is exact; the two means over 1,200 policies round.
    assert half.ratio == pytest.approx(0.5, rel=1e-12)
    assert half.falls == half.grpo_falls == entropy_effect(update_rules.get("reinforce")).falls
    assert 0.5 < half.grpo_falls < 1
    assert entropy_effect(update_rules.get("entropy-bonus", coefficient=9.0)).falls < 0.01
    assert half.ratio_error < 1e-12


def test_the_error_of_the_effect_is_its_spread_over_other_policies():
    found = [entropy_effect(update_rules.get("reinforce"), seed=seed, policies=25) for seed in range(40)]
    spread = np.std([one.ratio for one in found], ddof=1)
    # The spread of 40 has a relative error of 1 / sqrt(78) = 0.11: four of these.
    assert np.mean([one.ratio_error for one in found]) == pytest.approx(spread, rel=0.45)


def test_rules_of_a_module_are_its_own_classes_and_its_instances():
    module = sys.modules[__name__]
    assert NaturalGradient.__name__ not in rules_in(module)
    assert "CountsRows" in rules_in(module)

    @dataclass(frozen=True, kw_only=True, slots=True)
    class NeedsAnOption(Planted):
        rate: float

    NeedsAnOption.__module__ = "theirs"
    theirs = type(sys)("theirs")
    theirs.variant = CountsRows()
    assert rules_in(theirs) == {"variant": CountsRows()}
    theirs.NeedsAnOption = NeedsAnOption
    with pytest.raises(ValueError, match="give each option a default"):
        rules_in(theirs)


WRONG = '''
from typing import ClassVar
from entropy_theory.reads import NOTHING
from entropy_theory.update_rules.modifier import Modifier

class Greedy(Modifier):
    name: ClassVar[str] = "greedy"

    def _scores(self, batch):
        scores = self.base.scores(batch)
        return scores - (batch.weight * scores).sum()
'''


def test_options_of_a_class_that_is_no_dataclass_are_refused(tmp_path):
    """Its defaults pass every clause, and then nobody can set them."""
    plain = WRONG.replace("    def _scores", "    rate: float = 0.5\n\n    def _scores", 1)
    (tmp_path / "mine.py").write_text(plain)
    with pytest.raises(ValueError, match=r"Greedy declares rate without being a dataclass.*@update_rule"):
        check(tmp_path / "mine.py", quick=True)


def test_check_prints_the_case_and_fails(tmp_path, capsys):
    (tmp_path / "my_rules.py").write_text(WRONG)
    found = tmp_path / "found.json"
    assert check(tmp_path / "my_rules.py", quick=True, json=found) == 1
    out = capsys.readouterr().out
    assert "BROKEN   any cut into micro-batches and any order of rows: the same step\n" in out
    assert "row 1  prompt 0  reward 1  log_prob (-1)" in out
    record = json.loads(found.read_text())["rules"][0]
    assert (record["rule"], record["name"]) == ("Greedy", "greedy")
    assert {c["clause"] for c in record["clauses"] if c["outcome"] == "broken"} >= {"cut", "runs"}


def test_batches_are_described_by_row():
    from entropy_theory.verification.rule_contract import describe

    lines = describe(random_batch(0, prompts=1, group_size=2), ("entropy",))
    assert len(lines) == 4
    assert lines[2].startswith("row 2 (second batch)  prompt 0  reward ")
    assert "entropy (" in lines[0]
