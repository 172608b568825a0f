"""Guards llm_bridge/trainer/options.py: the rule that TRL's options describe takes the step of TRL's
own loss. What departs is in test_departures.py.
"""

import logging

import pytest
import trl

from entropy_theory import update_rules
from llm_bridge.trainer import EntropyTrainer, from_trl
from llm_bridge.trainer.options import check_config
from tests.llm_bridge.trl_steps import CUT, as_by_vllm, both, difference, trained

SAME = 1e-5
"""Largest difference of weights, relative to the largest change of one. TRL's log-probabilities, down to
-16, are float32: rounded by up to 1e-6, and so are the ratios made of them. Its 1e-4 is 1e-7 of a
standard deviation."""
CASES = {
    "grpo": {"loss_type": "grpo"},
    "dapo": {"loss_type": "dapo"},
    "bnpo": {"loss_type": "bnpo"},
    "dr_grpo": {"loss_type": "dr_grpo"},
    "luspo": {"loss_type": "luspo", "importance_sampling_level": "sequence"},
    "sequence ratios, dapo": {"importance_sampling_level": "sequence"},
    "no standard deviation": {"loss_type": "grpo", "scale_rewards": "none"},
    "asymmetric clip": {"epsilon": 0.1, "epsilon_high": 0.4},
    "dual clip": {"epsilon": 0.2, "delta": 1.3},
    "reference": {"beta": 0.3, "use_bias_correction_kl": False},
    "corrected reference": {"beta": 0.3},
    "reference, sequence ratios": {
        "beta": 0.3, "use_bias_correction_kl": False, "importance_sampling_level": "sequence"},
    "entropy bonus": {"entropy_coef": 0.2},
    "cispo": {"loss_type": "cispo", "epsilon_high": 1.3},
    "cispo, every ratio limited": {"loss_type": "cispo"},
    "sapo": {"loss_type": "sapo", "sapo_temperature_neg": 3.0},
    "vespo": {"loss_type": "vespo", "learning_rate": 0.01},
    "sequences dropped": {"off_policy_mask_threshold": 0.02, "beta": 0.3, "loss_type": "grpo"},
    "temperature": {"temperature": 0.7, "learning_rate": 0.01},
}


DAILY = ("luspo", "dual clip", "entropy bonus", "temperature", "cispo", "sapo", "vespo",
         "sequences dropped")
"""One of each kind of option: a mean and a ratio, a clip, a term, a policy, a loss; others are deep, and
a reference is in the micro-batches below."""


@pytest.mark.parametrize("case", [
    pytest.param(case, marks=() if case in DAILY else pytest.mark.deep) for case in CASES])
def test_the_step_is_that_of_trl_s_loss(tmp_path, monkeypatch, case):
    """On-policy, and at a second step on the same completions where ratios are clipped."""
    options, kept = CASES[case], []
    mask = trl.GRPOTrainer.get_off_policy_mask
    monkeypatch.setattr(trl.GRPOTrainer, "get_off_policy_mask", staticmethod(
        lambda **columns: kept.append(mask(**columns)) or kept[-1]))
    if options.get("scale_rewards") == "none":
        options = {**options, "learning_rate": 5e-6}
    found, expected, theirs = both(tmp_path, options)
    log = theirs.state.log_history[1]
    if case == "vespo":
        assert abs(log["vespo/phi_seq_mean"] - 1) > 0.05
    elif case != "sapo":
        assert log.get("clip_ratio/region_mean", log.get("cispo_clip_ratio")) > 0.05
    if "off_policy_mask_threshold" in options:
        assert [bool(rows.all()) for rows in kept] == [True, False]
    for own, other in zip(found, expected, strict=True):
        assert difference(own, other) <= SAME


def test_micro_batches_change_nothing(tmp_path):
    found, expected, _ = both(tmp_path, {**CASES["corrected reference"], **CUT})
    for own, other in zip(found, expected, strict=True):
        assert difference(own, other) <= SAME


@pytest.mark.parametrize(("mode", "checkpointing"), [
    ("sequence_mask", True), pytest.param("token_truncate", False, marks=pytest.mark.deep)])
def test_samples_of_vllm_are_corrected_as_in_trl(tmp_path, mode, checkpointing):
    """Rows are scored, with checkpointing off, before they are trained on, with checkpointing on."""
    options = {
        "vllm_importance_sampling_mode": mode, "vllm_importance_sampling_clip_max": 1.5,
        "gradient_checkpointing": checkpointing, "learning_rate": 0.01}
    plain, _ = trained(tmp_path, EntropyTrainer, {"learning_rate": 0.01}, rule=from_trl)
    found, expected, _ = both(tmp_path, options, prepare=as_by_vllm)
    for own, other in zip(found, expected, strict=True):
        assert difference(own, other) <= SAME
    assert difference(found[0], plain[0]) > 0.05


