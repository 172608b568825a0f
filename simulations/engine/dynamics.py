"""The dynamics of a simulation: the rule, the step size, the samples, the number of steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.policy import check_temperature
from entropy_theory.update_rules import UpdateRule
from entropy_theory.update_rules.bonus import tells_prompts_apart
from entropy_theory.update_rules.policy_gradient import PolicyGradient
from entropy_theory.update_rules.rule import map_options
from simulations.engine.optimizer import Adam, Optimizer, Sgd
from simulations.engine.sampler import Sampler
from simulations.engine.sampling import Samples
from simulations.problems.bandits import check_count

ENGINES = ("auto", "numpy", "compiled", "jax")


@dataclass(frozen=True, kw_only=True, slots=True)
class Dynamics:
    """How policies are trained; numbers given as tuples have one entry per run.

    Raises ValueError for values that cannot be simulated, naming them.
    """

    rule: UpdateRule
    learning_rate: float | tuple[float, ...] = 0.5
    steps: int = 6000
    temperature: float | tuple[float, ...] | None = None
    """The temperature at which all rows are sampled, for rules without a controller (AEPO, Figure 2)."""
    targets: tuple[float, ...] | None = None
    """Target entropy of each run, nats, in place of the rule's single one."""
    target_schedule: Callable[[int], Any] | None = None
    """A target that moves, in place of the rule's own. It is a function from the number of steps taken to
    a target in nats, or to one per run [runs]. It is called at the start of each batch for that batch and
    the next."""
    target_offsets: tuple[float, ...] | None = None
    """By how much the entropy wanted at each prompt is above the target, nats, for a rule with
    ``prompt_gain``; None for one target at all prompts."""
    samples: Samples | None = None
    """How many responses are sampled; None computes exact expectations."""
    steps_per_batch: int = 1
    """Optimizer steps on the same samples, off-policy from the second on (PPO's epochs): ratios move,
    clips bind, and controllers wait for the next batch."""
    record_every: int = 20
    """Steps between records; the first and the last policy are always recorded."""
    tail: int = 0
    """The number of last steps over which entropy is averaged at every step; 0 means the last sixth."""
    seed: int = 0
    engine: str = "auto"
    """The engine; all agree to rounding. "auto" is the fastest one that takes exactly this rule's steps,
    NumPy for short runs, and logs why it leaves a long run to NumPy. "numpy" takes every rule. "compiled"
    runs machine code (`simulations.engine.engines`). "jax" runs `jax.jit` of the rule's code, on a GPU
    where JAX finds one. The last two raise ValueError where they cannot take the steps."""
    sampler: Sampler | None = None
    """The distribution that responses are drawn from where it is not the policy itself. A rule reads it
    in the column ``sampling_log_prob``."""
    optimizer: Optimizer = dataclasses.field(default_factory=Sgd)
    """The optimizer, which turns a rule's step into that of the parameters."""
    precision: str = "float64"
    """The precision of the logits, "float64" or "float32"."""
    first_run: int | tuple[int, ...] = 0
    """Number of the first run, or of each. Samples are keyed by it, so that a simulation may be cut into
    several with the same results. Runs of one number have the same uniforms."""

    def __post_init__(self) -> None:
        if not isinstance(self.rule, UpdateRule):
            raise ValueError(
                f"rule is an update rule, such as update_rules.get('grpo'), got {self.rule!r}")
        for name, least in (("steps", 1), ("steps_per_batch", 1), ("record_every", 1),
                            ("tail", 0), ("seed", 0)):
            check_count(name, getattr(self, name), least)
        for number in np.atleast_1d(self.first_run).tolist():
            check_count("first_run", number, 0)
        if self.precision not in ("float64", "float32"):
            raise ValueError(f"precision must be float64 or float32, got {self.precision}")
        if self.engine not in ENGINES:
            raise ValueError(f"unknown engine '{self.engine}': use one of {', '.join(ENGINES)}")
        if not np.all(np.isfinite(self.learning_rate)):
            raise ValueError(f"learning_rate must be finite, got {self.learning_rate}")
        if self.temperature is not None:
            if self.rule.controller() is not None:
                raise ValueError(f"'{self.rule.name}' chooses the temperature: leave it None")
            if not isinstance(self.rule, PolicyGradient):
                raise ValueError(
                    f"'{self.rule.name}' needs samples at temperature 1, and temperature is "
                    f"{self.temperature}: leave it None, or use 'reinforce' or 'grpo'"
                )
            check_temperature(np.asarray(self.temperature))
        controllers = (self.rule.controller(), self.rule.coefficient_controller())
        if not any(controller and controller.takes_target for controller in controllers):
            for name in ("targets", "target_schedule"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"'{self.rule.name}' has no controller that takes targets: leave {name} None")
        if self.targets is not None and self.target_schedule is not None:
            raise ValueError("targets and target_schedule are both given: give one of them")
        if self.target_offsets is not None:
            if not np.all(np.isfinite(self.target_offsets)):
                raise ValueError(f"target_offsets must be finite, got {self.target_offsets}")
            if not tells_prompts_apart(self.rule):
                raise ValueError(
                    f"'{self.rule.name}' has one coefficient for all prompts: give it prompt_gain, or "
                    "leave target_offsets None")
        if self.samples is not None and self.rule.needs.listing:
            raise ValueError(
                f"'{self.rule.name}' takes an exact expectation and cannot be sampled: leave samples "
                f"None; {self.rule.needs.listing}"
            )
        self._check_sampler()
        if not isinstance(self.optimizer, Optimizer):
            raise ValueError(f"optimizer is a record such as Adam(), got {self.optimizer!r}")
        loop = controllers[1]
        if isinstance(self.optimizer, Adam) and loop is not None and loop.forecasts:
            raise ValueError(
                f"'{self.rule.name}' steers by forecasts of steps that are linear in its coefficient, "
                "and Adam's step is not: take optimizer Sgd, or hold the coefficient without forecasts")

    def _check_sampler(self) -> None:
        if self.sampler is None:
            return
        if not isinstance(self.sampler, Sampler):
            raise ValueError(f"sampler is a record such as Sampler(top_p=0.95), got {self.sampler!r}")
        if self.rule.needs.listing:
            raise ValueError(
                f"'{self.rule.name}' takes an exact expectation under the policy, and a sampler departs "
                "from the policy: leave sampler None")
        if self.temperature is not None and self.sampler.temperature != 1:
            raise ValueError(
                f"temperature {self.temperature} and the sampler's temperature "
                f"{self.sampler.temperature} are both given: give one of them")

    def take_runs(self, n_runs: int, part: slice) -> Dynamics:
        """Return the dynamics of the runs ``part`` (start and stop) of ``n_runs``, per-run values cut."""
        schedule = self.target_schedule
        return dataclasses.replace(
            self,
            rule=cut_options(self.rule, n_runs, part),
            first_run=self.first_run + part.start if isinstance(self.first_run, int)
            else self.first_run[part],
            target_schedule=None if schedule is None else (
                lambda step: _cut_targets(schedule(step), n_runs, part)),
            **{name: _cut(getattr(self, name), n_runs, part)
               for name in ("learning_rate", "temperature", "targets")},
        )


def _cut(value: Any, n_runs: int, part: slice) -> Any:
    """Return the entries of some runs, of a value that is one number or one per run."""
    if value is None or np.ndim(value) == 0 or len(value) != n_runs:
        return value
    return value[part]


def _cut_targets(targets: Any, n_runs: int, part: slice) -> Any:
    if np.ndim(targets) and len(targets) != n_runs:
        raise ValueError(f"target_schedule has {len(targets)} values for {n_runs} runs")
    return _cut(targets, n_runs, part)


def cut_options(rule: UpdateRule, n_runs: int, part: slice) -> UpdateRule:
    """Return the rule with its options, and those of the rules it is made of, cut to some runs."""
    return map_options(
        rule, lambda _, name, value: value if isinstance(value, str) else _cut(value, n_runs, part))
