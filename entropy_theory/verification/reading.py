"""How a claim's statement is related to what somebody wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from entropy_theory.support.user_errors import check_choice

ReadingKind = Literal["literal", "precise", "inferred"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a claim's statement is related to what somebody wrote; only a literal one can be *refuted*.

    Attributes:
        kind: "literal" for the sentence or formula as printed, "precise" for our precise form of it, or
            "inferred" if nobody wrote it.
        quotation: the words or the formula that are read, as they stand in the text.
        place: section, equation, table or caption; where the text is not at hand, that it is not.

    Raises:
        ValueError: an unknown kind. A literal reading without quotation or place. A precise one without a
            place.
    """

    kind: ReadingKind
    quotation: str = ""
    place: str = ""

    def __post_init__(self) -> None:
        check_choice(self.kind, get_args(ReadingKind), "reading")
        if self.kind != "inferred" and not self.place:
            raise ValueError(f"a {self.kind} reading needs the place of the quotation, such as "
                             "'Section 2': give place, or use Reading('inferred') if nobody wrote it")
        if self.kind == "literal" and not self.quotation:
            raise ValueError("a literal reading needs the quotation: without it, it is 'precise'")

    def __str__(self) -> str:
        words = [self.kind, *([f'"{self.quotation}"'] if self.quotation else [])]
        return ", ".join(words) + (f" ({self.place})" if self.place else "")
