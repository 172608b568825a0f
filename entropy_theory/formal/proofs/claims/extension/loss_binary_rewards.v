(** With rewards 0 and 1 an advantage that depends on the reward alone, a on right answers and -b on wrong ones, has
    (a + b) times the expected step of positives alone. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Contributions TokenLosses.
From Trusted.Statements.extension Require loss_binary_rewards.
Open Scope R_scope.

Section OneState.

Variables (n : nat) (z : vector) (correct : mask) (right wrong : R).
Hypothesis some : (0 < n)%nat.

Let advantage : vector := fun a => if correct a then right else - wrong.
Let scaled : vector := fun a => (right + wrong) * indicator correct a.

Lemma advantage_shift a : advantage a = scaled a - wrong.
Proof. unfold advantage, scaled, indicator; destruct (correct a); ring. Qed.

Lemma step a :
  (a < n)%nat ->
  score_step n z (fun b => softmax n z b * advantage b) a = (right + wrong) * positives_only n z correct a.
Proof.
  intros inside.
  rewrite (score_step_ext n z _ (fun b => softmax n z b * (scaled b - wrong))) by
    (exact inside || (intros; rewrite advantage_shift; reflexivity)).
  rewrite score_step_shift by exact some; rewrite <- score_step_indicator.
  unfold score_step, scaled.
  rewrite (sum_ext n _ (fun b => (right + wrong) * (softmax n z b * indicator correct b))) by (intros; ring).
  rewrite sum_scal; ring.
Qed.

Lemma rate :
  first_order n z (score_step n z (fun b => softmax n z b * advantage b))
  = (right + wrong) * rate_of_positives n z correct.
Proof.
  rewrite <- rate_is_first_order by exact some; unfold first_order.
  rewrite (covariance_ext n (softmax n z) z _ z (fun a => (right + wrong) * positives_only n z correct a))
    by (intros; first [reflexivity | apply step; assumption]).
  rewrite covariance_sym, covariance_scal_l, covariance_sym; ring.
Qed.

End OneState.

Theorem proved : Statements.extension.loss_binary_rewards.statement.
Proof.
  intros n logits correct right wrong two _ _ _; assert (some : (0 < n)%nat) by lia.
  split; [split|].
  - intros a inside; exact (step n logits correct right wrong some a inside).
  - apply Rminus_diag_eq; exact (rate n logits correct right wrong some).
  - pose proof (first_order_is_derivative n logits
      (score_step n logits (fun b => softmax n logits b * (if correct b then right else - wrong))) some) as found.
    rewrite (rate n logits correct right wrong some) in found; exact found.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.extension.loss_binary_rewards.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1, 1; witnessed. Qed.
