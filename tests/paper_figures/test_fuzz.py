"""Guards what figures and pages read of a results folder against damaged files."""

import functools
import json
import tempfile
from pathlib import Path

import numpy as np
import xarray as xr

from paper_figures.data import inputs
from paper_figures.figure import MissingInputError
from paper_figures.site.records import read_result
from simulations.computing import store
from tests.fuzzing import (
    Reader,
    as_json,
    as_json_lines,
    reader_tests,
)

RUN = {"options": {"model": "small-sums", "task": "split", "rule": "grpo"}, "status": "finished",
       "constant_answer_reward": 0.1}
LOG = [{"step": n, "entropy": 1 / n, "reward": 0.1 * n, "seconds": 0.5} for n in range(1, 9)]
HELD = {"provenance": {"device": "cpu", "config": {"steps": 80}},
        "records": [{"name": "a", "run": {"task": "split", "seed": 0}, "series": {"entropy": [1.0]}}]}
COMPARED = {"provenance": {}, "records": [{"label": "clip-cov network", "task": "split", "seed": 0}]}


@functools.cache
def dataset():
    """The bytes of a small result."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.nc"
        store.save(xr.Dataset({"entropy": ("step", np.ones(4))}), path, config=None, seed=0)
        return path.read_bytes()


READERS = {
    "data.inputs.simulation": Reader(
        read=lambda path: inputs.simulation(path.parents[1], "collapse"), name="simulations/collapse.nc",
        document=None, write=lambda _: dataset(), errors=(MissingInputError,)),
    "data.inputs.training_runs": Reader(
        read=lambda path: inputs.training_runs(path.parents[2]), name="runs/mine/run.json", document=RUN,
        write=as_json, around={"runs/mine/metrics.jsonl": as_json_lines(LOG)}, errors=(),
        check=lambda runs: [(run.kinds, run.target, run.device) for run in runs]),
    "data.inputs.evaluations": Reader(
        read=lambda path: inputs.evaluations(path.parents[1]), name="evaluations/one.json",
        document={"model": "m", "pass@1": 0.5}, write=as_json, errors=()),
    "data.inputs.held_targets": Reader(
        read=lambda path: inputs.held_targets(path.parents[1], "small-sums"),
        name="holding-a-target/result.json",
        document=HELD, write=as_json, errors=(MissingInputError,)),
    "data.inputs.comparison": Reader(
        read=lambda path: inputs.comparison(path.parents[1], "comparisons/one.json"),
        name="comparisons/one.json",
        document=COMPARED, write=as_json),
    "site.records.read_result": Reader(
        read=read_result, name="result.json", document=RUN, write=as_json, errors=(),
        check=json.dumps),
}


(test_a_reader_takes_a_damaged_file_or_says_what_is_wrong,
 test_a_reader_takes_what_is_not_damaged) = reader_tests(READERS)
