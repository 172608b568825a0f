"""Guards the verl adapter: a rule's coefficients are those of the plain path, on any batch.

The plain path is a TokenBatch of the whole mini-batch, a rule and `policy_loss`, all in float64. The
adapter has the same numbers as verl's worker hands them over, cut into micro-batches.
"""

import dataclasses

import pytest

pytest.importorskip("verl")

import torch
from verl.trainer.ppo.core_algos import agg_loss
from verl.utils import tensordict_utils

import llm_bridge.verl_worker  # noqa: F401, as actor_rollout_ref.model.external_lib does
from entropy_theory import update_rules
from entropy_theory.token_batch import TokenBatch
from llm_bridge import verl_columns, verl_plugin
from llm_bridge.objective.loss import policy_loss
from llm_bridge.verl_batches import sequence_ids
from tests.rules_by_hand import OPTIONS
from tests.verl.test_mini_batches import ENTROPY, REFERENCE, make_worker
from tests.verl.verl_batches import POSITIONS, ROWS, engine_data, jagged, ours, random_batch

RELATIVE = 1e-10
"""Of the largest coefficient of a batch, in float64."""
GROUPS = torch.tensor([0, 1, 2, 0, 1, 0, 3, 1, 0, 4, 4, 2])
"""Of uneven sizes, in no order; all answers of prompt 1 are right, of 4 wrong, and 3 has but one."""
SECOND = 4
"""Of the rows, in a batch with a second one."""
RULES = {
    "reinforce": ("reinforce", {}, {}),
    "grpo": ("grpo", {"dual_clip": 3.0}, {}),
    "gspo": ("gspo", {"clip_low": 0.1, "clip_high": 0.1}, {}),
    "clip-higher": ("clip-higher", {}, {}),
    "entropy-bonus": ("entropy-bonus", {"coefficient": 0.1}, ENTROPY),
    "entropy-advantage": ("entropy-advantage", {}, ENTROPY),
    "reference-kl": ("reference-kl", {"coefficient": 0.1}, REFERENCE),
    "clip-cov": ("clip-cov", {"ratio": 0.1, "lower": 0.3, "upper": 2.0}, {}),
    "kl-cov": ("kl-cov", {"ratio": 0.1}, {}),
    "diverse-bonus": ("diverse-bonus", {"coefficient": 0.3}, {}),
    "diverse-bonus, prompts": ("diverse-bonus", {"coefficient": 0.3, "prompt_gain": 2.0}, ENTROPY),
    "entropy-bonus, prompts, on kl-cov": (
        "entropy-bonus",
        {"coefficient": 0.1, "prompt_gain": 0.5, "base": {"name": "kl-cov", "ratio": 0.1}}, ENTROPY),
    "aepo": ("aepo", {"alpha": 0.7}, {}),
    "aepo, positives": ("aepo", {"normalize": "positives", "towards": "shorter-responses"}, {}),
    "aepo, code": ("aepo", {"form": "code", "replaced_rows": 2}, {}),
    "aepo, advantage": ("aepo", {"ablation": "advantage"}, {}),
    "aepo on diverse-bonus": ("aepo", {"base": {"name": "diverse-bonus", "coefficient": 0.3}}, {}),
    "aepo on entropy-bonus": ("aepo", {"base": {"name": "entropy-bonus", "prompt_gain": 0.5}}, ENTROPY),
    "entropic": ("entropic", {"threshold": 0.3, "coefficient": 0.7, "target": None}, {}),
    "dppo of the sampler": ("dppo", {"anchor": "sampling", "delta_high": 0.01}, {}),
}
REFUSED = {"bapo", "difficulty", "entrocraft", "lp-reg", "m2po", "natural-gradient", "stare", "steer",
           "top-entropy", "unlikeliness"}
ELSEWHERE = {"aent"}
"""The rule whose logits `test_clamped_entropy` has."""
RULES |= {name: (name, OPTIONS.get(name, {}), {**ENTROPY, **REFERENCE})
          for name in update_rules.RULES if name not in {*RULES, *REFUSED, *ELSEWHERE}}


