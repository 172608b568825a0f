"""Makes the bundled small model by supervised pretraining on ``sum`` and ``split``.

::

    python -m llm_bridge.commands.pretrain --output DIR --seed 0

A Llama-config transformer of 0.8 M parameters, with one token per character, learns both tasks from
solved examples. It is stopped when it solves each about half of the time, so that reinforcement
learning has entropy to spend. For ``split`` an example's right answer is drawn uniformly, so that
the model spreads over all right answers.

The two tasks are learned at different times. A task that has reached the target gets a small share
of the examples until the other has, too. Training stops at the first measurement where both have.
Held-out prompts are never trained on.
"""

from __future__ import annotations

import dataclasses
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
import tyro
from rich.progress import Progress

from entropy_theory.support import results
from entropy_theory.support.user_errors import run_command
from llm_bridge import evaluation
from llm_bridge.data import models, tasks
from llm_bridge.sampling import sampling

CHARACTERS = "0123456789+="
PAD, BOS, EOS, UNKNOWN = "<pad>", "<bos>", "<eos>", "<unk>"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class PretrainConfig:
    """Pretrain the small model on sum and split, and write it in Hugging Face format."""

    output: Path
    """Folder for the model, its tokenizer and provenance.json; created, or replaced file by file."""
    seed: int = 0
    """Seed of the weights, the examples and the measurements."""
    steps: int = 800
    """Give up after so many optimizer steps."""
    batch_size: int = 256
    """Solved examples in each step."""
    learning_rate: float = 2e-3
    """Learning rate of AdamW, after a linear warm-up."""
    warmup_steps: int = 30
    """Steps over which the learning rate rises."""
    target_accuracy: float | None = 0.37
    """Stop when sampled accuracy at T = 1 has reached this on both tasks; None: take all steps."""
    hidden_size: int = 128
    """Width of the model, a multiple of 16; its four layers and heads stay."""
    sum_share: float = 0.35
    """Share of the examples that are sums; below one half, for sums are learned first."""
    reached_share: float = 0.2
    """Share of the examples for a task that has reached the target while the other has not."""
    measure_every: int = 10
    """Steps between measurements of accuracy."""
    measure_prompts: int = 256
    """Prompts for each measurement, one sample each."""
    threads: int = 1
    """Threads of torch; more are seldom faster for a model this small."""
    device: str = "cpu"
    """Device for training: cpu or cuda."""


def build_tokenizer() -> transformers.PreTrainedTokenizerFast:
    """Make a tokenizer with one token a character, which puts BOS in front of every text by itself.

    TRL tokenizes prompts as the tokenizer does: without the BOS that the model was trained with,
    every reward would silently be 0.
    """
    vocabulary = {text: i for i, text in enumerate([PAD, BOS, EOS, UNKNOWN, *CHARACTERS])}
    backend = tokenizers.Tokenizer(
        tokenizers.models.WordLevel(vocab=vocabulary, unk_token=UNKNOWN)
    )
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Split(
        tokenizers.Regex("."), behavior="isolated"
    )
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{BOS} $A", special_tokens=[(BOS, vocabulary[BOS])]
    )
    backend.decoder = tokenizers.decoders.Fuse()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=BOS, eos_token=EOS, pad_token=PAD, unk_token=UNKNOWN,
        padding_side="left", clean_up_tokenization_spaces=False,
    )


def build_model(tokenizer: Any, hidden_size: int = 128) -> transformers.LlamaForCausalLM:
    """Make the untrained model: 4 layers, 4 heads, weights from torch's random state.

    Raises ValueError for a hidden size that is not a multiple of 16.
    """
    if hidden_size < 16 or hidden_size % 16:
        raise ValueError(f"hidden_size must be a multiple of 16, got {hidden_size}")
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=hidden_size,
            intermediate_size=hidden_size * 43 // 16,
            num_hidden_layers=4,
            num_attention_heads=4,
            max_position_embeddings=64,
            tie_word_embeddings=True,
            # The library's 0.02 suits wide models; this one learns to carry twice as fast from 0.05.
            initializer_range=0.05,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def solved_examples(generator: random.Random, count: int, sum_share: float) -> list[tuple[str, str]]:
    """Return (prompt, right answer) pairs from prompts that are not held out."""
    pools = {"sum": _training_items(tasks.sum_items()), "split": _training_items(tasks.split_items())}
    examples = []
    for _ in range(count):
        if generator.random() < sum_share:
            examples.append(generator.choice(pools["sum"]))
        else:
            prompt, _ = generator.choice(pools["split"])
            examples.append((prompt, generator.choice(tasks.split_answers(int(prompt[:-1])))))
    return examples


