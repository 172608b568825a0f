"""Annotations of tensors by shape, as `entropy_theory.array_types` has them for policies.

``*tokens`` are the axes of the tokens, such as sequences and positions; ``rows`` is one axis of them.
"""

from __future__ import annotations

from typing import TypeAlias

import torch
from jaxtyping import Bool, Float, Integer

Hidden: TypeAlias = Float[torch.Tensor, "*tokens features"]
"""The last hidden state of each token."""
HeadWeight: TypeAlias = Float[torch.Tensor, "vocabulary features"]
HeadBias: TypeAlias = Float[torch.Tensor, "vocabulary"]
TokenLogits: TypeAlias = Float[torch.Tensor, "*tokens vocabulary"]
TokenIds: TypeAlias = Integer[torch.Tensor, "*tokens"]
TokenMask: TypeAlias = Bool[torch.Tensor, "*tokens"]
PerToken: TypeAlias = Float[torch.Tensor, "*tokens"]
"""A real number of each token: a log-probability, an entropy."""
TokenColumns: TypeAlias = Float[torch.Tensor, "*tokens columns"]

RowLogits: TypeAlias = Float[torch.Tensor, "rows vocabulary"]
RowMask: TypeAlias = Bool[torch.Tensor, "rows vocabulary"]
RowIndex: TypeAlias = Integer[torch.Tensor, "rows"]
"""A token of each row."""
PerRow: TypeAlias = Float[torch.Tensor, "rows"]
RowColumns: TypeAlias = Float[torch.Tensor, "columns rows"]

TokenTensor: TypeAlias = Float[torch.Tensor, "sequences positions"]
"""A real number of each token of a batch."""
Loss: TypeAlias = Float[torch.Tensor, ""]
"""A scalar with a gradient."""
