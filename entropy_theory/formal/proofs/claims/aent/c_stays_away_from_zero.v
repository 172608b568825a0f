(** AEnt, after Proposition 1: "C(q) can be controlled (bounded away from 0)".

    C is the probability of the likeliest right answer, p that of all right ones, m their number. Read
    as: an exact policy gradient step never lowers C. Repaired: with returns 0 and 1 exact policy gradient
    lowers neither C nor p, whatever eta, so that C_k >= C_0 and m C_k >= p_0 at every step of a run. *)

From Coq Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Tilt Inequalities.
From Trusted.Statements.aent Require Import c_stays_away_from_zero.
Open Scope R_scope.

(** * Returns 0 and 1 *)

Section Step.

Variables (n : nat) (z reward : vector) (eta : R).
Hypothesis some : (0 < n)%nat.
Hypothesis positive : 0 < eta.
Hypothesis binary : forall a, (a < n)%nat -> reward a = 0 \/ reward a = 1.

Let p := softmax n z.
Let d := gradient_step n z reward eta.
Let V := mean n p reward.
Let top := largest n reward.

Lemma right_iff a : is_right n reward a = true <-> reward a = top.
Proof. unfold is_right, equal, top; destruct (Req_EM_T (reward a) (largest n reward)); split; congruence. Qed.

Lemma some_right : nonempty n (is_right n reward).
Proof.
  destruct (largest_attained n reward some) as (a & inside & is_a).
  exists a; split; [assumption|]; apply right_iff; symmetry; exact is_a.
Qed.

Lemma value_range : 0 <= V <= top.
Proof.
  split.
  - apply mean_nonneg; [intros; apply Rlt_le, softmax_pos, some|].
    intros a inside; destruct (binary a inside); lra.
  - apply mean_le_largest; [intros; apply Rlt_le, softmax_pos, some|apply softmax_sum, some].
Qed.

Lemma right_step a : is_right n reward a = true -> d a = eta * (top - V) * p a.
Proof. intros here; apply right_iff in here; unfold d, gradient_step, centered; rewrite here; fold p V; ring. Qed.

Lemma wrong_step a : (a < n)%nat -> is_right n reward a = false -> d a <= 0.
Proof.
  intros inside here; pose proof value_range as range.
  assert (reward a = 0) as none.
  { pose proof (largest_ge n reward a inside) as below; fold top in below.
    destruct (binary a inside) as [|one]; [assumption|].
    assert (reward a = top) as same.
    { destruct (largest_attained n reward some) as (b & b_inside & is_b); fold top in is_b.
      destruct (binary b b_inside); lra. }
    apply right_iff in same; congruence. }
  unfold d, gradient_step, centered; rewrite none; fold p V.
  pose proof (softmax_pos n z a some) as p_pos; fold p in p_pos.
  assert (0 <= eta * (p a * V)) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]); lra.
Qed.

Lemma right_step_nonneg a : is_right n reward a = true -> 0 <= d a.
Proof.
  intros here; rewrite right_step by assumption; pose proof value_range.
  apply Rmult_le_pos; [apply Rmult_le_pos; lra|apply Rlt_le, softmax_pos, some].
Qed.

Lemma likeliest_rises :
  likeliest_right n z reward <= likeliest_right n (fun a => z a + d a) reward.
Proof.
  unfold likeliest_right.
  destruct (largest_on_attained n (is_right n reward) (softmax n z) some_right)
    as (best & inside & here & is_best).
  eapply Rle_trans; [|apply (largest_on_ge n _ _ best inside here)].
  rewrite is_best, softmax_tilted by exact some; fold p.
  set (Z := mean n p (fun a => exp (d a))).
  assert (0 < Z) as Z_pos by apply (density_mean_pos n z d some).
  assert (Z <= exp (d best)) as Z_small.
  { unfold Z; rewrite <- (mean_const n p (exp (d best))) by (apply softmax_sum, some).
    apply mean_le; [intros; apply Rlt_le, softmax_pos, some|]; intros a a_inside.
    apply exp_nondecreasing; destruct (is_right n reward a) eqn:right_a.
    - rewrite !right_step by assumption; pose proof value_range.
      apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|].
      unfold p; rewrite <- is_best; apply largest_on_ge; assumption.
    - apply Rle_trans with 0; [apply wrong_step|apply right_step_nonneg]; assumption. }
  pose proof (softmax_pos n z best some) as p_pos; fold p in p_pos.
  apply (Rmult_le_reg_r Z); [assumption|].
  replace (p best * exp (d best) / Z * Z) with (p best * exp (d best)) by (field; lra).
  apply Rmult_le_compat_l; lra.
Qed.

Lemma right_mass_mean y :
  right_mass n y reward = mean n (softmax n y) (fun a => if is_right n reward a then 1 else 0).
Proof.
  apply sum_ext; intros a _; unfold only; destruct (is_right n reward a); ring.
Qed.

Lemma right_mass_rises : right_mass n z reward <= right_mass n (fun a => z a + d a) reward.
Proof.
  rewrite !right_mass_mean; apply mean_tilted_ge; [exact some|].
  intros a b a_inside b_inside.
  destruct (is_right n reward a) eqn:right_a, (is_right n reward b) eqn:right_b; try lra.
  - pose proof (right_step_nonneg a right_a); pose proof (wrong_step b b_inside right_b); lra.
  - pose proof (right_step_nonneg b right_b); pose proof (wrong_step a a_inside right_a); lra.
Qed.

Lemma likeliest_above_mean y :
  right_mass n y reward
  <= total_on n (is_right n reward) (fun _ => 1) * likeliest_right n y reward.
Proof.
  unfold right_mass; rewrite <- total_on_scal_r; apply total_on_le; intros a inside here.
  rewrite Rmult_1_l; apply largest_on_ge; assumption.
Qed.

End Step.

Theorem proved : Statements.aent.c_stays_away_from_zero.repair.
Proof.
  intros n logits reward eta several positive binary; assert (0 < n)%nat as some by lia.
  pose (after := run (fun (_ : nat) z a => z a + gradient_step n z reward eta a) logits).
  assert (forall k, likeliest_right n (after k) reward <= likeliest_right n (after (S k)) reward)
    as C_rises by (intros k; apply likeliest_rises; assumption).
  assert (forall k, right_mass n (after k) reward <= right_mass n (after (S k)) reward) as p_rises
    by (intros k; apply right_mass_rises; assumption).
  split; [split; [|split]|split].
  - apply likeliest_rises; assumption.
  - apply right_mass_rises; assumption.
  - apply Masks.total_on_nonneg; intros a inside here.
    pose proof (largest_on_ge n (is_right n reward) (softmax n logits) a inside here).
    unfold likeliest_right; lra.
  - intros k; change (likeliest_right n (after 0%nat) reward <= likeliest_right n (after k) reward).
    induction k as [|j IH]; [lra|]; specialize (C_rises j); lra.
  - intros k; eapply Rle_trans; [|apply likeliest_above_mean].
    change (right_mass n (after 0%nat) reward <= right_mass n (after k) reward).
    induction k as [|j IH]; [lra|]; specialize (p_rises j); lra.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.aent.c_stays_away_from_zero.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), 1; witnessed. Qed.
