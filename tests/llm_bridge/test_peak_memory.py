"""Guards llm_bridge/sampling/peak_memory.py: what is computed from shapes is what a process takes, and an
evaluation by an engine, at the lengths of the papers, takes less than one table of logits.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers

from llm_bridge.sampling import peak_memory

QWEN = transformers.Qwen2Config(
    vocab_size=151_936, hidden_size=3584, intermediate_size=18_944, num_hidden_layers=28,
    num_attention_heads=28, num_key_value_heads=4, max_position_embeddings=32_768)
"""Qwen2.5-7B, with the vocabulary of the smaller ones."""
APART = 0.25
"""What the two may differ by, relatively: operators and the allocator keep buffers that no tensor shows.
One more tensor of the MLP would be .28 of the scoring, and the cache without keys .5 of the drawing."""


@pytest.mark.parametrize(("rows", "new"), [(32, 3072), (32, 8192)])
def test_an_evaluation_by_an_engine_takes_less_than_a_table_of_logits(rows, new):
    """Of 32 completions in bfloat16, weights included: 19.1 GiB, where 27.8 are one of 3,072 tokens."""
    sizes = {"prompt": 512, "new": new}
    taken = peak_memory.scoring(QWEN, torch.bfloat16, rows=rows, device="cuda", **sizes)
    held = peak_memory.weights(peak_memory.meta_model(QWEN, torch.bfloat16))
    assert held == 2 * (7_615_616_512 - 2 * 128 * 3584)  # as published, with a vocabulary of 128 more
    assert held + taken < 2 * rows * new * QWEN.vocab_size


@pytest.mark.deep  # a process of its own each
@pytest.mark.parametrize("sampler", ["vllm", "trl"])
def test_what_is_computed_is_what_a_process_takes(sampler):
    """At a size that a process takes in a moment; a table held, or a tensor counted twice."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.llm_bridge.sampling_memory", sampler], check=True, text=True,
        capture_output=True, cwd=Path(__file__).parents[2])
    measured, computed, table = map(float, found.stdout.split()[-3:])
    assert measured == pytest.approx(computed, rel=APART)
    assert measured < table


def test_keys_and_values_of_all_positions_are_counted():
    """Of every layer, beside a few tables [rows, vocabulary]: a cache of one layer, or of the prompt."""
    shape = transformers.Qwen2Config(
        vocab_size=64, hidden_size=64, intermediate_size=64, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=4096)
    taken = peak_memory.drawing(shape, torch.float32, rows=8, prompt=100, new=3000)
    cache = 4 * 2 * 8 * 3100 * 2 * 16 * 4
    assert cache < taken < 1.3 * cache  # a layer is written anew beside itself: .25
