"""Sweeps: what a file means, what is computed and what is kept, on processes and on a Dask cluster."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from entropy_theory.update_rules import get
from simulations.__main__ import main
from simulations.computing.cells import Keeper, outcomes
from simulations.computing.cluster import dask_cluster
from simulations.computing.workers import Failure, in_this_process, local_processes
from simulations.engine import Dynamics, simulate
from simulations.engine.optimizer import Adam, AdamW, Sgd
from simulations.engine.sampler import Sampler
from simulations.problems import Bandit
from simulations.problems.shared_parameters import coupled_features
from simulations.sweeps import sweep
from simulations.sweeps.file import read_sweep
from simulations.sweeps.plan import plan
from tests.simulations import counting_cells
from tests.simulations.test_store import ROOT, wait_until, without_time
from tests.user_files import HALF

SAMPLED = """\
n_starts = 2

[problem]
n_actions = 6

[rule]
name = "aepo"
base = { name = "grpo", clip_high = 0.28 }

[dynamics]
steps = 40
record_every = 10
samples = { group_size = 4 }

[grid]
problem.n_correct = [1, 3]
rule.target = [0.25, 1.0]
rule.base.estimator = ["group-normalized", "group-centered"]
dynamics.learning_rate = [0.1, 0.5]
"""


@pytest.fixture
def write(tmp_path):
    def written(text, name="mine"):
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        return path

    return written


def test_a_sweep_is_what_single_runs_give(write, tmp_path):
    """Every axis in its place, batched or not: each curve is that of its own problem and options."""
    found = read_sweep(write(SAMPLED.replace("samples = { group_size = 4 }", "")))
    dataset, lost = sweep.compute(found, tmp_path)
    assert not lost
    assert dataset.entropy.dims == (
        "n_correct", "target", "estimator", "learning_rate", "start", "step")
    assert dataset.entropy.shape == (2, 2, 2, 2, 2, 5)
    for n_correct, target, estimator, rate, start in (
        (1, 0.25, "group-centered", 0.5, 1), (3, 1.0, "group-normalized", 0.1, 0),
        (3, 1.0, "group-centered", 0.5, 1), (3, 0.25, "group-centered", 0.1, 1),
    ):
        problem = Bandit(n_actions=6, n_correct=n_correct)
        rule = get("aepo", target=target, base=get("grpo", clip_high=0.28, estimator=estimator))
        dynamics = Dynamics(rule=rule, learning_rate=rate, steps=40, record_every=10)
        run = simulate(problem.starts(2, 0)[start : start + 1], problem.correct, dynamics)
        one = dataset.sel(n_correct=n_correct, target=target, estimator=estimator,
                          learning_rate=rate, start=start)
        # The same arithmetic on arrays of another shape, where sums may be taken in another order.
        np.testing.assert_allclose(one.entropy, run.entropy[:, 0], rtol=1e-10)
        np.testing.assert_allclose(one.reward, run.reward[:, 0], rtol=1e-10)
        np.testing.assert_allclose(one.tail_entropy, run.tail_entropy[0], rtol=1e-10)
        np.testing.assert_array_equal(one.temperature, run.temperature[:, 0])
    np.testing.assert_array_equal(dataset.step, [0, 10, 20, 30, 40])


def test_seeds_share_a_call_only_where_nothing_else_is_random(write, tmp_path):
    text = SAMPLED + "seed = [0, 1]\n"
    sampled = plan(read_sweep(write(text)), tmp_path)
    exact = plan(read_sweep(write(text.replace("samples", "#"))), tmp_path)
    assert len(sampled.cells) == 8
    assert len(exact.cells) == 4
    assert {seed for seed, _ in exact.cells[0].starts} == {0, 1}
    assert all(len({seed for seed, _ in cell.starts}) == 1 for cell in sampled.cells)
    noisy = text.replace("samples = { group_size = 4 }", "sampler = { noise = 0.1 }")
    assert all(len({seed for seed, _ in cell.starts}) == 1
               for cell in plan(read_sweep(write(noisy)), tmp_path).cells)


def test_samplers_and_optimizers_are_tables_of_the_dynamics(write, tmp_path):
    """In the grid too, whole or by option; each is the Python call with the same records."""
    text = """
