"""Guards what llm_bridge/trainer/entropy_trainer.py samples: the policy, and AEPO's second batch."""

from types import SimpleNamespace

import datasets
import numpy as np
import pytest
import requests
import scipy.stats
import torch
import transformers
from trl.generation import vllm_client

from entropy_theory import policy, update_rules
from entropy_theory.targets import Nucleus, TargetPolicy
from llm_bridge.trainer import draws, entropy_trainer, sampling_options
from tests.llm_bridge.language_models import PROMPTS, loaded_llama, low_digit, tabular_trainer
from tests.llm_bridge.recorded_steps import recorded


def test_a_sampling_server_that_ends_in_the_middle_is_one_error(tmp_path):
    """Through TRL's own client: three tracebacks, two of them deep inside urllib3."""
    made = tabular_trainer(tmp_path, update_rules.get("grpo"))

    def post(*_, **__):
        raise requests.ConnectionError("Connection refused")

    client = vllm_client.VLLMClient.__new__(vllm_client.VLLMClient)  # else it wants vLLM's package
    client.session, client.model = SimpleNamespace(post=post), "policy"
    made.use_vllm, made._last_loaded_step = True, made.state.global_step
    made.args.vllm_server_base_url = client.base_url = "http://one:8000"
    made.vllm_generation = SimpleNamespace(
        generate=lambda prompts, num_generations, **_: client.generate(prompts, n=num_generations))
    with pytest.raises(OSError, match=r"the vLLM server at http://one:8000 .*refused.* to resume"):
        made._generate_single_turn([[1]], None, {}, 1)


def test_samples_are_samples_of_the_tempered_policy(tmp_path):
    """Frequencies of both batches fit pi and pi^T; those of pi^T do not fit pi (the test has power)."""
    rule = update_rules.get("aepo", temperature_high=2.0, temperature_low=2.0)
    made = tabular_trainer(tmp_path, rule, samples=1000, learning_rate=1e-12)
    logits = made.model.table.weight.detach().numpy().copy()
    ((part,),) = recorded(made)
    state = part.inputs["prompt_ids"][:, -1].numpy()
    action = part.inputs["completion_ids"][:, 0].numpy()
    tempered = part.inputs["tempered"].numpy()

    def p_value(rows, temperature):
        probabilities = policy.softmax(logits, temperature)
        observed, expected = [], []
        for one in np.unique(state):
            here = rows & (state == one)
            observed.append(np.bincount(action[here], minlength=logits.shape[1]))
            expected.append(here.sum() * probabilities[one])
        flat = np.concatenate(observed), np.concatenate(expected)
        statistic = ((flat[0] - flat[1]) ** 2 / flat[1]).sum()
        return scipy.stats.chi2.sf(statistic, len(observed) * (logits.shape[1] - 1))

    # The seed is fixed: a right sampler misses 1e-3 for one seed in a thousand.
    assert p_value(~tempered, 1.0) > 1e-3
    assert p_value(tempered, 2.0) > 1e-3
    assert p_value(tempered, 1.0) < 1e-9
    assert made.generation_config.temperature == 1.0


def test_the_second_batch_is_sampled_from_the_rules_target(tmp_path):
    """A target that is sampled by top-p changes the second batch, and only that one."""
    rule = update_rules.get("aepo", towards=Nucleus(top_p=0.5), temperature_low=1.0, target=0.0)
    made = tabular_trainer(tmp_path, rule, samples=200, learning_rate=1e-12)
    prob = policy.softmax(made.model.table.weight.detach().numpy())
    ((part,),) = recorded(made)
    state = part.inputs["prompt_ids"][:, -1].numpy()
    action = part.inputs["completion_ids"][:, 0].numpy()
    tempered = part.inputs["tempered"].numpy()
    # In the nucleus: actions above it have less than half of the probability.
    above = (prob[state] * (prob[state] > prob[state, action][:, None])).sum(-1)
    assert (above[tempered] < 0.5).all()
    assert (above[~tempered] >= 0.5).any()
    assert made.generation_config.top_p == 1.0


def test_samples_are_cut_where_trl_cuts_them(tmp_path):
    """To the head of the policy; what is recorded of it is the entropy of the whole."""
    records = []
    made = tabular_trainer(tmp_path, update_rules.get("grpo"), samples=200, learning_rate=1e-12,
                           on_step=records.append, top_p=0.5)
    logits = made.model.table.weight.detach().numpy().copy()
    prob = policy.softmax(logits)
    ((part,),) = recorded(made)
    state = part.inputs["prompt_ids"][:, -1].numpy()
    action = part.inputs["completion_ids"][:, 0].numpy()
    assert ((prob[state] * (prob[state] > prob[state, action][:, None])).sum(-1) < 0.5).all()
    whole = policy.entropy(logits[state]).mean()
    assert records[0]["entropy"] == pytest.approx(whole, abs=1e-6)
    kept = np.where(np.isin(np.arange(prob.shape[1]), action), logits[state[0]], -np.inf)
    assert policy.entropy(kept[None])[0] < 0.9 * policy.entropy(logits[state[:1]])[0]


