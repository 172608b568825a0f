"""The runs of the bench: what is made wrong in each, how strongly, and what a diagnosis may call it.

Everything about a run follows from its cause and its number: how noisy it is (prompts a step), its task,
learning rate and schedule, and what else varies between sound runs. Thresholds are set on the part called
tuning and judged on the part called judging. Numbers that are left out are of runs that judged earlier
thresholds: half of the first ones, by `SEED`, and those between `MORE` and `JUDGING`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.diagnosis.runs import Sampler, Training
from benchmarks.diagnosis.simulated import Simulation

SEED = 20261126
"""Of the runs, and of the half of the first ones that is left out."""
MORE, JUDGING = (100, 200), (300, 400)
"""The numbers at which more runs for tuning begin, and those for judging: through TRL, and simulated."""
PARTS = ("tuning", "judging")


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One thing that is made wrong."""

    name: str
    right: tuple[str, ...]
    """The findings that name the cause; none for a sound run."""
    make: Callable[[Training, np.random.Generator], Training]
    """Puts it into a sound run."""
    runs: int = 12
    """Trained through TRL."""
    simulate: Callable[[Simulation, np.random.Generator], Simulation] | None = None
    simulations: int = 0
    engines: tuple[str, ...] = ("trl", "trl", "verl", "openrlhf", "skyrl", "prime-rl", "slime", "areal")
    """Whose names a run's columns may have: those that log what the cause needs."""
    noisy: bool = True
    """Whether most of its runs are short, with few answers a step."""
    together: int = 1
    """Runs that share the order of their prompts."""
    tuning: tuple[int, int] = (0, 0)
    """More runs for tuning, through TRL and simulated."""
    judging: tuple[int, int] = (6, 0)
    """Runs for judging."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One run of the bench."""

    name: str
    cause: str
    right: tuple[str, ...]
    source: str
    """"TRL" or "simulator"."""
    run: Training | Simulation
    engine: str
    part: str
    """"tuning" or "judging"."""
    group: str = ""
    """Runs of one group have the same prompts in the same order."""


def _sound(seed: int, generator: np.random.Generator) -> Training:
    """Return a sound run, as they differ among users."""
    task = str(generator.choice(["split", "sum"]))
    options: dict[str, Any] = {}
    if generator.random() < 0.3:
        options["lr_scheduler_type"] = str(generator.choice(["cosine", "linear"]))
        options["warmup_steps"] = 5
    if generator.random() < 0.25:
        options["beta"] = float(generator.choice([0.001, 0.01, 0.04]))
    if generator.random() < 0.25:
        options["num_iterations"] = 2
    sampler = Sampler(dtype="bfloat16") if generator.random() < 0.5 else None
    return Training(
        seed=seed, task=task, prompts=int(generator.choice([4, 6, 10])),
        steps=int(generator.choice([60, 70, 80])),
        learning_rate=_between(generator, 1e-4, 3e-4 if task == "split" else 1.5e-4),
        trl=options, sampler=sampler, evaluate=int(generator.choice([0, 10])))


def _noisy(run: Training, number: int) -> Training:
    """Return three runs of a cause in four with few answers a step, and few steps."""
    if number < 3 or (number >= MORE[0] and number % 4 == 0):
        return run
    run = replace(run, prompts=4, steps=50)
    return replace(run, crash=30 + number % 100, saved=22 + number % 100) if run.crash else run


def _sound_simulation(seed: int, generator: np.random.Generator) -> Simulation:
    return Simulation(
        seed=seed, steps=int(generator.choice([120, 200])), learning_rate=_between(generator, 1.5, 5.0),
        right=int(generator.choice([1, 2, 5])), prompts=int(generator.choice([8, 16, 32])))


def _between(generator: np.random.Generator, low: float, high: float) -> float:
    """Return a number whose logarithm is uniform, to three digits."""
    return float(f"{np.exp(generator.uniform(np.log(low), np.log(high))):.3g}")


def _with(run: Training, **options: Any) -> Training:
    return replace(run, trl=run.trl | options)


def _healthy(run: Training, g: np.random.Generator) -> Training:
    return replace(run, rambling=30, longest=12) if g.random() < 0.2 else run


def _hot(run: Training, g: np.random.Generator) -> Training:
    return replace(run, learning_rate=_between(g, 1.5e-3, 1e-2))


def _one_sided(run: Training, g: np.random.Generator) -> Training:
    low, high = ((0.02, 10.0), (0.99, 0.02))[int(g.integers(2))]
    run = replace(run, learning_rate=min(5e-4, 2 * run.learning_rate))
    return _with(run, epsilon=low, epsilon_high=high, num_iterations=4)


