"""A policy's forward pass over sampled rows: their logits, or their tokens' statistics without logits.

Where the model allows it, the pass does not hold the logits (`fused_forward`), and reads a prompt
once for all its samples (`shared_prompts`). Both are tried before they are relied on. Rows of equal
tokens, which a collapsed policy draws, are read once.
"""

from __future__ import annotations

import functools
import inspect
import logging
from typing import Any
from weakref import WeakKeyDictionary

import torch
import transformers

from llm_bridge.data.models import cache_argument
from llm_bridge.forward import fused_forward, images, shared_prompts
from llm_bridge.head.per_token import PLAIN, LogitMap
from llm_bridge.head.token_statistics import TokenStatistics, from_logits, joined
from llm_bridge.running.sharding import is_sharded

logger = logging.getLogger(__name__)

COLUMNS = ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask")
"""The columns of a batch that are read, each [rows, positions]; prompts are padded on the left."""
RouterLosses = list[torch.Tensor]
"""The load-balancing losses of passes through a mixture of experts, a scalar each."""
TRIED_ROWS = 8
"""How many rows shared prompts are compared with the plain pass on."""


class Forward:
    """The forward pass of a model of one trainer: the policy, or a reference."""

    def __init__(
        self, accelerator: Any, model: Any, *, removed_fraction: float | None = None,
        temperature: float = 1.0,
    ):
        """
        Args:
            accelerator: accelerate's accelerator, whose autocast applies.
            model: the model of transformers inside data parallelism and adapters.
            removed_fraction: share of the vocabulary that the clamped entropy leaves out. None: no
                clamped entropy.
            temperature: T, where the policy is softmax(the model's logits / T).
        """
        self._temperature = temperature
        self._accelerator = accelerator
        # What accelerate looks for, in all modules and among all packages, does not change.
        self._plain = functools.cache(accelerator.unwrap_model)
        self._removed_fraction = removed_fraction
        signature = inspect.signature(type(model).forward)
        self._takes_positions = "position_ids" in signature.parameters
        self.trials = fused_forward.Trials()
        self._agrees: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()

    def logits(
        self, model: Any, rows: dict[str, Any], router: RouterLosses | None = None
    ) -> torch.Tensor:
        """Return the policy's logits [rows, positions, vocabulary], at the completions' tokens.

        ``router`` as in `statistics`.
        """
        logits = self._model_logits(model, rows, router)
        return logits if self._temperature == 1 else logits / self._temperature

    def _model_logits(
        self, model: Any, rows: dict[str, Any], router: RouterLosses | None = None
    ) -> torch.Tensor:
        kept = rows["completion_ids"].shape[1]
        if router is None:
            tokens, mask = (column[:, :-1] for column in _whole(rows))
            return self._call(model, tokens, mask, **_images(rows, tokens.shape[1]), use_cache=False,
                              logits_to_keep=kept).logits
        found = self._routed(model, rows, kept + 1)
        router.append(found.aux_loss)
        return found.logits[:, :-1]

    def router_loss(self, model: Any, rows: dict[str, Any]) -> torch.Tensor:
        """Return the load-balancing loss alone, a scalar: as `statistics` gives it to ``router``."""
        return self._routed(model, rows, 1).aux_loss

    def _routed(self, model: Any, rows: dict[str, Any], kept: int) -> Any:
        tokens, mask = _whole(rows)
        found = self._call(model, tokens, mask, **_images(rows, tokens.shape[1]), use_cache=False,
                           logits_to_keep=kept, output_router_logits=True)
        if getattr(found, "aux_loss", None) is None:
            raise ValueError(
                f"{type(self._plain(model)).__name__} gives no load-balancing loss: "
                "set router_aux_loss_coef=0")
        return found

    def statistics(
        self, model: Any, rows: dict[str, Any], router: RouterLosses | None = None
    ) -> TokenStatistics:
        """Return statistics of the completions' tokens; ``rows["mask"]`` may leave some of them out.

        Args:
            model: the policy, in whatever data parallelism wraps it.
            rows: the columns `COLUMNS`, and ``images`` where there are any (`forward.images`).
            router: a list, to be given the load-balancing loss of a mixture of experts over all tokens
                that the pass reads. As in TRL those are whole rows, each with its copy of the prompt.

        Raises:
            ValueError: a model that gives no load-balancing loss.
        """
        alone = router is None and images.IMAGES not in rows
        if alone:
            tokens, present = _whole(rows)
            counts = rows.get("mask", rows["completion_mask"]).long()
            first, owner = shared_prompts.distinct(
                torch.cat([tokens, counts], dim=1), torch.cat([present, torch.ones_like(counts)], dim=1))
            if len(first) < len(owner):
                found = self.statistics(model, {name: rows[name][first] for name in (*COLUMNS, "mask")
                                                if name in rows})
                return found.map(lambda column: column[owner])
        if self._logit_map(model, rows) is None:
            return from_logits(self.logits(model, rows, router), rows["completion_ids"],
                               removed_fraction=self._removed_fraction)
        if alone and rows["completion_ids"].shape[1] > 1:  # else prompts alone are read
            first, owner = shared_prompts.distinct(rows["prompt_ids"], rows["prompt_mask"])
            if len(first) < len(owner) and self._shares_prompts(model, rows):
                return self._with_shared_prompts(model, rows, first, owner)
        return self._fused_statistics(
            model, rows, lambda: self._model_logits(model, rows, router), beyond=router is not None)

    def _call(self, model: Any, tokens: torch.Tensor, mask: torch.Tensor, **options: Any) -> Any:
        """Return the model's output; ``mask`` is [rows, past and present positions]."""
        if self._takes_positions and not options.keys() & set(images.ARGUMENTS):
            # As in generation: padding on the left does not shift a sequence. Beside images a model
            # counts positions itself.
            positions = (mask.cumsum(-1) - 1).clamp(min=0)
            options["position_ids"] = positions[:, -tokens.shape[1] :]
        with self._accelerator.autocast():
            return model(input_ids=tokens, attention_mask=mask, **options)

    def _fused_statistics(
        self, model: Any, rows: dict[str, Any], forward: Any, *, beyond: bool = False, **options: Any
    ) -> Any:
        """Return the statistics; with ``beyond`` the head is asked of one position more, and skips it."""
        ids, mask = (torch.nn.functional.pad(column, (0, int(beyond))) for column in (
            rows["completion_ids"], rows.get("mask", rows["completion_mask"]).bool()))
        return fused_forward.statistics(
            self._plain(model), forward, ids, mask,
            logit_map=self._logit_map(model, rows) or PLAIN,
            removed_fraction=self._removed_fraction, temperature=self._temperature, **options,
        )

    def _with_shared_prompts(
        self, model: Any, rows: dict[str, Any], first: torch.Tensor, owner: torch.Tensor
    ) -> TokenStatistics:
        prompt_mask = rows["prompt_mask"]
        plain = self._plain(model)
        cache = transformers.DynamicCache(config=plain.config)
        hidden = fused_forward.hidden_states(plain, lambda: self._call(
            plain, rows["prompt_ids"][first], prompt_mask[first], **cache_argument(plain, cache),
            use_cache=True, logits_to_keep=1,
        ).logits)
        shared_prompts.check_past(cache, prompt_mask.shape[1])

        def of(places: shared_prompts.Places, width: int) -> TokenStatistics:
            part = {name: rows[name][places] for name in (*COLUMNS, "mask") if name in rows}
            part = {name: column if name.startswith("prompt") else column[:, :width]
                    for name, column in part.items()}
            past = shared_prompts.past_of(cache, owner[places])
            mask = torch.cat([part["prompt_mask"], part["completion_mask"]], dim=1)[:, :-1]
            return self._fused_statistics(
                model, part, first=hidden[owner[places]],
                forward=lambda: self._call(
                    model, part["completion_ids"][:, :-1], mask, **cache_argument(plain, past),
                    use_cache=True).logits)

        # Data parallelism expects one call a step, the one whose graph holds the other's.
        parts = shared_prompts.parts_by_length(rows["completion_mask"], cuts=model is plain)
        return joined([of(*part) for part in parts], [places for places, _ in parts],
                      rows["completion_ids"].shape[1])

    def _logit_map(self, model: Any, rows: dict[str, Any]) -> LogitMap | None:
        """Return what a model's fused head applies, or None for none; tried at its first pass."""
        short = {name: rows[name][:1, :2] for name in COLUMNS}
        return self.trials(
            self._plain(model), lambda: self._model_logits(model, short),
            tuple(short["completion_ids"].shape), tells=self._accelerator.is_main_process)

    def _shares_prompts(self, model: Any, rows: dict[str, Any]) -> bool:
        """Whether this pass may read its prompts once.

        Asked at every pass: TRL turns gradient checkpointing off to score and on again to train. Only
        the trial, which compares the two ways, is made once.
        """
        plain = self._plain(model)
        if model is not plain and not isinstance(model, torch.nn.parallel.DistributedDataParallel):
            return False
        if not self._takes_positions or is_sharded(self._accelerator, model):
            return False
        if shared_prompts.obstacle(plain) is not None:
            return False
        if plain not in self._agrees:
            # Not through data parallelism, whose calls are collectives: each rank tries for itself.
            self._agrees[plain] = self._is_same_with_shared_prompts(plain, rows)
            if not self._agrees[plain] and self._accelerator.is_main_process:
                logger.warning(
                    "%s reads each prompt again for every sample: with its past kept, its "
                    "log-probs are others", type(plain).__name__,
                )
        return self._agrees[plain]

    def _is_same_with_shared_prompts(self, model: Any, rows: dict[str, Any]) -> bool:
        cut = {name: rows[name][:TRIED_ROWS] for name in COLUMNS}
        owners = shared_prompts.distinct(cut["prompt_ids"], cut["prompt_mask"])
        with torch.no_grad():
            plain = self._fused_statistics(model, cut, lambda: self._model_logits(model, cut))
            try:
                shared = self._with_shared_prompts(model, cut, *owners)
            except shared_prompts.NoPastError:
                return False
        mixed = self._accelerator.mixed_precision != "no"
        dtype = torch.bfloat16 if mixed else next(model.parameters()).dtype
        return shared_prompts.agree(plain.log_prob, shared.log_prob, dtype)


def _images(rows: dict[str, Any], width: int) -> dict[str, torch.Tensor]:
    """Return the model's arguments of the rows' images, for so many positions."""
    if images.IMAGES not in rows:
        return {}
    return images.joined(rows[images.IMAGES], rows["prompt_ids"].shape[1], width)


def _whole(rows: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return tokens and mask of whole rows, [rows, positions]."""
    return (torch.cat([rows["prompt_ids"], rows["completion_ids"]], dim=1),
            torch.cat([rows["prompt_mask"], rows["completion_mask"]], dim=1))
