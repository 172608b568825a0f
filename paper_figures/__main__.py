"""``python -m paper_figures list | build | report | reproduce | gpu``."""

from __future__ import annotations

from entropy_theory.support import command_line
from entropy_theory.support.command_line import Command
from entropy_theory.support.user_errors import run_command

COMMANDS = {
    name: Command(place=f"paper_figures.{place}", summary=summary)
    for name, place, summary in (
        ("list", "commands:list_figures", "every figure and table with its source"),
        ("build", "commands:build", "make figures and tables"),
        ("report", "site.__main__:report", "the site of all results, report/index.html"),
        ("reproduce", "commands:reproduce", "claims, simulations, training, figures, report; resumable"),
        ("gpu", "commands:gpu", "the runs that need a GPU; resumable"),
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
