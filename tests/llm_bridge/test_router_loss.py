"""Guards the load-balancing loss of mixtures of experts: it acts as in TRL, with a part of its own."""

import functools
import math

import pytest
import torch
import transformers
import trl

from entropy_theory.rounding import log_prob_tolerance
from llm_bridge import diagnostics
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.accounting.step_accounts import StepAccounts
from llm_bridge.running import faults
from llm_bridge.trainer import EntropyTrainer, from_trl
from tests.daily import one_in
from tests.llm_bridge.language_models import drawn_step
from tests.llm_bridge.llama_steps import experts, llama
from tests.llm_bridge.test_translation import SAME
from tests.llm_bridge.trl_steps import CUT, difference, trained

SHORT = 1e-4
"""A rate at which no token goes to another expert, where entropy jumps without a gradient."""
FEW = {"learning_rate": 0.01, "loss_type": "grpo"}


@pytest.mark.parametrize("family", [
    "Qwen3Moe", pytest.param("Mixtral", marks=pytest.mark.deep),
    pytest.param("GptOss", marks=pytest.mark.deep)])
def test_steps_with_a_router_s_loss_are_trl_s(tmp_path, family):
    """On uneven rows, in two micro-batches, each of which has a loss of its own tokens."""
    make = functools.partial(experts, family)
    expected, theirs = trained(tmp_path, trl.GRPOTrainer, {**FEW, **CUT}, make=make)
    found, ours = trained(tmp_path, EntropyTrainer, {**FEW, **CUT}, make=make, rule=from_trl)
    for own, other in zip(found, expected, strict=True):
        assert difference(own, other) <= SAME
    logs, evaluated = ([kind(made) for made in (ours, theirs)] for kind in (
        lambda made: made.state.log_history[0]["aux_loss"],
        lambda made: made.evaluate(made.train_dataset)["eval_loss"]))
    assert logs[0] == pytest.approx(logs[1], rel=SAME)
    assert evaluated[0] == pytest.approx(evaluated[1], rel=SAME)
    without, _ = trained(tmp_path, EntropyTrainer, {**FEW, **CUT, "router_aux_loss_coef": 0.0},
                         make=make, rule=from_trl)
    assert difference(found[0], without[0]) > 1e-3


def accounts(folder, kind, coefficient, **more):
    """The accounts of two clipped steps of a mixture in two micro-batches, as their log has them."""
    records = []

    def watch(made):
        if kind is EntropyTrainer:
            made.add_callback(Accountant(made))
        else:
            diagnostics.attach(made, account_every=1, account_tokens=True)
        made.add_callback(Records(made, records))

    trained(folder, kind, {**FEW, **CUT, "router_aux_loss_coef": coefficient, "max_grad_norm": 0.5,
                           "learning_rate": SHORT},
            prepare=watch, make=experts, **more)
    return records


class Records(transformers.TrainerCallback):
    def __init__(self, made, records):
        self.made, self.records = made, records

    def on_step_end(self, *_, **__):
        if isinstance(self.made, EntropyTrainer):
            self.records.append(self.made.entropy_account)
        else:
            (found,) = [callback for callback in self.made.callback_handler.callbacks
                        if isinstance(callback, StepAccounts)]
            self.records.append(found.current)


@pytest.mark.parametrize("kind", one_in(2, [EntropyTrainer, trl.GRPOTrainer]))
def test_a_router_s_loss_is_a_part_of_its_own(tmp_path, kind):
    """Beside it, a step's tokens do what they do without it, and all parts are the measured change."""
    rule = {"rule": from_trl} if kind is EntropyTrainer else {}
    steps = accounts(tmp_path, kind, 0.5, **rule)
    (plain, _) = accounts(tmp_path, kind, 0.0, **rule)
    assert "load_balancing" not in plain.forecast_parts
    own, other = (step.forecast_parts["gradient"] for step in (steps[0], plain))
    assert own == pytest.approx(other, rel=1e-5)
    for step in steps:
        assert abs(step.forecast_parts["load_balancing"]) > 0.01 * abs(step.forecast)
        assert math.fsum(step.account.parts.values()) == pytest.approx(step.account.measured, rel=0.01)
        assert step.tokens.gap < 1e-5


@pytest.mark.parametrize("family", ["Qwen3Moe", "Mixtral"])
def test_tokens_that_rounding_sends_to_other_experts_end_no_run(tmp_path, family):
    """In bfloat16, whose rows are scored and trained in layouts of their own; dense models are held to
    less, and a user may allow more or less."""
    model, tokenizer = experts(family)
    model = model.bfloat16()
    made, record, _ = drawn_step(
        tmp_path, model, tokenizer, samples=16, longest=24, num_iterations=2, gradient_checkpointing=True)
    assert record["entropy"] > 0
    layers, unit = model.config.num_hidden_layers, 2.0**-8
    allowed = faults.ROUTING * math.sqrt(unit * layers)
    assert made.scoring.rounding(model) == pytest.approx(log_prob_tolerance(unit) + allowed)
    assert faults.rounding(llama()[0].bfloat16(), "no") == log_prob_tolerance(unit)
    made.scoring._allowed = 1e-9
    with pytest.raises(ValueError, match="give EntropyTrainer a larger rounding"):
        made.train()


def read_in_pieces(model, ids, pieces):
    """Log-probabilities of tokens that are read piece by piece, after a cache of those before."""
    cache, found, start = transformers.DynamicCache(config=model.config), [], 0
    with torch.no_grad():
        for size in pieces:
            piece = ids[:, start : start + size]
            found.append(model(piece, past_key_values=cache, use_cache=True).logits)
            start += size
    return torch.cat(found, 1)[:, :-1].float().log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]


@pytest.mark.deep
@pytest.mark.parametrize("layers", [8, 24])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_what_routing_is_allowed_is_what_rounding_does(layers, dtype):
    """Drawing against scoring, with logits that spread by 4.5 nats: more than a dense model may differ,
    and no more than a mixture may."""
    torch.manual_seed(0)
    size = 64
    model = transformers.MixtralForCausalLM(transformers.MixtralConfig(
        vocab_size=512, hidden_size=size, intermediate_size=2 * size, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=2, num_local_experts=8, num_experts_per_tok=2))
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.normal_(0, weight.shape[-1] ** -0.5)
        model.get_input_embeddings().weight.normal_(0, 1)
        model.get_output_embeddings().weight.normal_(0, 4.5 * size**-0.5)
    model = model.to(dtype).eval()
    ids = torch.randint(3, 512, (8, 64))
    drawn, scored = (read_in_pieces(model, ids, pieces) for pieces in ([24] + 40 * [1], [64]))
    found = float((drawn - scored).square().mean().sqrt())
    dense = log_prob_tolerance(faults.roundoff(model, "no"))
    assert dense < found < faults.rounding(model, "no")
