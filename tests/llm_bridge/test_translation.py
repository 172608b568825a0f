"""Guards llm_bridge/trainer/translation.py: the rule that TRL's options describe takes the step of TRL's
own loss, on the same completions of uneven lengths.

Oracle: TRL's GRPOTrainer. Rewards are in the ten thousands, so that the 1e-4 that TRL adds to their
standard deviation is rounding.
"""

import datasets
import pytest
import torch
import transformers
import trl

from entropy_theory import update_rules
from llm_bridge.trainer import EntropyTrainer, from_trl
from tests.llm_bridge.llama_steps import llama, weights

PROMPTS = ("1", "12+3=", "412+27=")
LONGEST, GROUP = 6, 8
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
    "sequence ratios": {"loss_type": "grpo", "importance_sampling_level": "sequence"},
    "sequence ratios, dapo": {"importance_sampling_level": "sequence"},
    "no standard deviation": {"loss_type": "grpo", "scale_rewards": "none"},
    "asymmetric clip": {"epsilon": 0.1, "epsilon_high": 0.4},
    "dual clip": {"epsilon": 0.2, "delta": 1.3},
    "reference": {"beta": 0.3, "use_bias_correction_kl": False},
    "corrected reference": {"beta": 0.3},
    "reference, sequence ratios": {
        "beta": 0.3, "use_bias_correction_kl": False, "importance_sampling_level": "sequence"},
    "entropy bonus": {"entropy_coef": 0.2},
    "temperature": {"temperature": 0.7, "learning_rate": 0.01},
}
CUT = {"gradient_accumulation_steps": 2, "per_device_train_batch_size": 12}
"""Two micro-batches, whose rows TRL draws at random."""


def dealt(stop: int):
    """In place of sampling: completions of uneven lengths, some of them cut off."""

    def completions(prompt_ids, *_, **__):
        generator = torch.Generator().manual_seed(5)
        found = []
        for row in range(len(prompt_ids)):
            length = int(torch.randint(1, LONGEST + 1, (), generator=generator))
            tokens = torch.randint(4, 14, (length,), generator=generator).tolist()
            found.append([*tokens[:-1], stop] if row % 3 else tokens)
        return found, None

    return completions


def judge(completion_ids, **_):
    """Rewards that depend on the tokens, spread by ten thousand."""
    return [1e4 * (sum(ids[:3]) % 7) / 7 for ids in completion_ids]


class Weights(transformers.TrainerCallback):
    """The weights before each optimizer step, and after the last."""

    def __init__(self, made):
        self.made, self.found = made, []

    def on_pre_optimizer_step(self, *_, **__):
        self.found.append(weights(self.made))

    on_train_end = on_pre_optimizer_step


def trained(folder, kind, options, **more):
    """The changes of the weights at two steps on one generation."""
    model, tokenizer = llama()
    # Both load the reference that the model names.
    path = folder / "start"
    if not path.exists():
        model.save_pretrained(path)
        tokenizer.save_pretrained(path)
    model = type(model).from_pretrained(path, dtype=torch.float64)
    model.generation_config = llama()[0].generation_config
    arguments = trl.GRPOConfig(**{
        "output_dir": str(folder / "run"), "use_cpu": True, "bf16": False, "logging_steps": 1,
        "per_device_train_batch_size": len(PROMPTS) * GROUP, "num_generations": GROUP,
        "max_completion_length": LONGEST, "num_iterations": 2, "max_steps": 2, "optim": "sgd",
        "max_grad_norm": 0.0, "learning_rate": 0.03, "lr_scheduler_type": "constant",
        "save_strategy": "no", "shuffle_dataset": False, "disable_tqdm": True,
        "dataloader_pin_memory": False, "gradient_checkpointing": False, "disable_dropout": True,
        **options})
    more = {name: value(arguments) for name, value in more.items()}
    made = kind(model, [judge], arguments, processing_class=tokenizer, **more,
                train_dataset=datasets.Dataset.from_dict({"prompt": list(PROMPTS) * 2}))
    made.remove_callback(transformers.PrinterCallback)
    made._generate_single_turn = dealt(tokenizer.eos_token_id)
    seen = Weights(made)
    made.add_callback(seen)
    made.train()
    steps = [{name: after[name] - before[name] for name in after}
             for before, after in zip(seen.found, seen.found[1:], strict=False)]
    return steps, made


def assert_same(found, expected, largest_difference=SAME):
    for own, theirs in zip(found, expected, strict=True):
        largest = max(float(change.abs().max()) for change in theirs.values())
        assert largest > 1e-3
        worst = max(float((own[name] - theirs[name]).abs().max()) for name in theirs)
        assert worst <= largest_difference * largest


@pytest.mark.parametrize("case", CASES)
def test_the_step_is_that_of_trl_s_loss(tmp_path, case):
    """On-policy, and at a second step on the same completions where ratios are clipped."""
    options = CASES[case]
    if options.get("scale_rewards") == "none":
        options = {**options, "learning_rate": 5e-6}
    expected, theirs = trained(tmp_path, trl.GRPOTrainer, options)
    found, _ = trained(tmp_path, EntropyTrainer, options, rule=from_trl)
    clipped = theirs.state.log_history[1].get("clip_ratio/region_mean")
    assert clipped > 0.05
    assert_same(found, expected)


@pytest.mark.parametrize("case", ["grpo", "dapo", "dr_grpo", "corrected reference"])
def test_micro_batches_change_nothing(tmp_path, case):
    expected, _ = trained(tmp_path, trl.GRPOTrainer, {**CASES[case], **CUT})
    found, _ = trained(tmp_path, EntropyTrainer, {**CASES[case], **CUT}, rule=from_trl)
    assert_same(found, expected)


@pytest.mark.parametrize(("options", "message"), [
    ({"loss_type": "cispo"}, "loss_type"), ({"loss_type": "sapo"}, "loss_type"),
    ({"loss_type": "vespo"}, "loss_type"), ({"scale_rewards": "batch"}, "scale_rewards"),
    ({"delta": 1.1}, "below the upper clip"),
    ({"beta": 0.1, "importance_sampling_level": "sequence"}, "use_bias_correction_kl=False"),
])
def test_what_no_rule_expresses_is_refused(tmp_path, options, message):
    arguments = trl.GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, **options)
    with pytest.raises(ValueError, match=message):
        from_trl(arguments)


def test_a_plain_configuration_is_a_rule(tmp_path):
    """TRL's defaults: DAPO's mean over tokens, and the standard deviation over G - 1."""
    arguments = trl.GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False)
    assert from_trl(arguments) == update_rules.get("grpo", normalization="token-mean", std_ddof=1)
