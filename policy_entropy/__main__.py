"""``policy-entropy COMMAND``, also as ``python -m policy_entropy``.

The commands are those of ``python -m entropy_theory``, ``simulations``, ``llm_bridge`` and
``paper_figures``, and `diagnosis.command`; a room is imported when one of its commands is run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import tyro

from entropy_theory.support import command_line
from entropy_theory.support.command_line import SHELLS, Command
from entropy_theory.support.user_errors import check_choice, run_command

PROG = "policy-entropy"
EXAMPLES = (
    "policy-entropy diagnose console.log",
    "policy-entropy claims aepo.theorem-4.3b",
    "policy-entropy check my_claims.py --profile smoke",
    "policy-entropy simulate aepo-figure-1",
    "policy-entropy train --rule aepo --rule-options alpha=3 target=0.6 --output runs/aepo",
    "policy-entropy compare runs/grpo runs/aepo",
    "policy-entropy reproduce --profile smoke",
)
COMMANDS = {
    name: Command(place=place, summary=summary, parses=parses)
    for name, place, summary, parses in (
        ("claims", "entropy_theory.__main__:claims", "the claims, or one with what is known", False),
        ("verify", "entropy_theory.__main__:verify", "check claims, and compare with the ledger", False),
        ("prove", "entropy_theory.__main__:prove", "the proof kernel checks proofs", False),
        ("check", "entropy_theory.__main__:check", "claims and update rules of your own", False),
        ("diagnose", "diagnosis.command:diagnose",
         "what happened in your training run, and what to change", False),
        ("watch", "diagnosis.live:watch",
         "follow a run's log, and hear when the verdict changes", False),
        ("fit", "entropy_theory.performance_law.command:fit",
         "the law R = b - a exp(H) on your training log", False),
        ("rules", "entropy_theory.__main__:rules", "the update rules, or one with its options", False),
        ("translate", "llm_bridge.translation.command:translate",
         "the loss of a training recipe, and the recipe for another engine", False),
        ("losses", "llm_bridge.conformance.command:losses",
         "which rule is which engine's loss, and where they differ", False),
        ("simulate", "simulations.__main__:run", "experiments in exact simulation", False),
        ("sweep", "simulations.__main__:sweep", "a grid of simulated runs of your own", False),
        ("train", "llm_bridge.__main__:train", "train a language model with an update rule", True),
        ("audit", "llm_bridge.__main__:audit", "forecast and measured entropy change", True),
        ("evaluate", "llm_bridge.__main__:evaluate", "pass@1 and unbiased pass@k", True),
        ("sample", "llm_bridge.__main__:sample", "draw completions and judge them", True),
        ("compare", "llm_bridge.__main__:compare", "training runs side by side", True),
        ("recipes", "llm_bridge.recipes.__main__:recipes_command",
         "the papers' settings, or the commands of one", False),
        ("figures", "paper_figures.commands:figures", "the papers' figures and tables", False),
        ("report", "paper_figures.site.__main__:report", "the site of all results", False),
        ("reproduce", "paper_figures.commands:reproduce", "everything above, resumable", False),
        ("completion", "policy_entropy.__main__:completion", "completion for your shell", False),
    )
}


OPTIONS = {
    "train": "llm_bridge.commands.train_config:TrainConfig",
    "audit": "llm_bridge.commands.train_config:AuditConfig",
    "evaluate": "llm_bridge.sampling.drawing_options:EvaluateConfig",
    "sample": "llm_bridge.sampling.drawing_options:SampleConfig",
    "compare": "llm_bridge.analysis.comparison:CompareConfig",
}
"""Where the options are of those commands that read the command line themselves."""


def options_of(name: str) -> Callable[..., Any]:
    """Return what has the options of a command as its parameters.

    Raises ImportError for a command whose extra is not installed.
    """
    return Command(place=OPTIONS.get(name, COMMANDS[name].place), summary="").function()


def completion(shell: tyro.conf.Positional[str], /) -> int:
    """Print a script that completes commands and options; a command whose extra is missing is left out.

    Args:
        shell: bash, zsh or fish.
    """
    check_choice(shell, SHELLS, "shell")
    known: dict[str, Callable[..., Any]] = {}
    for name in COMMANDS:
        with contextlib.suppress(ImportError):
            known[name] = options_of(name)
    with contextlib.suppress(SystemExit):
        tyro.extras.subcommand_cli_from_dict(known, prog=PROG, args=["--tyro-print-completion", shell])
    return 0


def main() -> int:
    """Run the command line; return the exit status."""
    command_line.look_here_last()
    # Before any file of the user's, beside which there may be folders of these names.
    import diagnosis  # noqa: F401
    import llm_bridge  # noqa: F401
    import paper_figures  # noqa: F401
    import simulations  # noqa: F401

    return command_line.run(
        PROG, "Entropy of softmax policies under policy gradients: checked, simulated, trained.",
        COMMANDS, EXAMPLES)


def command() -> None:
    """Run the console script."""
    run_command(main)


if __name__ == "__main__":
    command()
