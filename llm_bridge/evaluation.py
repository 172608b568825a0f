"""Evaluation: pass@1, unbiased pass@k, avg@n, entropy, and what a constant answer would score.

Completions are drawn and judged in chunks, each from a seed of its own. The results depend neither
on the number of processes (ranks) nor on whether the evaluation was killed and resumed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import itertools
import os
import sys
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import rich.console
import rich.progress
import torch
import transformers

from entropy_theory.rounding import at_least, near
from entropy_theory.support import locks, results
from llm_bridge.data import benchmarks, models, tasks
from llm_bridge.running import devices, ranks
from llm_bridge.running.sample_store import Line, SampleStore
from llm_bridge.sampling import samplers, sampling
from llm_bridge.sampling.drawing_options import Drawing, EvaluateConfig, ks_of

BATCHES_A_CHUNK = 4
"""The number of batches between two writes of the samples, which a kill may cost."""
ENGINE_CHUNK = 4096
"""The largest number of completions between two writes for a sampler that makes its own batches."""
ENGINE_TOKENS, ENGINE_LEAST = 2**23, 512
"""A chunk gets fewer completions if they may have more tokens than the first number, about an hour
of work for a kill to lose. It has at least the second number, which keeps an engine of some hundred
sequences full."""
LONGEST_COMPLETION = 2048
"""The longest completion to a benchmark's problem, in tokens, where neither options nor protocol say."""
LONGEST_CHUNK = timedelta(days=7)
"""How long ranks wait for one that draws; a launcher ends them where one is gone."""
PACKAGES = ("torch", "transformers", "trl", "reasoning-gym", "math-verify", "numpy")


def pass_at_k(n: Any, c: Any, k: Any) -> Any:
    """Unbiased estimate of the probability that at least one of k samples is right.

    With c right samples among n it is 1 - C(n - c, k) / C(n, k), equation 1 of Chen et al. 2021,
    "Evaluating Large Language Models Trained on Code". The ratio of binomials equals the product of
    1 - max(c, k) / (n - i) over i = 0 .. min(c, k) - 1. It is summed here in logarithms, which is
    accurate to rounding for n in the thousands, also for the smallest values.

    Args:
        n: samples drawn; integer, scalar or array.
        c: right ones among them, 0 <= c <= n.
        k: samples granted, 1 <= k <= n. The three broadcast.

    Returns:
        float64 in [0, 1], of the broadcast shape; a float if all are scalars.

    Raises:
        ValueError: something that is not an integer, c outside [0, n], k < 1 or k > n.
    """
    arrays = [np.asarray(value) for value in (n, c, k)]
    for name, array in zip(("n", "c", "k"), arrays, strict=True):
        if not np.issubdtype(array.dtype, np.integer):
            raise ValueError(f"{name} must be an integer, got {array.dtype} {array}")
    n, c, k = np.broadcast_arrays(*(array.astype(np.int64) for array in arrays))
    if np.any((c < 0) | (c > n)):
        raise ValueError(f"c must lie between 0 and n, got c = {c[()]} and n = {n[()]}")
    if np.any((k < 1) | (k > n)):
        raise ValueError(
            f"k must lie between 1 and n, got k = {k[()]} and n = {n[()]}: draw more samples or "
            "ask for a smaller k"
        )
    fewer, more = np.minimum(c, k), np.maximum(c, k)
    log_all_wrong = np.zeros(n.shape)
    with np.errstate(divide="ignore"):  # log1p(-1) = -inf: some sample must be right
        for i in range(int(fewer.max(initial=0))):
            # Beyond the last factor n - i may reach 0; those entries are not used.
            share = np.minimum(more / np.maximum(n - i, 1), 1.0)
            log_all_wrong = np.where(i < fewer, log_all_wrong + np.log1p(-share), log_all_wrong)
    estimate = 0.0 - np.expm1(log_all_wrong)
    return float(estimate) if estimate.ndim == 0 else estimate


