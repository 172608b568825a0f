"""Annotations of arrays by shape: the axes that an argument has, and the sizes that must agree.

`jaxtyping` reads them: ``"*states actions"`` means any number of leading axes, called states, and a last
axis, called actions. Within one call an axis of one name has one size: a temperature for each state does
not go with logits of other states. ``#`` marks axes that broadcast. Nothing is checked in ordinary use.
The tests check every call of the annotated modules (``tests/conftest.py``).

The functions take numpy arrays and torch tensors alike, for which Python has no common class: to a
static checker such an array is `Any`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from jaxtyping import Bool, Float, Num, Shaped

Array: TypeAlias = Any
"""A numpy array or a torch tensor."""

Logits: TypeAlias = Num[Array, "*states actions"]
PerAction: TypeAlias = Float[Array, "*states actions"]
"""A real number of each action in each state: a log-probability, a covariance, a logit step."""
PerState: TypeAlias = Float[Array, "*states"]
"""A real number of each state: an entropy, a rate."""
PerStateColumn: TypeAlias = Float[Array, "*states 1"]
"""A real number of each state, shaped to broadcast over its actions."""
ActionMask: TypeAlias = Bool[Array, "*states actions"]
Values: TypeAlias = Num[Array, "*states actions"]
"""Numbers of each action, of any dtype."""
BroadcastLogits: TypeAlias = Num[Array, "*#states actions"]
BroadcastValues: TypeAlias = Num[Array, "*#states actions"]
"""Logits, and steps or temperatures: either may have one state for several of the other."""
BroadcastPerAction: TypeAlias = Float[Array, "*#states actions"]
BroadcastPerState: TypeAlias = Float[Array, "*#states"]
CorrectSet: TypeAlias = Shaped[Array, "*#states actions"]
"""A mask of the correct actions; the function that takes it refuses what is not boolean."""
Temperature: TypeAlias = float | Num[Array, "*#states"]
"""One temperature, or one of each state."""

TokenColumn: TypeAlias = Num[Array, "*runs sequences positions"]
"""A number of each token of a batch of sequences; leading axes are independent runs."""
TokenMask: TypeAlias = Bool[Array, "*runs sequences positions"]
