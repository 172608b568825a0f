"""Guards llm_bridge/verl_plugin.py and verl_worker.py: a step is the same however verl cuts it."""

import contextlib
import functools

import pytest

pytest.importorskip("verl")

import torch
from verl.trainer.ppo.core_algos import get_policy_loss_fn
from verl.utils import tensordict_utils
from verl.workers.config import ActorConfig
from verl.workers.engine.utils import prepare_micro_batches
from verl.workers.engine_workers import ActorRolloutRefWorker, TrainingWorker
from verl.workers.utils.losses import ppo_loss

from entropy_theory.update_rules.clip_cov import ClipCov
from llm_bridge import verl_columns, verl_plugin
from tests.verl.verl_batches import (
    ROWS,
    Batch,
    actor_config,
    engine_data,
    hook,
    model_output,
    ours,
    random_batch,
    whole,
)

BOUNDS = {"ratio": 0.1, "lower": 0.3, "upper": 2.0}
ENTROPY, REFERENCE = {"calculate_entropy": True}, {"use_kl_loss": True, "kl_loss_coef": 0.0}
CLIP_COV = {"name": "clip-cov", **BOUNDS}
RULES = {
    "reinforce": ("reinforce", {}, {}),
    "grpo": ("grpo", {"dual_clip": 3.0}, {}),
    "gspo": ("gspo", {"clip_low": 0.1, "clip_high": 0.1}, {}),
    "clip-higher": ("clip-higher", {}, {}),
    "entropy-bonus": ("entropy-bonus", {"coefficient": 0.1}, ENTROPY),
    "entropy-advantage": ("entropy-advantage", {}, ENTROPY),
    "reference-kl": ("reference-kl", {"coefficient": 0.1}, REFERENCE),
    "clip-cov": ("clip-cov", BOUNDS, {}),
    "kl-cov": ("kl-cov", {"ratio": 0.1}, {}),
    "kl-cov on clip-cov": ("kl-cov", {"ratio": 0.1, "base": CLIP_COV}, {}),
    "bonus on clip-cov": ("entropy-bonus", {"coefficient": 0.1, "base": CLIP_COV}, ENTROPY),
}
CLOSE = 1e-12
"""Absolute, for gradients of size up to 1 that are sums of a few dozen terms."""


def configured(name: str, mode: str = "token-mean") -> ActorConfig:
    rule, rule_options, options = RULES[name]
    return ours(rule, rule_options, loss_agg_mode=mode, **options)


def accumulate(batch: Batch, config: ActorConfig, loss, *, size: int = ROWS, tokens: int = 0,
               add: bool = True):
    """Gradients by (log_prob, entropy) and summed metrics, over micro-batches as verl cuts them."""
    log_prob, entropy = (c.clone().requires_grad_() for c in (batch.log_prob, batch.entropy))
    data = engine_data(batch, reference=True)
    tensordict_utils.assign_non_tensor(
        data, micro_batch_size_per_gpu=size, use_dynamic_bsz=bool(tokens),
        max_token_len_per_gpu=tokens)
    if add:
        verl_plugin.add_columns(data, config, step=0)
    parts, _ = prepare_micro_batches(data)
    totals: dict[str, float] = {}
    for part in parts:
        wanted = entropy if config.calculate_entropy else None
        value, metrics = loss(
            config=config, model_output=model_output(part, log_prob, wanted), data=part)
        value.backward()
        for name, metric in metrics.items():
            if hasattr(metric, "aggregate"):
                totals[name] = totals.get(name, 0.0) + metric.aggregate()
    zeros = torch.zeros_like(batch.entropy)
    return log_prob.grad, zeros if entropy.grad is None else entropy.grad, totals, len(parts)


@pytest.mark.parametrize(("mode", "cut"), [
    ("token-mean", {"size": 1}), ("seq-mean-token-mean", {"size": 4}),
    ("seq-mean-token-sum", {"tokens": 16})], ids=str)
@pytest.mark.parametrize("name", RULES)
def test_any_cut_gives_the_same_step(name, mode, cut):
    """verl issue 7829, for every rule that runs under verl, with fixed and dynamic micro-batches."""
    batch, config = random_batch(5), configured(name, mode)
    expected = accumulate(batch, config, verl_plugin.rule_loss)
    found = accumulate(batch, config, verl_plugin.rule_loss, **cut)
    assert expected[0].abs().max() > 1e-3
    assert found[3] > 1
    for mine, whole_batch in zip(found[:2], expected[:2], strict=True):
        torch.testing.assert_close(mine, whole_batch, rtol=0, atol=CLOSE)
    assert found[2] == pytest.approx(expected[2], abs=CLOSE)
    if "-cov" in name:
        assert found[2]["actor/selected_fraction"] > 0


