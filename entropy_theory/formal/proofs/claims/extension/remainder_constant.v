(** Extension of AEPO, Theorem 4.3, and Cui et al., Lemma 1: the constant in the remainder of the first order.

    |H(z + d) - H(z) + Cov(z, d)| <= (1/2)(5/8 + (1/5) log n) ||d||^2, for every policy and step; and a constant K_n
    in its place is at least 1/4 + (1/8) log((n - 2)/2), n >= 4: no constant free of n exists. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import
  Basics Curvature CurvatureBounds EntropyChange SecondOrder Trees.
From Trusted.Statements.extension Require remainder_constant.
Open Scope R_scope.

Definition squared_norm (n : nat) (step : vector) : R := sum n (fun a => step a * step a).
Definition remainder (n : nat) (logits step : vector) : R :=
  entropy_change n logits step - - covariance n (softmax n logits) logits step.

(** * From below: two actions of probability 1/4, the rest uniform, that trade places *)

Definition two_big (g : R) : vector := fun a => match a with 0%nat | 1%nat => g | _ => 0 end.
Definition trade : vector := fun a => match a with 0%nat => 1 | 1%nat => -1 | _ => 0 end.

Lemma sum_first_two k f : sum (S (S k)) f = f 0%nat + f 1%nat + sum k (fun a => f (S (S a))).
Proof. rewrite !sum_first; ring. Qed.

Lemma trade_norm k : squared_norm (S (S k)) trade = 2.
Proof.
  unfold squared_norm; rewrite sum_first_two; simpl.
  rewrite (sum_ext k _ (fun _ => 0)), sum_zero by (intros; ring); ring.
Qed.

Lemma quadratic_form_two_big k :
  (0 < k)%nat ->
  let g := ln (INR k / 2) in
  quadratic_form (S (S k)) (two_big g) trade = - (1 / 2 + g / 4).
Proof.
  intros some g.
  assert (0 < INR k) as size by (apply lt_0_INR, some).
  set (p := softmax (S (S k)) (two_big g)).
  assert (exp g = INR k / 2) as big by (apply exp_ln; lra).
  assert (sum (S (S k)) (fun b => exp (two_big g b)) = 2 * INR k) as normalizer.
  { rewrite sum_first_two; simpl.
    rewrite big, exp_0, sum_const; field. }
  assert (p 0%nat = 1 / 4) as first by (unfold p, softmax; rewrite normalizer; simpl; rewrite big; field; lra).
  assert (p 1%nat = 1 / 4) as second by (unfold p, softmax; rewrite normalizer; simpl; rewrite big; field; lra).
  assert (forall f, (forall a, f (S (S a)) = 0) ->
            mean (S (S k)) p f = (f 0%nat + f 1%nat) / 4) as two_means.
  { intros f rest; unfold mean; rewrite sum_first_two, first, second.
    rewrite (sum_ext k _ (fun _ => 0)), sum_zero by (intros; rewrite rest; ring); field. }
  assert (mean (S (S k)) p trade = 0) as no_drift by (rewrite two_means by reflexivity; simpl; field).
  assert (forall a, centered (S (S k)) p trade a = trade a) as same
    by (intros; unfold centered; rewrite no_drift; ring).
  unfold quadratic_form; fold p.
  rewrite (mean_ext _ p _ (fun a => trade a * trade a)) by (intros; rewrite same; reflexivity).
  rewrite (covariance_ext _ p _ _ (two_big g) (fun a => trade a * trade a))
    by (intros; try rewrite same; reflexivity).
  rewrite covariance_eq by (apply softmax_sum; lia).
  rewrite !two_means by (intros; simpl; ring); simpl; field.
Qed.

Theorem constant_from_below :
  forall (n : nat) (K : R),
  (4 <= n)%nat ->
  (forall logits step, Rabs (remainder n logits step) <= K * squared_norm n step / 2) ->
  1 / 4 + ln ((INR n - 2) / 2) / 8 <= K.
Proof.
  intros n K many bound.
  destruct n as [|[|k]]; try lia.
  set (g := ln (INR k / 2)).
  assert (Rabs (quadratic_form (S (S k)) (two_big g) trade) <= 2 * K) as curvature.
  { apply constant_above_curvature; [lia|]; intros t inside.
    specialize (bound (two_big g) (fun a => t * trade a)).
    unfold remainder, Rminus in bound; rewrite Ropp_involutive in bound.
    rewrite covariance_log_softmax by (try apply softmax_sum; lia).
    apply Rle_trans with (1 := bound).
    assert (squared_norm (S (S k)) (fun a => t * trade a) = t ^ 2 * 2) as norm.
    { rewrite <- (trade_norm k); unfold squared_norm; rewrite <- sum_scal; apply sum_ext; intros; ring. }
    rewrite norm; right; field. }
  rewrite quadratic_form_two_big, Rabs_Ropp in curvature by lia; fold g in curvature.
  replace (INR (S (S k)) - 2) with (INR k) by (rewrite !S_INR; ring); fold g.
  pose proof (Rle_abs (1 / 2 + g / 4)); lra.
Qed.

(** No constant is good for every number of actions. *)
Theorem no_constant_free_of_n :
  forall K, ~ forall (n : nat) (logits step : vector),
    (4 <= n)%nat -> Rabs (remainder n logits step) <= K * squared_norm n step / 2.
Proof.
  intros K bound.
  destruct (nfloor_ex (exp (8 * K))) as [m [_ above]]; [apply Rlt_le, exp_pos|].
  set (n := (2 + 2 * (m + 1))%nat).
  assert (4 <= n)%nat as many by (unfold n; lia).
  pose proof (constant_from_below n K many (fun z d => bound n z d many)) as least.
  replace ((INR n - 2) / 2) with (INR m + 1) in least
    by (unfold n; rewrite plus_INR, mult_INR, plus_INR; simpl; field).
  assert (8 * K < ln (INR m + 1)); [|lra].
  rewrite <- (ln_exp (8 * K)); apply ln_increasing; [apply exp_pos|exact above].
Qed.

(** * From above: the remainder, and the curvature *)

Theorem proved : Statements.extension.remainder_constant.statement.
Proof.
  intros n logits step many; split.
  2: { intros large K; apply constant_from_below; apply INR_le; simpl; lra. }
  fold (squared_norm n step).
  replace ((25 + 8 * ln (INR n)) / 40 * squared_norm n step)
    with ((5 / 8 + ln (INR n) / 5) * squared_norm n step) by field.
  split.
  - pose proof (first_order_error_sharp n logits step ltac:(lia) many) as error.
    rewrite covariance_log_softmax in error by (try apply softmax_sum; lia).
    unfold Rminus at 1; rewrite Ropp_involutive; fold (squared_norm n step) in error; lra.
  - apply curvature_bound; [lia|exact many].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.remainder_constant.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => (- (1))); witnessed. Qed.

Theorem witness_1 : Statements.extension.remainder_constant.witness_1.
Proof.
  exists 4%nat, (fun _ => 0), (fun _ => 0); split; [witnessed|split; [simpl; lra|]].
  exists ((25 + 8 * ln (INR 4)) / 40); intros z d; apply (proved 4%nat z d ltac:(lia)).
Qed.

Theorem defined : Statements.extension.remainder_constant.defined.
Proof. domains. Qed.
