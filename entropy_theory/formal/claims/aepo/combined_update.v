(** AEPO, Eq. 1 with Theorem 4.3, as repaired: where GRPO lowers entropy, F(1) < 0, the update of weights kappa
    and alpha raises it, to first order, exactly if F(T) > 0 and alpha > kappa |F(1)|/F(T). As printed, for some
    alpha whatever T > 1 and because F(T) > F(1), it is false. *)

From Coq Require Import Reals Lra Lia.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce Learning CombinedUpdate.
Open Scope R_scope.

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature grpo_weight alpha : R),
  (1 <= n)%nat -> 0 < temperature -> 0 < grpo_weight -> 0 <= alpha ->
  untempered_rate n logits correct < 0 ->
  let step := combined_step n logits correct temperature grpo_weight alpha in
  0 < - covariance n (softmax n logits) logits step <->
  0 < rate n logits correct temperature
  /\ grpo_weight * Rabs (untempered_rate n logits correct) / rate n logits correct temperature < alpha.

Theorem proved : repair.
Proof.
  intros n logits correct temperature grpo_weight alpha some T_pos kappa_pos alpha_nonneg falls step.
  unfold step; rewrite first_order_of_combined_step by lia; apply balance; assumption.
Qed.
