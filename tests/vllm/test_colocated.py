"""Guards the vLLM paths of llm_bridge (sampler `vllm`, TRL's colocated engine) on a real engine.

The engine is vLLM's for CPUs, on the bundled small model.
"""

import contextlib

import pytest

pytest.importorskip("vllm")

import datasets
import torch
import transformers
import vllm
from vllm.model_executor.layers import utils as layers

from entropy_theory import policy, update_rules
from llm_bridge.data import models
from llm_bridge.sampling import sampling
from llm_bridge.trainer import EntropyTrainer, grpo_config
from tests.llm_bridge.language_models import low_digit

pytestmark = pytest.mark.filterwarnings("ignore")
"""vLLM's warnings, and TRL's that this vLLM is newer than those it lists."""

PROMPTS = ["12+3=", "4+5=", "30+27=", "8+1="]
IN_BFLOAT16 = 64 * 2.0**-8
"""Nats, root mean square: `FORWARD_ROUNDINGS` of bfloat16, in which the engine holds the weights."""


def rms(difference: torch.Tensor) -> float:
    return float(difference.double().square().mean().sqrt())


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_the_sampler_draws_from_the_tempered_policy(folder, temperature):
    """vLLM's own log-probabilities are those of softmax(logits / T) of the model in memory; the sampler
    compares them and refuses another model. A completion ends at its stop token, and none goes on."""
    model, tokenizer = models.load(folder)
    found = sampling.sample(model, tokenizer, PROMPTS, num_samples=64, max_new_tokens=8,
                            temperature=temperature, sampler="vllm", seed=3)
    plain = sampling.sample(model, tokenizer, PROMPTS, num_samples=64, max_new_tokens=8,
                            temperature=temperature, sampler="generate", seed=4)
    assert len(found.mask) == len(PROMPTS) * 64
    # 256 sequences of either sampler: the mean of -log pi^T has this standard error.
    means = []
    for drawn in (found, plain):
        total = -(drawn.sampling_log_prob * drawn.mask).sum(-1)
        means.append((float(total.mean()), float(total.std()) / len(total) ** 0.5))
    (one, error), (other, its) = means
    assert abs(one - other) < 5 * (error**2 + its**2) ** 0.5


class Steps(transformers.TrainerCallback):
    """What each optimizer step was made of, and the weights it started from."""

    def __init__(self, made):
        self.made, self.parts, self.weights = made, [], []

    def on_step_begin(self, *_, **__):
        self.weights.append({n: w.detach().clone() for n, w in self.made.model.named_parameters()})

    def on_pre_optimizer_step(self, *_, **__):
        self.parts.append([part.inputs for part in self.made.micro_batches])


def trainer(folder, output, rule, *, dtype=torch.float32, **options):
    model, tokenizer = models.load(folder)
    model = model.to(dtype)
    arguments = grpo_config(
        output, use_cpu=True, max_steps=3, disable_tqdm=True, use_vllm=True, vllm_mode="colocate",
        vllm_gpu_memory_utilization=0.05, vllm_max_model_length=32, max_completion_length=8,
        save_strategy="no", optim="sgd", max_grad_norm=0.0,
        **{"learning_rate": 20.0, "num_generations": 8, "per_device_train_batch_size": 32, **options})
    made = EntropyTrainer(
        model, [low_digit], arguments, rule=rule, processing_class=tokenizer,
        train_dataset=datasets.Dataset.from_dict({"prompt": PROMPTS * 3}))
    made.remove_callback(transformers.PrinterCallback)
    return made


@contextlib.contextmanager
def unpacked():
    """Linear layers multiply by the weights that they loaded, as on a GPU; on a CPU vLLM packs them for
    oneDNN and drops them, and TRL's handing over, which loads into them again, cannot work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vllm._custom_ops, "_supports_onednn", False)
        patch.setattr(layers, "check_cpu_sgl_kernel", lambda *_: False)
        yield


def test_packed_weights_cannot_be_handed_over(folder, tmp_path):
    """What a CPU engine as it is cannot do; a vLLM that can makes `unpacked` needless."""
    made = trainer(folder, tmp_path, update_rules.get("grpo"))
    with pytest.raises(ValueError, match="packs linear layers"):
        made.train()


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    """Three steps of AEPO, with the sampler's log-probabilities and settings of every draw."""
    with unpacked():
        yield steps_of_aepo(folder, tmp_path_factory.mktemp("run"))


