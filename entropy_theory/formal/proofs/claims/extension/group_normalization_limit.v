(** Extension of AEPO, section 3.1 (GRPO's advantage): kappa is positive, the same at p and 1 - p, and tends to
    1/sqrt(p (1 - p)) as groups grow; and what advantages are in a group with k right members. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Comparisons Masks RewardGroups GroupGain GroupGainBounds.
From PolicyEntropy.library Require Import Witnesses Domains.
From Trusted.Statements.extension Require group_normalization_limit.
From Trusted.Theorems.extension Require group_normalization_limit.
Open Scope R_scope.

(** * Groups of any size *)

Section Prompt.

Variables right wrong : R.
Hypotheses (right_positive : 0 < right) (wrong_positive : 0 < wrong) (all : right + wrong = 1).

Let gain (G : nat) := group_gain G 0 right wrong.
Let root := sqrt (right * wrong).

Lemma mixed : 0 < right * wrong.
Proof. apply Rmult_lt_0_compat; assumption. Qed.

Ltac of_two_or_more G :=
  destruct G as [|[|m]]; [lia|lia|];
  pose proof (Rlt_le _ _ right_positive); pose proof (Rlt_le _ _ wrong_positive); pose proof mixed.

Lemma least G : (2 <= G)%nat ->
  (INR G - 1) / sqrt (INR G - 1 + (INR G - 2) * (INR G - 3) * right * wrong) <= gain G.
Proof. intros several; of_two_or_more G; apply at_least_jensen; assumption. Qed.

Lemma positive G : (2 <= G)%nat -> 0 < gain G.
Proof. intros several; of_two_or_more G; apply gain_positive; assumption. Qed.

Lemma below_limit G : (2 <= G)%nat -> gain G <= 1 / root.
Proof. intros several; of_two_or_more G; apply at_most_limit; assumption. Qed.

Lemma distance G : (2 <= G)%nat -> 1 / root - gain G <= 1 / (2 * (INR G - 1) * right * wrong * root).
Proof. intros several; of_two_or_more G; apply near_limit; assumption. Qed.

Lemma limit : tends_to (fun k => gain (S k)) (1 / root).
Proof.
  intros e positive_e; assert (0 < root) as root_pos by apply sqrt_lt_R0, mixed; pose proof mixed.
  assert (0 < 2 * (right * wrong) * root * e) by (repeat apply Rmult_lt_0_compat; lra).
  destruct (nfloor_ex (1 / (2 * (right * wrong) * root * e))) as (N & _ & large).
  { apply Rlt_le, Rdiv_lt_0_compat; lra. }
  exists (S N); intros k late; assert (2 <= S k)%nat as several by lia.
  pose proof (below_limit (S k) several); pose proof (distance (S k) several) as near.
  rewrite S_INR in near; replace (INR k + 1 - 1) with (INR k) in near by ring.
  assert (1 / (2 * (right * wrong) * root * e) < INR k) as larger
    by (apply Rlt_le_trans with (1 := large); rewrite <- S_INR; apply le_INR; lia).
  assert (0 < INR k) by (apply lt_0_INR; lia).
  enough (1 / (2 * INR k * right * wrong * root) < e) by (apply Rabs_def1; lra).
  apply (Rmult_lt_reg_r (INR k * (/ e))); [apply Rmult_lt_0_compat; [|apply Rinv_0_lt_compat]; assumption|].
  replace (1 / (2 * INR k * right * wrong * root) * (INR k * / e)) with (1 / (2 * (right * wrong) * root * e))
    by (field; lra).
  replace (e * (INR k * / e)) with (INR k) by (field; lra); exact larger.
Qed.

End Prompt.

Lemma step_of_one n logits correct a : (1 <= n)%nat -> (a < n)%nat -> expected_group_step n 1 0 logits correct a = 0.
Proof.
  intros one_action inside; rewrite expected_group_step_is_gradient by lia; unfold group_gain; simpl; ring.
Qed.

Lemma masses n logits correct :
  (2 <= n)%nat -> nonempty n correct -> ~ (forall a, (a < n)%nat -> correct a = true) ->
  let right := total_on n correct (softmax n logits) in
  let wrong := total_on n (fun a => negb (correct a)) (softmax n logits) in
  0 < right /\ 0 < wrong /\ right + wrong = 1.
Proof.
  intros two some_right not_all; repeat split.
  - apply total_on_pos; [assumption|intros; apply softmax_pos; lia].
  - apply total_on_pos; [apply some_wrong, not_all|intros; apply softmax_pos; lia].
  - apply right_plus_wrong; lia.
Qed.

Theorem proved : Statements.extension.group_normalization_limit.statement.
Proof.
  intros n logits correct two some_right not_all.
  destruct (masses n logits correct two some_right not_all) as (right_positive & wrong_positive & all).
  set (right := total_on n correct (softmax n logits)) in *.
  set (wrong := total_on n (fun a => negb (correct a)) (softmax n logits)) in *.
  pose proof (least right wrong right_positive wrong_positive all) as jensen.
  split; [|split; [|split; [|split; [|split; [|split; [|split]]]]]].
  - repeat split; [specialize (jensen 4%nat)|specialize (jensen 8%nat)|specialize (jensen 16%nat)
      |specialize (jensen 64%nat)]; specialize (jensen ltac:(lia)); rewrite INR_IZR_INZ in jensen; simpl in jensen.
    + replace 3 with (4 - 1) at 1 by lra; replace (3 + 2 * right * wrong)
        with (4 - 1 + (4 - 2) * (4 - 3) * right * wrong) by ring; exact jensen.
    + replace 7 with (8 - 1) at 1 by lra; replace (7 + 30 * right * wrong)
        with (8 - 1 + (8 - 2) * (8 - 3) * right * wrong) by ring; exact jensen.
    + replace 15 with (16 - 1) at 1 by lra; replace (15 + 182 * right * wrong)
        with (16 - 1 + (16 - 2) * (16 - 3) * right * wrong) by ring; exact jensen.
    + replace 63 with (64 - 1) at 1 by lra; replace (63 + 3782 * right * wrong)
        with (64 - 1 + (64 - 2) * (64 - 3) * right * wrong) by ring; exact jensen.
  - intros G several; apply (INR_le 2) in several; apply jensen, several.
  - intros G several; apply (INR_le 2) in several; apply positive; assumption.
  - intros G several; apply gain_symmetric.
  - intros G several; apply (INR_le 2) in several; apply below_limit; assumption.
  - intros G several; apply (INR_le 2) in several; apply distance; assumption.
  - apply limit; assumption.
  - intros a inside; apply step_of_one; [lia|exact inside].
Qed.

(** * One group *)

Theorem advantages_by_count : Theorems.extension.group_normalization_limit.advantages_by_count.
Proof.
  intros correct g b G k some_right some_wrong.
  assert (k = INR (hits correct g)) as k_eq by (unfold k; rewrite total_over_kinds; ring).
  assert (0 < length g)%nat as size by (apply INR_lt; simpl; unfold G in *; lra).
  unfold group_advantage; rewrite group_variance_eq, group_mean_eq by exact size.
  rewrite <- k_eq; fold G; simpl (INR 0); replace (G * (G - 0)) with (G * G) by ring.
  clearbody k; clearbody G; clear k_eq size.
  assert (0 < k * (G - k) / (G * G)) as spread by (apply Rdiv_lt_0_compat; apply Rmult_lt_0_compat; lra).
  replace (less 0 (k * (G - k) / (G * G))) with true by (symmetry; apply is_less, spread).
  pose proof (sqrt_lt_R0 _ spread).
  destruct (correct b);
    apply (Rmult_eq_reg_r (sqrt (k * (G - k) / (G * G)))); try lra.
  - rewrite <- sqrt_mult by (apply Rlt_le; exact spread || (apply Rdiv_lt_0_compat; lra)).
    replace ((G - k) / k * (k * (G - k) / (G * G))) with ((G - k) / G * ((G - k) / G)) by (field; lra).
    rewrite sqrt_square by (apply Rlt_le, Rdiv_lt_0_compat; lra); field; lra.
  - rewrite Ropp_mult_distr_l_reverse, <- sqrt_mult by (apply Rlt_le; exact spread || (apply Rdiv_lt_0_compat; lra)).
    replace (k / (G - k) * (k * (G - k) / (G * G))) with (k / G * (k / G)) by (field; lra).
    rewrite sqrt_square by (apply Rlt_le, Rdiv_lt_0_compat; lra); field; lra.
Qed.

Theorem the_only_wrong_one : Theorems.extension.group_normalization_limit.the_only_wrong_one.
Proof.
  intros correct g b several is_wrong one; apply (le_INR 2) in several; simpl in several.
  rewrite advantages_by_count, is_wrong, one by (cbv zeta; lra); do 2 f_equal; field; lra.
Qed.

Theorem witness : Statements.extension.group_normalization_limit.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); witnessed. Qed.

Theorem witness_1 : Statements.extension.group_normalization_limit.witness_1.
Proof.
  exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); do 3 (split; [witnessed|]); exists 2%nat; witnessed.