@pytest.mark.parametrize("name", ["reinforce", "grpo", "gspo", "clip-higher"])
def test_the_hook_alone_is_enough_for_rules_that_see_rows(name):
    """Without the worker: the registered loss, micro-batch by micro-batch, gives the same step."""
    batch, config = random_batch(5), configured(name)
    expected = hook(batch, config)[0]
    parts = [hook(batch.rows(slice(i, i + 4)), config, info=whole(batch))[0]
             for i in range(0, ROWS, 4)]
    torch.testing.assert_close(torch.cat(parts), expected, rtol=0, atol=CLOSE)


def test_the_hook_selects_as_the_worker_does_or_refuses():
    """On the whole mini-batch both are one rule; on less the hook says what to set."""
    batch, config = random_batch(5), configured("kl-cov")
    expected = accumulate(batch, config, verl_plugin.rule_loss, size=3)[0]
    torch.testing.assert_close(hook(batch, config)[0], expected, rtol=0, atol=CLOSE)
    message = r"whole mini-batch.*external_lib=llm_bridge.verl_worker.*ppo_micro_batch_size_per_gpu"
    for info in (whole(random_batch(6, rows=20)), whole(batch, dp_size=2), {}):
        with pytest.raises(ValueError, match=message):
            hook(batch, config, info=info)
    with pytest.raises(ValueError, match=r"lacks the columns.*external_lib"):
        accumulate(batch, config, verl_plugin.rule_loss, add=False)


def test_the_optimizer_step_is_known_or_the_rule_is_refused():
    """Without it a rule would take every step for the first: it would never fade, and draw alike."""
    batch, config = random_batch(5), configured("clip-cov")
    with pytest.raises(ValueError, match=r"depends on the optimizer step.*external_lib"):
        get_policy_loss_fn(config.policy_loss.loss_mode)(
            batch.old_log_prob, batch.log_prob, batch.advantages, batch.mask, config=config)
    with pytest.raises(ValueError, match=r"has not been counted"):
        verl_plugin.add_columns(engine_data(batch), config, step=None)
    with pytest.raises(ValueError, match=r"has not been counted"):
        accumulate(batch, config, verl_plugin.rule_loss, add=False)


def test_entropy_bonus_is_verl_s_entropy_coefficient():
    """The same two gradients as verl's loss with entropy_coeff, in every aggregation."""
    batch = random_batch(5)
    for mode in ("token-mean", "seq-mean-token-mean"):
        theirs = actor_config(entropy_coeff=0.1, calculate_entropy=True, loss_agg_mode=mode)
        mine = ours("entropy-bonus", {"coefficient": 0.1, "base": {"name": "grpo", "dual_clip": 3.0}},
                    calculate_entropy=True, loss_agg_mode=mode)
        expected = accumulate(batch, theirs, ppo_loss, add=False)
        found = accumulate(batch, mine, verl_plugin.rule_loss, size=4)
        for own, other in zip(found[:2], expected[:2], strict=True):
            assert other.abs().max() > 1e-3
            torch.testing.assert_close(own, other, rtol=0, atol=CLOSE)


@pytest.mark.parametrize(("estimator", "kind"), [("k2", "mse"), ("k3", "low_var_kl")])
def test_reference_kl_is_verl_s_kl_loss(estimator, kind):
    batch = random_batch(5)
    theirs = actor_config(use_kl_loss=True, kl_loss_coef=0.3, kl_loss_type=kind)
    mine = ours("reference-kl", {"coefficient": 0.3, "estimator": estimator,
                                 "base": {"name": "grpo", "dual_clip": 3.0}},
                use_kl_loss=True, kl_loss_coef=0.0)
    expected = accumulate(batch, theirs, ppo_loss, add=False)[0]
    found = accumulate(batch, mine, verl_plugin.rule_loss, size=4)[0]
    torch.testing.assert_close(found, expected, rtol=0, atol=CLOSE)


def test_a_micro_batch_without_response_tokens_has_loss_zero():
    """Rejected samples: no NaN, and the metrics that the other ranks wait for."""
    batch = random_batch(5)
    info = whole(batch)
    blank = batch.rows(slice(0, 2))
    blank.mask = torch.zeros_like(blank.mask)
    for name in ("grpo", "gspo", "reinforce"):
        gradient, loss, metrics = hook(blank, configured(name), info=info)
        assert loss == 0
        assert not gradient.any()
        assert metrics.keys() == hook(batch, configured(name))[2].keys()
        assert not any(metrics.values())


