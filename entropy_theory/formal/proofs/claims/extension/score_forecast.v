(** Extension of Entropy Mechanism, Lemma 1, to any update rule: what a rule's coefficients announce, token by token.

    At one state a rule gives each action the sum g_a of its tokens' scores, and the state terms coefficients lambda
    (entropy), kappa (clamped entropy of a kept set) and beta (KL to a reference). Its step changes entropy by

        eta {-sum_a g_a (S_a - Sbar) + lambda sum S^2 + kappa sum S S~ - beta sum S pi (l - E l)}

    up to (1/4)(1 + log n) ||d||^2, with S = pi (log pi + H) and l = log(pi/rho). The step is eta times the gradient
    of sum_a g_a log pi_a + lambda H + kappa H~ + beta KL(pi || rho). *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import
  Basics TemperedReinforce Clamping Curvature EntropyChange FirstOrder.
From Trusted.Statements.extension Require score_forecast.
Open Scope R_scope.

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

(** What the step ascends. *)
Definition objective (n : nat) (score reference : vector) (kept : mask) (lambda kappa beta : R) (logits : vector) : R :=
  sum n (fun a => score a * log_softmax n logits a) + lambda * entropy n logits
  + kappa * clamped_entropy n logits kept + beta * divergence n logits reference.

Lemma scores_gradient n z score d :
  (1 <= n)%nat ->
  is_derive (fun t => sum n (fun a => score a * log_softmax n (line z d t) a)) 0
    (sum n (fun a => (score a - sum n score * softmax n z a) * d a)).
Proof.
  intros some.
  assert (forall b, (b < n)%nat -> is_derive (fun s => line z d s b) 0 (d b)) as moves
    by (intros; apply is_derive_line).
  assert (forall b, (b < n)%nat -> softmax n (line z d 0) b = softmax n z b) as start
    by (intros; apply softmax_ext; [intros; apply line_start|assumption]).
  evar_last.
  - apply (is_derive_sum n (fun t a => score a * log_softmax n (line z d t) a)
             (fun a => score a * centered n (softmax n (line z d 0)) d a)).
    intros a inside; apply is_derive_scal.
    apply (is_derive_log_softmax n (line z d) d 0 ltac:(lia) moves a inside).
  - unfold centered; rewrite (mean_ext_p n _ _ d start).
    rewrite (sum_ext n _ (fun a => score a * d a - score a * mean n (softmax n z) d)) by (intros; ring).
    rewrite (sum_ext n (fun a => (score a - sum n score * softmax n z a) * d a)
               (fun a => score a * d a - sum n score * (softmax n z a * d a))) by (intros; ring).
    rewrite !sum_minus, sum_scal_r, sum_scal; reflexivity.
Qed.

Theorem step_is_gradient :
  forall (n : nat) (logits score reference : vector) (kept : mask) (lambda kappa beta : R) (direction : vector),
  (1 <= n)%nat -> nonempty n kept ->
  derivative (fun t => objective n score reference kept lambda kappa beta (fun a => logits a + t * direction a)) 0
    (sum n (fun a => rule_step n logits score reference kept lambda kappa beta a * direction a)).
Proof.
  intros n logits score reference kept lambda kappa beta d some some_kept.
  apply is_derive_Reals; unfold objective.
  pose proof (proj2 (is_derive_Reals _ _ _) (tilt_is_gradient n logits kept d some_kept)) as clamped.
  pose proof (proj2 (is_derive_Reals _ _ _) (kl_gradient n logits reference d some)) as pull.
  assert (is_derive (fun t => entropy n (line logits d t)) 0
            (- sum n (fun a => own_covariance n logits a * d a))) as slope.
  { rewrite <- covariance_log_own, <- slope_line_start by lia.
    apply (is_derive_entropy_along_line n logits d); lia. }
  assert (sum n (fun a => rule_step n logits score reference kept lambda kappa beta a * d a)
          = sum n (fun a => (score a - sum n score * softmax n logits a) * d a)
            + lambda * - sum n (fun a => own_covariance n logits a * d a)
            + kappa * - sum n (fun a => clamped_tilt n logits kept a * d a)
            + beta * sum n (fun a => kl_direction n logits reference a * d a)) as ->.
  { rewrite <- !sum_opp, <- !sum_scal, <- !sum_plus; apply sum_ext; intros; unfold rule_step; ring. }
  apply @is_derive_plus; [apply @is_derive_plus; [apply @is_derive_plus|]|].
  - apply (scores_gradient n logits score d some).
  - apply (is_derive_scal (fun t => entropy n (line logits d t))), slope.
  - apply (is_derive_scal (fun t => clamped_entropy n (line logits d t) kept)), clamped.
  - apply (is_derive_scal (fun t => divergence n (line logits d t) reference)), pull.
Qed.

Theorem proved : Statements.extension.score_forecast.statement.
Proof.
  intros n logits kept score reference learning_rate lambda kappa beta many some_kept _; split.
  - apply (first_order_error_scaled n logits ltac:(lia) learning_rate
             (rule_step n logits score reference kept lambda kappa beta)).
    apply covariance_of_rule_step; lia.
  - intros direction.
    apply (step_is_gradient n logits score reference kept lambda kappa beta direction); [lia|assumption].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.score_forecast.witness.
Proof.
  exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), (fun _ => 0), (fun _ => 0), 1, 1, 1, 1; witnessed.
Qed.

Theorem defined : Statements.extension.score_forecast.defined.
Proof. domains. Qed.
