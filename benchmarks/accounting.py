"""What it costs to account for a step's entropy change: seconds of a step, with and without.

    python benchmarks/accounting.py [--cases small-sums] [--rounds 3] [--json FILE]

Each method runs in turn with plain training, in one process and from the same weights and random state,
so that both do the same steps: plain, accounted, plain, accounted ... A round is ``STEPS`` steps after
one to warm up (``STEPS_OF_ALL`` where every step is accounted for), and ratios are medians over rounds.
Methods are the forecast (i') of every step, the account of every step (without and with the division over
tokens, by dual numbers or by differences), and that of every tenth; then with entropy measured on a
quarter or an eighth of its rows; and the forecast with what a unit of the rule's coefficient adds to it,
which is what ``hold="forecast"`` takes: with the diverse bonus a division over tokens at every step, with
the entropy bonus nothing, since its unit is read from the forecast's own gradient. Plain training has the
method's rule, with the same fixed coefficient. A step is sampled, trained on and taken; "training" leaves
sampling out.
On a CPU seconds are those of the process, so that other work on the machine does not count as time,
though it slows the caches; the ratio of the wall's clock stands beside.

Points are those on a step's path, its two ends not always among them; the gap is `TokenEffects.gap`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import transformers
from training_step import CASES, Case, Clock, peak_of, quiet, trainer

from entropy_theory import update_rules
from entropy_theory.support.results import kept_records, provenance, write_json
from llm_bridge.accounting.accountant import Accountant

STEPS, STEPS_OF_ALL = 10, 4
QUARTER = 64
"""A quarter of the completions of a step of small-sums."""
DIFFERENCES = "account and tokens by differences, every step"
HOLD_DIVERSE = "hold by forecasts, diverse bonus, every step"
METHODS: dict[str, dict[str, Any]] = {
    "forecast, every step": {"every": 0, "forecast_every": 1},
    "account, every step": {"tokens": False},
    "account and tokens, every step": {},
    DIFFERENCES: {},
    "account, every 10th": {"every": 10, "tokens": False},
    "account and tokens, every 10th": {"every": 10},
    "forecast, a quarter, every step": {"every": 0, "forecast_every": 1, "sequences": QUARTER},
    "account, a quarter, every step": {"tokens": False, "sequences": QUARTER},
    "account, an eighth, every step": {"tokens": False, "sequences": QUARTER // 2},
    "account, a quarter, every 10th": {"every": 10, "tokens": False, "sequences": QUARTER},
    "account and tokens, a quarter, every 10th": {"every": 10, "sequences": QUARTER},
    HOLD_DIVERSE: {"every": 0, "forecast_every": 1, "forecast_unit": True},
}


class Watch(transformers.TrainerCallback):
    """Seconds of each step by the wall's clock, and what its account says of itself."""

    def __init__(self, made: Any):
        self.steps: list[float] = []
        self.accounts: list[Any] = []
        self._trainer = made
        made.add_callback(self)

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self._start = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.steps.append(time.perf_counter() - self._start)
        found = self._trainer.entropy_account
        # The first step warms up: its learning rate may be none.
        if found is not None and found.account is not None and len(self.steps) > 1:
            self.accounts.append(found)


class Run:
    """A trainer that is run again and again from the same weights."""

    def __init__(self, case: Case, folder: str, name: str | None, rule: update_rules.UpdateRule):
        self.made = trainer("ours", case, STEPS + 1, folder, rule)
        # Steps of a size that moves entropy: the path is then as long as it is in training.
        self.made.args.learning_rate = 1e-4
        if name is not None:
            attach(self.made, name)
        self._clock, self._watch = Clock(self.made), Watch(self.made)
        self._start = {k: w.clone() for k, w in self.made.model.state_dict().items()}

    def round(self, seed: int, steps: int) -> dict[str, Any]:
        """Train ``steps`` steps after one to warm up; the means of a step."""
        self.made.model.load_state_dict(self._start)
        self.made.args.max_steps = steps + 1
        torch.manual_seed(seed)
        self._clock.steps.clear()
        self._watch.steps.clear()
        self._watch.accounts.clear()
        self.made.train()
        timed = self._clock.steps[1:]
        step = statistics.fmean(one["step"] for one in timed)
        return {
            "step": step, "training": step - statistics.fmean(one["sampling"] for one in timed),
            "wall": statistics.fmean(self._watch.steps[1:]), "accounts": list(self._watch.accounts),
        }


