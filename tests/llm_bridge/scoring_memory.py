"""Run by test_peak_memory: MiB that an evaluation by an engine takes, that are computed, and of a table."""

import dataclasses

import torch
import transformers

from llm_bridge import evaluation
from llm_bridge.data import models, tasks
from llm_bridge.sampling import peak_memory, samplers
from tests.llm_bridge.memory import peak_of

VOCABULARY, NEW, SAMPLES = 32_000, 256, 4
SHAPE = transformers.Qwen2Config(
    vocab_size=VOCABULARY, hidden_size=256, intermediate_size=3072, num_hidden_layers=1,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512, bos_token_id=1,
    eos_token_id=2)


def draw(model, batch, kept):
    """As vLLM: tokens, here any, of which the model in memory is to say the rest."""
    generator = torch.Generator().manual_seed(batch.seed)
    size = (len(batch.ids) * batch.copies, batch.max_new_tokens)
    return samplers.Tokens(ids=torch.randint(3, 17, size, generator=generator))


def main():
    torch.set_num_threads(1)
    _, tokenizer = models.load("small-sums")
    model = transformers.Qwen2ForCausalLM(SHAPE).eval()
    samplers.SAMPLERS["vllm"] = samplers.Sampler(
        draw=draw, obstacle=lambda _: None, engine=lambda *_: None)
    task = dataclasses.replace(tasks.load("sum", size=8), max_new_tokens=NEW, stop=None)

    def evaluate(size=8):
        part = dataclasses.replace(task, prompts=task.prompts[:size], answers=task.answers[:size])
        evaluation.evaluate(model, tokenizer, part, num_samples=SAMPLES, sampler="vllm", batch_size=32)

    evaluate(1)  # what is made once: threads' buffers, compiled kernels
    measured = peak_of(evaluate)
    prompt = len(tokenizer(task.prompts[0]).input_ids)
    computed = peak_memory.scoring(
        SHAPE, torch.float32, rows=32, prompt=prompt, new=NEW, device="cpu")
    print(*(value / 2**20 for value in (measured, computed, 4 * 32 * NEW * VOCABULARY)))


if __name__ == "__main__":
    main()
