"""Guards llm_bridge/sampling/group_sampling.py: groups are sampled from the policy, whoever has ended."""

import itertools
from collections import Counter

import pytest
import scipy.stats
import torch

from llm_bridge.sampling import group_sampling
from tests.llm_bridge.language_models import tabular
from tests.llm_bridge.llama_steps import llama

PROMPTS = [[5, 6, 7]] * 3000 + [[8]] * 1000
STOPS = [2, 4, 9]


def exact(model, prompt, temperature, length):
    """Probability of each completion of at most ``length`` tokens, by whole forward passes."""
    found = {(): 1.0}
    for _ in range(length):
        whole = [ids for ids in found if not ids or ids[-1] not in STOPS]
        tokens = torch.tensor([[*prompt, *ids] for ids in whole])
        with torch.no_grad():
            prob = (model(tokens).logits[:, -1] / temperature).softmax(-1)
        for ids, row in zip(whole, prob.tolist(), strict=True):
            before = found.pop(ids)
            found |= {(*ids, token): before * p for token, p in enumerate(row)}
    return found


@pytest.mark.parametrize("temperature", [1.0, 1.6])
def test_completions_are_those_of_the_policy(temperature):
    """Chi-square of whole completions, of a padded and of a long prompt, with rows that end early:
    a cache row, a position or a mask that is another sequence's would bend it."""
    torch.manual_seed(0)
    model, _ = llama()
    drawn = group_sampling.sample_groups(
        model, PROMPTS, stop_ids=STOPS, max_new_tokens=2, temperature=temperature
    )
    start = 0
    for prompt, same in itertools.groupby(PROMPTS):
        count = len(list(same))
        seen = Counter(map(tuple, drawn[start : start + count]))
        start += count
        expected = exact(model, prompt, temperature, 2)
        assert set(seen) <= set(expected)
        often = [ids for ids, p in expected.items() if count * p >= 5]
        rest = count - sum(seen[ids] for ids in often)
        observed = [seen[ids] for ids in often] + [rest]
        wanted = [count * expected[ids] for ids in often]
        wanted.append(count - sum(wanted))
        # One false alarm in 10,000 seeds; the seed is fixed.
        assert scipy.stats.chisquare(observed, wanted).pvalue > 1e-4


def test_a_row_goes_on_as_if_alone():
    """Greedy limit: rows that ended and were dropped leave the others their own cache."""
    model, _ = llama()
    prompts = [[5, 6, 7], [8], [9, 10], [11, 5, 6, 8], [12]]
    options = {"stop_ids": [2, 7, 12], "max_new_tokens": 12, "temperature": 1e-4}
    together = group_sampling.sample_groups(model, prompts, **options)
    alone = [group_sampling.sample_groups(model, [ids], **options)[0] for ids in prompts]
    assert together == alone
    lengths = [len(ids) for ids in alone]
    assert min(lengths) < max(lengths) == 12
    for ids in alone:
        assert not set(ids[:-1]) & {2, 7, 12}


def test_samples_that_begin_alike_are_one_row(monkeypatch):
    """At the greedy limit the samples of a prompt never part."""
    model, _ = llama()
    prompts, rows = [[5, 6, 7]] * 3 + [[8]] * 2, []
    monkeypatch.setattr(model, "forward", lambda **options: (
        rows.append(len(options["input_ids"])), type(model).forward(model, **options))[1])
    drawn = group_sampling.sample_groups(
        model, prompts, stop_ids=[2], max_new_tokens=6, temperature=1e-4)
    assert drawn == [drawn[0]] * 3 + [drawn[3]] * 2
    assert rows == [2] * 6


def test_a_model_without_a_cache_is_left_to_others():
    model, _ = tabular()
    assert group_sampling.sample_groups(model, [[5]], stop_ids=[2], max_new_tokens=2) is None
