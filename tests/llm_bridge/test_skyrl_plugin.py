"""Guards llm_bridge/skyrl_plugin.py where SkyRL is not; tests/skyrl/ has the rest."""

import sys

import pytest

from entropy_theory import update_rules
from entropy_theory.reads import RATIO
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.rule import Needs
from llm_bridge import skyrl_plugin


def test_without_skyrl_the_module_imports_and_its_use_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "skyrl", None)  # as where it is not installed
    for name in [name for name in sys.modules if name.startswith("skyrl.")]:
        monkeypatch.delitem(sys.modules, name)
    for use in (skyrl_plugin.algorithm_config, skyrl_plugin.main):
        with pytest.raises(ImportError, match=r"SkyRL is not installed.*'skyrl\[fsdp\]>=0\.3"):
            use()


def test_a_rule_whose_score_is_not_proportional_to_the_advantage_is_refused(monkeypatch):
    """SkyRL divides advantages alone: whatever else is in a score would be as many times too large as the
    mini-batch has tokens."""

    class Shifted(Grpo):
        name = "shifted"
        _needs = Needs(reads={RATIO})

        def _scores(self, batch):
            return super()._scores(batch) + 0.1

    class Halved(Grpo):
        name = "halved"
        _needs = Needs(reads={RATIO})

        def _scores(self, batch):
            return super()._scores(batch) / 2

    for kind in (Shifted, Halved):
        monkeypatch.setitem(update_rules.RULES, kind.name, kind)
    with pytest.raises(ValueError, match=r"'shifted' does not run.*not proportional to the advantage"):
        skyrl_plugin.make_rule("shifted", {})
    assert skyrl_plugin.make_rule("halved", {}).name == "halved"
