"""What a user's own file may hold, as text that tests write."""

HALF = '''
from dataclasses import dataclass
from typing import ClassVar
from entropy_theory.update_rules.modifier import Modifier

@dataclass(frozen=True, kw_only=True, slots=True)
class Half(Modifier):
    name: ClassVar[str] = "half"
    factor: float = 0.5

    def _scores(self, batch):
        return self.base.scores(batch) * self.factor
'''
