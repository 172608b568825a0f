(** The second order of entropy under the noise of SGD, of Adam and of independent logits, from moments. *)

From Coq Require Import Reals Lra Lia Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Curvature OneRight Noise.
Open Scope R_scope.

Definition delta (a b : nat) : R := if Nat.eqb a b then 1 else 0.

Lemma sum_delta n a f : (a < n)%nat -> sum n (fun b => delta a b * f b) = f a.
Proof.
  intros inside; rewrite <- (sum_single n a f inside); apply sum_ext; intros b _; unfold delta.
  rewrite Nat.eqb_sym; ring.
Qed.

Section Shapes.

Variables (n : nat) (z : vector).
Hypothesis two : (2 <= n)%nat.

Let some : (0 < n)%nat := Nat.lt_le_trans 0 2 n Nat.lt_0_2 two.
Let p := softmax n z.

Lemma p_one : sum n p = 1.
Proof. apply softmax_sum, some. Qed.

Definition effect (C : nat -> nat -> R) : R :=
  - mean n p (fun a => (1 + centered n p z a)
      * (sum n (fun b => delta a b * C a b) - 2 * sum n (fun b => C a b * p b)
         + mean n p (fun b => sum n (fun c => C b c * p c)))) / 2.

(** The spread of the noise at each action, in its variance and covariance with the mean logit. *)
Lemma effect_of (C : nat -> nat -> R) (own across : vector) :
  (forall a, (a < n)%nat -> C a a = own a) ->
  (forall a, (a < n)%nat -> sum n (fun b => C a b * p b) = across a) ->
  effect C
  = - (mean n p own - mean n p across
       + (covariance n p z own - 2 * covariance n p z across)) / 2.
Proof.
  intros own_is across_is; unfold effect; f_equal; f_equal.
  set (c := mean n p across).
  assert (mean n p (fun b => sum n (fun c => C b c * p c)) = c) as average.
  { apply mean_ext; exact across_is. }
  rewrite (mean_ext n p _ (fun a => (own a + -2 * across a + c) + centered n p z a * (own a + -2 * across a + c))).
  2: { intros a inside; rewrite average, (sum_delta n a (C a)), own_is, across_is by assumption; ring. }
  rewrite mean_plus, <- (covariance_centered_l n p z (fun a => own a + -2 * across a + c)) by apply p_one.
  rewrite (covariance_plus_r n p z (fun a => own a + -2 * across a) (fun _ => c)).
  rewrite (covariance_plus_r n p z own (fun a => -2 * across a)), covariance_scal_r, covariance_const_r by apply p_one.
  rewrite !mean_plus, mean_scal, mean_const by apply p_one; fold c; ring.
Qed.

Theorem effect_isotropic : effect delta = isotropic_effect n z.
Proof.
  rewrite (effect_of delta (fun _ => 1) p).
  - rewrite mean_const, covariance_const_r by apply p_one; unfold isotropic_effect; fold p.
    rewrite (sum_ext n (fun a => p a * (1 - p a)) (fun a => p a - p a * p a)) by (intros; ring).
    rewrite sum_minus, p_one; unfold mean; field.
  - intros; unfold delta; rewrite Nat.eqb_refl; reflexivity.
  - intros; apply (sum_delta n a p); assumption.
Qed.

Let square := sum n (fun a => p a * p a).
Let cube := sum n (fun a => p a * p a * p a).
Let S (a b : nat) : R := sum n (fun k => p k * ((delta a k - p a) * (delta b k - p b))).

Lemma score_entry a b : (a < n)%nat -> (b < n)%nat -> S a b = delta a b * p a - p a * p b.
Proof.
  intros a_inside b_inside; unfold S.
  rewrite (sum_ext n _ (fun k => delta a k * (p k * delta b k) - p b * (delta a k * p k)
                                 - p a * (delta b k * p k) + p a * p b * p k)) by (intros; ring).
  rewrite sum_plus, !sum_minus, !sum_scal, p_one, (sum_delta n a (fun k => p k * delta b k)),
    !sum_delta by assumption.
  unfold delta; rewrite (Nat.eqb_sym b a); ring.
Qed.

Definition score_moments : R :=
  - (square + square * square - 2 * cube + (1 + 2 * square) * covariance n p z p
     - 3 * covariance n p z (fun a => p a * p a)) / 2.

Theorem effect_score : effect S = score_moments.
Proof.
  rewrite (effect_of S (fun a => p a + -1 * (p a * p a)) (fun a => p a * p a + - square * p a)).
  - rewrite !covariance_plus_r, !covariance_scal_r, !mean_plus, !mean_scal; unfold score_moments.
    change (mean n p p) with square.
    replace (mean n p (fun a => p a * p a)) with cube; [field|].
    unfold cube, mean; apply sum_ext; intros; ring.
  - intros a inside; rewrite score_entry by assumption; unfold delta; rewrite Nat.eqb_refl; ring.
  - intros a inside.
    rewrite (sum_ext n _ (fun b => p a * (delta a b * p b) - p a * (p b * p b))).
    2: { intros b b_inside; rewrite score_entry by assumption; ring. }
    rewrite sum_minus, !sum_scal, sum_delta by assumption; fold square; ring.
