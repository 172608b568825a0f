"""Guards llm_bridge/forward/: a prompt read once, and no logits held, give the same step."""

import contextlib
import dataclasses
import logging

import pytest
import torch
from accelerate import Accelerator

from entropy_theory import update_rules
from llm_bridge.forward import fused_forward, shared_prompts
from llm_bridge.forward.policy_forward import Forward
from tests.llm_bridge.llama_steps import held, llama, llama_trainer, weights

ROUNDING = 1e-6
"""Llama's norms compute in float32 whatever the model's dtype: gradients that are added up in another
order differ by some 1e-7 of the largest one."""
AENT = {"warm_up_steps": 0, "coefficient": 0.1, "removed_fraction": 0.4}
OFF_POLICY = {"steps": 2, "num_iterations": 2, "learning_rate": 0.01}
PROMPTS_OF_OTHER_LENGTHS = ("1", "12+3=", "412+27=")
CASES = {
    "micro-batches": ("aent", AENT, {"micro_batches": 4, "temperature": 0.7}),
    "off-policy": ("kl-cov", {"ratio": 0.2}, OFF_POLICY),
    "second batch": ("aepo", {"alpha": 2.0}, {}),
    "one token": ("grpo", {}, {"max_completion_length": 1}),
}


def trained(folder, monkeypatch, rule, *, shared, **options):
    """How far training moved the weights, the records, and the tokens that a pass with gradient read."""
    read = 0
    original = Forward._call

    def call(self, model, tokens, *arguments, **more):
        nonlocal read
        read += tokens.numel() * torch.is_grad_enabled()
        return original(self, model, tokens, *arguments, **more)

    records = []
    with monkeypatch.context() as patch:
        patch.setattr(Forward, "_call", call)
        if not shared:
            patch.setattr(shared_prompts, "obstacle", lambda _: "the test says so")
            patch.setattr(fused_forward, "tried", held)
        made = llama_trainer(
            folder, rule, on_step=records.append, prompts=PROMPTS_OF_OTHER_LENGTHS, **options
        )
        moved = moves(made)
    assert {found is not None for found in made.forward.trials.found.values()} == {shared}
    return moved, records, read


def moves(made):
    """What training changes each weight by."""
    before = weights(made)
    made.train()
    return {name: after - before[name] for name, after in weights(made).items()}


def assert_same(found, expected):
    largest = max(float(move.abs().max()) for move in expected.values())
    assert largest > 1e-3
    for name, move in expected.items():
        torch.testing.assert_close(found[name], move, rtol=0, atol=ROUNDING * largest, msg=name)


@pytest.mark.parametrize("case", CASES)
def test_a_step_is_the_one_that_reads_copies_and_holds_logits(tmp_path, monkeypatch, case):
    """Positions, masks, pasts of other rows, gradients that stop at the past, a head in chunks."""
    name, rule_options, options = CASES[case]
    rule = update_rules.get(name, **rule_options)
    after, records, read = trained(tmp_path, monkeypatch, rule, shared=True, **options)
    expected, expected_records, all_read = trained(
        tmp_path, monkeypatch, rule, shared=False, **options
    )
    assert read == all_read if case == "one token" else read < 0.7 * all_read
    assert_same(after, expected)
    for one, other in zip(records, expected_records, strict=True):
        for key in set(other) - {"seconds"}:
            assert one[key] == pytest.approx(other[key], abs=ROUNDING), key


def test_rows_find_their_prompt_in_any_order():
    """Rows of other prompts; padding that counts as a token."""
    ids = torch.tensor([[9, 1, 2], [3, 1, 2], [8, 1, 2], [3, 1, 2]])
    mask = torch.tensor([[0, 1, 1], [1, 1, 1], [0, 1, 1], [1, 1, 1]])
    first, owner = shared_prompts.distinct(ids, mask)
    assert first[owner].tolist() == [0, 1, 0, 1]


