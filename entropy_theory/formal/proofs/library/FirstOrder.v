(** The first order -Cov_pi(log pi, d) of the entropy change, for the steps that the papers take.

    With c_a = pi_a (z_a - E z) and C = E c it is -sum_a c_a d_a; for a step g - (sum g) pi it is
    -sum_a g_a (c_a - C), and tempered REINFORCE has g = 1_{A*} pi^T. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Curvature EntropyChange.
Open Scope R_scope.

Section FirstOrder.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
Let one : sum n p = 1.
Proof. apply softmax_sum, some. Qed.

(** The first order is linear in the step. *)
Lemma covariance_log_own d :
  covariance n p (log_softmax n z) d = sum n (fun a => own_covariance n z a * d a).
Proof.
  rewrite covariance_log_softmax, covariance_centered_l by assumption.
  apply sum_ext; intros; unfold own_covariance; fold p; ring.
Qed.

(** c_a = pi_a (log pi_a + H). *)
Lemma own_covariance_log a :
  (a < n)%nat -> own_covariance n z a = p a * (log_softmax n z a + entropy n z).
Proof.
  intros inside; unfold own_covariance; fold p.
  rewrite <- (centered_log_softmax n z p a) by assumption.
  unfold centered; rewrite entropy_log; fold p; ring.
Qed.

Lemma own_covariance_sum : sum n (own_covariance n z) = 0.
Proof. apply (mean_centered n p z one). Qed.

(** Scores g centered by their policy: each counts c_a - C. *)
Lemma covariance_of_scores g :
  covariance n p (log_softmax n z) (fun a => g a - sum n g * p a) = sum n (fun a => g a * excess n z a).
Proof.
  rewrite covariance_log_own; unfold excess, centered; fold p.
  rewrite (sum_ext n (fun a => own_covariance n z a * (g a - sum n g * p a))
             (fun a => g a * own_covariance n z a - sum n g * (p a * own_covariance n z a)))
    by (intros; ring).
  rewrite (sum_ext n (fun a => g a * (own_covariance n z a - mean n p (own_covariance n z)))
             (fun a => g a * own_covariance n z a - g a * mean n p (own_covariance n z)))
    by (intros; ring).
  rewrite !sum_minus, sum_scal, sum_scal_r; unfold mean; ring.
Qed.

(** F(T) is the entropy rate of the expected step of tempered REINFORCE. *)
Lemma rate_of_step A T :
  covariance n p (log_softmax n z) (unit_step n z A T) = - rate n z A T.
Proof.
  unfold unit_step, total_on; rewrite covariance_of_scores.
  unfold rate, total_on; rewrite Ropp_involutive; apply sum_ext; intros a _.
  unfold only; destruct (A a); ring.
Qed.

(** The first order of eta d, up to its remainder. *)
Lemma first_order_error_scaled eta d r :
  covariance n p (log_softmax n z) d = - r ->
  Rabs (entropy_change n z (fun a => eta * d a) - eta * r)
  <= remainder_bound n (fun a => eta * d a).
Proof.
  intros slope.
  replace (entropy_change n z (fun a => eta * d a) - eta * r)
    with (entropy_change n z (fun a => eta * d a)
          + covariance n p (log_softmax n z) (fun a => eta * d a))
    by (rewrite covariance_scal_r, slope; ring).
  apply first_order_error, some.
Qed.

End FirstOrder.
