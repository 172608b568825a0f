"""Guards llm_bridge/sampling/sampling.py: what is drawn is pi^T, and recorded is what was drawn."""

import contextlib
import copy
import dataclasses
import itertools
import json
import math
import sys
import types
from typing import Any, ClassVar
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.stats
import torch
import transformers

from entropy_theory import policy
from llm_bridge import evaluation
from llm_bridge.data import models, tasks
from llm_bridge.sampling import samplers, sampling
from llm_bridge.sampling.samplers import static_cache
from llm_bridge.sampling.samplers.batch import PromptBatch, Tokens
from tests.daily import one_in
from tests.llm_bridge.language_models import tabular as tabular_model

HERE = ("generate", "static", "trl")
"""Samplers that run on a CPU."""
PROMPTS = ["23+34=", "57=", "123=", "08+99="]


@pytest.fixture(scope="module")
def small():
    return models.load("small-sums")


def teacher_forced(model, samples, temperature=1.0):
    """Log-probabilities and entropies [sequences, positions] from one forward of whole sequences."""
    ids = torch.cat([samples.prompt_ids, samples.token_ids], dim=1)
    mask = torch.cat([samples.prompt_mask, samples.mask], dim=1).long()
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    with torch.no_grad():
        logits = model(input_ids=ids, attention_mask=mask, position_ids=positions).logits
    logits = logits[:, samples.prompt_ids.shape[1] - 1 : -1]
    log_probs = policy.log_softmax(logits, temperature)
    drawn = log_probs.gather(-1, samples.token_ids[..., None])[..., 0]
    keep = samples.mask
    return torch.where(keep, drawn, 0.0), torch.where(keep, policy.entropy(logits), 0.0)


@pytest.mark.parametrize(
    ("temperature", "num_samples", "sampler"),
    [(0.7, 1, "generate"), (0.7, 6, "static"), (1.6, 6, "trl")],
)
def test_records_match_a_teacher_forced_forward(small, temperature, num_samples, sampler):
    """Prompts of several lengths (padding, positions), prompts cached for several samples or not."""
    model, tokenizer = small
    samples = sampling.sample(
        model, tokenizer, PROMPTS, num_samples=num_samples, temperature=temperature,
        max_new_tokens=6, batch_size=12, sampler=sampler,
    )
    log_prob, entropy = teacher_forced(model, samples)
    tempered, _ = teacher_forced(model, samples, temperature)
    # float32 forwards that add the same numbers in another order: logits of size 10 in 4 layers
    # agree to about 1e-5.
    close = {"rtol": 0, "atol": 1e-4}
    torch.testing.assert_close(samples.log_prob, log_prob, **close)
    torch.testing.assert_close(samples.sampling_log_prob, tempered, **close)
    torch.testing.assert_close(samples.entropy, entropy, **close)
    assert (temperature == 1.0) == torch.equal(samples.log_prob, samples.sampling_log_prob)


def pair_probabilities(model, tokenizer, prompt, temperature):
    """[vocabulary, vocabulary]: exact probabilities of the first two tokens under pi^T."""
    vocabulary = len(tokenizer)
    start = tokenizer(prompt, return_tensors="pt").input_ids
    follow = torch.cat([start.repeat(vocabulary, 1), torch.arange(vocabulary)[:, None]], dim=1)
    with torch.no_grad():
        first = policy.softmax(model(start).logits[0, -1].double(), temperature)
        second = policy.softmax(model(follow).logits[:, -1].double(), temperature)
    # After end of sequence nothing is drawn: the pair (eos, pad) has all of it.
    second[tokenizer.eos_token_id] = torch.nn.functional.one_hot(
        torch.tensor(tokenizer.pad_token_id), vocabulary
    ).double()
    return (first[:, None] * second).numpy()


