"""What the tests of the commands share."""

from __future__ import annotations

import pytest

from entropy_theory.__main__ import main
from entropy_theory.support.user_errors import run_command


@pytest.fixture
def command(monkeypatch, capfd):
    """(exit status, output, errors) of a command line, in this process, which has imported it all."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["entropy_theory", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            run_command(main)
        return end.value.code, *capfd.readouterr()

    return run
