"""Response length under the loss normalizations, and under AEPO's shorter-response target.

Token trees with an end token on which length says nothing about the reward: the first token decides
whether a response is right, all that follows is wording. Whatever happens to the length of right and of
wrong responses is then the work of the objective's length factor.

- *sequence-mean* (GRPO as printed; AEPO, Eq. 1) divides each response by its length. Right responses are
  pulled towards short ones, which get more per token. Wrong responses are pushed towards long ones, which
  lose less (the bias that Dr.GRPO names).
- *token-mean* (DAPO) and *dr-grpo* (a constant length, no standard deviation) leave both alone. In exact
  expectation the wording behind a first token never changes, as all responses behind it have the same
  advantage.
- AEPO's second batch divides by length too, so that it shortens right answers on its own. A target that
  prefers short responses, with weights ``e^{-c |o|}`` (`entropy_theory.targets.ShorterResponses`), adds
  to that. To undo it takes c of about -log((L + 1)/L) per token, so that e^{-cL}/L is level at the mean
  length L.

The tilt is swept over GRPO's length-neutral form (dr-grpo), with AEPO's temperature switch and at T = 1
(ablation "untempered"), entropy beside the length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory.policy import softmax
from entropy_theory.targets import ShorterResponses
from entropy_theory.token_tree import TokenTree
from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.dynamics import Dynamics
from simulations.engine.sampling import Samples
from simulations.engine.simulation import simulate
from simulations.engine.trajectory import Record, Trajectory
from simulations.experiments.grid import joined
from simulations.problems.token_trees import with_accuracy

NORMALIZATIONS = ("sequence-mean", "token-mean", "dr-grpo")
CONTROLS = ("AEPO", "untempered")
INTERVENTIONS = ("GRPO", "clip-higher", "Clip-Cov", "KL-Cov")
NO_ANSWER = -40.0
"""The logit of ending at once, where others are standard normal: every response has some wording."""

LONG_NAMES = {
    "right_length": "expected tokens of a right response",
    "wrong_length": "expected tokens of a wrong response",
    "reward": "probability of a right response",
    "entropy": "mean token entropy, nats",
    "sampled_right_length": "expected tokens of a right response, trained from samples",
    "sampled_wrong_length": "expected tokens of a wrong response, trained from samples",
    "tilt_right_length": "expected tokens of a right response, under a tilted target",
    "tilt_entropy": "mean token entropy, under a tilted target, nats",
    "intervention_right_length": "expected tokens of a right response, off-policy with token-mean",
    "neutral_tilt": "nats per token at which right responses keep their length",
    "predicted_neutral_tilt": "-log((L + 1)/L) at the mean length L of right responses at the start",
    "tilt": "c of the target e^{-c |o|}, nats per token",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    horizon: int = 6
    """The largest number of tokens of a response, the deciding first one and the end token included."""
    end_bias: float = -0.7
    """Addition to the end token's logits after the first token, nats."""
    accuracies: tuple[float, ...] = (0.1, 0.5, 0.9)
    """The accuracies of the prompts at the start."""
    tilts: tuple[float, ...] = (-0.4, -0.2, 0.0, 0.2)
    """Nats by which a further token lowers the log-weight of a right response."""
    target: float = 0.4
    alpha: float = 1.0
    n_starts: int = 8
    learning_rate: float = 0.5
    """The learning rate of each prompt."""
    steps: int = 200
    record_every: int = 20
    group_size: int = 8
    steps_per_batch: int = 4
    """Optimizer steps on each batch of the interventions, which differ from GRPO off-policy only."""
    ratio: float = 0.1
    """Share of the tokens that Clip-Cov and KL-Cov select."""
    clip_high: float = 0.4


PROFILES = {
    "smoke": Config(horizon=4, tilts=(-0.4, 0.2), n_starts=2, steps=20),
    "default": Config(),
    "full": Config(
        horizon=7, tilts=(-0.6, -0.5, -0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.4), n_starts=12,
        steps=400,
    ),
}


