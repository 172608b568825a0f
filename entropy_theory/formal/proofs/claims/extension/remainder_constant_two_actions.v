(** Extension of AEPO, Theorem 4.3, and Cui et al., Lemma 1: for two actions the best constant in the remainder of
    the first order is 1/2. With s = pi_0 and the gap x = z_0 - z_1, the curvature along d is

        -s (1 - s) (1 - x (2 s - 1)) (d_0 - d_1)^2,

    between -1/4 and 1/4 times (d_0 - d_1)^2 <= 2 ||d||^2, as |x| <= 3/2 + e^|x|/4. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Curvature CurvatureBounds EntropyChange SecondOrder.
From Trusted.Statements.extension Require remainder_constant_two_actions.
Open Scope R_scope.

Definition squared_norm (n : nat) (step : vector) : R := sum n (fun a => step a * step a).
Definition remainder (n : nat) (logits step : vector) : R :=
  entropy_change n logits step - - covariance n (softmax n logits) logits step.

(** x <= 3/2 + e^x/4, from e^x >= (1 + x/4)^4. *)
Lemma below_exponential x : x <= 3 / 2 + exp x / 4.
Proof.
  destruct (Rle_dec x 0) as [negative|positive]; [pose proof (exp_pos x); lra|].
  set (q := 1 + x / 4).
  assert (q ^ 4 <= exp x) as powers.
  { replace x with (INR 4 * (x / 4)) by (simpl; field).
    rewrite exp_pow; apply pow_incr; unfold q; pose proof (exp_ineq1_le (x / 4)); lra. }
  assert (0 <= q ^ 4 / 4 - 4 * q + 11 / 2); [|unfold q in *; lra].
  replace (q ^ 4 / 4 - 4 * q + 11 / 2)
    with ((q ^ 2 - 5 / 2) ^ 2 / 4 + 5 / 4 * (q - 8 / 5) ^ 2 + 59 / 80) by field.
  pose proof (pow2_ge_0 (q ^ 2 - 5 / 2)); pose proof (pow2_ge_0 (q - 8 / 5)); lra.
Qed.

(** 4 s (1 - s) ((2 s - 1) x - 1) <= 1 where s is the probability that the gap x gives. *)
Lemma gap_inequality s x :
  0 < s < 1 -> s = (1 - s) * exp x -> 4 * (s * (1 - s)) * ((2 * s - 1) * x - 1) <= 1.
Proof.
  assert (forall r y, 0 < r < 1 -> r = (1 - r) * exp y -> 0 <= y ->
            4 * (r * (1 - r)) * ((2 * r - 1) * y - 1) <= 1) as upper.
  { intros r y inside odds nonneg.
    pose proof (below_exponential y) as above.
    assert ((2 * r - 1) * y <= y) by nra.
    assert (r * (1 - r) * exp y = r * r) as square by (rewrite odds at 4; ring).
    assert (0 < r * (1 - r)) as positive by (apply Rmult_lt_0_compat; lra).
    apply Rle_trans with (4 * (r * (1 - r)) * (1 / 2 + exp y / 4)); [apply Rmult_le_compat_l; lra|].
    replace (4 * (r * (1 - r)) * (1 / 2 + exp y / 4)) with (2 * (r * (1 - r)) + r * (1 - r) * exp y) by field.
    rewrite square; pose proof (pow2_ge_0 (1 - r)); lra. }
  intros inside odds; destruct (Rle_dec 0 x) as [nonneg|negative]; [apply upper; assumption|].
  replace (4 * (s * (1 - s)) * ((2 * s - 1) * x - 1))
    with (4 * ((1 - s) * (1 - (1 - s))) * ((2 * (1 - s) - 1) * - x - 1)) by ring.
  apply upper; [lra| |lra].
  pose proof (exp_pos x).
  rewrite exp_Ropp; replace (1 - (1 - s)) with ((1 - s) * exp x) by lra; field; lra.
Qed.

Section TwoActions.

Variables (z d : vector).

Let p := softmax 2 z.
Let s := p 0%nat.
Let x := z 0%nat - z 1%nat.
Let u := centered 2 p d.

Let second : p 1%nat = 1 - s.
Proof. pose proof (softmax_sum 2 z ltac:(lia)) as total; simpl in total; unfold s, p; lra. Qed.

Lemma mean_two f : mean 2 p f = s * f 0%nat + (1 - s) * f 1%nat.
Proof. unfold mean; simpl; fold s; rewrite second; ring. Qed.

Lemma quadratic_form_two :
  quadratic_form 2 z d = s * (1 - s) * ((2 * s - 1) * x - 1) * (d 0%nat - d 1%nat) ^ 2.
Proof.
  unfold quadratic_form; fold p; rewrite covariance_eq by (apply softmax_sum; lia).
  rewrite !mean_two; unfold centered; rewrite mean_two; unfold x; ring.
Qed.

Lemma curvature_bound_two : Rabs (quadratic_form 2 z d) <= 1 / 2 * squared_norm 2 d.
Proof.
  assert (0 < s < 1) as inside.
  { pose proof (softmax_pos 2 z 0 ltac:(lia)); pose proof (softmax_pos 2 z 1 ltac:(lia)) as positive.
    fold p in positive; rewrite second in positive; unfold s, p in *; lra. }
  assert (s = (1 - s) * exp x) as odds.
  { rewrite <- second; unfold s, p, softmax, x, Rminus; rewrite exp_plus, exp_Ropp.
    pose proof (normalizer_pos 2 z ltac:(lia)); pose proof (exp_pos (z 1%nat)); field; lra. }
  pose proof (gap_inequality s x inside odds) as top.
  assert (0 < s * (1 - s)) as positive by (apply Rmult_lt_0_compat; lra).
  assert (s * (1 - s) <= 1 / 4) as quarter by (pose proof (pow2_ge_0 (s - 1 / 2)); lra).
  assert (0 <= (2 * s - 1) * x) as same_sign.
  { destruct (Rle_dec 0 x) as [up|down].
    - assert (1 <= exp x) by (pose proof (exp_ineq1_le x); lra); apply Rmult_le_pos; [nra|assumption].
    - assert (exp x < 1) by (rewrite <- exp_0; apply exp_increasing; lra).
      replace ((2 * s - 1) * x) with ((1 - 2 * s) * - x) by ring; apply Rmult_le_pos; [nra|lra]. }
  assert (0 <= s * (1 - s) * ((2 * s - 1) * x)) by (apply Rmult_le_pos; lra).
  assert (Rabs (s * (1 - s) * ((2 * s - 1) * x - 1)) <= 1 / 4) as curve by (apply Rabs_le; lra).
  assert ((d 0%nat - d 1%nat) ^ 2 <= 2 * squared_norm 2 d) as norm.
  { unfold squared_norm; simpl sum; pose proof (pow2_ge_0 (d 0%nat + d 1%nat)); lra. }
  rewrite quadratic_form_two, Rabs_mult, (Rabs_pos_eq (_ ^ 2)) by apply pow2_ge_0.
  apply Rle_trans with (1 / 4 * (2 * squared_norm 2 d)); [|lra].
  apply Rmult_le_compat; [apply Rabs_pos|apply pow2_ge_0|assumption|assumption].
Qed.

End TwoActions.

(** No constant below 1/2 holds: at the uniform policy the step (1, -1) attains it to second order. *)
Theorem constant_from_below :
  forall K : R,
  (forall logits step, Rabs (remainder 2 logits step) <= K * squared_norm 2 step / 2) -> 1 / 2 <= K.
Proof.
  intros K bound.
  set (z := fun _ : nat => 0); set (d := fun a => match a with 0%nat => 1 | _ => -1 end).
  assert (Rabs (quadratic_form 2 z d) <= 2 * K) as curvature.
  { apply constant_above_curvature; [lia|]; intros t inside.
    specialize (bound z (fun a => t * d a)).
    unfold remainder, Rminus in bound; rewrite Ropp_involutive in bound.
    rewrite covariance_log_softmax by (try apply softmax_sum; lia).
    apply Rle_trans with (1 := bound); right.
    unfold squared_norm, d; simpl; field. }
  assert (softmax 2 z 0%nat = 1 / 2) as half.
  { unfold softmax, z; simpl; rewrite exp_0; field. }
  rewrite quadratic_form_two, half in curvature; unfold z, d in curvature.
  replace (1 / 2 * (1 - 1 / 2) * ((2 * (1 / 2) - 1) * (0 - 0) - 1) * (1 - -1) ^ 2) with (-1) in curvature
    by field.
  rewrite Rabs_left in curvature by lra; lra.
Qed.

Theorem proved : Statements.extension.remainder_constant_two_actions.statement.
Proof.
  intros n logits step ->; split; [split|apply constant_from_below]; [|apply curvature_bound_two].
  unfold Rminus; rewrite Ropp_involutive.
  rewrite <- covariance_log_softmax by (try apply softmax_sum; lia).
  apply first_order_error_sup; [lia|intros; apply curvature_bound_two].
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.extension.remainder_constant_two_actions.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => (- (1))); witnessed. Qed.

Theorem witness_1 : Statements.extension.remainder_constant_two_actions.witness_1.
Proof.
  exists 2%nat, (fun _ => 0), (fun _ => 0); split; [witnessed|].
  exists (1 / 2); intros z d; apply (proved 2%nat z d eq_refl).
Qed.
