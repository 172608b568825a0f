"""Every rule in every engine on every kind of problem: the cases, and the plainest steps to hold them to.

`python -m tests.rules` writes docs/engines.md, which engine takes what; and ``golden.npz``, where the
plainest steps lead, which every engine is held to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from entropy_theory.controllers import EntropyForecast
from entropy_theory.entropy_change import first_order
from entropy_theory.policy import entropy, log_softmax
from entropy_theory.tabular import listing, logit_step, response_batch
from entropy_theory.token_batch import TokenBatch, concatenate, mean_over_sequences
from entropy_theory.token_tree import TokenTree
from entropy_theory.update_rules import RULES, UpdateRule, get
from simulations.engine import Dynamics, Samples
from simulations.engine.block import RefusedError
from simulations.engine.engines import Engine, NumpyEngine
from simulations.engine.recorder import train
from simulations.engine.sampling import ORDINARY, TEMPERED, batch_key, lanes, uniforms
from simulations.engine.task import Task
from simulations.engine.traced import traced_runs
from simulations.problems import Bandit
from simulations.problems.shared_parameters import coupled_features
from simulations.problems.token_trees import TokenProblem
from tests.adversarial_rules import HONEST, Fading
from tests.rules_by_hand import OPTIONS

STEPS, RATE, SEED = 60, 0.3, 4
RUNS, RUN = 4, 1
"""Engines train four runs; the second one is followed row by row."""
SAMPLES = Samples(group_size=6, tempered=4)
PAGE = Path(__file__).parents[2] / "docs" / "engines.md"

FORECAST: dict[str, Any] = {
    "hold": "forecast", "coefficient_low": -2.0, "coefficient_high": 2.0, "horizon": 5.0,
    "feedback_horizon": 10.0}
RULE_OF: dict[str, UpdateRule] = {
    **{name: get(name, **OPTIONS.get(name, {})) for name in (*OPTIONS, *RULES)},
    "entropy-bonus, constant": get("entropy-bonus", coefficient=0.1),
    "entropy-bonus, forecast": get("entropy-bonus", target=0.9, **FORECAST),
    "entropy-bonus, each prompt": get(
        "entropy-bonus", coefficient=0.1, target=0.9, prompt_gain=0.5),
    "grpo, quantile": get("grpo", estimator="quantile", std_ddof=0),
    "grpo, best of k": get("grpo", estimator="best-of-k", estimator_parameter=2),
    "diverse-bonus, forecast": get("diverse-bonus", target=0.9, **FORECAST),
    "aepo, proportional": get("aepo", alpha=0.7, target=0.9, control="proportional"),
    **{f"a user's: {kind.name}": kind(steps=30) if kind is Fading else kind(least=0.1)  # type: ignore
       if kind.name == "tail-sensitive" else kind() for kind in HONEST},
}
"""By what they are called in the table; every registered rule, and users' ones."""
TREE = TokenProblem(n_tokens=3, horizon=3, n_correct=4, accuracies=(0.2, 0.6))
KINDS: dict[str, Bandit | TokenProblem] = {
    "bandit": Bandit(n_actions=6, n_correct=2),
    "prompts": Bandit(n_actions=5, n_correct=2, accuracies=(0.1, 0.5)),
    "token tree": TREE,
    "shared parameters": Bandit(n_actions=5, n_correct=2, accuracies=(0.1, 0.5)),
}
GOLDEN = Path(__file__).with_name("golden.npz")