def bootstrap_interval(
    values: np.ndarray, *, seed: int = 0, resamples: int = 2000, level: float = 0.95
) -> tuple[float, float]:
    """Bootstrap the percentile interval of a mean by drawing prompts, the independent unit, anew.

    Args:
        values: [prompts], one number for each.
        seed: seed of the resampling.
        resamples: number of resamples.
        level: coverage, in (0, 1).
    """
    generator = np.random.default_rng(seed)
    rows = generator.integers(len(values), size=(resamples, len(values)))
    low, high = np.quantile(values[rows].mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def evaluate(
    model: Any, tokenizer: Any, task: tasks.Task, *, ks: Sequence[int] | None = None,
    progress: bool = False, keep: Path | None = None, model_identity: Any = None, **options: Any,
) -> dict[str, Any]:
    """Sample every prompt of a task and judge the completions.

    A completion counts as right where its reward is 1 (or more, up to rounding): pass@k is about being
    right, avg@n about the reward. Ranks call this together with the same arguments, each with the model
    on its own device, and get the same result.

    Args:
        ks: the k of pass@k; default the powers of two up to ``num_samples``.
        progress: whether to show a progress bar on standard error.
        keep: a JSONL file of judged completions (`sample_store`), the main rank's; a killed evaluation
            goes on from it, to the same numbers.
        model_identity: JSON-like data that distinguish this model from others in that file.
        options: of `Drawing`, with 8 samples of each prompt by default; the task has its own length
            limit and stop text.

    Returns:
        JSON-like. ``pass@1``, each ``pass@k`` and ``avg@n`` (mean reward), and under ``intervals``
        a bootstrap interval over prompts for each. ``entropy``: nats per token, of pi at T = 1 over
        the whole vocabulary at the sampled positions, averaged over each sequence and then over
        sequences. ``length`` in tokens; ``ended``, the share of completions that ended before the
        length limit. ``distinct_completions`` per prompt, on average. ``constant_answer``: the most
        common answer and the score of always giving it. ``rewards``: the smallest and the largest.
        ``seconds``.

    Raises:
        ValueError: a k above ``num_samples``, or samples of something else in ``keep``. Otherwise
            as `sampling.sample` and the task's reward.
    """
    how = Drawing(**{
        "num_samples": 8, **options, "max_new_tokens": task.max_new_tokens, "stop": task.stop})
    ks, count = ks_of(ks, how.num_samples), how.num_samples
    started = time.monotonic()
    identity = {"model": model_identity, "ends": models.end_token_ids(model, tokenizer),
                **_identity(task, how)}
    store = ranks.agreed(lambda: SampleStore(keep if ranks.is_main() else None, identity))
    chunks = chunks_of(len(task.prompts), how)
    left = ranks.on_main(lambda: store.keep_whole(chunks))
    shown = progress and ranks.is_main()
    if shown and len(left) < len(chunks):
        print(f"{keep} has {len(store.lines())} of {len(task.prompts) * count} completions already",
              file=sys.stderr)
    shared = ranks.agreed(lambda: _shared(model, tokenizer, task, how, starts=bool(left)))

    def draw(i: int) -> list[Line]:
        return _draw_chunk(model, tokenizer, task, chunks[i], dataclasses.replace(
            how, seed=chunk_seed(how.seed, i)), shared)

    _draw_together(left, draw, store, shown=shown)
    return ranks.on_main(lambda: {
        "task": task.name, "prompts": len(task.prompts), "num_samples": count,
        **{name: getattr(how, name) for name in ("temperature", "top_p", "top_k")},
        **_measured(store.lines(), task, how, ks),
        "seconds": round(time.monotonic() - started, 2),
    })


def _identity(task: tasks.Task, how: Drawing) -> dict[str, Any]:
    """Return what samples depend on, beside the model."""
    drawing = dataclasses.asdict(how)
    del drawing["stop"]  # the task's, with its prompts
    return {
        "task": task.name, "reward": task.reward.__name__,
        "prompts": results.config_key([task.prompts, task.answers, task.stop]), **drawing,
    }


def _draw_together(
    left: Sequence[int], draw: Callable[[int], list[Line]], store: SampleStore, *, shown: bool
) -> None:
    """Draw the chunks, one per rank at a time, and have the main rank keep them."""
    together = ranks.count()
    for start in rich.progress.track(
        range(0, len(left), together), description="sampling",
        console=rich.console.Console(stderr=True), disable=not shown,
    ):
        drawn = ranks.dealt_out(left[start : start + together], draw, everywhere=True)
        ranks.on_main(functools.partial(store.append, [*itertools.chain(*drawn)]))


def _measured(
    lines: Sequence[Line], task: tasks.Task, how: Drawing, ks: Sequence[int]
) -> dict[str, Any]:
    count = how.num_samples
    rewards = np.array([line.reward for line in lines], dtype=float).reshape(-1, count)
    correct = at_least(rewards, 1.0).sum(axis=1)
    per_prompt = {f"pass@{k}": np.atleast_1d(pass_at_k(count, correct, k)) for k in ks}
    per_prompt[f"avg@{count}"] = rewards.mean(axis=1)
    answer, score = task.constant_answer()
    completions = np.array([line.completion for line in lines], dtype=object).reshape(-1, count)
    return {
        **{name: float(values.mean()) for name, values in per_prompt.items()},
        "intervals": {
            name: bootstrap_interval(values, seed=how.seed) for name, values in per_prompt.items()
        },
        **{name: float(np.mean([getattr(line, name) for line in lines]))
           for name in ("entropy", "length", "ended")},
        "distinct_completions": sum(len(set(group)) for group in completions) / len(completions),
        "constant_answer": {"answer": answer, "score": score},
        "rewards": [float(rewards.min()), float(rewards.max())],
    }


def chunks_of(prompts: int, how: Drawing) -> list[list[tuple[int, int]]]:
    """Return the (prompt, sample) places drawn at once: whole prompts, or as many of one as fit."""
    num_samples, most = how.num_samples, BATCHES_A_CHUNK * how.batch_size
    if how.sampler in samplers.SAMPLERS and samplers.SAMPLERS[how.sampler].engine:
        most = min(ENGINE_CHUNK, max(ENGINE_LEAST, ENGINE_TOKENS // how.max_new_tokens))
    if num_samples > most:
        return [
            [(prompt, sample) for sample in range(start, min(start + most, num_samples))]
            for prompt in range(prompts) for start in range(0, num_samples, most)
        ]
    together = max(1, most // num_samples)
    return [
        [(prompt, sample) for prompt in range(start, min(start + together, prompts))
         for sample in range(num_samples)]
        for start in range(0, prompts, together)
    ]


def chunk_seed(seed: int, chunk: int) -> int:
    """Return a seed for one chunk, far from those of other chunks and of other seeds."""
    digest = hashlib.sha256(f"{seed}/{chunk}".encode()).digest()
    return int.from_bytes(digest[:6])


def _shared(
    model: Any, tokenizer: Any, task: tasks.Task, how: Drawing, *, starts: bool
) -> dict[Any, Any]:
    """Return what all chunks share (``shared`` of `sampling.sample`), with an engine if it ``starts``."""
    longest = max(map(len, tokenizer(list(task.prompts)).input_ids)) + how.max_new_tokens
    chosen = samplers.choose(how.named_sampler, model)
    shared: dict[Any, Any] = {
        "length": longest,
        "capacity": sampling.largest_batch(len(task.prompts), how.num_samples, how.batch_size)}
    if chosen.engine and starts:
        shared["engine"] = chosen.engine(model, longest)
    return shared


def _draw_chunk(
    model: Any, tokenizer: Any, task: tasks.Task, chunk: list[tuple[int, int]], how: Drawing,
    shared: dict[Any, Any],
) -> list[Line]:
    chosen = sorted({prompt for prompt, _ in chunk})
    how = dataclasses.replace(how, num_samples=len(chunk) // len(chosen))
    drawn = sampling.sample(
        model, tokenizer, [task.prompts[i] for i in chosen], shared=shared, **dataclasses.asdict(how))
    answers = [task.answers[prompt] for prompt, _ in chunk]
    rewards = task.judge(drawn.prompts, drawn.completions, answers)
    lengths = drawn.lengths()
    entropy = (drawn.entropy.sum(-1) / lengths).tolist()
    last = drawn.token_ids.gather(-1, lengths[:, None] - 1)[:, 0]
    ended = torch.isin(last, torch.tensor(models.stop_token_ids(model, tokenizer, task.stop)))
    return [
        Line(prompt=prompt, sample=sample, completion=completion, reward=float(reward),
             length=length, entropy=nats, ended=end)
        for (prompt, sample), completion, reward, length, nats, end in zip(
            chunk, drawn.completions, rewards, lengths.tolist(), entropy, ended.tolist(), strict=True)
    ]


def evaluate_command(config: EvaluateConfig) -> dict[str, Any]:
    """Evaluate as ``config`` says; return the result of `evaluate` with the model and provenance.

    Processes that a launcher started share the work; the files are the main one's. A second command with
    the same output waits, and then reads what the first has drawn.
    """
    config, protocol = config.resolved()
    ranks.join(cpu=True, timeout=LONGEST_CHUNK)  # what ranks exchange is text
    with contextlib.ExitStack() as held:
        ranks.agreed(lambda: _claim(config.output, held) if config.output and ranks.is_main() else None)
        return _evaluated(config, protocol)


def _claim(output: Path, held: contextlib.ExitStack) -> None:
    results.check_writable(output)
    held.enter_context(locks.exclusive(output))


def _evaluated(config: EvaluateConfig, protocol: benchmarks.Protocol | None) -> dict[str, Any]:
    transformers.utils.logging.disable_progress_bar()
    # The first of each machine fetches; the others find it done.
    ranks.agreed(lambda: (task_of(config, protocol), models.locate(config.model))
                 if ranks.is_main_of_node() else None)
    task, (model, tokenizer) = ranks.agreed(lambda: (task_of(config, protocol), models.load(
        config.model, dtype=config.dtype, device=devices.of_rank(config.device))))
    if config.chat_template:
        task = tasks.with_chat_template(task, tokenizer)
    measured = evaluate(
        model, tokenizer, task, ks=config.k, progress=True,
        keep=config.output.with_suffix(".samples.jsonl") if config.output else None,
        model_identity=[
            config.model, config.dtype, devices.kind(config.device), _weights(config.model)],
        **dataclasses.asdict(config.drawing()),
    )
    found = {
        "model": config.model,
        **measured,
        **({} if protocol is None else {"protocol": config.protocol, "source": protocol.source}),
        "provenance": results.provenance(
            config=config, seed=config.seed, device=devices.product(config.device), packages=PACKAGES
        ),
    }
    ranks.on_main(lambda: _report(found, config.output))
    return found


def _report(found: dict[str, Any], output: Path | None) -> None:
    print(summary(found))
    if output is not None:
        results.write_json(output, found)


def task_of(config: EvaluateConfig, protocol: benchmarks.Protocol | None) -> tasks.Task:
    """Load the task of a config that its protocol has filled up. Raises ValueError as what loads it."""
    if config.task not in benchmarks.BENCHMARKS:
        return tasks.load(
            config.task, split=config.split, size=config.num_prompts, seed=config.seed,
            reward=config.reward, max_new_tokens=config.max_new_tokens,
        )
    if config.reward is not None:
        raise ValueError("benchmarks are judged as mathematics: leave the reward off")
    return benchmarks.load(
        config.task, folder=config.benchmark_folder, size=config.num_prompts, seed=config.seed,
        prompt=benchmarks.STEP_BY_STEP if protocol is None else protocol.prompt,
        max_new_tokens=config.max_new_tokens or LONGEST_COMPLETION,
    )


def _weights(name: str) -> dict[str, list[int]]:
    """Return size and time of a local model's weight files: one trained anew counts as another."""
    folder = models.locate(name)
    if not os.path.isdir(folder):
        return {}
    files = sorted(path for path in Path(folder).iterdir() if path.suffix in (".safetensors", ".bin"))
    return {path.name: [(s := path.stat()).st_size, s.st_mtime_ns] for path in files}


def summary(found: dict[str, Any]) -> str:
    """Return what `evaluate` found as one line for people."""
    parts = [
        f"{name} {found[name]:.3f} [{low:.3f}, {high:.3f}]"
        for name, (low, high) in found["intervals"].items()
    ]
    constant = found["constant_answer"]
    low, high = found["rewards"]
    # Nothing right at all is usual; so is all that is between.
    unusual = high != 0 and not near(np.array(high), 1.0)
    return (
        f"{found['task']}: {', '.join(parts)}; entropy {found['entropy']:.3f} nats per token, "
        f"length {found['length']:.1f}, distinct {found['distinct_completions']:.2f} of "
        f"{found['num_samples']}, score of always answering {constant['answer']!r} "
        f"{constant['score']:.3f}, {found['prompts']} prompts, {found['seconds']:.1f} s"
    ) + (f"\nrewards are from {low:g} to {high:g}, and pass@k counts as right those of at least 1: "
         "if an answer is right at another reward, scale the reward function" if unusual else "")