def chi_square_p_value(samples, probabilities):
    """Test the first two tokens; pairs with an expected count below 5 are counted as one."""
    observed = np.zeros_like(probabilities)
    np.add.at(observed, tuple(samples.token_ids.T.numpy()), 1.0)
    expected = observed.sum() * probabilities
    rare = expected < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    assert expected[-1] >= 5
    assert len(expected) > 10
    return scipy.stats.chisquare(observed, expected).pvalue


@pytest.mark.parametrize(
    ("temperature", "sampler"),
    one_in(3, [(0.6, "generate"), (1.7, "static"), (1.0, "trl")]),
)
def test_first_two_tokens_follow_the_tempered_policy(small, temperature, sampler):
    """Chi-square against exact enumeration: top-k, top-p or a wrong temperature would show.

    Wrong by chance for one seed in 10,000. The check can fail: the same draws are refused as samples
    of a temperature a quarter higher or a fifth lower.
    """
    model, tokenizer = small
    samples = sampling.sample(
        model, tokenizer, ["57="], num_samples=4000, temperature=temperature, max_new_tokens=2,
        seed=1, batch_size=4000, sampler=sampler,
    )
    p_value = {
        factor: chi_square_p_value(
            samples, pair_probabilities(model, tokenizer, "57=", factor * temperature)
        )
        for factor in (0.8, 1.0, 1.25)
    }
    assert p_value[1.0] > 1e-4
    assert max(p_value[0.8], p_value[1.25]) < 1e-6


@pytest.mark.parametrize("sampler", HERE)
def test_the_seed_decides_and_neither_global_state_nor_the_checkpoint_does(small, sampler):
    """Settings of a checkpoint would bend the second draw; both are left as they were."""
    model, tokenizer = small
    kept, attention = model.generation_config, model.config._attn_implementation
    bent = transformers.GenerationConfig(
        do_sample=True, top_k=1, min_p=0.5, repetition_penalty=2.0, eos_token_id=kept.eos_token_id
    )
    before, draw = torch.random.get_rng_state(), []
    for seed, config in ((1, kept), (1, bent), (2, kept)):
        model.generation_config = config
        try:
            draw.append(sampling.sample(
                model, tokenizer, PROMPTS, num_samples=3, max_new_tokens=6, seed=seed, sampler=sampler))
            assert model.generation_config is config
        finally:
            model.generation_config = kept
        assert model.config._attn_implementation == attention
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(draw[0].token_ids, draw[1].token_ids)
    assert not torch.equal(draw[0].token_ids, draw[2].token_ids)
    assert len(set(draw[0].completions[:3])) > 1


@pytest.mark.parametrize(
    ("batch_size", "sampler"),
    [(2, "generate"), (7, "static"), (64, "trl")],
)
def test_rows_are_all_samples_of_a_prompt_then_the_next(small, batch_size, sampler):
    """Batches smaller than, unequal to and larger than a prompt's samples; shapes, padding, and ends."""
    model, tokenizer = small
    samples = sampling.sample(
        model, tokenizer, PROMPTS, num_samples=5, max_new_tokens=6, batch_size=batch_size, stop="+",
        temperature=1.3, sampler=sampler,
    )
    stops = set(models.stop_token_ids(model, tokenizer, "+"))
    assert samples.prompts == list(itertools.chain(*([p] * 5 for p in PROMPTS)))
    assert samples.token_ids.shape == samples.mask.shape == samples.entropy.shape
    assert samples.token_ids.shape[0] == samples.prompt_ids.shape[0] == 20
    for row, prompt in enumerate(samples.prompts):
        ids = samples.prompt_ids[row][samples.prompt_mask[row]]
        assert tokenizer.decode(ids, skip_special_tokens=True) == prompt
        tokens = samples.token_ids[row][samples.mask[row]]
        assert tokenizer.decode(tokens, skip_special_tokens=True) == samples.completions[row]
        assert bool(samples.mask[row][: len(tokens)].all())
        assert not stops & set(tokens[:-1].tolist())
        assert len(tokens) == 6 or int(tokens[-1]) in stops
    assert any(completion.endswith("+") for completion in samples.completions)
    outside = ~samples.mask
    assert (samples.token_ids[outside] == tokenizer.pad_token_id).all()
    assert not samples.log_prob[outside].any()
    assert not samples.entropy[outside].any()


