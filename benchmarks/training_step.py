"""A whole optimizer step beside stock TRL: sampling, rewards, scoring, forward, backward, optimizer.

Stock is `trl.GRPOTrainer` as shipped, with its fused head, alone and watched by `diagnostics.attach`.
Ours is `EntropyTrainer` with the rule ``grpo``, alone, and with forecasts or accounts of each tenth step,
whose entropy is that of a quarter of the rows, as in forecasts by `attach`, or of all rows. All have the
same model, prompts, samples per prompt, longest completion and dtype. They run in one process, ten steps
of one, then of the next, and so on, so that a busy machine slows all alike. On a CPU the time is the
process's CPU time, with one thread: threads that wait for each other spin, and on a busy machine that
counts as up to twice the work. A step of a run is as long as in the fastest of the rounds, which do the
same work, and the mean of these is printed, beside the fastest and the slowest round, where the time goes
in the median round, and the peak memory of a process of its own. Ratios are of these means; beside them
stand those of the odd rounds alone and of the even ones.

    python benchmarks/training_step.py
    python benchmarks/training_step.py --methods TRL "TRL, attach()"
    python benchmarks/training_step.py --cases small-sums --json build/training_step.json

With --json an interrupted call goes on with the next case, on the same device and versions.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import logging
import multiprocessing
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import datasets
import torch
import transformers
import trl

from entropy_theory import update_rules
from entropy_theory.support.results import kept_records, provenance, write_json
from llm_bridge import diagnostics
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.accounting.any_loss import quarter
from llm_bridge.data import models, tasks
from llm_bridge.trainer import EntropyTrainer, grpo_config

PARTS = ("sampling", "loss", "backward", "optimizer")
STOCK = "TRL"
METHODS: dict[str, Callable[[Any], Any] | None] = {
    STOCK: None, "TRL, attach()": diagnostics.attach,
    "TRL, account": lambda made: diagnostics.attach(
        made, account_every=10, account_sequences=-(-made.args.per_device_train_batch_size // 4)),
    "TRL, account of all": lambda made: diagnostics.attach(made, account_every=10),
    "TRL, account of all, offloaded": lambda made: diagnostics.attach(
        made, account_every=10, offload=True),
    "ours": None, "ours, forecast": lambda made: made.add_callback(
        Accountant(made, every=0, forecast_every=10, sequences=quarter)),
    "ours, account": lambda made: made.add_callback(
        Accountant(made, every=10, tokens=False, sequences=quarter)),
    "ours, account of all": lambda made: made.add_callback(Accountant(made, every=10, tokens=False)),
    "ours, tokens": lambda made: made.add_callback(Accountant(made, every=10)),
}
"""The methods timed, each with the function that attaches to its trainer; stock's begin with TRL."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """What is trained: a bundled model, or random weights in the shape of a known one."""

    prompts: int
    samples: int
    tokens: int
    shots: int = 0
    """Other prompts of the task that stand before each prompt, as examples would."""
    bundled: bool = False
    shape: dict[str, int] = dataclasses.field(default_factory=dict)


SMOLLM2 = {
    "vocab_size": 49_152, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
    "num_attention_heads": 9, "num_key_value_heads": 3, "max_position_embeddings": 8192,
}
CASES = {
    "small-sums": Case(prompts=32, samples=8, tokens=12, bundled=True),
    "smollm2-135m-shape": Case(prompts=2, samples=4, tokens=16, shape=SMOLLM2),
    "smollm2-135m-shape, few-shot": Case(prompts=1, samples=8, tokens=16, shots=12, shape=SMOLLM2),
    "smollm2-135m-shape, few-shot 2 x 4": Case(prompts=2, samples=4, tokens=16, shots=12, shape=SMOLLM2),
}


def model_and_tokenizer(case: Case) -> tuple[Any, Any]:
    model, tokenizer = models.load("small-sums")
    if not case.bundled:
        torch.manual_seed(0)
        config = transformers.LlamaConfig(
            tie_word_embeddings=True, bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, **case.shape,
        )
        dtype = torch.bfloat16 if torch.cuda.is_available() else torch.float32
        model = transformers.LlamaForCausalLM(config).to(dtype)
    models.sample_plainly(model, tokenizer)
    return model, tokenizer


def trainer(
    name: str, case: Case, steps: int, folder: str, rule: update_rules.UpdateRule | None = None
) -> Any:
    """Make the trainer of a method; ours with a rule that is GRPO's by default."""
    model, tokenizer = model_and_tokenizer(case)
    task = tasks.load("split", size=case.shots + case.prompts * steps, seed=0)
    before = "".join(task.prompts[: case.shots])
    prompts = [before + prompt for prompt in task.prompts[case.shots :]]

    def reward(completions: list[str], **_: Any) -> list[float]:
        # Both rewards in most groups: a group of equal ones has no gradient to be told apart.
        return [float(sum(map(ord, text)) % 2) for text in completions]

    options = {
        "use_cpu": not torch.cuda.is_available(), "num_generations": case.samples, "max_steps": steps,
        "per_device_train_batch_size": case.prompts * case.samples, "learning_rate": 1e-6,
        "max_completion_length": case.tokens, "save_strategy": "no", "disable_tqdm": True,
    }
    rest: dict[str, Any] = {"train_dataset": datasets.Dataset.from_dict(
        {"prompt": prompts}), "processing_class": tokenizer}
    if not name.startswith(STOCK):
        made: Any = EntropyTrainer(
            model, [reward], grpo_config(folder, **options), rule=rule or update_rules.get("grpo"), **rest
        )
    else:
        # TRL's own choice of loss and settings, without what would slow it: no checkpointing.
        made = trl.GRPOTrainer(
            model, [reward], trl.GRPOConfig(
                folder, bf16=False, gradient_checkpointing=False, report_to="none",
                lr_scheduler_type="constant", logging_steps=1, **options,
            ), **rest,
        )
        made._send_telemetry = lambda *_, **__: None
    attach = METHODS[name]
    if attach is not None:
        attach(made)
    made.remove_callback(transformers.PrinterCallback)
    return made