@dataclasses.dataclass
class Uneven:
    """A batch with holes in its mask, a sequence without a token, and groups that have no signal."""

    seed: int
    second: bool

    def __post_init__(self):
        self.batch = random_batch(self.seed)
        generator = torch.Generator().manual_seed(self.seed + 100)
        holes = torch.rand((ROWS, POSITIONS), generator=generator) < 0.2
        self.mask = self.batch.mask & ~holes
        self.mask[5] = False  # rejected
        self.mask[0, 0] = self.mask[-1, 0] = True
        self.reward = (torch.rand(ROWS, generator=generator) < 0.5).double()
        self.reward[GROUPS == 1], self.reward[GROUPS == 4] = 1.0, 0.0
        self.offset = (torch.arange(ROWS) % 3 - 1) * 0.2
        drift = 0.1 * torch.randn((2, ROWS, POSITIONS), generator=generator, dtype=torch.float64)
        self.old_entropy = self.batch.entropy * drift[0].exp()
        self.sampling_log_prob = self.batch.old_log_prob + drift[1]
        self.tempered = torch.arange(ROWS) >= (ROWS - SECOND if self.second else ROWS)
        self.group = torch.where(self.tempered, 10 + torch.arange(ROWS) % 2, GROUPS)

    def data(self, *, offsets: bool):
        """As verl's trainer hands it to the actor's worker."""
        data = engine_data(self.batch, reference=True)
        shown = jagged(self.mask.long(), self.batch.mask)
        data["response_mask"], data["loss_mask"] = shown, shown.clone()
        data["entropy"] = jagged(self.old_entropy, self.batch.mask)
        data["rollout_log_probs"] = jagged(self.sampling_log_prob, self.batch.mask)
        lengths = self.batch.mask.sum(1)
        last = torch.arange(POSITIONS) == lengths[:, None] - 1
        data["rm_scores"] = jagged(torch.where(last, self.reward[:, None], 0.0), self.batch.mask)
        prompts = [f"prompt {group}" for group in self.group.tolist()]
        tensordict_utils.assign_non_tensor_stack(data, "uid", prompts)
        if offsets:
            tensordict_utils.assign_non_tensor_stack(data, "target_offset", self.offset.tolist())
        if self.second:
            data["tempered"] = self.tempered
            data["sampling_temperature"] = torch.where(self.tempered, 1.2, 1.0)
        tensordict_utils.assign_non_tensor(
            data, batch_num_tokens=int(self.mask.sum()),
            global_batch_size=int((~self.tempered).sum()), mini_batch_size=int((~self.tempered).sum()),
            epochs=1)
        return data

    def columns(self, log_prob, entropy, *, offsets: bool) -> TokenBatch:
        def repeated(values):
            return values[:, None].expand(ROWS, POSITIONS)

        tempered, mask = repeated(self.tempered), self.mask
        tokens = torch.where(tempered, (mask & tempered).sum(), (mask & ~tempered).sum())
        ids = sequence_ids(self.batch.old_log_prob, self.batch.mask)
        return TokenBatch(
            log_prob=log_prob, old_log_prob=self.batch.old_log_prob, reward=repeated(self.reward),
            advantage=self.batch.advantages, mask=mask, weight=mask.double() / tokens, entropy=entropy,
            old_entropy=self.old_entropy, sampling_log_prob=self.sampling_log_prob,
            reference_log_prob=self.batch.reference_log_prob, group=repeated(self.group),
            sequence=sequence_ids(self.batch.old_log_prob, mask).expand_as(ids.expand(ROWS, POSITIONS)),
            target_offset=repeated(self.offset).double() if offsets else None,
            tempered=tempered if self.second else None,
            sampling_temperature=torch.where(tempered, 1.2, 1.0) if self.second else None, seed=42)


