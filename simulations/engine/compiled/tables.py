"""Tabulates update rules: each rule is asked once, and the compiled loops read its answers.

On a bandit where answers are right or wrong, a rule that declares to read rewards and weights alone
(`Needs.reads`) sees of a state's rows only how many were right. On samples that is a count, and the
table is a list. In exact expectation it is the share t of the right answers, or of the wrong ones where
they are fewer, so that nothing is lost at collapse: a function on [0, 1/2], which becomes a polynomial on
each of a power of two of cells an octave (powers of two from 1/2 down), with 0 apart. A table is checked
between its nodes. Probes confirm the declaration and, of this package's rules, that batches and states do
not affect each other and that options of runs do no more than scale. No declaration says this of a user's
rule, which is refused where it matters.

A table is an array [rows, cells + 1, coefficients], described at `polynomials`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.special import expit

from entropy_theory.reads import EVERYTHING, RATIO
from entropy_theory.update_rules import UpdateRule
from simulations.engine.block import RefusedError
from simulations.engine.declarations import UndeclaredError, extreme_runs, is_ours
from simulations.engine.pooled import Levels, Rows, coefficients
from simulations.engine.rows import token_batch
from simulations.engine.sampling import ORDINARY, TEMPERED

TOLERANCE = 1e-13
"""Allowed relative error of a table, and of the checks that a rule depends on what the table has."""
_DEGREE = 9
_OCTAVES = (64, 960)  # below 2^-64 most rules are constant; those that are not go all the way down
_SEED = 20251008


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """The kind of problem and of batch on which a rule is asked for its coefficients."""

    rule: UpdateRule
    values: tuple[float, float]
    """The rewards of right and of wrong answers."""
    n_runs: int
    n_states: int
    exact: bool
    """Whether states are listed; otherwise they are sampled."""
    ordinary: int
    """The number of rows of a state at temperature 1; a listing counts as 1, and 0 means none."""
    tempered: int
    """The number of rows of a state in the second batch."""
    temperatures: tuple[float, ...]
    """All temperatures at which rows of the second batch can be sampled."""
    one_run: Callable[[int], UpdateRule] = field(compare=False, repr=False)
    """A function from a run's number to the rule with its options cut to that run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tables:
    """The tables of one rule; on samples their second axis is the count of right answers."""

    ordinary: np.ndarray
    """The scores of ordinary rows. Exact: the score of a right answer minus that of a wrong one, where
    right answers are the fewer and where wrong ones are. Sampled: those of right and of wrong answers."""
    tempered: np.ndarray
    """The scores of tempered rows. Exact: those of right answers and of wrong ones, each in both cases.
    Sampled: as for ordinary rows."""
    bonus: np.ndarray
    """The coefficient of the entropy's gradient, by the ordinary rows."""
    scales: np.ndarray
    """The factors of the three tables, for options that are one a run: [runs, 3]."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The scores of ordinary and tempered rows [points, states, 2], and the entropy's coefficient."""

    ordinary: np.ndarray
    tempered: np.ndarray
    bonus: np.ndarray

    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the three arrays in order."""
        return self.ordinary, self.tempered, self.bonus


def tabulate(probe: Probe) -> Tables:
    """Make the tables of a rule; those of the package's own are cached where options can be hashed.

    Raises:
        RefusedError: a rule that depends on more than a table can hold.
    """
    if not is_ours(probe.rule):
        return _tabulate(probe)
    try:
        hash(probe)
    except TypeError:
        return _tabulate(probe)
    return _kept_tables(probe)


@lru_cache(maxsize=32)
def _kept_tables(probe: Probe) -> Tables:
    return _tabulate(probe)


def _tabulate(probe: Probe) -> Tables:
    _check_rule(probe)
    ask, table = (_ask_exact, _shares) if probe.exact else (_ask_sampled, _counts)
    try:
        scales, base = _scales(probe, ask)
        _check_separate(probe, ask)
        ordinary, tempered, bonus = (
            table(probe, probe.one_run(run), part) for part, run in enumerate(base))
    except UndeclaredError:
        raise
    except ValueError as error:
        raise RefusedError(f"it refuses such a batch: {error}") from error
    return Tables(ordinary=ordinary, tempered=tempered, bonus=bonus, scales=scales)


def polynomials(
    function: Callable[[np.ndarray], np.ndarray], rows: int
) -> np.ndarray:
    """Make tables of functions on [0, 1/2], as the compiled loops read them.

    Args:
        function: maps t [points] to values [rows, points].
        rows: number of functions.

    Returns:
        [rows, cells + 1, coefficients]. Cells count downwards from t = 1; a cell holds the
        coefficients of powers of v, which goes from -1 to 1 over the cell. The last cell holds the
        value at 0, the binary logarithm of the number of cells an octave, and the factor from the
        lower bits of t to v. Constant functions: one cell, the value.

    Raises:
        RefusedError: not smooth enough for a relative error of TOLERANCE.
    """
    points = np.concatenate([[0.0, 0.5], 0.5 ** np.linspace(1, _OCTAVES[1], 512)])
    values = function(points)
    if not np.isfinite(values).all():
        raise RefusedError("its coefficients are not finite everywhere")
    if np.all(np.abs(values - values[:, :1]) <= 1e-15 * np.abs(values[:, :1])):
        return np.ascontiguousarray(values[:, :1, None])
    far = 0.5 ** np.linspace(*_OCTAVES, 256)
    edge = function(np.array([0.5 ** _OCTAVES[0]]))
    is_flat = np.all(np.abs(function(far) - edge) <= 1e-15 * np.abs(edge))
    octaves = _OCTAVES[0] if is_flat else _OCTAVES[1]
    for per_octave in (2, 3, 4, 5, 6):
        table = _fit(function, rows, octaves, per_octave)
        t = _points(octaves, per_octave)
        expected = function(t)
        error = np.abs(_read(table, t) - expected)
        # Right and wrong answers' scores of one side are differences of numbers of one size.
        size = np.abs(expected)
        beside = np.maximum(size, np.roll(size, 2, axis=0)) if rows == 4 else size
        if np.all(error <= TOLERANCE * size + 1e-15 * beside):
            return table
    raise RefusedError("its coefficients are not smooth enough for a table")


def _fit(
    function: Callable[[np.ndarray], np.ndarray], rows: int, octaves: int, per_octave: int
) -> np.ndarray:
    """Interpolate at the Chebyshev nodes of each cell."""
    size = 1 << per_octave
    n = _DEGREE + 1
    nodes = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    # Cells from 1 downwards: the octave of cell c is 2^-(c // size + 1), its place counts back.
    cell = np.arange(octaves * size)
    exponent = -(cell // size + 1).astype(float)
    place = (size - 1 - cell % size)[:, None] + (nodes + 1) / 2
    t = 2.0 ** exponent[:, None] * (1 + place / size)
    # Beyond 1/2 the other side's table is asked: cells there are never read, but must be finite.
    values = function(np.minimum(t, 0.5).ravel()).reshape(rows, *t.shape)
    to_powers = np.linalg.inv(np.vander(nodes, increasing=True))
    table = np.zeros((rows, len(cell) + 1, n))
    table[:, :-1] = values @ to_powers.T
    table[:, -1, 0] = function(np.zeros(1))[:, 0]
    table[:, -1, 1] = per_octave
    table[:, -1, 2] = 2.0 ** (1 - (52 - per_octave))
    return table


def _read(table: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return what the compiled loops read, [rows, points], for t in (0, 1/2]."""
    per_octave = int(table[0, -1, 1])
    drop = 52 - per_octave
    bits = t.view(np.int64)
    cell = (0x3FF0000000000000 >> drop) - 1 - (bits >> drop)
    v = (bits & ((1 << drop) - 1)) * table[0, -1, 2] - 1
    value = np.zeros((len(table), len(t)))
    for power in range(table.shape[2] - 1, -1, -1):
        value = value * v + table[:, cell, power]
    return value