n_starts = 2
[rule]
name = "grpo"
[dynamics]
steps = 20
learning_rate = 0.05
sampler = { top_p = 0.95, rounding = "bfloat16" }
[grid]
dynamics.sampler.temperature = [0.7, 1.3]
dynamics.optimizer = [{ kind = "adam", betas = [0.8, 0.9] }, { kind = "adamw", eps = 1e-6 }, {}]
"""
    dataset, lost = sweep.compute(read_sweep(write(text)), tmp_path)
    assert not lost
    for k, optimizer in enumerate((Adam(betas=(0.8, 0.9)), AdamW(eps=1e-6), Sgd())):
        run = simulate(Bandit().starts(2, 0), Bandit().correct, Dynamics(
            rule=get("grpo"), steps=20, learning_rate=0.05, optimizer=optimizer,
            sampler=Sampler(top_p=0.95, rounding="bfloat16", temperature=1.3)))
        np.testing.assert_allclose(
            dataset.entropy.isel(optimizer=k).sel(dynamics_sampler_temperature=1.3), run.entropy.T,
            rtol=1e-10)


def test_rules_problems_and_seeds_as_axes(write, tmp_path):
    found = read_sweep(write("""
[[problem]]
label = "easy"
accuracies = [0.9]
[[problem]]
label = "hard"
accuracies = [0.1, 0.2]
[[rule]]
name = "grpo"
[[rule]]
label = "bonus"
name = "entropy-bonus"
coefficient = 0.5
[grid]
seed = [3, 4]
dynamics.samples = ["none", { group_size = 4 }]
dynamics.steps = [20, 30]
"""))
    dataset, lost = sweep.compute(found, tmp_path)
    assert not lost
    assert dict(dataset.sizes) == {
        "problem": 2, "rule": 2, "seed": 2, "samples": 2, "steps": 2, "start": 1, "step": 3, "k": 1}
    assert list(dataset.rule.values) == ["grpo", "bonus"]
    assert list(dataset.samples.values) == ["none", '{"group_size": 4}']
    first = dataset.reward.isel(step=0)
    np.testing.assert_allclose(first.sel(problem="easy"), 0.9)
    np.testing.assert_allclose(first.sel(problem="hard"), 0.15)
    shorter = dataset.entropy.sel(steps=20)
    assert shorter.sel(step=20).notnull().all()
    assert shorter.sel(step=30).isnull().all()
    assert dataset.entropy.sel(steps=30).notnull().all()
    bonus, grpo = (dataset.entropy.sel(steps=30, step=30, rule=name) for name in ("bonus", "grpo"))
    assert (bonus > grpo).all()
    seeds = dataset.entropy.isel(step=0, start=0, steps=0, samples=0, rule=0)
    assert np.all(seeds.sel(seed=3) != seeds.sel(seed=4))


def test_graded_rewards_and_token_problems(write, tmp_path):
    text = """
[[problem]]
label = "graded"
n_actions = 5
rewards = [0.5, 1.0]
[[problem]]
label = "tokens"
kind = "tokens"
horizon = 3
accuracies = [0.2]
[rule]
name = "grpo"
[dynamics]
steps = 60
learning_rate = 2.0
"""
    dataset, lost = sweep.compute(read_sweep(write(text)), tmp_path)
    assert not lost
    first, last = dataset.isel(step=0, start=0), dataset.isel(step=-1, start=0)
    logits = Bandit(n_actions=5).starts(1, 0)[0, 0]
    probabilities = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(
        first.reward.sel(problem="graded"), probabilities[:2] @ [0.5, 1.0])
    np.testing.assert_allclose(first.reward.sel(problem="tokens"), 0.2)
    assert (last.reward > first.reward + 0.2).all()
    assert float(first.response_length.sel(problem="tokens")) > 1


def test_shared_parameters_moving_targets_and_shorter_responses(write, tmp_path):
    """Each as the Python call with the same options."""
    path = write("""
