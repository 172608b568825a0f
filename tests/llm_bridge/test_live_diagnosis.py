"""Guards live_diagnosis.py: a trainer of TRL hears what the command would say of its log."""

import pytest

from diagnosis import diagnose
from entropy_theory.training_logs import logs
from llm_bridge.live_diagnosis import LiveDiagnosis
from tests.llm_bridge.language_models import ScoringFromLogits, grpo_trainer, tabular


def test_the_callback_says_what_a_diagnosis_of_the_log_says(tmp_path):
    said = []
    made = grpo_trainer(tmp_path / "run", *tabular(), kind=ScoringFromLogits, steps=12)
    callback = LiveDiagnosis(every=4, say=said.append)
    assert callback.found is None
    made.add_callback(callback)
    made.train()
    (run,) = logs.from_records(made.state.log_history[:12], "this run")
    expected = diagnose(run)
    assert callback.found.findings == expected.findings
    assert callback.found.engine == "trl"
    assert {"entropy", "reward"} <= callback.found.taken.keys()
    assert 1 <= len(said) <= 3
    assert said[0].startswith("step 4: ")
    assert expected.sentence in said[-1] or len(said) == 1


def test_it_is_quiet_beside_the_main_process(tmp_path):
    class State:
        is_world_process_zero = False
        log_history = ()

    callback = LiveDiagnosis(every=1, say=pytest.fail)
    callback.on_log(None, State())
    assert callback.found is None
