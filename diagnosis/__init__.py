"""Says what happened to the entropy of a training run, from its log alone, and what to change.

    (run,) = training_logs.logs.read(["console.log"])
    found = diagnose(run)
    found.sentence, found.findings[0].evidence

- `findings`: the words of a diagnosis, and its closed list of findings.

No threshold assumes which way reward and entropy go together: on public runs it turns with size.
"""

from diagnosis.engine import diagnose
from diagnosis.findings import Diagnosis, Finding, Phase, Remedy, Trend

__all__ = ["Diagnosis", "Finding", "Phase", "Remedy", "Trend", "diagnose"]