n_starts = 2
[problem]
n_actions = 6
n_correct = 3
[features]
rank = 2
[rule]
name = "aepo"
[dynamics]
steps = 30
[grid]
features.coupling = [0.0, 0.6]
dynamics.target_schedule = [{ points = [[0, 0.2], [15, 1.2]] }, { kind = "sine", period = 20 }]
""")
    dataset, lost = sweep.compute(read_sweep(path), tmp_path)
    assert not lost
    problem = Bandit(n_actions=6, n_correct=3)
    for k, schedule in enumerate((lambda t: 0.2 + min(t / 15, 1), lambda t: 0.5 + 0.25 * np.sin(
            2 * np.pi * t / 20))):
        run = simulate(
            problem.starts(2, 0), problem.correct,
            Dynamics(rule=get("aepo"), steps=30, target_schedule=schedule),
            features=coupled_features(1, 6, 0.6, rank=2))
        one = dataset.isel(target_schedule=k).sel(coupling=0.6)
        np.testing.assert_allclose(one.entropy, run.entropy.T, rtol=1e-12)
        np.testing.assert_array_equal(one.temperature, run.temperature.T)
    assert (dataset.entropy.sel(coupling=0.0) != dataset.entropy.sel(coupling=0.6)).sel(step=30).all()
    tokens = write("""
[problem]
kind = "tokens"
n_correct = 8
placement = "every length"
[rule]
name = "aepo"
alpha = 2.0
towards = { name = "shorter-responses" }
[dynamics]
steps = 60
learning_rate = 4.0
[grid]
rule.towards.per_token = [-2.0, 2.0]
""", "tokens")
    dataset, lost = sweep.compute(read_sweep(tokens), tmp_path)
    longer, shorter = dataset.response_length.isel(step=-1, start=0)
    assert shorter < longer - 0.1


def test_a_combination_that_is_not_defined_is_refused_when_read(write):
    with pytest.raises(ValueError, match="'natural-gradient' is defined here for independent logits"):
        read_sweep(write('[rule]\nname = "natural-gradient"\n[features]\ncoupling = 0.1\n'))


def test_an_axis_gets_its_whole_path_where_its_name_is_taken(write, tmp_path):
    text = """
[rule]
name = "entropy-bonus"
[dynamics]
steps = 5
[grid]
rule.coefficient = [0.0, 0.1]
"""
    dataset, _ = sweep.compute(read_sweep(write(text)), tmp_path)
    assert dataset.entropy.dims[0] == "rule_coefficient"
    assert dataset.rule_coefficient.attrs["long_name"] == "rule.coefficient"


def test_adding_to_an_axis_runs_only_what_is_new(write, tmp_path):
    """Keyed by config, run by run: what was there is as it was, and new samples are new."""
    first, _ = sweep.compute(read_sweep(write(SAMPLED)), tmp_path)
    wider = read_sweep(write(SAMPLED.replace("[0.25, 1.0]", "[0.25, 0.5, 1.0]")))
    todo = plan(wider, sweep.cells_of(wider, tmp_path))
    assert todo.n_kept == 32
    assert len(todo.runs) == 48
    assert [len(cell.starts) for cell in todo.cells] == [4] * 4
    assert all(cell.dynamics.first_run >= 2**32 for cell in todo.cells)
    second, _ = sweep.compute(wider, tmp_path)
    xr.testing.assert_identical(
        first.drop_attrs(), second.sel(target=[0.25, 1.0]).drop_attrs())
    assert second.entropy.notnull().all()
    back = plan(read_sweep(write(SAMPLED)), sweep.cells_of(wider, tmp_path))
    assert not back.cells


@pytest.mark.deep
def test_results_do_not_depend_on_the_number_of_workers(write, tmp_path):
    found = read_sweep(write(SAMPLED))
    datasets = []
    for folder, backend in (("a", in_this_process), ("b", local_processes(2))):
        total = []
        dataset, lost = sweep.compute(found, tmp_path / folder, backend, progress=total.append)
        assert not lost
        assert sum(total) == plan(found, tmp_path / "none").updates
        datasets.append(dataset)
    xr.testing.assert_identical(*(without_time(dataset) for dataset in datasets))


def test_runs_that_diverge_are_named_and_the_others_kept(write, tmp_path, capsys):
    path = write("""
