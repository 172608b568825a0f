(** Policy gradient where the logits of several prompts are linear in shared parameters.

    With x_q = F_q v, the mean reward J along theta + t v has the slope mean_q Cov(x_q, r_q) = <grad J, v> and a
    curvature of at most max x^2, for rewards in [0, 1]. So a step eta with eta |F_qa|^2 <= 1 raises J by at least
    eta/2 |grad J|^2, and the gradient vanishes along a run whose step sizes have no finite sum.

    The names are those of [entropy_theory/claims/extensions/shared_parameters.py]. *)

From Coq Require Import Reals Lra Lia FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Taylor Curvature Gradients StepSizes.
Open Scope R_scope.

Section Shared.

Variables (n prompts parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R)
  (reward : nat -> nat -> R).
Hypothesis some : (0 < n)%nat.
Hypothesis some_prompts : (0 < prompts)%nat.

Definition shared_logits (theta : nat -> R) : nat -> nat -> R :=
  fun q a => logits q a + sum parameters (fun m => features q a m * theta m).
Definition mean_reward (theta : nat -> R) : R :=
  sum prompts (fun q => mean n (softmax n (shared_logits theta q)) (reward q)) / INR prompts.
Definition reward_gradient (theta : nat -> R) : nat -> R :=
  fun m => sum prompts (fun q => sum n (fun a =>
    features q a m * (softmax n (shared_logits theta q) a
                      * centered n (softmax n (shared_logits theta q)) (reward q) a))) / INR prompts.
Definition after_gradient_step (theta : nat -> R) (eta : R) : nat -> R :=
  fun m => theta m + eta * reward_gradient theta m.
Definition square (x : nat -> R) : R := sum parameters (fun m => x m * x m).

(** F v *)
Definition motion (v : nat -> R) (q : nat) : vector := fun a => sum parameters (fun m => features q a m * v m).
(** The largest that |F_qa|^2 can be. *)
Definition size : R := sum prompts (fun q => sum n (fun a => square (features q a))).

Lemma square_nonneg x : 0 <= square x.
Proof. apply sum_nonneg; intros; apply Rle_0_sqr. Qed.

Lemma prompts_pos : 0 < INR prompts.
Proof. apply lt_0_INR, some_prompts. Qed.

Lemma size_at_least q a : (q < prompts)%nat -> (a < n)%nat -> square (features q a) <= size.
Proof.
  intros q_inside a_inside; unfold size.
  apply Rle_trans with (sum n (fun b => square (features q b))).
  - apply (sum_ge_term n (fun b => square (features q b))); [intros; apply square_nonneg|assumption].
  - apply (sum_ge_term prompts (fun r => sum n (fun b => square (features r b)))); [|assumption].
    intros; apply sum_nonneg; intros; apply square_nonneg.
Qed.

Lemma size_nonneg : 0 <= size.
Proof. apply sum_nonneg; intros; apply sum_nonneg; intros; apply square_nonneg. Qed.

(** * Along a line of parameters *)

Lemma shared_line theta v t q :
  shared_logits (fun m => theta m + t * v m) q = line (shared_logits theta q) (motion v q) t.
Proof.
  apply functional_extensionality; intros a; unfold shared_logits, line, motion.
  rewrite <- sum_scal, Rplus_assoc, <- sum_plus; f_equal; apply sum_ext; intros; ring.
Qed.

Definition slope (theta v : nat -> R) (t : R) : R :=
  sum prompts (fun q =>
    covariance n (softmax n (line (shared_logits theta q) (motion v q) t)) (motion v q) (reward q))
  / INR prompts.

