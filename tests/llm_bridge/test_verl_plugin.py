"""Guards llm_bridge/verl_plugin.py where verl is not; tests/verl/ has the rest."""

import functools
import importlib.util
import subprocess
import sys

import pytest

from entropy_theory import update_rules
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.rule import components
from llm_bridge import verl_plugin


def test_the_module_imports_where_trl_is_not_installed():
    """verl and TRL want other versions of transformers: where one is, the other is not."""
    code = ("import sys; sys.modules.update(trl=None, transformers=None); "
            "import llm_bridge.verl_plugin as plugin; print(plugin.make_rule('grpo', {}).name)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "grpo\n"), done.stderr


def make(name, **options):
    return verl_plugin.make_rule(name, options)


@pytest.mark.skipif(importlib.util.find_spec("verl") is not None, reason="verl is installed")
def test_without_verl_the_module_imports_and_its_use_says_what_to_install():
    for use in (verl_plugin.register, verl_plugin.policy_loss_config):
        with pytest.raises(ImportError, match=r"pip install verl==0\.9"):
            use()


def test_bases_may_be_nested():
    rule = make("entropy-bonus", base={"name": "kl-cov", "base": "gspo"})
    assert [part.name for _, part in components(rule)] == ["entropy-bonus", "kl-cov", "gspo"]
    assert verl_plugin.needs_whole_batch(rule)


def test_a_rule_that_prepares_something_new_is_taken_to_need_the_whole_batch():
    """Scores are elementwise by the contract; what is prepared may see other sequences."""

    class Half(Grpo):
        def _scores(self, batch):
            return super()._scores(batch) / 2

    class Prepares(Half):
        def _prepare(self, batch):
            return super()._prepare(batch)

    bonus = functools.partial(update_rules.get, "entropy-bonus")
    assert not verl_plugin.needs_whole_batch(bonus(base=Half()))
    assert verl_plugin.needs_whole_batch(bonus(base=Prepares()))
    assert verl_plugin.needs_whole_batch(bonus(base=Half(), prompt_gain=1.0))
