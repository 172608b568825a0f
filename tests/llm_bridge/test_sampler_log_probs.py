"""Guards the log-probabilities that tokens were drawn with, where samples are cut: rules correct by them.

A recorder before the cut, a step late, or under the second batch would weigh tokens wrongly, in silence.
"""

import itertools
import logging

import numpy as np
import peft
import pytest
import torch
import transformers

from entropy_theory import policy, update_rules
from entropy_theory.targets import TargetPolicy
from llm_bridge.sampling import logits_processors
from llm_bridge.trainer import draws
from tests.llm_bridge.language_models import low_digit, tabular_trainer
from tests.llm_bridge.llama_steps import llama, llama_trainer
from tests.llm_bridge.recorded_steps import recorded
from tests.tolerances import FLOAT32

CORRECTED = update_rules.get("sampler-correction", kind="token", base=update_rules.get("grpo"))
TEMPERATURE = 1.3
OFTEN = 6
"""A token that the random Llama draws often."""
BATCHED = {
    "use_transformers_continuous_batching": True,
    # Left to itself it takes most of the machine's memory.
    "transformers_continuous_batching_config": {
        "num_blocks": 64, "block_size": 16, "max_batch_tokens": 64}}


def ending():
    """A random Llama that takes the end of a text for as likely as a token that it often draws."""
    model, tokenizer = llama()
    with torch.no_grad():
        model.lm_head.weight[tokenizer.eos_token_id] = model.lm_head.weight[OFTEN]
    return model


def warped(logits, tokens, *after, before=()):
    """The log-probabilities that transformers' own warpers leave: penalties, temperature, cuts."""
    for warper in (*before, transformers.TemperatureLogitsWarper(TEMPERATURE), *after):
        logits = warper(tokens, logits)
    return logits.log_softmax(-1)


def by_hand(model, rows, *after, before=()):
    """Of each completion token, from the plain logits of its prefix, and the largest of these."""
    width = rows["prompt_ids"].shape[1]
    ids = torch.cat([rows["prompt_ids"], rows["completion_ids"]], dim=1)
    present = torch.cat([rows["prompt_mask"], rows["completion_mask"]], dim=1)
    with torch.no_grad():
        logits = model(input_ids=ids, attention_mask=present,
                       position_ids=(present.cumsum(-1) - 1).clamp(min=0)).logits.float()
    found = [warped(logits[:, place - 1], ids[:, :place], *after, before=before)
             .gather(1, ids[:, place, None]) for place in range(width, ids.shape[1])]
    return torch.cat(found, dim=1), float(logits.abs().max())


def check(found, model, rows, *after, before=(), cuts=True):
    """A logit and the normalizer are rounded to float32, a dozen times between them."""
    mask = rows["mask"]
    expected, largest = by_hand(model, rows, *after, before=before)
    torch.testing.assert_close(
        found[mask].double(), expected[mask].double(), rtol=0, atol=16 * FLOAT32 * largest)
    whole, _ = by_hand(model, rows)
    assert not cuts or (expected - whole)[mask].abs().max() > 0.1  # the test would see a cut left out


@pytest.mark.parametrize(("options", "after", "before"), [
    ({"top_k": 2}, [transformers.TopKLogitsWarper(2)], []),
    ({"top_p": 0.7}, [transformers.TopPLogitsWarper(0.7)], []),
    ({"min_p": 0.2}, [transformers.MinPLogitsWarper(0.2)], []),
    ({"repetition_penalty": 1.5}, [], [transformers.RepetitionPenaltyLogitsProcessor(1.5)]),
    ({"generation_kwargs": {"typical_p": 0.5}}, [transformers.TypicalLogitsWarper(0.5)], []),
    ({"generation_kwargs": {"epsilon_cutoff": 0.06}}, [transformers.EpsilonLogitsWarper(0.06)], []),
    ({"generation_kwargs": {"eta_cutoff": 0.4}}, [transformers.EtaLogitsWarper(0.4)], []),
    ({"generation_kwargs": {"top_h": 0.4}}, [transformers.TopHLogitsWarper(0.4)], []),
    ({"top_k": 5, "top_p": 0.7, "repetition_penalty": 1.5},
     [transformers.TopKLogitsWarper(5), transformers.TopPLogitsWarper(0.7)],
     [transformers.RepetitionPenaltyLogitsProcessor(1.5)]),
    ({"top_k": 2, "cache_implementation": "static"}, [transformers.TopKLogitsWarper(2)], []),
    ({"top_k": 2, **BATCHED}, [transformers.TopKLogitsWarper(2)], []),
], ids=lambda value: ",".join(value) if isinstance(value, dict) else "")
def test_a_rule_reads_what_each_token_was_drawn_with(tmp_path, options, after, before):
    """As transformers' own processors have it from the logits of each prefix, one by one. Prompts of two
    lengths are padded, and completions end at their own. Before 5.24 padding was penalized too."""
    prompts = ("1", "2" if before else "12+3=")
    made = llama_trainer(tmp_path, CORRECTED, prompts=prompts, num_generations=12,
                         model=ending(), temperature=TEMPERATURE, **options)
    ((part,),) = recorded(made)
    rows = part.inputs
    assert len(set(rows["mask"].sum(-1).tolist())) > 1
    check(rows["sampling_log_prob"], ending(), rows, *after, before=before)
    assert torch.equal(part.batch.sampling_log_prob[rows["mask"]],
                       rows["sampling_log_prob"][rows["mask"]].double())


