"""Holds recipes to what engines do with them: each engine's table both ways, and what is told of them."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path

import pytest

from entropy_theory.update_rules import rule_options
from llm_bridge import translation
from llm_bridge.conformance import record
from llm_bridge.translation import ENGINES, UntranslatableError, files
from llm_bridge.translation.command import as_options, train_options, translate
from llm_bridge.translation.recipe import SETTINGS, Recipe, as_table, differences
from tests.llm_bridge.drawn_recipes import recipes

VERL = """
# DAPO as verl's users run it
clip_high=0.28
args=(
  --unused
)
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo  algorithm.use_kl_in_reward=False \\
    actor_rollout_ref.actor.clip_ratio_low=0.2 \\
    actor_rollout_ref.actor.clip_ratio_high=${clip_high} \\
    actor_rollout_ref.actor.clip_ratio_c=10.0 \\
    actor_rollout_ref.rollout.n=16 +trainer.mine=1 "$@"
"""


@pytest.mark.parametrize("name", ENGINES)
def test_what_is_written_for_an_engine_is_read_as_it_was(name):
    for _, recipe in recipes(ENGINES[name], 50):
        options, lost = translation.write(name, recipe)
        assert not lost
        back = translation.read(name, options)
        assert list(differences(recipe.rule, back.rule)) == []
        assert back.settings == recipe.settings
        assert rule_options.from_table(as_table(recipe.rule)) == recipe.rule


@pytest.mark.parametrize(("here", "there"), [*itertools.permutations(ENGINES, 2)])
def test_what_another_engine_does_not_carry_is_told_and_all_else_is_there(here, there):
    for _, recipe in recipes(ENGINES[here], 50):
        try:
            options, lost = translation.write(there, recipe)
        except UntranslatableError:
            continue
        back = translation.read(there, options)
        told = {line.partition(":")[0] for line in lost}
        apart = {place for place, *_ in differences(recipe.rule, back.rule)}
        apart |= {name for name, value in recipe.settings.items() if value != back.settings[name]}
        assert told == apart
        assert all("None" not in line for line in lost)


CLIPPING = [name for name in ENGINES if name != "prime-rl"]
"""Engines with GRPO's clip and deviation."""


@pytest.mark.parametrize(("here", "there"), [*itertools.permutations(CLIPPING, 2)])
def test_a_recipe_that_all_have_goes_over_whole(here, there):
    rule = rule_options.from_table({
        "name": "sampler-correction", "kind": "token-truncate", "high": 4.0, "base": {
            "name": "grpo", "clip_high": 0.28, "std_ddof": 1, "normalization": "token-mean"}})
    recipe = Recipe(rule=rule, settings={**SETTINGS, "temperature": 0.9, "samples_per_prompt": 6,
                                         "max_new_tokens": 64, "learning_rate": 2e-6})
    options, lost = translation.write(here, recipe)
    assert not lost
    options, lost = translation.write(there, translation.read(here, options))
    assert not lost
    assert list(differences(rule, translation.read(there, options).rule)) == []


def test_prime_rl_s_default_loss_is_read():
    rule = translation.read("prime-rl", {"trainer.loss.kl_tau": 1e-3}).rule
    assert (rule.name, rule.beta, rule.base.name, rule.base.estimator) == (
        "dro", 2e-3, "dppo", "group-centered")


def test_a_script_is_read_with_its_variables_and_its_defaults_are_told(tmp_path, capsys):
    script = tmp_path / "run.sh"
    script.write_text(VERL + "    actor_rollout_ref.actor.kl_loss_coef=0.01\n")
    given = files.options_of(script)
    assert given["actor_rollout_ref.actor.clip_ratio_high"] == 0.28
    assert given["+trainer.mine"] == 1
    recipe = translation.read("verl", given)
    assert (recipe.rule.clip_high, recipe.rule.dual_clip) == (0.28, 10.0)
    assert recipe.settings["samples_per_prompt"] == 16
    translate((str(script),), to="policy-entropy")
    shown = capsys.readouterr().out
    assert "--rule-options clip_high=0.28" in shown.replace("normalization=token-mean std_ddof=1 ", "")
    assert "--samples 16" in shown


