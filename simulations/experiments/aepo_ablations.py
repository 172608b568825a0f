"""AEPO's two ablations, and why they collapse (AEPO, Section 6, Table 3, Eqs. 2 and 3).

Ablation (2) draws the second batch at T = 1; ablation (3) keeps its temperature but weighs its samples
by group-normalized advantages in place of rewards. Both collapse, says the paper: (2) because the
untempered gradient has the larger variance, (3) because negative samples counteract the positive ones.
Four things are measured.

1. Exact runs of GRPO, AEPO and both ablations from the same starts. In (2) and (3) the entropy among
   right answers never rises (claims ``aepo.ablation-2``, ``aepo.ablation-3``).
2. Along GRPO's own path, what the second batch does to entropy at T_high and T_low: F(T) with rewards;
   with centered rewards the positives' part is (1 - P_T) F(T), and the negatives' comes on top.
   Together they are F(T) - P_T F_all(T): the part by which temperature steers, P_T F_all, is what has
   gone (claim ``aepo.negatives-cancel``).
3. The variance of one update at equal numbers of samples, total over logits, at frozen policies: the
   second batch at T = 1, T_high and T_low, and GRPO given all the samples (claim
   ``aepo.untempered-variance``). And, exactly, the noise of the second batch alone for its signal, at
   starts from hard to easy.
4. Training from samples, all variants with the same number of them, on prompts of mixed difficulty.

Seen: both collapse. (2) does so in the mean, before any variance: nothing in it steers entropy. Along
GRPO's path (accuracy 0.5 and more) its update has more noise for its signal than GRPO's with as many
samples (there is no baseline), but less than the full method's at T_high, and it learns no slower: the
drop in benchmark scores that the paper puts down to variance is not in these dynamics. On hard prompts
the paper has a point: there T_high meets right answers more often, and the second batch has less noise
for its signal than at T = 1. In (3) negatives do counteract positives where
T_high raises entropy, as the paper says (at T_low they add to them); but as a prompt is solved,
positives vanish by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory.entropy_change import first_order, tempered_reinforce_rate
from entropy_theory.policy import softmax
from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.dynamics import Dynamics
from simulations.engine.sampling import Samples
from simulations.engine.simulation import simulate
from simulations.engine.trajectory import Record, Trajectory
from simulations.experiments.grid import Grid
from simulations.problems.bandits import Bandit

VARIANTS = ("GRPO", "AEPO", "ablation (2)", "ablation (3)")
ABLATION = {"AEPO": "none", "ablation (2)": "untempered", "ablation (3)": "advantage"}
UPDATES = ("GRPO", "AEPO at T_high", "AEPO at T_low", "ablation (2)", "ablation (3) at T_high")

LONG_NAMES = {
    "entropy": "policy entropy, nats",
    "reward": "probability of a right answer",
    "entropy_within_correct": "entropy given a right answer, nats",
    "target": "target entropy, nats",
    "largest_rise": "largest change of the entropy given a right answer between records, nats",
    "rate_rewards": "entropy rate of the second batch with rewards, F(T), nats per eta alpha",
    "rate_positives": "of its positives with centered rewards, (1 - P_T) F(T)",
    "rate_negatives": "of its negatives with centered rewards",
    "path_accuracy": "probability of a right answer along GRPO's path",
    "update_variance": "total variance of one update, logits squared",
    "noise_to_signal": "total variance of one update over the squared length of its mean",
    "second_batch_variance": "the same of the second batch alone, exactly",
    "second_batch_noise": "variance of one sample of the second batch over its squared mean, exactly",
    "entropy_noise": "standard deviation of the first-order entropy change of one update, nats",
    "entropy_drift": "mean of the same, nats",
    "sampled_entropy": "policy entropy, from samples, nats",
    "sampled_reward": "probability of a right answer, from samples",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings; T_high, T_low and G as in AEPO's Table 4."""

    n_actions: int = 20
    right_answers: tuple[int, ...] = (1, 4, 8)
    accuracy: float = 0.5
    """The starting accuracy of the exact runs."""
    target: float = 0.7
    alpha: float = 1.0
    temperature_high: float = 1.2
    temperature_low: float = 0.8
    group_size: int = 8
    n_starts: int = 8
    learning_rate: float = 1.0
    steps: int = 1200
    record_every: int = 12
    levels: tuple[float, ...] = (0.5, 0.7, 0.9, 0.99)
    """Accuracies along GRPO's path at which many updates are drawn from one policy."""
    variance_right_answers: int = 8
    start_accuracies: tuple[float, ...] = (0.05, 0.3, 0.7, 0.95)
    """The starting accuracies at which the noise of the second batch alone is measured."""
    draws: int = 1500
    n_variance_starts: int = 4
    sampled_accuracies: tuple[float, ...] = (0.05, 0.3, 0.8)
    sampled_steps: int = 600
    n_sampled_runs: int = 16


