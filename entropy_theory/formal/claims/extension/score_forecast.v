(** Extension of Entropy Mechanism, Lemma 1, to any update rule: what a rule's coefficients announce, token by token.

    At one state a rule gives each action the sum g_a of its tokens' scores, and the state terms coefficients lambda
    (entropy), kappa (clamped entropy of a kept set) and beta (KL to a reference). Its step changes entropy by

        eta {-sum_a g_a (S_a - Sbar) + lambda sum S^2 + kappa sum S S~ - beta sum S pi (l - E l)}

    up to (1/4)(1 + log n) ||d||^2, with S = pi (log pi + H) and l = log(pi/rho). *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import
  Definitions Basics TemperedReinforce Curvature EntropyChange FirstOrder.
Open Scope R_scope.

(** S~ = pi~ (log pi~ + H~) on the kept set, pi~ the policy given that set. *)
Definition clamped_tilt (n : nat) (logits : vector) (kept : mask) : vector :=
  let p := softmax n logits in
  let conditional := fun a => only kept p a / total_on n kept p in
  fun a => conditional a * centered n conditional logits a.

(** Gradient of KL(pi || rho). *)
Definition kl_direction (n : nat) (logits reference : vector) : vector :=
  let p := softmax n logits in
  fun a => p a * centered n p (fun b => logits b - reference b) a.

Definition forecast (n : nat) (logits score reference : vector) (kept : mask) (lambda kappa beta : R) : R :=
  let s := own_covariance n logits in
  - sum n (fun a => score a * excess n logits a)
  + lambda * sum n (fun a => s a * s a)
  + kappa * sum n (fun a => s a * clamped_tilt n logits kept a)
  + -1 * (beta * sum n (fun a => s a * kl_direction n logits reference a)).

Definition rule_step (n : nat) (logits score reference : vector) (kept : mask) (lambda kappa beta : R) : vector :=
  fun a =>
    score a - sum n score * softmax n logits a
    + (- lambda * own_covariance n logits a - kappa * clamped_tilt n logits kept a)
    + beta * kl_direction n logits reference a.

(** The forecast is minus the covariance of log pi with the step, per unit learning rate. *)
Lemma covariance_of_rule_step n logits score reference kept lambda kappa beta :
  (1 <= n)%nat ->
  covariance n (softmax n logits) (log_softmax n logits)
    (rule_step n logits score reference kept lambda kappa beta)
  = - forecast n logits score reference kept lambda kappa beta.
Proof.
  intros some; unfold rule_step, forecast.
  rewrite (covariance_ext n _ _ _ (log_softmax n logits)
    (fun a => (score a - sum n score * softmax n logits a)
              + (- lambda * own_covariance n logits a
                 + (- kappa * clamped_tilt n logits kept a + beta * kl_direction n logits reference a))))
    by (intros; ring).
  rewrite !covariance_plus_r, !covariance_scal_r, covariance_of_scores, !covariance_log_own by lia.
  field.
Qed.

(** The direction of the last term is the gradient of the divergence from the reference. *)
Theorem kl_gradient :
  forall (n : nat) (logits reference step : vector),
  (1 <= n)%nat ->
  derivative (fun t => divergence n (line logits step t) reference) 0
    (sum n (fun a => kl_direction n logits reference a * step a)).
Proof.
  intros n logits reference step some; apply is_derive_Reals.
  assert (forall b, (b < n)%nat -> is_derive (fun s => line logits step s b) 0 (step b)) as moves
    by (intros; apply is_derive_line).
  assert (forall b, (b < n)%nat -> softmax n (line logits step 0) b = softmax n logits b) as start
    by (intros; apply softmax_ext; [intros; apply line_start|assumption]).
  assert (sum n (softmax n logits) = 1) as one by (apply softmax_sum; lia).
  unfold divergence; evar_last.
  - apply (is_derive_mean n (line logits step) step 0 ltac:(lia) moves
             (fun s a => log_softmax n (line logits step s) a - log_softmax n reference a)
             (centered n (softmax n (line logits step 0)) step)).
    intros a inside; evar_last.
    + apply @is_derive_minus;
        [apply (is_derive_log_softmax n (line logits step) step 0 ltac:(lia) moves a inside)
        |apply @is_derive_const].
    + unfold minus, plus, opp, zero; simpl; ring.
  - rewrite mean_centered by (apply softmax_sum; lia).
    rewrite (covariance_ext_p n _ _ _ _ start), covariance_minus_r.
    rewrite (covariance_ext n _ step (log_softmax n (line logits step 0)) step (log_softmax n logits))
      by (intros; try (apply log_softmax_ext; [intros; apply line_start|assumption]); reflexivity).
    rewrite !(covariance_sym n _ step), !covariance_log_softmax by (lia || assumption).
    rewrite Rplus_0_r, <- !(covariance_sym n _ step), <- covariance_minus_r.
    rewrite (covariance_sym n _ step), covariance_centered_l by assumption.
    apply sum_ext; intros; unfold kl_direction; ring.
Qed.

Theorem proved :
  forall (n : nat) (logits : vector) (kept : mask) (score reference : vector)
         (learning_rate lambda kappa beta : R),
  (2 <= n)%nat -> nonempty n kept -> 0 < learning_rate -> 0 < lambda -> 0 < kappa -> 0 < beta ->
  let d := fun a => learning_rate * rule_step n logits score reference kept lambda kappa beta a in
  Rabs (entropy_change n logits d
        - learning_rate * forecast n logits score reference kept lambda kappa beta)
  <= remainder_bound n d.
Proof.
  intros n logits kept score reference learning_rate lambda kappa beta many _ _ _ _ _ d.
  apply first_order_error_scaled; [lia|apply covariance_of_rule_step; lia].
Qed.
