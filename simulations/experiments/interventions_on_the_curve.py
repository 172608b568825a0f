"""Do interventions stay on the R-H curve? A referee's first objection to Cui et al., section 2.

The law R = -a e^H + b is fitted to runs without intervention and read as a trade: performance is bought
with entropy. Whether runs *with* an intervention stay on that curve, slide along it or leave it was not
checked. Here every update rule runs from the same starts, on the same random numbers and, where it can,
also in exact expectation. Runs are compared in pairs of one start: reward with GRPO's when entropy first
falls to the same level, and entropy when reward first rises to the same level.

Two controls calibrate what counts as leaving. One is GRPO with other samples. The other is GRPO with half
the step, since a rule that learns more slowly sees more samples on its way, and sampling noise itself
costs entropy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory import performance_law as law
from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import Samples
from simulations.experiments.curves import mean_interval, value_when_reached
from simulations.experiments.grid import over, trained
from simulations.problems.bandits import Bandit

BASE = "GRPO"
OTHER_SAMPLES, HALF_STEP = "GRPO, other samples", "GRPO, half the step"
SAMPLED, EXACT = "sampled", "exact"
MODES = (SAMPLED, EXACT)
UNKNOWN = -9
"""The side of a curve that its interval leaves open, or that was not run."""

FAMILIES = {
    "one right, graded": Bandit(n_correct=1, accuracies=(0.125, 0.5, 0.875) * 3),
    "five right, graded": Bandit(n_correct=5, accuracies=(0.125, 0.5, 0.875) * 3),
    "five right, hard": Bandit(n_correct=5, accuracies=(0.05,) * 9),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings. Strengths are such that each rule's effect on a run can be seen."""

    families: tuple[str, ...] = tuple(FAMILIES)[:2]
    n_starts: int = 12
    learning_rate: float = 4.0
    steps: int = 240
    steps_per_batch: int = 4
    record_every: int = 4
    group_size: int = 8
    tempered: int = 8
    coefficient: float = 0.1
    """The coefficient of the entropy bonus and of AEnt's clamped bonus."""
    reference_coefficient: float = 0.2
    ratio: float = 0.1
    """Share of the tokens that Clip-Cov and KL-Cov select: 7 of 72."""
    clip_high: float = 0.4
    targets: tuple[float, float] = (1.0, 3.0)
    """AEPO's target entropies, nats; the second is above all starts: its second batch is always hot."""
    shares: tuple[float, ...] = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
    """Levels at which curves are compared: of the starting entropy that is left, and of the missing
    reward that is still missing."""
    level: float = 0.99
    """Confidence level of the intervals over starts."""
    margin: float = 0.01
    """A difference in reward. A curve is off GRPO's if it is further than this from it and the interval
    excludes 0. It is on GRPO's if it is closer and the interval is at most twice as wide as this."""


PROFILES = {
    "smoke": Config(families=tuple(FAMILIES)[1:2], n_starts=3, steps=40, shares=(0.9, 0.8)),
    "default": Config(),
    "full": Config(families=tuple(FAMILIES), n_starts=32, steps=1200, record_every=8),
}


def rules(config: Config, mode: str) -> dict[str, UpdateRule]:
    """The rules compared, by name; the first is what they are compared with.

    In exact expectation GRPO is that of sampled groups. Rules that differ from it only off-policy
    (clip-higher, GSPO, KL-Cov) or by counts of tokens (Clip-Cov) have no exact run.
    """
    grpo = get("grpo", group_size=config.group_size) if mode == EXACT else get("grpo")
    reference = get("reference-kl", coefficient=config.reference_coefficient, base=grpo)
    both = {
        BASE: grpo,
        "REINFORCE": get("reinforce"),
        "entropy bonus": get("entropy-bonus", coefficient=config.coefficient, base=grpo),
        "diverse bonus": get("diverse-bonus", coefficient=config.coefficient, base=grpo),
        "AEnt": get("aent", coefficient=config.coefficient, adaptive=False, base=grpo),
        "entropy advantage": get("entropy-advantage", base=grpo),
        "reference KL": reference,
        **{f"AEPO, target {target:g}": get("aepo", target=target, base=grpo)
           for target in config.targets},
    }
    if mode == EXACT:
        return {**both, "natural gradient": get("natural-gradient")}
    wide = get("grpo", clip_low=1.0, clip_high=1.0, normalization="token-mean")
    return {
        **both,
        OTHER_SAMPLES: grpo,
        HALF_STEP: grpo,
        "no clip": get("grpo", clip_low=math.inf, clip_high=math.inf),
        "GSPO": get("gspo"),
        "clip-higher": get("clip-higher", clip_high=config.clip_high),
        "Clip-Cov": get("clip-cov", ratio=config.ratio, lower=0.5, upper=20.0, base=wide),
        "KL-Cov": get("kl-cov", ratio=config.ratio),
    }


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Reward at equal entropy and entropy at equal reward, beyond GRPO's of the same start."""
    dataset = xr.concat([
        over(_train, {"family": config.families, "mode": [mode], "rule": list(rules(config, mode))},
             config, seed, progress) for mode in MODES
    ], "mode", join="outer").assign_coords(share=list(config.shares), start=np.arange(config.n_starts))
    for axis, other in (("reward", "entropy"), ("entropy", "reward"), ("within", "reward")):
        at = dataset[f"{axis}_at_{other}"]
        gap = at - at.sel(rule=BASE, drop=True)
        dataset[f"{axis}_gap"] = gap
        # One number a start: the mean over the levels that both runs reach.
        averaged = gap.mean("share")
        dims = ("family", "mode", "rule")
        for name, values in zip(("mean", "low", "high"), mean_interval(
                averaged.transpose("start", *dims).values, level=config.level), strict=True):
            dataset[f"{axis}_gap_{name}"] = (dims, values)
    mean, low, high = (dataset[f"reward_gap_{name}"] for name in ("mean", "low", "high"))
    above, below = (mean > config.margin) & (low > 0), (mean < -config.margin) & (high < 0)
    on = (abs(mean) <= config.margin) & (high - low <= 2 * config.margin)
    dataset["side"] = xr.where(above, 1, xr.where(below, -1, xr.where(on, 0, UNKNOWN)))
    return dataset