n_starts = 2
[problem]
n_actions = 4
[rule]
name = "entropy-bonus"
coefficient = 1e10
[dynamics]
steps = 30
[grid]
dynamics.learning_rate = [1e-11, 1e300, 2e-11]
""")
    arguments = ["sweep", str(path), "--output", str(tmp_path), "--jobs", "1"]
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert "dynamics.learning_rate = 1e+300, start 0, 1: the logits diverged" in " ".join(
        said.err.split())
    assert "runs without a result: 2" in said.out
    dataset = xr.load_dataset(tmp_path / "mine.nc", engine="scipy")
    assert dataset.entropy.sel(learning_rate=1e300).isnull().all()
    assert dataset.entropy.sel(learning_rate=[1e-11, 2e-11]).notnull().all()
    rows = (tmp_path / "mine.csv").read_text().splitlines()
    assert rows[0].startswith("learning_rate,runs,lost,entropy_mean,entropy_std,reward_mean")
    assert rows[2].split(",")[:4] == ["1e+300", "2", "2", ""]
    final = dataset.entropy.isel(step=-1, learning_rate=0)
    np.testing.assert_allclose(float(rows[1].split(",")[3]), float(final.mean()), rtol=1e-5)
    np.testing.assert_allclose(float(rows[1].split(",")[4]), float(final.std(ddof=1)), rtol=1e-5)
    changed = (tmp_path / "mine.nc").stat().st_mtime_ns
    assert main(arguments) == 1, "the loss is reported each time"
    assert (tmp_path / "mine.nc").stat().st_mtime_ns == changed


def test_the_summary_is_the_same_when_the_sweep_is_read_from_its_file(write, tmp_path):
    """Its coordinates are then in another order, and a line had the numbers of another one."""
    path = write("""