Qed.

Definition others (a : nat) : R := sum n (fun b => if Nat.eqb a b then 0 else p b).
Let w (a : nat) : R := sqrt (p a / others a).
Let root (a : nat) : R := sqrt (p a * others a).

Lemma others_are a : (a < n)%nat -> others a = 1 - p a.
Proof.
  intros inside; unfold others.
  rewrite (sum_ext n _ (fun b => p b - delta a b * p b)) by (intros b _; unfold delta; destruct (Nat.eqb a b); ring).
  rewrite sum_minus, sum_delta, p_one by assumption; reflexivity.
Qed.

Lemma others_pos a : (a < n)%nat -> 0 < others a.
Proof.
  intros inside; unfold others.
  set (b := if Nat.eqb a 0 then 1%nat else 0%nat).
  assert (b < n)%nat as b_inside by (unfold b; destruct (Nat.eqb a 0); lia).
  assert (a <> b) as differ by (unfold b; destruct (Nat.eqb_spec a 0); lia).
  apply (sum_pos_term n _ b); [|exact b_inside|].
  - intros c _; pose proof (softmax_pos n z c some); destruct (Nat.eqb a c); unfold p; lra.
  - destruct (Nat.eqb_spec a b); [contradiction|apply softmax_pos, some].
Qed.

Lemma p_positive a : 0 < p a.
Proof. apply softmax_pos, some. Qed.

Lemma root_pos a : (a < n)%nat -> 0 < root a.
Proof.
  intros inside; apply sqrt_lt_R0, Rmult_lt_0_compat; [apply p_positive|apply others_pos, inside].
Qed.

Lemma w_root a : (a < n)%nat -> w a * root a = p a.
Proof.
  intros inside; pose proof (others_pos a inside); pose proof (p_positive a); unfold w, root.
  rewrite <- sqrt_mult.
  - replace (p a / others a * (p a * others a)) with (p a * p a) by (field; lra).
    apply sqrt_square; lra.
  - apply Rlt_le, Rdiv_lt_0_compat; lra.
  - apply Rmult_le_pos; lra.
Qed.

Lemma w_square a : (a < n)%nat -> w a * w a = p a / others a.
Proof.
  intros inside; unfold w; apply sqrt_sqrt, Rlt_le, Rdiv_lt_0_compat; [apply p_positive|apply others_pos, inside].
Qed.

Let R_ (a b : nat) : R := S a b / (root a * root b).

Lemma correlation_entry a b :
  (a < n)%nat -> (b < n)%nat -> R_ a b = delta a b * (1 + w a * w a) - w a * w b.
Proof.
  intros a_inside b_inside; unfold R_; rewrite score_entry by assumption.
  pose proof (root_pos a a_inside); pose proof (root_pos b b_inside).
  destruct (Nat.eq_dec a b) as [<-|differ].
  - unfold delta; rewrite Nat.eqb_refl.
    replace (root a * root a) with (p a * others a).
    2: { unfold root; rewrite sqrt_sqrt; [reflexivity|].
         pose proof (others_pos a a_inside); pose proof (p_positive a); apply Rmult_le_pos; lra. }
    pose proof (others_pos a a_inside) as positive; pose proof (p_positive a).
    rewrite (others_are a a_inside) in *; field; lra.
  - unfold delta; destruct (Nat.eqb_spec a b); [contradiction|].
    rewrite <- (w_root a a_inside) at 2; rewrite <- (w_root b b_inside); field; lra.
Qed.

Definition adam_moments : R :=
  covariance n p z (fun a => w a * w a) - mean n p w * covariance n p z w - (1 - covariance n p w w) / 2.

Theorem effect_adam : effect R_ = adam_moments.
Proof.
  rewrite (effect_of R_ (fun _ => 1) (fun a => w a * w a + - mean n p w * w a)).
  - rewrite mean_const, covariance_const_r, !covariance_plus_r, !covariance_scal_r, !mean_plus, !mean_scal
      by apply p_one.
    unfold adam_moments; rewrite (covariance_eq n p w w) by apply p_one; field.
  - intros a inside; rewrite correlation_entry by assumption; unfold delta; rewrite Nat.eqb_refl; ring.
  - intros a inside.
    rewrite (sum_ext n _ (fun b => (1 + w a * w a) * (delta a b * p b) - w a * (p b * w b))).
    2: { intros b b_inside; rewrite correlation_entry by assumption; ring. }
    rewrite sum_minus, !sum_scal, sum_delta by assumption; unfold mean.
    rewrite (w_square a inside).
    pose proof (others_pos a inside) as positive; rewrite (others_are a inside) in *.
    field; lra.
Qed.

End Shapes.