def test_a_checkpoint_that_cuts_is_recorded(tmp_path):
    """TRL leaves unset what the checkpoint's generation config then declares."""
    model, _ = llama()
    model.generation_config.typical_p = 0.5
    made = llama_trainer(tmp_path, CORRECTED, model=model, temperature=TEMPERATURE)
    ((part,),) = recorded(made)
    rows = part.inputs
    check(rows["sampling_log_prob"], llama()[0], rows, transformers.TypicalLogitsWarper(0.5))


@pytest.mark.parametrize("more", [{}, BATCHED], ids=["generate", "continuous batching"])
def test_draws_through_an_adapter_are_recorded(tmp_path, more):
    """Generation is the model's inside, where an adapter that starts at zero changes nothing."""
    made = llama_trainer(tmp_path, CORRECTED, temperature=TEMPERATURE, top_k=2,
                         peft_config=peft.LoraConfig(r=2, target_modules=["q_proj"]), **more)
    ((part,),) = recorded(made)
    check(part.inputs["sampling_log_prob"], llama()[0], part.inputs, transformers.TopKLogitsWarper(2))


@pytest.mark.parametrize("rule", ["grpo", "sampler-correction"])
def test_nothing_is_recorded_that_no_rule_reads_or_that_is_the_policys_own(tmp_path, monkeypatch, rule):
    """A rule that does not read the column, and samples of the whole softmax that TRL draws itself."""
    def refuse(*_):
        raise AssertionError("a recorder was built")

    monkeypatch.setattr(logits_processors, "recorded", refuse)
    reads = rule == CORRECTED.name
    made = llama_trainer(tmp_path, CORRECTED if reads else CORRECTED.base,
                         **({"cache_implementation": "static"} if reads else {"top_k": 2}))
    ((part,),) = recorded(made)
    assert reads == ("sampling_log_prob" in part.inputs)
    assert not reads or bool(part.inputs["sampling_log_prob"].isnan().all())


def test_recording_changes_no_draw(tmp_path):
    completions = []
    for rule in (CORRECTED, CORRECTED.base):
        ((part,),) = recorded(llama_trainer(tmp_path, rule, top_p=0.7))
        completions.append(part.inputs["completion_ids"])
    assert torch.equal(*completions)


def test_vllms_own_log_probabilities_are_passed_on(tmp_path):
    made = llama_trainer(tmp_path, CORRECTED, top_k=2)
    assert made.records_draws
    made.use_vllm, found = True, ([[1]], [[-0.5]])
    assert draws.with_log_probs(made, lambda: found) is found


class Nucleus(TargetPolicy):
    """A target that is drawn by a processor, which a recorder must not take away."""

    def generation_options(self):
        return {"logits_processor": [transformers.TopKLogitsWarper(3)]}


@pytest.mark.parametrize("sampler", ["generate", "with log-probabilities"])
def test_a_second_batch_is_not_corrected(tmp_path, sampler):
    """Its tokens are drawn from the rule's target, and pi over that would undo the rule."""
    base = update_rules.get("aepo", towards=Nucleus(), temperature_low=1.0, target=0.0)
    made = llama_trainer(
        tmp_path, update_rules.get("sampler-correction", kind="token", base=base), top_k=5)
    draw = made._generate_single_turn
    if sampler != "generate":
        def drawn(*arguments, **options):
            completions, likely = draw(*arguments, **options)
            return completions, likely or [[-9.0] * len(ids) for ids in completions]
        made._generate_single_turn = drawn
    ((part,),) = recorded(made)
    rows, tempered = part.inputs, part.inputs["tempered"]
    assert bool(rows["sampling_log_prob"][tempered].isnan()[rows["mask"][tempered]].all())
    assert bool(rows["sampling_log_prob"][~tempered].isfinite()[rows["mask"][~tempered]].all())
    assert torch.equal(part.batch.sampling_log_prob[tempered], part.batch.old_log_prob[tempered])
    assert made.records_draws


