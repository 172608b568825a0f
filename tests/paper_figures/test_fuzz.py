"""Guards what figures and pages read of a results folder against damaged files."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path

import numpy as np
import xarray as xr

from paper_figures.data import inputs
from paper_figures.figure import MissingInputError
from paper_figures.report.figures import read_result
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
    "report.figures.read_result": Reader(
        read=read_result, name="result.json", document=RUN, write=as_json, errors=(),
        check=json.dumps),
}
READ_BY = {
    **{f"data.inputs.{name}": f"data.inputs.{name}" for name in (
        "comparison", "evaluations", "held_targets", "simulation")},
    "data.inputs.dataset_provenance": "data.inputs.simulation",
    "report.figures.read_result": "report.figures.read_result",
}
"""The line of `READERS` that tries a function which reads, by the function's place."""
OWN = {
    **dict.fromkeys(("aepo.table_4_settings._full", "aepo.table_4_settings._recipe",
                     "data.paper_numbers.read", "extensions.measured_tables.main", "report.page._file",
                     "site.bandit.page", "site.claims._files", "site.figures._stages",
                     "site.markup.included", "site.markup.module_docstring", "site.markup.source",
                     "site.notebooks._page",
                     "site.pages.write",
                     "site.rules._engines", "site.notebooks._digests",
                     "figure._code_digest", "reproduce.stage.code_digest"),
                    "reads the package's own files"),
    **dict.fromkeys(("extensions.independent_logits._of_run", "figure._read", "report.figures._figure",
                     "site.claims.evidence", "site.building._without_latex", "site.figures.pages",
                     "site.notebooks.kept", "data.inputs._digest"),
                    "reads what the reproduction has just written, a damaged part of which is remade"),
    **dict.fromkeys(("reproduce.gpu_jobs.GpuJob", "reproduce.pipeline._last_line", "site.notebooks._run",
                     "reproduce.pipeline._previous",
                     "reproduce.pipeline._read_stamp", "reproduce.pipeline.print_outcome"),
                    "the state of the main job: test_reproduce.py"),
}
"""Functions that read what no user writes."""


(test_every_reader_is_fuzzed, test_a_reader_takes_a_damaged_file_or_says_what_is_wrong,
 test_a_reader_takes_what_is_not_damaged) = reader_tests("paper_figures", READERS, READ_BY, OWN)
