(** Lp-Reg (arXiv 2510.03222): a pull of wrong answers below e^{-H} does not lower entropy, and a step of the whole policy
    towards the proxy never raises it. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Comparisons Contributions Masks TokenLosses.
From Trusted.Statements.later_work Require lp_reg.
Module Stated := Statements.later_work.lp_reg.
Open Scope R_scope.

Lemma some_kept n z floor : (0 < n)%nat -> floor <= 1 -> nonempty n (Stated.kept n z floor).
Proof.
  intros some most; destruct (largest_attained n (softmax n z) some) as (a & inside & best).
  exists a; split; [exact inside|]; unfold Stated.kept; apply negb_true_iff, not_true_is_false; intros under.
  apply is_less in under; rewrite best in under; pose proof (softmax_pos n z a some); nra.
Qed.

Lemma kept_mass_pos n z floor : (0 < n)%nat -> floor <= 1 -> 0 < Stated.kept_mass n z floor.
Proof.
  intros some most; apply total_on_pos; [apply some_kept; assumption|]; intros; apply softmax_pos, some.
Qed.

Lemma kept_mass_at_most_1 n z floor : (0 < n)%nat -> Stated.kept_mass n z floor <= 1.
Proof.
  intros some; rewrite <- (softmax_sum n z some), <- (total_on_complement n (Stated.kept n z floor)).
  enough (0 <= total_on n (complement (Stated.kept n z floor)) (softmax n z)) by (unfold Stated.kept_mass; lra).
  apply total_on_nonneg; intros; apply Rlt_le, softmax_pos, some.
Qed.

Lemma share_of_kept n z floor : (0 < n)%nat -> Stated.raised n z (Stated.kept n z floor) <= 0.
Proof.
  intros some; set (chosen := Stated.kept n z floor).
  enough (0 <= total_on n chosen (fun a => softmax n z a * excess n z a)) as share.
  { change (- total_on n chosen (fun a => softmax n z a * excess n z a) <= 0); lra. }
  apply share_of_likelier; [exact some|]; intros a b _ _ a_in b_out.
  unfold chosen, Stated.kept in a_in, b_out.
  apply not_less in a_in; apply negb_false_iff, is_less in b_out.
  destruct (Rle_dec (z b) (z a)) as [|above]; [assumption|].
  assert (softmax n z a < softmax n z b) by (apply softmax_lt; [exact some|lra]); lra.
Qed.

Theorem proved : Statements.later_work.lp_reg.repair.
Proof.
  intros n logits correct floor level two _ _ most _ _; assert (some : (0 < n)%nat) by lia.
  pose proof (kept_mass_pos n logits floor some most) as mass.
  split; [|split].
  - apply Rmult_le_pos.
    + pose proof (kept_mass_at_most_1 n logits floor some); lra.
    + set (chosen := fun a => andb (Stated.held n logits correct floor level a) (Stated.rare n logits a)).
      change (0 <= - total_on n chosen (fun a => softmax n logits a * excess n logits a)).
      rewrite <- total_on_opp; apply total_on_nonneg; intros a inside member.
      apply andb_true_iff in member; destruct member as [_ below]; apply is_less in below.
      pose proof (rare_below_mean n logits some a below); pose proof (softmax_pos n logits a some); nra.
  - apply share_of_kept, some.
  - set (K := Stated.kept n logits floor); set (m := Stated.kept_mass n logits floor) in *.
    pose proof (rate_of_scores n logits some (fun a => indicator K a / m)) as found.
    replace (- covariance n (softmax n logits) (fun a => indicator K a / m) (own_covariance n logits))
      with (Stated.raised n logits K / m) in found.
    + eapply derivative_ext; [|exact found]; intros t; cbv beta.
      unfold entropy; f_equal; apply sum_ext; intros a inside.
      rewrite (softmax_ext n _ (fun b => logits b + t * Stated.to_proxy n logits floor b)); [reflexivity| |exact inside].
      intros b b_inside; f_equal; f_equal; unfold score_step, Stated.to_proxy; fold K; fold m.
      replace (sum n (fun c => softmax n logits c * (indicator K c / m))) with 1.
      * unfold indicator; destruct (K b); field; lra.
      * rewrite (sum_ext n _ (fun c => only K (softmax n logits) c / m))
          by (intros c _; unfold indicator, only; destruct (K c); field; lra).
        rewrite sum_div; change (1 = m / m); field; lra.
    + rewrite (covariance_ext n _ _ _ (fun a => / m * indicator K a) (own_covariance n logits))
        by (intros; unfold Rdiv; ring).
      rewrite covariance_scal_l, covariance_indicator by exact some.
      change (- total_on n K (fun a => softmax n logits a * excess n logits a) / m
              = - (/ m * total_on n K (fun a => softmax n logits a * excess n logits a))); field; lra.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.lp_reg.witness.
Proof. exists 2%nat, one_to_four, (fun a => Nat.eqb a 1), 0, 1; witnessed. Qed.

Theorem defined : Statements.later_work.lp_reg.defined.
Proof.
  intros n logits correct floor level two _ _ most _ _.
  assert (Stated.kept_mass n logits floor <> 0) by (apply Rgt_not_eq, kept_mass_pos; [lia|exact most]).
  split; [intros a _ _; assumption|assumption].
Qed.