@dataclass(frozen=True, slots=True)
class Case:
    """A rule on a kind of problem."""

    rule: str
    kind: str
    sampled: bool
    steps_per_batch: int = 1

    @property
    def name(self) -> str:
        return f"{self.rule}-{self.kind}-{'sampled' if self.sampled else 'exact'}-{self.steps_per_batch}"

    @property
    def arguments(self) -> tuple[np.ndarray, np.ndarray]:
        """Starts and rewards."""
        problem = KINDS[self.kind]
        reward = problem.reward if isinstance(problem, Bandit) else problem.correct
        return problem.starts(RUNS, seed=2), reward

    @property
    def world(self) -> dict[str, Any]:
        """The tree and the features."""
        features = None
        if self.kind == "shared parameters":
            features = coupled_features(*self.arguments[0].shape[1:], 0.4, rank=3)
        return {"tree": getattr(KINDS[self.kind], "tree", None), "features": features}

    @property
    def task(self) -> Task:
        """What is simulated. Raises ValueError where the rule is not defined."""
        return Task.checked(*self.arguments, self.dynamics, **self.world)

    @property
    def dynamics(self) -> Dynamics:
        return Dynamics(
            rule=RULE_OF[self.rule], learning_rate=RATE, steps=STEPS, record_every=STEPS, seed=SEED,
            samples=SAMPLES if self.sampled else None, steps_per_batch=self.steps_per_batch)


CASES = [Case(rule, kind, sampled, steps_per_batch)
         for rule in RULE_OF for kind in KINDS for sampled in (False, True) for steps_per_batch in (1, 3)]


def refusal(case: Case) -> str:
    """Why nothing runs the case; "" where something does."""
    try:
        Task.checked(*case.arguments, case.dynamics, **case.world)
    except ValueError as error:
        return str(error)
    return ""


# ------------------------------------------------------------- the plainest steps, row by row


def plain(case: Case) -> np.ndarray:
    """The logits of run number `RUN` after all steps: one step, one row after the other."""
    task, rule = case.task, case.dynamics.rule
    loops = (rule.controller(), rule.coefficient_controller())
    logits = reference = task.logits[RUN]
    reward = np.broadcast_to(task.reward, (RUNS, *task.reward.shape[1:]))[RUN].astype(float)
    batch: Any = None
    forecast: EntropyForecast | None = None

    def change(rows: TokenBatch) -> np.ndarray:
        step = logit_step(logits, rows, rule)
        if task.features is not None:
            features = task.features[0]
            step = (features @ (features.T @ step.ravel())).reshape(step.shape)
        return RATE * step

    for step in range(STEPS):
        if step % case.steps_per_batch == 0:
            number = step // case.steps_per_batch + 1
            batch = _batch(case, rule, loops, logits, reward, reference, task.tree, number, forecast)
            batch = rule.prepare(batch.replace(step=step))
        elif rule.needs.every_step:
            batch = rule.prepare(_now(case, batch, logits, step).replace(prepared={}))
        now = _now(case, batch, logits, step)
        if loops[1] is not None and loops[1].forecasts:
            here = _forecast(logits, reward, task.tree, now, change)
            if step % case.steps_per_batch and forecast is not None:
                here = EntropyForecast(base=forecast.base + here.base,
                                       per_unit=forecast.per_unit + here.per_unit)
            forecast = here
        logits = logits + change(now)
    return logits


def _forecast(
    logits: np.ndarray, reward: np.ndarray, tree: TokenTree | None, now: TokenBatch,
    change: Callable[[TokenBatch], np.ndarray],
) -> EntropyForecast:
    """What coefficients 0 and 1 do to the mean of the listing's entropies, to first order."""
    rows = listing(logits, reward) if tree is None else response_batch(logits, reward, tree=tree)
    base, whole = (
        first_order(logits, change(now.replace(coefficient=np.full(now.mask.shape, value))))
        for value in (0.0, 1.0))
    return EntropyForecast(
        base=mean_over_sequences(rows.replace(entropy=base[rows.state]), "entropy"),
        per_unit=mean_over_sequences(rows.replace(entropy=(whole - base)[rows.state]), "entropy"))


def _now(case: Case, batch: TokenBatch, logits: np.ndarray, step: int) -> TokenBatch:
    now = batch.replace(log_prob=log_softmax(logits)[batch.state, batch.action], step=step)
    return now.replace(entropy=entropy(logits)[batch.state]) if case.rule == "erc" else now