def _signal(run: Training, g: np.random.Generator) -> Training:
    return replace(run, reward=str(g.choice(["never", "always", "hard"])))


def _longer(run: Training, g: np.random.Generator) -> Training:
    return replace(run, longest=int(g.choice([12, 16])), rambling=30, length_bonus=_between(g, 0.3, 1.5),
                   prompts=4)


def _cut(run: Training, g: np.random.Generator) -> Training:
    if g.random() < 0.5:
        return replace(run, task="mixed", longest=int(g.choice([4, 5])))
    return replace(run, rambling=40, longest=int(g.choice([7, 8, 9])))


def _temperature(run: Training, g: np.random.Generator) -> Training:
    return replace(run, sampler=Sampler(
        temperature=float(g.choice([0.5, 0.6, 0.7, 1.3, 1.5])), dtype=_dtype(g)))


def _stale(run: Training, g: np.random.Generator) -> Training:
    return replace(run, sampler=Sampler(every=int(g.choice([4, 8, 16])), dtype=_dtype(g)))


def _nucleus(run: Training, g: np.random.Generator) -> Training:
    return replace(run, sampler=Sampler(top_p=float(g.choice([0.7, 0.8, 0.9])), dtype=_dtype(g)))


def _dtype(g: np.random.Generator) -> str:
    return str(g.choice(["float32", "bfloat16"]))


def _bound(run: Training, g: np.random.Generator) -> Training:
    return _with(run, beta=_between(g, 1.0, 10.0))


def _bonus(run: Training, g: np.random.Generator) -> Training:
    return _with(run, entropy_coef=_between(g, 0.25, 1.0))


def _summed(run: Training, g: np.random.Generator) -> Training:
    return replace(run, summed_entropy=_between(g, 0.04, 0.2), longest=int(g.choice([0, 12])))


def _ordered(run: Training, g: np.random.Generator) -> Training:
    run = replace(run, learning_rate=_between(g, 2e-5, 6e-5), prompts=8, steps=64)
    return replace(run, task="split", period=int(g.choice([12, 14, 16])), order=int(g.integers(1000)))


