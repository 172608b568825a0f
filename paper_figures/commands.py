"""The commands of ``python -m paper_figures``."""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tyro

from entropy_theory.support import command_line
from entropy_theory.support.results import write_json, write_text
from entropy_theory.support.user_errors import check_choice
from paper_figures.formats import FORMATS, Format
from paper_figures.names import figures as catalogued
from paper_figures.reproduce.pipeline import LANES, print_outcome
from paper_figures.reproduce.pipeline import reproduce as run_stages
from paper_figures.reproduce.stage import Profile

# What draws is imported where it is needed: it takes seconds, and help and a mistyped name need none.

KEPT = "figures that were made are kept, and not made again"


def list_figures(*, json: Path | None = None) -> int:
    """Print one figure or table a line: name, source, title.

    Args:
        json: write the list to this file; "-" prints it.
    """
    command_line.print_list(("name", "source", "title"), catalogued(), json)
    return 0


def figures(
    names: tyro.conf.Positional[tuple[str, ...]] = (),
    /,
    *,
    output: Path = Path("build"),
    formats: tuple[Format, ...] = FORMATS,
    json: Path | None = None,
) -> int:
    """List figures and tables, or make them in OUTPUT/figures from the results in OUTPUT.

    Simulations that a named figure lacks are computed first; of training runs the command is printed.
    Logs of other trainers in OUTPUT/training-logs, in any form that `diagnose` reads, are shown beside
    runs of models (entropy-mechanism-figures-1-3-4, entropy-mechanism-figure-2 and -5).

    examples:
      policy-entropy figures
      policy-entropy figures aepo-figure-4
      policy-entropy figures all --formats svg

    Args:
        names: figures and tables to make, or "all"; without a name they are listed.
        output: folder with the results to draw from.
        formats: file formats of the drawings.
        json: write the list, or what the figures that were made show, to this file; "-" prints it.
    """
    if not names:
        return list_figures(json=json)
    with (command_line.json_output(json) as write, command_line.keeping(KEPT)):
        status, outcome = _build(() if "all" in names else names, output, formats)
        write(outcome)
    return status


def build(
    names: tyro.conf.Positional[tuple[str, ...]] = (),
    /,
    *,
    output: Path = Path("build"),
    formats: tuple[Format, ...] = FORMATS,
) -> int:
    """Make figures and tables in OUTPUT/figures: drawings, tables, their numbers as CSV, and findings.

    Simulations that a named figure lacks are computed first. Figures that are up to date are kept.
    Exit status 1: a figure could not be made (the others are). Exit status 2: a figure that was
    named lacks another input; without names such figures are left out and listed.

    Args:
        names: figures and tables to make; all of them by default.
        output: folder with the results to draw from.
        formats: file formats of the drawings.
    """
    with command_line.keeping(KEPT):
        return _build(names, output, formats)[0]


def _build(
    names: tuple[str, ...], results: Path, formats: tuple[Format, ...]
) -> tuple[int, dict[str, Any]]:
    """Make figures; return the exit status, and verdict and headline of each, or why it was not made."""
    for name in names:
        check_choice(name, (figure.name for figure in catalogued()), "figure", "policy-entropy figures")
    from paper_figures.catalog import FIGURES
    from paper_figures.figure import MissingInputError
    from paper_figures.figure import build as build_figure

    if unlisted := sorted(set(names) - FIGURES.keys()):
        raise ValueError(f"figure '{unlisted[0]}' is not listed: add its module to MODULES in "
                         "paper_figures/catalog.py")
    chosen = {name: FIGURES[name] for name in names or FIGURES}
    output = results / "figures"
    shown: dict[str, dict[str, str]] = {}
    missing: dict[str, str] = {}
    failed: dict[str, str] = {}
    for name, figure in chosen.items():
        try:
            record = _with_simulations(
                functools.partial(build_figure, figure, results, output, formats), results,
                computes=bool(names))
        except MissingInputError as error:
            missing[name] = str(error)
            if not names:
                print(f"{name}: not made: {error}", file=sys.stderr)
        except OSError:  # a full disk: the others would meet it too
            raise
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
            print(f"{name}: failed: {failed[name]}", file=sys.stderr)
            if not isinstance(error, ValueError):
                traceback.print_exc()
        else:
            shown[name] = {key: record[key] for key in ("verdicts", "headline")}
            verdicts = "; ".join(one["says"] for one in record["verdicts"])
            print(". ".join(part for part in (f"{name}: {verdicts}", record["headline"]) if part))
            print(*(f"  {output / name}.{one}" for one in formats), sep="\n")
    outcome: dict[str, dict[str, Any]] = {"made": shown, "missing": missing, "failed": failed}
    if shown or failed or output.is_dir():  # else a mistyped folder would be made
        _write_index(output, names, outcome)
    if failed:  # last, where a log of forty lines is read
        told = "; ".join(f"{name} ({reason.splitlines()[0]})" for name, reason in failed.items())
        print(f"{len(failed)} of {len(chosen)} failed: {told}", file=sys.stderr)
    if names and missing:
        told = "; ".join(f"{name} is not made: {reason}" for name, reason in missing.items())
        if not failed:
            raise ValueError(told)
        print(told, file=sys.stderr)
    return 1 if failed else 0, outcome