def steps_of_aepo(folder, output, **options):
    made = trainer(folder, output, update_rules.get("aepo", alpha=1.0, target=0.1), **options)
    draws, generate = [], made.vllm_generation.generate

    def seen(*arguments, **more):
        found = generate(*arguments, **more)
        draws.append({"temperature": made.vllm_generation.temperature, "prompts": found[0],
                      "completions": found[1], "log_probs": found[2]})
        return found

    made.vllm_generation.generate = seen
    watched = Steps(made)
    made.add_callback(watched)
    made.train()
    return made, draws, watched


def log_prob_of(model, weights, draw, temperature):
    """Of the tokens drawn, one after the other, under softmax(logits / T) of these weights."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.copy_(weights[name])
        found = []
        for prompt, completion in zip(draw["prompts"], draw["completions"], strict=True):
            logits = model(torch.tensor([[*prompt, *completion]])).logits[0].float()
            every = policy.log_softmax(logits[len(prompt) - 1 : -1], temperature)
            found.append(every.gather(1, torch.tensor(list(completion))[:, None])[:, 0])
    return torch.cat(found)


def of_vllm(draw):
    """The sampler's log-probabilities, one a token."""
    return torch.tensor([value[0] if isinstance(value, list) else value
                         for row in draw["log_probs"] for value in row])


def test_each_generation_is_drawn_from_the_weights_of_its_step(run):
    """Weights that are not handed over, or under other names: the engine would sample the start."""
    made, draws, watched = run
    assert len(draws) == 6  # ordinary and tempered, three times
    for step, weights in enumerate(watched.weights):
        own = log_prob_of(made.model, weights, draws[2 * step], 1.0)
        assert rms(of_vllm(draws[2 * step]) - own) < IN_BFLOAT16
    stale = log_prob_of(made.model, watched.weights[0], draws[4], 1.0)
    assert rms(of_vllm(draws[4]) - stale) > 4 * IN_BFLOAT16  # the test would see it


def test_the_second_batch_is_drawn_at_the_controllers_temperature(run):
    """Its log-probabilities are of softmax(logits / T), and of T = 1 they are not; the draw after it is
    at T = 1 again."""
    made, draws, watched = run
    for step, (ordinary, tempered) in enumerate(zip(draws[::2], draws[1::2], strict=True)):
        temperature = tempered["temperature"]
        assert ordinary["temperature"] == 1.0
        assert temperature != 1.0
        recorded = watched.parts[step][0]
        assert set(recorded["sampling_temperature"][recorded["tempered"]].tolist()) == {temperature}
        likely = of_vllm(tempered)
        own = log_prob_of(made.model, watched.weights[step], tempered, temperature)
        assert rms(likely - own) < IN_BFLOAT16


def test_ordinary_rows_are_corrected_and_tempered_ones_are_not(run):
    """The correction is pi / the sampler's probability, of whole sequences and masked above 3, as TRL's
    default has it; a second batch would be undone by it."""
    made, draws, watched = run
    for step, (part,) in enumerate(watched.parts):
        check_correction(made.model, part, draws[2 * step], watched.weights[step], is_first=step == 0)


def check_correction(model, part, draw, weights, *, is_first):
    """Of the rows of one draw, under these weights."""
    tempered = part["tempered"]
    assert bool((part["correction"][part["mask"] & tempered[:, None]] == 1).all())
    own = log_prob_of(model, weights, draw, 1.0)
    lengths = [len(completion) for completion in draw["completions"]]
    surplus = (own - of_vllm(draw)).split(lengths)
    ratio = {}
    for prompt, completion, row in zip(draw["prompts"], draw["completions"], surplus, strict=True):
        value = float(row.sum().exp())
        ratio[*prompt, *completion] = 0.0 if value > 3 else value
    # Later the policy may be sure of every token, whatever the precision.
    assert not is_first or any(abs(value - 1) > 1e-3 for value in ratio.values())
    for row in (~tempered).nonzero()[:, 0].tolist():
        ids = [part[f"{kind}_ids"][row][part[f"{kind}_mask"][row].bool()].tolist()
               for kind in ("prompt", "completion")]
        expected = ratio[*ids[0], *ids[1]]
        # Both in float32: eight log-probabilities of up to 10 nats, to 2^-24 each.
        assert float(part["correction"][row, 0]) == pytest.approx(expected, rel=1e-4)


def test_another_seed_draws_other_completions(folder, tmp_path):
    """And the same one the same: the engine seeds all random numbers with its rank's number."""
    found = []
    for seed in (1, 2, 1):
        made = trainer(folder, tmp_path / str(len(found)), update_rules.get("grpo"), seed=seed)
        prompts = [made.processing_class(prompt)["input_ids"] for prompt in PROMPTS for _ in range(8)]
        found.append(made.vllm_generation.generate(prompts, None, 8)[1])
    assert found[0] == found[2] != found[1]
