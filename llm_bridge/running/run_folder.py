"""Writes and reads the folder of a training run.

::

    run.json          options, digests of the user's own code (`user_code.digests`: the files of rules and
                      rewards given by import path), number of processes, constant-answer line, status,
                      closing averages
    provenance.json   commit, versions, device, seed, time
    metrics.jsonl     one line an optimizer step
    audit.json        forecasts beside measured entropy changes, with audit_every
    audit/            tokens and logit kernels of the audited steps, their pages (the audit command)
    evaluation.json   what `evaluate --output RUN/evaluation.json` wrote
    checkpoints/      TRL's checkpoints, the controllers' state included, each sealed
    tensorboard/      the same metrics for TensorBoard
    model/            the trained model and its tokenizer

No torch is needed to read them.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropy_theory.support import locks, results
from entropy_theory.support.stored import check_form
from llm_bridge.running.step_log import StepLog

FINISHED = "finished"
FREE = ("save_every", "save_model")
"""Options that may change when a run is continued: they leave its steps as they are."""
READ = ("run.json", "metrics.jsonl", "audit.json", "provenance.json", "evaluation.json")
"""The files that `read` looks at."""
DESCRIPTION = {"options": {"rule": str, "model": str, "task": str}, "status?": str,
               "constant_answer_reward?": (float, type(None))}
AUDIT = {"summary": {"steps?": {"correlation": {...: float}}}, "steps": [{"step": int}]}
PROVENANCE = {"commit": (str, type(None)), "versions": {}, "device": str, "seed": (int, type(None)),
              "created": str}
"""What must be in run.json, audit.json and provenance.json (`stored.check_form`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """The contents of a run's folder."""

    name: str
    folder: Path
    options: dict[str, Any]
    """The options with which the run was started."""
    status: str
    """"running" or "finished"."""
    constant_answer_reward: float | None
    """What always giving the most common right answer would score; None while the run goes on."""
    steps: list[dict[str, Any]]
    """One record an optimizer step, in order; none before the first."""
    evaluation: dict[str, Any] | None
    audit: dict[str, Any] | None
    """The whole of audit.json."""
    provenance: dict[str, Any] | None

    def column(self, name: str) -> list[float | None]:
        """A metric at each step; None where a step has none."""
        return [step.get(name) for step in self.steps]


class RunFolder:
    """The files of one run, for the run itself to write.

    Args:
        path: of the folder, which need not exist.
    """

    def __init__(self, path: Path):
        self.path = path
        self.log = StepLog(path / "metrics.jsonl")
        self.checkpoints = path / "checkpoints"
        self.tensorboard = path / "tensorboard"
        self.model = path / "model"
        self.audit = path / "audit.json"
        self.audit_details = path / "audit"
        self._description = path / "run.json"
        self._provenance = path / "provenance.json"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep the folder to this process; another one at work in it is waited for.

        Raises:
            OSError: the folder cannot be written.
        """
        with locks.exclusive(self._description):
            yield

    def described(self) -> bool:
        """Whether a run has claimed the folder."""
        return self._description.exists()

    def claim(
        self, options: Mapping[str, Any], *, defaults: Mapping[str, Any], code: Mapping[str, str],
        world_size: int, device: str, steady_rate: bool = False,
    ) -> dict[str, Any]:
        """The content of this run's run.json; written now if the folder is new, or has no step logged.

        Options that may change at a continuation are written when the run finishes. They are
        `FREE`, and a larger number of steps where the learning rate does not depend on it.

        Args:
            options: of the run, those that change its numbers.
            defaults: of all options, the values of a run that began before an option existed.
            code: digests of the user's own files.
            world_size: number of processes.
            device: on which the run goes on; "cpu", or the name of a GPU.
            steady_rate: whether the learning rate is the same whatever the number of steps.

        Raises:
            ValueError: the folder has a run with other options, by another number of processes, or
                begun on a GPU that is no longer there. Or the file of a rule or reward has changed
                since.
        """
        if self._description.exists():
            found: dict[str, Any] = results.read_json(
                self._description, {"options": {}, "status": str, "code?": {}, "world_size?": int})
            # A mistake that is found only after the folder was made must not take the folder.
            if found["status"] == FINISHED or self.log.read():
                self._check_same(found, options, defaults, code, steady_rate)
                if found["status"] == FINISHED:
                    shutil.rmtree(self.checkpoints, ignore_errors=True)  # left by a kill at the very end
                    return found
                self._check_continued(found, world_size, device)
                return {**found, "options": dict(options)}
        elif self.checkpoints.exists():
            raise ValueError(
                f"{self.path} has checkpoints but no run.json, and a run would replace them: "
                "choose another output folder"
            )
        found = {"status": "running", "options": dict(options), "code": dict(code),
                 "world_size": world_size}
        results.write_json(self._description, found)
        return found

    def begin(self, provenance: Mapping[str, Any], *, step: int) -> None:
        """Write the provenance, and drop from the log the steps after ``step``, taken again now."""
        results.write_json(self._provenance, provenance)
        self.log.keep_until(step)

    def finish(self, description: Mapping[str, Any]) -> dict[str, Any]:
        """Write what a finished run's run.json says, and drop what only a resumption needs."""
        found = {**description, "status": FINISHED}
        results.write_json(self._description, found)
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        return found

    def _check_same(
        self, found: Mapping[str, Any], options: Mapping[str, Any], defaults: Mapping[str, Any],
        code: Mapping[str, str], steady_rate: bool,
    ) -> None:
        before = {key: found["options"].get(key, defaults[key]) for key in options}
        differ = [key for key in options if key not in FREE and before[key] != options[key]]
        more = "steps" in differ and before["steps"] < options["steps"]
        finished, remedy = found["status"] == FINISHED, "choose another output folder, or delete this one"
        if more and steady_rate and not finished:
            differ.remove("steps")
        elif more and differ == ["steps"]:
            remedy = (
                (f"a finished run keeps no optimizer state, so run {options['steps']} steps in another "
                 "folder" if finished else
                 "the learning rate depends on the number of steps (lr_scheduler_type), so keep it, or "
                 "choose another output folder")
                + f", or train its weights on with a new optimizer (--model {self.model})" * finished)
        if differ:
            said = ", ".join(f"{key} was {before[key]!r}, is {options[key]!r}" for key in differ)
            raise ValueError(f"{self.path} holds a run with other options ({said}): {remedy}")
        changed = [name for name in code if found.get("code", code).get(name) != code[name]]
        if changed:
            raise ValueError(
                f"{self.path} holds a run with another version of {', '.join(changed)}: choose another "
                "output folder, or bring the file back to what it was"
            )

    def _check_continued(self, found: Mapping[str, Any], world_size: int, device: str) -> None:
        world = found.get("world_size", 1)
        if world != world_size:
            raise ValueError(
                f"{self.path} holds a run of {world} processes, and this is one of {world_size}: "
                f"continue it with {world} (each has its own random numbers), or choose another "
                "output folder"
            )
        begun_on = "cpu"
        if self._provenance.exists():
            begun_on = str(results.read_json(self._provenance, {"device": str})["device"])
        if begun_on != "cpu" and device == "cpu":
            raise ValueError(
                f"{self.path} holds a run that began on {begun_on}, and torch finds no GPU now: see "
                "that `nvidia-smi` lists it, or choose another output folder (a CPU rounds otherwise)"
            )


def read(folder: Path) -> RunRecord:
    """Read a run.

    Raises:
        ValueError: a folder without a run.json, or a damaged file.
    """
    if not (folder / "run.json").exists():
        raise ValueError(
            f"{folder} is not a training run, since it has no run.json: name a folder that train "
            "wrote"
        )
    found = results.read_json(folder / "run.json", DESCRIPTION)

    def optional(name: str, form: Any) -> Any:
        return results.read_json(folder / name, form) if (folder / name).exists() else None

    evaluation = optional("evaluation.json", {})
    if evaluation is not None:
        _check_evaluation(folder / "evaluation.json", evaluation)
    return RunRecord(
        name=folder.name, folder=folder, options=found["options"], status=found.get("status", "running"),
        constant_answer_reward=found.get("constant_answer_reward"),
        steps=StepLog(folder / "metrics.jsonl").read(), evaluation=evaluation,
        audit=optional("audit.json", AUDIT), provenance=optional("provenance.json", PROVENANCE),
    )


def _check_evaluation(path: Path, found: Mapping[str, Any]) -> None:
    """Raise ValueError unless each pass@k is a number with an interval, and k a whole number."""
    for name in found:
        if not name.startswith("pass@"):
            continue
        try:
            if not re.fullmatch("[1-9][0-9]{0,8}", name[5:]):
                raise ValueError(f"'{name}' has no whole number after the @")
            check_form(found, {name: float, "intervals": {name: [float]}})
            if len(found["intervals"][name]) != 2:
                raise ValueError(f"the interval of '{name}' does not have two ends")
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}): delete it and evaluate again") from None


def folders(roots: Sequence[Path]) -> list[Path]:
    """All folders of runs directly under the roots, sorted by name within each."""
    return [path.parent for root in roots for path in sorted(root.glob("*/run.json"))]
