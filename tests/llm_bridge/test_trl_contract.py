"""Pins everything of TRL that llm_bridge relies on and TRL does not promise.

A release that moves any of it fails here, with a sentence that names what moved, and not on a user's
cluster.
"""

import dataclasses
import importlib.util
import inspect
import re
import tomllib
from pathlib import Path

import pytest
import torch
import transformers
import trl
import trl.models
import trl.trainer.utils

from entropy_theory import update_rules
from llm_bridge.trainer import trl_release
from tests.llm_bridge.language_models import PROMPTS, grpo_trainer, tabular_trainer, tiny_llama


def moved(what: str) -> str:
    return (
        f"TRL {trl.__version__}: {what}, which llm_bridge relies on: adapt llm_bridge/trainer/ and "
        "llm_bridge/diagnostics.py, or pin the TRL version before it"
    )


HOOKS = {
    "_generate_and_score_completions": ["self", "inputs"],
    "_calculate_rewards": ["self", "inputs", "prompts", "completions", "completion_ids_list"],
    "_compute_loss": ["self", "model", "inputs"],
    "compute_loss": ["self", "model", "inputs", "return_outputs", "num_items_in_batch"],
    "_prepare_inputs": ["self", "generation_batch"],
    "train": ["self", "resume_from_checkpoint", "trial", "ignore_keys_for_eval"],
    "log": ["self", "logs", "start_time"],
    "_save_checkpoint": ["self", "model", "trial"],
    "_load_optimizer_and_scheduler": ["self", "checkpoint"],
    "_send_telemetry": ["self"],
    "_get_learning_rate": ["self"],
    "_get_output_dir": ["self", "trial"],
}
"""Methods that are overridden, wrapped or called, with all their parameters."""


@pytest.mark.parametrize("hook", HOOKS)
def test_the_hooks_have_their_parameters(hook):
    method = getattr(trl.GRPOTrainer, hook, None)
    assert method is not None, moved(f"GRPOTrainer.{hook} is gone")
    found = list(inspect.signature(inspect.unwrap(method)).parameters)
    assert found == HOOKS[hook], moved(f"GRPOTrainer.{hook} takes {found}, not {HOOKS[hook]}")


def test_scoring_takes_its_first_parameters_in_this_order():
    """Behind these come images and the like, which are passed on or ignored."""
    method = trl.GRPOTrainer._get_per_token_logps_and_entropies
    found = list(inspect.signature(inspect.unwrap(method)).parameters)[:7]
    assert found == ["self", "model", "input_ids", "attention_mask", "logits_to_keep", "batch_size",
                     "compute_entropy"], moved(
        f"_get_per_token_logps_and_entropies begins with {found}"
    )


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (trl.trainer.utils.create_model_from_path, ["model_id", "architecture", "kwargs"]),
        (trl.trainer.utils.is_async_callable, ["func"]),
        (trl.models.prepare_deepspeed, ["model", "accelerator"]),
        (trl.models.prepare_fsdp, ["model", "accelerator"]),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_the_functions_have_their_parameters(function, parameters):
    found = list(inspect.signature(function).parameters)
    assert found == parameters, moved(f"{function.__name__} takes {found}, not {parameters}")


@pytest.mark.parametrize("option", [
    "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "disable_dropout", "beta",
    "entropy_coef", "use_adaptive_entropy", "top_entropy_quantile", "off_policy_mask_threshold",
    "delta", "importance_sampling_level", "loss_type", "shuffle_dataset", "num_generations",
    "num_iterations", "steps_per_generation", "max_completion_length", "generation_kwargs",
    "model_init_kwargs", "trust_remote_code", "mask_truncated_completions",
    "use_transformers_continuous_batching", "transformers_continuous_batching_config",
])
def test_the_options_are_there(option):
    names = {field.name for field in dataclasses.fields(trl.GRPOConfig)}
    assert option in names, moved(f"GRPOConfig.{option} is gone")