class Engine:
    """As much of verl's engine as its TrainingWorker calls: a table of log-probabilities to train."""

    def __init__(self, batch: Batch, group, with_entropy: bool):
        self.log_prob = batch.log_prob.clone().requires_grad_()
        self.entropy = batch.entropy.clone().requires_grad_() if with_entropy else None
        self.group = group
        self.micro_batches = 0

    def get_data_parallel_size(self):
        return 1

    def get_data_parallel_rank(self):
        return 0

    def get_data_parallel_group(self):
        return self.group

    def is_mp_src_rank_with_outputs(self):
        return True

    def train_mode(self, **_):
        return contextlib.nullcontext()

    def lr_scheduler_step(self):
        return 0.1

    def save_checkpoint(self, *_):
        pass

    load_checkpoint = save_checkpoint

    def train_batch(self, data, loss_function):
        parts, _ = prepare_micro_batches(data)
        losses, metrics = [], {}
        for part in parts:
            loss, found = loss_function(
                model_output=model_output(part, self.log_prob, self.entropy), data=part,
                dp_group=self.group)
            loss.backward()
            losses.append(loss.item())
            for name, metric in found.items():
                metrics.setdefault(name, metric.init_list()).append(metric)
        self.micro_batches += len(parts)
        return {"model_output": {}, "loss": losses, "metrics": metrics}


def make_worker(batch: Batch, config: ActorConfig, group) -> TrainingWorker:
    """The class that verl would make, without the parts that need an accelerator."""
    worker = object.__new__(ActorRolloutRefWorker.actor_worker_cls)
    worker.engine = Engine(batch, group, config.calculate_entropy)
    worker._rank = 0
    worker.model_config, worker.flops_counter, worker.device_name = {}, None, "cpu"
    worker.engine_config = type("Config", (), {
        "forward_only": False, "use_dynamic_bsz": False, "max_token_len_per_gpu": 0,
        "micro_batch_size_per_gpu": 4, "use_fused_kernels": False})()
    worker.profiler = type("Profiler", (), {"step": lambda self: None, "__getattr__":
                                            lambda self, name: lambda *a, **k: False})()
    worker.set_loss_fn(functools.partial(ppo_loss, config=config))
    return worker


def train(
    worker: TrainingWorker, batch: Batch, *, mini_batch: int = ROWS, epochs: int = 1
) -> dict:
    data = engine_data(batch, reference=True)
    tensordict_utils.assign_non_tensor(
        data, mini_batch_size=mini_batch, epochs=epochs, micro_batch_size_per_gpu=4)
    return tensordict_utils.get(worker.train_mini_batch(data), "metrics")


def test_the_worker_leaves_verl_s_own_losses_alone(group):
    import llm_bridge.verl_worker  # noqa: F401

    batch, config = random_batch(5), actor_config("vanilla")
    worker = make_worker(batch, config, group)
    train(worker, batch)
    assert worker.loss_fn.func is ppo_loss
    torch.testing.assert_close(
        worker.engine.log_prob.grad, hook(batch, config)[0], rtol=0, atol=CLOSE)


def test_the_worker_warns_of_a_rule_that_would_do_nothing(group, caplog):
    """KL-Cov with one optimizer step a batch: its penalty is flat at ratio 1."""
    import llm_bridge.verl_worker  # noqa: F401

    verl_columns._warn_once.cache_clear()
    batch = random_batch(5)
    for name, expected in (("kl-cov", True), ("clip-cov", False)):
        caplog.clear()
        train(make_worker(batch, configured(name), group), batch)
        assert ("no gradient where every step is on-policy" in caplog.text) is expected


def test_the_worker_counts_optimizer_steps_through_checkpoints(group, tmp_path, monkeypatch):
    """Two epochs of three mini-batches, a checkpoint, and a worker that goes on from it: a rule sees
    0 to 5, then 6 to 8, in all micro-batches of a step; the seed is data_loader_seed. Where the
    checkpoint has no count the rule is refused, and others go on.
    """
    import llm_bridge.verl_worker  # noqa: F401

    seen = []
    original = ClipCov._scores
    monkeypatch.setattr(ClipCov, "_scores", lambda self, batch: (
        seen.append((batch.step, batch.seed)), original(self, batch))[1])
    batch = random_batch(5)
    config = ours("clip-cov", BOUNDS, data_loader_seed=7)
    worker = make_worker(batch, config, group)
    train(worker, batch, mini_batch=4, epochs=2)
    assert list(dict.fromkeys(seen)) == [(step, 7) for step in range(6)]
    worker.save_checkpoint(str(tmp_path), None, 2, None)

    resumed = make_worker(batch, config, group)
    resumed.load_checkpoint(str(tmp_path), None, False)
    seen.clear()
    train(resumed, batch, mini_batch=4)
    assert list(dict.fromkeys(seen)) == [(step, 7) for step in range(6, 9)]

    for name in ("clip-cov", "kl-cov"):
        unknown = make_worker(batch, configured(name), group)
        unknown.load_checkpoint(str(tmp_path / "another"), None, False)
        if name == "kl-cov":
            train(unknown, batch)
            continue
        with pytest.raises(ValueError, match="continue from checkpoints that were written with it"):
            train(unknown, batch)