def _batch(
    case: Case, rule: UpdateRule, loops: tuple[Any, Any], logits: np.ndarray, reward: np.ndarray,
    reference: np.ndarray, tree: TokenTree | None, number: int, forecast: EntropyForecast | None,
) -> TokenBatch:
    """A batch of one run as rows: all answers, or those drawn as the ``number``-th batch."""
    columns: dict[str, Any] = {"removed_fraction": rule.needs.removed_fraction}
    if "reference_log_prob" in rule.needs.columns:
        columns["reference_logits"] = reference

    def listed(temperature: float | None) -> TokenBatch:
        if tree is None:
            return listing(logits, reward, temperature=temperature, **columns)
        return response_batch(logits, reward, tree=tree, temperature=temperature, **columns)

    everything = listed(None)
    temperature, coefficient = (
        None if loop is None else float(
            loop.observe(mean_over_sequences(everything, loop.reads), forecast))
        for loop in loops)
    parts = []
    for kind, degree, size in (
            (ORDINARY, None, SAMPLES.group_size), (TEMPERED, temperature, SAMPLES.tempered)):
        if kind == TEMPERED and degree is None:
            continue
        rows = listed(degree)
        if case.sampled:
            index = _drawn(logits / (degree or 1), tree, number, kind, size)
            rows = rows.take_sequences(index)
            rows = rows.replace(weight=np.full(rows.mask.shape, 1 / rows.mask.sum()))
        parts.append(rows)
    batch = concatenate(parts).replace(listed=not case.sampled, seed=SEED)
    n_rows = batch.mask.shape[-2]
    ids = RUN * n_rows + np.arange(n_rows)[:, None]
    batch = batch.replace(sequence=np.broadcast_to(ids, batch.mask.shape))
    if coefficient is None:
        return batch
    return batch.replace(coefficient=np.full(batch.mask.shape, coefficient))