def test_sample_command_writes_lines_and_provenance(tmp_path, capsys):
    config = sampling.SampleConfig(task="sum", num_prompts=3, num_samples=2)
    sampling.sample_command(config)
    printed = capsys.readouterr().out.splitlines()
    output = tmp_path / "samples.jsonl"
    sampling.sample_command(
        sampling.SampleConfig(task="sum", num_prompts=3, num_samples=2, output=output)
    )
    assert output.read_text(encoding="utf-8").splitlines() == printed
    rows = [json.loads(line) for line in printed]
    assert len(rows) == 6
    prompts, answers = ([row[key] for row in rows] for key in ("prompt", "answer"))
    task = tasks.load("sum", split="held-out", size=3)
    judged = task.judge(prompts, [row["completion"] for row in rows], answers)
    assert [row["reward"] for row in rows] == judged
    provenance = json.loads((tmp_path / "samples.provenance.json").read_text(encoding="utf-8"))
    assert provenance["config"]["num_samples"] == 2


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_graphs_on_cuda_draw_from_the_tempered_policy(temperature):
    """A captured step with stale buffers, frozen random numbers, or another distribution."""
    model, tokenizer = models.load("small-sums", device="cuda")
    options = {"max_new_tokens": 6, "temperature": temperature, "sampler": "static"}
    draw = [
        sampling.sample(model, tokenizer, PROMPTS, num_samples=64, seed=seed, **options)
        for seed in (1, 1, 2)
    ]
    assert torch.equal(draw[0].token_ids, draw[1].token_ids)
    assert not torch.equal(draw[0].token_ids, draw[2].token_ids)
    cpu, _ = models.load("small-sums")
    log_prob, _ = teacher_forced(cpu, draw[0])
    # float32 on both; TF32 is off by default.
    torch.testing.assert_close(draw[0].log_prob, log_prob, rtol=0, atol=1e-3)
    many = sampling.sample(
        model, tokenizer, ["57="], num_samples=4000, batch_size=4000, seed=1,
        max_new_tokens=6, temperature=temperature, sampler="static",
    )
    pairs = dataclasses.replace(many, token_ids=many.token_ids[:, :2])
    expected = pair_probabilities(cpu, tokenizer, "57=", temperature)
    assert chi_square_p_value(pairs, expected) > 1e-4


def test_auto_takes_generate_on_a_cpu_and_names_are_checked(small):
    model, tokenizer = small
    assert samplers.choose("auto", model) is samplers.SAMPLERS["generate"]
    for name, message in (
        ("statik", r"unknown sampler \(or auto\) 'statik': did you mean static"),
        ("vllm", "sampler vllm cannot be used: (vllm is not installed|this build of).*; take auto"),
    ):
        with pytest.raises(ValueError, match=message):
            sampling.sample(model, tokenizer, PROMPTS, sampler=name, max_new_tokens=6)
    tabular, _ = tabular_model()
    with pytest.raises(ValueError, match="static cannot be used: TabularLanguageModel does not work"):
        samplers.choose("static", tabular)


def test_a_graph_is_captured_and_replayed_on_the_gpu_of_its_tensors(monkeypatch):
    """The current one is another where the model lies on the second: the graph would be of nothing."""
    current = []

    @contextlib.contextmanager
    def on_device(tensor):
        current.append(tensor.device)
        yield
        current.pop()

    class Decoder:
        def __init__(self, model, batch):
            assert current == [batch.ids.device]

        def run(self, batch):
            self.__init__(None, batch)
            return Tokens(**{field.name: torch.zeros(2, 2) for field in dataclasses.fields(Tokens)})

    monkeypatch.setattr(static_cache, "on_device", on_device)
    monkeypatch.setattr(static_cache, "_Decoder", Decoder)
    batch = PromptBatch(
        ids=torch.zeros(2, 3), mask=torch.ones(2, 3), copies=1, temperature=1.0, top_p=1.0, top_k=0,
        max_new_tokens=2, stop_ids=[0], pad_id=0, length=3, capacity=2, seed=0)
    kept = {}
    for _ in range(2):
        static_cache.draw(None, batch, kept)
    assert current == []


