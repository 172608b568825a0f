"""Guards llm_bridge/trainer.py, rows.py and checkpoints.py: TRL takes the step that the rule says."""

import importlib.util
import inspect
import os
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats
import torch
import transformers
import trl

from entropy_theory import entropy_change, policy, tabular, update_rules
from entropy_theory.token_batch import TokenBatch
from llm_bridge import rows, trainer
from tests.llm_bridge.language_models import PROMPTS, low_digit, tabular_trainer
from tests.llm_bridge.language_models import tabular as tabular_model
from tests.tolerances import FLOAT64, SAME_STEP

BASIC = [(name, {}) for name in update_rules.RULES]
RULES = [*BASIC, ("aepo", {"alpha": 2.0, "normalize": "positives"}),
         ("aepo", {"ablation": "untempered"}), ("aepo", {"ablation": "advantage"})]


class Recorder(transformers.TrainerCallback):
    """Keeps what each optimizer step was computed from."""

    def __init__(self, trainer):
        self.trainer, self.steps = trainer, []

    def on_optimizer_step(self, *_, **__):
        self.steps.append(list(self.trainer.micro_batches))


def recorded(made):
    recorder = Recorder(made)
    made.add_callback(recorder)
    made.train()
    return recorder.steps


def rebuilt_batch(parts, logits, tokenizer) -> TokenBatch:
    """The step's batch from the sampled tokens alone, by other means than the trainer's."""
    state = np.concatenate([p.inputs["prompt_ids"][:, -1].numpy() for p in parts])[:, None]
    action = np.concatenate([p.inputs["completion_ids"].numpy() for p in parts])
    tempered = np.concatenate([p.inputs["tempered"].numpy() for p in parts])[:, None]
    temperature = np.concatenate([p.inputs["sampling_temperature"].numpy() for p in parts])[:, None]
    texts = tokenizer.batch_decode(action.tolist(), skip_special_tokens=True)
    log_prob = policy.log_softmax(logits)[state, action]
    count = np.where(tempered, tempered.sum(), (~tempered).sum())
    return TokenBatch(
        log_prob=log_prob, old_log_prob=log_prob, mask=np.ones(state.shape, bool),
        reward=np.array(low_digit(None, texts))[:, None], weight=1.0 / count,
        entropy=policy.entropy(logits)[state], sampling_temperature=temperature,
        tempered=tempered, group=state, state=state, action=action,
    )


@pytest.mark.parametrize("micro_batches", [1, 4])
@pytest.mark.parametrize(("name", "options"), RULES, ids=lambda v: str(v))
def test_trl_takes_the_simulators_step(tmp_path, name, options, micro_batches):
    """One rule, two scales, through all of TRL: SGD on a tabular policy moves its logits by exactly
    learning rate x the simulator's step, however the rows are cut (accumulation does not rescale).
    """
    rule = update_rules.get(name, **options)
    made = tabular_trainer(tmp_path, rule, micro_batches=micro_batches)
    table = made.model.table.weight
    before = table.detach().numpy().copy()
    (parts,) = recorded(made)
    assert len(parts) == micro_batches
    batch = rebuilt_batch(parts, before, made.processing_class)
    assert 0 < batch.reward.mean() < 1
    expected = 0.5 * tabular.logit_step(before, batch, rule)
    assert np.abs(expected).max() > 1e-2
    np.testing.assert_allclose(table.detach().numpy() - before, expected, rtol=0, atol=SAME_STEP)