UNEVEN = [9, 2, 3, 3, 1, 2, 3, 3]
"""Lengths of completions: with the long one alone 27 of 64 positions are read."""


def test_short_completions_are_read_apart_from_long_ones(monkeypatch):
    """Rows that are put back in another order, a width that cuts a row off, a past of other rows."""
    torch.manual_seed(0)
    model = llama()[0].train()
    prompts = torch.randint(3, 12, (3, 4))[torch.tensor([0, 1, 0, 2, 1, 2, 2, 0])]
    mask = torch.arange(9) < torch.tensor(UNEVEN)[:, None]
    rows = {"prompt_ids": prompts, "prompt_mask": torch.ones_like(prompts),
            "completion_ids": torch.randint(3, 12, mask.shape), "completion_mask": mask.long()}
    (short, width), (long, whole) = shared_prompts.parts_by_length(rows["completion_mask"], cuts=True)
    assert (sorted(short.tolist()), long.tolist(), width, whole) == ([1, 2, 3, 4, 5, 6, 7], [0], 3, 9)
    widths = []
    original = Forward._call

    def call(self, model, tokens, *arguments, **more):
        widths.append(tuple(tokens.shape))
        return original(self, model, tokens, *arguments, **more)

    monkeypatch.setattr(Forward, "_call", call)
    weight = torch.rand(mask.shape, dtype=torch.float64)

    def of(passes):
        found = passes.statistics(model, rows)
        value = (weight * (found.log_prob + found.entropy)).sum()
        return found, torch.autograd.grad(value, list(model.parameters()))

    found, gradient = of(Forward(Accelerator(cpu=True), model, removed_fraction=0.2))
    assert widths[-3:] == [(3, 4), (7, 2), (1, 8)]
    monkeypatch.setattr(shared_prompts, "LEAST_SPARED", 1.0)
    expected, whole_gradient = of(Forward(Accelerator(cpu=True), model, removed_fraction=0.2))
    assert widths[-2:] == [(3, 4), (8, 8)]
    for each in dataclasses.fields(found):
        torch.testing.assert_close(
            getattr(found, each.name), getattr(expected, each.name), rtol=0, atol=ROUNDING)
    for one, other in zip(gradient, whole_gradient, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=ROUNDING * float(other.abs().max()))


def test_equal_rows_are_read_once(monkeypatch):
    """Rows that differ in padding or in what counts alone; a statistic or a gradient of another row."""
    torch.manual_seed(0)
    model = llama()[0].train()
    owner = torch.tensor([0, 1, 0, 2, 0, 1])
    rows = {"prompt_ids": torch.randint(3, 12, (3, 4))[owner], "prompt_mask": torch.ones(6, 4).long(),
            "completion_ids": torch.randint(3, 12, (3, 3))[owner],
            "completion_mask": torch.tensor([[1, 1, 1], [1, 1, 1], [1, 1, 0]])[owner]}
    rows["completion_ids"][5, 2] = 15 - rows["completion_ids"][5, 2]  # another last token
    rows["completion_ids"][3, 2] = 0  # padding
    rows["mask"] = rows["completion_mask"].bool()
    rows["mask"][4] = False
    read, original = [], Forward._call

    def call(self, model, tokens, *arguments, **more):
        read.append(tokens.shape[0])
        return original(self, model, tokens, *arguments, **more)

    monkeypatch.setattr(Forward, "_call", call)
    weight = torch.rand(6, 3, dtype=torch.float64)

    def of(passes, parts):
        found = [passes.statistics(model, {name: rows[name][part] for name in rows}) for part in parts]
        log_prob = torch.cat([one.log_prob for one in found])
        return log_prob, torch.autograd.grad((weight * log_prob).sum(), list(model.parameters()))

    forward = Forward(Accelerator(cpu=True), model)
    log_prob, gradient = of(forward, [slice(None)])
    assert read[-1] == 5
    expected, whole_gradient = of(forward, [slice(row, row + 1) for row in range(6)])
    torch.testing.assert_close(log_prob, expected, rtol=0, atol=ROUNDING)
    assert not log_prob[4].any()
    assert log_prob[0].all()
    for one, other in zip(gradient, whole_gradient, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=ROUNDING * float(other.abs().max()))


