"""The law R = b - a exp(H) between entropy and performance, where it holds, and forecasts of a run.

`law` fits and predicts. `trend` and `forecast` judge whether a run follows the law, and `ahead` forecasts
the run with intervals. `training_log` pairs a log's numbers by step, and `report` puts all of it into
words.
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