def adapter(case: str, uneven: Uneven, size: int, mode: str = "token-mean", group=None):
    """Gradients by log-probabilities and entropies, of verl's worker in micro-batches of some rows."""
    name, options, of_actor = RULES[case]
    config = ours(name, options, loss_agg_mode=mode, loss_scale_factor=POSITIONS, **of_actor)
    worker = make_worker(uneven.batch, config, group)
    data = uneven.data(offsets="prompts" in case)
    tensordict_utils.assign_non_tensor(data, micro_batch_size_per_gpu=size)
    worker.train_mini_batch(data)
    engine = worker.engine
    assert engine.micro_batches == -(-ROWS // size)
    entropy = None if engine.entropy is None else engine.entropy.grad
    return engine.log_prob.grad, torch.zeros_like(uneven.batch.entropy) if entropy is None else entropy


def plain(case: str, uneven: Uneven):
    name, options, _ = RULES[case]
    rule = verl_plugin.make_rule(name, options)
    log_prob, entropy = (
        c.clone().requires_grad_() for c in (uneven.batch.log_prob, uneven.batch.entropy))
    batch = uneven.columns(log_prob, entropy, offsets="prompts" in case)
    old = uneven.columns(uneven.batch.old_log_prob, uneven.old_entropy, offsets="prompts" in case)
    prepared = rule.prepare(old).prepared if verl_plugin.needs_whole_batch(rule) else (
        rule.prepare(uneven.columns(
            uneven.batch.log_prob, uneven.batch.entropy, offsets=False)).prepared)
    policy_loss(batch.with_prepared(**prepared), rule).backward()
    return log_prob.grad, torch.zeros_like(entropy) if entropy.grad is None else entropy.grad


@pytest.mark.parametrize("size", [ROWS, 4, 1])
@pytest.mark.parametrize("case", RULES)
def test_coefficients_are_those_of_the_plain_path(case, size, group):
    for seed in range(3):
        uneven = Uneven(seed, case.startswith("aepo"))
        found, expected = adapter(case, uneven, size, group=group), plain(case, uneven)
        assert expected[0].abs().max() > 1e-3
        for mine, whole in zip(found, expected, strict=True):
            torch.testing.assert_close(mine, whole, rtol=0, atol=RELATIVE * float(whole.abs().max() or 1))


@pytest.mark.parametrize("mode", ["token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean",
                                  "seq-mean-token-sum-norm"])
def test_a_second_batch_is_averaged_by_the_rule_and_the_first_by_verl(mode, group):
    """In any aggregation: the ordinary rows' part is verl's without the others, theirs is Eq. 1's."""
    uneven = Uneven(1, second=True)
    found = adapter("aepo", uneven, 4, mode, group)[0]
    expected = plain("aepo", uneven)[0]
    rows = uneven.tempered
    torch.testing.assert_close(found[rows], expected[rows], rtol=RELATIVE, atol=1e-15)
    ordinary = uneven.mask & ~rows[:, None]
    tokens, ones = int(ordinary.sum()), torch.ones(ROWS, POSITIONS, dtype=torch.float64).requires_grad_()
    agg_loss(ones, ordinary.double(), mode, batch_num_tokens=tokens,
             global_batch_size=ROWS - SECOND, loss_scale_factor=POSITIONS).backward()
    torch.testing.assert_close(
        found[~rows], (expected * tokens * ones.grad)[~rows], rtol=1e-7, atol=1e-15)  # verl's own 1e-8


@pytest.mark.parametrize("name", REFUSED)
def test_other_rules_are_refused_before_a_run(name):
    with pytest.raises(ValueError, match=f"'{name}' does not run under verl"):
        verl_plugin.make_rule(name, {})


def test_a_sampler_is_corrected_once(group):
    uneven = Uneven(0, second=False)
    data = uneven.data(offsets=False)
    data["rollout_is_weights"] = jagged(uneven.mask.double(), uneven.batch.mask)
    worker = make_worker(uneven.batch, ours("sampler-correction"), group)
    with pytest.raises(ValueError, match=r"both weigh tokens.*rollout_is=null"):
        worker.train_mini_batch(data)


def test_what_the_trainer_left_out_is_named(group):
    """Rewards, prompts and a second batch are verl's v1 trainer's, and ours."""
    for case, absent, message in (
            ("diverse-bonus", "uid", r"reads rewards and prompts.*trainer.use_v1=true"),
            ("diverse-bonus, prompts", "entropy", r"prompt_gain.*bypass_mode"),
            ("erc", "entropy", r"reads entropy.*trainer.use_v1=true"),
            ("sampler-correction", "rollout_log_probs", r"rollout\.calculate_log_probs=true"),
            ("aepo", "tempered", r"second batch.*trainer_mode=entropy-theory.*verl_second_batch")):
        name, options, of_actor = RULES[case]
        worker = make_worker(random_batch(), ours(name, options, **of_actor), group)
        data = Uneven(0, case == "aepo").data(offsets=False)
        with pytest.raises(ValueError, match=message):
            worker.train_mini_batch(data.exclude(absent))
    worker = make_worker(random_batch(), ours("diverse-bonus"), group)
    with pytest.raises(ValueError, match=r"a mini-batch may hold only some.*train_mini_batch"):
        worker.train_batch(Uneven(0, False).data(offsets=False))
    with pytest.raises(ValueError, match=r"shuffle=true.*shuffle=false"):
        make_worker(random_batch(), ours("aepo", shuffle=True), group)
    with pytest.raises(ValueError, match=r"form 'code'.*loss_agg_mode=token-mean"):
        make_worker(random_batch(), ours("aepo", {"form": "code"}, loss_agg_mode="token-sum"), group)
    with pytest.raises(ValueError, match=r"column target_offset.*give it target"):
        verl_columns.add_batch_columns(Uneven(0, False).data(offsets=True), ours("grpo"), step=0)
