"""Random batches on which a rule and an engine's function are compared."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from entropy_theory.token_batch import TokenBatch

POSITIONS = 7
CERTAIN = -0.01
"""The largest log-probability of a token, nats: divergences need 1 - p."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Columns [sequences, positions] of one optimizer step, float64; prompts and rewards [sequences]."""

    log_prob: torch.Tensor
    """log pi of the policy being trained, nats, with gradients."""
    entropy: torch.Tensor
    """Entropy at each token, nats, with gradients."""
    old_log_prob: torch.Tensor
    reference_log_prob: torch.Tensor
    sampling_log_prob: torch.Tensor
    advantage: torch.Tensor
    """One a sequence, repeated over its tokens."""
    mask: torch.Tensor
    """Boolean: the tokens that count. Some inside an answer do not, as of a tool."""
    group: torch.Tensor
    reward: torch.Tensor

    @property
    def per_token_reward(self) -> torch.Tensor:
        """The reward at the last token that counts, as engines hand it to estimators."""
        positions = torch.arange(self.mask.shape[1])
        last = torch.where(self.mask, positions, -1).max(1, keepdim=True).values
        return torch.where(positions == last, self.reward[:, None], 0.0)

    def token_batch(self, *, with_advantage: bool) -> TokenBatch:
        """Return the columns as rules read them, each token with weight 1 / N."""
        def repeated(column: torch.Tensor) -> torch.Tensor:
            return column[:, None].expand(self.mask.shape).contiguous()

        return TokenBatch(
            log_prob=self.log_prob.detach(), entropy=self.entropy.detach(),
            old_log_prob=self.old_log_prob, reference_log_prob=self.reference_log_prob,
            sampling_log_prob=self.sampling_log_prob, reward=repeated(self.reward), mask=self.mask,
            weight=torch.full(self.mask.shape, 1 / int(self.mask.sum())), group=repeated(self.group),
            sequence=repeated(torch.arange(len(self.group))),
            advantage=self.advantage if with_advantage else None)

    def rows(self, index: slice) -> Batch:
        """Return some of the sequences, a micro-batch."""
        return Batch(**{name: getattr(self, name)[index] for name in self.__slots__})


def random_batch(
    seed: int, *, drift: float = 0.3, mismatch: float = 0.2, sizes: tuple[int, ...] = (6, 6, 6, 6),
    holes: float = 0.15, masked_rows: int = 0, farthest: float = 0.0, binary: bool = False,
) -> Batch:
    """Draw answers of 1 to 7 tokens to a few prompts, uneven in all that a loss reads.

    Args:
        seed: of everything random.
        drift: typical log-ratio of policy to old policy, nats; one token in ten drifts four times as far.
        mismatch: typical log-ratio of old policy to sampler, nats.
        sizes: the numbers of answers to each prompt; the last prompt's advantages are all 0.
        holes: share of tokens inside answers that do not count.
        masked_rows: the number of answers of which no token counts.
        farthest: where it is not 0, log-ratio of the first token that counts, nats.
        binary: whether rewards are 0 or 1, rather than sevenths.
    """
    generator = torch.Generator().manual_seed(seed)
    shape = (sum(sizes), POSITIONS)

    def uniform(*size: int) -> torch.Tensor:
        return torch.rand(size, generator=generator)

    def normal(*size: int) -> torch.Tensor:
        return torch.randn(size, generator=generator)

    length = torch.randint(1, POSITIONS + 1, (shape[0], 1), generator=generator)
    positions = torch.arange(POSITIONS)
    mask = (positions < length) & ((uniform(*shape) > holes) | (positions == 0))
    mask[:masked_rows] = False
    old = (2 * uniform(*shape).log()).clamp(max=CERTAIN)
    moved = drift * normal(*shape) * torch.where(uniform(*shape) < 0.1, 4.0, 1.0)
    new = (old + moved).clamp(max=CERTAIN)
    advantage = normal(shape[0], 1)
    if farthest:
        old[masked_rows, 0] = min(CERTAIN, -1 - farthest)
        new[masked_rows, 0] = old[masked_rows, 0] + farthest
        advantage[masked_rows] = -1.0
    group = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    steps = 2 if binary else 7
    reward = torch.randint(0, steps, (shape[0],), generator=generator) / max(steps - 1, 1)
    for prompt in range(len(sizes)):  # a group with equal rewards has cases of its own
        rows = (group == prompt).nonzero()[:, 0]
        if (reward[rows] == reward[rows[0]]).all():
            reward[rows[0]] = 1 - reward[rows[0]] if reward[rows[0]] != 0.5 else 0.0
    advantage[group == len(sizes) - 1] = 0.0

    def column(values: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, values, 0.0)

    return Batch(
        log_prob=column(new).requires_grad_(),
        # Engines select tokens by entropies in float32, whatever these are in.
        entropy=column(normal(*shape).abs().float().double()).requires_grad_(),
        old_log_prob=column(old), mask=mask, group=group, reward=reward,
        reference_log_prob=column(old + 0.3 * normal(*shape)),
        sampling_log_prob=column((old + mismatch * normal(*shape)).clamp(max=CERTAIN)),
        advantage=column(advantage.expand(shape)))
