"""A process that has imported what takes seconds, and runs each piece of Python in a fork of itself."""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

SLOW = ("trl", "peft", "llm_bridge.commands.train", "paper_figures.catalog", "simulations.experiments",
        "sympy")


class Warm:
    """The process; ``environment`` is that of all that it runs."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "tests.warm"], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, arguments: Sequence[str], folder: Path) -> tuple[int, str, str]:
        """Run ``python ARGUMENTS`` in a folder: exit status, standard output, standard error."""
        paths = [folder.with_name(f"{folder.name}.{name}") for name in ("out", "err")]
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([arguments, str(folder), *map(str, paths)]), file=self.process.stdin, flush=True)
        status = int(self.process.stdout.readline())
        out, err = (path.read_text(encoding="utf-8") for path in paths)
        return status, out, err

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def serve() -> None:
    """Run what standard input asks for, line by line, and answer with the exit status."""
    for name in SLOW:
        importlib.import_module(name)
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _run(arguments: list[str], folder: str, out: str, err: str) -> None:
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for place, path in enumerate((out, err), start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), place)
    sys.path.insert(0, "")
    status = 0
    try:
        if arguments[0] == "-c":
            sys.argv = ["-c", *arguments[2:]]
            exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
        elif arguments[0] == "-m":
            sys.argv = arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve()
