(** AEPO, Corollary 4.4, first half, repaired: if F(1) < 0, then F(T) > F(1) for every T > 1. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce OwnCovariance TemperedRate.
From Trusted.Statements.aepo Require corollary_4_4_high.
Open Scope R_scope.

Theorem rises_above_one :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  (1 <= n)%nat -> 0 < temperature ->
  0 < temperature - 1 ->
  0 < - untempered_rate n logits correct ->
  0 < rate n logits correct temperature - untempered_rate n logits correct.
Proof.
  intros n logits correct temperature some positive hot falls.
  rewrite <- rate_1 in *.
  pose proof (rate_above_one n logits correct ltac:(lia) temperature ltac:(lra) ltac:(lra)); lra.
Qed.

Theorem proved : Statements.aepo.corollary_4_4_high.repair.
Proof.
  intros n logits correct temperature many some_correct hot falls.
  apply Rminus_gt_0_lt.
  apply (rises_above_one n logits correct temperature); [lia|lra|lra|exact falls].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.corollary_4_4_high.witness.
Proof.
  exists 2%nat, (fun a => match a with | 0%nat => 0 | _ => ln 2 end), (fun a => Nat.eqb a 1), 2;
    witnessed.
Qed.

Theorem defined : Statements.aepo.corollary_4_4_high.defined.
Proof. domains. Qed.
