"""Training steps of TRL's own trainer and of ours on the same completions, of uneven lengths.

Rewards are in the ten thousands, so that the 1e-4 that TRL adds to their standard deviation is rounding.
"""

from pathlib import Path
from typing import Any

import datasets
import torch
import transformers
import trl

from llm_bridge.trainer import EntropyTrainer, from_trl
from tests.llm_bridge.llama_steps import llama, weights

PROMPTS = ("1", "12+3=", "412+27=")
LONGEST, GROUP = 6, 8
ROWS = len(PROMPTS) * GROUP
CUT = {"gradient_accumulation_steps": 2, "per_device_train_batch_size": 12}
"""Two micro-batches, whose rows TRL draws at random."""


def dealt(stop: int):
    """In place of sampling: completions of uneven lengths, some of them cut off."""

    def completions(prompt_ids, *_, **__):
        generator = torch.Generator().manual_seed(5)
        found = []
        for row in range(len(prompt_ids)):
            length = int(torch.randint(1, LONGEST + 1, (), generator=generator))
            tokens = torch.randint(4, 14, (length,), generator=generator).tolist()
            found.append([*tokens[:-1], stop] if row % 3 else tokens)
        return found, None

    return completions


def judge(completion_ids, **_):
    """Rewards that depend on the tokens, spread by ten thousand."""
    return [1e4 * (sum(ids[:3]) % 7) / 7 for ids in completion_ids]


class Weights(transformers.TrainerCallback):
    """The weights before each optimizer step, and after the last."""

    def __init__(self, made):
        self.made, self.found = made, []

    def on_pre_optimizer_step(self, *_, **__):
        self.found.append(weights(self.made))

    on_train_end = on_pre_optimizer_step


def as_by_vllm(made: Any) -> None:
    """Let the completions come with vLLM's log-probabilities: the model's, less .1 and .2 in turn."""
    made.use_vllm = made.vllm_importance_sampling_correction = True
    if isinstance(made, EntropyTrainer):
        made.generation._corrects = True
    draw = made._generate_single_turn

    def drawn(prompt_ids: Any, *rest: Any, **options: Any) -> Any:
        found, _ = draw(prompt_ids, *rest, **options)
        likely = []
        for row, (prompt, completion) in enumerate(zip(prompt_ids, found, strict=True)):
            with torch.no_grad():
                logits = made.model(torch.tensor([[*prompt, *completion]])).logits
            every = logits[0, len(prompt) - 1 : -1].log_softmax(-1)
            taken = every.gather(1, torch.tensor(completion)[:, None])[:, 0]
            likely.append((taken - 0.1 * (1 + row % 2)).tolist())
        return found, likely

    made._generate_single_turn = drawn


def both(
    folder: Path, options: dict[str, Any], reward: Any = judge, prepare: Any = lambda _: None,
    make: Any = llama,
) -> tuple[Any, Any, Any]:
    """The steps of our trainer under the rule that the options describe, those of TRL's, and that one."""
    expected, theirs = trained(folder, trl.GRPOTrainer, options, reward, prepare, make)
    found, _ = trained(folder, EntropyTrainer, options, reward, prepare, make, rule=from_trl)
    return found, expected, theirs


def trained(folder, kind, options, reward=judge, prepare=lambda _: None, make=llama, **more):
    """The changes of the weights at two steps on one generation, and the trainer, after ``prepare``."""
    model, tokenizer = make()
    # Both load the reference that the model names.
    path = folder / "start"
    if not path.exists():
        model.save_pretrained(path)
        tokenizer.save_pretrained(path)
    # Grouped products of experts do not know float64.
    model = type(model).from_pretrained(path, dtype=torch.float64, experts_implementation="eager")
    model.generation_config = make()[0].generation_config
    arguments = trl.GRPOConfig(**{
        "output_dir": str(folder / "run"), "use_cpu": True, "bf16": False, "logging_steps": 1,
        "per_device_train_batch_size": ROWS, "num_generations": GROUP,
        "max_completion_length": LONGEST, "num_iterations": 2, "max_steps": 2, "optim": "sgd",
        "max_grad_norm": 0.0, "learning_rate": 0.03, "lr_scheduler_type": "constant",
        "save_strategy": "no", "shuffle_dataset": False, "disable_tqdm": True,
        "dataloader_pin_memory": False, "gradient_checkpointing": False, "disable_dropout": True,
        **options})
    more = {name: value(arguments) for name, value in more.items()}
    made = kind(model, [reward], arguments, processing_class=tokenizer, **more,
                train_dataset=datasets.Dataset.from_dict({"prompt": list(PROMPTS) * 2}))
    made.remove_callback(transformers.PrinterCallback)
    made._generate_single_turn = dealt(tokenizer.eos_token_id)
    prepare(made)
    seen = Weights(made)
    made.add_callback(seen)
    made.train()
    steps = [{name: after[name] - before[name] for name in after}
             for before, after in zip(seen.found, seen.found[1:], strict=False)]
    return steps, made


def difference(found, expected) -> float:
    """Largest difference of a step's weights, relative to the largest change of one."""
    largest = max(float(change.abs().max()) for change in expected.values())
    assert largest > 1e-3
    return max(float((found[name] - expected[name]).abs().max()) for name in expected) / largest