class Forbids(transformers.LogitsProcessor):
    def __init__(self, token):
        self.token = token

    def __call__(self, tokens, logits):
        return logits.index_fill(1, torch.tensor([self.token]), -torch.inf)


class Without(TargetPolicy):
    """The policy without one token, by a processor of one's own."""

    token = 5

    def generation_options(self):
        return {"logits_processor": [Forbids(self.token)]}


def llama_trainer(folder, rule, *, samples=4, **options):
    model, tokenizer = loaded_llama(folder / "model")
    args = entropy_trainer.grpo_config(
        folder / "run", use_cpu=True, num_generations=samples, max_completion_length=3, max_steps=1,
        per_device_train_batch_size=3 * samples, save_strategy="no", disable_tqdm=True, **options,
    )
    return entropy_trainer.EntropyTrainer(
        model, [low_digit], args, processing_class=tokenizer, rule=rule,
        train_dataset=datasets.Dataset.from_dict({"prompt": list(PROMPTS)}),
    )


def test_a_targets_logits_processor_bends_the_second_batch_alone(tmp_path):
    """Plain rows of a transformer are not drawn by Hugging Face, where the processor acts."""
    made = llama_trainer(tmp_path, update_rules.get("aepo", towards=Without()), samples=64)
    ((part,),) = recorded(made)
    tempered, ids = part.inputs["tempered"], part.inputs["completion_ids"]
    assert (ids[~tempered] == Without.token).any()
    assert not (ids[tempered] == Without.token).any()
    assert len(ids[tempered].unique()) > 10


def test_a_logits_processor_is_refused_where_it_would_not_act(tmp_path):
    rule = update_rules.get("aepo", towards=Without())
    with pytest.raises(ValueError, match=r"logits_processor, which continuous .* plain generation"):
        tabular_trainer(tmp_path, rule, use_transformers_continuous_batching=True)
    made = tabular_trainer(tmp_path, rule)
    made.use_vllm, made.vllm_generation = True, SimpleNamespace(logits_processor=None)
    with pytest.raises(ValueError, match=r"logits_processor, .*use_vllm=False"):
        sampling_options.check_second_batch(made)

    class Single(TargetPolicy):
        def generation_options(self):
            return {"logits_processor": Forbids(1)}

    with pytest.raises(ValueError, match="logits_processor of a target must be a list"):
        tabular_trainer(tmp_path, update_rules.get("aepo", towards=Single()))


def test_continuous_batching_samples_both_batches(tmp_path):
    """TRL's other sampler: the ordinary rows at temperature 1, the second batch at the controller's,
    so low here that all answers of a prompt are the most likely one."""
    made = llama_trainer(
        tmp_path, update_rules.get("aepo", target=0.0, temperature_low=1e-3),
        use_transformers_continuous_batching=True,
        # Left to itself it takes most of the machine's memory.
        transformers_continuous_batching_config={
            "num_blocks": 64, "block_size": 16, "max_batch_tokens": 64},
    )
    ((part,),) = recorded(made)
    tempered, group = part.inputs["tempered"], part.inputs["group"]

    def answers(rows):
        return [len(part.inputs["completion_ids"][rows & (group == k)].unique(dim=0))
                for k in range(3)]

    assert answers(tempered) == [1, 1, 1]
    assert sum(answers(~tempered)) > 6


def test_a_fraction_of_the_prompts(tmp_path):
    """tempered_fraction 1/4 (the authors' code): of six prompts the first two are answered again."""
    made = tabular_trainer(tmp_path, update_rules.get("aepo"), fraction=0.25, repeats=2)
    ((part,),) = recorded(made)
    tempered = part.inputs["tempered"]
    assert int(tempered.sum()) == 16
    assert len(part.inputs["group"][tempered].unique()) == 2
    for weights in (part.batch.weight[tempered], part.batch.weight[~tempered]):
        assert float(weights.sum()) == pytest.approx(1, abs=1e-6)


def test_a_step_without_ordinary_rows_is_recorded_without_their_means(tmp_path):
    """Small steps of a generation may hold rows of AEPO's second batch only."""
    records = []
    made = tabular_trainer(tmp_path, update_rules.get("aepo"), on_step=records.append, steps=24,
                           micro_batches=12, gradient_accumulation_steps=1,
                           steps_per_generation=12)
    made.train()
    assert len(records) == 24
    missing = [r for r in records if r["reward"] is None]
    assert missing
    assert all(np.isfinite(r["entropy"]) for r in records if r["reward"] is not None)


def test_no_correction_for_the_sampler_reaches_the_second_batch(tmp_path):
    """vLLM's importance correction would weigh samples of pi^T by pi / pi^T, and so undo AEPO."""
    made = tabular_trainer(tmp_path, update_rules.get("aepo"))
    made.vllm_importance_sampling_correction = True
    with draws.sampling_at(made, 1.2):
        assert not made.vllm_importance_sampling_correction
        assert made.generation_config.temperature == 1.2
    assert made.vllm_importance_sampling_correction
    assert made.generation_config.temperature == 1.0
