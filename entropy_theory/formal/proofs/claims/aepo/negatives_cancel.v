(** AEPO, Section 6.2, negative samples, as repaired. Centering the reward, R - P_T in place of R, changes
    the entropy rate of tempered samples by -P_T F_all(T), where F_all is the rate of a state whose every
    action is right: downwards for T > 1, upwards for T < 1, always against the temperature. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import
  Basics OwnCovariance TemperedReinforce TemperedRate SignChange SignChangeTemperature.
From Trusted.Statements.aepo Require negatives_cancel.
Open Scope R_scope.

Lemma rate_of_all n z T :
  rate n z (fun _ => true) T = - mean n (softmax n (tempered T z)) (excess n z).
Proof. unfold rate, total_on, only, mean; reflexivity. Qed.

Lemma against_the_temperature n z T :
  (0 < n)%nat -> 0 < T -> 0 <= (T - 1) * rate n z (fun _ => true) T.
Proof.
  intros some positive; set (all := fun _ : nat => true).
  assert (everything n all) as every by (intros a _; reflexivity).
  assert (nonempty n all) as some_right by (exists 0%nat; split; [exact some|reflexivity]).
  pose proof (everything_rate_1 n z all some every) as at_one.
  destruct (Rlt_or_le 0 (largest_on n all (fun a => Rabs (excess n z a)))) as [differs|same].
  - destruct (Rtotal_order T 1) as [cold|[one|hot]].
    + pose proof (fall_continues n z all some some_right 1 T ltac:(lra) ltac:(lra) ltac:(assumption) ltac:(lra)).
      rewrite <- Rmult_opp_opp; apply Rmult_le_pos; lra.
    + rewrite one; lra.
    + pose proof (rise_continues n z all some some_right 1 T ltac:(lra) ltac:(lra) ltac:(assumption) ltac:(lra)).
      apply Rmult_le_pos; lra.
  - rewrite (rate_vanishes n z all T same); lra.
Qed.

(** The effects of right and wrong samples together, E+ + E-, are F(T) - P_T F_all(T). *)
Theorem effect_of_centering :
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R),
  0 < temperature ->
  let hot := softmax n (tempered temperature logits) in
  - sum n (fun a => hot a * ((if correct a then 1 else 0) - total_on n correct hot) * excess n logits a)
  = rate n logits correct temperature
    - total_on n correct hot * rate n logits (fun _ => true) temperature.
Proof.
  intros n logits correct temperature _ hot; rewrite rate_of_all; unfold rate, mean; fold hot.
  rewrite (sum_ext n _ (fun a => only correct (fun b => hot b * excess n logits b) a
      - total_on n correct hot * (hot a * excess n logits a)))
    by (intros a _; unfold only; destruct (correct a); ring).
  rewrite sum_minus, sum_scal.
  change (sum n (only correct (fun b => hot b * excess n logits b)))
    with (total_on n correct (fun a => hot a * excess n logits a)); ring.
Qed.

(** At T = 1 both kinds of samples have the sign of F(1): E+ = (1 - p) F(1) and E- = p F(1). *)
Theorem no_counteraction_at_one :
  forall (n : nat) (logits : vector) (correct : mask),
  (1 <= n)%nat ->
  let p := total_on n correct (softmax n logits) in
  - total_on n correct (fun a => softmax n logits a * (1 - p) * excess n logits a)
  = (1 - p) * untempered_rate n logits correct
  /\ - total_on n (complement correct) (fun a => softmax n logits a * (0 - p) * excess n logits a)
  = p * untempered_rate n logits correct.
Proof.
  intros n logits correct some p; unfold untempered_rate.
  assert (forall A c, total_on n A (fun a => softmax n logits a * c * excess n logits a)
    = c * total_on n A (fun a => softmax n logits a * excess n logits a)) as scaled.
  { intros A c; unfold total_on; rewrite <- sum_scal; apply sum_ext; intros a _; unfold only.
    destruct (A a); ring. }
  rewrite !scaled.
  pose proof (mean_excess n logits ltac:(lia)) as zero.
  assert (total_on n correct (fun a => softmax n logits a * excess n logits a)
    + total_on n (complement correct) (fun a => softmax n logits a * excess n logits a) = 0) as split.
  { rewrite <- zero; unfold total_on, mean; rewrite <- sum_plus; apply sum_ext; intros a _.
    unfold only, complement; destruct (correct a); simpl; ring. }
  split; [ring|].
  replace (total_on n (complement correct) (fun a => softmax n logits a * excess n logits a))
    with (- total_on n correct (fun a => softmax n logits a * excess n logits a)) by lra.
  ring.
Qed.

Theorem proved : Statements.aepo.negatives_cancel.repair.
Proof.
  unfold Statements.aepo.negatives_cancel.repair; intros n logits correct temperature some _ positive.
  pose proof (against_the_temperature n logits temperature ltac:(lia) positive) as sign.
  rewrite rate_of_all in sign.
  change (Statements.aepo.negatives_cancel.excess n logits) with (excess n logits).
  set (mass := total_on n correct (softmax n (tempered temperature logits))).
  assert (0 <= mass).
  { apply sum_nonneg; intros a inside; unfold only; destruct (correct a); [|lra].
    apply Rlt_le, softmax_pos; lia. }
  replace ((temperature - 1) * mass * - mean n (softmax n (tempered temperature logits)) (excess n logits))
    with (mass * ((temperature - 1) * - mean n (softmax n (tempered temperature logits)) (excess n logits)))
    by ring.
  apply Rmult_le_pos; assumption.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.negatives_cancel.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 2; witnessed. Qed.

Theorem defined : Statements.aepo.negatives_cancel.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.aepo Require negatives_cancel.
From Trusted.Conditions.aepo Require negatives_cancel.

Theorem effect_of_centering_witness : Conditions.aepo.negatives_cancel.effect_of_centering_witness.
Proof. exists 1; lra. Qed.

Theorem effect_of_centering_defined : Conditions.aepo.negatives_cancel.effect_of_centering_defined.
Proof. domains. Qed.

Theorem no_counteraction_at_one_witness : Conditions.aepo.negatives_cancel.no_counteraction_at_one_witness.
Proof. exists 1%nat; met. Qed.
