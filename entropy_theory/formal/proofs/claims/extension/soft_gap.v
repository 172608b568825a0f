(** Lemma 6 of AEnt, twice sharper (extension):

        V*_lambda(q) - V_lambda(q) <= ||grad V_lambda(D)||_2^2/(4 lambda C),

    C the least (P(s) min_a pi(a|s)/|D|)^2 / P*(s) over the states s. Returns are any real numbers. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import SoftGap.
From Trusted.Statements.extension Require soft_gap.
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

From PolicyEntropy.library Require Import Witnesses Domains TreeDomains.

Theorem witness : Statements.extension.soft_gap.witness.
Proof.
  exists 2%nat, 1%nat, 1%nat, (fun _ _ => (fun _ => 0)), (fun _ y => (fun a => match a with | 0%nat => 0
    | _ => 1 end) (List.hd 0%nat y)), 1; witnessed.
Qed.

Theorem defined : Statements.extension.soft_gap.defined.
Proof. domains. Qed.
