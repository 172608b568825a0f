"""Performance against the target entropy: rise, then fall (AEPO, Section 5.2, Table 3). Where is it seen?

The paper trains at targets 0.25, 0.5, 0.75 and 1.0 and sees the benchmark average rise to the second
and fall after it. Here AEPO trains from sampled groups, at equal numbers of steps and samples, on three
kinds of prompt sets with several accepted answers each:

- ``solved``: every prompt has accepted answers in most groups;
- ``rare``: in three prompts of six accepted answers have a probability of at most 0.01, so that most
  groups see none, and the rest are easy;
- ``rare, shared``: the same, with parameters shared by prompts. Beside a logit of its own an answer has a
  bias common to all prompts, so that training on easy prompts moves the hard ones.

The reported number is pass@k before a judge. Of the answers that the training verifier accepts it
passes the ``passing`` likeliest of the start, all of them or fewer. A benchmark that tells sound answers
from lucky ones is such a judge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory.policy import softmax
from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import Samples
from simulations.engine.trajectory import Record, Trajectory
from simulations.experiments.grid import gridded, joined, trained
from simulations.problems.bandits import Bandit, shuffled
from simulations.problems.shared_parameters import coupled_features

FAMILIES = {
    "solved": (0.3, 0.6, 0.9) * 2,
    "rare": (0.005, 0.005, 0.01, 0.9, 0.9, 0.9),
    "rare, shared": (0.005, 0.005, 0.01, 0.9, 0.9, 0.9),
}
"""The families of prompts, by the accuracy of each prompt at the start."""

LONG_NAMES = {
    "entropy": "policy entropy, nats",
    "pass_at_k": "probability that one of k answers passes, averaged over prompts",
    "grpo_pass_at_k": "the same of GRPO alone, with as many samples",
    "best_target": "target at which pass@k is best, nats",
    "rise": "pass@k at the best target less that at the lowest",
    "rise_error": "standard error of the rise, over starts",
    "fall": "pass@k at the best target less that at the highest",
    "fall_error": "standard error of the fall, over starts",
    "passing": "accepted answers that the judge passes, likeliest first",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings; T_high, T_low and G as in AEPO's Table 4."""

    families: tuple[str, ...] = tuple(FAMILIES)
    targets: tuple[float, ...] = (0.0, 0.5, 0.75, 1.0, 1.25, 1.5)
    n_actions: int = 20
    n_accepted: int = 5
    passing: tuple[int, ...] = (5, 4, 3, 2)
    """How many of the accepted answers a judge passes."""
    shared: float = 0.5
    """Share of an answer's squared feature norm that all prompts have in common."""
    ks: tuple[int, ...] = (1, 64)
    n_starts: int = 60
    learning_rate: float = 0.5
    """The learning rate of each prompt's own logits."""
    steps: int = 300
    n_records: int = 5
    group_size: int = 8
    tempered: int = 8
    alpha: float = 1.0


PROFILES = {
    "smoke": Config(families=("solved", "rare"), targets=(0.0, 0.5, 1.5), n_starts=3, steps=80),
    "default": Config(),
    "full": Config(
        targets=(0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0, 1.25, 1.5), n_starts=200, steps=600,
        n_records=10,
    ),
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Entropy, and pass@k before each judge by target, along training, and GRPO's beside it."""
    dataset = joined("family", {family: _family(family, config, seed, progress)
                                for family in config.families})
    performance = dataset.pass_at_k
    dataset["best_target"] = performance.mean("start").idxmax("target")
    best = performance.sel(target=dataset.best_target)
    for name, end in (("rise", 0), ("fall", -1)):
        gain = (best - performance.isel(target=end, drop=True)).drop_vars("target")
        dataset[name] = gain.mean("start")
        dataset[f"{name}_error"] = gain.std("start", ddof=1) / np.sqrt(config.n_starts)
    return dataset


def likeliest(logits: np.ndarray, accepted: np.ndarray, passing: int) -> np.ndarray:
    """The ``passing`` likeliest of the accepted answers: a mask of the shape of ``logits``."""
    among = np.where(accepted, logits, -np.inf)
    return among >= np.sort(among, axis=-1)[..., -passing, None]


def _family(family: str, config: Config, seed: int, progress: Progress) -> xr.Dataset:
    accuracies = FAMILIES[family]
    problem = Bandit(
        n_actions=config.n_actions, n_correct=config.n_accepted, accuracies=accuracies)
    logits, accepted = shuffled(problem, config.n_starts, seed, 1)
    features = None
    if family.endswith("shared"):
        features = coupled_features(
            len(accuracies), config.n_actions, config.shared, between="states")
    n_targets = len(config.targets)

    def train(rule: UpdateRule, copies: int, samples: Samples, **options: object) -> Trajectory:
        return trained(
            np.repeat(logits, copies, axis=0), np.repeat(accepted, copies, axis=0), rule, config, seed,
            progress, features=features, record=Record(logits=True), samples=samples,
            learning_rate=config.learning_rate * len(accuracies),
            record_every=max(config.steps // config.n_records, 1), **options)

    size, tempered = config.group_size, config.tempered
    aepo = train(
        get("aepo", alpha=config.alpha), n_targets, Samples(group_size=size, tempered=tempered),
        targets=config.targets * config.n_starts,
    )
    grpo = train(get("grpo"), 1, Samples(group_size=size + tempered))
    shape = (len(config.passing), len(config.ks), -1, config.n_starts, n_targets)
    judges = [likeliest(logits, accepted, n) for n in config.passing]
    judged = [_pass_at_k(aepo, np.repeat(mask, n_targets, axis=0), config) for mask in judges]
    axes: dict[str, Any] = {
        "passing": config.passing, "k": config.ks, "step": aepo.step,
        "start": np.arange(config.n_starts), "target": config.targets}
    return gridded(
        axes, entropy=(("step", "start", "target"), aepo.entropy.reshape(shape[2:])),
        pass_at_k=np.reshape(judged, shape),
        grpo_pass_at_k=np.asarray([_pass_at_k(grpo, mask, config) for mask in judges]))


def _pass_at_k(run: Trajectory, passes: np.ndarray, config: Config) -> np.ndarray:
    """Return ``1 - (1 - p)^k``, averaged over prompts: [ks, records, runs].

    ``passes`` is [runs, prompts, answers].
    """
    assert run.logits is not None
    fails = np.where(passes, 0.0, softmax(run.logits)).sum(axis=-1)
    return np.stack([1 - (fails**k).mean(axis=-1) for k in config.ks])


EXPERIMENT = Experiment.of(
    __name__, name="entropy_against_performance",
    source="AEPO, Figure 4 and Table 3",
    title="Performance against the target entropy: where it rises, and where it falls",
    caption="pass@k of AEPO from samples against target entropy, over kinds of prompts and numbers of "
            "answers that a judge passes; means over starts with standard errors.",
    modes=("sampled",),
    work=lambda config: 2 * len(config.families) * config.steps,
)