PROFILES = {
    "smoke": Config(
        right_answers=(1, 8), n_starts=2, steps=120, levels=(0.7, 0.9), draws=50,
        n_variance_starts=2, sampled_steps=50, n_sampled_runs=2,
    ),
    "default": Config(),
    "full": Config(
        n_starts=32, steps=8000, record_every=40, draws=20000, n_variance_starts=16,
        sampled_steps=10000, n_sampled_runs=64,
    ),
}


def work(config: Config) -> int:
    """Return the number of engine steps in all."""
    return len(VARIANTS) * (config.steps + config.sampled_steps) + len(UPDATES)


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Curves of all variants, entropy rates of the second batch, and variances of the update."""
    problems = tuple(
        Bandit(n_actions=config.n_actions, n_correct=m, accuracies=(config.accuracy,))
        for m in config.right_answers
    )
    grid = Grid(problems, config.n_starts, "variant", ("all",), seed)
    runs = {name: _train(name, grid, config, seed, progress) for name in VARIANTS}
    names = ("entropy", "reward", "entropy_within_correct")
    curves = [grid.curves(run, names).isel(variant=0, drop=True) for run in runs.values()]
    dataset = xr.concat(curves, dim="variant").assign_coords(variant=list(VARIANTS))
    dataset["largest_rise"] = dataset.entropy_within_correct.diff("step").max("step")
    dataset = dataset.merge(_rates(runs["GRPO"], grid, config))
    dataset = dataset.merge(_variances(runs["GRPO"], grid, config, seed, progress))
    dataset = dataset.merge(_second_batch_noise(config, seed))
    dataset = dataset.merge(_sampled(config, seed, progress))
    for name, text in LONG_NAMES.items():
        if name in dataset:
            dataset[name].attrs["long_name"] = text
    dataset.attrs.update(target=config.target)
    return dataset


def second_batch_rates(
    logits: np.ndarray, correct: np.ndarray, temperature: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three entropy rates of the second batch per unit of eta alpha: [...] each.

    They are the rate with rewards, F(T), and with rewards less their mean P_T the rates of the positive
    and of the negative samples. A sample of action a moves logits [..., actions] by its weight times
    (e_a - pi), and entropy at the rate -(S_a - E S) with S = pi (log pi + H).
    """
    with_rewards = tempered_reinforce_rate(logits, correct, temperature)
    right = np.where(correct, softmax(logits, temperature), 0.0).sum(axis=-1)
    of_wrong = tempered_reinforce_rate(logits, ~correct, temperature)
    return with_rewards, (1 - right) * with_rewards, -right * of_wrong


def sample_variance(
    logits: np.ndarray, correct: np.ndarray, temperature: float
) -> np.ndarray:
    """Total variance of R (e_a - pi) for one sample a from pi^T: [...], from logits [..., actions]."""
    pi, tempered = softmax(logits), softmax(logits, temperature)
    positive = np.where(correct, tempered, 0.0)
    square = np.sum(positive * (1 - 2 * pi + np.sum(pi**2, axis=-1, keepdims=True)), axis=-1)
    mean = positive - positive.sum(axis=-1, keepdims=True) * pi
    return square - np.sum(mean**2, axis=-1)


