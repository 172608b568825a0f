(** AEPO, Corollary 4.4, first half, repaired: if F(1) < 0, then F(T) > F(1) for every T > 1. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce OwnCovariance TemperedRate Examples.
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

(** As printed, without F(1) < 0, it is false: with the weights (1, 3, 4) and the second answer correct,
    F(2) < F(1). *)
Theorem printed_is_false :
  ~ (forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
     (2 <= n)%nat -> nonempty n correct -> 0 < temperature ->
     0 < temperature - 1 ->
     0 <= rate n logits correct temperature - untempered_rate n logits correct).
Proof.
  intros printed.
  set (weights := fun a : nat => match a with O => 1 | 1%nat => 3 | _ => 4 end).
  set (roots := fun a : nat => match a with O => 1 | 1%nat => sqrt 3 | _ => 2 end).
  assert (0 < sqrt 3) as root by (apply sqrt_lt_R0; lra).
  assert (sqrt 3 * sqrt 3 = 3) as square by (apply sqrt_sqrt; lra).
  assert (forall a, (a < 3)%nat -> 0 < weights a) as positive
    by (intros [|[|[|a]]] inside; simpl; lra || lia).
  assert (forall a, (a < 3)%nat -> 0 < roots a) as roots_positive
    by (intros [|[|[|a]]] inside; simpl; lra || lia).
  assert (forall a, (a < 3)%nat -> ln (weights a) = 2 * ln (roots a)) as squares.
  { intros a inside; replace (weights a) with (roots a * roots a).
    - rewrite ln_mult by (apply roots_positive, inside); ring.
    - destruct a as [|[|[|a]]]; simpl; lra || lia. }
  specialize (printed 3%nat (fun a => ln (weights a)) (single 1) 2 ltac:(lia)
                (single_nonempty 3 1 ltac:(lia)) ltac:(lra) ltac:(lra)).
  rewrite <- rate_1, !rate_single, softmax_tempered_1, softmax_of_weights in printed by (assumption || lia).
  rewrite (softmax_tempered_weights 3 weights 2 roots) in printed by (assumption || lia || lra).
  (* The second answer lies below the mean logit: 3^5 < 4^4. *)
  assert (own_covariance 3 (fun a => ln (weights a)) 1%nat < 0) as below.
  { apply own_covariance_neg; [lia|].
    unfold mean; simpl sum; rewrite !softmax_of_weights by (assumption || lia); simpl; rewrite ln_1.
    assert (5 * ln 3 < 4 * ln 4); [|lra].
    replace (5 * ln 3) with (ln (3 ^ 5)) by (rewrite ln_pow by lra; simpl INR; ring).
    replace (4 * ln 4) with (ln (4 ^ 4)) by (rewrite ln_pow by lra; simpl INR; ring).
    apply ln_increasing; lra. }
  pose proof (average_nonneg 3 (fun a => ln (weights a)) ltac:(lia)) as nonneg.
  rewrite excess_eq in printed.
  set (gap := own_covariance 3 (fun a => ln (weights a)) 1%nat
              - mean 3 (softmax 3 (fun a => ln (weights a))) (own_covariance 3 (fun a => ln (weights a)))) in *.
  assert (gap < 0) by (unfold gap; lra).
  simpl in printed.
  assert (sqrt 3 / (0 + 1 + sqrt 3 + 2) < 3 / (0 + 1 + 3 + 4)); [|nra].
  apply (Rmult_lt_reg_r (8 * (3 + sqrt 3))); [lra|].
  replace (sqrt 3 / (0 + 1 + sqrt 3 + 2) * (8 * (3 + sqrt 3))) with (8 * sqrt 3) by (field; lra).
  nra.
Qed.

Theorem proved : Statements.aepo.corollary_4_4_high.repair.
Proof.
  intros n logits correct temperature many some_correct hot falls.
  apply Rminus_gt_0_lt.
  apply (rises_above_one n logits correct temperature); [lia|lra|lra|exact falls].
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.aepo.corollary_4_4_high.witness.
Proof.
  exists 2%nat, (fun a => match a with | 0%nat => 0 | _ => ln 2 end), (fun a => Nat.eqb a 1), 2;
    witnessed.
Qed.
