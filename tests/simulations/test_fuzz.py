"""Guards the readers of sweeps and stores against damaged files, and the engine's functions against
extreme numbers."""

from __future__ import annotations

import functools
import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import strategies as st

from entropy_theory import update_rules
from simulations.__main__ import main
from simulations.computing import cells, store
from simulations.engine import Dynamics, sampling, simulate
from simulations.engine.sampling import Samples
from simulations.problems import bandits, shared_parameters, token_trees
from simulations.sweeps import plan
from simulations.sweeps.file import read_sweep
from tests.fuzzing import (
    NOT_FINITE,
    Call,
    Palette,
    Reader,
    arrays,
    as_toml,
    command_status,
    ends_well,
    finite,
    fuzz,
    holds_of,
    holds_of_reader,
    numbers,
    ordinary,
    reader_tests,
    scalars,
    shares,
)

SWEEP = {
    "n_starts": 2, "seed": 3,
    "problem": {"kind": "bandit", "n_actions": 5, "scale": 1.5, "accuracies": [0.25, 0.5]},
    "features": {"kind": "coupled", "coupling": 0.5, "rank": 2},
    "rule": {"name": "aepo", "alpha": 0.5, "base": {"name": "grpo", "clip_high": 0.28},
             "towards": {"name": "shorter-responses", "per_token": 0.02}},
    "dynamics": {"steps": 40, "learning_rate": 0.5, "samples": {"group_size": 4},
                 "target_schedule": {"kind": "points", "points": [[0, 0.5], [20, 0.7]]}},
    "record": {"pass_at": [1, 2]},
    "grid": {"problem.n_correct": [1, 2], "rule.alpha": [0.25, 1.0]},
}


def as_sweep(document):
    """TOML whose grid has keys with dots, as users write them."""
    text = as_toml(document)
    for key in (b"problem.n_correct", b"rule.alpha"):
        text = text.replace(b'"%s"' % key, key)
    return text.replace(b'"alpha" = 0.5, ', b"").replace(b'"alpha" = 0.5\n', b"")