Qed.

Theorem witness_2 : Statements.extension.group_normalization_limit.witness_2.
Proof. exact witness_1. Qed.

Theorem witness_3 : Statements.extension.group_normalization_limit.witness_3.
Proof. exact witness_1. Qed.

Theorem witness_4 : Statements.extension.group_normalization_limit.witness_4.
Proof. exact witness_1. Qed.

Theorem witness_5 : Statements.extension.group_normalization_limit.witness_5.
Proof. exact witness_1. Qed.

(** k is a whole number: there is none between 2 and 3. *)
Lemma spread_of k right wrong : 2 <= INR k -> 0 < right -> 0 < wrong ->
  0 < INR k - 1 + (INR k - 2) * (INR k - 3) * right * wrong.
Proof.
  intros several; apply (INR_le 2) in several; destruct k as [|[|m]]; [lia|lia|].
  intros; apply spread_positive; apply Rlt_le; assumption.
Qed.

Theorem defined : Statements.extension.group_normalization_limit.defined.
Proof.
  intros n logits correct two some_right not_all.
  destruct (masses n logits correct two some_right not_all) as (right_positive & wrong_positive & _).
  domains;
    first [apply Rlt_le, spread_of; assumption | apply Rgt_not_eq, sqrt_lt_R0, spread_of; assumption
          | apply Rgt_not_eq; repeat apply Rmult_lt_0_compat; (assumption || lra
              || (apply sqrt_lt_R0, Rmult_lt_0_compat; assumption))].
Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Conditions.extension Require group_normalization_limit.

(** Two members, of which the first is right. *)
Theorem advantages_by_count_witness : Conditions.extension.group_normalization_limit.advantages_by_count_witness.
Proof. exists (fun a => Nat.eqb a 0), (0%nat :: 1%nat :: nil); unfold total_over; simpl; lra. Qed.

Theorem advantages_by_count_defined : Conditions.extension.group_normalization_limit.advantages_by_count_defined.
Proof.
  intros correct g b G k some_right some_wrong; split; intros _; (split; [lra|]);
    apply Rlt_le, Rdiv_lt_0_compat; lra.
Qed.

Theorem the_only_wrong_one_witness : Conditions.extension.group_normalization_limit.the_only_wrong_one_witness.
Proof.
  exists (fun a => Nat.eqb a 0), (0%nat :: 1%nat :: nil), 1%nat; unfold total_over; simpl.
  repeat split; try lra; auto.
Qed.

Theorem the_only_wrong_one_defined : Conditions.extension.group_normalization_limit.the_only_wrong_one_defined.
Proof. intros correct g b size _ _; apply le_INR in size; simpl in size; lra. Qed.