@pytest.mark.parametrize("attribute", [
    "generation_config", "use_vllm", "vllm_importance_sampling_correction", "reward_weights",
    "num_generations", "num_iterations", "aux_loss_enabled", "temperature", "_metrics", "_logs",
    "_step", "_buffered_inputs", "_tokenizer", "current_gradient_accumulation_steps",
    "is_deepspeed_enabled", "is_fsdp_enabled",
])
def test_the_attributes_are_there(trained, attribute):
    assert hasattr(trained[0], attribute), moved(f"GRPOTrainer.{attribute} is gone")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A GRPOTrainer of TRL's own after two optimizer steps, and what passed through its hooks."""
    seen: dict = {"rows": [], "rewards": [], "losses": [], "scores": []}

    class Spy(trl.GRPOTrainer):
        def _generate_and_score_completions(self, inputs):
            rows = super()._generate_and_score_completions(inputs)
            seen["rows"].append(rows)
            return rows

        def _calculate_rewards(self, *arguments):
            seen["rewards"].append(super()._calculate_rewards(*arguments))
            return seen["rewards"][-1]

        def _compute_loss(self, model, inputs):
            buffered = self._buffered_inputs[self._step % self.args.steps_per_generation]
            seen["losses"].append((self._step, inputs is buffered, len(self._buffered_inputs)))
            return super()._compute_loss(model, inputs)

        def _get_per_token_logps_and_entropies(self, *arguments, **options):
            found = super()._get_per_token_logps_and_entropies(*arguments, **options)
            seen["scores"].append((found, torch.is_grad_enabled(), arguments, options))
            return found

    folder = tmp_path_factory.mktemp("contract")
    from llm_bridge.data import models

    model, tokenizer = models.load(str(tiny_llama(folder / "model")))
    models.sample_plainly(model, tokenizer)
    made = grpo_trainer(folder / "run", model, tokenizer, kind=Spy, steps=2, micro_batches=2,
                        num_iterations=2, tokens=3)
    made.train()
    return made, seen


def test_rows_have_their_keys_and_shapes(trained):
    """The batch dictionary that rules' columns are added to."""
    (rows,) = trained[1]["rows"]
    count = len(PROMPTS) * 8
    for key in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask"):
        assert key in rows, moved(f"the batch has no {key}")
        assert rows[key].ndim == 2, moved(f"batch key {key} is not [rows, positions]")
        assert len(rows[key]) == count, moved(f"batch key {key} has {len(rows[key])} rows")
    assert rows["advantages"].shape == (count,), moved("advantages are not one a row")
    assert rows["num_items_in_batch"].ndim == 0, moved("num_items_in_batch is no scalar")


def test_rewards_are_those_of_all_rows_and_functions(trained):
    (rewards,) = trained[1]["rewards"]
    assert rewards.shape == (len(PROMPTS) * 8, 1), moved(
        f"_calculate_rewards returns {tuple(rewards.shape)}, not [rows of all ranks, functions]"
    )


def test_micro_batches_come_from_the_buffer_in_their_order(trained):
    """Where a rule is prepared again, by place in the buffer, before a later step."""
    losses = trained[1]["losses"]
    assert [step for step, _, _ in losses] == [0, 1, 2, 3], moved("_step does not count micro-batches")
    assert all(same for _, same, _ in losses), moved("the loss does not get the buffer's own rows")
    assert {size for _, _, size in losses} == {2}, moved("the buffer is not one part a micro-batch")


def test_columns_of_our_own_reach_the_loss():
    """Whatever a rule adds is shuffled and split with the rows; scalars are left alone."""
    rows = {"prompt_ids": torch.arange(4)[:, None], "prepared/x": torch.arange(4) * 10.0,
            "num_items_in_batch": torch.tensor(7)}
    parts = trl.trainer.utils.split_tensor_dict(trl.trainer.utils.shuffle_sequence_dict(rows), 2)
    assert len(parts) == 2, moved("split_tensor_dict gives another number of parts")
    for part in parts:
        assert set(part) == set(rows), moved("unknown columns do not travel with the rows")
        torch.testing.assert_close(part["prepared/x"], part["prompt_ids"][:, 0] * 10.0)
        assert part["num_items_in_batch"] == 7, moved("scalars of the batch are split")