def now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


class Clock(transformers.TrainerCallback):
    """Seconds of each step, and of its parts."""

    def __init__(self, made: Any):
        self.steps: list[dict[str, float]] = []
        self._parts: dict[str, float] = collections.defaultdict(float)
        self._trainer = made
        self._time(made, "_generate_single_turn", "sampling")
        self._time(made, "_compute_loss", "loss")
        self._time(made.accelerator, "backward", "backward")
        made.add_callback(self)

    def _time(self, owner: Any, name: str, part: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def timed(*arguments: Any, **options: Any) -> Any:
            start = now()
            try:
                return original(*arguments, **options)
            finally:
                self._parts[part] += now() - start

        setattr(owner, name, timed)

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self._parts.clear()
        self._start = now()

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        self._optimizer_start = now()

    def on_optimizer_step(self, *_: Any, **__: Any) -> None:
        self._parts["optimizer"] += now() - self._optimizer_start

    def on_step_end(self, *_: Any, **__: Any) -> None:
        total = now() - self._start
        self.steps.append(dict(self._parts) | {"step": total})


def quiet() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    datasets.disable_progress_bars()
    transformers.utils.logging.disable_progress_bar()


def timed(
    methods: Sequence[str], case: Case, rounds: int, steps: int
) -> dict[str, list[list[dict[str, float]]]]:
    """The steps of each round of each method, but the first of each, which is warming up."""
    found: dict[str, list[list[dict[str, float]]]] = {name: [] for name in methods}
    with tempfile.TemporaryDirectory() as folder:
        made = {name: trainer(name, case, steps + 1, folder) for name in found}
        clocks = {name: Clock(one) for name, one in made.items()}
        for _ in range(rounds):
            for name, one in made.items():
                clocks[name].steps.clear()
                one.train()
                found[name].append(clocks[name].steps[1:])
    return found


def mean(steps: Sequence[dict[str, float]], part: str = "step") -> float:
    return statistics.fmean(step.get(part, 0.0) for step in steps)


def fastest(rounds: Sequence[Sequence[dict[str, float]]]) -> float:
    """The mean step, each as in the round that was fastest at it."""
    return statistics.fmean(min(same["step"] for same in steps) for steps in zip(*rounds, strict=True))


def peak(name: str, case: Case, threads: int) -> float:
    """MiB at the peak of two steps; for a CPU to be run in a fresh process."""
    quiet()
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder:
        return peak_of(trainer(name, case, 2, folder))


def peak_of(made: Any) -> float:
    """MiB at the peak of a trainer's run: of the GPU's memory, or of this whole process."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        made.train()
        return torch.cuda.max_memory_allocated() / 2**20
    made.train()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 2**10


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--steps", type=int, default=10, help="timed steps per round")
    parser.add_argument("--threads", type=int, default=1, help="threads on a CPU")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    quiet()
    torch.set_num_threads(options.threads)
    origin = provenance(
        config={"rounds": options.rounds, "steps": options.steps, "methods": options.methods,
                "threads": options.threads}, seed=0,
        device=torch.cuda.get_device_name(0) if torch.cuda.is_available() else "cpu",
        packages=("torch", "transformers", "trl"),
    )
    records = kept_records(options.json, origin)
    context = multiprocessing.get_context("spawn")
    for label in options.cases:
        if label in {record["case"] for record in records}:
            print(f"\n{label}: kept from an earlier call")
            continue
        case = CASES[label]
        found = timed(options.methods, case, options.rounds, options.steps)
        print(f"\n{label}: {case.prompts} prompts x {case.samples}, up to {case.tokens} tokens")
        print(f"  {'':<21}{'step':>9}  {'(fastest to slowest)':<22}"
              + "".join(f"{part:>11}" for part in (*PARTS, "rest", "peak MiB")))
        for name, rounds in found.items():
            total, step = sorted(map(mean, rounds)), fastest(rounds)
            parts = {p: statistics.median(mean(steps, p) for steps in rounds) for p in PARTS}
            parts["rest"] = statistics.median(total) - sum(parts.values())
            with context.Pool(1) as pool:
                mib = pool.apply(peak, (name, case, options.threads))
            print(f"  {name:<21}{step:8.3f}s  {f'({total[0]:.3f} to {total[-1]:.3f})':<22}"
                  + "".join(f"{value:10.3f}s" for value in parts.values()) + f"{mib:11.0f}")
            records.append({"case": label, "method": name, "step": step, "rounds": total, "parts": parts,
                            "peak_mib": mib})
        if stock := found.get(STOCK):
            for name, rounds in found.items():
                halves = ", ".join(f"{fastest(rounds[k::2]) / fastest(stock[k::2]):.3f}"
                                   for k in range(min(2, len(rounds))))
                print(f"  {name}: {fastest(rounds) / fastest(stock):.3f} of stock TRL's step ({halves})")
        if options.json:
            write_json(options.json, {"provenance": origin, "records": records})


if __name__ == "__main__":
    main()
