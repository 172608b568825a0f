"""When a bound in eps^2 plus a bias is smaller than a bound in eps: steps for any tree.

Notation of `epsilon_squared`: B1 = c eps, B2 = k eps^2 + lambda L, c = sqrt(h)/C,
k = 1/(2 lambda C_lambda), L = h log n - log|A*|. What is said of a single right response is proved in
`formal/proofs/claims/aent/epsilon_squared.v`.
"""

from __future__ import annotations
