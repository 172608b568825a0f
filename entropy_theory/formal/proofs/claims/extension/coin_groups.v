(** Extension of AEPO, section 3.1: the mean square of a group's step whose standardized rewards are coins. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions Groups.
From PolicyEntropy.library Require Import Basics Trees.
From PolicyEntropy.library Require RewardGroups GroupGain.
Import RewardGroups(total_over_ext, total_over_scal, total_over_kinds, hits, hits_at_most).
Import GroupGain(group_variance_eq, group_mean_eq).
From Trusted.Statements.extension Require coin_groups.
Import ListNotations.
Open Scope R_scope.

Definition heads : mask := Nat.eqb 1.

(** * Coins *)

Lemma mean_of_coins_ext G chance f f' :
  (forall coins, length coins = G -> f coins = f' coins) -> mean_of_coins G chance f = mean_of_coins G chance f'.
Proof.
  revert f f'; induction G as [|k IH]; intros f f' same; simpl; [apply same; reflexivity|].
  f_equal; f_equal; apply IH; intros coins size; apply same; simpl; congruence.
Qed.

Lemma mean_of_coins_scal G chance c f :
  mean_of_coins G chance (fun coins => c * f coins) = c * mean_of_coins G chance f.
Proof. revert f; induction G as [|k IH]; intros f; simpl; [reflexivity|rewrite !IH; ring]. Qed.

Lemma mean_of_coins_minus G chance f f' :
  mean_of_coins G chance (fun coins => f coins - f' coins) = mean_of_coins G chance f - mean_of_coins G chance f'.
Proof. revert f f'; induction G as [|k IH]; intros f f'; simpl; [reflexivity|rewrite !IH; ring]. Qed.

Lemma mean_of_coins_const G chance c : mean_of_coins G chance (fun _ => c) = c.
Proof. induction G as [|k IH]; simpl; [reflexivity|rewrite IH; ring]. Qed.

Definition none (coins : state) : R := if Nat.eqb (hits heads coins) 0 then 1 else 0.
Definition all (coins : state) : R := if Nat.eqb (hits heads coins) (length coins) then 1 else 0.

Lemma chance_of_none G chance : mean_of_coins G chance none = (1 - chance) ^ G.
Proof.
  induction G as [|k IH]; [reflexivity|]; cbn [mean_of_coins pow]; rewrite <- IH.
  rewrite (mean_of_coins_ext k chance (fun coins : state => none (1%nat :: coins)) (fun _ => 0)), mean_of_coins_const
    by reflexivity.
  rewrite (mean_of_coins_ext k chance (fun coins : state => none (0%nat :: coins)) none) by reflexivity; ring.
Qed.

Lemma chance_of_all G chance : mean_of_coins G chance all = chance ^ G.
Proof.
  induction G as [|k IH]; [reflexivity|]; cbn [mean_of_coins pow]; rewrite <- IH.
  rewrite (mean_of_coins_ext k chance (fun coins : state => all (0%nat :: coins)) (fun _ => 0)), mean_of_coins_const.
  2: { intros coins _; unfold all; simpl; pose proof (hits_at_most heads coins).
       destruct (Nat.eqb_spec (hits heads coins) (S (length coins))); [lia|reflexivity]. }
  rewrite (mean_of_coins_ext k chance (fun coins : state => all (1%nat :: coins)) all) by reflexivity; ring.
Qed.

(** The squared advantages of a group sum to its size less ddof, unless all its rewards are equal. *)
Lemma squares_of_group ddof coins :
  (ddof < length coins)%nat ->
  total_over coins (fun b => group_advantage ddof heads coins b * group_advantage ddof heads coins b)
  = (INR (length coins) - INR ddof) * (1 - none coins - all coins).
Proof.
  intros enough; set (G := INR (length coins)); set (k := INR (hits heads coins)).
  assert (0 < G) as several by (apply lt_0_INR; lia).
  assert (0 < G - INR ddof) as freedom by (apply lt_INR in enough; fold G in enough; lra).
  pose proof (group_variance_eq ddof heads coins enough) as variance; fold G k in variance.
  pose proof (group_mean_eq heads coins) as average; fold G k in average.
  pose proof (hits_at_most heads coins) as most.
  unfold none, all, group_advantage; rewrite variance, average.
  destruct (Nat.eqb_spec (hits heads coins) 0) as [empty|some].
  { assert (k = 0) as zero by (unfold k; rewrite empty; reflexivity); rewrite zero.
    destruct (Nat.eqb_spec (hits heads coins) (length coins)); [lia|].
    unfold less; destruct (Rlt_dec 0 _) as [wrong|_]; [exfalso|].
    - unfold Rdiv in wrong; rewrite !Rmult_0_l in wrong; lra.
    - rewrite (total_over_scal coins 0 (fun _ => 0)); ring. }
  destruct (Nat.eqb_spec (hits heads coins) (length coins)) as [full|mixed].
  { assert (k = G) as same by (unfold k, G; rewrite full; reflexivity); rewrite same.
    unfold less; destruct (Rlt_dec 0 _) as [wrong|_]; [exfalso|].
    - unfold Rdiv in wrong; rewrite Rminus_diag_eq, Rmult_0_r, Rmult_0_l in wrong by reflexivity; lra.
    - rewrite (total_over_scal coins 0 (fun _ => 0)); ring. }
  assert (0 < k) as k_pos by (apply lt_0_INR; lia).
  assert (0 < G - k) as rest_pos by (assert (k < G) by (apply lt_INR; lia); lra).
  set (v := k * (G - k) / (G * (G - INR ddof))).
  assert (0 < v) as v_pos by (apply Rdiv_lt_0_compat; apply Rmult_lt_0_compat; assumption).
  unfold less; destruct (Rlt_dec 0 v) as [_|wrong]; [|contradiction].
  rewrite (total_over_ext coins _ (fun b => if heads b then (1 - k / G) * (1 - k / G) / v
                                            else (0 - k / G) * (0 - k / G) / v)).
  2: { intros b; pose proof (sqrt_lt_R0 v v_pos); pose proof (sqrt_sqrt v (Rlt_le _ _ v_pos)) as square.
       destruct (heads b); rewrite <- square at 3; field; lra. }
  rewrite total_over_kinds; fold G k; unfold v; field; repeat split; lra.
Qed.

(** * Responses *)

Section Responses.

Variables (n : nat) (z direction : vector).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
Let x := centered n p direction.
Let E (G : nat) (f : state -> R) := mean_responses n G (fun _ => z) f.

Lemma centered_mean : mean n p x = 0.
Proof. apply mean_centered, softmax_sum, some. Qed.

Lemma mean_of_pairs coins A : E (length coins) (fun g => total_over_pairs coins g A x) = 0.
Proof.
  induction coins as [|c others IH]; [unfold E, mean_responses; simpl; ring|].
  unfold E; cbn [length]; rewrite mean_responses_first; unfold after; cbn [total_over_pairs].
  rewrite (mean_ext n _ _ (fun b => A c * x b)).
  - rewrite mean_scal; fold p; rewrite centered_mean; ring.
  - intros b _; rewrite mean_responses_plus, mean_responses_const by exact some.
    fold (E (length others) (fun g => total_over_pairs others g A x)); rewrite IH; ring.
Qed.

Lemma mean_square_of_pairs coins A :
  E (length coins) (fun g => total_over_pairs coins g A x ^ 2)
  = total_over coins (fun c => A c * A c) * covariance n p direction direction.
Proof.
  induction coins as [|c others IH]; [unfold E, mean_responses; simpl; ring|].
  unfold E; cbn [length]; rewrite mean_responses_first; unfold after; cbn [total_over_pairs total_over].
  set (left := total_over others (fun d => A d * A d) * covariance n p direction direction) in *.
  rewrite (mean_ext n _ _ (fun b => A c * A c * (x b * x b) + left)).
  - rewrite mean_plus, mean_scal, mean_const by (apply softmax_sum, some); fold p.
    unfold left, covariance; fold x; ring.
  - intros b _.
    rewrite (mean_responses_ext n _ _ _ (fun g => A c * x b * (A c * x b)
      + (2 * (A c * x b) * total_over_pairs others g A x + total_over_pairs others g A x ^ 2))) by (intros; ring).
    rewrite !mean_responses_plus, mean_responses_const, mean_responses_scal by exact some.
    fold (E (length others) (fun g => total_over_pairs others g A x)).
    fold (E (length others) (fun g => total_over_pairs others g A x ^ 2)).
    rewrite IH, mean_of_pairs; ring.
Qed.

Theorem square_is G ddof chance :
  (ddof < G)%nat ->
  square_along_with_coins n G ddof z direction chance
  = (INR G - INR ddof) * (1 - chance ^ G - (1 - chance) ^ G) / (INR G * INR G) * covariance n p direction direction.
Proof.
  intros enough; assert (0 < INR G) as several by (apply lt_0_INR; lia).
  unfold square_along_with_coins.
  rewrite (mean_of_coins_ext G chance _ (fun coins =>
    / INR G * / INR G * covariance n p direction direction * (INR G - INR ddof) * (1 - none coins - all coins))).
  - rewrite mean_of_coins_scal, mean_of_coins_minus, chance_of_all.
    rewrite mean_of_coins_minus, mean_of_coins_const, chance_of_none; field; lra.
  - intros coins size.
    rewrite (mean_responses_ext n G _ _ (fun g => / INR G * / INR G
      * total_over_pairs coins g (group_advantage ddof heads coins) x ^ 2)) by (intros; unfold x, p, heads; ring).
    rewrite mean_responses_scal; rewrite <- size at 3.
    fold (E (length coins) (fun g => total_over_pairs coins g (group_advantage ddof heads coins) x ^ 2)).
    rewrite mean_square_of_pairs, squares_of_group by (rewrite size; exact enough); rewrite size; ring.
Qed.

End Responses.

Lemma power_is x k : 0 < x -> exp (INR k * ln x) = x ^ k.
Proof. intros positive; exact (Rpower_pow k x positive). Qed.

Theorem proved : Statements.extension.coin_groups.statement.
Proof.
  intros n z direction chance two above below; assert (0 < n)%nat as some by lia.
  split; [|split].
  - repeat split; rewrite square_is by lia; simpl; field.
  - intros k several; apply (INR_le 2) in several.
    rewrite square_is, !power_is by (lia || lra); simpl INR; unfold Rdiv; ring.
  - intros k several; apply (INR_le 2) in several.
    rewrite square_is, !power_is by (lia || lra); simpl INR; unfold Rdiv; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.coin_groups.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (1 / 2); witnessed. Qed.

Theorem witness_1 : Statements.extension.coin_groups.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0), (1 / 2); repeat split; try lia; try lra; exists 2%nat; simpl; lra. Qed.

Theorem witness_2 : Statements.extension.coin_groups.witness_2.
Proof. exact witness_1. Qed.

Theorem defined : Statements.extension.coin_groups.defined.
Proof.
  intros n z direction chance two above below.
  repeat split; try lia; intros k several; try lra.
  - apply (INR_le 2) in several; lia.
  - apply Rgt_not_eq, Rmult_lt_0_compat; lra.
  - apply (INR_le 2) in several; lia.
Qed.