class NoForwardMode(torch.autograd.Function):
    """The identity, as a kernel of a user's own would be: with a gradient, and nothing else."""

    @staticmethod
    def forward(_: Any, values: torch.Tensor) -> torch.Tensor:
        return values.view_as(values)

    @staticmethod
    def backward(_: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


def rule_of(name: str | None) -> update_rules.UpdateRule:
    """The rule that a method is tried on, and plain training beside it."""
    if name == HOLD_DIVERSE:
        return update_rules.get("diverse-bonus", coefficient=0.1)
    return update_rules.get("grpo")


def attach(made: Any, name: str) -> None:
    """Account for a trainer's steps by a method."""
    made.add_callback(Accountant(made, **METHODS[name]))
    if name == DIFFERENCES:
        made.model.model.norm.register_forward_hook(lambda _, __, output: NoForwardMode.apply(output))


def compared(case: Case, name: str, rounds: int) -> dict[str, Any]:
    """Rounds of plain training and of a method, in turn: seconds, ratios, and what the accounts say."""
    steps = STEPS if METHODS[name].get("every") == STEPS else STEPS_OF_ALL
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        plain, accounted = (
            Run(case, folder, one, rule_of(name)) for one in (None, name))
        for seed in range(rounds):
            pairs.append((plain.round(seed, steps), accounted.round(seed, steps)))
    found: dict[str, Any] = {}
    for part in ("step", "training", "wall"):
        ratios = sorted(two[part] / one[part] for one, two in pairs)
        found[part] = statistics.median(two[part] for _, two in pairs)
        found[f"plain {part}"] = statistics.median(one[part] for one, _ in pairs)
        found[f"{part} of plain"] = statistics.median(ratios)
        found[f"{part} of plain, all"] = ratios
    accounts = [account for _, two in pairs for account in two["accounts"]]
    if accounts:
        found["points"] = statistics.fmean(one.account.points for one in accounts)
        found["converged"] = statistics.fmean(one.account.converged for one in accounts)
        found["residual"] = statistics.median(
            abs(one.account.residual / one.account.measured) for one in accounts)
    gaps = [one.tokens.gap for one in accounts if one.tokens is not None]
    if gaps:
        found["gap"] = statistics.median(gaps)
    return found


def peak(name: str | None, case: Case, threads: int) -> float:
    """MiB at the peak of two steps, plain without a name; for a CPU to be run in a fresh process."""
    quiet()
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder:
        made = trainer("ours", case, 2, folder, rule_of(name))
        if name is not None:
            attach(made, name)
        return peak_of(made)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", choices=CASES, default=["small-sums"])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    quiet()
    threads = torch.get_num_threads()
    origin = provenance(
        config={"rounds": options.rounds, "steps": [STEPS, STEPS_OF_ALL]}, seed=0,
        device=torch.cuda.get_device_name(0) if torch.cuda.is_available() else "cpu",
        packages=("torch", "transformers", "trl"),
    )
    records = kept_records(options.json, origin)
    context = multiprocessing.get_context("spawn")
    for label in options.cases:
        case = CASES[label]
        print(f"\n{label}: {case.prompts} prompts x {case.samples}, up to {case.tokens} tokens")
        print(f"  {'':<45}{'step':>9}{'of plain':>9}  {'(least to most)':<17}{'by the wall':>11}"
              f"{'training':>10}{'peak MiB':>10}{'points':>8}{'residual':>10}{'gap':>9}")
        for name in (None, *options.methods):
            key = {"case": label, "method": name or "plain"}
            if key in [{k: record[k] for k in key} for record in records]:
                print(f"  {key['method']:<45}kept from an earlier call")
                continue
            with context.Pool(1) as pool:
                mib = pool.apply(peak, (name, case, threads))
            found = {} if name is None else compared(case, name, options.rounds)
            records.append({**key, **found, "peak_mib": mib})
            print(line(records[-1]), flush=True)
            if options.json:
                write_json(options.json, {"provenance": origin, "records": records})


def line(record: dict[str, Any]) -> str:
    """A row of the table."""
    if "step" not in record:
        return f"  {record['method']:<45}{record['peak_mib']:66.0f}"
    ratios = record["step of plain, all"]
    spread = f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
    text = (
        f"  {record['method']:<45}{record['step']:8.3f}s{record['step of plain']:8.2f}x  {spread:<17}"
        f"{record['wall of plain']:10.2f}x{record['training of plain']:9.2f}x{record['peak_mib']:10.0f}"
    )
    if "points" in record:
        text += f"{record['points']:8.1f}{record['residual']:10.1e}"
    return text + (f"{record['gap']:9.0e}" if "gap" in record else "")


if __name__ == "__main__":
    main()
