"""``python -m paper_figures list | build | report | reproduce | gpu``."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import tyro

from entropy_theory.support.results import write_json, write_text
from entropy_theory.support.user_errors import lookup, run_command
from paper_figures.catalog import FIGURES
from paper_figures.data.inputs import MEASURED
from paper_figures.figure import FORMATS, Format, MissingInputError
from paper_figures.figure import build as build_figure
from paper_figures.report.figures import read_result
from paper_figures.report.page import write_report
from paper_figures.reproduce.gpu import REHEARSALS, plan, run_queue, waiting_list
from paper_figures.reproduce.pipeline import LANES, print_outcome
from paper_figures.reproduce.pipeline import reproduce as run_stages
from paper_figures.reproduce.stage import Profile

ROOT = Path(__file__).resolve().parents[1]
"""The checkout, or the folder of packages where this one is installed."""


def list_figures() -> int:
    """Print one figure or table a line: name, source, title."""
    for figure in FIGURES.values():
        print(f"{figure.name}\t{figure.source}\t{figure.title}")
    return 0


def build(
    names: tyro.conf.Positional[tuple[str, ...]] = (),
    /,
    *,
    results: Path = Path("build"),
    formats: tuple[Format, ...] = FORMATS,
) -> int:
    """Make figures and tables in RESULTS/figures: drawings, tables, their numbers as CSV, what was found.

    What is up to date is left as it is. Exit status 1 if one could not be made (the others are), 2 if
    one that was named lacks its input; without names such figures are left out and listed.

    Args:
        names: figures and tables to make; all of them by default.
        results: folder with the results to draw from.
        formats: file formats of the drawings.
    """
    chosen = {name: lookup(FIGURES, name, "figure") for name in names or FIGURES}
    output = results / "figures"
    missing: dict[str, str] = {}
    failed: dict[str, str] = {}
    for name, figure in chosen.items():
        try:
            record = build_figure(figure, results, output, formats)
        except MissingInputError as error:
            missing[name] = str(error)
            print(f"{name}: not made: {error}", file=sys.stderr)
        except OSError:  # a full disk: the others would meet it too
            raise
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
            print(f"{name}: failed: {failed[name]}", file=sys.stderr)
            if not isinstance(error, ValueError):
                traceback.print_exc()
        else:
            print(f"{name}: {record['verdict']}: {record['headline']}")
    made = [name for name in chosen if name not in missing and name not in failed]
    before = (read_result(output / "index.json") if names else None) or {}
    others = [name for name in FIGURES if name not in chosen]  # of a named build: what they were stands
    write_json(output / "index.json", {
        "drawn": [name for name in FIGURES
                  if name in made or (name in others and name in before.get("drawn", ()))],
        **{kind: {name: before[kind][name] for name in others if name in before.get(kind, ())} | now
           for kind, now in (("missing", missing), ("failed", failed))},
    })
    if failed:  # last, where a log of forty lines is read
        told = "; ".join(f"{name} ({reason.splitlines()[0]})" for name, reason in failed.items())
        print(f"{len(failed)} of {len(chosen)} failed: {told}", file=sys.stderr)
    return 1 if failed else 2 if names and missing else 0


def report(*, results: Path = Path("build")) -> int:
    """Write RESULTS/report/index.html, one page that needs no network.

    Args:
        results: folder with ledger, figures and runs; a part that is missing is named on the page.
    """
    if not results.is_dir():
        raise ValueError(f"{results} is no folder: give the one that `python -m paper_figures reproduce` "
                         "or another command wrote its results to")
    print(write_report(results))
    return 0


def reproduce(
    *, profile: Profile = "default", results: Path = Path("build"), lanes: int = LANES
) -> int:
    """Run the main job: ledger, simulations, real LLM runs, figures and report; resumable.

    Exit status 1 if a stage failed.

    Args:
        profile: smoke (everything at its smallest), default, or full.
        results: folder for all results.
        lanes: how many stages run side by side.
    """
    if lanes < 1:
        raise ValueError(f"lanes must be at least 1, got {lanes}")
    status = run_stages(profile, results, lanes=lanes)
    print_outcome(results / "reproduce.json", results, sys.stdout)
    return status


def gpu(*, budget_minutes: float = 25.0, dry_run: bool = False, rehearse: bool = False) -> int:
    """Run the jobs that need a GPU, with results in paper_figures/measured/; resumable.

    Exit status 1 if a job failed, 3 if some are left for the next call.

    Args:
        budget_minutes: wall-clock time to spend.
        dry_run: print the queue, its times and commands, and do nothing.
        rehearse: take the queue through a CPU, every run at two steps, into build/gpu/rehearsal.
    """
    if not (ROOT / "pyproject.toml").is_file():
        raise ValueError("gpu runs the repository's tests and benchmarks and keeps what it measures "
                         "there: run it in a checkout, not from an installed package")
    if dry_run:
        print(plan())
        return 0
    if rehearse:
        return run_queue(budget_minutes, folder=REHEARSALS, rehearsal=True)
    status = run_queue(budget_minutes)
    write_text(MEASURED / "WAITING.md", waiting_list())
    return status


COMMANDS = {"list": list_figures, "build": build, "report": report, "reproduce": reproduce,
            "gpu": gpu}


def main() -> None:
    """Entry point."""
    run_command(lambda: tyro.extras.subcommand_cli_from_dict(
        COMMANDS, prog="python -m paper_figures"))


if __name__ == "__main__":
    main()
