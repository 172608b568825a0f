"""A console for standard output, whose reader may leave."""

from __future__ import annotations

import rich.console


class Console(rich.console.Console):
    """A console of rich that tells `user_errors.run_command` of a closed pipe, as print does.

    rich would end the process with status 1, by which our commands say that a verdict changed.
    """

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError; nothing is printed from here on."""
        self.quiet = True
        raise BrokenPipeError