def test_the_loss_scores_once_with_gradients(trained):
    """Where diagnostics read a loss's coefficients: below 1.15 entropies had no gradient."""
    scores = [entry for entry in trained[1]["scores"] if entry[1]]
    assert len(scores) == 4, moved("the loss does not score each micro-batch by one call")
    for (log_prob, entropy, _), _, arguments, _ in scores:
        assert log_prob.requires_grad, moved("scored log-probabilities carry no gradient")
        assert entropy.requires_grad, moved("scored entropies carry no gradient")
        keep = arguments[3]
        assert log_prob.shape == (12, keep), moved("scores are not [rows, completion positions]")
        assert entropy.shape == (12, keep), moved("entropies are not [rows, completion positions]")


def test_the_model_still_gives_logits(trained):
    """TRL patches its forward; without TRL's own flag it must be the model's."""
    made, seen = trained
    (rows,) = seen["rows"]
    with torch.no_grad():
        output = made.model(input_ids=rows["prompt_ids"], logits_to_keep=1)
    shape = (len(PROMPTS) * 8, 1, made.model.config.vocab_size)
    assert output.logits is not None, moved("the patched forward gives no logits")
    assert output.logits.shape == shape, moved("the patched forward ignores logits_to_keep")


def test_sampling_reads_a_live_temperature(tmp_path):
    """The second batch sets generation_config.temperature around one call, and TRL must read it."""
    rule = update_rules.get("aepo", target=0.0, temperature_low=1e-3)
    made = tabular_trainer(tmp_path, rule)
    best = made.model.table.weight.detach().argmax(-1)
    rows = []
    original = made._prepare_inputs
    made._prepare_inputs = lambda batch: rows.append(original(batch)) or rows[-1]
    made.train()
    tempered = rows[0]["tempered"]
    greedy = best[rows[0]["prompt_ids"][tempered, -1]]
    assert torch.equal(rows[0]["completion_ids"][tempered, 0], greedy), moved(
        "generation_config.temperature is not read at each call"
    )


def test_generation_builds_its_logits_processors_in_one_place():
    """Where `llm_bridge/sampling/logits_processors.py` adds those of a target."""
    method = getattr(transformers.GenerationMixin, "_get_logits_processor", None)
    assert method is not None, moved("transformers' GenerationMixin._get_logits_processor is gone")
    assert "logits_processor" in inspect.signature(method).parameters, moved(
        "transformers' _get_logits_processor takes no logits_processor")


def test_vllm_samples_at_a_live_temperature():
    """The second batch sets VLLMGeneration.temperature around one call: it must be read there."""
    spec = inspect.getsource(inspect.getmodule(trl.GRPOTrainer))
    assert "self.vllm_generation = VLLMGeneration(" in spec, moved("vllm_generation is made elsewhere")
    found = importlib.util.find_spec("trl.generation.vllm_generation")
    assert found is not None, moved("trl.generation.vllm_generation is gone")
    assert found.origin is not None
    source = Path(found.origin).read_text(encoding="utf-8")
    generate = source[source.index("def generate(") :]
    assert "self.temperature" in generate, moved("vLLM's temperature is fixed at construction")


def test_a_model_is_unwrapped_for_sampling_with_its_checkpointing():
    """draws.plain_groups; TRL 1.15 has no such parameter."""
    found = inspect.signature(trl.models.unwrap_model_for_generation).parameters
    assert "gradient_checkpointing_kwargs" in found, moved(
        "unwrap_model_for_generation takes no gradient_checkpointing_kwargs")


def test_another_trl_is_let_in_nowhere():
    """By the package's requirement, and by one line at import for who installs it all the same."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    (pin,) = [pin for pin in tomllib.loads(text)["project"]["optional-dependencies"]["llm"]
              if pin.startswith("trl")]
    for other in ("1.15.0", "1.17.0", "2.16.0", "1.160.0"):
        with pytest.raises(ImportError, match=f"and {other} is installed: pip install '{pin}'$"):
            trl_release.check_release(other)
    trl_release.check_release("1.16.7")


def test_trl_is_imported_in_one_place():
    """Whose check of the release comes before all that another one lacks."""
    root = Path(trl_release.__file__).parents[1]
    found = [path.name for path in root.rglob("*.py")
             if re.search(r"^\s*(from|import) trl\b", path.read_text(encoding="utf-8"), re.MULTILINE)]
    assert found == ["trl_release.py"]
