"""``python -m paper_figures list | build | report | reproduce | gpu``."""

from __future__ import annotations

from entropy_theory.support import command_line
from entropy_theory.support.command_line import Command
from entropy_theory.support.user_errors import run_command

COMMANDS = {
    name: Command(place=f"paper_figures.commands:{function}", summary=summary)
    for name, function, summary in (
        ("list", "list_figures", "every figure and table with its source"),
        ("build", "build", "make figures and tables"),
        ("report", "report", "the site of all results, report/index.html"),
        ("reproduce", "reproduce", "claims, simulations, training runs, figures and report; resumable"),
        ("gpu", "gpu", "the runs that need a GPU; resumable"),
    )
}


def main() -> int:
    """Entry point."""
    return command_line.run(
        "python -m paper_figures", "The papers' figures and tables, from what was computed here.",
        COMMANDS, ("python -m paper_figures build aepo-figure-4",
         "python -m paper_figures reproduce --profile smoke"))


if __name__ == "__main__":
    run_command(main)