def test_rows_of_nearly_one_length_are_read_together():
    mask = (torch.arange(8) < torch.tensor([8, 8, 8, 7])[:, None]).long()
    assert shared_prompts.parts_by_length(mask, cuts=True) == [(slice(None), 8)]
    assert shared_prompts.parts_by_length(mask[:1], cuts=True) == [(slice(None), 8)]
    assert shared_prompts.parts_by_length(mask[3:], cuts=True) == [(slice(None), 7)]
    assert shared_prompts.parts_by_length(mask * (torch.arange(8) < 1), cuts=True) == [(slice(None), 2)]


def test_a_model_whose_past_is_wrong_is_found_out(tmp_path, monkeypatch, caplog):
    """Trusting a cache that gives other log-probs: the step must be that of the plain pass."""
    rule = update_rules.get("grpo")
    expected, _, _ = trained(tmp_path, monkeypatch, rule, shared=False)
    original = shared_prompts.past_of
    logging.getLogger("llm_bridge").propagate = True
    with monkeypatch.context() as patch:
        made = llama_trainer(tmp_path, rule, prompts=PROMPTS_OF_OTHER_LENGTHS)
        patch.setattr(
            shared_prompts, "past_of", lambda prompts, owner: original(prompts, owner.flip(0)))
        moved = moves(made)
    assert "its log-probs are others" in caplog.text
    assert_same(moved, expected)


def without_checks(patch):
    """The defect of old: prompts are shared under checkpointing, where no past is kept."""
    patch.setattr(shared_prompts, "obstacle", lambda _: None)
    patch.setattr(shared_prompts, "check_past", lambda *_: None)
    patch.setattr(Forward, "_is_same_with_shared_prompts", lambda *_: True)


def test_a_policy_that_trains_on_other_log_probs_than_it_scored_is_refused(tmp_path, monkeypatch):
    """Silently, the first step's ratios would be anything but 1."""
    without_checks(monkeypatch)
    made = llama_trainer(
        tmp_path, update_rules.get("grpo"), model=llama()[0].float(), bf16=True,
        prompts=PROMPTS_OF_OTHER_LENGTHS, gradient_checkpointing=True, **OFF_POLICY)
    before = weights(made)
    with pytest.raises(
        ValueError,
        match=r"the one that draws.*cached past differs from the prompt.*gradient_checkpointing=False"
    ):
        made.train()
    for name, weight in weights(made).items():
        assert torch.equal(weight, before[name])


@pytest.mark.parametrize(("noise", "is_refused"), [(0.2, True), (0.015, False)])
def test_noise_that_16_bits_do_not_explain_is_another_policy(tmp_path, monkeypatch, noise, is_refused):
    """0.2 nats may be rounding in some model, but not in this one: they take a third of the ratios out of
    [.8, 1.2]. Half of the least allowance must pass."""
    made = llama_trainer(
        tmp_path, update_rules.get("grpo"), model=llama()[0].float(), bf16=True, micro_batches=4,
        gradient_checkpointing=True, **OFF_POLICY,
    )
    generator = torch.Generator().manual_seed(0)

    def noisy(original):
        def call(*arguments):
            found = original(*arguments)
            if not torch.is_grad_enabled():
                return found
            drawn = noise * torch.randn(found.log_prob.shape, generator=generator)
            return dataclasses.replace(found, log_prob=found.log_prob + drawn)

        return call

    monkeypatch.setattr(Forward, "statistics", noisy(Forward.statistics))
    refused = pytest.raises(ValueError, match=r"every ratio .* must be 1")
    with refused if is_refused else contextlib.nullcontext():
        made.train()