@pytest.mark.parametrize(("failure", "message"), [
    (None, "graph of LlamaForCausalLM on cpu is empty"),
    ("operation not permitted when stream is capturing\nCompile with ...",
     r"on cpu cannot be captured: operation not permitted when stream is capturing\. Take sampler"),
])
def test_a_capture_that_fails_is_one_error(small, monkeypatch, failure, message):
    """A graph that nobody looked at after its capture; a traceback through CUDA's streams."""
    class Graph:
        def replay(self):
            pass

    @contextlib.contextmanager
    def capture(_):
        if failure:
            raise RuntimeError(failure)
        yield

    fakes = {"Stream": Mock, "current_stream": Mock, "stream": lambda _: contextlib.nullcontext(),
             "CUDAGraph": Graph, "graph": capture, "get_rng_state": lambda _: None}
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    decoder = object.__new__(static_cache._Decoder)
    decoder._model, decoder._slot = small[0], torch.tensor([3])
    decoder._record = lambda _: None
    decoder._step = lambda: None
    with pytest.raises(ValueError, match=message):
        decoder._capture(Mock(), None)


def test_a_graph_that_captured_nothing_is_no_sample(small, monkeypatch):
    """Captured on another device's stream it replays nothing, and ids 0 with entropy 0 look finite."""
    class Graph:
        def replay(self):
            pass

    decoder = object.__new__(static_cache._Decoder)
    decoder._model, decoder._slot, decoder._graph = small[0], torch.tensor([3]), Graph()
    with pytest.raises(ValueError, match="graph of LlamaForCausalLM on cpu is empty"):
        decoder._check_graph()
    decoder._graph.replay = lambda: decoder._slot.add_(1)
    decoder._check_graph()
    split = copy.deepcopy(small[0])
    split.lm_head.to("meta")
    with pytest.raises(ValueError, match="lies on several devices"):
        samplers.choose("static", split)


def test_diverged_weights_are_named():
    model, tokenizer = models.load("small-sums")
    model.model.norm.weight.data.fill_(math.nan)
    with pytest.raises(ValueError, match="gave logits that are NaN or infinite"):
        sampling.sample(model, tokenizer, PROMPTS, max_new_tokens=3, sampler="static")


def test_sliding_windows_are_not_taken_for_full_caches():
    """A mask over all positions, on layers that keep only the last ones."""
    config = transformers.MistralConfig(
        vocab_size=18, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, sliding_window=4,
    )
    mistral = transformers.MistralForCausalLM(config)
    with pytest.raises(ValueError, match="has layers without a full cache"):
        samplers.choose("static", mistral)


class Engine:
    """Stands for vLLM's in this process: draws by the bundled model in memory, and counts. With something
    in its cache of prefixes its random numbers come otherwise, as they do where a batch is another."""

    made: ClassVar[list[dict]] = []
    model: ClassVar[Any] = None

    def __init__(self, **options):
        self.made.append(options)
        self.cached = 0

    def reset_prefix_cache(self):
        self.cached = 0

    def generate(self, prompts, options, use_tqdm):
        torch.rand(self.cached)
        self.cached = len(prompts)
        return [types.SimpleNamespace(outputs=[
            self.one(i, prompt["prompt_token_ids"], options) for i in reversed(range(options.n))
        ]) for prompt in prompts]

    def one(self, index, prompt, options):
        ids, tables = [], []
        for _ in range(options.max_tokens):
            logits = self.model(torch.tensor([prompt + ids])).logits[0, -1]
            log_prob = logits.log_softmax(-1)
            tempered = (logits / options.temperature).softmax(-1)
            ids.append(int(torch.multinomial(tempered, 1)))
            tables.append({ids[-1]: types.SimpleNamespace(logprob=float(log_prob[ids[-1]]))})
            if ids[-1] in options.stop_token_ids:
                break
        return types.SimpleNamespace(index=index, token_ids=ids, logprobs=tables)