def _rule(variant: str, config: Config, group_size: int | None) -> UpdateRule:
    base = get("grpo", group_size=group_size)
    if variant == "GRPO":
        return base
    return get(
        "aepo", alpha=config.alpha, target=config.target, ablation=ABLATION[variant],
        temperature_high=config.temperature_high, temperature_low=config.temperature_low, base=base,
    )


def _train(
    variant: str, grid: Grid, config: Config, seed: int, progress: Progress
) -> Trajectory:
    dynamics = Dynamics(
        rule=_rule(variant, config, config.group_size), learning_rate=config.learning_rate,
        steps=config.steps, record_every=config.record_every, seed=seed,
    )
    record = Record(logits=variant == "GRPO")
    return simulate(grid.logits, grid.correct, dynamics, record=record, progress=progress)


def _rates(grpo: Trajectory, grid: Grid, config: Config) -> xr.Dataset:
    """Entropy rates of the second batch along GRPO's path, at both temperatures."""
    assert grpo.logits is not None
    logits = grpo.logits[:, :, 0]
    correct = np.broadcast_to(grid.correct[:, 0], logits.shape)
    temperatures = (config.temperature_high, config.temperature_low)
    rates = np.asarray([second_batch_rates(logits, correct, t) for t in temperatures])
    dims = ("temperature", "right_answers", "start", "step")
    shape = (len(temperatures), *grid.shape[:2], len(logits))
    data = {
        name: (dims, np.moveaxis(rates[:, k], 1, -1).reshape(shape))
        for k, name in enumerate(("rate_rewards", "rate_positives", "rate_negatives"))
    }
    accuracy = (dims[1:], grpo.reward.T.reshape(shape[1:]))
    return xr.Dataset({**data, "path_accuracy": accuracy}, coords={"temperature": list(temperatures)})


def _variances(
    grpo: Trajectory, grid: Grid, config: Config, seed: int, progress: Progress
) -> xr.Dataset:
    """Mean and variance of single updates at policies that GRPO passes through."""
    assert grpo.logits is not None
    problem = config.right_answers.index(config.variance_right_answers)
    chosen = problem * config.n_starts + np.arange(config.n_variance_starts)
    correct = grid.correct[chosen[0]]
    policies = np.stack([
        grpo.logits[(grpo.reward[:, chosen] >= level).argmax(axis=0), chosen]
        for level in config.levels
    ])
    shape = policies.shape[:2]
    flat = policies.reshape(-1, *policies.shape[2:])
    data: dict[str, list[np.ndarray]] = {
        name: [] for name in ("update_variance", "noise_to_signal", "entropy_noise", "entropy_drift")
    }
    for update in UPDATES:
        moves = _updates(update, flat, correct, config, seed, progress)
        change = first_order(flat[:, None, 0], moves[:, :, 0])
        variance = moves.var(axis=1, ddof=1).sum(axis=(-2, -1))
        # The squared mean of n draws is too large by variance / n.
        signal = np.sum(moves.mean(axis=1) ** 2, axis=(-2, -1)) - variance / config.draws
        data["update_variance"].append(variance.reshape(shape))
        data["noise_to_signal"].append((variance / signal).reshape(shape))
        data["entropy_noise"].append(change.std(axis=1, ddof=1).reshape(shape))
        data["entropy_drift"].append(change.mean(axis=1).reshape(shape))
    dims = ("update", "level", "variance_start")
    temperatures = {"T = 1": 1.0, "T_high": config.temperature_high, "T_low": config.temperature_low}
    mask = np.broadcast_to(correct[0], flat[:, 0].shape)
    alone = [
        config.alpha**2 / config.group_size * sample_variance(flat[:, 0], mask, t).reshape(shape)
        for t in temperatures.values()
    ]
    return xr.Dataset(
        {
            **{name: (dims, np.asarray(values)) for name, values in data.items()},
            "second_batch_variance": (("second_batch", *dims[1:]), np.asarray(alone)),
        },
        coords={"update": list(UPDATES), "level": list(config.levels),
                "second_batch": list(temperatures)},
    )


