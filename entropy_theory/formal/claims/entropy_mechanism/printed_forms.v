(** Entropy Mechanism, takeaway box of the R-H law: the box prints R = -a exp(H + b), which is negative for a > 0;
    the text's form R = -a exp(H) + b, with a > 0, is at most its value b - a at H = 0, and below it wherever
    H > 0. *)

From Coq Require Import Reals Lra Lia List Bool.
From PolicyEntropy.library Require Import Definitions Basics Divergence.
Open Scope R_scope.

Theorem proved :
  forall (n : nat) (logits : vector) (a b : R),
  (1 <= n)%nat -> 0 < a ->
  0 <= b - a - (b - a * exp (entropy n logits))
  /\ (0 < entropy n logits -> b - a * exp (entropy n logits) < b - a)
  /\ - a * exp (entropy n logits + b) < 0.
Proof.
  intros n logits a b one positive; assert (some : (0 < n)%nat) by lia.
  pose proof (entropy_nonneg n logits some).
  pose proof (exp_above_line (entropy n logits)) as line.
  pose proof (exp_pos (entropy n logits + b)) as box.
  split; [|split].
  - assert (0 <= a * (exp (entropy n logits) - 1)) by (apply Rmult_le_pos; lra); lra.
  - intros some_entropy.
    assert (0 < a * (exp (entropy n logits) - 1)) by (apply Rmult_lt_0_compat; lra); lra.
  - assert (0 < a * exp (entropy n logits + b)) by (apply Rmult_lt_0_compat; assumption); lra.
Qed.
