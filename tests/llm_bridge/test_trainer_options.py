"""Guards llm_bridge/trainer/options.py: what would bend the rule is refused, what is inert is told."""

import dataclasses
import logging
from pathlib import Path

import pytest
import trl

from entropy_theory import update_rules
from llm_bridge.trainer import entropy_trainer, trl_options
from tests.llm_bridge.language_models import tabular_trainer
from tests.llm_bridge.llama_steps import llama, llama_trainer
from tests.llm_bridge.recorded_steps import SMALL


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("kl-cov", SMALL["kl-cov"], "several optimizer steps on each batch"),
        ("clip-cov", {"ratio": 1e-3}, "raise ratio above"),
        ("entropy-bonus", {"coefficient": 0.0}, "raise it"),
        ("aent", {"removed_fraction": 0.0}, "removes nothing"),
    ],
)
def test_a_rule_that_would_do_nothing_says_so_once(tmp_path, name, options, message):
    """With the remedy; and nothing is said of a rule that acts."""
    rule = update_rules.get(name, **options)
    with pytest.warns(entropy_trainer.InertRuleWarning, match=message) as caught:
        made = tabular_trainer(tmp_path, rule)
    assert len(caught) == 1
    made.train()


def test_what_is_no_rule_is_named_with_what_is_one(tmp_path):
    """A name where the rule belongs, as commands and update_rules.get take it."""
    with pytest.raises(ValueError, match=r"rule must be an UpdateRule, such as .*get\('aepo'.*, got "):
        tabular_trainer(tmp_path, "aepo")


@pytest.mark.parametrize("options", [
    {"beta": 0.04}, {"importance_sampling_level": "sequence"}, {"generation_kwargs": {"max_time": 3}}])
def test_options_that_the_rule_or_the_sampler_overrules_are_refused(tmp_path, options):
    (name, value), = options.items()
    with pytest.raises(ValueError, match="max_time" if isinstance(value, dict) else name):
        tabular_trainer(tmp_path, update_rules.get("grpo"), **options)


@pytest.mark.parametrize(("options", "name", "rule"), [
    ({"loss_type": "grpo"}, "grpo", {}),
    ({"loss_type": "dapo"}, "grpo", {}),  # TRL's default, which asks for nothing
    ({"loss_type": "bnpo"}, "clip-higher", {"normalization": "token-mean"}),
    ({"epsilon_high": 0.28}, "grpo", {"clip_high": 0.28, "normalization": "token-mean", "std_ddof": 1}),
])
def test_options_that_say_what_the_rule_says_are_accepted(options, name, rule):
    config = entropy_trainer.grpo_config("unused", use_cpu=True, **options)
    entropy_trainer.check_config(config, update_rules.get(name, **rule))


def test_every_option_of_trl_is_on_the_page():
    """One that a later TRL brings has no entry, and one that is gone has one too many."""
    names = {field.name for field in dataclasses.fields(trl.GRPOConfig)}
    later = set(trl_options.RENAMED.values())
    assert set(trl_options.OPTIONS) - later == names - later, "list it in trl_options.py, or take it out"
    assert {option.fate for option in trl_options.OPTIONS.values()} == set(trl_options.MEANING)
    page = Path(trl_options.__file__).parents[2] / "docs" / "trl_options.md"
    made = trl_options.page(trl.GRPOConfig)
    assert page.read_text() == made, "python -m llm_bridge.trainer.trl_options > docs/trl_options.md"


def test_an_option_that_nobody_has_classified_is_refused_unless_left_alone(caplog):
    """Left alone it is named once, in a warning: a new release is no reason to refuse every run."""
    logging.getLogger("llm_bridge").propagate = True
    later = dataclasses.make_dataclass("Later", [
        ("surprise", float, 0.0), ("listed", list, dataclasses.field(default_factory=list)),
    ], bases=(trl.GRPOConfig,))
    for _ in range(2):
        trl_options.check_refused(later(output_dir="unused", use_cpu=True))
    (line,) = [text for text in caplog.messages if "does not know" in text]
    assert "surprise, listed" in line
    with pytest.raises(ValueError, match=r"surprise=0\.5 is not known .*leave it at 0\.0"):
        trl_options.check_refused(later(output_dir="unused", use_cpu=True, surprise=0.5))


def test_dropout_is_off_whatever_a_plain_configuration_says(tmp_path, caplog):
    """Also the dropout of attention, which TRL leaves on: ratios of a first step were not 1."""
    logging.getLogger("llm_bridge").propagate = True
    made = llama_trainer(
        tmp_path, update_rules.get("grpo"), model=llama(attention_dropout=0.5)[0], steps=2,
        num_iterations=2, learning_rate=0.01, disable_dropout=False)
    assert "noise of training (attention_dropout=0.5) is switched off" in caplog.text
    made.train()  # which checks the ratios


@pytest.mark.parametrize(("options", "says_so"), [({}, True), ({"shuffle_dataset": True}, False)])
def test_prompts_in_the_order_given_are_said_unless_asked_for(tmp_path, caplog, options, says_so):
    """A default of TRL's that is turned off without a word; a notice to who said what is wanted."""
    logging.getLogger("llm_bridge").propagate = True
    config = entropy_trainer.grpo_config(tmp_path, use_cpu=True, **options)
    assert config.shuffle_dataset is options.get("shuffle_dataset", False)
    assert ("prompts are taken in the order given" in caplog.text) is says_so