@pytest.mark.parametrize(("kind", "longest"), [("token", 1), ("sequence-truncate", 2)])
def test_a_correction_gives_the_gradient_over_the_kept_tokens(tmp_path, kind, longest):
    """The sum over answers that can be drawn of pi(y) R(y), whose gradient is enumerated. The weights of
    single tokens give it for one token, their product for two; no weights do not."""
    prompts, samples, top_k = (1, 2, 3), 2000, 3
    rule = update_rules.get("reinforce", estimator="reward", normalization="dr-grpo", max_length=longest)
    corrected = update_rules.get("sampler-correction", kind=kind, high=np.inf, base=rule)

    def reward(completion_ids, **_):
        return [float((sum(ids) % 5) / 4) for ids in completion_ids]

    def gradient(rule):
        made = tabular_trainer(tmp_path, rule, samples=samples, reward=reward, learning_rate=1.0,
                               max_completion_length=longest, top_k=top_k)
        start = made.model.table.weight.detach().clone()
        ((part,),) = recorded(made)
        states = part.inputs["prompt_ids"][:, -1].unique().tolist()
        assert len(states) == len(prompts)
        return made, start, states, (made.model.table.weight.detach() - start) * longest

    made, start, states, step = gradient(corrected)
    logits = start.clone().requires_grad_()
    log_prob = logits.log_softmax(-1)
    head = start.float().topk(top_k).indices
    drawn = torch.full_like(start, -torch.inf).scatter(1, head, start.gather(1, head)).log_softmax(-1)
    mean, square = torch.zeros_like(start), torch.zeros_like(start)
    for state, choices in itertools.product(states, itertools.product(range(top_k), repeat=longest)):
        place, likely, sampled, answer = state, 0.0, 0.0, []
        for choice in choices:
            token = int(head[place, choice])
            likely, sampled = likely + log_prob[place, token], sampled + drawn[place, token]
            answer.append(token)
            place = token
            if token in made.eos_token_ids:
                break
        # An answer that ends early is listed once for each choice that is not made any more.
        share = float(sampled.exp()) / top_k ** (longest - len(answer)) / len(states)
        weight = float((likely - sampled).detach().exp()) * reward([answer])[0]
        (slope,) = torch.autograd.grad(likely, logits, retain_graph=True)
        mean += share * weight * slope
        square += share * (weight * slope) ** 2
    # Larger than the deviation, in which the mean of each state is taken away.
    deviation = (square / (samples * len(states))).sqrt()

    def largest(found):
        """In deviations; what never varies is 0 in both, but for rounding."""
        return float(((found - mean).abs() / (deviation + 1e-9)).max())

    # The seed is fixed: of 324 numbers, a right one misses 5 deviations for one seed in 5,000.
    assert largest(step) < 5
    assert largest(gradient(rule)[-1]) > 20


def test_entries_behind_an_end_are_left_out_and_a_late_stop_does_no_harm():
    """A GPU may take one more step before it hears that all rows have ended."""
    torch.manual_seed(0)
    tables = torch.randn(4, 2, 5)
    tokens = torch.tensor([[1, 2, 3, 0], [4, 0, 0, 0]])
    expected = policy.log_softmax(tables).gather(-1, tokens.T[:, :, None])[..., 0].T
    for late in (0, 1):
        recorder = logits_processors.LastProcessor()
        for place in range(3 + late):
            table = tables[place]
            assert recorder(tokens[:, :place], table) is table
        found = recorder.of([[1, 2, 3], [4]])
        assert list(map(len, found)) == [3, 1]
        np.testing.assert_array_equal(found[0], expected[0, :3])
        np.testing.assert_array_equal(found[1], expected[1, :1])


def test_a_generation_past_the_recorder_is_an_error():
    """A model with a generate of its own, and one that draws more rows or tokens than are recorded."""
    recorder = logits_processors.LastProcessor()
    with pytest.raises(ValueError, match=r"got log-probabilities for \(0, 0\) .* 2 rows of up to 3"):
        recorder.of([[1, 2, 3], [4]])
    recorder(torch.zeros(2, 1, dtype=torch.long), torch.zeros(2, 5))
    with pytest.raises(ValueError, match=r"\(2, 1\)"):
        recorder.of([[1, 2, 3], [4]])
    outputs = [transformers.generation.continuous_batching.requests.GenerationOutput(
        request_id="1", generated_tokens=[1, 2], logprobs=[-1.0])]
    with pytest.raises(ValueError, match="got 1 for 2 tokens"):
        draws._log_probs(outputs, [[1, 2]])


@pytest.mark.parametrize(("rule", "words"), [
    (CORRECTED.base, "not that of its mean reward: wrap the rule in 'sampler-correction'"),
    (CORRECTED, "'sampler-correction' weighs each token by what it was drawn from"),
])
def test_the_warning_names_the_remedy(tmp_path, caplog, rule, words):
    logging.getLogger("llm_bridge").propagate = True
    tabular_trainer(tmp_path, rule, top_k=2, reward=low_digit)
    assert words in caplog.text
