"""Run by test_peak_memory: MiB that sampling takes, that are computed of it, and of a table of logits."""

import dataclasses
import sys

import torch
import transformers

from llm_bridge import evaluation
from llm_bridge.data import models, tasks
from llm_bridge.sampling import peak_memory, samplers
from tests.llm_bridge.memory import peak_of

VOCABULARY, ROWS = 16_000, 32


def shape(**sizes):
    return transformers.Qwen2Config(**{
        "vocab_size": VOCABULARY, "max_position_embeddings": 512, "bos_token_id": 1, "eos_token_id": 2,
        "num_attention_heads": 4, **sizes})


def draw(model, batch, kept):
    """As vLLM: tokens, here any, of which the model in memory is to say the rest."""
    generator = torch.Generator().manual_seed(batch.seed)
    size = (len(batch.ids) * batch.copies, batch.max_new_tokens)
    return samplers.Tokens(ids=torch.randint(3, 17, size, generator=generator))


def measured(of, new, sampler, compute, **options):
    """Prints what an evaluation of one batch takes beyond the same of one row, which warms up."""
    _, tokenizer = models.load("small-sums")
    model = transformers.Qwen2ForCausalLM(of).eval()
    task = dataclasses.replace(tasks.load("sum", size=8), max_new_tokens=new, stop=None)

    def evaluate(prompts=8, samples=ROWS // 8):
        part = dataclasses.replace(task, prompts=task.prompts[:prompts], answers=task.answers[:prompts])
        evaluation.evaluate(model, tokenizer, part, num_samples=samples, sampler=sampler)

    evaluate(1, 1)
    peak, prompt = peak_of(evaluate), len(tokenizer(task.prompts[0]).input_ids)
    computed = compute(of, torch.float32, rows=ROWS, prompt=prompt, new=new)
    print(*(size / 2**20 for size in (peak, computed, 4 * ROWS * new * VOCABULARY)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1] == "vllm":
        samplers.SAMPLERS["vllm"] = samplers.Sampler(
            draw=draw, obstacle=lambda _: None, engine=lambda *_: None)
        measured(shape(hidden_size=256, intermediate_size=3072, num_hidden_layers=1,
                       num_key_value_heads=2), 256, "vllm", peak_memory.scoring)
    else:
        measured(shape(hidden_size=512, intermediate_size=512, num_hidden_layers=8,
                       num_key_value_heads=4), 48, sys.argv[1], peak_memory.drawing)
