"""Training runs of the bundled small model in `reproduce`: the papers' rules at a size for CPUs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from paper_figures.reproduce.stage import LLM, Profile, Stage

OFF_POLICY = ("--mini-batches", "4")
"""Four steps on one batch, so that ratios move: so Cui et al. run Clip-Cov and KL-Cov."""
CLIP_COV = {"lower": "0.2", "upper": "5.0", "base": "grpo", "base.clip_low": "1.0",
            "base.clip_high": "1.0"}
"""Clip-Cov's band in units of these runs, without GRPO's own clip, as in the paper's code."""
EVALUATIONS = {"t06": ("--temperature", "0.6", "--num-samples", "32"),
               "greedy": ("--top-k", "1", "--num-samples", "1")}
"""The evaluations of Cui et al.: AIME and AMC by 32 samples, the other benchmarks greedily."""


def training(profile: Profile, build: Path) -> list[Stage]:
    """List the training runs of a profile, and the evaluations of their models."""
    if profile == "smoke":
        # One run shows sampling, training and audit; SmolLM2 would take the whole budget to load.
        bare = ("--log-to", "none", "--save-every", "0", "--no-save-model")
        return [train(build, "aepo", steps=2, more=bare)]
    if profile == "default":
        return [train(build, rule, task=task, steps=160)
                for task in ("split", "sum") for rule in ("grpo", "aepo")]
    return [*_on_policy(build, steps=300), *_off_policy(build, steps=240)]


def _on_policy(build: Path, steps: int) -> Iterator[Stage]:
    """List runs for AEPO's Figures 1, 3, 4, Tables 1, 3, Cui et al.'s Figures 9, 10, AEnt's 3 to 6."""
    for seed in (0, 1):
        for rule, options in (
            ("grpo", {}), ("aepo", {}), ("entropy-bonus", {"coefficient": "0.015"}),
            ("entropy-advantage", {}), ("aent", {}),
        ):
            yield train(build, rule, options, seed=seed, steps=steps)
    for rule in ("grpo", "aepo"):
        yield train(build, rule, task="sum", steps=steps)
    for rule, name, values in (
        ("aepo", "target", ("0.25", "0.75", "1.0")),
        ("aepo", "ablation", ("untempered", "advantage")),
        ("entropy-bonus", "coefficient", ("0.005", "0.05")),
        ("reference-kl", "coefficient", ("0.01", "0.05", "0.1")),
    ):
        for value in values:
            yield train(build, rule, {name: value}, steps=steps)
    constant = {"adaptive": "false", "coefficient": "0.02"}
    yield train(build, "aent", {**constant, "coefficient": "0.05"}, steps=steps)
    for share in ("0.2", "0.33", "0.6", "0.8"):
        yield train(build, "aent", {**constant, "removed_fraction": share}, steps=steps)
    # AEnt that removes nothing.
    yield train(build, "entropy-bonus", {"coefficient": "0.02", "normalization": "token-mean"},
                steps=steps)


def _off_policy(build: Path, steps: int) -> Iterator[Stage]:
    """List runs for Cui et al., Figures 11 and 12 and Table 2."""
    rules: dict[str, dict[str, str]] = {
        "grpo": {}, "clip-higher": {}, "clip-cov": {"ratio": "0.01", **CLIP_COV},
        "kl-cov": {"ratio": "0.02", "coefficient": "1.0"},
    }
    for seed in (0, 1):
        for rule, options in rules.items():
            made = train(build, rule, options, seed=seed, steps=steps, group="off-policy",
                         more=OFF_POLICY)
            yield made
            yield from _evaluations(build, made)
    for ratio in ("0.05", "0.2"):
        yield train(build, "clip-cov", {"ratio": ratio, **CLIP_COV}, steps=steps,
                    group="off-policy", more=OFF_POLICY)
    for coefficient in ("0.1", "4.0"):
        yield train(build, "kl-cov", {"ratio": "0.02", "coefficient": coefficient}, steps=steps,
                    group="off-policy", more=OFF_POLICY)


def train(
    build: Path, rule: str, options: dict[str, str] | None = None, *, steps: int,
    task: str = "split", seed: int = 0, group: str = "", more: tuple[str, ...] = (),
) -> Stage:
    """Make the stage of one run of `llm_bridge train`."""
    options = options or {}
    told = [f"{key}-{value}" for key, value in options.items() if key not in CLIP_COV]
    name = "-".join(
        ["small-sums", task, *([group] if group else []), rule, *told]
        + ([f"seed-{seed}"] if seed else [])
    )
    given = ("--rule-options", *(f"{key}={value}" for key, value in options.items()))
    return bridge(
        f"train {name}", "train", "--model", "small-sums", "--task", task, "--rule", rule,
        *(given if options else ()), "--steps", str(steps), "--seed", str(seed),
        "--audit-every", str(max(1, steps // 40)), *more,
        output=build / "runs" / name, files=("run.json", "metrics.jsonl", "audit.json"),
        # AEPO draws and differentiates a second batch; off-policy runs take four steps on each.
        seconds=10 + steps * (0.56 if rule == "aepo" else 0.57 if group else 0.36),
    )


def _evaluations(build: Path, run: Stage) -> Iterator[Stage]:
    folder = run.outputs[0].parent
    for name, sampling in EVALUATIONS.items():
        yield bridge(
            f"evaluate {folder.name} {name}", "evaluate", "--model", str(folder / "model"),
            "--task", "split", *sampling, "--seed", "0",
            output=build / "evaluations" / f"{folder.name}-{name}.json", needs=(run.name,), seconds=20)


def audit(
    build: Path, folder: str, model: str, task: str, steps: int, *options: str,
    seconds: float, gigabytes: float = 1.2, needs: tuple[str, ...] = (),
) -> Stage:
    """Make the stage of an audit of every step of a run of GRPO."""
    return bridge(
        f"audit {folder}", "audit", "--model", model, "--task", task, "--rule", "grpo",
        "--steps", str(steps), "--seed", "0", *options, output=build / "runs" / folder,
        files=("run.json", "audit.json"), seconds=seconds, gigabytes=gigabytes, needs=needs)


def bridge(
    name: str, command: str, *options: str, output: Path, files: tuple[str, ...] = (),
    seconds: float, gigabytes: float = 1.2, needs: tuple[str, ...] = (),
) -> Stage:
    """Make the stage of a command of `llm_bridge`, which writes a file, or these files of a folder."""
    return Stage(
        name=name,
        arguments=("-m", "llm_bridge", command, *options, "--output", str(output)),
        outputs=tuple(output / file for file in files) or (output,),
        code=LLM,
        needs=needs,
        seconds=seconds,
        gigabytes=gigabytes,
    )