def _second_batch_noise(config: Config, seed: int) -> xr.Dataset:
    """Variance of a sample of the second batch over its squared mean, by temperature and start."""
    found = []
    for m in config.right_answers:
        problem = Bandit(
            n_actions=config.n_actions, n_correct=m, accuracies=config.start_accuracies)
        logits = problem.starts(config.n_starts, seed)
        correct = np.broadcast_to(problem.correct, logits.shape)
        by_temperature = []
        for temperature in (1.0, config.temperature_high, config.temperature_low):
            positive = np.where(correct, softmax(logits, temperature), 0.0)
            mean = positive - positive.sum(axis=-1, keepdims=True) * softmax(logits)
            by_temperature.append(
                sample_variance(logits, correct, temperature) / np.sum(mean**2, axis=-1))
        found.append(by_temperature)
    dims = ("right_answers", "second_batch", "start", "start_accuracy")
    return xr.Dataset({"second_batch_noise": (dims, np.asarray(found))},
                      coords={"start_accuracy": list(config.start_accuracies)})


def _updates(
    update: str, policies: np.ndarray, correct: np.ndarray, config: Config, seed: int,
    progress: Progress,
) -> np.ndarray:
    """Draw updates per unit learning rate, each from fresh samples: [policies, draws, 1, actions].

    Each takes 2 G samples a prompt: G ordinary ones and G of the second batch, or 2 G of GRPO's.
    """
    variant = update.split(" at ")[0]
    draws = np.repeat(policies, config.draws, axis=0)
    # A target that no entropy is below, or above, fixes the temperature.
    target = 1e9 if update.endswith("T_high") else 0.0
    size = config.group_size
    dynamics = Dynamics(
        rule=_rule(variant, config, None), learning_rate=1.0, steps=1,
        targets=None if variant == "GRPO" else (target,) * len(draws),
        samples=Samples(group_size=2 * size if variant == "GRPO" else size, tempered=size),
        record_every=1, seed=seed,
    )
    after = simulate(draws, correct, dynamics, progress=progress).final_logits
    return (after - draws).reshape(len(policies), config.draws, *policies.shape[1:])


def _sampled(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Train every variant from samples, 2 G a prompt, on prompts of mixed difficulty."""
    problem = Bandit(n_actions=config.n_actions, n_correct=config.variance_right_answers,
                     accuracies=config.sampled_accuracies * 2)
    starts = problem.starts(config.n_sampled_runs, seed)
    curves = []
    for variant in VARIANTS:
        size = config.group_size
        dynamics = Dynamics(
            rule=_rule(variant, config, None), learning_rate=config.learning_rate * starts.shape[1],
            steps=config.sampled_steps,
            samples=Samples(group_size=2 * size if variant == "GRPO" else size, tempered=size),
            record_every=max(config.sampled_steps // 100, 1), seed=seed,
        )
        run = simulate(starts, problem.correct, dynamics, progress=progress)
        dims = ("sampled_run", "sampled_step")
        curves.append(xr.Dataset(
            {"sampled_entropy": (dims, run.entropy.T), "sampled_reward": (dims, run.reward.T)},
            coords={"sampled_step": run.step}))
    return xr.concat(curves, dim="variant").assign_coords(variant=list(VARIANTS))


EXPERIMENT = Experiment(
    name="aepo_ablations",
    source="AEPO, Section 6 and Table 3",
    title="AEPO's ablations, and why they collapse",
    caption="AEPO, its two ablations and GRPO from the same starts in exact expectation; what a second "
            "batch does to entropy along GRPO; noise of one update; training from as many samples.",
    modes=("exact", "sampled"),
    profiles=PROFILES,
    compute=compute,
    work=work,
)
