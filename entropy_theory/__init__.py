"""How a softmax policy's entropy moves under policy gradients: exact formulas, update rules, claims.

Modules are imported by name (``from entropy_theory import policy``); importing the package itself
loads nothing heavy.
"""

__version__ = "0.1.0"
