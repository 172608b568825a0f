"""Guards llm_bridge/analysis/noise_parts.py and other_sampler.py on runs of a few steps."""

import numpy as np
import pytest
import torch

from llm_bridge.analysis import noise_parts, other_sampler
from llm_bridge.commands import noise_comparison as comparison
from llm_bridge.commands.comparison import Size
from llm_bridge.commands.noise_designs import NoisyRun
from llm_bridge.trainer.entropy_trainer import EntropyTrainer
from tests.daily import one_in

SIZE = Size(steps=4, prompts=4, samples=4)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that accounts for every step of a run of four."""
    monkeypatch.setattr(noise_parts, "EVERY", 1)
    return lambda rate=1e-2, **which: comparison.run(
        NoisyRun(kind="accounted", **which), SIZE, rate, tmp_path / "run")[0]


def weights(model):
    return torch.cat([one.detach().flatten().clone() for one in model.parameters()])


@pytest.mark.deep
def test_the_sampler_is_as_many_steps_old_as_was_asked(run, monkeypatch):
    """The first two steps have no weights of two steps ago, and draw from the first."""
    drawn, trained = [], []
    draw, step = EntropyTrainer.draw_completions, other_sampler.OtherSampler.on_step_begin

    def look(self, *given, **options):
        drawn.append(weights(self.generating_model))
        return draw(self, *given, **options)

    def note(self, *given, **options):
        trained.append(weights(self._trainer.generating_model))
        step(self, *given, **options)

    monkeypatch.setattr(EntropyTrainer, "draw_completions", look)
    monkeypatch.setattr(other_sampler.OtherSampler, "on_step_begin", note)
    monkeypatch.setitem(comparison.SAMPLERS, "8 steps stale", {"steps_old": 2})
    run(variant="8 steps stale")
    assert len({float(one.sum()) for one in trained}) == 4
    for place, found in zip((0, 0, 0, 1), drawn, strict=True):
        assert torch.equal(found, trained[place])


@pytest.mark.deep
def test_a_rounded_sampler_leaves_the_model_as_it_was(run, monkeypatch):
    """Its buffers too, such as the frequencies of positions, which rounding would change for good."""
    step, seen = other_sampler.OtherSampler.on_step_begin, []

    def look(self, *given, **options):
        model = self._trainer.generating_model
        seen.append([one.clone() for one in model.buffers()])
        assert {one.dtype for one in model.parameters()} == {torch.float32}
        assert not torch.equal(weights(model), weights(model).bfloat16().float()) or len(seen) == 1
        step(self, *given, **options)

    monkeypatch.setattr(other_sampler.OtherSampler, "on_step_begin", look)
    run(variant="bfloat16 sampler")
    assert len(seen) == 4
    assert seen[0]
    for later in seen:
        assert all(map(torch.equal, later, seen[0]))


@pytest.mark.parametrize("variant", one_in(4, ["1 step stale", "KL .1", "top-p .95", "bfloat16 sampler"]))
def test_parts_add_up_and_each_is_there_where_its_cause_is(run, variant):
    found = run(rate=1e-4, variant=variant)["parts"]
    whole = sum(found[name] for name in ("signal", "noise", "momentum", "weight_decay", "rest"))
    assert whole == pytest.approx(found["measured"], abs=1e-4)
    assert abs(found["rest"]) < 0.1 * abs(found["measured"]) + 1e-4
    assert (found["penalty"] != 0) == (variant == "KL .1")
    assert (abs(found["mismatch"]) > 1e-9) == (variant in (
        "top-p .95", "1 step stale", "bfloat16 sampler"))
    assert found["momentum"] != 0


@pytest.mark.deep
def test_mismatch_is_what_weights_would_take_away(run, monkeypatch):
    """With all tokens weighed by 0, or by 1: all of the gradient's part, or nothing."""
    for weight in (0.0, 1.0):
        monkeypatch.setattr(
            noise_parts, "nucleus_mass", lambda logits, top_p, w=weight: torch.full(logits.shape[:-1], w))
        found = run()["parts"]
        # Parts have five digits: a sum of two is off by 1e-5, as are two passes in float32.
        assert found["mismatch"] == pytest.approx(
            (1 - weight) * (found["signal"] + found["noise"]), rel=1e-4, abs=1e-6)


def test_the_nucleus_has_the_token_that_passes_top_p():
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    found = [float(other_sampler.nucleus_mass(logits, top_p)) for top_p in (0.4, 0.5, 0.6, 0.9, 1.0)]
    np.testing.assert_allclose(found, [0.5, 0.5, 0.8, 0.95, 1.0], rtol=1e-6)