def supervised_loss(model: Any, tokenizer: Any, examples: list[tuple[str, str]]) -> torch.Tensor:
    """Return the mean negative log-likelihood of the answers' tokens, nats, end of sequence included."""
    texts = [prompt + answer + EOS for prompt, answer in examples]
    encoded = tokenizer(texts, return_tensors="pt", padding=True, padding_side="right")
    encoded = encoded.to(model.device)
    lengths = torch.tensor([[1 + len(prompt)] for prompt, _ in examples], device=model.device)
    is_answer = torch.arange(encoded.input_ids.shape[1], device=model.device) >= lengths
    labels = encoded.input_ids.masked_fill(~is_answer | (encoded.attention_mask == 0), -100)
    return model(**encoded, labels=labels).loss


def pretrain(config: PretrainConfig) -> dict[str, Any]:
    """Train as ``config`` says, write the model in bfloat16, and measure what was written.

    Returns:
        The content of provenance.json: provenance, training history, and each task's evaluation on
        held-out prompts with the model as it loads from the folder.

    Raises:
        ValueError: a target that was not reached within ``config.steps``.
    """
    torch.set_num_threads(config.threads)
    torch.manual_seed(config.seed)
    tokenizer = build_tokenizer()
    model: Any = build_model(tokenizer, config.hidden_size)
    model.to(config.device)
    started = time.monotonic()
    history = _show_progress(_train(model, tokenizer, config), config)
    seconds = time.monotonic() - started
    with tempfile.TemporaryDirectory() as folder:
        model.to(torch.bfloat16).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        written, tokenizer = models.load(folder)
        found = {
            "command": f"python -m llm_bridge.commands.pretrain --output DIR --seed {config.seed}",
            "provenance": results.provenance(
                config=dataclasses.replace(config, output=Path("DIR")), seed=config.seed,
                packages=("torch", "transformers", "tokenizers", "numpy"),
            ),
            "parameters": sum(p.numel() for p in written.parameters()),
            "training_seconds": round(seconds, 1),
            "held_out": {
                name: evaluation.evaluate(
                    written, tokenizer, tasks.load(name, split="held-out", size=256),
                    num_samples=8, seed=config.seed, batch_size=512,
                )
                for name in ("sum", "split")
            },
            "history": history,
        }
        for file in sorted(Path(folder).iterdir()):
            with results.atomic_path(config.output / file.name) as target:
                target.write_bytes(file.read_bytes())
    results.write_json(config.output / "provenance.json", found)
    return found


def _train(model: Any, tokenizer: Any, config: PretrainConfig) -> Iterator[dict[str, float]]:
    """Train until both tasks reach the target, yielding each measurement."""
    generator = random.Random(config.seed)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, betas=(0.9, 0.98), weight_decay=0.01
    )
    sum_share = config.sum_share
    for step in range(1, config.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * min(1.0, step / config.warmup_steps)
        model.train()
        examples = solved_examples(generator, config.batch_size, sum_share)
        loss = supervised_loss(model, tokenizer, examples)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % config.measure_every:
            continue
        accuracy = {
            name: _accuracy(model, tokenizer, name, config, step) for name in ("sum", "split")
        }
        yield {"step": step, "loss": loss.item(), "sum_share": sum_share, **accuracy}
        if config.target_accuracy is None:
            continue
        reached = {name: value >= config.target_accuracy for name, value in accuracy.items()}
        if all(reached.values()):
            return
        sum_share = config.sum_share
        if reached["sum"]:
            sum_share = config.reached_share
        elif reached["split"]:
            sum_share = 1 - config.reached_share
    if config.target_accuracy is None:
        return
    raise ValueError(
        f"accuracy {accuracy} after {config.steps} steps, below the target of "
        f"{config.target_accuracy}: raise --steps or lower --target-accuracy"
    )


def _accuracy(model: Any, tokenizer: Any, name: str, config: PretrainConfig, step: int) -> float:
    task = tasks.load(name, size=config.measure_prompts, seed=step)
    drawn = sampling.sample(
        model, tokenizer, list(task.prompts), max_new_tokens=task.max_new_tokens,
        seed=config.seed + step, batch_size=config.measure_prompts,
    )
    judged = task.judge(drawn.prompts, drawn.completions, list(task.answers))
    return sum(judged) / len(judged)


def _show_progress(
    measurements: Iterator[dict[str, float]], config: PretrainConfig
) -> list[dict[str, float]]:
    history = []
    with Progress(disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task("pretraining", total=config.steps)
        for found in measurements:
            history.append({key: round(value, 4) for key, value in found.items()})
            line = f"step {found['step']}: sum {found['sum']:.2f} split {found['split']:.2f}"
            progress.update(bar, completed=found["step"], description=line)
            if progress.disable:
                print(line, file=sys.stderr, flush=True)
    return history


def _training_items(items: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [item for item in items if not tasks.is_held_out(item[0])]


def main() -> None:
    """Run `pretrain` from the command line."""
    config = tyro.cli(PretrainConfig, prog="python -m llm_bridge.commands.pretrain")
    found = pretrain(config)
    for name, measured in found["held_out"].items():
        print(
            f"{name}: pass@1 {measured['pass@1']:.3f}, entropy {measured['entropy']:.3f} nats per "
            "token on held-out prompts"
        )


if __name__ == "__main__":
    run_command(main)