def _points(octaves: int, per_octave: int) -> np.ndarray:
    """Return random points, four in every cell up to 1/2, and the ends."""
    size = 4 << per_octave
    generator = np.random.default_rng(_SEED)
    place = (np.arange(size) // 4 + generator.random((octaves - 1, size))) / (size // 4)
    t = 0.5 ** np.arange(2, octaves + 1)[:, None] * (1 + place)
    return np.concatenate([[0.5], np.minimum(t, 0.5).ravel()])


def _shares(probe: Probe, rule: UpdateRule, part: int) -> np.ndarray:
    """Make a part of the tables in exact expectation."""
    rows = 4 if part == 1 else 2
    if (probe.tempered if part == 1 else probe.ordinary) == 0:
        return np.zeros((rows, 1, 3))

    def function(t: np.ndarray) -> np.ndarray:
        found = []
        for right, wrong in ((t, 1 - t), (1 - t, t)):
            share = np.stack([right, wrong], axis=-1)[:, None]
            half = np.full_like(share, 0.5)
            shares = (half, share) if part == 1 else (share, half)
            found.append(_ask_exact(probe, rule, shares).parts()[part][:, 0])
        few, many = found
        if part == 0:
            return np.stack([few[:, 0] - few[:, 1], many[:, 0] - many[:, 1]])
        if part == 1:
            return np.stack([few[:, 0], many[:, 0], few[:, 1], many[:, 1]])
        return np.stack([few, many])

    return polynomials(function, rows)


def _counts(probe: Probe, rule: UpdateRule, part: int) -> np.ndarray:
    """Make a part of the tables on samples."""
    size = probe.tempered if part == 1 else probe.ordinary
    if size == 0:
        return np.zeros((2, 1, 1))
    right = np.arange(size + 1)[:, None]
    none = np.zeros_like(right)
    counts = (none, right) if part == 1 else (right, none)
    values = _ask_sampled(probe, rule, counts).parts()[part][:, 0]
    return np.ascontiguousarray(np.atleast_2d(values.T)[..., None])


def _ask_exact(
    probe: Probe, rule: UpdateRule, shares: tuple[np.ndarray, np.ndarray], seed: int = 0
) -> ProbeResult:
    """Ask the rule about shares of right and wrong answers, [points, states, 2] of each batch."""
    levels = Levels(values=probe.values, masks=())
    kinds = {
        kind: Rows(share=share, by_level=share, exact=True)
        for kind, share, present in (
            (ORDINARY, shares[0], probe.ordinary), (TEMPERED, shares[1], probe.tempered))
        if present
    }
    found = coefficients(
        rule, levels, kinds, temperature=_temperatures(probe, len(shares[0]), seed))
    scores = dict(zip(kinds, found.scores, strict=True))
    nothing = np.zeros(shares[0].shape)
    return ProbeResult(
        scores.get(ORDINARY, nothing), scores.get(TEMPERED, nothing),
        _bonus(found.terms, nothing[..., :1])[..., 0],
    )


def _ask_sampled(
    probe: Probe, rule: UpdateRule, counts: tuple[np.ndarray, np.ndarray], seed: int = 0
) -> ProbeResult:
    """Ask the rule about counts of right answers, [points, states] of each batch, row by row.

    The rows are drawn actions of random policies, so that every column has realistic values.
    """
    generator = np.random.default_rng([_SEED, seed])
    points, states = counts[0].shape
    logits = generator.normal(size=(points, states, 4))
    reward = np.array([probe.values[0]] * 2 + [probe.values[1]] * 2)
    sizes = (probe.ordinary, probe.tempered)
    is_right = [np.arange(size) < count[..., None]
                for size, count in zip(sizes, counts, strict=True)]
    actions = [2 * ~right + generator.integers(0, 2, size=right.shape) for right in is_right]
    batch = token_batch(
        logits, reward,
        ordinary=probe.ordinary > 0,
        temperature=_temperatures(probe, points, seed),
        draws={kind: drawn for kind, drawn in zip((ORDINARY, TEMPERED), actions, strict=True)
               if drawn.shape[-1]},
    )
    n_rows = batch.mask.shape[-2]
    sequence = np.arange(points)[:, None, None] * n_rows + np.arange(n_rows)[:, None]
    batch = rule.prepare(batch.replace(
        sequence=np.broadcast_to(sequence, batch.mask.shape)))
    scores = rule.scores(batch)[..., 0]
    cut = states * probe.ordinary
    by_kind = []
    for right, part in zip(is_right, (scores[:, :cut], scores[:, cut:]), strict=True):
        values = part.reshape(right.shape)
        if not values.size:
            by_kind.append(np.zeros((points, states, 2)))
            continue
        by_reward = []
        for chosen in (right, ~right):
            size = chosen.sum(axis=-1)
            mean = np.where(chosen, values, 0).sum(axis=-1) / np.maximum(size, 1)
            if not _close(np.where(chosen, values, mean[..., None]),
                          np.broadcast_to(mean[..., None], values.shape)):
                raise UndeclaredError(
                    f"update rule '{rule.name}' declares that its coefficients depend on "
                    f"{', '.join(sorted(rule.needs.reads)) or 'rewards alone'}, but rows of equal reward "
                    "have different scores: declare what else it reads")
            by_reward.append(mean)
        by_kind.append(np.stack(by_reward, axis=-1))
    weighted = {}
    for name, term in rule.state_terms(batch).items():
        total = states * (batch.weight * term)[..., 0]
        weighted[name] = sum(
            part.reshape(points, states, size).sum(axis=-1)
            for part, size in zip((total[:, :cut], total[:, cut:]), sizes, strict=True) if size)
    return ProbeResult(by_kind[0], by_kind[1], _bonus(weighted, np.zeros((points, states))))


def _temperatures(probe: Probe, points: int, seed: int) -> np.ndarray | None:
    """Return the first temperature, or with a seed any of those that can occur: [points]."""
    if not probe.tempered:
        return None
    if seed == 0:
        return np.full(points, probe.temperatures[0])
    return np.random.default_rng([_SEED, seed]).choice(probe.temperatures, size=points)


def _bonus(terms: dict[str, np.ndarray], nothing: np.ndarray) -> np.ndarray:
    if set(terms) - {"entropy"}:
        raise RefusedError(f"it has the state terms {', '.join(sorted(terms))}")
    return terms.get("entropy", nothing)


def _random(
    probe: Probe, generator: np.random.Generator, points: int, states: int,
    same: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw shares or counts of both batches; with ``same`` the same ones at every point."""
    shape = (1 if same else points, states)
    found = []
    for size in (probe.ordinary, probe.tempered):
        if probe.exact:
            odds = generator.normal(scale=4, size=shape)
            # Some states all right or all wrong, in fact or nearly: groups without a signal.
            ends = generator.choice([-np.inf, -60.0, 60.0, np.inf], size=shape)
            odds = np.where(generator.random(shape) < 0.3, ends, odds)
            share = np.stack([expit(odds), expit(-odds)], axis=-1)
            found.append(np.broadcast_to(share, (points, states, 2)))
        else:
            count = generator.integers(0, size + 1, size=shape)
            found.append(np.broadcast_to(count, (points, states)))
    return found[0], found[1]


def _scales(
    probe: Probe, ask: Callable[..., ProbeResult]
) -> tuple[np.ndarray, list[int]]:
    """Return the factors of the rule's answers in each run, [runs, 3], and the runs with factor 1."""
    n_runs = probe.n_runs
    generator = np.random.default_rng(_SEED)
    rows = [_random(probe, generator, n_runs, 1, same=True) for _ in range(8)]
    answers = [ask(probe, probe.rule, each).parts() for each in rows]
    scales, base = np.ones((n_runs, 3)), []
    for part in range(3):
        values = np.stack([answer[part].reshape(n_runs, -1) for answer in answers], axis=1)
        values = values.reshape(n_runs, -1)
        size = np.abs(values).max(axis=-1)
        run = int(size.argmax())
        base.append(run)
        if size[run] == 0:
            continue
        column = int(np.abs(values[run]).argmax())
        scale = values[:, column] / values[run, column]
        if not _close(values, scale[:, None] * values[run]):
            raise RefusedError("its options of different runs do more than scale it")
        scales[:, part] = np.where(np.abs(scale - 1) < 1e-15, 1.0, scale)
    return scales, base


def _check_rule(probe: Probe) -> None:
    """Check that the coefficients are functions of rewards and weights, by what the rule declares."""
    rule = probe.rule
    seen = rule.needs.reads - {RATIO}  # (Every step has a batch of its own, so that ratios are 1.)
    if probe.exact and rule.needs.pools:
        seen &= {"step", "seed"}  # (The promise is about rows, not about the run.)
    elif not probe.exact:
        seen -= {"rows"}  # (A table is for one group size.)
    if seen:
        raise RefusedError(
            "it declares nothing it reads, so that its coefficients may depend on anything"
            if seen >= EVERYTHING - {RATIO, "rows"}
            else f"its coefficients depend on {', '.join(sorted(seen))}, not on rewards alone")
    if probe.exact and not rule.needs.pools:
        raise RefusedError("it says that rows of equal reward may not be pooled")
    if rule.coefficient_controller() is not None:
        raise RefusedError("it adapts a coefficient from step to step")
    if rule.needs.removed_fraction:
        raise RefusedError("it clamps the entropy")
    if not is_ours(rule):
        _check_alone(probe)


def _check_alone(probe: Probe) -> None:
    """Refuse to tell from probes what no declaration says of a user's rule: they may miss a case."""
    if probe.n_states > 1:
        raise RefusedError("a user's rule may compare the states of a run with each other")
    if (probe.ordinary and probe.tempered) or len(probe.temperatures) > 1:
        raise RefusedError("a user's rule may compare the two batches, or look at the temperature")
    if len(extreme_runs(probe.rule, probe.n_runs)) > 1:
        raise RefusedError("options of a user's rule that are one a run may do more than scale it")


def _check_separate(probe: Probe, ask: Callable[..., ProbeResult]) -> None:
    """Check that ordinary and tempered rows, states and policies do not affect each other."""
    generator = np.random.default_rng(_SEED + 1)
    rule, points = probe.one_run(0), 64
    ordinary, tempered = _random(probe, generator, points, probe.n_states)
    others = _random(probe, generator, points, probe.n_states)
    together = ask(probe, rule, (ordinary, tempered), 1)
    first = ask(probe, rule, (ordinary, others[1]), 2)
    second = ask(probe, rule, (others[0], tempered), 3)
    if not (_close(together.ordinary, first.ordinary) and _close(together.bonus, first.bonus)
            and _close(together.tempered, second.tempered)):
        raise RefusedError("it compares the two batches, or its scores depend on the temperature")
    for state in range(probe.n_states if probe.n_states > 1 else 0):
        one = slice(state, state + 1)
        alone = ask(probe, rule, (ordinary[:, one], tempered[:, one]), 4)
        for whole, part in zip(together.parts(), alone.parts(), strict=True):
            if not _close(whole[:, one], part):
                raise RefusedError("it compares the states of a run with each other")


def _close(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether scores [..., 2], or coefficients [...], agree to rounding."""
    size = np.maximum(np.abs(x), np.abs(y))
    if x.ndim == 3:
        size = size.max(axis=-1, keepdims=True)
    return bool(np.all(np.abs(x - y) <= 1e-12 * size))
