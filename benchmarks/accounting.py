"""What it costs to account for a step's entropy change: seconds of a step, with and without.

    python benchmarks/accounting.py [--cases small-sums] [--rounds 3] [--json FILE]

All methods train the same model by the same rule, in turn, ``STEPS`` steps a round after one to warm up:
plain training, the forecast (i') of every step, the account of every step (without and with the division
over tokens), and that of every tenth; then with entropy measured on a quarter or an eighth of its rows. A
step is sampled, trained on and taken; "training" leaves sampling out. On a CPU seconds are those of the
process, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
from pathlib import Path
from typing import Any

import torch
from training_step import CASES, Case, Clock, peak_of, quiet, trainer

from entropy_theory.support.results import kept_records, provenance, write_json
from llm_bridge.accounting.accountant import Accountant

STEPS = 10
QUARTER = 64
"""A quarter of the completions of a step of small-sums."""
METHODS: dict[str, dict[str, Any] | None] = {
    "plain": None,
    "forecast, every step": {"every": 0, "forecast_every": 1},
    "account, every step": {"tokens": False},
    "account and tokens, every step": {},
    "account and tokens, every 10th": {"every": 10},
    "forecast, a quarter, every step": {"every": 0, "forecast_every": 1, "sequences": QUARTER},
    "account, a quarter, every 10th": {"every": 10, "tokens": False, "sequences": QUARTER},
    "account, an eighth, every 10th": {"every": 10, "tokens": False, "sequences": QUARTER // 2},
    "account and tokens, a quarter, every 10th": {"every": 10, "sequences": QUARTER},
}


def timed(case: Case, rounds: int) -> dict[str, list[dict[str, float]]]:
    """The mean step of each method's rounds."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        made, clocks = {}, {}
        for name, options in METHODS.items():
            made[name] = trainer("ours", case, STEPS + 1, folder)
            # Steps of a size that moves entropy: the path is then as long as it is in training.
            made[name].args.learning_rate = 1e-4
            if options is not None:
                made[name].add_callback(Accountant(made[name], **options))
            clocks[name] = Clock(made[name])
        for _ in range(rounds):
            for name, one in made.items():
                clocks[name].steps.clear()
                one.train()
                steps = clocks[name].steps[-STEPS:]
                found[name].append({
                    part: statistics.fmean(step.get(part, 0.0) for step in steps)
                    for part in ("step", "sampling")
                })
    return found


def peak(name: str, case: Case, threads: int) -> float:
    """MiB at the peak of two steps; for a CPU to be run in a fresh process."""
    quiet()
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder:
        made = trainer("ours", case, 2, folder)
        options = METHODS[name]
        if options is not None:
            made.add_callback(Accountant(made, **options))
        return peak_of(made)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", choices=CASES, default=["small-sums"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    quiet()
    threads = torch.get_num_threads()
    origin = provenance(
        config={"rounds": options.rounds, "steps": STEPS}, seed=0,
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
        found = timed(case, options.rounds)
        print(f"\n{label}: {case.prompts} prompts x {case.samples}, up to {case.tokens} tokens")
        print(f"  {'':<45}{'step':>9}  {'(fastest to slowest)':<22}{'of plain':>9}{'training':>10}"
              f"{'of plain':>9}{'peak MiB':>10}")
        plain: dict[str, float] = {}
        for name, rounds in found.items():
            total = sorted(one["step"] for one in rounds)
            median = {
                "step": statistics.median(total),
                "training": statistics.median(one["step"] - one["sampling"] for one in rounds),
            }
            plain = plain or median
            with context.Pool(1) as pool:
                mib = pool.apply(peak, (name, case, threads))
            print(f"  {name:<45}{median['step']:8.3f}s  {f'({total[0]:.3f} to {total[-1]:.3f})':<22}"
                  f"{median['step'] / plain['step']:8.2f}x{median['training']:9.3f}s"
                  f"{median['training'] / plain['training']:8.2f}x{mib:10.0f}")
            records.append({"case": label, "method": name, "seconds": total, **median,
                            "peak_mib": mib})
        if options.json:
            write_json(options.json, {"provenance": origin, "records": records})


if __name__ == "__main__":
    main()