@functools.cache
def dataset():
    """The bytes of a small result."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.nc"
        store.save(xr.Dataset({"entropy": ("step", np.ones(4))}, attrs={
            "config_key": "k", "cell_steps": 4, "run_keys": '["a", "b"]'}), path, config=None, seed=0)
        return path.read_bytes()


def planned(path):
    """What a sweep finds kept in a folder."""
    sweep = Path(path.parent) / "sweep.toml"
    sweep.write_text('[rule]\nname = "grpo"\n[dynamics]\nsteps = 5\n')
    found = plan.plan(read_sweep(sweep), path.parent)
    return found.n_kept, found.updates


def stored_dataset(name, read, **further):
    return Reader(read=read, name=name, document=None, write=lambda _: dataset(), **further)


READERS = {
    "sweeps.file.read_sweep": Reader(
        read=read_sweep, name="sweep.toml", document=SWEEP, write=as_sweep,
        check=lambda sweep: [point.dynamics for point in sweep.points]),
    "computing.store.read": stored_dataset("result.nc", store.read),
    "computing.store.kept": stored_dataset(
        "result.nc", lambda path: store.kept(path, "k"), errors=()),
    "computing.cells.read_cell": stored_dataset("cell.nc", cells.read_cell, errors=()),
    "sweeps.plan.plan": stored_dataset("cells/cell.nc", planned, errors=()),
    "policy-entropy sweep": Reader(
        read=lambda path: command_status(
            lambda: main(["sweep", str(path), "--dry-run", "--output", str(path.parent / "out")])),
        name="sweep.toml", document=SWEEP, write=as_sweep, check=ends_well, errors=()),
}


(test_a_reader_takes_a_damaged_file_or_says_what_is_wrong,
 test_a_reader_takes_what_is_not_damaged) = reader_tests(READERS)


# ------------------------------------------------------------------ functions

RULES = [update_rules.get(name) for name in (
    "reinforce", "grpo", "aepo", "entropy-bonus", "clip-cov", "aent", "natural-gradient")]
some_numbers = st.one_of(st.integers(-3, 60), st.just(2**70))
options = scalars(Palette((1.0, 0.0, 0.5, -1.0, 1e-300, 1e300, *NOT_FINITE), -2.0, 12.0))


def simulated(logits, reward, rule, learning_rate, steps, samples):
    return simulate(logits, reward, Dynamics(
        rule=rule, learning_rate=learning_rate, steps=steps, engine="numpy", record_every=2,
        samples=Samples(group_size=2, tempered=2) if samples else None))


def is_trajectory(run, logits, **_):
    for name in ("entropy", "reward", "pass_at_k", "tail_entropy", "covariance", "final_logits"):
        assert np.isfinite(getattr(run, name)).all(), name
    most = math.log(logits.shape[-1]) * (1 + 1e-12)
    assert ((run.entropy >= 0) & (run.entropy <= most)).all()


def are_starts(found, problem, n_starts, seed):
    assert np.isfinite(found).all()
    assert len(found) == n_starts


def starts(problem, n_starts, seed):
    return problem["kind"](**problem["options"]).starts(n_starts, seed)


bandit = st.fixed_dictionaries({}, optional={
    "n_actions": some_numbers, "n_correct": some_numbers, "scale": options, "gap": options,
    "concentration": options, "family": st.sampled_from((*bandits.FAMILIES, "none")),
    "accuracies": st.lists(st.one_of(st.none(), scalars(shares)), max_size=2).map(tuple),
    "rewards": st.lists(options, max_size=4).map(tuple)})
tree = st.fixed_dictionaries({"n_tokens": st.integers(-1, 4), "horizon": st.integers(-1, 4)}, optional={
    "n_correct": st.integers(-1, 5), "scale": options, "end_token": st.booleans(),
    "placement": st.sampled_from((*token_trees.PLACEMENTS, "none")),
    "accuracies": st.lists(st.one_of(st.none(), scalars(shares)), max_size=2).map(tuple)})
problems = st.one_of(
    bandit.map(lambda found: {"kind": bandits.Bandit, "options": found}),
    tree.map(lambda found: {"kind": token_trees.TokenProblem, "options": found}))


def draws(result, probabilities, uniform):
    assert ((result >= 0) & (result < probabilities.shape[-1])).all()
    taken = np.take_along_axis(probabilities, result, axis=-1)
    assert (taken > 0).all()


CALLS = {
    "engine.simulate": Call(
        function=simulated, check=is_trajectory, nan=True,
        arguments=st.fixed_dictionaries({
            "logits": st.sampled_from(((1, 1, 3), (2, 2, 4), (1, 3), (0, 1, 2), (1, 1, 1))).flatmap(
                lambda shape: st.sampled_from((ordinary, finite, numbers)).flatmap(
                    lambda palette: arrays(shape, palette))),
            "reward": st.sampled_from(((3,), (4,), (1, 1, 3), (2, 2, 4), ())).flatmap(
                lambda shape: st.one_of(
                    arrays(shape, Palette((1.0, 0.0), 0.0, 1.0)),
                    arrays(shape, Palette((1.0, 0.0), 0.0, 1.0), dtypes=(np.bool_,)),
                    arrays(shape, numbers))),
            "rule": st.sampled_from(RULES), "learning_rate": options, "steps": st.integers(-1, 6),
            "samples": st.booleans()})),
    "problems.starts": Call(
        function=starts, check=are_starts, arguments=st.fixed_dictionaries({
            "problem": problems, "n_starts": st.integers(-1, 3), "seed": st.integers(-1, 2**40)})),
    "problems.shared_parameters.coupled_features": Call(
        function=shared_parameters.coupled_features, arguments=st.fixed_dictionaries({
            "n_states": st.integers(-1, 3), "n_actions": st.integers(-1, 4), "coupling": options,
            "between": st.sampled_from((*shared_parameters.COUPLINGS, "none")),
            "rank": st.integers(-1, 5), "seed": st.integers(-1, 9)})),
    "problems.shared_parameters.random_features": Call(
        function=shared_parameters.random_features, arguments=st.fixed_dictionaries({
            "n_states": st.integers(-1, 3), "n_actions": st.integers(-1, 4),
            "n_features": st.integers(-1, 5), "seed": st.integers(-1, 9)})),
    "engine.sampling.draw": Call(
        function=sampling.draw, check=draws, arguments=st.fixed_dictionaries({
            "probabilities": st.sampled_from(((1, 3), (1, 1), (1, 40))).flatmap(
                lambda shape: arrays(shape, Palette((1.0, 0.5, 0.0, 1e-300, 1e-16), 0.0, 1.0),
                                     dtypes=(np.float64,))).filter(
                lambda p: (p.sum(axis=-1) > 0).all()),
            "uniform": arrays((1, 4), Palette((0.0, 0.5, 1 - 2**-53), 0.0, 1 - 2**-53),
                              dtypes=(np.float64,))})),
    "engine.Dynamics": Call(
        function=lambda **given: Dynamics(rule=RULES[0], **given),
        arguments=st.fixed_dictionaries({}, optional={
            "learning_rate": options, "steps": some_numbers, "temperature": options,
            "steps_per_batch": some_numbers, "record_every": some_numbers, "tail": some_numbers,
            "seed": some_numbers, "first_run": some_numbers, "precision": st.sampled_from(
                ("float64", "float32", "float16")), "engine": st.sampled_from(("auto", "x"))}), nan=True),
}


@pytest.mark.deep
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("unchecked_shapes")
def test_a_function_answers_right_or_says_what_is_wrong(name):
    fuzz(CALLS[name].arguments, lambda arguments: holds_of(CALLS[name], arguments))


# Damages that fuzzing found, which were no error, the wrong one, or no end.
FOUND = [
    ("policy-entropy sweep", [("value", 183)] * 3),
    ("sweeps.plan.plan", [("byte", 168)]),
]


@pytest.mark.parametrize(("name", "damage"), FOUND)
def test_what_fuzzing_found(name, damage, tmp_path):
    holds_of_reader(READERS[name], damage, tmp_path / "files")