def test_several_steps_on_one_generation_share_its_statistics(tmp_path):
    """With k optimizer steps a generation each step's weights are k/N: their sum is k whole steps.

    The learning rate is so small that the policy does not move between the steps: the ratio, and
    with it the sum of steps, is off by about the learning rate.
    """
    rate = 1e-9
    rule = update_rules.get("grpo")
    made = tabular_trainer(tmp_path, rule, micro_batches=2, steps=2, learning_rate=rate,
                           gradient_accumulation_steps=1, steps_per_generation=2)
    before = made.model.table.weight.detach().numpy().copy()
    first, second = recorded(made)
    batch = rebuilt_batch(first + second, before, made.processing_class)
    found = (made.model.table.weight.detach().numpy() - before) / rate
    # Logits of order 1 are stored to 1e-16: 1e-7 after division by the rate.
    np.testing.assert_allclose(found, 2 * tabular.logit_step(before, batch, rule), atol=1e-6)


def test_an_off_policy_step_sees_the_policy_that_sampled(tmp_path):
    """num_iterations 2: the second step's ratios are pi over the policy of the first."""
    made = tabular_trainer(tmp_path, update_rules.get("grpo"), steps=2, num_iterations=2)
    first, second = recorded(made)
    np.testing.assert_array_equal(
        first[0].inputs["completion_ids"], second[0].inputs["completion_ids"]
    )
    np.testing.assert_array_equal(first[0].batch.log_prob, second[0].batch.old_log_prob)
    assert (first[0].batch.log_prob - second[0].batch.log_prob).abs().max() > 1e-3


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


def test_the_switch_reads_the_true_entropy(tmp_path):
    """Full-vocabulary entropy at T = 1 of the ordinary rows, before the second batch is drawn."""
    records = []
    rule = update_rules.get("aepo", target=0.5)
    made = tabular_trainer(tmp_path, rule, on_step=records.append)
    logits = made.model.table.weight.detach().numpy().copy()
    recorded(made)
    ids = made.processing_class(list(PROMPTS)).input_ids
    expected = policy.entropy(logits)[[row[-1] for row in ids]].mean()
    assert records[0]["entropy"] == pytest.approx(expected, abs=64 * FLOAT64)
    assert made.controller.entropy == pytest.approx(expected, abs=64 * FLOAT64)
    assert records[0]["temperature"] == 0.8
    raised = tabular_trainer(tmp_path, update_rules.get("aepo", target=9.0), on_step=records.append)
    raised.train()
    assert records[1]["temperature"] == 1.2


@pytest.mark.parametrize("name", ["grpo", "aepo"])
def test_a_step_without_positives_is_a_step_without_that_term(tmp_path, name):
    """No right answer at all: nothing moves, the log says why, nothing crashes."""
    records = []

    def never(prompts, completions, **_):
        return [0.0] * len(completions)

    made = tabular_trainer(
        tmp_path, update_rules.get(name), reward=never, on_step=records.append
    )
    before = made.model.table.weight.detach().clone()
    made.train()
    torch.testing.assert_close(made.model.table.weight.detach(), before, rtol=0, atol=0)
    assert records[0]["groups_without_signal"] == 1
    assert records[0]["tempered_positive_share"] == (0 if name == "aepo" else None)


def test_a_completion_nobody_can_judge_takes_no_part(tmp_path):
    """A reward function may return None; the row then has no weight."""

    def partly(prompts, completions, **_):
        rewards = low_digit(prompts, completions)
        return [None if i == 0 else r for i, r in enumerate(rewards)]

    made = tabular_trainer(tmp_path, update_rules.get("grpo"), reward=partly)
    ((part,),) = recorded(made)
    assert int((~part.batch.mask).sum()) == 1
    assert float(part.batch.weight.sum()) == pytest.approx(1, abs=1e-6)


def test_a_fraction_of_the_prompts(tmp_path):
    """tempered_fraction 1/4 (the authors' code): of six prompts the first two are answered again."""
    made = tabular_trainer(tmp_path, update_rules.get("aepo"), fraction=0.25, repeats=2)
    ((part,),) = recorded(made)
    tempered = part.inputs["tempered"]
    assert int(tempered.sum()) == 16
    assert len(part.inputs["group"][tempered].unique()) == 2
    for weights in (part.batch.weight[tempered], part.batch.weight[~tempered]):
        assert float(weights.sum()) == pytest.approx(1, abs=1e-6)