[[rule]]
name = "reinforce"
[[rule]]
name = "grpo"
[dynamics]
steps = 3
[grid]
problem.n_actions = [3, 4, 5]
""")
    sweep.compute(read_sweep(path), tmp_path)
    first = (tmp_path / "mine.csv").read_text()
    assert first.startswith("rule,n_actions,runs")
    (tmp_path / "mine.csv").unlink()
    sweep.compute(read_sweep(path), tmp_path)
    assert (tmp_path / "mine.csv").read_text() == first


def test_a_cell_lost_to_its_process_is_tried_again_next_time(write, tmp_path):
    found = read_sweep(write(SAMPLED))

    def flaky(function, cells, progress):
        for place, outcome in in_this_process(function, cells, progress):
            yield place, Failure(kind="died", message="killed") if place == 1 else outcome

    dataset, lost = sweep.compute(found, tmp_path, flaky)
    assert [one.message for one in lost] == ["killed"]
    assert len(lost[0].runs) == 8
    assert int(dataset.tail_entropy.isnull().sum()) == 8
    told = []
    dataset, lost = sweep.compute(
        found, tmp_path, planned=lambda todo: told.append(len(todo.cells)))
    assert told == [1]
    assert not lost
    assert dataset.entropy.notnull().all()


@pytest.mark.deep
def test_a_seed_on_the_command_line_takes_the_place_of_the_files(write, tmp_path, capsys):
    """A seed that is not used, or that throws away what was computed at another."""
    seeded = write("seed = 3\n" + SAMPLED, "seeded")
    assert read_sweep(write(SAMPLED), 3).points == read_sweep(seeded).points
    with pytest.raises(ValueError, match="goes over seeds of its own: leave --seed 3 out"):
        read_sweep(write(SAMPLED + "seed = [0, 1]\n", "both"), 3)
    arguments = ["sweep", str(write(SAMPLED)), "--output", str(tmp_path), "--jobs", "1"]
    entropy = []
    for seed in ("0", "3", "0"):
        assert main([*arguments, "--seed", seed, "--json", "-"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["lost"] == []
        dataset = xr.load_dataset(found["file"], engine="scipy")
        assert json.loads(dataset.attrs["provenance"])["seed"] == int(seed)
        entropy.append(dataset.entropy.values)
    assert (entropy[0] == entropy[2]).all()
    assert (entropy[0] != entropy[1]).any()
    assert main([*arguments, "--seed", "3", "--dry-run", "--json", "-"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert (planned["runs"], planned["kept"], planned["cells"]) == (32, 32, [])


def test_a_dry_run_says_what_there_is_to_do_and_does_nothing(write, tmp_path, capsys):
    path = write(SAMPLED)
    arguments = ["sweep", str(path), "--output", str(tmp_path / "out")]
    assert main([*arguments, "--dry-run", "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    assert said.count("\ncell ") == 4
    assert "32 runs, 0 of them kept; 7.7e+03 logit updates in 4 cells, about" in said
    assert not (tmp_path / "out").exists()


def test_what_a_sweep_cannot_do_is_said_before_it_begins(write, tmp_path, capsys):
    """By a dry run as well, and without a progress bar before the error."""
    path = write(SAMPLED)
    with pytest.raises(ValueError, match="jobs must be at least 1, got 0"):
        main(["sweep", str(path), "--jobs", "0", "--dry-run"])
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file is a file, and must be a folder"):
        main(["sweep", str(path), "--output", str(tmp_path / "file")])
    assert capsys.readouterr() == ("", "")


def test_features_that_no_memory_holds_are_refused_in_their_place(write):
    path = write(SAMPLED.replace("n_actions = 6", "n_actions = 60000\n[features]\ncoupling = 0.2"))
    with pytest.raises(ValueError, match=r"mine.toml.* \[features\]: .* GB, more than half .* use fewer"):
        read_sweep(path)


def test_a_missing_file_and_a_missing_cluster_are_errors_of_one_line(write, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"no such file: .*: name a sweep file"):
        main(["sweep", str(tmp_path / "no.toml")])
    path = write(SAMPLED)
    with pytest.raises(ValueError, match="leave it out with --cluster"):
        main(["sweep", str(path), "--jobs", "2", "--cluster", "tcp://127.0.0.1:1"])
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"pip install 'policy-entropy\[cluster\]'"):
        main(["sweep", str(path), "--cluster", "tcp://127.0.0.1:1"])


class DaskCluster:
    """A scheduler and workers as processes of their own, to be killed."""

    def __init__(self, folder):
        self.file = folder / "scheduler.json"
        self.processes = []
        self.start("scheduler", "--port", "0")
        wait_until(self.file.exists)

    def start(self, kind, *options):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", kind, "--scheduler-file", str(self.file),
             "--host", "127.0.0.1", "--no-dashboard", *options],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    def worker(self):
        return self.start("worker", "--no-nanny", "--nthreads", "1")

    def running(self):
        return [process for process in self.processes[1:] if process.poll() is None]

    def wait_for_workers(self):
        """On a busy machine one may have done all work before the other is there."""
        from distributed import Client

        with Client(self.address) as client:
            client.wait_for_workers(len(self.running()), timeout=120)

    @property
    def address(self):
        return json.loads(self.file.read_text())["address"]

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    pytest.importorskip("distributed")
    found = DaskCluster(tmp_path_factory.mktemp("dask"))
    yield found
    found.close()


@pytest.mark.deep
def test_a_cluster_that_loses_a_worker_loses_nothing(tmp_path, dask):
    """SIGKILL of a worker at its work: every cell has its result, and what was kept is not redone."""
    log, folder = tmp_path / "log", tmp_path / "cells"
    cells = counting_cells.cells(log, 10, 0.3, cell_7="error")
    while len(dask.running()) < 2:
        dask.worker()
    dask.wait_for_workers()
    workers = dask.running()
    victim, kept_then, steps, found = None, [], [], {}
    keeper = Keeper(folder=folder, backend=dask_cluster(dask.address))
    for place, outcome in outcomes(counting_cells.compute, cells, keeper, steps.append):
        found[place] = outcome
        at_work = {int(path.name.split(".")[2]) for path in log.glob("*.begin.*")}
        if victim is None and len(found) >= 3 and len(at_work) == 2:
            kept_then = list(found)
            victim = next(worker for worker in workers if worker.pid in at_work)
            os.kill(victim.pid, signal.SIGKILL)
    assert victim is not None, "one worker did everything"
    assert sorted(found) == list(range(10))
    failures = {place: outcome for place, outcome in found.items() if isinstance(outcome, Failure)}
    assert list(failures) == [7], failures
    assert "cell 7 cannot be computed" in found[7].message
    times = counting_cells.finished(log)
    assert all(times.count(place) == 1 for place in kept_then if place != 7)
    assert set(times) == set(range(10)) - {7}
    # At most what the victim had finished or had in hand is computed again.
    assert len(times) <= 9 + 2
    assert sum(steps) == 90

    # The same cells once more: all are read, none is computed, but for the one that failed.
    again = Keeper(folder=folder, backend=in_this_process)
    rest = [cell for cell in cells if cell.number != 7]
    second = dict(outcomes(counting_cells.compute, rest, again, lambda steps: None))
    assert counting_cells.finished(log) == times
    for place, cell in enumerate(rest):
        xr.testing.assert_identical(second[place], found[cell.number])
        np.testing.assert_array_equal(
            found[cell.number].x, np.random.default_rng(cell.number).normal(size=5))


def test_a_cluster_that_is_not_there_is_an_error_that_says_what_to_do(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("simulations.computing.cluster.PATIENCE_SECONDS", 0.5)
    with pytest.raises(OSError, match=r"no Dask scheduler answers at 'tcp://127.*dask worker"):
        list(dask_cluster("tcp://127.0.0.1:9")(counting_cells.compute, [], print))


def test_a_rule_of_ones_own_runs_in_worker_processes_until_its_file_changes(
    write, tmp_path, monkeypatch
):
    """Half of GRPO's scores are GRPO at half the learning rate."""
    (tmp_path / "own.py").write_text(HALF)
    monkeypatch.chdir(tmp_path)
    path = write("""
[dynamics]
steps = 5
[[rule]]
name = "own.py:Half"
[[rule]]
label = "as a base"
name = "entropy-bonus"
coefficient = 0.0
base = { name = "own.py:Half", factor = 0.25 }
[grid]
dynamics.learning_rate = [0.1, 0.2]
""")
    found = read_sweep(path)
    dataset, lost = sweep.compute(found, tmp_path, local_processes(1))
    assert not lost
    half, quarter = dataset.entropy.isel(start=0)
    np.testing.assert_allclose(
        half.sel(learning_rate=0.1), quarter.sel(learning_rate=0.2), rtol=1e-12)
    assert not plan(read_sweep(path), sweep.cells_of(found, tmp_path)).cells
    (tmp_path / "own.py").write_text(HALF.replace("0.5", "0.7"))
    assert len(plan(read_sweep(path), sweep.cells_of(found, tmp_path)).cells) == 2
    _, lost = sweep.compute(found, tmp_path / "again", local_processes(1))
    assert "own.py has changed since the command began" in lost[0].message
    path.write_text('[rule]\nname = "on.py:Half"\n')
    with pytest.raises(ValueError, match=r"update rule 'on.py:Half': no such file: on\.py"):
        read_sweep(path)