def test_an_evaluation_by_vllm_starts_one_engine_and_resumed_draws_the_same(small, monkeypatch, tmp_path):
    """Each chunk from a seed of its own, whatever was drawn before it; scored in memory."""
    vllm = types.ModuleType("vllm")
    vllm.LLM, vllm.SamplingParams = Engine, lambda **options: types.SimpleNamespace(**options)
    monkeypatch.setitem(sys.modules, "vllm", vllm)
    monkeypatch.setattr(Engine, "model", small[0])
    monkeypatch.setattr(Engine, "made", [])
    monkeypatch.setattr(evaluation, "ENGINE_CHUNK", 8)
    monkeypatch.setitem(samplers.SAMPLERS, "vllm", dataclasses.replace(
        samplers.SAMPLERS["vllm"], obstacle=lambda _: None))
    task = tasks.load("sum", split="held-out", size=6, seed=0)
    keep = tmp_path / "samples.jsonl"
    found = evaluation.evaluate(*small, task, num_samples=4, sampler="vllm", keep=keep)
    assert len(Engine.made) == 1
    longest = max(len(ids) for ids in small[1](list(task.prompts)).input_ids)
    assert Engine.made[0]["max_model_len"] == longest + task.max_new_tokens
    assert found["pass@1"] > 0.3
    lines = keep.read_text().splitlines()
    assert len(set(lines[1:])) > 12
    keep.write_text("\n".join(lines[:9]) + "\n")
    evaluation.evaluate(*small, task, num_samples=4, sampler="vllm", keep=keep)
    assert len(Engine.made) == 2
    assert keep.read_text().splitlines() == lines
    evaluation.evaluate(*small, task, num_samples=4, sampler="vllm", keep=keep)
    assert len(Engine.made) == 2  # nothing is left to draw


@pytest.mark.parametrize(("prompts", "samples"), [(5, 4), (2, 13)])
def test_an_evaluation_by_static_captures_one_graph(small, monkeypatch, tmp_path, prompts, samples):
    """Batches that are not full, which are of another shape: each would be a capture. Resumed from the
    last, which is none of the large ones, the draws are the same."""
    made, init = [], static_cache._Decoder.__init__
    monkeypatch.setattr(static_cache._Decoder, "__init__",
                        lambda *arguments: made.append(arguments[2].capacity) or init(*arguments))
    task, keep = tasks.load("sum", split="held-out", size=prompts), tmp_path / "samples.jsonl"
    monkeypatch.setattr(evaluation, "BATCHES_A_CHUNK", 1)
    options = {"num_samples": samples, "batch_size": 8, "sampler": "static", "keep": keep}
    evaluation.evaluate(*small, task, **options)
    assert made == [8]
    lines = keep.read_text().splitlines()
    assert len({json.loads(line)["completion"] for line in lines[-5:]}) > 1
    keep.write_text("\n".join(lines[:-4]) + "\n")
    evaluation.evaluate(*small, task, **options)
    assert made == [8, 8]
    assert keep.read_text().splitlines() == lines


def test_vllm_on_other_weights_than_those_in_memory_is_noticed(small, monkeypatch):
    """Samples of the checkpoint scored as samples of the model that was trained since."""
    def off(*arguments):
        own = samplers.SAMPLERS["generate"].draw(*arguments)
        return samplers.Tokens(ids=own.ids, log_prob=own.log_prob - 0.5)

    monkeypatch.setitem(samplers.SAMPLERS, "vllm", samplers.Sampler(draw=off, obstacle=lambda _: None))
    with pytest.raises(ValueError, match=r"0\.5 nats per token off those of the model in memory"):
        sampling.sample(*small, PROMPTS, num_samples=2, max_new_tokens=6, sampler="vllm")
