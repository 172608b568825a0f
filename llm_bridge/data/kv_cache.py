"""Under which name a model takes the keys and values of what it has read."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def cache_argument(function: Callable[..., Any], past: Any) -> dict[str, Any]:
    """Return the argument that holds the past: ``cache``, before transformers 5.24 ``past_key_values``.

    Args:
        function: what takes it: a model, within an adapter or not, or a function.
        past: a cache of transformers.
    """
    asked = getattr(function, "get_base_model", lambda: function)()
    asked = getattr(type(asked), "forward", asked)
    named = "cache" in inspect.signature(asked).parameters
    return {"cache" if named else "past_key_values": past}
