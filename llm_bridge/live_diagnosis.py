"""Diagnoses a run of TRL while it trains, in the words of `policy-entropy diagnose`.

::

    trainer = GRPOTrainer(..., callbacks=[LiveDiagnosis()])

logs a warning when the verdict on the run changes, and holds it as ``found``. It reads what the trainer
logs anyway: nothing is computed more, and nothing of training changes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from transformers import TrainerCallback

from diagnosis.findings import Diagnosis
from diagnosis.live import Verdicts

logger = logging.getLogger(__name__)


class LiveDiagnosis(TrainerCallback):
    """The callback (see the module's docstring).

    Args:
        every: number of logs between diagnoses.
        say: called on the main process with the text of a diagnosis; by default a warning is
            logged.

    Raises:
        ValueError: an ``every`` that is not a whole number of at least 1.
    """

    def __init__(self, *, every: int = 10, say: Callable[[str], object] = logger.warning):
        self._verdicts, self._every, self._say = Verdicts("this run", every=every), every, say

    @property
    def found(self) -> Diagnosis | None:
        """The last diagnosis; None before the first, and on other processes."""
        return self._verdicts.found

    def on_log(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
        """Diagnose the run by all of its logs, those before a resumption too."""
        if state.is_world_process_zero and len(state.log_history) % self._every == 0:
            said = self._verdicts.judge(state.log_history)
            if said is not None:
                self._say(said)
