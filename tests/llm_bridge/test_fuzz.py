"""Guards the readers of tasks, recipes, runs and audits against damaged files."""

from __future__ import annotations

import functools
import io
import json
import math

import numpy as np
import pytest

from llm_bridge import recipes
from llm_bridge.analysis import audit, comparison, kernel_record
from llm_bridge.analysis import tokens as audited_tokens
from llm_bridge.analysis.tangent_kernel import RUNGS
from llm_bridge.data import benchmarks, tasks
from llm_bridge.running import checkpoints, run_folder
from llm_bridge.running.sample_store import SampleStore
from llm_bridge.running.step_log import StepLog
from llm_bridge.verl_rules import make_rule
from policy_entropy.__main__ import main
from tests.fuzzing import (
    Reader,
    as_json,
    as_json_lines,
    as_toml,
    command_status,
    ends_well,
    holds_of_reader,
    reader_tests,
)

ITEMS = [{"prompt": f"{n}+1=", "answer": n + 1} for n in range(4)] + [{"prompt": "x", "answer": "é"}]
PROBLEMS = [{"problem": "What is 1 + 1?", "answer": "\\boxed{2}"}, {"problem": "And 2?", "answer": 2.5}]
RECIPE = {
    "title": "a run", "minutes": 3,
    "rule": {"name": "aepo", "alpha": 2.0, "base": {"name": "grpo", "clip_high": 0.28}},
    "train": {"task": "split", "steps": 4, "learning_rate": 1e-4, "chat_template": False},
    "trl": {"warmup_steps": 10},
    "data": {"name": "owner/name", "prompt": "problem.0", "size": 8},
    "vary": {"train.seed": [0, 1], "rule.alpha": [0.5, 1.0]},
}
LOG = [{"step": n, "entropy": 1 / n, "reward": 0.1 * n, "seconds": 0.5, "distinct_answers": 3.0,
        "forecast_entropy_change": -0.01} for n in range(1, 9)]
RUN = {"options": {"model": "small-sums", "task": "split", "rule": "grpo", "output": "run"},
       "status": "finished", "constant_answer_reward": 0.1, "world_size": 1}
STEP = {"step": 1, "learning_rate": 0.1, "tokens": 3, "states": 2, "entropy": 1.0, "coefficients": 0.1,
        "coefficients_exact": 0.1, "first_order": 0.1, "exact": 0.1, "measured": 0.1,
        "by_token": {"measured": [0.1]}, "second_order": 0.1, "entropy_gradient": 0.1, "accounted": 0.1,
        "parts": {"gradient": 0.1}}
AUDIT = {"provenance": {"config": None}, "steps": [STEP],
         "summary": {"steps": {"correlation": {"coefficients": 0.5}}, "tokens": {}}}
EVALUATION = {"pass@1": 0.25, "pass@4": 0.5, "intervals": {"pass@1": [0.1, 0.3], "pass@4": [0.4, 0.6]}}
IDENTITY = {"model": "small-sums", "seed": 0}
LINES = [{"samples_of": IDENTITY}, *(
    {"prompt": n, "sample": 0, "completion": "1", "reward": 1.0, "length": 2, "entropy": 0.5,
     "ended": True} for n in range(3))]
PROVENANCE = {"commit": None, "versions": {"numpy": "2"}, "device": "cpu", "seed": 0, "created": "now"}
WHOLE = {"run/run.json": as_json(RUN), "run/metrics.jsonl": as_json_lines(LOG)}


def npz(**columns):
    file = io.BytesIO()
    np.savez_compressed(file, **columns)
    return file.getvalue()


@functools.cache
def kernel():
    values = np.ones((2, 2, 2, 2))
    return npz(step=1, values=values, actions=np.zeros((2, 2), int), measured=np.ones(2),
               prefixes="[[1], [2]]", **{f"rung {name}": np.ones(2) for name in RUNGS})


@functools.cache
def tokens():
    table = np.ones((2, 3))
    names = ("log_prob", "entropy", "covariance", "forecast", "measured", "attribution")
    return npz(step=1, learning_rate=0.1, prompt_ids=table.astype(int), prompt_mask=table > 0,
               token_ids=table.astype(int), mask=table > 0, reward=np.ones(2), advantage=np.ones(2),
               group=np.zeros(2, int), **dict.fromkeys(names, table))


