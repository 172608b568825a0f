(** Extension of AEPO, Eq. 6: the Hessian of entropy in the logits. With S_a = pi_a (log pi_a + H) = -dH/dz_a,

        Hess H = -[diag(S) + diag(pi) - S pi^T - pi S^T - pi pi^T]:

    symmetric, zero on constants, with quadratic form -Var(d) - Cov(z, (d - E d)^2). *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import
  Definitions Basics Directions TemperedReinforce Curvature EntropyChange FirstOrder.
Open Scope R_scope.

Definition hessian_matrix (n : nat) (logits : vector) (a b : nat) : R :=
  let p := softmax n logits in
  let s := own_covariance n logits in
  - ((if Nat.eqb a b then s a + p a else 0) - (s a * p b + p a * s b) - p a * p b).

(** The matrix applied to a step. *)
Lemma hessian_applied n z d a :
  (0 < n)%nat -> (a < n)%nat ->
  sum n (fun b => hessian_matrix n z a b * d b)
  = - ((own_covariance n z a + softmax n z a) * centered n (softmax n z) d a
       - softmax n z a * covariance n (softmax n z) z d).
Proof.
  intros some inside; set (p := softmax n z); set (s := own_covariance n z).
  rewrite (sum_ext n _ (fun b => - ((s a + p a) * (d b * unit_vector a b))
                                 + (s a * (p b * d b) + p a * (s b * d b) + p a * (p b * d b)))).
  2: { intros b _; unfold hessian_matrix; fold p s; unfold unit_vector.
       rewrite (Nat.eqb_sym a b); destruct (Nat.eqb b a); ring. }
  rewrite sum_plus, sum_opp, !sum_plus, !sum_scal, sum_unit_vector by assumption.
  fold (mean n p d).
  unfold s; rewrite <- (covariance_log_own n z some d), covariance_log_softmax by (try apply softmax_sum; assumption); fold p.
  unfold centered; ring.
Qed.

Lemma is_derive_own_covariance n z d a :
  (0 < n)%nat -> (a < n)%nat ->
  is_derive (fun t => own_covariance n (line z d t) a) 0
    (- sum n (fun b => hessian_matrix n z a b * d b)).
Proof.
  intros some inside.
  assert (forall t b, (b < n)%nat -> is_derive (fun s => line z d s b) t (d b)) as moves
    by (intros; apply is_derive_line).
  assert (forall b, (b < n)%nat -> softmax n (line z d 0) b = softmax n z b) as start
    by (intros; apply softmax_ext; [intros; apply line_start|assumption]).
  unfold own_covariance, centered; evar_last.
  - apply @is_derive_mult; [apply (is_derive_softmax n (line z d) d 0 some (moves 0) a inside)| |
      intros; apply Rmult_comm].
    apply @is_derive_minus; [apply is_derive_line|].
    apply (is_derive_mean n (line z d) d 0 some (moves 0) (line z d) d (moves 0)).
  - rewrite hessian_applied by assumption.
    unfold plus, mult, minus, opp; simpl; unfold own_covariance, centered at 1 3; unfold plus, opp; simpl.
    rewrite (start a inside), !(mean_ext_p n _ _ _ start), (covariance_ext_p n _ _ _ _ start).
    rewrite (covariance_sym n _ z d).
    rewrite (covariance_ext n _ d (line z d 0) d z) by (intros; try apply line_start; reflexivity).
    rewrite (mean_ext n (softmax n z) (line z d 0) z) by (intros; apply line_start).
    rewrite line_start; unfold centered; ring.
Qed.

(** The first derivatives are -S, and their derivatives the entries of the matrix. *)
Theorem second_derivatives :
  forall (n : nat) (logits : vector) (a b : nat),
  (a < n)%nat -> (b < n)%nat ->
  derivative (fun t => entropy n (line logits (unit_vector a) t)) 0 (- own_covariance n logits a)
  /\ derivative (fun t => - own_covariance n (line logits (unit_vector b) t) a) 0 (hessian_matrix n logits a b).
Proof.
  intros n logits a b a_inside b_inside; split; apply is_derive_Reals.
  - assert (covariance n (softmax n logits) (log_softmax n logits) (unit_vector a)
            = own_covariance n logits a) as <-
      by (rewrite covariance_log_own by lia; apply (sum_unit_vector n (own_covariance n logits)), a_inside).
    rewrite <- slope_line_start.
    apply (is_derive_entropy_along_line n logits (unit_vector a)); lia.
  - assert (- - sum n (fun c => hessian_matrix n logits a c * unit_vector b c) = hessian_matrix n logits a b) as <-
      by (rewrite Ropp_involutive; apply (sum_unit_vector n (hessian_matrix n logits a)), b_inside).
    apply @is_derive_opp, is_derive_own_covariance; [lia|assumption].
Qed.

(** Along a step the slope of entropy changes at the rate of the quadratic form. *)
Theorem second_derivative_along_a_step :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  derivative (fun t => - covariance n (softmax n (line logits step t)) (log_softmax n (line logits step t)) step)
    0 (sum n (fun a => step a * sum n (fun b => hessian_matrix n logits a b * step b))).
Proof.
  intros n logits step some; apply is_derive_Reals.
  apply is_derive_ext with (f := fun t => sum n (fun a => step a * - own_covariance n (line logits step t) a)).
  - intros t; rewrite covariance_log_own, <- sum_opp by lia; apply sum_ext; intros; ring.
  - apply (is_derive_sum n (fun t a => step a * - own_covariance n (line logits step t) a)); intros a inside.
    apply is_derive_scal; evar_last;
      [apply @is_derive_opp, is_derive_own_covariance; [lia|assumption]|apply Ropp_involutive].
Qed.

Theorem proved :
  forall (n : nat) (logits step : vector),
  (1 <= n)%nat ->
  sum n (fun a => step a * sum n (fun b => hessian_matrix n logits a b * step b))
  - quadratic_form n logits step = 0
  /\ (forall a, (a < n)%nat -> sum n (fun b => hessian_matrix n logits a b) = 0)
  /\ (forall a b, (a < n)%nat -> (b < n)%nat -> hessian_matrix n logits a b - hessian_matrix n logits b a = 0).
Proof.
  intros n logits step some; set (p := softmax n logits).
  assert (sum n p = 1) as one by (apply softmax_sum; lia).
  split; [|split].
  - rewrite (sum_ext n _ (fun a => - (step a * ((own_covariance n logits a + p a) * centered n p step a
                                                - p a * covariance n p logits step))))
      by (intros; rewrite hessian_applied by (lia || assumption); fold p; ring).
    rewrite sum_opp; unfold quadratic_form; fold p.
    rewrite (covariance_centered_l n p logits (fun a => centered n p step a * centered n p step a)) by assumption.
    rewrite (sum_ext n _ (fun a =>
       p a * (centered n p step a * centered n p step a)
       + p a * (centered n p logits a * (centered n p step a * centered n p step a))
       + mean n p step * (p a * (centered n p logits a * centered n p step a))
       + mean n p step * (p a * centered n p step a)
       - covariance n p logits step * (p a * step a))).
    2: { intros a _; unfold own_covariance; fold p; unfold centered; ring. }
    rewrite sum_minus, !sum_plus, !sum_scal.
    fold (mean n p step) (mean n p (centered n p step)); rewrite mean_centered by assumption.
    unfold covariance, mean; ring.
  - intros a inside.
    rewrite (sum_ext n _ (fun b => hessian_matrix n logits a b * 1)) by (intros; ring).
    rewrite (hessian_applied n logits (fun _ => 1)) by (lia || assumption); fold p.
    unfold centered; rewrite covariance_const_r, mean_const by assumption; ring.
  - intros a b _ _; unfold hessian_matrix; fold p.
    destruct (Nat.eq_dec a b) as [->|other]; [ring|].
    rewrite (proj2 (Nat.eqb_neq a b)), (proj2 (Nat.eqb_neq b a)) by auto; ring.
Qed.
