"""Guards llm_bridge/verl_plugin.py: verl finds it, its options arrive, and bad ones are explained."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("verl")

import hydra
import verl
from verl.trainer.ppo.core_algos import POLICY_LOSS_REGISTRY
from verl.utils.config import omega_conf_to_dataclass

from entropy_theory import update_rules
from llm_bridge import verl_plugin
from tests.verl.verl_batches import engine_data, hook, ours, random_batch

ACTOR = "actor_rollout_ref.actor."


def composed(*overrides: str):
    """verl's configuration, of its files and a command line."""
    folder = str(Path(verl.__file__).parent / "trainer" / "config")
    with hydra.initialize_config_dir(folder, version_base=None):
        return hydra.compose("ppo_trainer", overrides=[
            ACTOR + "ppo_micro_batch_size_per_gpu=4", *overrides])


def configured(*overrides: str):
    """The actor's configuration as verl's trainer makes it from a command line."""
    return omega_conf_to_dataclass(composed(*overrides).actor_rollout_ref.actor)


def test_all_rules_are_registered():
    """A rule that verl cannot run is there too, to say why when it is chosen."""
    names = {name.removeprefix(verl_plugin.PREFIX) for name in POLICY_LOSS_REGISTRY
             if name.startswith(verl_plugin.PREFIX)}
    assert names == set(update_rules.RULES)


@pytest.mark.parametrize("way", ["entry point", "environment"])
def test_verl_loads_the_plugin(way):
    """In a fresh process, as each of verl's Ray workers is one."""
    environment = dict(os.environ)
    if way == "environment":
        environment |= {"VERL_USE_EXTERNAL_PLUGINS": "none",
                        "VERL_USE_EXTERNAL_MODULES": "llm_bridge.verl_plugin"}
    code = ("import verl; from verl.trainer.ppo.core_algos import get_policy_loss_fn as get; "
            "print(get('entropy-theory/gspo').__module__)")
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment,
                         capture_output=True, text=True, check=True)
    assert ran.stdout.split()[-1] == "llm_bridge.verl_plugin"


def test_options_arrive_from_the_command_line():
    """The lines of the module's docstring, through verl's own configuration."""
    config = configured(
        ACTOR + "policy_loss.loss_mode=entropy-theory/clip-cov",
        ACTOR + "policy_loss._target_=llm_bridge.verl_plugin.policy_loss_config",
        "+" + ACTOR + "policy_loss.rule_options.ratio=0.002",
        "+" + ACTOR + "policy_loss.rule_options.base={name:grpo,clip_low:1.0,clip_high:1.0}",
        "actor_rollout_ref.model.external_lib=llm_bridge.verl_worker",
    )
    rule = verl_plugin.rule_of(config.policy_loss)
    base = update_rules.get("grpo", clip_low=1.0, clip_high=1.0, normalization="token-mean")
    assert rule == update_rules.get("clip-cov", ratio=0.002, base=base)


def test_a_wrong_rule_is_refused_before_anything_is_sampled():
    with pytest.raises(Exception, match="did you mean clip-cov"):
        configured(ACTOR + "policy_loss.loss_mode=entropy-theory/clip-kov",
                   ACTOR + "policy_loss._target_=llm_bridge.verl_plugin.policy_loss_config")


@pytest.mark.parametrize(("option", "value"), [
    ("clip_ratio_high", 0.28), ("clip_ratio_c", 5.0), ("kl_cov_ratio", 0.002), ("ppo_kl_coef", 1.0)])
def test_options_of_verl_that_would_go_unread_are_refused(option, value):
    """Two places for one setting: the one that does nothing must say so."""
    with pytest.raises(ValueError, match=rf"does not read verl's option .*{option}={value}"):
        hook(random_batch(), ours("grpo", **{option: value}))


@pytest.mark.parametrize(("name", "options"), [
    ("entropy-bonus", {}), ("entropy-advantage", {}), ("reference-kl", {}),
    ("aent", {"adaptive": False}),
])
def test_the_hook_names_what_it_does_not_see(name, options):
    with pytest.raises(ValueError, match=r"external_lib=llm_bridge.verl_worker"):
        hook(random_batch(), ours(name, options))


@pytest.mark.parametrize(("config", "message"), [
    (ours("entropy-bonus"), "calculate_entropy=true"),
    (ours("reference-kl"), "use_kl_loss=true and kl_loss_coef=0"),
    (ours("grpo", entropy_coeff=0.1), r"entropy_coeff=0.1 would add"),
    (ours("grpo", use_kl_loss=True), r"kl_loss_coef=0.001 would add"),
    (ours("kl-cov", {"cov_log_prob": "current"}), "use 'old'"),
    (ours("aent", {"adaptive": False}), "calculate_entropy=true"),
])
def test_the_worker_refuses_what_would_change_the_rule(config, message):
    with pytest.raises(ValueError, match=message):
        verl_plugin.add_columns(engine_data(random_batch()), config, step=0)


AEPO = [ACTOR + "policy_loss.loss_mode=entropy-theory/aepo",
        ACTOR + "policy_loss._target_=llm_bridge.verl_plugin.policy_loss_config"]


def test_verl_knows_the_trainer_of_a_second_batch():
    """In a fresh process, as that of verl's task runner."""
    pytest.importorskip("transfer_queue", reason="verl's trainers want TransferQueue")
    code = ("import verl; from verl.trainer.ppo.v1 import get_trainer_cls as get; "
            "print(get('entropy-theory').__name__)")
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "VERL_USE_EXTERNAL_MODULES": "llm_bridge.verl_second_batch"})
    assert ran.stdout.split()[-1] == "SecondBatchTrainer"


@pytest.mark.parametrize(("overrides", "message"), [
    (["+" + ACTOR + "policy_loss.tempered_fraction=0.5", AEPO[1],
      ACTOR + "policy_loss.loss_mode=entropy-theory/grpo"], "does not draw one"),
    (["+" + ACTOR + "policy_loss.tempered_fraction=1.5", *AEPO], r"must be in \(0, 1\]"),
])
def test_a_share_of_no_second_batch_is_refused(overrides, message):
    with pytest.raises(Exception, match=message):
        configured(*overrides)


@pytest.mark.parametrize(("overrides", "message"), [
    ([], r"loss_mode=vanilla does not learn from: set trainer.v1.trainer_mode=sync"),
    ([*AEPO, "algorithm.rollout_correction.bypass_mode=true"], r"bypass_mode=false"),
    ([*AEPO, "+actor_rollout_ref.rollout.agent.agent_loop_manager_class=a.b"],
     r"agent_loop_manager_class=a\.b would not sample"),
])
def test_what_a_second_batch_cannot_go_with_is_refused(overrides, message):
    pytest.importorskip("transfer_queue", reason="verl's trainers want TransferQueue")
    from llm_bridge.verl_second_batch import SecondBatchTrainer

    with pytest.raises(ValueError, match=message):
        SecondBatchTrainer(composed(*overrides))