def _with_simulations(make: Callable[[], Any], results: Path, *, computes: bool) -> Any:
    """Make a figure; simulations that it lacks are computed, each once, if ``computes``."""
    from paper_figures.figure import MissingInputError

    tried: set[str] = set()
    while True:
        try:
            return make()
        except MissingInputError as error:
            lacking = error.experiment
            if not computes or not lacking or lacking in tried:
                raise
        from simulations.__main__ import run as simulate

        tried.add(lacking)
        simulate((lacking,), output=results / "simulations")


def _write_index(output: Path, names: tuple[str, ...], outcome: dict[str, dict[str, Any]]) -> None:
    """Write which figures are there; of a named build, what the others were stands."""
    from paper_figures.catalog import FIGURES
    from paper_figures.site.records import read_result

    before = (read_result(output / "index.json") if names else None) or {}
    others = [name for name in FIGURES if names and name not in names]
    write_json(output / "index.json", {
        "drawn": [name for name in FIGURES
                  if name in outcome["made"] or (name in others and name in before.get("drawn", ()))],
        **{kind: {name: before[kind][name] for name in others if name in before.get(kind, ())}
           | outcome[kind] for kind in ("missing", "failed")},
    })


def reproduce(
    *, profile: Profile = "default", output: Path = Path("build"), jobs: int = LANES, seed: int = 0,
    json: Path | None = None,
) -> int:
    """Run the main job: ledger, simulations, real LLM runs, figures and report; resumable.

    Exit status 1 if a stage failed.

    Args:
        profile: smoke (everything at its smallest), default, or full.
        output: folder for all results.
        jobs: how many stages run side by side.
        seed: what is added to the seed of every stage; each verdict should be that of any other.
        json: write how the stages ended to this file; "-" prints it.
    """
    for name, value, least in (("jobs", jobs, 1), ("seed", seed, 0)):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")
    with command_line.json_output(json) as write:
        with command_line.keeping("finished stages are kept, and the same command goes on"):
            status = run_stages(profile, output, lanes=jobs, seed=seed)
        write(print_outcome(output / "reproduce.json", output, sys.stdout))
    return status


def gpu(*, budget_minutes: float = 25.0, dry_run: bool = False, rehearse: bool = False) -> int:
    """Run the jobs that need a GPU, with results in paper_figures/measured/; resumable.

    Exit status 1 if a job failed, 3 if some are left for the next call.

    Args:
        budget_minutes: wall-clock time to spend.
        dry_run: print the queue, its times and commands, and do nothing.
        rehearse: take the queue through a CPU, every run at two steps, into build/gpu/rehearsal.
    """
    from paper_figures.data.inputs import MEASURED
    from paper_figures.reproduce.gpu import (
        REHEARSALS,
        plan,
        require_checkout,
        run_queue,
        waiting_list,
    )

    require_checkout()
    if dry_run:
        print(plan())
        return 0
    if rehearse:
        return run_queue(budget_minutes, folder=REHEARSALS, rehearsal=True)
    with command_line.keeping("finished jobs are kept, and the same command goes on"):
        status = run_queue(budget_minutes)
    write_text(MEASURED / "WAITING.md", waiting_list())
    return status