def test_record_of_a_step(tmp_path):
    """Each number of metrics.jsonl, computed by other means."""
    records = []
    rule = update_rules.get("entropy-bonus", coefficient=0.3)
    made = tabular_trainer(tmp_path, rule, on_step=records.append)
    before = made.model.table.weight.detach().numpy().copy()
    ((part,),) = recorded(made)
    (record,) = records
    batch = rebuilt_batch([part], before, made.processing_class)
    states = np.unique(batch.state)
    answers = [len(np.unique(batch.action[batch.state == state])) for state in states]
    assert record["step"] == 1
    assert record["reward"] == pytest.approx(batch.reward.mean())
    assert record["distinct_answers"] == np.mean(answers)
    assert record["coefficient"] == 0.3
    assert record["temperature"] is None
    assert record["mean_length"] == 1
    # Under SGD on a tabular policy the forecast is the first-order change of the mean entropy.
    step = 0.5 * tabular.logit_step(before, batch, rule)
    change = entropy_change.first_order(before, step)[states].mean()
    assert record["forecast_entropy_change"] == pytest.approx(change, abs=SAME_STEP)


@pytest.mark.parametrize(
    ("option", "value"),
    [("temperature", 0.7), ("top_k", 50), ("top_p", 0.9), ("repetition_penalty", 1.1),
     ("beta", 0.04), ("entropy_coef", 0.01), ("disable_dropout", False), ("delta", 1.5),
     ("importance_sampling_level", "sequence")],
)
def test_options_behind_the_rules_back_are_refused(tmp_path, option, value):
    with pytest.raises(ValueError, match=option):
        tabular_trainer(tmp_path, update_rules.get("grpo"), **{option: value})


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


def test_equal_prefixes_share_a_state_whatever_their_padding():
    ids = torch.tensor([[0, 0, 5, 6, 7], [5, 6, 7, 9, 0], [0, 5, 6, 8, 9]])
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 0], [0, 1, 1, 1, 1]])
    states = rows.prefix_states(ids, mask)
    assert states[0, 4] == states[1, 2] == states[2, 3]  # 5 6
    assert states[0, 5] == states[1, 3]  # 5 6 7
    assert states[1, 4] == states[1, 5]  # padding on the right adds nothing
    assert len(states[1, :5].unique()) == 5
    assert states[2, 4] != states[1, 3]


def test_many_prefixes_have_many_states():
    """A weak hash (of the token's low bits, say) would collide here."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 2**17, (20000, 3), generator=generator)
    states = rows.prefix_states(ids, torch.ones_like(ids))[:, -1]
    assert len(states.unique()) == len(torch.unique(ids, dim=0))


HOOKS = {
    "_generate_and_score_completions": ["self", "inputs"],
    "_calculate_rewards": ["self", "inputs", "prompts", "completions", "completion_ids_list"],
    "_compute_loss": ["self", "model", "inputs"],
    "_prepare_inputs": ["self", "generation_batch"],
    "_save_checkpoint": ["self", "model", "trial"],
    "_load_optimizer_and_scheduler": ["self", "checkpoint"],
    "_send_telemetry": ["self"],
    "_get_learning_rate": ["self"],
    "_get_output_dir": ["self", "trial"],
}


@pytest.mark.parametrize("hook", HOOKS)
def test_contract_trl_still_has_the_hooks_we_override(hook):
    method = getattr(trl.GRPOTrainer, hook, None)
    message = (
        f"TRL {trl.__version__} has moved GRPOTrainer.{hook}, which EntropyTrainer relies on: "
        "adapt llm_bridge/trainer.py, or pin the TRL version before it"
    )
    assert method is not None, message
    found = list(inspect.signature(inspect.unwrap(method)).parameters)
    assert found == HOOKS[hook], message


def test_contract_trl_still_hands_over_these_rows(tmp_path, monkeypatch):
    """The keys and shapes of TRL's batch dictionary, and the attributes that steer its sampling."""
    seen = {}
    original = trl.GRPOTrainer._generate_and_score_completions

    def spy(self, inputs):
        seen.update(original(self, inputs))
        return dict(seen)

    monkeypatch.setattr(trl.GRPOTrainer, "_generate_and_score_completions", spy)
    made = tabular_trainer(tmp_path, update_rules.get("grpo"))
    made.train()
    count = len(PROMPTS) * 8
    for key in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask"):
        assert seen[key].shape[0] == count, f"TRL {trl.__version__}: batch key {key} changed"
    assert seen["num_items_in_batch"].ndim == 0
    for attribute in ("generation_config", "use_vllm", "vllm_importance_sampling_correction",
                      "reward_weights", "num_generations", "aux_loss_enabled", "_metrics", "_logs",
                      "current_gradient_accumulation_steps"):
        assert hasattr(made, attribute), f"TRL {trl.__version__}: GRPOTrainer.{attribute} is gone"