ASKED = {
    "trl": lambda function, options: {"loss_type": function, **options},
    "verl": lambda function, options: {
        "algorithm.adv_estimator": "grpo", "algorithm.norm_adv_by_std_in_grpo": False,
        "actor_rollout_ref.actor.policy_loss.loss_mode": function,
        **{f"actor_rollout_ref.actor.{'policy_loss.' * ('cov' in name or name in INNER)}{name}": value
           for name, value in options.items()}},
    "skyrl": lambda function, options: {
        f"trainer.algorithm.{name}": value for name, value in files.flat({
            "use_kl_loss": False, "policy_loss_type": function, **options}).items() if value is not None},
}
"""Whole options for those that a comparison called an engine's function with."""
INNER = ("ppo_kl_coef", "dro_beta")
OF_ADVANTAGES = {"estimator", "std_ddof", "at_least_one"}
"""What a loss function is not called with: advantages are given, and a quota is above one token."""
CALLED = [row for row in record.rows() if row.engine in ASKED and not row.departure
          and not {"use_vllm", "loss_type"} & row.options.keys()
          and (row.function,) in {key[:1] for key in ENGINES[row.engine].loss.of}]


@pytest.mark.parametrize("row", CALLED, ids=lambda row: f"{row.engine}-{row.function}-{len(row.options)}")
def test_a_recipe_is_the_rule_that_the_engine_s_own_function_was_found_equal_to(row):
    """By way of the record of `policy-entropy losses`: a table that reads an option wrongly departs."""
    found = translation.read(row.engine, ASKED[row.engine](row.function, row.options))
    apart = {place.rpartition(".")[2] for place, *_ in differences(
        rule_options.from_table(row.rule), found.rule)}
    unread = {"max_length"} if row.function == "dr_grpo" else set()
    # Compared with the weights of verl's mean, which is over sequences whatever is set.
    unread |= {"normalization"} if (row.engine, row.function) == ("verl", "sapo") else set()
    unread |= {"high"} if row.rule.get("kind") == "none" else set()
    assert apart <= OF_ADVANTAGES | unread


def test_most_losses_of_engines_are_among_those_called():
    assert {(row.engine, row.function) for row in CALLED} >= {
        *(("trl", name) for name in ("grpo", "dapo", "dr_grpo", "luspo", "cispo", "sapo", "vespo")),
        *(("verl", name) for name in ("vanilla", "gspo", "clip_cov", "kl_cov", "cispo", "dppo_tv")),
        *(("skyrl", name) for name in ("gspo", "sapo", "clip_cov", "kl_cov"))}


@pytest.mark.parametrize(("engine", "given", "without"), [
    # verl's ppo_trainer.yaml sets both sides, so that the common bound is read nowhere.
    ("verl", {"algorithm.adv_estimator": "grpo", "actor_rollout_ref.actor.clip_ratio": 0.3},
     "actor_rollout_ref.actor.clip_ratio"),
    ("verl", {"algorithm.adv_estimator": "grpo", "actor_rollout_ref.actor.kl_loss_coef": 0.3},
     "actor_rollout_ref.actor.kl_loss_coef"),
    ("slime", {"kl_coef": 0.1}, "kl_coef"),
    ("trl", {"sapo_temperature_pos": 2.0}, "sapo_temperature_pos"),
    ("openrlhf", {"algo.advantage.estimator": "rloo", "algo.kl.init_coef": 0.0, "actor.eps_clip": 0.3,
                  "actor.eps_clip_low_high": [0.1, 0.2]}, "actor.eps_clip"),
])
def test_an_option_that_the_engine_does_not_read_is_told(engine, given, without):
    assert translation.read(engine, given).without_effect == (without,)


ROOT = Path(__file__).parents[2]
ADVISED = tomllib.loads((ROOT / "diagnosis" / "remedies.toml").read_text(encoding="utf-8"))["actions"]
GROUPS = {"verl": {"algorithm.adv_estimator": "grpo"},
          "openrlhf": {"algo.advantage.estimator": "group_norm", "algo.kl.use_loss": True,
                       "algo.kl.estimator": "k2"}}
