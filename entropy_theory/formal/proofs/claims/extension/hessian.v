(** Extension of AEPO, Eq. 6: the Hessian of entropy in the logits. With S_a = pi_a (log pi_a + H) = -dH/dz_a,

        Hess H = -[diag(S) + diag(pi) - S pi^T - pi S^T - pi pi^T]:

    symmetric, zero on constants, with quadratic form -Var(d) - Cov(z, (d - E d)^2). *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import
  Basics Directions TemperedReinforce Curvature EntropyChange FirstOrder.
From Trusted.Statements.extension Require hessian.
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

(** The entries are the second partial derivatives, and -S the first. *)
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

Theorem symmetric :
  forall (n : nat) (logits : vector) (a b : nat), hessian_matrix n logits a b = hessian_matrix n logits b a.
Proof.
  intros n logits a b; unfold hessian_matrix.
  destruct (Nat.eq_dec a b) as [->|other]; [ring|].
  rewrite (proj2 (Nat.eqb_neq a b)), (proj2 (Nat.eqb_neq b a)) by auto; ring.
Qed.

(** The matrix times a vector, without the matrix. *)
Definition hessian_times (n : nat) (logits x : vector) : vector :=
  let p := softmax n logits in
  let s := own_covariance n logits in
  fun a => - ((s a + p a) * x a - s a * mean n p x - p a * sum n (fun b => s b * x b) - p a * mean n p x).

Theorem times :
  forall (n : nat) (logits x : vector) (a : nat),
  (a < n)%nat -> sum n (fun b => hessian_matrix n logits a b * x b) = hessian_times n logits x a.
Proof.
  intros n logits x a inside; rewrite hessian_applied by (lia || assumption).
  unfold hessian_times; rewrite <- covariance_log_own, covariance_log_softmax by (try apply softmax_sum; lia).
  unfold centered; ring.
Qed.

Lemma quadratic_form_times n z x :
  (0 < n)%nat -> sum n (fun a => x a * hessian_times n z x a) = quadratic_form n z x.
Proof.
  intros some; set (p := softmax n z).
  assert (sum n p = 1) as one by (apply softmax_sum, some).
  rewrite (sum_ext n _ (fun a => - (x a * ((own_covariance n z a + p a) * centered n p x a
                                           - p a * covariance n p z x))))
    by (intros; rewrite <- times, hessian_applied by assumption; fold p; ring).
  rewrite sum_opp; unfold quadratic_form; fold p.
  rewrite (covariance_centered_l n p z (fun a => centered n p x a * centered n p x a)) by assumption.
  rewrite (sum_ext n _ (fun a =>
     p a * (centered n p x a * centered n p x a)
     + p a * (centered n p z a * (centered n p x a * centered n p x a))
     + mean n p x * (p a * (centered n p z a * centered n p x a))
     + mean n p x * (p a * centered n p x a)
     - covariance n p z x * (p a * x a))).
  2: { intros a _; unfold own_covariance; fold p; unfold centered; ring. }
  rewrite sum_minus, !sum_plus, !sum_scal.
  fold (mean n p x) (mean n p (centered n p x)); rewrite mean_centered by assumption.
  unfold covariance, mean; ring.
Qed.

Theorem proved : Statements.extension.hessian.statement.
Proof.
  intros n logits step other many; set (p := softmax n logits); set (s := own_covariance n logits).
  assert (sum n p = 1) as one by (apply softmax_sum; lia).
  split; [split; [|split]|split].
  - change (sum n (fun a => step a * hessian_times n logits step a) - quadratic_form n logits step = 0).
    rewrite quadratic_form_times by lia; ring.
  - intros a inside; change (Statements.extension.hessian.own_covariance n logits) with s.
    unfold s; rewrite own_covariance_sum, mean_const by (lia || exact one); ring.
  - assert (forall x y, sum n (fun a => y a * hessian_times n logits x a)
              = sum n (fun a => sum n (fun b => hessian_matrix n logits a b * (y a * x b)))) as double.
    { intros x y; apply sum_ext; intros a inside; rewrite <- times, <- sum_scal by assumption.
      apply sum_ext; intros; ring. }
    change (sum n (fun a => other a * hessian_times n logits step a)
            - sum n (fun a => step a * hessian_times n logits other a) = 0).
    rewrite !double, (sum_swap n n (fun a b => hessian_matrix n logits a b * (step a * other b))).
    apply Rminus_diag_eq; apply sum_ext; intros a _; apply sum_ext; intros b _.
    rewrite (symmetric n logits a b); ring.
  - change (Statements.extension.hessian.own_covariance n logits) with s.
    apply is_derive_Reals; unfold s; rewrite <- covariance_log_own by lia.
    rewrite <- slope_line_start; apply (is_derive_entropy_along_line n logits step); lia.
  - intros a inside; change (derivative (fun t => - own_covariance n (line logits step t) a) 0
                               (hessian_times n logits step a)).
    apply is_derive_Reals; rewrite <- times, <- (Ropp_involutive (sum n _)) by assumption.
    apply @is_derive_opp, (is_derive_own_covariance n logits step a); [lia|assumption].
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.extension.hessian.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => (- (1))), (fun _ => 1); witnessed. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.extension Require hessian.
From Trusted.Conditions.extension Require hessian.

Theorem second_derivatives_witness : Conditions.extension.hessian.second_derivatives_witness.
Proof. exists 1%nat, 0%nat, 0%nat; met. Qed.
