"""Guards declared.py and what rules declare: nothing is read that is not declared, nor the reverse."""

import copy
import dataclasses
from typing import ClassVar

import numpy as np
import pytest

from entropy_theory import update_rules
from entropy_theory.policy import namespace
from entropy_theory.reads import EVERYTHING, NOTHING
from entropy_theory.token_batch import masked_sum
from entropy_theory.update_rules.clip_higher import ClipHigher
from entropy_theory.update_rules.declared import reads_undeclared
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.reinforce import Reinforce
from entropy_theory.update_rules.rule import Needs, components, map_options
from entropy_theory.verification.rule_batches import batches_for, random_batch
from entropy_theory.verification.rule_contract import CONDITIONED, _refusal, check_rule
from tests.adversarial_rules import HONEST, Stateful, Undeclared
from tests.rules_by_hand import OPTIONS

SELECTING = {"stare": OPTIONS["stare"], "lp-reg": OPTIONS["lp-reg"],
             "entropic": {"coefficient": 0.4, "target": None, "threshold": 0.3}}
"""Options under which a rule reads what it declares on a handful of tokens."""
RULES = [
    *(update_rules.get(name, **SELECTING.get(name, {})) for name in update_rules.RULES
      if name not in ("clip-cov", "kl-cov")),
    update_rules.get("clip-cov", ratio=0.2, lower=-5, cov_log_prob="current"),
    update_rules.get("kl-cov", ratio=0.2, penalty="k3"),
    update_rules.get("reference-kl", estimator="k1", placement="reward"),
    update_rules.get("grpo", estimator="leave-one-out"),
    update_rules.get("grpo", group_size=4, std_ddof=1),
]


def less(rule, name):
    """The rule, without one of the names that it declares."""
    found = copy.copy(rule)
    needs = dataclasses.replace(rule.needs, reads=rule.needs.reads - {name})
    object.__setattr__(found, "_all_needs", needs)
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_nothing_is_declared_in_vain(rule):
    """What is declared and not read would keep a rule from being pooled or compiled."""
    batches = [batch for batch in batches_for(rule, 3, seed=0) if not _refusal(rule, batch)]
    for name in rule.needs.reads - {*rule.needs.columns}:
        told = (reads_undeclared(less(rule, name), batch, CONDITIONED) for batch in batches)
        assert any(told), name


def broken(rule):
    return {f.clause.name: f.detail for f in check_rule(rule, repeats=1) if f.outcome == "broken"}


@pytest.mark.parametrize("kind", HONEST)
def test_adversarial_rules_that_say_what_they_read_keep_the_contract(kind):
    assert broken(kind()) == {}
    assert not kind().needs.pools


def test_rules_that_read_what_they_do_not_declare_and_rules_that_count_calls_are_found():
    assert "declare 'log_prob' or 'old_log_prob'" in broken(Undeclared())["reads"]
    found = broken(Stateful())
    assert "Keep nothing from call to call" in found["memory"]
    assert "reads" not in found


def factor(name, batch):
    """Something that depends on a name of `entropy_theory.reads`, and on nothing else of them."""
    xp = namespace(batch.weight)
    if name in ("step", "seed"):
        return 1 / (1 + getattr(batch, name))
    if name == "rows":
        return masked_sum(xp.ones_like(batch.weight), batch.mask)
    if name == "ratio":
        return 2 + np.tanh(np.where(batch.mask, batch.log_prob - batch.old_log_prob, 0.0))
    if name == "state":
        return 1 + xp.astype(batch.state % 2 == 0, batch.weight.dtype)
    return 2 + np.tanh(np.where(batch.mask, getattr(batch, name), 0.0))


@pytest.mark.parametrize("name", sorted(EVERYTHING))
def test_each_name_is_missed_where_it_is_not_declared(name):
    read = name

    class Reading(Modifier):
        name: ClassVar[str] = "reading"
        _needs = Needs(reads=NOTHING)

        def _scores(self, batch):
            return self.base.scores(batch) * factor(read, batch)

    rule = Reading(base=Reinforce())
    told = [reads_undeclared(rule, random_batch(seed), 1e-8) for seed in range(3)]
    found = [text for text in told if text]
    assert found
    assert all(f"'{name}'" in text for text in found)
    Reading._needs = Needs(reads={name})
    rule = Reading(base=Reinforce())
    assert not any(reads_undeclared(rule, random_batch(seed), 1e-8) for seed in range(3))


def test_a_state_term_that_is_not_declared_is_told():
    """A trainer computes the gradients of those state functions alone that a rule says it moves."""
    class Bonus(Modifier):
        name: ClassVar[str] = "bonus"

        def _state_terms(self, batch):
            return {"entropy": 0.1 + 0 * batch.weight}

    assert "it needs moves=('entropy',)" in broken(Bonus())["finite"]
    Bonus._needs = Needs(moves=("entropy",))
    assert "finite" not in broken(Bonus())


def test_a_subclass_inherits_what_it_does_not_compute_anew():
    """Else a subclass of GRPO that reads probabilities would be pooled, because GRPO may be."""
    class Renamed(Grpo):
        name: ClassVar[str] = "renamed"

        def warnings(self, *, on_policy, tokens=None, actions=None):
            return ("none",)

    class Halved(Renamed):
        def _scores(self, batch):
            return super()._scores(batch) / 2

    class Declared(Halved):
        _needs = Needs(reads={"ratio"})

        def _scores(self, batch):
            return super()._scores(batch) / 2

    class Anew(Declared):
        def _prepare(self, batch):
            return super()._prepare(batch)

    said = [kind().needs.reads for kind in (ClipHigher, Renamed, Halved, Declared, Anew)]
    assert said == [{"ratio"}, {"ratio"}, EVERYTHING, {"ratio"}, EVERYTHING]


def test_a_rule_reads_what_its_parts_read():
    get = update_rules.get
    shaped = get("entropy-advantage", base=get("grpo", std_ddof=1))
    assert shaped.needs.reads == {"entropy", "ratio", "rows"}
    assert update_rules.combine(get("reinforce"), HONEST[0](base=Reinforce())).needs.reads == {"step"}


def test_parts_are_told_with_their_paths_and_options_mapped_in_all_of_them():
    get = update_rules.get
    rule = update_rules.combine(get("clip-cov", base=get("aent", base="gspo")), get("reinforce"))
    assert [(path, part.name) for path, part in components(rule)] == [
        ((), "combined"), (("rules", 0), "clip-cov"), (("rules", 0, "base"), "aent"),
        (("rules", 0, "base", "base"), "gspo"), (("rules", 1), "reinforce")]
    seen = []

    def double(part, name, value):
        seen.append((part.name, name))
        return 2 * value if name in ("coefficient", "clip_low") else value

    doubled = map_options(rule, double)
    assert doubled.rules[0].base.coefficient == 2 * rule.rules[0].base.coefficient
    assert doubled.rules[0].base.base.clip_low == 2 * rule.rules[0].base.base.clip_low
    assert doubled.rules[1] == rule.rules[1]
    assert len(seen) == len(set(seen)) > 20
    assert not {"base", "rules"} & {name for _, name in seen}
