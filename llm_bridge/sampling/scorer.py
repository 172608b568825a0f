"""Scores drawn tokens by the model itself, in teacher-forced passes, without logits where it can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from llm_bridge.forward import fused_forward
from llm_bridge.head.per_token import LogitMap
from llm_bridge.head.token_statistics import TokenStatistics, from_logits
from llm_bridge.sampling.samplers.batch import Tokens, positions

HELD_LOGITS = 2**28
"""The number of logits of a pass over a model whose logits must be held: 1 GiB in float32, or one row."""


PASS_TOKENS = 2**15
"""The number of tokens of a pass, which keep any accelerator busy: of a model of 7B in bfloat16 with the
MLP of Qwen2.5 they take some 4 GiB while they are read."""


def rows_of_pass(batch_size: int, width: int) -> int:
    """Return the number of rows of a pass over prompts and completions of ``width`` tokens together."""
    return max(1, min(batch_size, PASS_TOKENS // width))


class Scorer:
    """Computes log-probabilities and entropies of tokens that anything drew."""

    def __init__(self, model: Any):
        self._model = model
        self._trials = fused_forward.Trials()

    def score(
        self, prompts: tuple[torch.Tensor, torch.Tensor], token_ids: torch.Tensor, mask: torch.Tensor,
        temperature: float, batch_size: int,
    ) -> Tokens:
        """Score tokens [rows, positions] after prompts (ids, mask), up to ``batch_size`` rows a pass."""
        short = self.call(*(c[:1] for c in (*prompts, token_ids[:, :2], mask[:, :2])))
        logit_map = self._trials(self._model, short, (1, min(2, mask.shape[1])))
        size = rows_of_pass(batch_size, prompts[0].shape[1] + token_ids.shape[1])
        if logit_map is None:
            vocabulary = self._model.config.get_text_config().vocab_size
            size = max(1, min(size, HELD_LOGITS // (token_ids.shape[1] * vocabulary)))
        found = []
        for rows in torch.arange(len(token_ids), device=mask.device).split(size):
            columns = self.statistics(
                self.call(*(column[rows] for column in (*prompts, token_ids, mask))),
                token_ids[rows], mask[rows].bool(), (1.0, temperature), logit_map)
            found.append([columns[0].log_prob, columns[-1].log_prob, columns[0].entropy])
        log_prob, sampling_log_prob, entropy = (torch.cat(part) for part in zip(*found, strict=True))
        return Tokens(
            ids=token_ids, log_prob=log_prob, sampling_log_prob=sampling_log_prob, entropy=entropy
        )

    def call(self, *columns: torch.Tensor) -> Callable[[], torch.Tensor]:
        """Return the call whose logits are the tokens', for columns of prompts and tokens."""
        prompt_ids, prompt_mask, token_ids, mask = columns
        ids = torch.cat([prompt_ids, token_ids], dim=1)
        present = torch.cat([prompt_mask.long(), mask.long()], dim=1)
        return lambda: self._model(
            input_ids=ids[:, :-1], attention_mask=present[:, :-1],
            position_ids=positions(present)[:, :-1], use_cache=False,
            logits_to_keep=token_ids.shape[1],
        ).logits

    def statistics(
        self, forward: Callable[[], torch.Tensor], ids: torch.Tensor, mask: torch.Tensor,
        temperatures: Sequence[float], logit_map: LogitMap | None,
    ) -> list[TokenStatistics]:
        """Return statistics at each of the temperatures, of logits where there is no ``logit_map``."""
        if logit_map is None:
            logits = forward()
            return [from_logits(logits if t == 1 else logits / t, ids) for t in temperatures]
        distinct = list(dict.fromkeys(temperatures))
        return fused_forward.tempered(
            self._model, forward, ids, mask, distinct, logit_map=logit_map)
