"""Guards AEnt under verl: verl's own FSDP engine hands its logits over, and the step is the rule's."""

import functools
import types

import pytest

pytest.importorskip("verl")

import torch
from verl.utils import tensordict_utils
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead
from verl.workers.engine.utils import prepare_micro_batches

from entropy_theory import update_rules
from llm_bridge import verl_plugin
from llm_bridge.head.token_statistics import from_logits
from llm_bridge.objective.loss import policy_loss
from tests.verl.verl_batches import POSITIONS, ROWS, engine_data, ours, random_batch

VOCABULARY = ROWS * POSITIONS
OPTIONS = {"adaptive": False, "coefficient": 0.5, "removed_fraction": 0.4}


def aent(**options):
    return ours("aent", OPTIONS, calculate_entropy=True, **options)


def losses(config, data, logits, *, fused=False):
    """The loss of each micro-batch, from verl's own way from a model's logits to a loss."""
    engine = types.SimpleNamespace(engine_config=types.SimpleNamespace(entropy_checkpointing=False))
    loss = functools.partial(verl_plugin.rule_loss, config=config)
    tensordict_utils.assign_non_tensor(data, use_remove_padding=False, calculate_entropy=True)
    for part in prepare_micro_batches(data)[0]:
        ids = part["input_ids"]
        width = int(ids.offsets().diff().max())
        found = FSDPEngineWithLMHead.prepare_model_outputs(
            engine, types.SimpleNamespace(logits=logits[part["row"], :width]),
            {"temperature": torch.ones(len(part["row"])), "temperature_is_one": True,
             "input_ids_rmpad_rolled": torch.cat([row.roll(-1) for row in ids.unbind()])},
            part, loss)
        if fused:
            found.pop("clamped_entropy")
        yield loss(model_output=found, data=part)[0]


def table():
    generator = torch.Generator().manual_seed(3)
    return torch.randn(ROWS, POSITIONS + 1, VOCABULARY, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("size", [ROWS, 4])
def test_the_step_is_the_rule_s(size):
    """Gradients of all logits, against the loss of TRL training on the same tokens."""
    batch, config, logits = random_batch(5), aent(), table().requires_grad_()
    data = engine_data(batch)
    verl_plugin.add_columns(data, config, step=0)
    tensordict_utils.assign_non_tensor(data, micro_batch_size_per_gpu=size)
    for loss in losses(config, data, logits):
        loss.backward()
    own = table().requires_grad_()
    ids = torch.arange(VOCABULARY).reshape(ROWS, POSITIONS)
    statistics = from_logits(own[:, :-1], ids, removed_fraction=0.4)
    columns = verl_plugin.token_batch(
        batch.old_log_prob, statistics.log_prob, batch.advantages, batch.mask,
        entropy=statistics.entropy, clamped_entropy=statistics.clamped_entropy, seed=0)
    base = update_rules.get("grpo", normalization="token-mean")
    policy_loss(columns, update_rules.get("aent", **OPTIONS, base=base)).backward()
    torch.testing.assert_close(logits.grad, own.grad, rtol=0, atol=1e-12)


def test_an_engine_that_shows_no_logits_is_named():
    config, data = aent(), engine_data(random_batch(5))
    verl_plugin.add_columns(data, config, step=0)
    with pytest.raises(ValueError, match=r"passed no logits: set .*use_fused_kernels=false"):
        list(losses(config, data, table(), fused=True))


def test_logits_that_are_spread_over_ranks_are_refused():
    config = aent()
    with pytest.raises(ValueError, match=r"strategy=megatron does not have: set .*strategy=fsdp2"):
        verl_plugin.check_actor(
            types.SimpleNamespace(**{
                name: getattr(config, name) for name in ("entropy_coeff", "calculate_entropy", "get")
            }, strategy="megatron"), verl_plugin.rule_of(config.policy_loss))
