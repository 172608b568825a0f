"""Writes a run's records as the engine of its case would have logged them.

TRL's records are kept as they are, apart from timings and extremes that no reader needs. Another engine's
log has the same numbers under that engine's names (entropy_theory/training_logs/names.toml), where it has
such a number at all.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.diagnosis.causes import Case
from entropy_theory.training_logs.names import Quantity, engines, recognize

KEPT = (
    "loss", "grad_norm", "learning_rate", "entropy", "entropy_coef", "reward", "reward_std", "rewards/",
    "frac_reward_zero_std", "completions/mean_length", "completions/clipped_ratio", "kl", "clip_ratio/",
    "sampling/", "eval_reward", "epoch", "step", "probs_diff",
)
"""How the names begin that are kept of TRL's."""
DROPPED = ("low_min", "high_max", "eval_reward_std", "/max", "/std")
OF_SAMPLER: Mapping[str, str] = {
    "verl": "probs_diff", "trl": "sampling/sampling_logp_difference/mean",
    "skyrl": "sampling/sampling_logp_difference/mean", "slime": "sampling/sampling_logp_difference/mean",
}
"""Of two measures of the sampler's distance, the one that an engine logs."""
FILLED = ((r"^\*", "ppo_actor/"), (r"@\*", "@2"), (r"(?<=[a-z])\*$", ""), (r"\*", "small-sums"))
"""What stands for the * in an engine's name."""
STEP = {"skyrl": "trainer/global_step", "slime": "train/step"}
DIGITS = 5


def write(case: Case, records: Sequence[Mapping[str, float]], folder: Path) -> Path:
    """Write a run's log, gzipped, and return its path."""
    rows = list(_rows(case.engine, records))
    if case.engine == "verl":
        lines = ["step:{:d} - {}".format(int(row.pop("step")), " - ".join(
            f"{name}:{value}" for name, value in row.items())) for row in rows]
    elif case.engine == "trl" and case.run.seed % 2:
        lines = [str(row) for row in rows]
    else:
        lines = [json.dumps(row) for row in rows]
    kind = "log" if lines[0][0] != "{" or lines[0][1] == "'" else "jsonl"
    path = folder / f"{case.name}.{kind}.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)
    path.write_bytes(packed)
    return path


def _rows(engine: str, records: Sequence[Mapping[str, float]]) -> Iterator[dict[str, float]]:
    names = _names(engine, {name for record in records for name in record})
    waiting: dict[str, float] = {}
    for record in records:
        row = {names[name]: float(f"{value:.{DIGITS}g}") for name, value in record.items()
               if name in names}
        if engine != "trl" and waiting and record["step"] == waiting.get(names["step"]):
            waiting |= row  # an evaluation
            continue
        if waiting:
            yield waiting
        waiting = row
    yield waiting


def _names(engine: str, own: set[str]) -> dict[str, str]:
    """Return what an engine calls each of TRL's columns that it has."""
    kept = [name for name in sorted(own) if name.startswith(KEPT) and not name.endswith(DROPPED)]
    wanted = OF_SAMPLER.get(engine)
    other = {name for name in OF_SAMPLER.values() if name != wanted}
    kept = [name for name in kept if name not in other]
    if engine == "trl":
        return {name: name for name in kept}
    names = {"step": STEP.get(engine, "step")}
    columns = engines()[engine].columns
    for quantity, found in recognize(kept).columns.items():
        called = next((_filled(column.name) for column in columns if column.quantity == quantity
                       and not column.versions.startswith("<")), None)
        if called is not None and quantity != "reward_part":
            names[found[0]] = called
    if engine == "verl" and wanted in kept:
        names["probs_diff"] = "training/rollout_probs_diff_mean"
    return names


def _filled(name: str) -> str:
    for pattern, word in FILLED:
        name = re.sub(pattern, word, name)
    return name


def logged(engine: str, quantity: Quantity) -> bool:
    """Whether an engine logs a quantity."""
    return any(column.quantity == quantity for column in engines()[engine].columns)
