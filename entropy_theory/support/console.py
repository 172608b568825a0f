"""A console for standard output, whose reader may leave."""

from __future__ import annotations

import rich.console


class Console(rich.console.Console):
    """A console of rich that passes a closed pipe on to `user_errors.run_command`, as print does.

    rich would end the process with status 1, which stands for a changed verdict in our commands.
    """

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError; nothing is printed from here on."""
        self.quiet = True
        raise BrokenPipeError
