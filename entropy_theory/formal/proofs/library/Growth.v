(** How log-probabilities and entropy move with a whole step of the logits: the growth of each action, and
    entropy along a scaling of the logits. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Contributions Divergence.
Open Scope R_scope.

(** Only differences of logits matter. *)
Lemma softmax_shift n z c a : (0 < n)%nat -> softmax n (fun b => z b + c) a = softmax n z a.
Proof.
  intros some; unfold softmax; rewrite exp_plus.
  rewrite (sum_ext n (fun b => exp (z b + c)) (fun b => exp (z b) * exp c))
    by (intros; apply exp_plus).
  rewrite sum_scal_r; pose proof (normalizer_pos n z some); pose proof (exp_pos c).
  field; split; apply Rgt_not_eq; assumption.
Qed.

Lemma entropy_ext n y z : (forall a, (a < n)%nat -> y a = z a) -> entropy n y = entropy n z.
Proof.
  intros same; unfold entropy; f_equal; apply sum_ext; intros a inside.
  rewrite (softmax_ext n y z a same inside); reflexivity.
Qed.

Lemma entropy_shift n z c : (0 < n)%nat -> entropy n (fun a => z a + c) = entropy n z.
Proof.
  intros some; unfold entropy; f_equal; apply sum_ext; intros; rewrite softmax_shift; auto.
Qed.

Section Growth.

Variables (n : nat) (z d : vector).
Hypothesis some : (0 < n)%nat.

(** log pi'_a - log pi_a = d_a - log E e^d. *)
Lemma log_growth a :
  log_softmax n (fun b => z b + d b) a - log_softmax n z a
  = d a - ln (mean n (softmax n z) (fun b => exp (d b))).
Proof.
  rewrite !log_softmax_eq by assumption.
  pose proof (normalizer_pos n z some).
  assert (sum n (fun b => exp (z b + d b))
          = sum n (fun b => exp (z b)) * mean n (softmax n z) (fun b => exp (d b))) as product.
  { unfold mean, softmax; rewrite <- sum_scal; apply sum_ext; intros b _.
    rewrite exp_plus; field; lra. }
  rewrite product, ln_mult; [ring|assumption|].
  apply sum_pos; [assumption|intros; apply Rmult_lt_0_compat; [apply softmax_pos, some|apply exp_pos]].
Qed.

(** Jensen: log E e^d >= E d. *)
Lemma log_mean_exp_above : mean n (softmax n z) d <= ln (mean n (softmax n z) (fun b => exp (d b))).
Proof.
  rewrite <- (ln_exp (mean n (softmax n z) d)); apply ln_le_ln; [apply exp_pos|].
  apply jensen_exp; [intros; apply Rlt_le, softmax_pos, some|apply softmax_sum, some].
Qed.

Lemma growth_at_most a :
  log_softmax n (fun b => z b + d b) a - log_softmax n z a <= d a - mean n (softmax n z) d.
Proof. rewrite log_growth; pose proof log_mean_exp_above; lra. Qed.

End Growth.

(** * Entropy along a scaling of the logits *)

Section Scaling.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

(** d/db H(softmax(b z)) = - b Var(z). *)
Lemma is_derive_entropy_scaled b :
  is_derive (fun s => entropy n (fun a => s * z a)) b
    (- b * covariance n (softmax n (fun a => b * z a)) z z).
Proof.
  evar_last.
  - apply (is_derive_entropy n (fun s a => s * z a) z b some).
    intros; auto_derive; [trivial|ring].
  - rewrite covariance_log_softmax by (assumption || apply softmax_sum, some).
    rewrite covariance_scal_l; ring.
Qed.

(** The larger the scale, the smaller the entropy. *)
Lemma entropy_falls_with_scale low high :
  0 <= low -> low <= high ->
  entropy n (fun a => high * z a) <= entropy n (fun a => low * z a).
Proof.
  intros nonneg order.
  apply (decreasing_from_slope (fun b => entropy n (fun a => b * z a))
           (fun b => - b * covariance n (softmax n (fun a => b * z a)) z z));
    [assumption|intros; apply is_derive_entropy_scaled|].
  intros b inside.
  assert (0 <= covariance n (softmax n (fun a => b * z a)) z z)
    by (apply variance_nonneg; intros; apply Rlt_le, softmax_pos, some).
  assert (0 <= b * covariance n (softmax n (fun a => b * z a)) z z) by (apply Rmult_le_pos; lra).
  lra.
Qed.

End Scaling.

(** * Two actions: entropy is a function of the gap, falling with its size *)

Section TwoActions.

Definition gap (z : vector) : R := z 0%nat - z 1%nat.
(** Logits with this gap. *)
Definition with_gap (x : R) : vector := fun a => x * only (Nat.eqb 0) (fun _ => 1) a.

Lemma entropy_of_gap z : entropy 2 z = entropy 2 (with_gap (gap z)).
Proof.
  rewrite <- (entropy_shift 2 (with_gap (gap z)) (z 1%nat)) by lia.
  apply entropy_ext; intros a inside; unfold with_gap, gap, only.
  destruct a as [|[|]]; [simpl; ring|simpl; ring|lia].
Qed.

Lemma entropy_even x : entropy 2 (with_gap (- x)) = entropy 2 (with_gap x).
Proof.
  rewrite <- (entropy_shift 2 (with_gap (- x)) x) by lia.
  unfold entropy, softmax, with_gap, only; simpl.
  replace (- x * 1 + x) with (x * 0) by ring; replace (- x * 0 + x) with (x * 1) by ring.
  rewrite (Rplus_comm (0 + exp (x * 0)) (exp (x * 1))).
  rewrite !Rplus_0_l, (Rplus_comm (exp (x * 1)) (exp (x * 0))); ring.
Qed.

Let one_logit : vector := only (Nat.eqb 0) (fun _ => 1).

Lemma variance_of_one_logit p : sum 2 p = 1 -> covariance 2 p one_logit one_logit = p 0%nat * p 1%nat.
Proof.
  intros one; rewrite covariance_eq by exact one; unfold mean, one_logit, only; simpl in *.
  replace (p 1%nat) with (1 - p 0%nat) by lra; ring.
Qed.

Lemma falls_with_gap low high :
  0 <= low -> low <= high -> entropy 2 (with_gap high) <= entropy 2 (with_gap low).
Proof. intros; apply (entropy_falls_with_scale 2 one_logit); [lia|assumption|assumption]. Qed.

Lemma falls_strictly_with_gap low high :
  0 <= low -> low < high -> entropy 2 (with_gap high) < entropy 2 (with_gap low).
Proof.
  intros nonneg order.
  apply (strictly_decreasing_from_slope (fun b => entropy 2 (with_gap b))
           (fun b => - b * covariance 2 (softmax 2 (with_gap b)) one_logit one_logit));
    [assumption|intros; apply (is_derive_entropy_scaled 2 one_logit); lia|].
  intros b inside; rewrite variance_of_one_logit by (apply softmax_sum; lia).
  assert (0 < softmax 2 (with_gap b) 0%nat * softmax 2 (with_gap b) 1%nat)
    by (apply Rmult_lt_0_compat; apply softmax_pos; lia).
  assert (0 < b * (softmax 2 (with_gap b) 0%nat * softmax 2 (with_gap b) 1%nat))
    by (apply Rmult_lt_0_compat; lra).
  lra.
Qed.

Lemma entropy_of_abs x : entropy 2 (with_gap x) = entropy 2 (with_gap (Rabs x)).
Proof. unfold Rabs; destruct (Rcase_abs x); [symmetry; apply entropy_even|reflexivity]. Qed.

Lemma shorter_gap x y : Rabs y <= Rabs x -> entropy 2 (with_gap x) <= entropy 2 (with_gap y).
Proof.
  intros shorter; rewrite (entropy_of_abs x), (entropy_of_abs y).
  apply falls_with_gap; [apply Rabs_pos|exact shorter].
Qed.

Lemma longer_gap x y : Rabs x < Rabs y -> entropy 2 (with_gap y) < entropy 2 (with_gap x).
Proof.
  intros longer; rewrite (entropy_of_abs x), (entropy_of_abs y).
  apply falls_strictly_with_gap; [apply Rabs_pos|exact longer].
Qed.

End TwoActions.