Lemma is_derive_mean_of_prompts (f : R -> nat -> R) (f' : nat -> R) t :
  (forall q, (q < prompts)%nat -> is_derive (fun s => f s q) t (f' q)) ->
  is_derive (fun s => sum prompts (f s) / INR prompts) t (sum prompts f' / INR prompts).
Proof.
  intros each; evar_last.
  - apply (is_derive_ext (fun s => / INR prompts * sum prompts (f s))); [intros; apply Rmult_comm|].
    apply is_derive_scal, is_derive_sum, each.
  - unfold Rdiv; apply Rmult_comm.
Qed.

Lemma is_derive_mean_reward theta v t :
  is_derive (fun s => mean_reward (fun m => theta m + s * v m)) t (slope theta v t).
Proof.
  apply (is_derive_mean_of_prompts
           (fun s q => mean n (softmax n (shared_logits (fun m => theta m + s * v m) q)) (reward q))).
  intros q _.
  apply is_derive_ext with
    (f := fun s => mean n (softmax n (line (shared_logits theta q) (motion v q) s)) (reward q)).
  { intros s; rewrite shared_line; reflexivity. }
  evar_last.
  - apply (is_derive_mean n (line (shared_logits theta q) (motion v q)) (motion v q) t some) with
      (f := fun _ => reward q) (g := fun _ => 0); intros; [apply is_derive_line|apply @is_derive_const].
  - rewrite mean_const by (apply softmax_sum, some); ring.
Qed.

Definition curvature (theta v : nat -> R) (t : R) : R :=
  sum prompts (fun q =>
    let p := softmax n (line (shared_logits theta q) (motion v q) t) in
    mean n p (fun a => centered n p (motion v q) a * centered n p (motion v q) a * centered n p (reward q) a))
  / INR prompts.

Lemma is_derive_slope theta v t : is_derive (slope theta v) t (curvature theta v t).
Proof.
  unfold slope, curvature.
  apply (is_derive_mean_of_prompts
           (fun s q => covariance n (softmax n (line (shared_logits theta q) (motion v q) s)) (motion v q)
                         (reward q))).
  intros q _; evar_last.
  - apply (is_derive_covariance n (shared_logits theta q) (motion v q) some t (fun _ => motion v q)
             (fun _ => reward q) (fun _ => 0) (fun _ => 0)); intros; apply @is_derive_const.
  - rewrite (covariance_sym n _ (fun _ => 0)), !covariance_const_r by (apply softmax_sum, some).
    rewrite !Rplus_0_r; reflexivity.
Qed.

(** The slope is the product with the gradient. *)
Lemma slope_gradient theta v : slope theta v 0 = sum parameters (fun m => reward_gradient theta m * v m).
Proof.
  unfold slope, reward_gradient.
  transitivity (sum parameters (fun m => sum prompts (fun q => sum n (fun a =>
      features q a m * (softmax n (shared_logits theta q) a
                        * centered n (softmax n (shared_logits theta q)) (reward q) a) * v m)) / INR prompts)).
  2: { apply sum_ext; intros m _.
       rewrite (sum_ext prompts _ (fun q => sum n (fun a => features q a m * (softmax n (shared_logits theta q) a
          * centered n (softmax n (shared_logits theta q)) (reward q) a)) * v m)).
       - rewrite sum_scal_r; unfold Rdiv; ring.
       - intros q _; rewrite <- sum_scal_r; reflexivity. }
  rewrite sum_div; f_equal; rewrite sum_swap; apply sum_ext; intros q _; rewrite sum_swap.
  replace (line (shared_logits theta q) (motion v q) 0) with (shared_logits theta q)
    by (apply functional_extensionality; intros; rewrite line_start; reflexivity).
  rewrite covariance_sym, covariance_centered_l by (apply softmax_sum, some); unfold mean, motion.
  apply sum_ext; intros a _; rewrite <- !sum_scal; apply sum_ext; intros; ring.
Qed.

Lemma derivative_mean_reward theta v :
  derivative (fun t => mean_reward (fun m => theta m + t * v m)) 0
    (sum parameters (fun m => reward_gradient theta m * v m)).
Proof. apply is_derive_Reals; rewrite <- slope_gradient; apply is_derive_mean_reward. Qed.

(** * Rewards in [0, 1] *)

Hypothesis range : forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> 0 <= reward q a <= 1.

Lemma mean_in_range q z : (q < prompts)%nat -> 0 <= mean n (softmax n z) (reward q) <= 1.
Proof.
  intros q_inside.
  assert (forall a, (a < n)%nat -> 0 <= softmax n z a) as nonneg by (intros; apply Rlt_le, softmax_pos, some).
  split; [apply mean_nonneg; [assumption|intros; apply range; assumption]|].
  rewrite <- (mean_const n (softmax n z) 1) by (apply softmax_sum, some).
  apply mean_le; [assumption|intros; apply range; assumption].
Qed.

Lemma mean_reward_range theta : 0 <= mean_reward theta <= 1.
Proof.
  pose proof prompts_pos; unfold mean_reward; split.
  - apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat; assumption].
    apply sum_nonneg; intros; apply mean_in_range; assumption.
  - apply Rmult_le_reg_r with (INR prompts); [assumption|].
    match goal with |- ?total / _ * _ <= _ =>
      replace (total / INR prompts * INR prompts) with total by (field; lra) end.
    rewrite Rmult_1_l, <- (Rmult_1_r (INR prompts)), <- sum_const; apply sum_le; intros.
    apply mean_in_range; assumption.
Qed.

Lemma curvature_above theta v t K :
  (forall q a, (q < prompts)%nat -> (a < n)%nat -> motion v q a * motion v q a <= K) -> - K <= curvature theta v t.
Proof.
  intros short; pose proof prompts_pos; unfold curvature.
  apply Rmult_le_reg_r with (INR prompts); [assumption|].
  match goal with |- _ <= ?total / _ * _ =>
    replace (total / INR prompts * INR prompts) with total by (field; lra) end.
  replace (- K * INR prompts) with (INR prompts * - K) by ring; rewrite <- sum_const; apply sum_le; intros q q_inside.
  cbv zeta; set (p := softmax n (line (shared_logits theta q) (motion v q) t)).
  assert (sum n p = 1) as one by apply softmax_sum, some.
  assert (forall a, (a < n)%nat -> 0 <= p a) as nonneg by (intros; apply Rlt_le, softmax_pos, some).
  pose proof (mean_in_range q (line (shared_logits theta q) (motion v q) t) q_inside) as value; fold p in value.
  apply Rle_trans with (- covariance n p (motion v q) (motion v q)).
  - apply Ropp_le_contravar.
    rewrite covariance_eq by exact one; pose proof (Rle_0_sqr (mean n p (motion v q))) as square_mean.
    assert (mean n p (fun a => motion v q a * motion v q a) <= K); [|unfold Rsqr in square_mean; lra].
    rewrite <- (mean_const n p K one); apply mean_le; auto.
  - unfold covariance; rewrite <- mean_opp; apply mean_le; [assumption|]; intros a inside.
    pose proof (range q q_inside a inside).
    assert (-1 <= centered n p (reward q) a) as least by (unfold centered; lra).
    pose proof (Rle_0_sqr (centered n p (motion v q) a)) as positive; unfold Rsqr in positive; nra.
Qed.

Lemma motion_short v q a :
  motion v q a * motion v q a <= square (features q a) * square v.
Proof. apply cauchy_schwarz. Qed.

(** * One step *)

Section Step.

Variables (theta : nat -> R) (eta : R).
Let g := reward_gradient theta.
Let v (m : nat) := eta * g m.

Lemma step_end : (fun m => theta m + 1 * v m) = after_gradient_step theta eta.
Proof. apply functional_extensionality; intros m; unfold after_gradient_step, v, g; ring. Qed.

Lemma step_start : (fun m => theta m + 0 * v m) = theta.
Proof. apply functional_extensionality; intros m; ring. Qed.

Lemma step_slope : slope theta v 0 = eta * square g.
Proof.
  rewrite slope_gradient; unfold square; rewrite <- sum_scal; apply sum_ext; intros; unfold v, g; ring.
Qed.

Lemma step_square : square v = eta * eta * square g.
Proof. unfold square; rewrite <- sum_scal; apply sum_ext; intros; unfold v; ring. Qed.

Lemma ascent :
  0 <= eta -> (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> eta * square (features q a) <= 1) ->
  mean_reward theta + eta / 2 * square g <= mean_reward (after_gradient_step theta eta).
Proof.
  intros eta_nonneg short; pose proof (square_nonneg g) as g_nonneg.
  pose proof (taylor_2_lower (fun t => mean_reward (fun m => theta m + t * v m)) (slope theta v) (curvature theta v)
                (eta * square g)) as taylor.
  cbv beta in taylor; rewrite step_end, step_start, step_slope in taylor.
  specialize (taylor (fun t _ => is_derive_mean_reward theta v t) (fun t _ => is_derive_slope theta v t)).
  assert (- (eta * square g / 2)
          <= mean_reward (after_gradient_step theta eta) - mean_reward theta - eta * square g); [|lra].
  apply taylor; intros t _; apply curvature_above; intros q a q_inside a_inside.
  apply Rle_trans with (1 := motion_short v q a); rewrite step_square.
  specialize (short q q_inside a a_inside).
  replace (square (features q a) * (eta * eta * square g))
    with (eta * square (features q a) * (eta * square g)) by ring.
  rewrite <- (Rmult_1_l (eta * square g)) at 2; apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|assumption].
Qed.

(** The gradient does not fall by more than a multiple of the step size. *)
Lemma gradient_falls_slowly :
  0 <= eta ->
  square g - 2 * size * (eta * square g) <= square (reward_gradient (after_gradient_step theta eta)).
Proof.
  intros eta_nonneg; set (g' := reward_gradient (after_gradient_step theta eta)).
  pose proof (square_nonneg g) as g_nonneg; pose proof (square_nonneg g') as g'_nonneg; pose proof size_nonneg.
  assert (0 <= size * eta) by (apply Rmult_le_pos; lra).
  destruct (Rle_lt_dec 1 (size * eta)) as [long|short].
  { assert (1 * square g <= size * eta * square g) by (apply Rmult_le_compat_r; lra); lra. }
  destruct (Rle_lt_or_eq_dec _ _ g_nonneg) as [g_pos|zero]; [|rewrite <- zero; lra].
  destruct (Rle_lt_or_eq_dec _ _ eta_nonneg) as [eta_pos|still].
  2: { unfold g'; rewrite <- still; replace (after_gradient_step theta 0) with theta; [fold g; lra|].
       apply functional_extensionality; intros; unfold after_gradient_step; ring. }
  (* the slope at the end of the step *)
  assert (eta * square g - size * (eta * eta * square g) <= slope theta v 1) as slopes.
  { pose proof (nonneg_from_slope (fun t => slope theta v t - slope theta v 0 + size * (eta * eta * square g) * t)
                  (fun t => curvature theta v t + size * (eta * eta * square g))) as rises.
    specialize (rises ltac:(intros t _; pose proof (is_derive_slope theta v t) as derives;
      auto_derive; [exists (curvature theta v t); exact derives|];
      rewrite (is_derive_unique (fun x : R => slope theta v x) _ _ derives); ring)).
    assert (0 <= slope theta v 1 - slope theta v 0 + size * (eta * eta * square g) * 1) as end_.
    { apply rises; [|lra|lra]; intros t _.
      assert (- (size * (eta * eta * square g)) <= curvature theta v t); [|lra].
      apply curvature_above; intros q a q_inside a_inside.
      apply Rle_trans with (1 := motion_short v q a); rewrite step_square.
      apply Rmult_le_compat_r; [|apply size_at_least; assumption].
      repeat apply Rmult_le_pos; lra. }
    rewrite step_slope in end_; lra. }
  assert (slope theta v 1 = eta * sum parameters (fun m => g' m * g m)) as slope_end.
  { transitivity (slope (after_gradient_step theta eta) v 0).
    - unfold slope; f_equal; apply sum_ext; intros q _; rewrite <- step_end, shared_line.
      replace (line (line (shared_logits theta q) (motion v q) 1) (motion v q) 0)
        with (line (shared_logits theta q) (motion v q) 1); [reflexivity|].
      apply functional_extensionality; intros; rewrite line_start; reflexivity.
    - rewrite slope_gradient, <- sum_scal; apply sum_ext; intros; unfold v; fold g'; ring. }
  rewrite slope_end in slopes.
  set (product := sum parameters (fun m => g' m * g m)) in *.
  assert ((1 - size * eta) * square g <= product) as along.
  { apply Rmult_le_reg_l with eta; [assumption|]; lra. }
  pose proof (cauchy_schwarz parameters g' g) as schwarz; fold product (square g') (square g) in schwarz.
  assert ((1 - size * eta) * (1 - size * eta) * square g <= square g') as kept.
  { apply Rmult_le_reg_r with (square g); [assumption|].
    apply Rle_trans with (2 := schwarz).
    replace ((1 - size * eta) * (1 - size * eta) * square g * square g)
      with ((1 - size * eta) * square g * ((1 - size * eta) * square g)) by ring.
    assert (0 <= (1 - size * eta) * square g) by (apply Rmult_le_pos; lra).
    apply Rmult_le_compat; assumption. }
  apply Rle_trans with (2 := kept).
  assert (0 <= size * eta * (size * eta) * square g) by (repeat apply Rmult_le_pos; lra); lra.
Qed.

End Step.

Lemma gradient_bounded theta : square (reward_gradient theta) <= 2 * (size + 1).
Proof.
  pose proof size_nonneg; pose proof (square_nonneg (reward_gradient theta)).
  assert (0 < / (size + 1)) as rate_pos by (apply Rinv_0_lt_compat; lra).
  pose proof (ascent theta (/ (size + 1)) ltac:(lra)) as rise.
  pose proof (mean_reward_range theta); pose proof (mean_reward_range (after_gradient_step theta (/ (size + 1)))).
  assert (/ (size + 1) / 2 * square (reward_gradient theta) <= 1) as bound.
  { enough (mean_reward theta + / (size + 1) / 2 * square (reward_gradient theta)
            <= mean_reward (after_gradient_step theta (/ (size + 1)))) by lra.
    apply rise; intros q q_inside a a_inside; pose proof (size_at_least q a q_inside a_inside).
    apply Rmult_le_reg_l with (size + 1); [lra|]; rewrite <- Rmult_assoc, Rinv_r by lra; lra. }
  apply Rmult_le_reg_l with (/ (size + 1)); [assumption|].
  replace (/ (size + 1) * (2 * (size + 1))) with 2 by (field; lra); lra.
Qed.

(** * A run *)

Variables (rates : nat -> R) (start : nat -> R).
Hypothesis rates_nonneg : forall k, 0 <= rates k.
Hypothesis rates_short : forall k q, (q < prompts)%nat -> forall a, (a < n)%nat ->
  rates k * square (features q a) <= 1.

Definition gradient_run : nat -> nat -> R := run (fun j theta => after_gradient_step theta (rates j)) start.

Lemma run_ascends k :
  mean_reward (gradient_run k) + rates k / 2 * square (reward_gradient (gradient_run k))
  <= mean_reward (gradient_run (S k)).
Proof. apply (ascent (gradient_run k) (rates k)); auto. Qed.

Lemma run_never_falls k : mean_reward start <= mean_reward (gradient_run k).
Proof.
  apply (rises_from (fun j => mean_reward (gradient_run j))) with (i := 0%nat); [|lia]; intros j.
  pose proof (run_ascends j); specialize (rates_nonneg j).
  pose proof (square_nonneg (reward_gradient (gradient_run j))).
  assert (0 <= rates j / 2 * square (reward_gradient (gradient_run j))) by (apply Rmult_le_pos; lra); lra.
Qed.

Theorem gradient_vanishes : diverges rates -> tends_to (fun k => square (reward_gradient (gradient_run k))) 0.
Proof.
  intros endless.
  apply (vanishes_while_bounded (fun k => mean_reward (gradient_run k)) _ rates (1 / 2) (2 * size) 1
           (2 * (size + 1))); try assumption; try lra.
  - pose proof size_nonneg; lra.
  - intros k; split; [apply square_nonneg|apply gradient_bounded].
  - intros k; pose proof (run_ascends k); lra.
  - intros k; apply mean_reward_range.
  - intros k; apply gradient_falls_slowly, rates_nonneg.
Qed.

End Shared.
