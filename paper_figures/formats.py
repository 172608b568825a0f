"""The file formats of drawings."""

from __future__ import annotations

from typing import Literal

Format = Literal["svg", "png", "pdf"]
FORMATS: tuple[Format, ...] = ("svg", "png", "pdf")