PENALIZED = {"verl": {"actor_rollout_ref.actor.use_kl_loss": True},
             "slime": {"use_kl_loss": True, "kl_loss_type": "k3"}}
"""Options without which an engine takes no KL: `weaker-kl` is for a run that has one."""


def _read(engine, words, given=()):
    values = files.of_words(words.replace("...", "0.05").replace(",", " ").split())
    return translation.read(engine, {**GROUPS.get(engine, {}), **dict(given), **values})


@pytest.mark.parametrize("engine", ["trl", "verl", "openrlhf", "skyrl", "slime"])
@pytest.mark.parametrize(
    "action", ["raise-upper-clip", "usual-clips", "add-entropy-bonus", "drop-entropy-bonus", "weaker-kl",
               "correct-for-the-sampler"])
def test_what_a_diagnosis_advises_is_read(engine, action):
    option = re.sub(r" \(.*", "", ADVISED[action]["options"][engine]["option"])
    penalized = PENALIZED.get(engine, {}) if action == "weaker-kl" else {}
    assert _read(engine, option, penalized).without_effect == ()


@pytest.mark.parametrize(("engine", "prefix"), [("verl", "actor_rollout_ref."), ("skyrl", "")])
def test_the_page_on_growth_advises_a_kl_penalty_that_is_taken(engine, prefix):
    page = (ROOT / "docs" / "why_entropy_grows.md").read_text(encoding="utf-8")
    names, options = (re.search(rf"^\| {row} \|.*$", page, re.M)[0].lower().split(" | ")
                      for row in (r"remedy \| TRL", "KL penalty"))
    advised = options[[name.strip("| ") for name in names].index(engine)].strip("| `")
    found = _read(engine, " ".join(prefix + word for word in advised.split()))
    assert found.without_effect == ()
    assert "reference-kl" in str(as_table(found.rule))


def test_one_number_in_place_of_two_bounds():
    advised = ADVISED["correct-for-the-sampler"]["options"]["openrlhf"]["option"]
    corrected = _read("openrlhf", advised, {"algo.kl.init_coef": 0}).rule
    assert (corrected.kind, corrected.low, corrected.high) == ("token-truncate", 0, 2)
    with pytest.raises(ValueError, match=r"takes two numbers, got 0\.28: give LOW HIGH"):
        _read("openrlhf", "--actor.eps_clip_low_high 0.28")


def test_a_bound_that_holds_in_place_of_another_is_read():
    given = {"algorithm.adv_estimator": "grpo", "actor_rollout_ref.actor.clip_ratio": 0.3,
             "actor_rollout_ref.actor.clip_ratio_low": None}
    rule = translation.read("verl", given).rule
    assert (rule.clip_low, rule.clip_high, rule.dual_clip) == (0.3, 0.2, 3.0)
    assert translation.read("trl", {"epsilon": 0.1}).rule.clip_high == 0.1
    given = {"algo.kl.init_coef": 0, "actor.eps_clip_low_high": [0.1, 0.4],
             "algo.advantage.estimator": "group_norm"}
    assert translation.read("openrlhf", given).rule.clip_high == 0.4


def test_verl_always_clips_twice_and_is_told_when_it_must_not():
    recipe = translation.read("trl", {})
    options, lost = translation.write("verl", recipe)
    assert options["actor_rollout_ref.actor.clip_ratio_c"] > 4.9e8
    assert not lost
    recipe = translation.read("verl", {"algorithm.adv_estimator": "grpo"})
    assert recipe.by_default == ("grpo.dual_clip = 3.0 (actor_rollout_ref.actor.clip_ratio_c)",)


def test_flags_are_written_as_flags():
    assert as_options({"eps_clip_high": 0.28, "use_kl_loss": True, "normalize_advantages": False,
                       "actor.eps_clip_low_high": [0.2, 0.28]}, "flags").split("\n") == [
        "  --eps-clip-high 0.28", "  --use-kl-loss", "  --actor.eps_clip_low_high 0.2 0.28"]
    recipe = translation.read("trl", {"temperature": 0.7, "epsilon_high": 0.28})
    assert train_options(recipe)["trl_options"] == ("temperature=0.7",)
