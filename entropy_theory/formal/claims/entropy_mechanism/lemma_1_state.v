(** Entropy Mechanism, Lemma 1, second approximation: at one state the entropy change is minus the covariance of
    log pi and the logit change, up to (1/4)(1 + log n) ||dz||^2, for every step dz. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics TemperedReinforce Curvature EntropyChange FirstOrder.
Open Scope R_scope.

(** The covariance is the first order: minus the derivative of entropy along the step. *)
Theorem slope :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  derivative (fun t => entropy n (fun a => logits a + t * step a)) 0
    (- covariance n (softmax n logits) (log_softmax n logits) step).
Proof.
  intros n logits step some; apply is_derive_Reals.
  rewrite <- slope_line_start; apply (is_derive_entropy_along_line n logits step); lia.
Qed.

Theorem proved :
  forall (n : nat) (logits step : vector),
  (2 <= n)%nat ->
  Rabs (entropy_change n logits step - - covariance n (softmax n logits) (log_softmax n logits) step)
  <= remainder_bound n step
  /\
  derivative (fun t => entropy n (fun a => logits a + t * step a)) 0
    (- covariance n (softmax n logits) (log_softmax n logits) step).
Proof.
  intros n logits step many; split; [|apply slope; lia].
  unfold Rminus; rewrite Ropp_involutive; apply first_order_error; lia.
Qed.
