"""Trains small-sums through stock TRL with one thing made wrong, and returns what TRL logged.

What TRL has an option for is set by that option. The rest is a small change around the trainer: a sampler
of its own (old weights, another temperature, top-p, another number format), a bonus on the summed
entropy, a crash.
"""

from __future__ import annotations

import math
import random
import re
import tempfile
import warnings
import zlib
from typing import Any

import datasets
import torch
import transformers
import trl

from benchmarks.diagnosis.runs import Sampler, Training
from llm_bridge.data import models, tasks

LONGEST = {"sum": 4, "split": 6}
"""Tokens of an answer with its end token."""
MISMATCH, MISMATCH_IN_PROBABILITY = "sampling/sampling_logp_difference/mean", "probs_diff"
"""Mean |log p - log p'| over sampled tokens, as TRL logs it beside vLLM, and verl's mean |p - p'|."""


def _right(text: str, prompt: str) -> float:
    """1 where an answer begins right, whatever follows it."""
    if "+" in prompt:
        first, second = map(int, prompt.rstrip("=").split("+"))
        return float(text[:3] == f"{first + second:03d}")
    terms = re.match(r"(\d\d)\+(\d\d)", text)
    return float(terms is not None and int(terms[1]) + int(terms[2]) == int(prompt.rstrip("=")))


REWARDS = {
    "right": _right,
    "never": lambda text, prompt: 0.0,
    "always": lambda text, prompt: 1.0,
    "hard": lambda text, prompt: _right(text, prompt) * (_number(prompt) % 29 == 0),
    "noise": lambda text, prompt: float(zlib.crc32(f"{text}, {prompt}".encode()) % 2),
}
"""The reward of an answer to a prompt: 0 to 1."""


def _number(prompt: str) -> int:
    return int(re.sub(r"\D", "", prompt))