def _train(cell: tuple[Config, int, str, str, str], progress: Progress) -> xr.Dataset:
    config, seed, family, mode, rule = cell
    problem, sampled = FAMILIES[family], mode == SAMPLED
    pace = 0.5 if rule == HALF_STEP else 1.0
    if rule == "natural gradient":
        pace = 0.1  # it moves rare answers as fast as likely ones; its curve does not depend on the pace
    run = trained(
        problem.starts(config.n_starts, seed), problem.correct, rules(config, mode)[rule], config,
        seed + (rule == OTHER_SAMPLES), progress, learning_rate=pace * config.learning_rate,
        steps_per_batch=config.steps_per_batch if sampled else 1,
        samples=Samples(group_size=config.group_size, tempered=config.tempered) if sampled else None)
    shares = np.asarray(config.shares)
    entropy, reward = run.entropy, run.reward
    missing = 1 - (1 - reward[0])[:, None] * shares
    fits = [law.fit(entropy[:, i], reward[:, i]) for i in range(config.n_starts)]
    return xr.Dataset({
        "entropy": (("start", "step"), entropy.T),
        "reward": (("start", "step"), reward.T),
        "reward_at_entropy": (("start", "share"), value_when_reached(
            entropy, reward, entropy[0][:, None] * shares, falling=True)),
        "entropy_at_reward": (("start", "share"), value_when_reached(
            reward, entropy, missing)),
        "within_at_reward": (("start", "share"), value_when_reached(
            reward, run.entropy_within_correct, missing)),
        "law_rmse": ("start", [fitted.rmse for fitted in fits]),
    }, coords={"step": run.step})


LONG_NAMES = {
    "entropy": "mean policy entropy over prompts, nats",
    "reward": "probability of a right answer, mean over prompts",
    "reward_at_entropy": "reward when entropy first falls to a share of its start",
    "entropy_at_reward": "entropy when a share of the missing reward is still missing, nats",
    "within_at_reward": "entropy given a right answer at the same reward, nats",
    "within_gap_mean": "the same beyond GRPO's, mean over levels and starts, nats",
    "reward_gap": "reward beyond GRPO's at equal entropy, same start",
    "entropy_gap": "entropy beyond GRPO's at equal reward, same start, nats",
    "reward_gap_mean": "mean over levels and starts of the reward beyond GRPO's at equal entropy",
    "entropy_gap_mean": "mean over levels and starts of the entropy beyond GRPO's at equal reward, nats",
    "side": "1 above GRPO's curve, -1 below, 0 within the margin, -9 not told, by the reward gap",
    "law_rmse": "root mean squared residual of the law fitted to the run, performance",
    "share": "level: share of entropy left, or of missing reward still missing",
}


EXPERIMENT = Experiment.of(
    __name__, name="interventions_on_the_curve",
    source="Cui et al., section 2; a referee's first objection",
    title="Which interventions leave the reward-entropy curve of GRPO",
    caption="Reward beyond GRPO's at equal entropy and entropy at equal reward, exactly and from "
            "samples. Every rule in pairs of one start; means with intervals, and the law's misfit.",
    modes=("exact", "sampled"),
    work=lambda config: config.steps * len(config.families) * sum(
        len(rules(config, mode)) for mode in MODES),
)