def work(config: Config) -> int:
    """Return the number of engine steps in all."""
    runs = 2 * len(NORMALIZATIONS) + len(INTERVENTIONS) + len(CONTROLS) * len(config.tilts)
    return runs * config.steps


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Lengths of right and wrong responses, entropy and reward under each objective."""
    world, sampled = Wording.of(config, seed), Samples(group_size=config.group_size)

    def measured(rule: UpdateRule, prefix: str, *names: str, **options: Any) -> xr.Dataset:
        found = world.measured(world.train(rule, config, seed, progress, **options), names)
        return found.rename({name: f"{prefix}{name}" for name in names})

    lengths = ("right_length", "wrong_length")
    dataset = xr.merge([
        joined("normalization", {
            name: measured(_grpo(name, config), "", *lengths, "reward", "entropy").merge(
                measured(_grpo(name, config), "sampled_", *lengths, samples=sampled))
            for name in NORMALIZATIONS}),
        joined("intervention", {
            name: measured(_intervention(name, config), "intervention_", "right_length",
                           samples=sampled, steps_per_batch=config.steps_per_batch)
            for name in INTERVENTIONS}),
        joined("control", {
            control: joined("tilt", {
                tilt: measured(_tilted(tilt, control, config), "tilt_", "right_length", "entropy").isel(
                    step=-1, drop=True)
                for tilt in config.tilts})
            for control in CONTROLS}),
    ])
    before = dataset.right_length.isel(normalization=0, step=0, drop=True)
    change = (dataset.tilt_right_length - before).mean(("accuracy", "start"))
    dataset["neutral_tilt"] = ("control", [
        _zero(change.sel(control=control).values, change.tilt.values) for control in CONTROLS])
    mean = float(before.mean())
    dataset["predicted_neutral_tilt"] = -np.log((mean + 1) / mean)
    return dataset


@dataclass(frozen=True, kw_only=True, slots=True)
class Wording:
    """Prompts whose responses are right if they begin with token 0, wrong if with token 1."""

    tree: TokenTree
    right: np.ndarray
    """Mask of the right responses, boolean [responses]."""
    starts: np.ndarray
    """The starting logits, [starts, prompts * states, tokens]."""
    accuracies: tuple[float, ...]

    @classmethod
    def of(cls, config: Config, seed: int) -> Wording:
        """Draw starts with normal logits and end tokens biased by ``end_bias``, at each accuracy."""
        tree = TokenTree(3, config.horizon, end_token=True)
        first = np.zeros((tree.n_states, tree.n_tokens))
        first[0, 0] = 1.0
        right = tree.sum_along(first) > 0
        shape = (config.n_starts, len(config.accuracies), tree.n_states, tree.n_tokens)
        logits = np.random.default_rng(seed).normal(size=shape)
        logits[..., -1] += config.end_bias
        logits[:, :, 0, -1] = NO_ANSWER
        for prompt, accuracy in enumerate(config.accuracies):
            logits[:, prompt] = with_accuracy(logits[:, prompt], tree, right, accuracy)
        return cls(
            tree=tree, right=right, accuracies=config.accuracies,
            starts=logits.reshape(config.n_starts, -1, tree.n_tokens),
        )

    def train(
        self, rule: UpdateRule, config: Config, seed: int, progress: Progress,
        samples: Samples | None = None, steps_per_batch: int = 1,
    ) -> Trajectory:
        """Train one run from each start."""
        dynamics = Dynamics(
            rule=rule, learning_rate=config.learning_rate * len(self.accuracies),
            steps=config.steps, record_every=config.record_every, samples=samples, seed=seed,
            steps_per_batch=steps_per_batch,
        )
        reward = np.broadcast_to(self.right, (1, len(self.accuracies), len(self.right)))
        return simulate(self.starts, reward, dynamics, tree=self.tree, record=Record(logits=True),
                        progress=progress)

    def measured(self, run: Trajectory, names: tuple[str, ...]) -> xr.Dataset:
        """Return lengths given right and wrong, reward [accuracy, start, step], entropy [start, step]."""
        assert run.logits is not None
        shape = (*run.logits.shape[:2], len(self.accuracies), self.tree.n_states, self.tree.n_tokens)
        answers = self.tree.response_probabilities(softmax(run.logits).reshape(shape))
        dims = ("accuracy", "start", "step")
        columns: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
            "entropy": (("start", "step"), run.entropy.T)}
        for name, mask in (("right_length", self.right), ("wrong_length", ~self.right)):
            share = answers[..., mask].sum(axis=-1)
            length = (answers * self.tree.lengths)[..., mask].sum(axis=-1) / share
            columns[name] = (dims, length.T)
            if name == "right_length":
                columns["reward"] = (dims, share.T)
        return xr.Dataset(
            {name: columns[name] for name in names},
            coords={"accuracy": list(self.accuracies), "start": np.arange(len(self.starts)),
                    "step": run.step},
        )


def _grpo(normalization: str, config: Config) -> UpdateRule:
    if normalization == "dr-grpo":  # Dr.GRPO also drops the standard deviation
        return get("grpo", normalization=normalization, estimator="group-centered",
                   max_length=config.horizon)
    return get("grpo", normalization=normalization)


def _intervention(name: str, config: Config) -> UpdateRule:
    base = _grpo("token-mean", config)
    wide = get("grpo", clip_low=1.0, clip_high=1.0, normalization="token-mean")
    free = get("grpo", clip_low=math.inf, clip_high=math.inf, normalization="token-mean")
    made: dict[str, UpdateRule] = {
        "GRPO": base,
        "clip-higher": get("clip-higher", clip_high=config.clip_high, normalization="token-mean"),
        "Clip-Cov": get("clip-cov", ratio=config.ratio, lower=0.5, upper=20.0, base=wide),
        "KL-Cov": get("kl-cov", ratio=config.ratio, base=free),
    }
    return made[name]


def _tilted(tilt: float, control: str, config: Config) -> UpdateRule:
    return get(
        "aepo", alpha=config.alpha, target=config.target, towards=ShorterResponses(per_token=tilt),
        ablation="untempered" if control == "untempered" else "none", base=_grpo("dr-grpo", config),
    )


def _zero(values: np.ndarray, at: np.ndarray) -> float:
    """Where a falling curve crosses 0, linear between its points; at an end if it does not."""
    return float(np.interp(0.0, values[::-1], at[::-1]))


EXPERIMENT = Experiment.of(
    __name__, name="response_length",
    source="AEPO, Eq. 1 and Section 7; Dr.GRPO and DAPO, length normalization",
    title="Response length under loss normalizations and a shorter-response target",
    caption="Length of right and wrong responses and entropy by step of GRPO under three "
            "normalizations, exactly and from samples, and under AEPO by the tilt of its second batch.",
    modes=("exact", "sampled"),
)