def in_run(name, document, write=as_json, read=run_folder.read, **further):
    """A file of a run's folder, read with the folder."""
    return Reader(read=lambda path: read(path.parent), name=f"run/{name}", document=document, write=write,
                  around={k: v for k, v in WHOLE.items() if k != f"run/{name}"}, **further)


def compared(folder):
    return command_status(main, "compare", str(folder), "--output", str(folder.parent / "out"))


def claimed(folder):
    """A run that goes on where it was."""
    return run_folder.RunFolder(folder).claim(
        {"rule": "grpo"}, defaults={"rule": "grpo"}, code={}, world_size=1, device="cpu")


def is_task(task):
    assert len(task.prompts) == len(task.answers) > 0
    assert all(prompt for prompt in task.prompts)
    "".join((*task.prompts, *task.answers)).encode()
    task.constant_answer()


def drawn_again(path):
    store = SampleStore(path, IDENTITY)
    left = list(store.keep_whole([[(n, 0)] for n in range(3)]))
    assert len(store.lines()) + len(left) == 3
    assert all(math.isfinite(line.reward + line.entropy) for line in store.lines())


def resumed(path):
    log = StepLog(path)
    log.keep_until(3)
    assert all(record["step"] <= 3 for record in log.read())


READERS = {
    "data.tasks.load": Reader(
        read=lambda path: tasks.load(str(path), reward="exact"), name="task.jsonl", document=ITEMS,
        write=as_json_lines, check=is_task),
    "data.benchmarks.load": Reader(
        read=lambda path: benchmarks.load("aime24", folder=path.parent), name="files/aime24.jsonl",
        document=PROBLEMS, write=as_json_lines, check=lambda task: "".join(task.prompts).encode()),
    "recipes.load": Reader(
        read=lambda path: recipes.load(str(path)), name="mine.toml", document=RECIPE, write=as_toml,
        check=lambda recipe: recipe.runs),
    **{f"running.run_folder.read, {name}": in_run(name, document, check=comparison.summary)
       for name, document in (("run.json", RUN), ("audit.json", AUDIT), ("provenance.json", PROVENANCE),
                              ("evaluation.json", EVALUATION))},
    "running.run_folder.claim": in_run("run.json", RUN, read=claimed),
    "running.step_log.StepLog": Reader(
        read=resumed, name="metrics.jsonl", document=LOG, write=as_json_lines),
    "running.sample_store.SampleStore": Reader(
        read=drawn_again, name="samples.jsonl", document=LINES, write=as_json_lines,
        errors=(ValueError, OSError)),
    "running.checkpoints.last_whole": Reader(
        read=lambda path: checkpoints.last_whole(path.parents[1]), name="run/checkpoint-3/seal.json",
        document={"model.bin": "0" * 128}, write=as_json,
        around={"run/checkpoint-3/model.bin": b"weights"}, errors=()),
    "analysis.audit.read": Reader(
        read=audit.read, name="audit.json", document=AUDIT, write=as_json),
    "analysis.tokens.read": Reader(
        read=audited_tokens.read, name="tokens.npz", document=None, write=lambda _: tokens()),
    "analysis.kernel_record.read": Reader(
        read=kernel_record.read, name="kernel.npz", document=None, write=lambda _: kernel()),
    "verl_rules.make_rule": Reader(
        read=lambda path: make_rule("clip-cov", json.loads(path.read_text("utf-8"))),
        name="options.json", document={"ratio": 0.1, "base": {"name": "grpo", "clip_high": 0.3}},
        write=as_json, names_file=False, errors=(ValueError, OSError, TypeError, RecursionError)),
    "policy-entropy compare": in_run(
        "metrics.jsonl", LOG, as_json_lines, read=compared, check=ends_well, errors=()),
}


(test_a_reader_takes_a_damaged_file_or_says_what_is_wrong,
 test_a_reader_takes_what_is_not_damaged) = reader_tests(READERS)


# Damages that fuzzing found, which were no error, the wrong one, or no end.
FOUND = [
    ("running.sample_store.SampleStore", [("rename", 3394)]),
    ("recipes.load", [("drop", 4_294_967_295)]),
    ("data.benchmarks.load", [("value", 47)]),
    ("data.benchmarks.load", [("rename", 164)]),
    ("running.run_folder.read, audit.json", [("add", 272)]),
    ("analysis.audit.read", [("rename", 15543)]),
]


@pytest.mark.parametrize(("name", "damage"), FOUND)
def test_what_fuzzing_found(name, damage, tmp_path):
    holds_of_reader(READERS[name], damage, tmp_path / "files")
