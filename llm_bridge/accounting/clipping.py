"""By what factor a step's gradients were scaled down."""

from __future__ import annotations

from typing import Any


class Clipping:
    """Sees by what factor accelerate scales gradients down."""

    def __init__(self, accelerator: Any):
        self.factor = 1.0
        original = accelerator.clip_grad_norm_

        def clip_grad_norm(parameters: Any, max_norm: float, *rest: Any, **options: Any) -> Any:
            norm = original(parameters, max_norm, *rest, **options)
            # torch.nn.utils.clip_grad_norm_: the same formula, with the norm before clipping.
            self.factor *= min(1.0, float(max_norm) / (float(norm) + 1e-6))
            return norm

        accelerator.clip_grad_norm_ = clip_grad_norm
