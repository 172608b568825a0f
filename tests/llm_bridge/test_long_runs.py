"""Guards against growth: a run of thousands of steps holds no more at its end than after a third."""

import gc
from pathlib import Path

import pytest
import torch
import transformers

from entropy_theory import update_rules
from llm_bridge import diagnostics
from llm_bridge.accounting.accountant import Accountant
from tests.llm_bridge.language_models import grpo_trainer, loaded_llama, tabular_trainer

STEPS = 3000
LOOKS = (STEPS // 3, 2 * STEPS // 3, STEPS)
pytestmark = pytest.mark.deep


class Footprint(transformers.TrainerCallback):
    """At three steps: live tensors, all objects that the collector knows, and resident MiB."""

    def __init__(self):
        self.seen = []

    def on_step_end(self, args, state, *_, **__):
        if state.global_step not in LOOKS:
            return
        gc.collect()
        objects = gc.get_objects()
        status = Path("/proc/self/status").read_text().splitlines()
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024
        self.seen.append((sum(isinstance(one, torch.Tensor) for one in objects), len(objects), resident))


@pytest.mark.parametrize("kind", ["attached", "ours"])
def test_thousands_of_steps_hold_no_more_than_the_first(tmp_path, kind):
    """Forecasts at every tenth step and accounts at every fiftieth; the log takes a line per 300 steps.

    One object kept per second step would be a thousand, one row of logits per step 2 MiB.
    """
    model, tokenizer = loaded_llama(tmp_path / "model")
    options = {"steps": STEPS, "logging_steps": 300, "learning_rate": 1e-3, "optim": "adamw_torch"}
    if kind == "attached":
        made = grpo_trainer(tmp_path / "run", model, tokenizer, tokens=4, **options)
        diagnostics.attach(made, forecast_every=10, account_every=50)
    else:
        rule = update_rules.get("entropy-bonus", target=1.0)
        made = tabular_trainer(
            tmp_path / "run", rule, model=model, max_completion_length=4, **options)
        made.add_callback(Accountant(made, every=50, forecast_every=10))
    footprint = Footprint()
    made.add_callback(footprint)
    made.train()
    print(footprint.seen)  # for a test that fails
    (tensors, objects, resident), (middle, more, _), (last, _, mib) = footprint.seen
    assert tensors == middle == last
    assert more - objects < 250
    assert mib - resident < 3
