(** Lemma 6 of AEnt, twice sharper (extension):

        V*_lambda(q) - V_lambda(q) <= ||grad V_lambda(D)||_2^2/(4 lambda C),

    C the least (P(s) min_a pi(a|s)/|D|)^2 / P*(s) over the states s. Returns are any real numbers. *)

From Coq Require Import Reals Lra Lia.
From PolicyEntropy.library Require Import Definitions SoftGap.
From Statements.extension Require soft_gap.
Open Scope R_scope.

Theorem proved : Statements.extension.soft_gap.statement.
Proof.
  intros n h prompts logits reward lambda several long _ positive q inside.
  refine (Rle_trans _ _ _ (Req_le _ _ _) (soft_gap_by_state n h prompts logits reward lambda q _ long positive inside));
    [|lia].
  unfold Statements.extension.soft_gap.soft_constant, Statements.extension.soft_gap.visits,
    Statements.extension.soft_gap.soft_visits.
  change (Statements.extension.soft_gap.soft_gap n h prompts logits reward lambda q)
    with (soft_gap n h (logits q) (reward q) lambda); ring.
Qed.