def test_a_reference_follows_the_policy_as_in_trl(tmp_path):
    """The second generation is scored by a reference that the first step has mixed into."""
    options = {"beta": 0.3, "num_iterations": 1, "sync_ref_model": True, "ref_model_sync_steps": 1}
    found, expected, _ = both(tmp_path, options)
    for own, other in zip(found, expected, strict=True):
        assert difference(own, other) <= SAME
    rests, _ = trained(tmp_path, EntropyTrainer, {**options, "sync_ref_model": False}, rule=from_trl)
    assert difference(found[1], rests[1]) > 1e-3


@pytest.mark.parametrize("prepare", [lambda _: None, as_by_vllm])
def test_samples_that_are_cut_are_trained_on_as_in_trl(tmp_path, caplog, prepare):
    """By the log-probabilities of the whole softmax, and where the sampler gives its own, corrected."""
    logging.getLogger("llm_bridge").propagate = True
    options = {"top_p": 0.9, "top_k": 12, "learning_rate": 0.01}
    found, expected, _ = both(tmp_path, options, prepare=prepare)
    for own, other in zip(found, expected, strict=True):
        assert difference(own, other) <= SAME
    assert "not drawn from the policy that is trained (top_k=12, top_p=0.9)" in caplog.text


@pytest.mark.parametrize(("mode", "kind"), [
    ("sequence_mask", "sequence-mask"), pytest.param("token_truncate", "token-truncate",
                                                     marks=pytest.mark.deep)])
def test_a_sampler_correction_is_trl_s_factor(tmp_path, mode, kind):
    """The rule reads vLLM's log-probabilities by itself, and TRL's factor on top of it is refused."""
    limit = {"vllm_importance_sampling_mode": mode, "vllm_importance_sampling_clip_max": 1.5}
    rule = update_rules.get("sampler-correction", kind=kind, high=1.5, base=update_rules.get(
        "grpo", normalization="token-mean", std_ddof=1))

    def uncorrected(made):
        as_by_vllm(made)
        made.vllm_importance_sampling_correction = made.generation._corrects = False

    expected, _ = trained(tmp_path, trl.GRPOTrainer, {**limit, "learning_rate": 0.01}, prepare=as_by_vllm)
    found, _ = trained(tmp_path, EntropyTrainer, {"learning_rate": 0.01}, prepare=uncorrected,
                       rule=lambda _: rule)
    for own, other in zip(found, expected, strict=True):
        assert difference(own, other) <= SAME
    corrected = trl.GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, use_vllm=True)
    for doubled in (rule, update_rules.get("cispo", anchor="sampling")):
        with pytest.raises(ValueError, match="would come on top"):
            check_config(corrected, doubled)
    check_config(corrected, update_rules.get("sampler-correction", kind="none", off_policy_threshold=0.1))


def test_a_plain_configuration_is_a_rule(tmp_path):
    """TRL's defaults: DAPO's mean over tokens, and the standard deviation over G - 1."""
    arguments = trl.GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False)
    assert from_trl(arguments) == update_rules.get("grpo", normalization="token-mean", std_ddof=1)


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_top_entropy_tokens_are_those_of_trl_s_first_step(tmp_path, share):
    """At a second step on the same completions TRL takes entropies anew, and ours are the sampler's."""
    found, expected, _ = both(tmp_path, {"top_entropy_quantile": share, "beta": 0.3})
    plain, _, _ = both(tmp_path / "plain", {"beta": 0.3})
    assert difference(found[0], expected[0]) <= SAME
    assert difference(found[0], plain[0]) > 0.1


def test_selected_tokens_and_an_adapted_bonus_are_rules(tmp_path):
    def rule(**options):
        return from_trl(trl.GRPOConfig(
            output_dir=str(tmp_path), use_cpu=True, bf16=False, **options))

    base = update_rules.get("grpo", normalization="token-mean", std_ddof=1)
    assert rule(top_entropy_quantile=0.2) == update_rules.get("top-entropy", share=0.2, base=base)
    adapted = {"use_adaptive_entropy": True, "entropy_target": 0.7, "entropy_coef": 0.1,
               "entropy_coef_min": 0.01, "entropy_coef_max": 0.5, "entropy_coef_delta": 0.02}
    assert rule(**adapted) == update_rules.get(
        "entropy-bonus", base=base, normalization="token-mean", coefficient=0.1, target=0.7,
        coefficient_step=0.02, coefficient_low=0.01, coefficient_high=0.5)
    assert rule(entropy_target=0.7) == base
    for beside in ({"entropy_coef": 0.1}, adapted):
        with pytest.raises(ValueError, match=r"top_entropy_quantile=0\.2 beside an entropy bonus"):
            rule(top_entropy_quantile=0.2, **beside)