def _drawn(
    logits: np.ndarray, tree: TokenTree | None, number: int, kind: int, size: int
) -> np.ndarray:
    """The rows of the listing that are drawn, prompt by prompt."""
    n_states, n_actions = logits.shape
    sums = np.cumsum(np.exp(log_softmax(logits)), axis=-1).tolist()
    horizon = 1 if tree is None else tree.horizon
    per_prompt = 1 if tree is None else tree.n_states
    response_of_edge = np.empty(0) if tree is None else tree.response_of_edge()
    u = [uniforms(lanes(kind, np.array([RUN]), n_states // per_prompt, size, position),
                  batch_key(SEED, number))[0] for position in range(horizon)]
    index = []
    for prompt in range(n_states // per_prompt):
        for sample in range(size):
            state, row = 0, 0
            for position in range(horizon):
                *running, total = sums[prompt * per_prompt + state]
                token = sum(x <= u[position][prompt, sample] * total for x in running)
                if tree is None:
                    row = prompt * n_actions + token
                    break
                row = prompt * tree.n_responses + response_of_edge[state, token]
                if tree.end_token and token == tree.branching:
                    break
                state = state * tree.branching + token + 1
            index.append(row)
    return np.array(index)


# ------------------------------------------------------------------------ the engines


@cache
def made_ready(case: Case) -> Engine | str:
    """The compiled engine made ready for a case, or why it refuses."""
    try:
        return traced_runs.of(case.task)
    except RefusedError as reason:
        return str(reason)


def trained(case: Case, engine: Engine) -> np.ndarray:
    """The logits after all steps."""
    final = np.empty(case.task.logits.shape)
    return train(engine.block(slice(0, RUNS)), final, lambda steps: None).final_logits


# --------------------------------------------------------------------------- the page


def taken_by(case: Case) -> str:
    """What takes the steps of a case under engine "auto", in a word or two."""
    if refusal(case):
        return "refused"
    if not isinstance(made_ready(case), str):
        return "compiled"
    block = NumpyEngine(task=case.task).block(slice(0, RUNS))
    return "NumPy" if block.levels is None else "NumPy, summed"


def page(known: Mapping[str, str] = MappingProxyType({})) -> str:
    """docs/engines.md. ``known``: cells of rules that need not be computed."""
    lines = [HEAD, "| rules | " + " | ".join(f"{kind}, {how}" for kind in KINDS for how in (
        "exact", "sampled")) + " |", "|---" * (1 + 2 * len(KINDS)) + "|"]
    alike: dict[str, list[str]] = {}
    for rule in RULE_OF:
        row = known.get(rule) or " | ".join(
            taken_by(Case(rule, kind, sampled)) for kind in KINDS for sampled in (False, True))
        alike.setdefault(row, []).append(rule)
    for row, rules in sorted(alike.items(), key=lambda item: -len(item[1])):
        lines.append(f"| {'; '.join(rules)} | {row} |")
    return "\n".join(lines) + "\n"


def rows_of_page() -> dict[str, str]:
    """The cells of each rule as the page has them."""
    rows = (line.strip("| ").partition(" | ") for line in PAGE.read_text().splitlines()
            if line.startswith("| "))
    return {rule: row for rules, _, row in rows for rule in rules.split("; ")}


HEAD = """\
# The simulator's back ends

For those who simulate: which back end (`engine=`) takes the steps of which rule, and the limits of each.
`engine="auto"` needs no thought. It takes the compiled loops where they take exactly the rule's steps, on
bandits and prompts. Short runs, token trees and {term}`shared parameters` go to NumPy. Both agree to
rounding along whole runs (`tests/simulations/test_engines_agree.py`).

- **compiled**: one step of the rule's own array code is recorded and compiled. It takes bandits and
  prompts of up to 1,048,576 logits, with one optimizer step per batch. A rule that sorts may have
  up to 1,024 rows. Runs are advanced side by side. States of more than 64 actions, and fewer than
  four runs, go one by one.
- **NumPy, summed**: rows of equal reward are summed, and the rule gets the sums. On trees the
  summed rows also have equal length.
- **NumPy**: the rule gets every row.
- **refused**: the rule is not defined there. The error has the reason and an alternative.

NumPy takes several optimizer steps on one batch of samples (`steps_per_batch`). It also takes a
coefficient that is held by forecasts (`hold="forecast"`), summed where the rule allows it. The
compiled engine needs llvmlite (`pip install 'policy-entropy[fast]'`). If a long run goes to NumPy,
the reason is logged once.

The table also holds for another optimizer (`Sgd(momentum=...)`, `Adam`, `AdamW`) and for a sampler
that departs from the policy (`Dynamics(sampler=Sampler(...))`):

- A sampler may have a temperature, top-p, top-k, min-p, older steps, rounding and noise.
- Moments, and logits of earlier steps, count towards the 1,048,576.
- Top-p and top-k sort states of up to 1,024 actions. A sampler that rounds in single precision goes
  to NumPy.
- `natural-gradient` refuses a sampler, because it takes an expectation under the policy.
- `hold="forecast"` refuses Adam, because forecasts are linear in a coefficient and Adam's steps are
  not.
- AEPO's {term}`second batch` has its own temperature. All other settings of the sampler act on it, too.
- Rules get the sampler as `sampling_log_prob`, -inf where it never draws.

`engine="jax"` (`pip install 'policy-entropy[jax]'`) takes bandits and prompts by `jax.jit` of the
rule's own code, in double precision, on a GPU where JAX finds one. It refuses rules that ask for
values (`if`, `int`), samplers and optimizers. Compiling takes seconds, so "auto" never takes it.

`python -m tests.rules` makes this table, and a test keeps it true. Rules that are treated alike share a
row.
"""


def write(names: Collection[str]) -> None:
    """Write the page, and where the plainest steps of every case lead, anew for the rules of these names;
    of all rules where there are none."""
    of = {rule for rule, made in RULE_OF.items() if not names or made.name in names}
    PAGE.write_text(page({rule: row for rule, row in rows_of_page().items() if rule not in of}))
    golden = dict(np.load(GOLDEN))
    np.savez_compressed(GOLDEN, **{  # type: ignore[arg-type]
        case.name: plain(case) if case.rule in of else golden[case.name]
        for case in CASES if (not refusal(case) if case.rule in of else case.name in golden)})
