"""The law R = b - a exp(H) between entropy and performance: its fit, its rivals, and training logs.

`law` fits and predicts, `forecast` says how far a fit to the first part of a run can be trusted,
`training_log` and `log_formats` read a user's own log, and `report` puts all of it into words.
"""

from entropy_theory.performance_law.law import (
    PerformanceLaw,
    Rival,
    binary_entropy,
    entropy_range,
    fit,
    one_right_answer_entropy,
    one_right_answer_performance,
    rivals,
)

__all__ = [
    "PerformanceLaw",
    "Rival",
    "binary_entropy",
    "entropy_range",
    "fit",
    "one_right_answer_entropy",
    "one_right_answer_performance",
    "rivals",
]
