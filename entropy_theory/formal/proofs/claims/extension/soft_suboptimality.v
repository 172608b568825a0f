(** AEnt, Proposition 2, twice sharper in the gradient (extension):

        V*(q) - V(q) <= ||grad V_lambda(D)||_2^2/(4 lambda C) + lambda (h log n - log m),

    C the least (P(s) min_a pi(a|s)/|D|)^2 / P*(s) over the states s, m right responses of the largest
    return. Returns are any real numbers. *)

From Coq Require Import Reals Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import SoftGap.
From Trusted.Statements.extension Require soft_suboptimality.
Open Scope R_scope.

Theorem proved : Statements.extension.soft_suboptimality.statement.
Proof.
  intros n h prompts logits reward lambda several long _ positive q inside.
  exact (gap_by_state n h prompts logits reward lambda q ltac:(lia) long positive inside).
Qed.

From PolicyEntropy.library Require Import Witnesses Domains TreeDomains.

Theorem witness : Statements.extension.soft_suboptimality.witness.
Proof.
  exists 2%nat, 1%nat, 1%nat, (fun _ _ => (fun _ => 0)), (fun _ y => (fun a => match a with | 0%nat => 0
    | _ => 1 end) (List.hd 0%nat y)), 1; witnessed.
Qed.

Theorem defined : Statements.extension.soft_suboptimality.defined.
Proof. domains. Qed.