def _crashed(run: Training, g: np.random.Generator) -> Training:
    crash = int(g.integers(run.steps // 2, run.steps - 15))
    return replace(run, crash=crash, saved=crash - int(g.integers(3, 15)))


def _collapsed(run: Training, g: np.random.Generator) -> Training:
    run = replace(run, task="split", learning_rate=_between(g, 2e-4, 3e-4))
    if g.random() < 0.5:
        return _with(replace(run, reward="noise"), entropy_coef=-_between(g, 0.3, 1.0))
    return _with(run, entropy_coef=-_between(g, 1.0, 3.0))


def _memorized(run: Training, g: np.random.Generator) -> Training:
    return replace(run, task="sum", prompts=8, distinct=int(g.choice([8, 16])), evaluate=10, steps=100,
                   learning_rate=_between(g, 3e-4, 5e-4))


def _bound_simulation(run: Simulation, g: np.random.Generator) -> Simulation:
    return replace(run, rule="reference-kl", options={"coefficient": _between(g, 6.0, 20.0)})


def _bonus_simulation(run: Simulation, g: np.random.Generator) -> Simulation:
    return replace(run, rule="entropy-bonus", options={"coefficient": _between(g, 2.0, 6.0)}, scale=3.0)


def _one_sided_simulation(run: Simulation, g: np.random.Generator) -> Simulation:
    low, high = ((0.02, 10.0), (0.99, 0.02))[int(g.integers(2))]
    return replace(run, options={"clip_low": low, "clip_high": high}, iterations=4)


def _collapsed_simulation(run: Simulation, g: np.random.Generator) -> Simulation:
    return replace(run, rule="entropy-bonus", options={"coefficient": -_between(g, 8.0, 16.0)},
                   learning_rate=_between(g, 0.3, 0.6), accuracies=(0.05, 0.4), right=8)


def _crashed_simulation(run: Simulation, g: np.random.Generator) -> Simulation:
    crash = int(g.integers(run.steps // 2, run.steps - 15))
    return replace(run, crash=crash, saved=crash - int(g.integers(3, 25)))


def _no_signal_simulation(run: Simulation, g: np.random.Generator) -> Simulation:
    return replace(run, accuracies=((1e-4, 2e-3), (0.998, 0.9999))[int(g.integers(2))])


WITH_MISMATCH = ("trl", "trl", "verl", "skyrl", "slime")
CAUSES = (
    Cause(name="healthy", right=(), make=_healthy, noisy=False, runs=14,
          simulate=lambda run, g: run, simulations=26,
          tuning=(0, 40), judging=(24, 90)),
    Cause(name="learning rate too high", right=("schedule",), make=_hot,
          tuning=(4, 0), judging=(8, 0)),
    Cause(name="one-sided clip", right=("clipping",), make=_one_sided, runs=6,
          simulate=_one_sided_simulation, simulations=6,
          engines=("trl", "trl", "swift", "roll"),
          judging=(3, 6)),
    Cause(name="no reward signal", right=("no signal",), make=_signal, runs=6,
          simulate=_no_signal_simulation, simulations=8,
          judging=(3, 6)),
    Cause(name="length bonus", right=("length drift", "dilution"), make=_longer,
          tuning=(4, 0), judging=(12, 0)),
    Cause(name="truncation", right=("truncation",), make=_cut,
          engines=("trl", "trl", "verl", "openrlhf", "prime-rl", "slime", "areal"),
          judging=(8, 0)),
    Cause(name="wrong temperature", right=("mismatch",), make=_temperature, engines=WITH_MISMATCH,
          judging=(5, 0)),
    Cause(name="stale sampler", right=("mismatch",), make=_stale, engines=WITH_MISMATCH,
          judging=(5, 0)),
    Cause(name="top-p sampler", right=("mismatch",), make=_nucleus, engines=WITH_MISMATCH,
          judging=(5, 0)),
    Cause(name="KL too strong", right=("kl",), make=_bound, runs=6,
          simulate=_bound_simulation, simulations=8,
          engines=("trl", "trl", "verl", "openrlhf", "skyrl", "slime"),
          judging=(3, 6)),
    Cause(name="entropy bonus too strong", right=("explosion",), make=_bonus, runs=8,
          simulate=_bonus_simulation, simulations=6,
          tuning=(4, 6), judging=(4, 6)),
    Cause(name="prompt order", right=("prompt order",), make=_ordered, noisy=False,
          together=3,
          judging=(6, 0)),
    Cause(name="restart", right=("restart",), make=_crashed, runs=6, simulate=_crashed_simulation,
          simulations=8,
          judging=(3, 6)),
    Cause(name="entropy summed", right=("explosion", "length drift"), make=_summed,
          tuning=(4, 0), judging=(7, 0)),
    Cause(name="collapse", right=("collapse",), make=_collapsed, runs=6, simulate=_collapsed_simulation,
          simulations=6,
          judging=(3, 6)),
    Cause(name="few prompts", right=("held-out apart",), make=_memorized, noisy=False,
          tuning=(4, 0), judging=(16, 0)),
)


def cases() -> list[Case]:
    """Return all runs of the bench, in the order of their causes."""
    return [_case(cause, number, part) for cause in CAUSES for number, part in _numbers(cause)]


def _numbers(cause: Cause) -> Iterator[tuple[int, str]]:
    """Yield the numbers of a cause's runs, and the part of each."""
    # Runs that share their prompts are in one part; each source is halved by itself.
    begin = 0
    for count, together in ((cause.runs, cause.together), (cause.simulations, 1)):
        units = count // together
        drawn = np.random.default_rng([SEED, _key(cause), units]).permutation(units) < units / 2
        yield from ((begin + i, "tuning") for i in range(count) if drawn[i // together])
        begin += count
    for part, begins, counts in (("tuning", MORE, cause.tuning), ("judging", JUDGING, cause.judging)):
        for begin, count in zip(begins, counts, strict=True):
            yield from ((begin + i, part) for i in range(count))


def _case(cause: Cause, number: int, part: str) -> Case:
    generator = np.random.default_rng([SEED, _key(cause), number])
    place = number % 100
    trained = number < cause.runs or number // 100 in (MORE[0] // 100, JUDGING[0] // 100)
    run: Training | Simulation
    group, engines = "", cause.engines
    if trained:
        run = cause.make(_sound(number, generator), generator)
        run = _noisy(run, number) if cause.noisy else run
        if cause.together > 1:
            order = number - place + place // cause.together
            shared = np.random.default_rng([SEED, _key(cause), order])
            first = cause.make(_sound(number, shared), shared)
            run = replace(first, seed=number, learning_rate=run.learning_rate)
            group = f"order {order}"
    else:
        assert cause.simulate is not None
        run = cause.simulate(_sound_simulation(number, generator), generator)
        engines = tuple(one for one in engines if one in KNOWS_ALL)
    return Case(
        name=f"{cause.name.replace(' ', '-').lower()}-{number:02d}", cause=cause.name, right=cause.right,
        engine=str(generator.choice(engines)), run=run, part=part,
        source="TRL" if trained else "simulator", group=group)


def _key(cause: Cause) -> int:
    return zlib.crc32(cause.name.encode())


KNOWS_ALL = ("trl", "verl", "openrlhf", "skyrl", "slime")
"""Engines that log all that the simulator has."""
