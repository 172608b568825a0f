(** AEnt, Proposition 2: an almost stationary regularized policy is almost optimal, up to a bias.

        V*(q) - V(q) <= ||grad V_lambda(D)||_2^2/(2 lambda C) + lambda (h log n - log m),

    C the least (P(s) min_a pi(a|s)/|D|)^2 / P*(s) over the states s, m right responses of the largest
    return. It is true with 4 lambda for 2 lambda. Returns are any real numbers. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import SoftGap.
From Trusted.Statements.aent Require proposition_2.
Open Scope R_scope.

Theorem proved : Statements.aent.proposition_2.statement.
Proof.
  intros n h prompts logits reward lambda several long _ positive q inside.
  pose proof (gap_by_state n h prompts logits reward lambda q ltac:(lia) long positive inside) as bound.
  pose proof (regularized_gradient_squares_nonneg n h prompts logits reward lambda) as nonneg.
  change (Statements.aent.proposition_2.square_of_soft_gradient n h prompts logits reward lambda)
    with (regularized_gradient_squares n h prompts logits reward lambda).
  unfold Statements.aent.proposition_2.soft_constant, Statements.aent.proposition_2.visits,
    Statements.aent.proposition_2.soft_visits, Statements.aent.proposition_2.gap,
    Statements.aent.proposition_2.entropy_bias, Statements.aent.proposition_2.number_right,
    Statements.aent.proposition_2.is_right.
  cbv zeta in bound; lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains TreeDomains.

Theorem witness : Statements.aent.proposition_2.witness.
Proof.
  exists 2%nat, 1%nat, 1%nat, (fun _ _ => (fun _ => 0)), (fun _ y => (fun a => match a with | 0%nat => 0
    | _ => 1 end) (List.hd 0%nat y)), 1; witnessed.
Qed.

Theorem defined : Statements.aent.proposition_2.defined.
Proof. domains. Qed.
