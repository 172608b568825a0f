"""Completion scripts for shells: the commands and their options, as tyro writes them."""

from __future__ import annotations

import contextlib
import inspect
import io
from collections.abc import Callable, Mapping
from typing import Any

import tyro

from entropy_theory.support.command_line import Command

OPTIONS = {
    "simulate": "simulations.__main__:RunCommand",
    "sweep": "simulations.__main__:SweepCommand",
    "train": "llm_bridge.commands.train_config:TrainConfig",
    "audit": "llm_bridge.commands.train_config:AuditConfig",
    "evaluate": "llm_bridge.evaluate_config:EvaluateConfig",
    "sample": "llm_bridge.sampling.sample_config:SampleConfig",
    "compare": "llm_bridge.analysis.comparison:CompareConfig",
}
"""Where the options are of those commands that read the command line themselves."""
LOAD = {
    "bash": "policy-entropy completion bash > ~/.local/share/bash-completion/completions/policy-entropy",
    "zsh": "policy-entropy completion zsh > a folder of $fpath, as _policy-entropy",
    "fish": "policy-entropy completion fish > ~/.config/fish/completions/policy-entropy.fish",
}
"""Where a shell finds its script; to make one takes seconds, too long for each start of a shell."""


def script(shell: str, commands: Mapping[str, Command]) -> str:
    """Return the completion script for a shell.

    A command whose extra is not installed is completed without its options.

    Args:
        shell: one of `LOAD`.
        commands: what is completed.
    """
    described = {name: _described(name, command) for name, command in commands.items()}
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        tyro.extras.subcommand_cli_from_dict(
            described, prog="policy-entropy", args=["--tyro-print-completion", shell])
    text = said.getvalue()
    if shell == "zsh":  # its first line must stay what it is
        return text
    return f"# {LOAD[shell]}\n{text}"


def options(name: str, command: Command) -> Mapping[str, inspect.Parameter]:
    """Return the options of a command by name, with underscores.

    Raises:
        ImportError: a command whose extra is not installed.
    """
    return inspect.signature(_function(name, command)).parameters


def _function(name: str, command: Command) -> Callable[..., Any]:
    return Command(place=OPTIONS.get(name, command.place), summary=command.summary).function()


def _described(name: str, command: Command) -> Callable[..., Any]:
    try:
        return _function(name, command)
    except ImportError:

        def bare() -> None: ...

        bare.__doc__ = command.summary
        return bare