def test_contract_vllm_samples_at_a_live_temperature():
    """The second batch sets VLLMGeneration.temperature around one call: it must be read there."""
    spec = inspect.getsource(inspect.getmodule(trl.GRPOTrainer))
    assert "self.vllm_generation = VLLMGeneration(" in spec
    found = importlib.util.find_spec("trl.generation.vllm_generation")
    assert found is not None
    assert found.origin is not None
    source = Path(found.origin).read_text(encoding="utf-8")
    generate = source[source.index("def generate(") :]
    assert "self.temperature" in generate, "TRL fixes vLLM's temperature at construction now"


def test_trl_2_is_not_let_in():
    """The hooks are pinned by the package's own requirement."""
    assert any("trl" in line and "<2" in line and ">=1.15" in line
               for line in requires("policy-entropy") or [])


def test_plain_rows_need_no_second_forward(tmp_path, monkeypatch):
    """On-policy GRPO in one micro-batch: one forward pass a step, that of the loss."""
    calls = []
    original = trainer.EntropyTrainer.logits
    monkeypatch.setattr(
        trainer.EntropyTrainer, "logits",
        lambda self, *arguments: calls.append(1) or original(self, *arguments),
    )
    tabular_trainer(tmp_path, update_rules.get("grpo"), steps=3).train()
    assert len(calls) == 3


def test_two_ranks_take_the_step_of_all_their_rows(tmp_path):
    """Data parallelism averages gradients, and one prompt's samples lie on both ranks: neither may
    show. Guards every statistic that a rank could compute on its own rows."""
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone",
         "--module", "tests.llm_bridge.two_processes", str(tmp_path)],
        cwd=root, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
        check=False, timeout=300,  # two ranks that wait for each other would wait for ever
    )
    assert run.returncode == 0, run.stderr[-3000:]
    step = torch.load(tmp_path / "step.pt", weights_only=True)
    parts = [SimpleNamespace(inputs=inputs) for inputs in step["parts"]]
    assert len(parts) == 2
    ordinary = [part.inputs["group"][~part.inputs["tempered"]] for part in parts]
    assert set(ordinary[0].tolist()) & set(ordinary[1].tolist())  # a group on both ranks
    before = step["before"].numpy()
    tokenizer = tabular_model()[1]
    batch = rebuilt_batch(parts, before, tokenizer)
    rule = update_rules.get("aepo", alpha=2.0, normalize="positives")
    expected = 0.5 * tabular.logit_step(before, batch, rule)
    assert np.abs(expected).max() > 1e-2
    for after in step["after"].numpy():
        np.testing.assert_allclose(after - before, expected, rtol=0, atol=SAME_STEP)
    (record,) = step["record"]
    assert record["reward"] == pytest.approx(batch.reward[~batch.tempered].mean())
