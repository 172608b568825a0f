(** AEnt, Proposition 2, twice sharper in the gradient (extension):

        V*(q) - V(q) <= ||grad V_lambda(D)||_2^2/(4 lambda C) + lambda (h log n - log m),

    C the least (P(s) min_a pi(a|s)/|D|)^2 / P*(s) over the states s, m right responses of the largest
    return. Returns are any real numbers. *)

From Coq Require Import Reals Lia.
From PolicyEntropy.library Require Import Definitions SoftGap.
From Statements.extension Require soft_suboptimality.
Open Scope R_scope.

Theorem proved : Statements.extension.soft_suboptimality.statement.
Proof.
  intros n h prompts logits reward lambda several long _ positive q inside.
  exact (gap_by_state n h prompts logits reward lambda q ltac:(lia) long positive inside).
Qed.
