(** Extension of AEPO, section 3.1: with one right and one wrong answer the mean of the other members is a baseline
    that lowers the variance where p < 2 (G - 2)/(3 G - 5), and raises it where p is above. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions Groups.
From PolicyEntropy.library Require Import Basics SampledGroups Witnesses Domains.
From Trusted.Statements.extension Require sampled_group_two_answers.
Import Statements.extension.sampled_group_two_answers.
Open Scope R_scope.

Section TwoAnswers.

Variables (logits : vector) (correct : mask) (direction : vector).
Hypothesis some_right : nonempty 2 correct.
Hypothesis some_wrong : ~ (forall a, (a < 2)%nat -> correct a = true).

Let reward : vector := fun a => if correct a then 1 else 0.
Let right := total_on 2 correct (softmax 2 logits).
Let wrong := total_on 2 (fun a => negb (correct a)) (softmax 2 logits).
Let gap := right_wrong_gap 2 direction correct.

(** Either of the two is the right one. *)
Lemma one_right :
  (correct 0%nat = true /\ correct 1%nat = false) \/ (correct 0%nat = false /\ correct 1%nat = true).
Proof.
  destruct (correct 0%nat) eqn:first, (correct 1%nat) eqn:second; auto.
  - exfalso; apply some_wrong; intros [|[|a]] inside; [assumption..|lia].
  - exfalso; destruct some_right as ([|[|a]] & inside & is_right); [congruence..|lia].
Qed.

Lemma reduction G : (2 <= G)%nat ->
  variance_along 2 G without_baseline logits reward direction
  - variance_along 2 G with_mean_of_others logits reward direction
  = right * right * wrong * (gap * gap) * (2 * (INR G - 2) - (3 * INR G - 5) * right) / (INR G * (INR G - 1)).
Proof.
  intros several; pose proof (several_times G several).
  rewrite variance_without_baseline, variance_with_mean_of_others by lia.
  unfold variance_of_others; pose proof (softmax_sum 2 logits ltac:(lia)) as all; cbn [sum] in all.
  unfold covariance, mean, centered, reward, right, wrong, gap, right_wrong_gap, total_on, only, mean; cbn [sum].
  destruct one_right as [[-> ->]|[-> ->]]; cbn [negb];
    set (p := softmax 2 logits 0%nat) in *; set (q := softmax 2 logits 1%nat) in *.
  - replace q with (1 - p) by lra; field; lra.
  - replace p with (1 - q) by lra; field; lra.
Qed.

Lemma probabilities : 0 < right /\ 0 < wrong.
Proof.
  pose proof (softmax_pos 2 logits 0 ltac:(lia)); pose proof (softmax_pos 2 logits 1 ltac:(lia)).
  unfold right, wrong, total_on, only; cbn [sum].
  destruct one_right as [[-> ->]|[-> ->]]; cbn [negb]; lra.
Qed.

(** The sign of the difference is that of 2 (G - 2) - (3 G - 5) p. *)
Lemma sign_of_reduction G x : (2 <= G)%nat -> 0 < gap * gap -> 0 < x ->
  0 < right * right * wrong * (gap * gap) * x / (INR G * (INR G - 1)).
Proof.
  intros several moved positive; pose proof (several_times G several); destruct probabilities.
  assert (0 < right * right * wrong) by (repeat apply Rmult_lt_0_compat; assumption).
  apply Rdiv_lt_0_compat; [|apply Rmult_lt_0_compat; lra].
  apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat|]; assumption.
Qed.

Lemma lowered G : (2 <= G)%nat -> 0 < gap * gap -> right < 2 * (INR G - 2) / (3 * INR G - 5) ->
  variance_along 2 G with_mean_of_others logits reward direction
  < variance_along 2 G without_baseline logits reward direction.
Proof.
  intros several moved below; pose proof (several_times G several); apply Rminus_gt_0_lt.
  rewrite reduction by exact several; apply sign_of_reduction; [assumption..|].
  apply (Rmult_lt_compat_r (3 * INR G - 5)) in below; [|lra].
  replace (2 * (INR G - 2) / (3 * INR G - 5) * (3 * INR G - 5)) with (2 * (INR G - 2)) in below by (field; lra); lra.
Qed.

Lemma raised G : (2 <= G)%nat -> 0 < gap * gap -> 2 * (INR G - 2) / (3 * INR G - 5) < right ->
  variance_along 2 G without_baseline logits reward direction
  < variance_along 2 G with_mean_of_others logits reward direction.
Proof.
  intros several moved above; pose proof (several_times G several).
  apply (Rmult_lt_compat_r (3 * INR G - 5)) in above; [|lra].
  replace (2 * (INR G - 2) / (3 * INR G - 5) * (3 * INR G - 5)) with (2 * (INR G - 2)) in above by (field; lra).
  assert (0 < (3 * INR G - 5) * right - 2 * (INR G - 2)) as positive by lra.
  pose proof (sign_of_reduction G _ several moved positive) as higher.
  pose proof (reduction G several) as same.
  replace (2 * (INR G - 2) - (3 * INR G - 5) * right) with (- ((3 * INR G - 5) * right - 2 * (INR G - 2)))
    in same by ring.
  unfold Rdiv in same, higher; rewrite Ropp_mult_distr_r_reverse, Ropp_mult_distr_l_reverse in same; lra.
Qed.

End TwoAnswers.

Theorem proved : Statements.extension.sampled_group_two_answers.statement.
Proof.
  intros n logits correct direction -> some_right some_wrong.
  assert (INR 2 = 2 /\ INR 3 = 3 /\ INR 4 = 4) as (is_2 & is_3 & is_4) by (simpl; repeat split; lra).
  pose proof (reduction logits correct direction some_right some_wrong) as same; cbv zeta in same.
  split; [|split; [|split]].
  - repeat split; rewrite same, ?is_2, ?is_3, ?is_4 by lia; field.
  - intros G several; apply (INR_le 2) in several; apply same, several.
  - intros G ((several & moved) & below); apply (INR_le 2) in several.
    apply lowered; assumption.
  - intros G ((several & moved) & above); apply (INR_le 2) in several.
    apply raised; assumption.
Qed.

Theorem witness : Statements.extension.sampled_group_two_answers.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), zero_and_one; witnessed. Qed.

Theorem witness_1 : Statements.extension.sampled_group_two_answers.witness_1.
Proof.
  exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), zero_and_one; do 3 (split; [witnessed|]).
  exists 2%nat; witnessed.
Qed.

(** At p = 1/2, groups of six, for which the bound is 8/13, and groups of two, for which it is 0. *)
Theorem witness_2 : Statements.extension.sampled_group_two_answers.witness_2.
Proof.
  exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), zero_and_one; do 3 (split; [witnessed|]).
  exists 6%nat; witnessed.
Qed.

Theorem witness_3 : Statements.extension.sampled_group_two_answers.witness_3.
Proof.
  exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), zero_and_one; do 3 (split; [witnessed|]).
  exists 2%nat; witnessed.
Qed.

Theorem defined : Statements.extension.sampled_group_two_answers.defined.
Proof.
  domains; match goal with |- INR ?k * (INR ?k - 1) <> 0 =>
    assert (0 < INR k * (INR k - 1)) by (apply Rmult_lt_0_compat; lra); lra end.
Qed.