class Trainer(trl.GRPOTrainer):
    """TRL's trainer with a sampler beside it, and what else may be made wrong."""

    def __init__(self, run: Training, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.run = run
        self._copy: Any = None
        self._copied = -1

    def _generate_single_turn(self, prompt_ids, images, multimodal_fields, num_generations, **rest):
        if self.run.sampler is None or not self.model.training:
            return super()._generate_single_turn(
                prompt_ids, images, multimodal_fields, num_generations, **rest)
        self._synchronize(self.run.sampler)
        ids = self._tokenizer.pad({"input_ids": prompt_ids}, padding_side="left", return_tensors="pt")
        with torch.no_grad():
            drawn = self._copy.generate(
                **ids, max_new_tokens=self.max_completion_length, do_sample=True, top_k=0,
                temperature=self.run.sampler.temperature, top_p=self.run.sampler.top_p,
                return_dict_in_generate=True, output_scores=True)
        tokens = drawn.sequences[:, ids["input_ids"].size(1):]
        scores = torch.stack(drawn.scores, dim=1).float().log_softmax(-1)
        log_probs = scores.gather(-1, tokens[..., None])[..., 0]
        ends = (tokens == self._tokenizer.eos_token_id).int()
        inside = (ends.cumsum(1) - ends) == 0
        return ([row[kept].tolist() for row, kept in zip(tokens, inside, strict=True)],
                [row[kept].tolist() for row, kept in zip(log_probs, inside, strict=True)])

    def _synchronize(self, sampler: Sampler) -> None:
        step = self.state.global_step
        if self._copy is None:  # no deep copy: TRL's own forward would go on calling the original
            self._copy, _ = models.load("small-sums", dtype=sampler.dtype)
        elif step - self._copied < sampler.every:
            return
        self._copy.load_state_dict(self.model.state_dict())
        self._copied = step

    def _generate_and_score_completions(self, inputs):
        made = super()._generate_and_score_completions(inputs)
        mode = "train" if self.model.training else "eval"
        if mode == "train" and self.run.sampler is not None:
            # TRL logs this where vLLM draws: the formula is its own.
            ids = torch.cat([made["prompt_ids"], made["completion_ids"]], 1)
            mask = torch.cat([made["prompt_mask"], made["completion_mask"]], 1)
            with torch.no_grad():
                own = self._get_per_token_logps_and_entropies(
                    self.model, ids, mask, made["completion_ids"].size(1))[0]
            inside = made["completion_mask"].bool()
            theirs = made["sampling_per_token_logps"][inside]
            apart = (own[inside] - theirs).abs().mean().item()
            self._metrics[mode][MISMATCH].append(apart)
            apart = (own[inside].exp() - theirs.exp()).abs().mean().item()
            self._metrics[mode][MISMATCH_IN_PROBABILITY].append(apart)
        return made

    def _compute_loss(self, model, inputs):
        loss = super()._compute_loss(model, inputs)
        if self.run.summed_entropy and self.model.training:
            ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
            mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
            entropy = self._get_per_token_logps_and_entropies(
                model, ids, mask, inputs["completion_ids"].size(1), compute_entropy=True)[1]
            total = (entropy * inputs["completion_mask"]).sum(1).mean()
            loss = loss - self.run.summed_entropy * total / self.current_gradient_accumulation_steps
        return loss


def train(run: Training) -> list[dict[str, float]]:
    """Train, and return TRL's records of numbers in the order in which they were logged."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not run.crash:
            return _records(_trainer(run, folder))
        died = _trainer(run, folder, max_steps=run.crash, save_strategy="steps", save_steps=run.saved)
        before = _records(died)
        resumed = _trainer(run, folder)
        return before + [
            record for record in _records(resumed, f"{folder}/checkpoint-{run.saved}")
            if record["step"] > run.saved]


def _records(trainer: Trainer, checkpoint: str | None = None) -> list[dict[str, float]]:
    trainer.train(resume_from_checkpoint=checkpoint)
    records = [record for record in trainer.state.log_history if "train_runtime" not in record]
    return [{name: float(value) for name, value in record.items() if isinstance(value, (int, float))}
            for record in records]


def _trainer(run: Training, folder: str, **options: Any) -> Trainer:
    torch.manual_seed(run.seed)
    model, tokenizer = models.load("small-sums")
    if run.rambling:
        _ramble(run, model, tokenizer)
    # In training mode small-sums, which has no dropout, is what it is in evaluation mode.
    asked = {
        "seed": run.seed, "max_steps": run.steps, "learning_rate": run.learning_rate,
        "per_device_train_batch_size": run.prompts * run.samples, "num_generations": run.samples,
        "max_completion_length": run.longest or max(LONGEST.values()), "lr_scheduler_type": "constant",
        "use_cpu": True, "bf16": False, "report_to": "none", "logging_steps": 1, "save_strategy": "no",
        "disable_tqdm": True, "dataloader_pin_memory": False, "gradient_checkpointing": False,
        "shuffle_dataset": not run.period, "beta": 0.0, **run.trl, **options,
    }
    held_out = None
    if run.evaluate:
        asked |= {"eval_strategy": "steps", "eval_steps": run.evaluate, "per_device_eval_batch_size": 64,
                  "num_generations_eval": 2}
        held_out = _dataset(_prompts(run, "held-out", 32))
    made = Trainer(
        run, model, _rewards(run), trl.GRPOConfig(folder, **asked), processing_class=tokenizer,
        train_dataset=_dataset(_train_prompts(run, model, tokenizer)), eval_dataset=held_out)
    if made.ref_model is not None:  # TRL loads it from where the model was before it learned to ramble
        made.ref_model.load_state_dict(model.state_dict())
    made._send_telemetry = lambda *_, **__: None
    made.remove_callback(transformers.PrinterCallback)
    return made


def _rewards(run: Training) -> list[Any]:
    def right(prompts, completions, **_):
        return [REWARDS[run.reward](text, prompt)
                for text, prompt in zip(completions, prompts, strict=True)]

    def length(completion_ids, **_):
        return [run.length_bonus * len(ids) / run.longest for ids in completion_ids]

    return [right, length] if run.length_bonus else [right]


def _dataset(prompts: list[str]) -> datasets.Dataset:
    return datasets.Dataset.from_dict({"prompt": prompts})


def _prompts(run: Training, split: Any, size: int, seed: int | None = None) -> list[str]:
    names = ("split", "sum") if run.task == "mixed" else (run.task,)
    drawn = [tasks.load(name, split=split, size=math.ceil(size / len(names)),
                        seed=run.seed if seed is None else seed).prompts for name in names]
    return [prompt for several in zip(*drawn, strict=True) for prompt in several][:size]


def _train_prompts(run: Training, model: Any, tokenizer: Any) -> list[str]:
    if not run.period:
        size = run.prompts * run.steps
        few = _prompts(run, "train", run.distinct or size)
        return (few * math.ceil(size / len(few)))[:size]
    chosen = list(dict.fromkeys(_prompts(run, "train", run.prompts * run.period * 2, run.order)))
    generator = torch.Generator().manual_seed(run.order)
    with torch.random.fork_rng():
        torch.manual_seed(run.order)
        share = {prompt: _share_right(prompt, model, tokenizer) for prompt in chosen}
    ranked = sorted(chosen, key=share.__getitem__)
    if run.order % 2:  # easy and hard blocks in any order, not one slope
        size = max(1, run.prompts * 3)
        blocks = [ranked[i:i + size] for i in range(0, len(ranked), size)]
        ranked = [prompt for i in torch.randperm(len(blocks), generator=generator).tolist()
                  for prompt in blocks[i]]
    # As many as fill the period, taken evenly or again and again.
    places = [i * len(ranked) // (run.prompts * run.period) for i in range(run.prompts * run.period)]
    return [ranked[i] for i in places]


def _ramble(run: Training, model: Any, tokenizer: Any) -> None:
    """Teach a model to write a few more digits after an answer, as many as chance has it."""
    generator = random.Random(run.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(run.rambling):
        rows = []
        for prompt in _prompts(run, "train", 64, generator.randrange(10**6)):
            more = min(int(generator.expovariate(1 / 3)), (run.longest or 6) - 6)
            digits = "".join(generator.choices("0123456789", k=max(0, more)))
            rows.append((prompt, _answer(prompt, generator) + digits))
        asked = [tokenizer(prompt).input_ids for prompt, _ in rows]
        told = [[*tokenizer(text, add_special_tokens=False).input_ids, tokenizer.eos_token_id]
                for _, text in rows]
        width = max(len(a) + len(b) for a, b in zip(asked, told, strict=True))
        ids = torch.full((len(rows), width), tokenizer.pad_token_id)
        labels, mask = torch.full_like(ids, -100), torch.zeros_like(ids)
        for i, (a, b) in enumerate(zip(asked, told, strict=True)):
            ids[i, :len(a) + len(b)] = torch.tensor(a + b)
            labels[i, len(a):len(a) + len(b)] = torch.tensor(b)
            mask[i, :len(a) + len(b)] = 1
        model(input_ids=ids, attention_mask=mask, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def _answer(prompt: str, generator: random.Random) -> str:
    if "+" in prompt:
        first, second = map(int, prompt.rstrip("=").split("+"))
        return f"{first + second:03d}"
    return generator.choice(tasks.split_answers(int(prompt.rstrip("="))))


def _share_right(prompt: str, model: Any, tokenizer: Any) -> float:
    ids = tokenizer([prompt], return_tensors="pt")
    with torch.no_grad():
        drawn = model.generate(
            **ids, max_new_tokens=max(LONGEST.values()), do_sample=True, num_return_sequences=24)
    texts = tokenizer.batch_decode(drawn[:, ids["input_ids"].size(1):], skip_special_tokens=True)
    return sum(_right(text, prompt) for text in texts) / len(texts)
