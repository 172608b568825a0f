"""Diagnoses what happened to the entropy of a training run, from its log alone, and what to change.

::

    (run,) = training_logs.logs.read(["console.log"])
    found = diagnose(run)
    found.sentence, found.findings[0].evidence

- `findings`: the words of a diagnosis, and its closed list of findings
- `phases`, `facts`: what can be told from noise, and when it turned
- `hypotheses`: one function per finding
- `remedies`, `whose`: what to change, and what the accounts of steps add
- `engine`: the whole diagnosis
- `command`, `text`, `page`: the command `policy-entropy diagnose`
- `live`: runs that go on, and the command `policy-entropy watch`

Nothing here assumes which way reward and entropy go together: on public runs that turns with size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diagnosis.engine import diagnose

__all__ = ["diagnose"]


def __getattr__(name: str) -> Any:
    # Imported when it is asked for: the console script imports this package for its name alone.
    if name == "diagnose":
        from diagnosis.engine import diagnose

        return diagnose
    raise AttributeError(f"module 'diagnosis' has no attribute {name!r}")
