"""Guards accounts that hold nothing on the device, with a stand-in for the device."""

import logging
from types import SimpleNamespace

import pytest
import torch
from accelerate import Accelerator

from llm_bridge import diagnostics
from llm_bridge.accounting.entropy_gradient import EntropyGradient
from llm_bridge.accounting.step_accountant import StepAccountant
from llm_bridge.accounting.step_rows import StepRows
from tests.llm_bridge.card import Card
from tests.llm_bridge.language_models import grpo_trainer, loaded_llama

WIDTH, ACTIONS = 32, 8


class Layers(torch.nn.Module):
    """A policy of many weights of one size, at two states."""

    def __init__(self, place, layers):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.config = SimpleNamespace(attention_dropout=0.0)
        self.start = place(torch.randn(2, 1, WIDTH, generator=generator))
        self.layers = torch.nn.ParameterList(
            torch.nn.Parameter(place(torch.randn(WIDTH, WIDTH, generator=generator) / WIDTH**0.5))
            for _ in range(layers))

    def statistics(self):
        hidden = self.start
        for weight in self.layers:
            hidden = hidden + 0.1 * (hidden @ weight).tanh()
        log_probs = hidden[..., :ACTIONS].log_softmax(-1)
        return SimpleNamespace(
            entropy=-(log_probs.exp() * log_probs).sum(-1), log_prob=log_probs[..., 0])


def account(*, card=None, optimizer=torch.optim.AdamW, share=0.02, router=False, tokens=True,
            offload=True, layers=4):
    """Account for the second step of a model, whose optimizer has momentum by then.

    Args:
        card: where the model lies; None: in main memory.
        offload: as `EntropyGradient`.
        share: as `StepAccountant.finish`; a small one takes the longest path.
        router: whether a part of the gradient is a router's.

    Returns:
        The forecast's parts, the effects of tokens by the forecast, what was accounted, the weights after
        it, and the most that lay on the card beyond what training has there, in gradients.
    """
    place = (lambda tensor: tensor) if card is None else card.put
    model = Layers(place, layers)
    step = optimizer(model.parameters(), lr=0.01, weight_decay=0.1)
    gradient = EntropyGradient(model, Accelerator(cpu=True), offload=offload)
    gradient._has_no_forward_mode = True  # the card has none
    coefficients = place(torch.tensor([[1.0], [-1.0]]))
    rows = [StepRows(statistics=model.statistics, measure=place(torch.full((2, 1), 0.5)),
                     moved={"log_prob": coefficients})]
    for number in range(2):
        step.zero_grad()
        (-(coefficients * model.statistics().log_prob).sum()).backward()
        if number == 0:
            step.step()
    of_router = gradient.left_by(
        lambda: model.statistics().entropy.sum().backward()) if router else None
    before = 0
    if card is not None:
        before = card.most = card.bytes()
    made = StepAccountant(gradient, rows, step, router=of_router)
    forecast, announced = made.forecast_parts, made.announced_tokens() if tokens else None
    step.step()
    found = made.finish(share=share, tokens=tokens)
    weights = [weight.detach().to("cpu") for weight in model.layers]
    most = 0 if card is None else (card.most - before) / (4 * layers * WIDTH**2)
    return forecast, announced, found, weights, most


@pytest.mark.parametrize("options", [
    {}, {"share": 1e-9}, {"router": True}, {"optimizer": torch.optim.SGD}, {"tokens": False}], ids=str)
def test_what_is_held_elsewhere_gives_the_same_account(options):
    """To the last bit. A number used where it is held, and not where the model is, the card refuses."""
    expected = account(offload=False, **options)
    with Card() as card:
        found = account(card=card, **options)
    assert found[2].account.points == expected[2].account.points
    for mine, theirs in ((found[0], expected[0]),
                         (found[2].account.parts, expected[2].account.parts)):
        assert mine == theirs
        assert max(map(abs, theirs.values())) > 1e-4
    for mine, theirs in ((found[1], expected[1]), (found[2].tokens, expected[2].tokens)):
        if theirs is not None:
            assert torch.equal(mine.by_token[0].inner, theirs.by_token[0])
    assert all(map(torch.equal, found[3], expected[3]))


@pytest.mark.deep
@pytest.mark.parametrize("tokens", [True, False])
def test_the_device_holds_what_is_at_work_and_nothing_else(tokens):
    """Up to 13 weights of 32 are at work. Held are a gradient, and the weights before and after."""
    most = []
    for offload in (False, True):
        with Card() as card:
            most.append(account(card=card, offload=offload, tokens=tokens, layers=32)[-1])
    held, offloaded = most
    assert held > 3
    assert offloaded < 0.5


@pytest.mark.parametrize(("given", "words"), [
    ({}, "MiB for gradients and weights"),
    ({"offload": True}, "weights in main memory"),
    ({"offload": True, "account_tokens": True}, "one of them on the device for tokens"),
])
def test_a_watched_run_offloads_where_it_is_asked_to(tmp_path, caplog, monkeypatch, given, words):
    logging.getLogger("llm_bridge").propagate = True
    asked = []
    made = EntropyGradient.__init__
    monkeypatch.setattr(EntropyGradient, "__init__", lambda self, *arguments, **options: (
        asked.append(options["offload"]), made(self, *arguments, **options))[-1])
    trainer = grpo_trainer(tmp_path / "run", *loaded_llama(tmp_path / "model"), steps=1, tokens=2,
                           optim="adamw_torch")
    diagnostics.attach(trainer, account_every=1, **given)
    trainer.train()
    assert asked == ["offload" in given]
    assert f"{words}\n" in caplog.text
