"""Guards llm_bridge/trainer/options.py: what would bend the rule is refused, what is inert is told."""

import pytest

from entropy_theory import update_rules
from llm_bridge.trainer import entropy_trainer
from tests.llm_bridge.language_models import tabular as tabular_model
from tests.llm_bridge.language_models import tabular_trainer
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


@pytest.mark.parametrize("iterations", [{"num_iterations": 2}, {
    "micro_batches": 2, "gradient_accumulation_steps": 1, "steps_per_generation": 2}])
def test_kl_cov_with_several_steps_a_batch_needs_no_warning(tmp_path, iterations):
    tabular_trainer(tmp_path, update_rules.get("kl-cov", **SMALL["kl-cov"]), **iterations)


@pytest.mark.parametrize("name", ["clip-cov", "entropy-bonus", "combined"])
def test_a_rule_that_needs_every_action_is_refused(tmp_path, name):
    exact = update_rules.get("natural-gradient")
    rule = (update_rules.combine(update_rules.get("grpo"), exact) if name == "combined"
            else update_rules.get(name, base=exact))
    for one in (exact, rule):
        with pytest.raises(ValueError, match=r"'natural-gradient' needs every action .*samples"):
            tabular_trainer(tmp_path, one)


@pytest.mark.parametrize(
    ("option", "value"),
    [("temperature", 0.7), ("top_k", 50), ("top_p", 0.9), ("repetition_penalty", 1.1),
     ("beta", 0.04), ("entropy_coef", 0.01), ("disable_dropout", False), ("delta", 1.5),
     ("importance_sampling_level", "sequence"), ("epsilon", 0.01), ("loss_type", "dr_grpo"),
     ("scale_rewards", "none"), ("generation_kwargs", {"temperature": 0.3})],
)
def test_options_behind_the_rules_back_are_refused(tmp_path, option, value):
    named = "temperature" if option == "generation_kwargs" else option
    with pytest.raises(ValueError, match=named):
        tabular_trainer(tmp_path, update_rules.get("grpo"), **{option: value})


@pytest.mark.parametrize(("strategy", "every"), [("steps", 0.375), ("steps", 3), ("epoch", 2)])
def test_a_checkpoint_between_the_steps_of_a_generation_is_refused(strategy, every):
    options = entropy_trainer.grpo_config(
        "unused", use_cpu=True, save_strategy=strategy, save_steps=every, num_iterations=2,
        max_steps=8)
    with pytest.raises(ValueError, match="save_steps"):
        entropy_trainer.check_config(options)


@pytest.mark.parametrize(
    ("setting", "value"), [("no_repeat_ngram_size", 2), ("suppress_tokens", [3]), ("min_length", 4)]
)
def test_a_checkpoints_own_sampling_settings_are_refused(tmp_path, setting, value):
    """Generation fills what a config leaves unset from the model's own, in silence."""
    model, _ = tabular_model()
    setattr(model.generation_config, setting, value)
    with pytest.raises(ValueError, match=setting):
        tabular_trainer(tmp_path, update_rules.get("grpo"), model=model)


@pytest.mark.parametrize("outer", ["entropy-bonus", "aepo"])
def test_an_expectation_over_groups_is_refused(tmp_path, outer):
    """On samples, group_size would put another estimator in the place of GRPO's, in silence."""
    exact = update_rules.get("grpo", group_size=8)
    for rule in (exact, update_rules.get(outer, base=exact), update_rules.combine(exact, exact)):
        with pytest.raises(ValueError, match=r"group_size .*exact expectation"):
            tabular_trainer(tmp_path, rule)


def test_a_generation_cut_between_optimizer_steps_is_refused(tmp_path):
    with pytest.raises(ValueError, match="steps_per_generation"):
        tabular_trainer(tmp_path, update_rules.get("grpo"), micro_batches=2,
                        gradient_accumulation_steps=4, steps_per_generation=2)
