"""Ways to draw completions from pi^T, behind one function each; `llm_bridge.sampling.sampling` picks one.

::

    generate      Hugging Face generate, a prompt's keys and values computed once for all its samples
    static        our own loop on a static cache; on a GPU each token replays one CUDA graph
    trl           generate as TRL's GRPOTrainer calls it, every row from its prompt on
    vllm          vLLM, where it is installed, on the weights in the model's folder

The first two have every logit and record statistics as they draw. Completions of the others are
scored afterwards by the model itself, in one teacher-forced pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from entropy_theory.support.user_errors import lookup
from llm_bridge.sampling.samplers import hf_generate, static_cache, vllm_engine
from llm_bridge.sampling.samplers.batch import PromptBatch, Tokens

__all__ = ["SAMPLERS", "PromptBatch", "Sampler", "Tokens", "choose"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampler:
    """One way to draw.

    Attributes:
        draw: function of model, batch and kept that returns Tokens; ``kept`` is a dictionary that
            batches share, ``shared`` of `sampling.sample`.
        obstacle: function that returns the reason why it cannot serve a model here, or None.
        engine: function of model and length that makes an engine for prompts and completions of so
            many positions. All ranks call it together. An engine makes its own batches, and gets
            all prompts at once.
    """

    draw: Callable[[Any, PromptBatch, dict[Any, Any]], Tokens]
    obstacle: Callable[[Any], str | None]
    engine: Callable[[Any, int], Any] | None = None


SAMPLERS: dict[str, Sampler] = {
    "generate": Sampler(draw=hf_generate.draw, obstacle=lambda model: None),
    "static": Sampler(draw=static_cache.draw, obstacle=static_cache.obstacle),
    "trl": Sampler(draw=hf_generate.draw_as_trl, obstacle=lambda model: None),
    "vllm": Sampler(draw=vllm_engine.draw, obstacle=vllm_engine.obstacle,
                    engine=vllm_engine.engine),
}


def choose(name: str, model: Any) -> Sampler:
    """Return the sampler of that name; "auto" is static on a GPU if the model allows it, else generate.

    "auto" never takes vLLM, which samples the weights in the model's folder, not those in memory.

    Raises:
        ValueError: an unknown sampler, or one that cannot serve this model here, with the reason.
    """
    if name == "auto":
        fits = model.device.type == "cuda" and static_cache.obstacle(model) is None
        name = "static" if fits else "generate"
    sampler = lookup(SAMPLERS, name, "sampler (or auto)")
    reason = sampler.obstacle(model)
    if reason is not None:
        raise ValueError(f"sampler {name} cannot be used: {reason}; take auto")
    return sampler
